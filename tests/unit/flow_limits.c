/* What a flow does where its memory ends, where things come too late, and where nothing is known.
 */
/* wrap: malloc calloc realloc */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow_impl.h"
#include "lib/buf.h"
#include "lib/num.h"
#include "tests/unit/fail_alloc.h"

#define ALL ((1u << CATEGORIES) - 1)
#define SAME(a, b) assert_true((a) == (double)(b))

static struct arena arena;

static int drop(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct flow *new_flow(const struct flow_options *o)
{
	struct flow *f;
	assert_int_equal(flow_new(&f, o, NULL), 0);
	assert_int_equal(flow_device(f, "gpu0", "uuid-0"), 0);
	assert_int_equal(flow_name(f, "k", 1), 1);
	return f;
}

static struct picture picture(struct flow *f)
{
	struct picture p;
	assert_int_equal(flow_picture(f, &arena, &p, NULL), 0);
	return p;
}

static void op(struct flow *f, int64_t begin, int64_t end)
{
	flow_op(f, &(struct flow_op){ begin, end, NAN, 0, 1, COMPUTE });
}

/* ---- too late ------------------------------------------------------------------------------- */

static void a_late_operation_is_in_all_sums_but_the_unions(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL, .keep_busy = true });
	assert_int_equal(flow_range(f, false, 0, 100), 0);
	op(f, 50, 60);
	flow_settle(f, 50);
	op(f, 49, 55); /* late */
	op(f, 50, 70); /* not */
	struct picture p = picture(f);
	SAME(p.late, 1);
	SAME(p.roi.ops.items[COMPUTE], 3);
	SAME(p.roi.op_sum_ns, 36);
	SAME(p.roi.busy_ns, 20);
	SAME(p.roi.device_busy_ns, 20);
	SAME(p.ops.items[0].count, 3);
	flow_free(f);
}

/* Out of order by more than the ring mends: what is lost is said. */
static void a_ring_that_is_too_small_says_so(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL, .slots = 16 });
	for (int i = 0; i < 17; i++)
		op(f, 1000 + 10 * i, 1005 + 10 * i);
	op(f, 1000, 1005); /* the oldest of the ring is 1010, but 1000 was the last that left it */
	op(f, 999, 1001);
	struct picture p = picture(f);
	SAME(p.late, 1);
	SAME(p.whole.ops.items[COMPUTE], 19);
	SAME(p.whole.busy_ns, 85);
	flow_free(f);
}

static void late_ranges_are_cut_and_counted(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL });
	assert_int_equal(flow_range(f, false, 0, 10), 0);
	op(f, 20, 30);
	flow_settle(f, 21);
	assert_int_equal(flow_range(f, false, 12, 18), 0); /* nothing is left of it */
	assert_int_equal(flow_range(f, false, 25, 40), 0); /* from 30 on */
	assert_int_equal(flow_range(f, false, 50, 50), 0);
	struct picture p = picture(f);
	SAME(p.late_marks, 2);
	SAME(p.entries, 2);
	SAME(p.wall_ns, 20);
	SAME(p.roi.op_sum_ns, 0);
	flow_free(f);
}

static void a_late_mark_is_counted_and_holds(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL });
	assert_int_equal(flow_mark(f, FLOW_BEGIN, 0), 0);
	op(f, 20, 30);
	flow_settle(f, 21);
	assert_int_equal(flow_mark(f, FLOW_END, 25), 0);
	struct picture p = picture(f);
	SAME(p.late_marks, 1);
	SAME(p.wall_ns, 25);
	SAME(p.roi.op_sum_ns, 10); /* it was open to the end of time */
	flow_free(f);
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void an_open_region_ends_with_the_last_thing_that_was_told(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL, .keep_busy = true });
	assert_false(flow_inside(f));
	assert_int_equal(flow_mark(f, FLOW_END, 1), 0);
	assert_int_equal(flow_mark(f, FLOW_EXCLUDE_BEGIN, 2), 0);
	assert_int_equal(flow_mark(f, FLOW_BEGIN, 10), 0);
	assert_true(flow_inside(f));
	assert_int_equal(picture(f).found, NO);
	op(f, 12, 20);
	struct picture p = picture(f);
	SAME(p.entries, 1);
	SAME(p.wall_ns, 10);
	SAME(p.gap.total_ns, 2);
	assert_int_equal(flow_mark(f, FLOW_EXCLUDE_BEGIN, 25), 0);
	assert_false(flow_inside(f));
	op(f, 26, 30);
	p = picture(f);
	SAME(p.wall_ns, 15);
	SAME(p.gross_ns, 20);
	SAME(p.roi.op_sum_ns, 8);
	assert_int_equal(flow_mark(f, FLOW_END, 40), 0);   /* closes the exclude */
	assert_int_equal(flow_mark(f, FLOW_BEGIN, 40), 0); /* touches */
	assert_true(flow_inside(f));
	assert_int_equal(flow_mark(f, FLOW_END, 45), 0);
	p = picture(f);
	SAME(p.entries, 1);
	SAME(p.wall_ns, 20);
	SAME(p.gross_ns, 35);
	flow_free(f);
}

/* Entries that were made before anybody listened are ranges; then marks come. */
static void ranges_and_marks_go_together(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL });
	assert_int_equal(flow_mark(f, FLOW_BEGIN, 100), 0);
	assert_int_equal(flow_range(f, false, 10, 20), 0);
	assert_int_equal(flow_range(f, true, 12, 14), 0);
	assert_int_equal(flow_mark(f, FLOW_END, 110), 0);
	assert_int_equal(flow_range(f, false, 40, 50), 0);
	op(f, 0, 105);
	struct picture p = picture(f);
	SAME(p.entries, 3);
	SAME(p.gross_ns, 30);
	SAME(p.wall_ns, 28);
	SAME(p.roi.op_sum_ns, 23);
	SAME(p.late_marks, 0);
	flow_free(f);
}

/* ---- ceilings ------------------------------------------------------------------------------- */

static double length_of(const struct nums *ranges)
{
	double sum = 0;
	for (size_t i = 0; i < ranges->n; i += 2)
		sum += ranges->items[i + 1] - ranges->items[i];
	return sum;
}

enum { MANY = 300000, CEILING = 1024 };

/* ops: some come; else the windows wait for them. */
static void many_entries(bool with_ops, bool excludes)
{
	struct flow_options o = { .observes = ALL, .max_ranges = CEILING, .calls = true };
	struct flow *f = new_flow(&o);
	uint64_t wall = 0;
	if (excludes)
		assert_int_equal(flow_mark(f, FLOW_BEGIN, 0), 0);
	for (int64_t i = 0; i < MANY; i++) {
		int64_t at = 1000 * i + 1;
		wall += (uint64_t)(excludes ? 900 - (i == 0 ? -1 : 0) : 100);
		assert_int_equal(flow_mark(f, excludes ? FLOW_EXCLUDE_BEGIN : FLOW_BEGIN,
					   at + (excludes ? 900 : 0)),
				 0);
		assert_int_equal(flow_mark(f, excludes ? FLOW_EXCLUDE_END : FLOW_END,
					   at + (excludes ? 1000 : 100)),
				 0);
		if (with_ops) {
			op(f, at, at + 50);
			flow_call(f, at + 60, at + 70, false);
		}
		if (with_ops && i % 1000 == 0)
			flow_settle(f, at);
	}
	if (excludes)
		assert_int_equal(flow_mark(f, FLOW_END, (int64_t)1000 * MANY + 1), 0);
	struct picture p = picture(f);
	assert_true(f->windows.list.cap <= 8 * CEILING + 64);
	assert_true(f->windows.roi.cap <= 4 * CEILING && f->windows.exclude.cap <= 4 * CEILING);
	SAME(p.entries, excludes ? 1 : MANY);
	SAME(p.gross_ns, excludes ? (uint64_t)1000 * MANY + 1 : (uint64_t)100 * MANY);
	SAME(p.wall_ns, wall);
	assert_true(p.windows.n <= 2 * CEILING);
	assert_true(p.windows_closed_ns > 0);
	SAME(length_of(&p.windows), (double)wall + p.windows_closed_ns);
	SAME(p.late_marks, 0);
	if (with_ops) {
		SAME(p.roi.op_sum_ns, (uint64_t)50 * MANY);
		SAME(p.roi.calls, MANY);
		SAME(p.gap.total_ns, wall - (uint64_t)50 * MANY);
		SAME(p.gap.api_ns, (uint64_t)10 * MANY);
	}
	flow_free(f);
}

static void any_number_of_entries_needs_the_same_memory(void **state)
{
	(void)state;
	many_entries(true, false);
	many_entries(true, true);
	many_entries(false, false);
	many_entries(false, true);
}

/* The large gaps are kept. */
static void busy_times_have_a_ceiling(void **state)
{
	(void)state;
	struct flow_options o = { .observes = ALL, .max_ranges = 64, .keep_busy = true };
	struct flow *f = new_flow(&o);
	int64_t at = 0;
	assert_int_equal(flow_range(f, false, 0, INT64_C(100000000)), 0);
	for (int i = 0; i < 20000; i++) {
		op(f, at, at + 10);
		at += i % 1000 == 999 ? 100000 : 20;
	}
	struct picture p = picture(f);
	const struct picture_device *d = &p.devices.items[0];
	assert_true(f->devices[0].busy.cap <= 64 && d->busy.n <= 128 && d->busy.n >= 2 * 20);
	SAME(d->busy_ns, 200000);
	SAME(length_of(&d->busy), 200000 + d->closed_ns);
	size_t large = 0;
	for (size_t i = 2; i < d->busy.n; i += 2)
		large += d->busy.items[i] - d->busy.items[i - 1] > 90000;
	assert_int_equal(large, 19);
	SAME(p.roi.busy_ns, 200000);
	flow_free(f);
}

static void equal_gaps_are_not_closed_all_at_once(void **state)
{
	(void)state;
	struct range items[100];
	struct ranges r = { .items = items, .n = 100, .cap = 100, .max = 100 };
	for (int i = 0; i < 100; i++)
		items[i] = (struct range){ 100 * i, 100 * i + 50 };
	ranges_reduce(&r, 100, 50);
	assert_int_equal(r.n, 50);
	assert_int_equal(r.closed_ns, 50 * 50);
	ranges_reduce(&r, 40, 10); /* of the first ones only */
	assert_int_equal(r.n, 20);
	assert_int_equal(items[19].end, 9950);
	assert_int_equal(items[9].end + 50, items[10].begin);
}

static void names_have_a_ceiling(void **state)
{
	(void)state;
	struct flow_options o = { .observes = ALL, .max_names = 4 };
	struct flow *f = new_flow(&o);
	char name[16];
	for (int i = 0; i < 10; i++) {
		int n = snprintf(name, sizeof name, "name%d", i);
		int64_t number = flow_name(f, name, (size_t)n);
		assert_int_equal(number, i < 2 ? i + 2 : 0);
		assert_int_equal(flow_name(f, name, (size_t)n), number);
		flow_op(f, &(struct flow_op){ 10 * i, 10 * i + 5, 8, 0, (uint32_t)number, FILL });
	}
	struct picture p = picture(f);
	SAME(p.names_folded, 8);
	assert_int_equal(p.whole_ops.n, 3);
	assert_string_equal(p.whole_ops.items[0].name, "(others)");
	SAME(p.whole_ops.items[0].count, 8);
	SAME(p.whole_ops.items[0].category, FILL);
	flow_free(f);
}

static void long_names_have_a_ceiling_too(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL });
	static char name[1 << 20];
	memset(name, 'x', sizeof name);
	for (int i = 0; i < 10; i++) {
		name[0] = (char)('a' + i);
		assert_true((flow_name(f, name, sizeof name) == 0) == (i >= 1));
	}
	assert_int_equal(flow_name(f, name, 0), flow_name(f, "", 0));
	flow_free(f);
}

/* ---- not known ------------------------------------------------------------------------------ */

static void what_nobody_observes_is_null(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = 1u << FILL | 1u << COMPUTE });
	assert_int_equal(flow_range(f, false, 0, 100), 0);
	flow_op(f, &(struct flow_op){ 0, 10, 5, 0, 1, FILL });
	flow_op(f, &(struct flow_op){ 20, 30, NAN, 0, 1, FILL });
	struct picture p = picture(f);
	SAME(p.roi.ops.items[FILL], 2);
	SAME(p.roi.ops.items[COMPUTE], 0);
	assert_false(known(p.roi.bytes.items[FILL])); /* one size is not known */
	assert_false(known(p.roi.ops.items[COPY_H2D]) || known(p.roi.union_ns.items[OTHER]));
	assert_false(known(p.roi.calls) || known(p.whole.sync_ns));
	assert_false(known(p.gap.sync_ns) || known(p.gap.api_ns) || known(p.gap.cpu_ns));
	SAME(p.gap.total_ns, 80);
	assert_false(known(p.dropped));
	assert_int_equal(p.observes.n, 2);
	flow_dropped(f, 0);
	SAME(picture(f).dropped, 0);
	flow_dropped(f, 3);
	flow_dropped(f, 4);
	flow_graph(f, 2);
	SAME(picture(f).dropped, 7);
	SAME(picture(f).graphs, 2);
	flow_free(f);

	f = new_flow(&(struct flow_options){ .calls = true });
	assert_int_equal(flow_range(f, false, 0, 100), 0);
	flow_call(f, 10, 20, true);
	p = picture(f);
	assert_null(p.whole.ops.items);
	assert_null(p.devices.items);
	assert_false(known(p.gap.total_ns) || known(p.roi.busy_ns));
	SAME(p.roi.sync_ns, 10);
	SAME(p.wall_ns, 100);
	flow_free(f);
}

static void operations_without_a_time_are_counted_and_nothing_else(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL });
	assert_int_equal(flow_range(f, false, 100, 200), 0);
	op(f, 150, 150); /* inside */
	op(f, 50, 40);   /* outside */
	op(f, 0, 0);     /* nobody knows */
	op(f, 1, INT64_C(2000000000000000));
	flow_untimed(f, 2);
	struct picture p = picture(f);
	SAME(p.whole.untimed, 6);
	SAME(p.roi.untimed, 5);
	SAME(p.whole.ops.items[COMPUTE], 0);
	SAME(p.whole.busy_ns, 0);
	flow_free(f);
}

static void threads_that_are_not_known_all_the_time_are_null(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL, .threads = true });
	assert_int_equal(flow_range(f, false, 0, 100), 0);
	flow_thread(f, 0, 30, true);
	flow_thread(f, 90, 99, true);
	struct picture p = picture(f);
	SAME(p.gap.total_ns, 100);
	assert_false(known(p.gap.cpu_ns) || known(p.gap.off_cpu_ns) || known(p.gap.sync_ns));
	flow_thread(f, 99, 120, false);
	p = picture(f);
	SAME(p.gap.cpu_ns, 39);
	SAME(p.gap.off_cpu_ns, 61);
	flow_free(f);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void times_may_be_anywhere_but_not_apart(void **state)
{
	(void)state;
	const int64_t bases[] = { INT64_MIN + 10, -1, 0, INT64_C(1700000000123456789),
				  INT64_MAX - 1000 };
	for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
		struct flow *f =
			new_flow(&(struct flow_options){ .observes = ALL, .keep_busy = true });
		struct buf b = { .max = 1 << 20 };
		assert_int_equal(flow_range(f, false, bases[i], bases[i] + 100), 0);
		op(f, bases[i] + 90, bases[i] + 120);
		struct picture p = picture(f), q;
		SAME(p.roi.busy_ns, 10);
		SAME(p.windows.items[0], 0);
		SAME(p.windows.items[1], 100);
		SAME(p.devices.items[0].busy.items[0], 90);
		assert_true(p.base_ns >= 0 && p.base_ns < 1000000000);
		assert_int_equal(
			(int64_t)((uint64_t)(int64_t)p.base_s * 1000000000 + (uint64_t)p.base_ns),
			bases[i]);
		p.collector = "test";
		p.status = "ok";
		picture_put(&b, &p);
		assert_int_equal(picture_get(&q, &arena, "file", b.data, b.len, NULL), 0);
		buf_done(&b);
		flow_free(f);
	}
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL });
	struct picture p;
	struct err err = { "" };
	assert_int_equal(flow_range(f, false, INT64_MIN, INT64_MAX), 0);
	assert_int_equal(flow_picture(f, &arena, &p, &err), -ERANGE);
	assert_non_null(strstr(err.text, "11 days"));
	flow_free(f);
}

static void the_same_text_is_the_same_number(void **state)
{
	(void)state;
	struct flow *f = new_flow(&(struct flow_options){ .observes = ALL });
	char name[200];
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 3000; i++) {
			int n = snprintf(name, sizeof name, "%0*d", 1 + i % 150, i);
			int64_t number = flow_name(f, name, (size_t)n);
			assert_true(number > 0);
			assert_memory_equal(f->names.items[number].text, name, (size_t)n);
		}
	assert_int_equal(flow_device(f, "another name", "uuid-0"), 0);
	assert_int_equal(flow_device(f, "gpu0", NULL), 1);
	assert_int_equal(flow_device(f, "gpu0", "gpu0"), 1);
	flow_free(f);
	assert_int_equal(flow_new(&f, &(struct flow_options){ .observes = ALL + 1 }, NULL),
			 -EINVAL);
}

/* ---- memory --------------------------------------------------------------------------------- */

static int run_all(void)
{
	struct flow *f;
	struct picture p;
	struct flow_options o = {
		.observes = ALL, .slots = 16, .keep_busy = true, .calls = true, .threads = true
	};
	int rc = flow_new(&f, &o, NULL);
	if (rc)
		return rc;
	int64_t device = flow_device(f, "gpu0", NULL), name = flow_name(f, "k", 1);
	rc = device < 0 || name < 0 ? -ENOMEM : 0;
	for (int i = 0; !rc && i < 200; i++)
		rc = flow_range(f, i % 3 == 0, 10 * (i * 7 % 200), 10 * (i * 7 % 200) + 8);
	for (int i = 0; !rc && i < 40; i++)
		flow_op(f, &(struct flow_op){ 60 * i, 60 * i + 40, 1, (uint32_t)device,
					      (uint32_t)name, (uint32_t)i % CATEGORIES });
	if (!rc)
		rc = flow_picture(f, &arena, &p, NULL);
	flow_free(f);
	return rc;
}

/* Some are made good: a table of names that did not come is "(others)". */
static void every_failed_allocation_is_an_error_or_made_good(void **state)
{
	(void)state;
	int failures = 0;
	for (int n = 1; fail_alloc(n); n++) {
		int rc = run_all();
		alloc_left = 0;
		assert_true(rc == 0 || (rc == -ENOMEM && alloc_failed));
		failures += rc != 0;
		arena_free(&arena);
	}
	assert_true(failures > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_late_operation_is_in_all_sums_but_the_unions, drop),
		cmocka_unit_test_teardown(a_ring_that_is_too_small_says_so, drop),
		cmocka_unit_test_teardown(late_ranges_are_cut_and_counted, drop),
		cmocka_unit_test_teardown(a_late_mark_is_counted_and_holds, drop),
		cmocka_unit_test_teardown(an_open_region_ends_with_the_last_thing_that_was_told,
					  drop),
		cmocka_unit_test_teardown(ranges_and_marks_go_together, drop),
		cmocka_unit_test_teardown(any_number_of_entries_needs_the_same_memory, drop),
		cmocka_unit_test_teardown(busy_times_have_a_ceiling, drop),
		cmocka_unit_test(equal_gaps_are_not_closed_all_at_once),
		cmocka_unit_test_teardown(names_have_a_ceiling, drop),
		cmocka_unit_test_teardown(long_names_have_a_ceiling_too, drop),
		cmocka_unit_test_teardown(what_nobody_observes_is_null, drop),
		cmocka_unit_test_teardown(operations_without_a_time_are_counted_and_nothing_else,
					  drop),
		cmocka_unit_test_teardown(threads_that_are_not_known_all_the_time_are_null, drop),
		cmocka_unit_test_teardown(times_may_be_anywhere_but_not_apart, drop),
		cmocka_unit_test(the_same_text_is_the_same_number),
		cmocka_unit_test_teardown(every_failed_allocation_is_an_error_or_made_good, drop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
