/* Suites, timers and metrics when memory ends, at every place where it can. */
/* wrap: malloc calloc realloc */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "suite/env.h"
#include "suite/suite.h"
#include "suite/table.h"
#include "tests/unit/fail_alloc.h"
#include "timer/timer.h"

static struct buf text;

static void load(const char *path)
{
	alloc_left = 0;
	buf_done(&text);
	assert_int_equal(file_read(&text, path, NULL), 0);
}

static void suites(void **state)
{
	(void)state;
	load("tests/golden/suite/whole.yaml");
	int n = 1;
	for (; fail_alloc(n); n++) {
		struct suite s;
		struct err err = { 0 };
		if (suite_parse(&s, "s.yaml", text.data, text.len, &err) == 0) {
			assert_int_equal(s.n_cases, 8);
			suite_done(&s);
		} else {
			assert_true(err.text[0]);
			assert_null(s.arena.blocks);
		}
	}
	assert_true(n > 10);
}

static void definitions(void **state)
{
	(void)state;
	load("suites/timers/qmcpack.yaml");
	int n = 1;
	for (; fail_alloc(n); n++) {
		struct timer_def *def = NULL;
		struct err err = { 0 };
		if (timer_def_parse(&def, "t.yaml", text.data, text.len, &err) == 0)
			timer_def_free(def);
		else
			assert_true(err.text[0] && !def);
	}
	assert_true(n > 10);
}

static void readings(void **state)
{
	(void)state;
	load("suites/timers/lammps.yaml");
	struct timer_def *def = NULL;
	assert_int_equal(timer_def_parse(&def, "t.yaml", text.data, text.len, NULL), 0);
	static const char log[] = "Loop time of 1.5 on 1 procs for 100 steps with 500 atoms\n"
				  "Pair    | 1 | 1.25 | 2 |   0.0 | 99.00\n";
	const struct timer_file file = { "run.log", log, sizeof log - 1 };
	for (int n = 1; fail_alloc(n); n++) {
		struct arena a = { 0 };
		struct timer_result r;
		timer_read(def, &a, &file, 1, &r);
		assert_true(r.rc == 0 && r.wall_s == 1.5);
		arena_free(&a);
		timer_read(def, &a, NULL, 0, &r);
		assert_true(r.rc == -ENOENT && r.why);
		arena_free(&a);
	}
	timer_def_free(def);
}

static void metrics_and_cells(void **state)
{
	(void)state;
	static const char log[] = "rate 1.5 GB/s\nrate nan MB/s\n";
	for (int n = 1; fail_alloc(n); n++) {
		struct metric m;
		struct err err = { 0 };
		int rc = metric_find("rate ([0-9.]+) MB/s", "MB/s", log, sizeof log - 1, &m, &err);
		/* never the 1500 of the line before, for want of a second look */
		assert_true(rc == 0 ? m.status == METRIC_NOT_A_NUMBER
				    : rc == -ENOMEM && err.text[0]);
		assert_true(isnan(m.value));
	}
	for (int n = 1; fail_alloc(n); n++) {
		struct arena a = { 0 };
		struct swept_case *cases = NULL;
		size_t made_cases = 0;
		struct err err = { 0 };
		int rc = sweep_expand(&a, "n{}", "N=1|2;M=x", &cases, &made_cases, &err);
		assert_true(rc == 0 ? made_cases == 2 : rc == -ENOMEM && err.text[0]);
		arena_free(&a);
	}
	alloc_left = 0;
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suites),
		cmocka_unit_test(definitions),
		cmocka_unit_test(readings),
		cmocka_unit_test(metrics_and_cells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
