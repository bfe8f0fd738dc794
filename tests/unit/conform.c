/* What a probe's record is held against: all good, and each number planted wrong. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/conform.h"

static const struct conform_want want = { { 20, 1, 0, 0, 0 }, { 36, 1, 1, 1, 1 }, 1 };

struct probe {
	struct record rec;
	struct execution executions[1];
	struct check checks[CONFORM_CHECKS];
	struct conform_seen seen;
	struct conformance result;
};

static void make(struct probe *p, const char *collector)
{
	record_init(&p->rec);
	block_clear(&execution_block, &p->executions[0]);
	struct record_body *r = &p->rec.body;
	struct device *d = &r->device;
	struct whole_process *w = &r->context.whole_process;
	r->status = "ok";
	r->roi.entries = 1;
	r->roi.excluded_s = 0.004;
	r->roi.wall_s = 0.5;
	d->compute_ops = 20, d->copy_d2d_ops = 1;
	d->copy_h2d_ops = d->copy_d2h_ops = d->fill_ops = 0;
	w->compute_ops = 36;
	w->copy_d2d_ops = w->copy_h2d_ops = w->copy_d2h_ops = w->fill_ops = 1;
	d->busy_s = 0.4;
	r->gap.device_idle_s = 0.1;
	p->executions[0].name = "profiled.opencl";
	p->executions[0].roi_s = 0.501;
	r->executions.items = p->executions;
	r->executions.n = 1;
	p->seen = (struct conform_seen){ r, collector, true, NULL };
}

/* Verdict of all; the first that failed in ret_first, or "". */
static const char *judged(struct probe *p, const char **ret_first)
{
	conform_check(p->checks, &p->seen, &want);
	conformance_clear(&p->result);
	conform_judge(&p->result, p->seen.collector, p->checks, CONFORM_CHECKS);
	*ret_first = "";
	for (size_t i = CONFORM_CHECKS; i-- > 0;)
		if (strcmp(p->checks[i].verdict, "fail") == 0)
			*ret_first = p->checks[i].name;
	return p->result.verdict;
}

static void one_that_is_exact_passes(void **state)
{
	(void)state;
	struct probe p;
	const char *first;
	make(&p, "opencl");
	assert_string_equal(judged(&p, &first), "pass");
	assert_true(p.result.passed == 16 && p.result.failed == 0 && p.result.skipped == 0);
	assert_null(p.result.why);
	record_done(&p.rec);
}

static void without_a_collector_only_the_clean_part_is_tested(void **state)
{
	(void)state;
	struct probe p;
	const char *first;
	make(&p, "none");
	block_clear(&device_block, &p.rec.body.device);
	assert_string_equal(judged(&p, &first), "pass-clean-only");
	assert_true(p.result.passed == 4 && p.result.failed == 0 && p.result.skipped == 12);
	p.rec.body.roi.entries = 2;
	assert_string_equal(judged(&p, &first), "fail");
	assert_string_equal(first, "entries");
	record_done(&p.rec);
}

static void each_wrong_number_fails_by_its_name(void **state)
{
	(void)state;
	struct probe p;
	make(&p, "opencl");
	struct record_body *r = &p.rec.body;
	struct device *d = &r->device;
	struct whole_process *w = &r->context.whole_process;
	const struct {
		double *at, to;
		const char *name;
	} planted[] = {
		{ &r->roi.entries, 2, "entries" },
		{ &r->roi.excluded_s, 0, "excluded" },
		{ &r->roi.excluded_s, NAN, "excluded" },
		{ &d->compute_ops, 21, "compute_ops" },
		{ &d->compute_ops, NAN, "compute_ops" },
		{ &d->copy_d2d_ops, 0, "copy_d2d_ops" },
		{ &d->copy_h2d_ops, 1, "copy_h2d_ops" },
		{ &d->copy_d2h_ops, 1, "copy_d2h_ops" },
		{ &d->fill_ops, NAN, "fill_ops" },
		{ &w->compute_ops, 35, "whole_compute_ops" },
		{ &w->copy_d2d_ops, 2, "whole_copy_d2d_ops" },
		{ &w->copy_h2d_ops, 0, "whole_copy_h2d_ops" },
		{ &w->copy_d2h_ops, NAN, "whole_copy_d2h_ops" },
		{ &w->fill_ops, 0, "whole_fill_ops" },
		{ &r->roi.wall_s, 0.3, "profiled_region" },
		{ &r->roi.wall_s, NAN, "profiled_region" },
		{ &r->gap.device_idle_s, 0.104, "picture_region" },
		{ &r->gap.device_idle_s, NAN, "picture_region" },
	};
	for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
		double before = *planted[i].at;
		const char *first;
		*planted[i].at = planted[i].to;
		assert_string_equal(judged(&p, &first), "fail");
		assert_string_equal(first, planted[i].name);
		assert_true(p.result.failed == 1);
		assert_non_null(p.result.why);
		*planted[i].at = before;
	}
	record_done(&p.rec);
}

static void a_bad_run_and_a_found_sentinel_fail(void **state)
{
	(void)state;
	struct probe p;
	const char *first;
	make(&p, "opencl");
	p.rec.body.status = "profiled_failed";
	p.rec.body.status_text = "it ended with 3";
	assert_string_equal(judged(&p, &first), "fail");
	assert_string_equal(first, "status");
	assert_string_equal(p.result.why, "it ended with 3");
	p.rec.body.status = "ok";
	p.seen.sentinel_in = "profiled.opencl/run.log";
	assert_string_equal(judged(&p, &first), "fail");
	assert_string_equal(first, "sentinel");
	p.seen.sentinel_in = NULL;
	p.seen.searched = false;
	assert_string_equal(judged(&p, &first), "fail");
	p.seen.searched = true;
	p.executions[0].name = "profiled.cupti"; /* not that collector's */
	assert_string_equal(judged(&p, &first), "fail");
	assert_string_equal(first, "profiled_region");
	record_done(&p.rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_exact_passes),
		cmocka_unit_test(without_a_collector_only_the_clean_part_is_tested),
		cmocka_unit_test(each_wrong_number_fails_by_its_name),
		cmocka_unit_test(a_bad_run_and_a_found_sentinel_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
