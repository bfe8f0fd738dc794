/* Pictures: their bytes, several of them put together against a model that looks at every
 * nanosecond, and what they are in a record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow.h"
#include "core/picture.h"
#include "lib/num.h"
#include "schema/bins.h"
#include "schema/codec.h"

#define ALL ((1u << CATEGORIES) - 1)

enum { SPAN = 400, PROCESSES = 5, NODES = 2, DEVICES = 3, OPS = 60, MARKS = 14 };

static const char *const boots[NODES] = { "boot-a", "boot-b" };
static const char *const device_ids[DEVICES] = { "GPU-0", "GPU-1", "GPU-2" };
static const char *const names[] = { "gemm", "copy", "fill" };

static uint32_t seed;

static unsigned dice(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static struct arena arena;

static int drop(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

/* ---- a process and its model ---------------------------------------------------------------- */

struct model_process {
	int node;
	bool roi[SPAN], window[SPAN];
	bool busy[DEVICES][CATEGORIES][SPAN]; /* inside the window */
	bool whole[DEVICES][SPAN];
	uint64_t ops, time, total[3][CATEGORIES], count[3][CATEGORIES];
};

struct model {
	struct model_process p[PROCESSES];
	size_t n;
};

static void paint(bool *line, int64_t begin, int64_t end, bool value)
{
	for (int64_t t = begin; t < end; t++)
		line[t] = value;
}

static void make_marks(struct model_process *m, struct flow *f, int64_t at0)
{
	bool exclude[SPAN] = { false };
	for (unsigned i = dice(MARKS); i > 0; i--) {
		int64_t begin = dice(SPAN - 90), end = begin + dice(90);
		bool x = dice(3) == 0;
		assert_int_equal(flow_range(f, x, at0 + begin, at0 + end), 0);
		paint(x ? exclude : m->roi, begin, end, true);
	}
	for (int t = 0; t < SPAN; t++)
		m->window[t] = m->roi[t] && !exclude[t];
}

static void make_ops(struct model_process *m, struct flow *f, int64_t at0)
{
	int64_t device[DEVICES], name[3];
	unsigned first = dice(DEVICES), n_devices = 1 + dice(DEVICES);
	for (unsigned d = 0; d < n_devices; d++) /* in another order in each process */
		device[d] = flow_device(f, "A100", device_ids[(first + d) % DEVICES]);
	for (int i = 0; i < 3; i++)
		name[i] = flow_name(f, names[i], strlen(names[i]));
	for (unsigned i = dice(OPS); i > 0; i--) {
		unsigned d = dice(n_devices), k = dice(3), c = dice(CATEGORIES);
		int64_t begin = dice(SPAN - 50), end = begin + 1 + dice(49);
		uint64_t inside = 0;
		flow_op(f, &(struct flow_op){ .begin_ns = at0 + begin,
					      .end_ns = at0 + end,
					      .bytes = 8,
					      .device = (uint32_t)device[d],
					      .name = (uint32_t)name[k],
					      .category = c });
		paint(m->whole[(first + d) % DEVICES], begin, end, true);
		for (int64_t t = begin; t < end; t++)
			if (m->window[t]) {
				m->busy[(first + d) % DEVICES][c][t] = true;
				inside++;
			}
		m->ops += inside > 0;
		m->time += inside;
		m->total[k][c] += inside;
		m->count[k][c] += inside > 0;
	}
}

/* Through its bytes, as it comes from a process. */
static const struct picture *carried(const struct picture *p)
{
	struct picture *ret = arena_alloc(&arena, sizeof *ret);
	struct buf b = { 0 };
	struct err err;
	picture_put(&b, p);
	assert_false(b.failed);
	if (picture_get(ret, &arena, "x.roipic", b.data, b.len, &err))
		fail_msg("%s", err.text);
	buf_done(&b);
	return ret;
}

static struct picture *describe(struct picture *p, int node, const char *pid)
{
	p->collector = "test";
	p->status = "ok";
	p->final = YES;
	p->boot = boots[node];
	p->host = node ? "node1" : "node0";
	p->pid = pid;
	p->clock = "monotonic";
	return p;
}

static const struct picture *process(struct model_process *m, size_t max_ranges)
{
	struct flow *f;
	struct picture p;
	int64_t at0 = INT64_C(1700000000) * 1000000000 + 123456789;
	assert_int_equal(flow_new(&f,
				  &(struct flow_options){ .observes = ALL,
							  .keep_busy = true,
							  .max_ranges = max_ranges },
				  NULL),
			 0);
	make_marks(m, f, at0);
	make_ops(m, f, at0);
	flow_dropped(f, 0);
	assert_int_equal(flow_picture(f, &arena, &p, NULL), 0);
	flow_free(f);
	return carried(describe(&p, m->node, "1"));
}

/* ---- what must come out ------------------------------------------------------------------------
 */

static uint64_t ones(const bool *line)
{
	uint64_t n = 0;
	for (int t = 0; t < SPAN; t++)
		n += line[t];
	return n;
}

static bool device_busy(const struct model_process *m, int d, int t)
{
	for (int c = 0; c < CATEGORIES; c++)
		if (m->busy[d][c][t])
			return true;
	return false;
}

static bool any_busy(const struct model_process *m, int t)
{
	for (int d = 0; d < DEVICES; d++)
		if (device_busy(m, d, t))
			return true;
	return false;
}

struct expected {
	uint64_t busy, device_busy, category[CATEGORIES], job, window, wall, op_sum, ops;
	uint64_t per_device[NODES][DEVICES], users[NODES][DEVICES];
	size_t processes;
};

static void expect(const struct model *m, struct expected *x)
{
	memset(x, 0, sizeof *x);
	for (int node = 0; node < NODES; node++)
		for (int t = 0; t < SPAN; t++) {
			bool job = false, window = false, device[DEVICES] = { false };
			for (size_t i = 0; i < m->n; i++) {
				const struct model_process *p = &m->p[i];
				if (p->node != node)
					continue;
				window |= p->window[t];
				job |= any_busy(p, t);
				x->busy += any_busy(p, t);
				for (int d = 0; d < DEVICES; d++) {
					device[d] |= device_busy(p, d, t);
					x->device_busy += device_busy(p, d, t);
					for (int c = 0; c < CATEGORIES; c++)
						x->category[c] += p->busy[d][c][t];
				}
			}
			x->job += job;
			x->window += window;
			for (int d = 0; d < DEVICES; d++)
				x->per_device[node][d] += device[d];
		}
	for (size_t i = 0; i < m->n; i++) {
		const struct model_process *p = &m->p[i];
		x->processes += ones(p->roi) > 0;
		x->wall = ones(p->window) > x->wall ? ones(p->window) : x->wall;
		x->op_sum += p->time;
		x->ops += p->ops;
		for (int d = 0; d < DEVICES; d++) {
			bool uses = false;
			for (int t = 0; t < SPAN; t++)
				uses |= device_busy(p, d, t);
			x->users[p->node][d] += uses;
		}
	}
}

static int number_of(const char *const *list, int n, const char *text)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i], text) == 0)
			return i;
	fail_msg("%s is none of these", text);
	return -1;
}

static void compare(const struct model *m, const struct clip *c, bool exact)
{
	struct expected x;
	expect(m, &x);
	assert_int_equal(c->processes, x.processes);
	assert_int_equal(c->wall_ns, x.wall);
	assert_int_equal(c->roi.op_sum_ns, x.op_sum);
	if (!c->found)
		return;
	assert_int_equal(c->roi.busy_ns, x.busy);
	assert_true(c->roi.device_busy_ns == (double)x.device_busy);
	for (int k = 0; k < CATEGORIES; k++)
		assert_true(c->roi.union_ns[k] == (double)x.category[k]);
	assert_true(c->job_busy_ns >= x.job && c->window_ns >= x.window);
	if (exact)
		assert_true(c->closed_ns == 0 && c->job_busy_ns == x.job &&
			    c->window_ns == x.window);
	/* Each node's own bound. */
	assert_true(c->job_busy_ns <= x.job + NODES * c->closed_ns);
	assert_true(c->window_ns <= x.window + NODES * c->closed_ns);
	for (size_t i = 0; i < c->n_devices; i++) {
		const struct clip_device *d = &c->devices[i];
		int node = d->host[4] - '0', id = number_of(device_ids, DEVICES, d->id);
		assert_int_equal(d->processes, x.users[node][id]);
		assert_true(d->busy_ns >= x.per_device[node][id]);
		assert_true(d->busy_ns <= x.per_device[node][id] + c->closed_ns);
		x.per_device[node][id] = 0;
	}
	for (int node = 0; node < NODES; node++) /* none is missing, none there twice */
		for (int d = 0; d < DEVICES; d++)
			assert_int_equal(x.per_device[node][d], 0);
}

static void compare_names(const struct model *m, const struct clip *c)
{
	uint64_t total = 0, binned = 0, counted = 0;
	for (size_t i = 0; c->found && i < c->n_ops; i++) {
		const struct clip_op *op = &c->ops[i];
		int k = number_of(names, 3, op->name);
		uint64_t ns = 0, count = 0;
		for (size_t p = 0; p < m->n; p++) {
			ns += m->p[p].total[k][op->category];
			count += m->p[p].count[k][op->category];
		}
		assert_int_equal(op->total_ns, ns);
		assert_int_equal(op->count, count);
		assert_true(op->min_ns <= op->max_ns && op->max_ns <= op->total_ns);
		assert_true(i == 0 || op->total_ns <= c->ops[i - 1].total_ns);
		total += op->total_ns;
		counted += op->count;
		for (size_t b = 1; b < op->bins.n; b += 2)
			binned += (uint64_t)op->bins.items[b];
	}
	if (c->found) {
		assert_int_equal(total, c->roi.op_sum_ns);
		assert_int_equal(binned, counted);
	}
}

static void random_round(uint32_t round, size_t max_ranges)
{
	static struct model m;
	const struct picture *pictures[PROCESSES];
	struct clip c;
	memset(&m, 0, sizeof m);
	seed = round;
	m.n = 1 + dice(PROCESSES);
	for (size_t i = 0; i < m.n; i++) {
		m.p[i].node = (int)dice(NODES);
		pictures[i] = process(&m.p[i], max_ranges);
	}
	assert_int_equal(picture_merge(pictures, m.n, &arena, &c, NULL), 0);
	assert_true(c.observed);
	compare(&m, &c, max_ranges > SPAN);
	compare_names(&m, &c);
	arena_free(&arena);
}

static void random_processes_agree_with_a_model_of_every_nanosecond(void **state)
{
	(void)state;
	for (uint32_t round = 1; round < 300; round++)
		random_round(round, 1000);
}

/* 16 ranges are the fewest that a flow keeps. */
static void where_ranges_had_no_room_unions_are_bounds_that_hold(void **state)
{
	(void)state;
	for (uint32_t round = 1; round < 300; round++)
		random_round(round, 16);
}

/* ---- single rules ------------------------------------------------------------------------------
 */

static struct picture *plain(int64_t begin, int64_t end, int64_t busy_begin, int64_t busy_end,
			     const char *pid)
{
	struct flow *f;
	struct picture *p = arena_alloc(&arena, sizeof *p);
	struct flow_options o = { .observes = ALL, .keep_busy = true, .calls = true };
	assert_int_equal(flow_new(&f, &o, NULL), 0);
	if (end > begin)
		assert_int_equal(flow_range(f, false, begin, end), 0);
	flow_op(f, &(struct flow_op){ .begin_ns = busy_begin,
				      .end_ns = busy_end,
				      .bytes = NAN,
				      .device = (uint32_t)flow_device(f, "A100", "GPU-0"),
				      .name = (uint32_t)flow_name(f, "gemm", 4),
				      .category = COMPUTE });
	flow_dropped(f, 0);
	assert_int_equal(flow_picture(f, &arena, p, NULL), 0);
	flow_free(f);
	p->pending = 0;
	return describe(p, 0, pid);
}

static struct picture *blind(const char *status, const char *why, const char *pid)
{
	struct picture *p = arena_alloc(&arena, sizeof *p);
	picture_clear(p);
	describe(p, 0, pid);
	p->status = status;
	p->why = why;
	return p;
}

static struct record rec;

static struct record_body *put(const struct picture *const *pictures, size_t n)
{
	struct err err = { 0 };
	record_init(&rec);
	rec.body.roi.wall_s = 1e-6;
	if (picture_put_record(&rec, pictures, n, &err))
		fail_msg("%s", err.text);
	return &rec.body;
}

static const char *caveat(const char *code)
{
	for (size_t i = 0; i < rec.body.caveats.n; i++)
		if (strcmp(rec.body.caveats.items[i].code, code) == 0)
			return rec.body.caveats.items[i].text;
	return NULL;
}

static void two_ranks_on_one_device_are_not_half_idle(void **state)
{
	(void)state;
	const struct picture *list[] = { plain(0, 1000, 0, 600, "7"),
					 plain(0, 1000, 400, 1000, "8") };
	struct record_body *b = put(list, 2);
	assert_true(b->device.busy_s == 1200e-9 && b->device.job_busy_s == 1000e-9);
	assert_int_equal(b->device.per_device.n, 1);
	assert_true(b->device.per_device.items[0].busy_s == 1000e-9);
	assert_true(b->device.per_device.items[0].process_busy_s == 1200e-9);
	assert_true(b->device.per_device.items[0].busy_frac == 1);
	assert_true(b->device.per_device.items[0].idle_s == 0);
	assert_true(b->device.per_device.items[0].processes == 2);
	assert_true(b->device.busy_frac_mean == 1 && b->device.busy_frac_of_roi == 0.6);
	assert_true(b->gap.device_idle_s == 800e-9);
	assert_int_equal(b->device.incomplete, NO);
	assert_true(b->roi.profiled_wall_s == 1e-6 && b->roi.profiler_inflation == 1);
	assert_int_equal(b->caveats.n, 0);
	assert_int_equal(b->context.whole_process.per_device.n, 1);
	assert_true(isnan(b->context.whole_process.per_device.items[0].busy_s));
	record_done(&rec);
}

static void a_rank_that_saw_no_device_is_named_and_not_0(void **state)
{
	(void)state;
	const struct picture *list[] = { plain(0, 1000, 0, 600, "7"),
					 blind("busy", "nsys has it", "8"),
					 blind("busy", "nsys has it", "9") };
	struct record_body *b = put(list, 3);
	assert_true(b->device.busy_s == 600e-9 && b->device.processes == 1);
	assert_int_equal(b->device.incomplete, YES);
	const char *text = caveat("device_not_observed");
	assert_non_null(text);
	assert_non_null(strstr(text, "2 processes"));
	assert_non_null(strstr(text, "nsys has it"));
	assert_int_equal(b->caveats.n, 1);
	record_done(&rec);

	b = put(list + 1, 2);
	assert_true(isnan(b->device.busy_s) && isnan(b->device.compute_ops));
	assert_null(b->ops.items);
	assert_true(isnan(b->context.whole_process.busy_s) && isnan(b->gap.device_idle_s));
	assert_int_equal(b->device.incomplete, UNKNOWN);
	assert_non_null(caveat("device_not_observed"));
	record_done(&rec);
}

static void what_is_missing_is_said(void **state)
{
	(void)state;
	struct picture *p = plain(0, 1000, 0, 600, "7");
	const char *note = "the driver's buffers ran out";
	p->pending = 3;
	p->dropped = 2;
	p->graphs = 1;
	p->late = 4;
	p->late_marks = 1;
	p->names_folded = 5;
	p->final = NO;
	p->clock_error_ns = 200;
	p->clock_drift_ns = -100;
	p->notes = (struct txts){ &note, 1 };
	p->collector_cpu_s = 0.5;
	p->collector_roi_cpu_s = 0.25;
	const struct picture *list[] = { p };
	struct record_body *b = put(list, 1);
	static const char *const codes[] = { "dropped_operations", "late_operations",
					     "late_marks",         "pending_operations",
					     "graphs_as_a_whole",  "operation_names_folded",
					     "picture_not_final",  "device_clock",
					     "collector_note" };
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (!caveat(codes[i]))
			fail_msg("no caveat %s", codes[i]);
	assert_int_equal(b->device.incomplete, YES);
	assert_true(b->device.dropped_ops == 2 && b->device.late_ops == 4);
	assert_true(b->device.graphs == 1 && b->device.pending_ops == 3);
	assert_true(b->observer.collector_cpu_s == 0.5 && b->observer.collector_roi_cpu_s == 0.25);
	record_done(&rec);
}

static void nodes_have_no_common_clock(void **state)
{
	(void)state;
	struct picture *other = plain(0, 1000, 0, 600, "7");
	other->boot = boots[1];
	other->host = "node1";
	const struct picture *list[] = { plain(0, 1000, 0, 600, "7"), other };
	struct record_body *b = put(list, 2);
	assert_true(isnan(b->device.job_busy_s) && b->device.busy_s == 1200e-9);
	assert_non_null(caveat("several_nodes"));
	assert_int_equal(b->device.per_device.n, 2);
	assert_true(b->device.per_device.items[0].busy_frac == 0.6);
	assert_true(b->device.busy_frac_mean == 0.6);
	record_done(&rec);
}

static void without_a_region_operations_are_those_of_the_whole(void **state)
{
	(void)state;
	const struct picture *list[] = { plain(0, 0, 100, 600, "7") };
	struct record_body *b = put(list, 1);
	assert_true(isnan(b->device.busy_s) && isnan(b->gap.device_idle_s));
	assert_null(b->device.per_device.items);
	assert_true(b->context.whole_process.busy_s == 500e-9);
	assert_true(b->context.whole_process.compute_ops == 1);
	assert_true(b->context.whole_process.compute_busy_s == 500e-9);
	assert_string_equal(b->ops_scope, "whole_process");
	assert_int_equal(b->ops.n, 1);
	assert_int_equal(b->context.whole_process.per_device.n, 1);
	assert_true(b->context.whole_process.per_device.items[0].busy_s == 500e-9);
	record_done(&rec);
}

static void what_one_process_does_not_observe_the_sum_does_not(void **state)
{
	(void)state;
	struct picture *p = plain(0, 1000, 0, 600, "7"), *q = plain(0, 1000, 0, 600, "8");
	q->roi.ops.items[COLLECTIVE] = NAN;
	q->gap.cpu_ns = NAN;
	q->dropped = NAN;
	const struct picture *list[] = { p, q };
	struct record_body *b = put(list, 2);
	assert_true(b->device.compute_ops == 2 && isnan(b->device.collective_ops));
	assert_true(b->device.fill_ops == 0);
	assert_true(isnan(b->device.dropped_ops) && isnan(b->gap.cpu_s));
	assert_int_equal(b->device.incomplete, UNKNOWN);
	record_done(&rec);
}

/* ---- bytes -------------------------------------------------------------------------------------
 */

static struct buf bytes_of(const struct picture *p)
{
	struct buf b = { 0 };
	picture_put(&b, p);
	assert_false(b.failed);
	return b;
}

static void damaged_bytes_are_refused(void **state)
{
	(void)state;
	struct buf b = bytes_of(plain(0, 1000, 0, 600, "7"));
	struct picture got;
	for (size_t n = 0; n < b.len; n++) {
		char *cut = malloc(n + 1); /* so that a sanitizer sees what is behind it */
		memcpy(cut, b.data, n);
		assert_int_equal(picture_get(&got, &arena, "x", cut, n, NULL), -EBADMSG);
		free(cut);
	}
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 4;
		int rc = picture_get(&got, &arena, "x", b.data, b.len, NULL);
		assert_true(rc == -EBADMSG || rc == -EPROTONOSUPPORT);
		b.data[i] ^= 4;
	}
	assert_int_equal(picture_get(&got, &arena, "x", b.data, b.len, NULL), 0);
	buf_done(&b);
}

/* Their sum is right, their numbers are not. */
static void refused(struct picture *p, const char *words)
{
	struct buf b = bytes_of(p);
	struct picture got;
	struct err err = { 0 };
	assert_int_equal(picture_get(&got, &arena, "x.roipic", b.data, b.len, &err), -EBADMSG);
	if (!strstr(err.text, words) || !strstr(err.text, "x.roipic"))
		fail_msg("%s", err.text);
	buf_done(&b);
}

static void numbers_that_can_not_be_are_refused(void **state)
{
	(void)state;
	struct picture *p = plain(0, 1000, 0, 600, "7");
	p->windows.items[0] = 2000;
	refused(p, "windows");
	p = plain(0, 1000, 0, 600, "7");
	p->windows.n = 1;
	refused(p, "windows");
	p = plain(0, 1000, 0, 600, "7");
	p->devices.items[0].busy.items[0] = -1;
	refused(p, "busy times");
	p = plain(0, 1000, 0, 600, "7");
	p->ops.items[0].category = 8;
	refused(p, "an operation");
	p = plain(0, 1000, 0, 600, "7");
	p->roi.time_ns.n = 7;
	refused(p, "8 categories");
	p = plain(0, 1000, 0, 600, "7");
	p->roi.ops.items[0] = 0.5;
	refused(p, "8 categories");
	p = plain(0, 1000, 0, 600, "7");
	p->collector = NULL;
	refused(p, "what made it");
	p = plain(0, 1000, 0, 600, "7");
	p->wall_ns = 1e18;
	refused(p, "a number");
}

/* A hundred days of all devices of a process together; CLOCK_REALTIME against CLOCK_MONOTONIC. */
static void large_numbers_that_can_be_are_taken(void **state)
{
	(void)state;
	struct picture *p = plain(0, 1000, 0, 600, "7"), got;
	p->whole.op_sum_ns = p->whole.time_ns.items[0] = 8.64e15;
	p->roi.bytes.items[COPY_D2D] = 9e17;
	p->clock_offset_ns = 1.8e18;
	struct buf b = bytes_of(p);
	assert_int_equal(picture_get(&got, &arena, "x", b.data, b.len, NULL), 0);
	assert_true(got.whole.op_sum_ns == 8.64e15 && got.clock_offset_ns == 1.8e18);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(random_processes_agree_with_a_model_of_every_nanosecond,
					  drop),
		cmocka_unit_test_teardown(where_ranges_had_no_room_unions_are_bounds_that_hold,
					  drop),
		cmocka_unit_test_teardown(two_ranks_on_one_device_are_not_half_idle, drop),
		cmocka_unit_test_teardown(a_rank_that_saw_no_device_is_named_and_not_0, drop),
		cmocka_unit_test_teardown(what_is_missing_is_said, drop),
		cmocka_unit_test_teardown(nodes_have_no_common_clock, drop),
		cmocka_unit_test_teardown(without_a_region_operations_are_those_of_the_whole, drop),
		cmocka_unit_test_teardown(what_one_process_does_not_observe_the_sum_does_not, drop),
		cmocka_unit_test_teardown(damaged_bytes_are_refused, drop),
		cmocka_unit_test_teardown(numbers_that_can_not_be_are_refused, drop),
		cmocka_unit_test_teardown(large_numbers_that_can_be_are_taken, drop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
