/* Looks at accelerators: how they are folded, and the process that takes them, on the double of
 * NVML (tests/double). Times are given where it is looked how they fold; where a process looks, the
 * tests wait for what they want to see, and not for a time. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/arena.h"
#include "lib/file.h"
#include "lib/num.h"
#include "run/looks.h"
#include "run/sampler.h"
#include "run/watch_cpu.h"

static struct arena arena;

/* ---- folding ---- */

static struct device_sample sample_of(double clock_hz, uint32_t reasons)
{
	return (struct device_sample){ .clock_hz = clock_hz,
				       .memory_clock_hz = NAN,
				       .power_w = 100,
				       .temperature_c = NAN,
				       .busy_frac = 0.5,
				       .energy_j = clock_hz,
				       .reasons = reasons,
				       .reasons_known = true };
}

static struct device_state sum(const struct looks *l, int64_t from, int64_t to)
{
	struct device_state s;
	block_clear(&device_state_block, &s);
	assert_int_equal(looks_sum(l, from, to, &arena, &s), 0);
	return s;
}

static void looks_outside_of_the_region_are_left_out(void **state)
{
	(void)state;
	struct looks *l = calloc(1, sizeof *l);
	assert_non_null(l);
	looks_clear(l);
	for (int i = 0; i < 10; i++) {
		const struct device_sample s =
			sample_of(1000 + i, i == 5 ? DEVICE_POWER_CAP | DEVICE_OTHER : 0);
		looks_add(l, i * 100, i * 100 + 10, &s, i == 6 ? 3 : NAN);
	}
	struct device_state s = sum(l, 300, 710); /* 3 to 7 */
	assert_true(s.samples == 5);
	assert_true(s.clock_min_hz == 1003 && s.clock_mean_hz == 1005 && s.clock_max_hz == 1007);
	assert_true(isnan(s.temperature_mean_c) && isnan(s.memory_clock_min_hz));
	assert_true(s.power_mean_w == 100 && s.busy_mean_frac == 0.5);
	assert_true(s.energy_j == 4);
	assert_true(fabs(s.span_s - 410e-9) < 1e-15);
	assert_true(s.throttled_frac == 0.2);
	assert_int_equal(s.throttle_reasons.n, 2);
	assert_string_equal(s.throttle_reasons.items[0], "power_cap");
	assert_string_equal(s.throttle_reasons.items[1], "other");
	assert_true(s.others == 3);
	s = sum(l, 301, 709); /* one that began before, or ended after, is not within */
	assert_true(s.samples == 3);
	s = sum(l, 5000, 6000);
	assert_true(s.samples == 0 && isnan(s.clock_mean_hz) && isnan(s.throttled_frac));
	assert_null(s.throttle_reasons.items);
	free(l);
}

/* However many there are: nothing is lost, and the region's ends are off by a bin at most. */
static void memory_is_constant_and_nothing_is_lost(void **state)
{
	(void)state;
	struct looks *l = calloc(1, sizeof *l);
	assert_non_null(l);
	looks_clear(l);
	enum { N = 100000 };
	for (int i = 0; i < N; i++) {
		const struct device_sample s =
			sample_of(i, i % 4 == 0 ? DEVICE_THERMAL_HARDWARE : 0);
		looks_add(l, (int64_t)i * 100, (int64_t)i * 100 + 10, &s, 1);
		assert_true(l->n <= LOOKS_BINS);
	}
	struct device_state s = sum(l, 0, INT64_MAX);
	assert_true(s.samples == N);
	assert_true(s.clock_min_hz == 0 && s.clock_max_hz == N - 1);
	assert_true(s.clock_mean_hz == (N - 1) / 2.0);
	assert_true(s.throttled_frac == 0.25);
	assert_true(s.energy_j == N - 1);
	s = sum(l, N * 25, N * 75); /* the middle half */
	assert_true(fabs(s.samples - N / 2) <= 2 * (double)l->per_bin);
	assert_true(fabs(s.clock_mean_hz - N / 2) <= (double)l->per_bin);
	free(l);
}

static void a_device_that_tells_no_reasons_is_not_known_to_run_freely(void **state)
{
	(void)state;
	struct looks *l = calloc(1, sizeof *l);
	assert_non_null(l);
	looks_clear(l);
	struct device_sample x = sample_of(5, 0);
	x.reasons_known = false;
	looks_add(l, 1, 2, &x, NAN);
	struct device_state s = sum(l, 0, 10);
	assert_true(isnan(s.throttled_frac) && isnan(s.others));
	assert_null(s.throttle_reasons.items);
	x.reasons_known = true;
	looks_add(l, 3, 4, &x, NAN);
	s = sum(l, 0, 10);
	assert_true(s.throttled_frac == 0);
	assert_non_null(s.throttle_reasons.items);
	assert_int_equal(s.throttle_reasons.n, 0); /* looked, and there was none */
	free(l);
}

/* ---- the process ---- */

static struct accelerator gpus[2];
static struct platform_info info;

static const char *nvml_double(void)
{
	const char *b = getenv("B");
	const char *path = arena_printf(&arena, "%s/tests/double/nvml/libnvidia-ml.so.1",
					b ? b : "build/release");
	return access(path, R_OK) == 0 ? path : NULL;
}

static int64_t real_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t steady_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static struct sampler *start(const char *script, size_t n, const char *root)
{
	struct sampler *s = NULL;
	struct sampler_options o = { .devices = { .root = root, .nvml = nvml_double() },
				     .info = &info,
				     .per_s = 10 };
	if (!o.devices.nvml)
		skip();
	(void)setenv("NVML_DOUBLE", script, 1);
	block_clear(&platform_info_block, &info);
	for (size_t i = 0; i < n; i++) {
		block_clear(&accelerator_block, &gpus[i]);
		gpus[i].name = "NVIDIA Double 1";
		gpus[i].source = "nvml";
	}
	info.devices.items = gpus;
	info.devices.n = n;
	assert_int_equal(sampler_start(&s, &o), 0);
	assert_non_null(s);
	return s;
}

static struct execution row;

static const struct device_state *take(struct sampler *s, int64_t from)
{
	block_clear(&execution_block, &row);
	assert_int_equal(sampler_take(s, from, real_ns(), "execution", &arena, &row), 0);
	assert_int_equal(row.devices.n, info.devices.n);
	return row.devices.items;
}

static void nap(int ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	(void)nanosleep(&pause, NULL);
}

/* Until a device has this many looks, or this status; for as long as a slow machine needs. */
static const struct device_state *await(struct sampler *s, int64_t from, double looks,
					const char *status)
{
	for (int i = 0; i < 600; i++) {
		const struct device_state *d = take(s, from);
		if ((looks > 0 && d[0].samples >= looks && strcmp(d[0].status, "ok") == 0) ||
		    (status && strcmp(d[0].status, status) == 0))
			return d;
		nap(50);
	}
	fail_msg("it never came to that");
	return NULL;
}

static void devices_are_looked_at_while_an_execution_runs(void **state)
{
	(void)state;
	struct sampler *s = start("devices 2;clock-mhz 1500;power-mw 321000;reasons 0x4", 2, NULL);
	double cpu_s, wakeups;
	int64_t from = real_ns();
	sampler_begin(s, getpid(), "run");
	const struct device_state *d = await(s, from, 2, NULL);
	assert_string_equal(d[0].status, "ok");
	assert_string_equal(d[0].device, "0");
	assert_string_equal(d[1].device, "1");
	assert_true(d[0].clock_mean_hz == 1500e6 && d[0].power_max_w == 321);
	assert_true(d[0].throttled_frac == 1);
	assert_string_equal(d[0].throttle_reasons.items[0], "power_cap");
	sampler_end(s);
	/* What is of another execution is not of this one; unless we are kept from asking until
	 * there is a first look at this one. */
	bool too_short = false;
	for (int i = 0; i < 100 && !too_short; i++) {
		from = real_ns();
		sampler_begin(s, getpid(), "run");
		d = take(s, from);
		too_short = strcmp(d[0].status, "too_short") == 0;
		assert_true(!too_short || d[0].samples == 0);
	}
	assert_true(too_short);
	(void)await(s, from, 1, NULL);
	sampler_cost(s, &cpu_s, &wakeups);
	assert_true(cpu_s > 0 && wakeups > 0);
	sampler_stop(s);
}

static void at_most_ten_looks_a_second(void **state)
{
	(void)state;
	struct sampler *s = start("", 1, NULL);
	int64_t from = real_ns(), begun = steady_ns();
	sampler_begin(s, getpid(), "run");
	const struct device_state *d = await(s, from, 5, NULL);
	/* n looks take n - 1 periods; a late one is never caught up with. */
	assert_true((double)(steady_ns() - begun) / 1e9 >= (d[0].samples - 1) * 0.1);
	sampler_stop(s);
}

/* The call never returns: the runner goes on, and says so. */
static void a_driver_that_hangs_is_not_waited_for(void **state)
{
	(void)state;
	struct sampler *s = start("hang power", 1, NULL);
	int64_t from = real_ns();
	sampler_begin(s, getpid(), "run");
	const struct device_state *d = await(s, from, 0, "no_answer");
	assert_true(d[0].samples == 0);
	for (int i = 0; i < 2000; i++) { /* more than a socket has room for */
		sampler_end(s);
		sampler_begin(s, getpid(), "run");
	}
	d = take(s, from);
	assert_string_equal(d[0].status, "no_answer");
	sampler_stop(s);
	s = start("hang init", 1, NULL);
	sampler_begin(s, getpid(), "run");
	assert_string_equal(take(s, from)[0].status, "not_ready");
	sampler_stop(s);
}

static void a_driver_that_crashes_takes_nobody_with_it(void **state)
{
	(void)state;
	struct sampler *s = start("crash power", 1, NULL);
	int64_t from = real_ns();
	for (int i = 0; i < 5; i++) {
		sampler_begin(s, getpid(), "run");
		assert_string_equal(await(s, from, 0, "no_answer")[0].status, "no_answer");
		sampler_end(s);
	}
	sampler_stop(s);
}

static void a_device_that_vanishes_keeps_what_was_seen(void **state)
{
	(void)state;
	struct sampler *s = start("vanish-after 3", 1, NULL);
	int64_t from = real_ns();
	sampler_begin(s, getpid(), "run");
	const struct device_state *d = await(s, from, 0, "gone");
	assert_true(d[0].samples == 3);
	sampler_stop(s);
}

static void nothing_to_look_at_starts_nothing(void **state)
{
	(void)state;
	struct sampler *s = NULL;
	struct sampler_options o = { .info = &info, .per_s = 10 };
	block_clear(&platform_info_block, &info);
	assert_int_equal(sampler_start(&s, &o), 0);
	assert_null(s);
	/* Known by the driver's files alone: nobody can be asked. */
	block_clear(&accelerator_block, &gpus[0]);
	gpus[0].source = "driver";
	info.devices.items = gpus;
	info.devices.n = 1;
	assert_int_equal(sampler_start(&s, &o), 0);
	assert_null(s);
	gpus[0].source = "nvml";
	o.per_s = 0;
	assert_int_equal(sampler_start(&s, &o), 0);
	assert_null(s);
	sampler_begin(NULL, 1, "run");
	sampler_end(NULL);
	sampler_stop(NULL);
}

/* ---- whose is a process ---- */

static char folder[] = "/tmp/roimeter-unit-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[256];
	(void)snprintf(full, sizeof full, "%s%s", folder, path);
	char *slash = strrchr(full, '/');
	*slash = 0;
	assert_int_equal(file_mkdirs(full, NULL), 0);
	*slash = '/';
	assert_int_equal(file_write(full, text, strlen(text), NULL), 0);
}

static void link_pids(const char *to)
{
	char full[256];
	put("/proc/self/ns/x", "");
	(void)snprintf(full, sizeof full, "%s/proc/self/ns/pid", folder);
	(void)unlink(full);
	assert_int_equal(symlink(to, full), 0);
}

/* 100 is the execution; 101 and 102 are below it, 200 carries its run's name, 300 is somebody's
 * with a name that tries to look like another line, 400 has ended. Of 500 /proc tells nothing but
 * that it is there, and neither of 601, which has started a rank. */
static void who_is_not_of_the_execution_is_counted(void **state)
{
	(void)state;
	put("/proc/100/stat", "100 (keeper) S 50 100 100 0");
	put("/proc/101/stat", "101 (a) S 100 100 100 0");
	put("/proc/102/stat", "102 (b c) R 101 100 100 0");
	put("/proc/200/stat", "200 (rank) S 1 200 200 0");
	put("/proc/200/environ", "ROIMETER_RUN=20260929T045201Z-00000000");
	put("/proc/300/stat", "300 (x) S 100 (y) S 1 300 300 0");
	put("/proc/500/x", "");
	put("/proc/600/stat", "600 (rank) S 601 600 600 0");
	put("/proc/600/environ", "ROIMETER_RUN=20260929T045201Z-00000000");
	put("/proc/601/x", "");
	link_pids("pid:[4026531836]");
	struct sampler *s = start("pids 101 102 200 300 400 500 600", 1, folder);
	int64_t from = real_ns();
	sampler_begin(s, 100, "20260929T045201Z-00000000");
	assert_true(await(s, from, 1, NULL)[0].others == 2);
	sampler_end(s);
	from = real_ns();
	sampler_begin(s, 100, "20260929T045201Z-00000001");
	assert_true(await(s, from, 1, NULL)[0].others == 4);
	sampler_stop(s);
	/* Elsewhere the driver's numbers are not those of /proc: nobody can be told from others. */
	link_pids("pid:[4026532999]");
	s = start("pids 101 300", 1, folder);
	from = real_ns();
	sampler_begin(s, 100, "20260929T045201Z-00000000");
	assert_true(isnan(await(s, from, 1, NULL)[0].others));
	sampler_stop(s);
}

/* ---- the processor ---- */

static void heat_and_energy_come_from_the_kernels_counters(void **state)
{
	(void)state;
	struct watch_counters c;
	double throttles, energy_j;
	watch_counters_begin(&c, folder);
	watch_counters_end(&c, &throttles, &energy_j);
	assert_true(isnan(throttles) && isnan(energy_j));

	put("/class/powercap/intel-rapl:0/name", "package-0\n");
	put("/class/powercap/intel-rapl:0/energy_uj", "262143000000\n");
	put("/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
	put("/class/powercap/intel-rapl:1/name", "psys\n");
	put("/class/powercap/intel-rapl:1/energy_uj", "5\n");
	put("/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "7\n");
	put("/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "9\n");
	watch_counters_begin(&c, folder);
	put("/class/powercap/intel-rapl:0/energy_uj", "671150\n"); /* it went round: 1 J */
	watch_counters_tick(&c);
	put("/class/powercap/intel-rapl:0/energy_uj", "2671150\n");
	put("/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "8\n");
	put("/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "12\n");
	watch_counters_end(&c, &throttles, &energy_j);
	assert_true(throttles == 4);
	assert_true(fabs(energy_j - 3) < 1e-9);
	assert_false(c.denied);
}

static int begin(void **state)
{
	(void)state;
	(void)alarm(600);
	return mkdtemp(folder) ? 0 : -1;
}

static int done(void **state)
{
	(void)state;
	(void)file_remove_tree(folder, NULL);
	arena_free(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_outside_of_the_region_are_left_out),
		cmocka_unit_test(memory_is_constant_and_nothing_is_lost),
		cmocka_unit_test(a_device_that_tells_no_reasons_is_not_known_to_run_freely),
		cmocka_unit_test(devices_are_looked_at_while_an_execution_runs),
		cmocka_unit_test(at_most_ten_looks_a_second),
		cmocka_unit_test(a_driver_that_hangs_is_not_waited_for),
		cmocka_unit_test(a_driver_that_crashes_takes_nobody_with_it),
		cmocka_unit_test(a_device_that_vanishes_keeps_what_was_seen),
		cmocka_unit_test(nothing_to_look_at_starts_nothing),
		cmocka_unit_test(who_is_not_of_the_execution_is_counted),
		cmocka_unit_test(heat_and_energy_come_from_the_kernels_counters),
	};
	return cmocka_run_group_tests(tests, begin, done);
}
