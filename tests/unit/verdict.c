/* What a record says of the tests of its collectors, and from which results. */
#define _GNU_SOURCE
#include "tests/unit/store_fixture.h"

#include <string.h>

#include "core/verdict.h"
#include "lib/num.h"
#include "schema/conformance.h"
#include "store/verdict.h"

static struct record rec;

/* Executions, and the one that the device is of. */
static void a_record(const char *const names[], size_t n, const char *device)
{
	record_init(&rec);
	rec.body.platform = "p";
	rec.body.utc = "2026-11-30T04:00:00Z";
	rec.body.device.execution = device;
	rec.body.executions.items = arena_array(&rec.arena, n + 1, sizeof(struct execution));
	for (size_t i = 0; i < n; i++) {
		block_clear(&execution_block, &rec.body.executions.items[i]);
		rec.body.executions.items[i].name = names[i];
	}
	rec.body.executions.n = n;
}

static const char *verdict_of(void)
{
	const char *told = rec.body.platform_info.conformance;
	return told ? told : "null";
}

static size_t caveats(const char *part)
{
	size_t n = 0;
	for (size_t i = 0; i < rec.body.caveats.n; i++) {
		assert_string_equal(rec.body.caveats.items[i].code, "conformance_missing");
		n += strstr(rec.body.caveats.items[i].text, part) != NULL;
	}
	return n;
}

static void the_collector_of_the_device_counts(void **state)
{
	(void)state;
	static const char *const names[] = { "clean.0", "profiled.opencl", "profiled.cupti",
					     "profiled.cupti" };
	const struct verdict known[] = { { "cupti", "fail", "2026-11-30T03:00:00Z", "compute_ops" },
					 { "opencl", "pass", "2026-11-30T02:00:00Z", NULL } };
	a_record(names, 4, "profiled.cupti");
	assert_int_equal(record_put_verdicts(&rec, known, 2), 0);
	assert_string_equal(verdict_of(), "fail");
	assert_int_equal(rec.body.caveats.n, 1); /* once, however many executions */
	assert_int_equal(caveats("test of cupti on p at 2026-11-30T03:00:00Z: fail, compute_ops."),
			 1);
	record_done(&rec);
	a_record(names, 2, NULL); /* it saw nothing */
	assert_int_equal(record_put_verdicts(&rec, known, 2), 0);
	assert_string_equal(verdict_of(), "pass");
	assert_int_equal(rec.body.caveats.n, 0);
	record_done(&rec);
	a_record(names, 4, "profiled.opencl"); /* the other one has a caveat all the same */
	assert_int_equal(record_put_verdicts(&rec, known + 1, 1), 0);
	assert_string_equal(verdict_of(), "pass");
	assert_int_equal(caveats("--collector cupti"), 1);
	record_done(&rec);
}

/* By itself, and in the execution of another. */
static void who_counts_files_is_tested_likewise(void **state)
{
	(void)state;
	static const char *const alone[] = { "clean.0", "profiled.io" }, *const beside[] = {
		"clean.0", "profiled.opencl"
	};
	const struct verdict known[] = { { "none", "pass-clean-only", "2026-11-30T03:00:00Z",
					   NULL },
					 { "opencl", "pass", "2026-11-30T03:00:00Z", NULL },
					 { "io", "pass", "2026-11-30T03:00:00Z", NULL } };
	a_record(alone, 2, NULL);
	rec.body.io.execution = "profiled.io";
	assert_int_equal(record_put_verdicts(&rec, known, 3), 0);
	assert_string_equal(verdict_of(), "pass");
	assert_int_equal(rec.body.caveats.n, 0);
	record_done(&rec);
	a_record(alone, 2, NULL);
	rec.body.io.execution = "profiled.io";
	assert_int_equal(record_put_verdicts(&rec, known, 2), 0);
	assert_string_equal(verdict_of(), "null");
	assert_int_equal(rec.body.caveats.n, 1); /* once */
	assert_int_equal(caveats("--collector io"), 1);
	record_done(&rec);
	a_record(beside, 2, NULL); /* auto took a device's collector along, which saw none */
	rec.body.measurement.profile_auto = YES;
	rec.body.io.execution = "profiled.opencl";
	assert_int_equal(record_put_verdicts(&rec, known + 2, 1), 0);
	assert_string_equal(verdict_of(), "pass");
	assert_int_equal(rec.body.caveats.n, 0);
	record_done(&rec);
	for (size_t n = 2; n <= 3; n++) {
		a_record(beside, 2, "profiled.opencl");
		rec.body.io.execution = "profiled.opencl";
		assert_int_equal(record_put_verdicts(&rec, known, n), 0);
		assert_string_equal(verdict_of(), "pass");
		assert_int_equal(rec.body.caveats.n, 3 - n);
		record_done(&rec);
	}
}

static void marks_alone_are_tested_by_any_pass(void **state)
{
	(void)state;
	static const char *const names[] = { "warmup.0", "clean.0" };
	struct verdict known[] = { { "cupti", "fail", "2026-11-30T03:00:00Z", "x" },
				   { "none", "pass-clean-only", "2026-11-30T02:00:00Z", "y" },
				   { "opencl", "pass", "2026-11-30T02:00:00Z", NULL } };
	a_record(names, 2, NULL);
	assert_int_equal(record_put_verdicts(&rec, known, 3), 0);
	assert_string_equal(verdict_of(), "pass-clean-only");
	assert_int_equal(rec.body.caveats.n, 0);
	record_done(&rec);
	known[1].verdict = "fail";
	a_record(names, 2, NULL);
	assert_int_equal(record_put_verdicts(&rec, known, 3), 0);
	assert_string_equal(verdict_of(), "pass");
	assert_int_equal(rec.body.caveats.n, 0);
	record_done(&rec);
	a_record(names, 2, NULL);
	assert_int_equal(record_put_verdicts(&rec, known, 2), 0);
	assert_string_equal(verdict_of(), "fail");
	assert_int_equal(caveats("the marks on p at 2026-11-30T02:00:00Z: fail, y."), 1);
	record_done(&rec);
	a_record(names, 2, NULL); /* a collector that fails says nothing of marks */
	assert_int_equal(record_put_verdicts(&rec, known, 1), 0);
	assert_string_equal(verdict_of(), "null");
	assert_int_equal(caveats("no conformance test of p was known"), 1);
	record_done(&rec);
}

static void add_result(struct store *s, const char *collector, const char *utc, const char *verdict)
{
	struct conformance c;
	struct check k;
	struct err err;
	bool good = strcmp(verdict, "fail") != 0;
	block_clear(&check_block, &k);
	k.name = "status";
	k.verdict = good ? "pass" : "fail";
	conformance_clear(&c);
	c.platform = "p";
	c.collector = collector;
	c.utc = utc;
	c.verdict = verdict;
	c.passed = good;
	c.failed = !good;
	c.skipped = 0;
	c.checks.items = &k;
	c.checks.n = 1;
	if (store_add_conformance(s, &c, NULL, &err))
		fail_msg("%s", err.text);
}

static void a_result_that_is_later_than_the_record_does_not_count(void **state)
{
	(void)state;
	static const char *const names[] = { "clean.0", "profiled.cupti" };
	struct store *s = open_store(STORE_WRITE);
	add_result(s, "cupti", "2026-11-30T02:00:00Z", "fail");
	add_result(s, "cupti", "2026-11-30T04:00:00Z", "pass");
	add_result(s, "none", "2026-11-30T01:00:00Z", "pass-clean-only");
	a_record(names, 2, "profiled.cupti");
	assert_int_equal(store_put_verdicts(s, &rec, NULL), 0);
	assert_string_equal(verdict_of(), "pass");
	record_done(&rec);
	add_result(s, "cupti", "2026-11-30T04:00:01Z", "fail");
	a_record(names, 2, "profiled.cupti");
	assert_int_equal(store_put_verdicts(s, &rec, NULL), 0);
	assert_string_equal(verdict_of(), "pass");
	record_done(&rec);
	a_record(names, 2, "profiled.cupti");
	rec.body.utc = "2026-11-30T03:59:59Z";
	assert_int_equal(store_put_verdicts(s, &rec, NULL), 0);
	assert_string_equal(verdict_of(), "fail");
	record_done(&rec);
	a_record(names, 1, NULL);
	assert_int_equal(store_put_verdicts(s, &rec, NULL), 0);
	assert_string_equal(verdict_of(), "pass-clean-only");
	record_done(&rec);
	a_record(names, 1, NULL); /* another platform, or no store at all */
	rec.body.platform = "q";
	assert_int_equal(store_put_verdicts(s, &rec, NULL), 0);
	assert_int_equal(caveats("of q was known"), 1);
	assert_int_equal(store_put_verdicts(NULL, &rec, NULL), 0);
	record_done(&rec);
	store_close(s);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		EACH(the_collector_of_the_device_counts),
		EACH(who_counts_files_is_tested_likewise),
		EACH(marks_alone_are_tested_by_any_pass),
		EACH(a_result_that_is_later_than_the_record_does_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
