/* What machines are called, from fixtures of their /proc and /sys. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/num.h"
#include "node/platform.h"

static struct arena arena;
static struct platform p;

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

static void an_amd_device_is_found_in_the_kernels_topology(void **state)
{
	(void)state;
	probe("tests/fixtures/platform/mi300");
	assert_string_equal(p.id, "amd-instinct-mi300x.rocm6.3");
	assert_true(p.info.device_count == 2);
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
		cmocka_unit_test(an_empty_root_is_unknown_and_nothing_else),
		cmocka_unit_test(this_machine_has_a_name),
		cmocka_unit_test(products_are_short),
		cmocka_unit_test(names_by_hand_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
