/* Device traces clipped to the region; what the worked examples (cases.c) do not try. */
/* wrap: malloc calloc realloc */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/assemble.h"
#include "core/category.h"
#include "core/clip.h"
#include "lib/num.h"
#include "tests/unit/fail_alloc.h"

#define ALL ((1u << CATEGORIES) - 1)

static const char *const names[] = { "k", "copy", "set" };
static const char *const devices[] = { "gpu0", "gpu1", "gpu2" };

static struct arena arena;

static int drop(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct clip clip(const struct trace *t)
{
	struct clip c;
	assert_int_equal(clip_trace(&arena, t, &c, NULL), 0);
	return c;
}

/* ---- against a model that looks at every nanosecond
 * -------------------------------------------------- */

enum { SPAN = 300, PROCESSES = 3, DEVICES = 3, MARKS = 24, OPS = 40 };

static uint32_t seed;

static unsigned dice(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

struct model {
	bool roi[PROCESSES][SPAN], window[PROCESSES][SPAN], busy[PROCESSES][SPAN];
	bool device[DEVICES][SPAN], any[SPAN];
	uint64_t op_sum, ops, whole_ops;
};

static void mark_range(bool *line, int64_t begin, int64_t end, bool value)
{
	for (int64_t t = begin; t < end; t++)
		line[t] = value;
}

static void run_model(struct model *m, const struct trace *t)
{
	memset(m, 0, sizeof *m);
	for (size_t i = 0; i < t->n_marks; i++)
		if (!t->marks[i].exclude)
			mark_range(m->roi[t->marks[i].process], t->marks[i].begin_ns,
				   t->marks[i].end_ns, true);
	memcpy(m->window, m->roi, sizeof m->window);
	for (size_t i = 0; i < t->n_marks; i++)
		if (t->marks[i].exclude)
			mark_range(m->window[t->marks[i].process], t->marks[i].begin_ns,
				   t->marks[i].end_ns, false);
	for (size_t i = 0; i < t->n_ops; i++) {
		const struct trace_op *op = &t->ops[i];
		bool touches = false;
		for (int64_t at = op->begin_ns; at < op->end_ns; at++) {
			if (!m->window[op->process][at])
				continue;
			touches = true;
			m->op_sum++;
			m->busy[op->process][at] = m->device[op->device][at] = m->any[at] = true;
		}
		m->ops += touches;
		m->whole_ops += op->end_ns > op->begin_ns;
	}
}

static uint64_t ones(const bool *line)
{
	uint64_t n = 0;
	for (int t = 0; t < SPAN; t++)
		n += line[t];
	return n;
}

static double total(const double *of_categories)
{
	double sum = 0;
	for (int c = 0; c < CATEGORIES; c++)
		sum += of_categories[c];
	return sum;
}

static void compare(const struct model *m, const struct clip *c)
{
	uint64_t busy = 0, wall = 0, window = 0;
	size_t with_roi = 0, with_work = 0;
	for (int p = 0; p < PROCESSES; p++) {
		busy += ones(m->busy[p]);
		with_work += ones(m->busy[p]) > 0;
		with_roi += ones(m->roi[p]) > 0;
		wall = ones(m->window[p]) > wall ? ones(m->window[p]) : wall;
	}
	for (int t = 0; t < SPAN; t++)
		window += m->window[0][t] || m->window[1][t] || m->window[2][t];
	assert_int_equal(c->processes, with_roi);
	assert_int_equal(c->wall_ns, wall);
	assert_int_equal(c->window_ns, window);
	assert_int_equal(c->roi.busy_ns, busy);
	assert_int_equal(c->roi.op_sum_ns, m->op_sum);
	assert_int_equal(c->job_busy_ns, ones(m->any));
	assert_int_equal(c->processes_with_device_work, with_work);
	assert_true(c->found == (with_roi > 0));
	assert_true(with_roi ? total(c->roi.ops) == (double)m->ops : !known(c->roi.ops[0]));
	assert_true(with_roi ? total(c->roi.time_ns) == (double)m->op_sum : m->op_sum == 0);
	assert_true(total(c->whole.ops) == (double)m->whole_ops);
	for (size_t i = 0; i < c->n_devices; i++)
		assert_int_equal(c->devices[i].busy_ns, ones(m->device[c->devices[i].device]));
}

static void random_traces_agree_with_a_model_of_every_nanosecond(void **state)
{
	(void)state;
	for (uint32_t round = 1; round < 400; round++) {
		struct trace_mark marks[MARKS];
		struct trace_op ops[OPS];
		struct trace t = { .marks = marks,
				   .n_marks = dice(MARKS),
				   .ops = ops,
				   .n_ops = dice(OPS),
				   .names = names,
				   .devices = devices,
				   .n_devices = DEVICES,
				   .observes = ALL,
				   .dropped_ops = NAN };
		struct model m;
		seed = round;
		for (size_t i = 0; i < t.n_marks; i++) {
			int64_t at = dice(SPAN - 60);
			marks[i] = (struct trace_mark){ at, at + dice(60), dice(PROCESSES),
							dice(3) == 0 };
		}
		for (size_t i = 0; i < t.n_ops; i++) {
			int64_t at = dice(SPAN - 40);
			ops[i] = (struct trace_op){
				at,      at + dice(40),   8, dice(PROCESSES), dice(DEVICES),
				dice(3), dice(CATEGORIES)
			};
		}
		run_model(&m, &t);
		struct clip c = clip(&t);
		compare(&m, &c);
		arena_free(&arena);
	}
}

/* ---- single rules
 * --------------------------------------------------------------------------------------- */

static void an_operation_over_two_entries_counts_once(void **state)
{
	(void)state;
	const struct trace_mark marks[] = { { 100, 200, 1, false }, { 300, 400, 1, false } };
	const struct trace_op ops[] = { { 190, 310, 120, 1, 0, 2, FILL } };
	struct clip c = clip(&(struct trace){ .marks = marks,
					      .n_marks = 2,
					      .ops = ops,
					      .n_ops = 1,
					      .names = names,
					      .observes = 1u << FILL });
	assert_true(c.roi.ops[FILL] == 1);
	assert_true(c.roi.time_ns[FILL] == 20);
	assert_true(c.roi.bytes[FILL] == 20);
	assert_null(c.devices);
	assert_false(known(c.busy_frac_mean));
	assert_int_equal(c.ops[0].count, 1);
	assert_int_equal(c.ops[0].min_ns, 20);
}

static void bytes_round_once_to_even(void **state)
{
	(void)state;
	const struct trace_mark marks[] = { { 0, 10, 1, false } };
	/* Half of each lies inside. Rounding each by itself would make 1.5 + 1 a 3. */
	const struct trace_op ops[] = { { 5, 15, 3, 1, 0, 1, COPY_D2H },
					{ 5, 15, 2, 1, 0, 1, COPY_D2H },
					{ 5, 15, 5, 1, 0, 1, COPY_H2D },
					{ 5, 15, NAN, 1, 0, 1, COPY_D2D } };
	struct clip c = clip(&(struct trace){ .marks = marks,
					      .n_marks = 1,
					      .ops = ops,
					      .n_ops = 4,
					      .names = names,
					      .observes = ALL });
	assert_true(c.roi.bytes[COPY_D2H] == 2); /* 1.5 + 1 = 2.5 */
	assert_true(c.roi.bytes[COPY_H2D] == 2); /* 2.5 */
	assert_false(
		known(c.roi.bytes[COPY_D2D])); /* one size is not known, so neither is the sum */
	assert_true(c.roi.ops[COPY_D2D] == 1);
}

static void a_device_used_outside_the_region_only_was_idle_in_it(void **state)
{
	(void)state;
	const struct trace_mark marks[] = { { 0, 100, 1, false } };
	const struct trace_op ops[] = { { 0, 50, NAN, 1, 0, 0, COMPUTE },
					{ 200, 250, NAN, 1, 2, 0, COMPUTE } };
	struct clip c = clip(&(struct trace){ .marks = marks,
					      .n_marks = 1,
					      .ops = ops,
					      .n_ops = 2,
					      .names = names,
					      .devices = devices,
					      .n_devices = 3,
					      .observes = 1u << COMPUTE });
	assert_int_equal(c.n_devices, 2); /* gpu1 was never used */
	assert_int_equal(c.devices[1].device, 2);
	assert_int_equal(c.devices[1].busy_ns, 0);
	assert_int_equal(c.devices[1].processes, 0);
	assert_true(c.busy_frac_mean == 0.25);
	assert_true(c.idle_ns == 150);
}

static void without_capabilities_nothing_is_said(void **state)
{
	(void)state;
	const struct trace_mark marks[] = { { 0, 100, 1, false } };
	struct trace t = { .marks = marks, .n_marks = 1, .names = names };
	struct clip c = clip(&t);
	struct record rec;
	assert_false(c.observed);
	record_init(&rec);
	assert_int_equal(clip_put(&rec, &t, &c), 0);
	assert_false(known(rec.body.device.busy_s));
	assert_null(rec.body.ops.items);
	record_done(&rec);
}

static void what_is_not_in_the_tables_is_refused(void **state)
{
	(void)state;
	struct clip c;
	struct err err = { "" };
	const struct trace_op ops[] = { { 0, 10, NAN, 1, 5, 0, COMPUTE } };
	struct trace t = { .ops = ops,
			   .n_ops = 1,
			   .names = names,
			   .devices = devices,
			   .n_devices = 3,
			   .observes = ALL };
	assert_int_equal(clip_trace(&arena, &t, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "device 5"));
}

static void an_empty_call_at_the_end_of_a_window_is_inside(void **state)
{
	(void)state;
	const struct trace_mark marks[] = { { 0, 100, 1, false }, { 200, 300, 1, false } };
	const struct trace_call calls[] = { { 100, 100, 1, false }, { 0, 100, 1, true },
					    { 100, 200, 1, false }, { 200, 201, 1, false },
					    { 50, 250, 1, true },   { 0, 1, 2, false } };
	struct clip c = clip(&(struct trace){ .marks = marks,
					      .n_marks = 2,
					      .names = names,
					      .calls = calls,
					      .n_calls = 6,
					      .observes = ALL });
	assert_int_equal(c.calls_roi.calls, 3);
	assert_int_equal(c.calls_roi.sync_calls, 1);
	assert_int_equal(c.calls_roi.sync_ns, 100);
	assert_int_equal(c.calls_whole.calls, 6);
}

static void a_record_gets_the_blocks_and_their_caveats(void **state)
{
	(void)state;
	const struct trace_mark marks[] = { { 0, 2000000000, 1, false } };
	const struct trace_op ops[] = { { 0, 1900000000, NAN, 1, 1, 0, COMPUTE },
					{ 10, 10, NAN, 1, 1, 0, COMPUTE } };
	const struct trace_call calls[] = { { 5, 1000, 1, true } };
	struct trace t = { .marks = marks,
			   .n_marks = 1,
			   .ops = ops,
			   .n_ops = 2,
			   .names = names,
			   .devices = devices,
			   .n_devices = 3,
			   .calls = calls,
			   .n_calls = 1,
			   .runtime = "cuda",
			   .observes = 1u << COMPUTE,
			   .dropped_ops = 7 };
	struct clip c = clip(&t);
	struct record rec;
	record_init(&rec);
	rec.body.roi.wall_s = 1.5;
	assert_int_equal(clip_put(&rec, &t, &c), 0);
	const struct record_body *b = &rec.body;
	assert_true(b->device.busy_s == 1.9 && b->device.compute_s == 1.9 &&
		    b->device.compute_ops == 1);
	assert_false(known(b->device.copy_h2d_s) || known(b->device.compute_bytes));
	assert_true(b->device.busy_frac_of_profiled_roi == 0.95);
	assert_true(fabs(b->device.busy_frac_of_roi - 1.9 / 1.5) < 1e-12);
	assert_true(fabs(b->device.host_gap_s + 0.4) < 1e-12);
	assert_int_equal(b->device.per_device.n, 1);
	assert_string_equal(b->device.per_device.items[0].device, "gpu1");
	assert_true(b->roi.profiled_wall_s == 2);
	assert_string_equal(b->runtime_api.name, "cuda");
	assert_true(b->runtime_api.sync_calls == 1);
	assert_true(b->context.whole_process.compute_ops == 1);
	assert_string_equal(b->ops_scope, "roi");
	static const char *const codes[] = { "busy_exceeds_clean_roi", "profiler_inflation",
					     "untimed_operations", "dropped_operations" };
	assert_int_equal(b->caveats.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(b->caveats.items[i].code, codes[i]);
	record_done(&rec);
}

static void ratios_at_their_limit_are_not_over_it(void **state)
{
	(void)state;
	struct derived d;
	derive(1, 1.01, 1, 1, &d);
	assert_false(d.busy_exceeds);
	derive(1, 1.011, 1, 1, &d);
	assert_true(d.busy_exceeds);
	derive(1.2, 0.5, 1, 1, &d);
	assert_false(d.deflated);
	derive(1.21, 0.5, 1, 1, &d);
	assert_true(d.deflated);
	derive(1, 0.5, 1, 1.21, &d);
	assert_true(d.inflated);
	derive(NAN, 0.5, 1, 1.21, &d);
	assert_false(d.inflated || d.deflated || d.busy_exceeds || known(d.host_gap_s) ||
		     known(d.inflation));
	assert_true(d.busy_frac_of_profiled_roi > 0.4);
	derive(1, 0.5, 0, 1, &d);
	assert_false(known(d.host_gap_s));
}

static void every_failed_allocation_is_an_error(void **state)
{
	(void)state;
	const struct trace_mark marks[] = { { 0, 100, 1, false }, { 40, 50, 1, true } };
	const struct trace_op ops[] = { { 0, 60, 8, 1, 0, 1, COPY_H2D } };
	struct trace t = { .marks = marks,
			   .n_marks = 2,
			   .ops = ops,
			   .n_ops = 1,
			   .names = names,
			   .devices = devices,
			   .n_devices = 3,
			   .observes = ALL,
			   .dropped_ops = NAN };
	int failures = 0;
	for (int n = 1; fail_alloc(n); n++) {
		struct clip c;
		int rc = clip_trace(&arena, &t, &c, NULL);
		alloc_left = 0;
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		failures += rc != 0;
		arena_free(&arena);
	}
	assert_true(failures > 5);
}

static void names_of_categories(void **state)
{
	(void)state;
	for (int c = 0; c < CATEGORIES; c++)
		assert_int_equal(category_of(category_name((enum category)c)), c);
	assert_int_equal(category_of("memcpy"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(random_traces_agree_with_a_model_of_every_nanosecond,
					  drop),
		cmocka_unit_test_teardown(an_operation_over_two_entries_counts_once, drop),
		cmocka_unit_test_teardown(bytes_round_once_to_even, drop),
		cmocka_unit_test_teardown(a_device_used_outside_the_region_only_was_idle_in_it,
					  drop),
		cmocka_unit_test_teardown(without_capabilities_nothing_is_said, drop),
		cmocka_unit_test_teardown(what_is_not_in_the_tables_is_refused, drop),
		cmocka_unit_test_teardown(an_empty_call_at_the_end_of_a_window_is_inside, drop),
		cmocka_unit_test_teardown(a_record_gets_the_blocks_and_their_caveats, drop),
		cmocka_unit_test(ratios_at_their_limit_are_not_over_it),
		cmocka_unit_test_teardown(every_failed_allocation_is_an_error, drop),
		cmocka_unit_test(names_of_categories),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
