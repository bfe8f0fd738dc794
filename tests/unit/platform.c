/* What machines are called, from fixtures of their /proc and /sys. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/num.h"
#include "node/aside.h"
#include "node/device.h"
#include "node/platform.h"

static struct arena arena;
static struct platform p;

/* NULL: it was not built (make check builds it). */
static const char *nvml_double(void)
{
	const char *b = getenv("B");
	const char *path = arena_printf(&arena, "%s/tests/double/nvml/libnvidia-ml.so.1",
					b ? b : "build/release");
	return access(path, R_OK) == 0 ? path : NULL;
}

static void probe_nvml(const char *script, double limit_s)
{
	const struct platform_options o = { .root = "tests/fixtures/platform/h200",
					    .nvml = nvml_double(),
					    .driver_limit_s = limit_s };
	if (!o.nvml)
		skip();
	(void)setenv("NVML_DOUBLE", script, 1);
	assert_int_equal(platform_probe(&p, &arena, &o, NULL), 0);
	assert_int_equal(platform_check_id(p.id, NULL), 0);
}

static void probe(const char *root)
{
	const struct platform_options o = { .root = root };
	assert_int_equal(platform_probe(&p, &arena, &o, NULL), 0);
	assert_int_equal(platform_check_id(p.id, NULL), 0);
	assert_non_null(p.why);
}

static void without_accelerator_it_is_the_processor(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/epyc");
	assert_string_equal(p.id, "cpu-amd-epyc-7763.linux6.1");
	assert_string_equal(p.info.vendor, "cpu");
	assert_string_equal(p.info.cpu_model, "AMD EPYC 7763 64-Core Processor");
	assert_string_equal(p.info.os, "Debian GNU/Linux 12 (bookworm)");
	assert_string_equal(p.info.host, "node17");
	assert_string_equal(p.info.hypervisor, "none");
	assert_true(p.info.memory_bytes == 527958016.0 * 1024);
	assert_int_equal(p.info.tsc_invariant, YES);
	assert_int_equal(p.info.smt, YES);
	assert_int_equal(p.info.turbo, NO);
	assert_true(isnan(p.info.device_count));
}

static void an_arm_part_has_its_name(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/grace");
	assert_string_equal(p.id, "cpu-arm-neoverse-v2.linux6.8");
	assert_int_equal(p.info.tsc_invariant, UNKNOWN);
	assert_null(p.info.hypervisor);
}

static void an_nvidia_device_without_nvml_has_the_drivers_version(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/h200");
	assert_string_equal(p.id, "nvidia-h200.driver580");
	assert_string_equal(p.info.driver, "580.65.06");
	assert_true(p.info.device_count == 2);
	assert_non_null(strstr(p.why, "NVML"));
	assert_string_equal(p.info.hypervisor, "yes");
}

static void nvml_tells_the_name_and_what_each_device_is(void **state)
{
	(void)state;
	probe_nvml("name NVIDIA H200;devices 2;mig 1;ecc 1;cuda 13020;memory-bytes 150754820096",
		   20);
	assert_string_equal(p.id, "nvidia-h200.cuda13.2");
	assert_string_equal(p.info.driver, "580.65.06");
	assert_true(p.info.device_count == 2);
	assert_true(p.info.device_memory_bytes == 150754820096.0);
	assert_int_equal(p.info.devices.n, 2);
	const struct accelerator *d = &p.info.devices.items[1];
	assert_string_equal(d->name, "NVIDIA H200");
	assert_string_equal(d->place, "0000:18:00.0");
	assert_string_equal(d->architecture, "sm_90");
	assert_true(d->units == 132);
	assert_true(d->clock_limit_hz == 1980e6 && d->memory_clock_limit_hz == 2619e6);
	assert_true(d->power_limit_w == 700);
	assert_int_equal(d->ecc, YES);
	assert_int_equal(d->persistence, YES);
	assert_string_equal(d->partition, "mig");
	assert_string_equal(d->source, "nvml");
}

static void what_nvml_refuses_is_unknown(void **state)
{
	(void)state;
	probe_nvml("refuse memory pci capability cores max-clock power-limit ecc mig persistence "
		   "cuda",
		   20);
	assert_string_equal(p.id, "nvidia-double-1.driver580");
	const struct accelerator *d = &p.info.devices.items[0];
	assert_true(isnan(d->memory_bytes) && isnan(d->units) && isnan(d->power_limit_w));
	assert_null(d->place);
	assert_null(d->architecture);
	assert_null(d->partition);
	assert_int_equal(d->ecc, UNKNOWN);
}

/* The driver's files name the machine then. */
static void nvml_that_hangs_or_crashes_is_said(void **state)
{
	(void)state;
	probe_nvml("hang init", 0.2);
	assert_string_equal(p.id, "nvidia-h200.driver580");
	assert_non_null(strstr(p.why, "did not answer within 0.2 s"));
	assert_int_equal(p.info.devices.n, 2);
	assert_string_equal(p.info.devices.items[0].source, "driver");
	assert_string_equal(p.info.devices.items[0].place, "0000:0f:00.0");
	probe_nvml("crash name", 20);
	assert_non_null(strstr(p.why, "crashed"));
	probe_nvml("no-driver 1", 20);
	assert_non_null(strstr(p.why, "is not there"));
}

static int hang(struct buf *out, void *arg)
{
	(void)out;
	(void)arg;
	(void)pause();
	return 0;
}

static int say_much(struct buf *out, void *arg)
{
	for (int i = 0; i < 100000; i++)
		buf_puts(out, arg);
	return 0;
}

static int refuse(struct buf *out, void *arg)
{
	buf_puts(out, arg);
	return -ENODEV;
}

static int end_of_pipe;

/* Nothing of its parent's is open in it: who reads a pipe of that to its end need not wait. */
static int see_pipe(struct buf *out, void *arg)
{
	(void)arg;
	buf_puts(out, fcntl(end_of_pipe, F_GETFD) < 0 ? "closed" : "open");
	return 0;
}

static void what_is_done_aside_has_nothing_open(void **state)
{
	(void)state;
	struct buf b = { 0 };
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	end_of_pipe = dup2(ends[1], 97);
	assert_int_equal(aside(&b, 20, see_pipe, NULL), 0);
	assert_string_equal(b.data, "closed");
	end_of_pipe = ends[1];
	b.len = 0;
	assert_int_equal(aside(&b, 20, see_pipe, NULL), 0);
	assert_string_equal(b.data, "closed");
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)close(97);
	buf_done(&b);
}

static void what_is_done_aside_comes_back_or_is_ended(void **state)
{
	(void)state;
	struct buf b = { 0 };
	assert_int_equal(aside(&b, 0.05, hang, NULL), -ETIMEDOUT);
	assert_int_equal(b.len, 0);
	assert_int_equal(aside(&b, 20, refuse, (void *)(uintptr_t) "no"), -ENODEV);
	assert_int_equal(b.len, 0);
	assert_int_equal(aside(&b, 20, say_much, (void *)(uintptr_t) "0123456789"), 0);
	assert_int_equal(b.len, 1000000);
	buf_done(&b);
}

static struct devices *devices_of(const char *root)
{
	const struct device_options o = { .root = root };
	struct devices *d = NULL;
	assert_int_equal(devices_open(&d, &o), 0);
	return d;
}

static void amd_devices_are_described_by_their_files(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/mi250");
	assert_string_equal(p.id, "amd-instinct-mi250x.rocm6.2");
	assert_int_equal(p.info.devices.n, 2);
	const struct accelerator *d = &p.info.devices.items[1];
	assert_string_equal(d->place, "0000:c6:00.0");
	assert_string_equal(d->architecture, "gfx90a");
	assert_true(d->units == 110);
	assert_true(d->memory_bytes == 68702699520.0);
	assert_true(d->clock_limit_hz == 1700e6 && d->memory_clock_limit_hz == 1600e6);
	assert_true(d->power_limit_w == 560);
	assert_true(d->numa_node == 3);
	assert_string_equal(d->partition, "SPX");
}

/* As the kernel shows it to a job that was given the other device. */
static void a_node_that_is_not_ours_to_see_hides_no_other(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/mi250-hidden");
	assert_int_equal(p.info.devices.n, 1);
	assert_string_equal(p.info.devices.items[0].place, "0000:c6:00.0");
}

static void amd_devices_are_looked_at(void **state)
{
	(void)state;
	struct devices *d = devices_of("tests/fixtures/platform/mi250");
	struct device_sample s;
	pid_t pids[4];
	size_t n;
	assert_int_equal(devices_count(d), 2);
	assert_int_equal(devices_sample(d, 0, &s), 0);
	assert_true(s.clock_hz == 1480e6 && s.memory_clock_hz == 1600e6);
	assert_true(s.power_w == 412 && s.temperature_c == 74);
	assert_true(fabs(s.busy_frac - 0.97) < 1e-12);
	assert_true(isnan(s.energy_j));
	assert_true(s.reasons_known);
	assert_int_equal(s.reasons, DEVICE_POWER_CAP | DEVICE_THERMAL_HARDWARE);
	/* The driver fills what a device does not tell with ones. */
	assert_int_equal(devices_sample(d, 1, &s), 0);
	assert_false(s.reasons_known);
	/* Two have memory on the first; one has opened both and uses the first only. */
	assert_int_equal(devices_users(d, 0, pids, 4, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(pids[0] + pids[1], 4242 + 977);
	assert_int_equal(devices_users(d, 1, pids, 4, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(devices_users(d, 0, pids, 1, &n), -ENOSPC);
	devices_close(d);
}

static void intels_devices_on_a_card_are_found(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/max1550");
	assert_string_equal(p.id, "intel-data-center-gpu-max-1550.linux6.8");
	assert_int_equal(p.info.devices.n, 1); /* not the one in the processor */
	const struct accelerator *a = &p.info.devices.items[0];
	assert_string_equal(a->place, "0000:3a:00.0");
	assert_true(a->memory_bytes == 68719476736.0 && a->power_limit_w == 600);
	assert_true(a->clock_limit_hz == 1600e6);
	assert_true(isnan(a->numa_node));
	struct devices *d = devices_of("tests/fixtures/platform/max1550");
	struct device_sample s;
	pid_t pids[1];
	size_t n;
	assert_int_equal(devices_sample(d, 0, &s), 0);
	assert_true(s.clock_hz == 1250e6 && s.temperature_c == 58);
	assert_true(fabs(s.energy_j - 123.456789) < 1e-9);
	assert_int_equal(s.reasons, DEVICE_POWER_CAP);
	assert_int_equal(devices_users(d, 0, pids, 1, &n), -ENOTSUP);
	devices_close(d);
}

static void an_amd_device_is_found_in_the_kernels_topology(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/mi300");
	assert_string_equal(p.id, "amd-instinct-mi300x.rocm6.3");
	assert_true(p.info.device_count == 2);
	assert_string_equal(p.info.devices.items[1].architecture, "gfx942");
	assert_string_equal(p.info.cpu_model, "AMD EPYC 9534 64-Core Processor");
}

static void an_empty_root_is_unknown_and_nothing_else(void **state)
{
	(void)state;
	probe("/nowhere");
	assert_string_equal(p.id, "cpu-unknown.linux0");
	assert_null(p.info.cpu_model);
	assert_true(isnan(p.info.memory_bytes));
	assert_int_equal(p.info.turbo, UNKNOWN);
}

static void this_machine_has_a_name(void **state)
{
	(void)state;
	probe("");
	assert_true(p.info.cpus >= 1);
	assert_non_null(p.info.kernel);
	assert_true(p.info.memory_bytes > 1e7);
	assert_true(p.info.numa_memory_bytes.n == 0 ||
		    (double)p.info.numa_memory_bytes.n == p.info.numa_nodes);
}

static void products_are_short(void **state)
{
	(void)state;
	static const char *const cpus[][2] = {
		{ "AMD EPYC 7763 64-Core Processor", "amd-epyc-7763" },
		{ "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "intel-xeon-gold-6338" },
		{ "13th Gen Intel(R) Core(TM) i7-13700K", "intel-core-i7-13700k" },
		{ "Intel(R) Xeon(R) CPU Max 9480", "intel-xeon-max-9480" },
		{ "POWER9, altivec supported", "power9-altivec-supported" },
	};
	for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
		assert_string_equal(platform_cpu_product(&arena, cpus[i][0]), cpus[i][1]);
	assert_string_equal(platform_gpu_product(&arena, "NVIDIA A100-SXM4-80GB"),
			    "a100-sxm4-80gb");
	assert_string_equal(platform_gpu_product(&arena, "NVIDIA B200"), "b200");
	assert_string_equal(platform_gpu_product(&arena, "AMD Instinct MI300X"), "instinct-mi300x");
	assert_null(platform_cpu_product(&arena, ""));
	assert_null(platform_cpu_product(&arena, "@@((("));
}

static void names_by_hand_are_checked(void **state)
{
	(void)state;
	assert_int_equal(platform_check_id("nvidia-b200.cuda13.2", NULL), 0);
	static const char *const bad[] = {
		"",      "b200",    "nvidia-b200",   "NVIDIA-b200.cuda13",
		"-b.c1", "a b-c.d", "nvidia-.cuda1", "nvidia-b200."
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(platform_check_id(bad[i], NULL), -EINVAL);
}

static int done(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_accelerator_it_is_the_processor),
		cmocka_unit_test(an_arm_part_has_its_name),
		cmocka_unit_test(an_nvidia_device_without_nvml_has_the_drivers_version),
		cmocka_unit_test(an_amd_device_is_found_in_the_kernels_topology),
		cmocka_unit_test(nvml_tells_the_name_and_what_each_device_is),
		cmocka_unit_test(what_nvml_refuses_is_unknown),
		cmocka_unit_test(nvml_that_hangs_or_crashes_is_said),
		cmocka_unit_test(what_is_done_aside_comes_back_or_is_ended),
		cmocka_unit_test(what_is_done_aside_has_nothing_open),
		cmocka_unit_test(amd_devices_are_described_by_their_files),
		cmocka_unit_test(a_node_that_is_not_ours_to_see_hides_no_other),
		cmocka_unit_test(amd_devices_are_looked_at),
		cmocka_unit_test(intels_devices_on_a_card_are_found),
		cmocka_unit_test(an_empty_root_is_unknown_and_nothing_else),
		cmocka_unit_test(this_machine_has_a_name),
		cmocka_unit_test(products_are_short),
		cmocka_unit_test(names_by_hand_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
