/* A process's time line folded as it comes, against a model that looks at every nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow.h"
#include "lib/num.h"
#include "schema/bins.h"

#define ALL ((1u << CATEGORIES) - 1)

enum { SPAN = 500, DEVICES = 3, NAMES = 4, EVENTS = 160 };
enum { SHIFT = 17 }; /* the time line does not begin at 0 */

enum what { OP, CALL, SLICE, HOST, MARK, RANGE };
enum { LANES = 6 }; /* sync, api, io, mpi, on, off */

struct event {
	enum what what;
	int64_t begin, end; /* of a mark: begin */
	double bytes;
	uint32_t device, name, category;
	bool flag; /* sync, on, exclude */
	enum flow_mark mark;
};

static uint32_t seed;

static unsigned dice(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static const char *const names[NAMES] = { "gemm", "copy", "fill",
					  "a kernel with quite a long name" };
static const char *const devices[DEVICES] = { "gpu0", "gpu1", "gpu2" };

/* ---- the model ------------------------------------------------------------------------------ */

struct model_sums {
	uint64_t time[CATEGORIES], ops[CATEGORIES], op_sum, calls, calls_ns, sync_calls, sync_ns;
	double bytes[CATEGORIES];
	struct {
		uint64_t count, total, min, max, bins[ROI_BINS];
	} names[NAMES][CATEGORIES];
};

struct model {
	bool roi[SPAN], exclude[SPAN], window[SPAN], lane[LANES][SPAN];
	bool busy[DEVICES][CATEGORIES][SPAN];
	struct model_sums in, whole;
	int64_t now, threads_from, threads_to;
};

static void paint(bool *line, int64_t begin, int64_t end)
{
	for (int64_t t = begin; t < end; t++)
		line[t] = true;
}

/* Marks as they come: from each to the next. */
static void paint_marks(struct model *m, const struct event *e, size_t n)
{
	unsigned regions = 0, excludes = 0;
	int64_t since = 0;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && e[i].what != MARK)
			continue;
		int64_t at = i < n ? e[i].begin : m->now;
		if (regions)
			paint(m->roi, since, at);
		if (regions && excludes)
			paint(m->exclude, since, at);
		since = at;
		if (i == n)
			break;
		if (e[i].mark == FLOW_BEGIN)
			regions++;
		else if (e[i].mark == FLOW_END && regions)
			regions--;
		else if (e[i].mark == FLOW_EXCLUDE_BEGIN && regions)
			excludes++;
		else if (e[i].mark == FLOW_EXCLUDE_END && regions && excludes)
			excludes--;
		excludes = regions ? excludes : 0;
	}
}

static void count(struct model_sums *s, const struct event *e, uint64_t ns)
{
	s->time[e->category] += ns;
	s->ops[e->category]++;
	s->op_sum += ns;
	s->bytes[e->category] += e->bytes * (double)ns / (double)(e->end - e->begin);
	uint64_t count = s->names[e->name][e->category].count++;
	uint64_t *min = &s->names[e->name][e->category].min;
	uint64_t *max = &s->names[e->name][e->category].max;
	*min = !count || ns < *min ? ns : *min;
	*max = ns > *max ? ns : *max;
	s->names[e->name][e->category].total += ns;
	s->names[e->name][e->category].bins[roi_bin(ns)]++;
}

static void count_call(struct model_sums *s, const struct event *e)
{
	s->calls++;
	s->calls_ns += (uint64_t)(e->end - e->begin);
	s->sync_calls += e->flag;
	s->sync_ns += e->flag ? (uint64_t)(e->end - e->begin) : 0;
}

static void apply(struct model *m, const struct event *e)
{
	uint64_t inside = 0, ns = (uint64_t)(e->end - e->begin);
	for (int64_t t = e->begin; t < e->end; t++)
		inside += m->window[t];
	if (e->what == OP) {
		paint(m->busy[e->device][e->category], e->begin, e->end);
		count(&m->whole, e, ns);
		if (inside)
			count(&m->in, e, inside);
	} else if (e->what == CALL) {
		paint(m->lane[e->flag ? 0 : 1], e->begin, e->end);
		count_call(&m->whole, e);
		if (inside == ns)
			count_call(&m->in, e);
	} else if (e->what == SLICE) {
		paint(m->lane[e->flag ? 4 : 5], e->begin, e->end);
		m->threads_from = e->begin < m->threads_from ? e->begin : m->threads_from;
		m->threads_to = e->end > m->threads_to ? e->end : m->threads_to;
	} else if (e->what == HOST) {
		paint(m->lane[e->flag ? 2 : 3], e->begin, e->end);
	}
}

static void model(struct model *m, const struct event *e, size_t n)
{
	memset(m, 0, sizeof *m);
	m->threads_from = SPAN;
	for (size_t i = 0; i < n; i++)
		if (e[i].what != RANGE)
			m->now = e[i].end > m->now ? e[i].end : m->now;
	paint_marks(m, e, n);
	for (size_t i = 0; i < n; i++)
		if (e[i].what == RANGE)
			paint(e[i].flag ? m->exclude : m->roi, e[i].begin, e[i].end);
	for (int t = 0; t < SPAN; t++)
		m->window[t] = m->roi[t] && !m->exclude[t];
	for (size_t i = 0; i < n; i++)
		apply(m, &e[i]);
}

/* ---- compared ------------------------------------------------------------------------------- */

static uint64_t ones(const bool *line)
{
	uint64_t n = 0;
	for (int t = 0; t < SPAN; t++)
		n += line[t];
	return n;
}

/* Of one device or all, of one category or all, in the windows or everywhere. */
static void unite(const struct model *m, int device, int category, bool inside, bool *line)
{
	memset(line, 0, SPAN);
	for (int d = 0; d < DEVICES; d++)
		for (int c = 0; c < CATEGORIES; c++)
			for (int t = 0; t < SPAN; t++)
				line[t] |= (device < 0 || d == device) &&
					   (category < 0 || c == category) && m->busy[d][c][t] &&
					   (!inside || m->window[t]);
}

static uint64_t united(const struct model *m, int device, int category, bool inside)
{
	bool line[SPAN];
	unite(m, device, category, inside, line);
	return ones(line);
}

#define SAME(a, b) assert_true((a) == (double)(b))

static void compare_sums(const struct model *m, const struct picture_sums *p, bool inside)
{
	const struct model_sums *s = inside ? &m->in : &m->whole;
	uint64_t device_busy = 0;
	for (int c = 0; c < CATEGORIES; c++) {
		uint64_t in_devices = 0;
		for (int d = 0; d < DEVICES; d++)
			in_devices += united(m, d, c, inside);
		SAME(p->time_ns.items[c], s->time[c]);
		SAME(p->ops.items[c], s->ops[c]);
		SAME(p->union_ns.items[c], in_devices);
		if (c == COMPUTE || c == OTHER)
			assert_false(known(p->bytes.items[c]));
		else
			assert_true(fabs(p->bytes.items[c] - s->bytes[c]) < 1e-6);
	}
	for (int d = 0; d < DEVICES; d++)
		device_busy += united(m, d, -1, inside);
	SAME(p->op_sum_ns, s->op_sum);
	SAME(p->busy_ns, united(m, -1, -1, inside));
	SAME(p->device_busy_ns, device_busy);
	SAME(p->calls, s->calls);
	SAME(p->calls_ns, s->calls_ns);
	SAME(p->sync_calls, s->sync_calls);
	SAME(p->sync_ns, s->sync_ns);
}

static void compare_line(const bool *line, const struct nums *ranges, int64_t base)
{
	bool told[SPAN] = { false };
	for (size_t i = 0; i < ranges->n; i += 2) {
		int64_t begin = (int64_t)ranges->items[i] + base;
		int64_t end = (int64_t)ranges->items[i + 1] + base;
		assert_true(begin >= 0 && begin < end && end <= SPAN);
		assert_true(i == 0 || ranges->items[i] > ranges->items[i - 1]);
		paint(told, begin, end);
	}
	assert_memory_equal(told, line, SPAN);
}

static void compare_ops(const struct model_sums *s, const struct picture_op *ops, size_t n)
{
	size_t expected = 0;
	for (int i = 0; i < NAMES * CATEGORIES; i++)
		expected += s->names[i / CATEGORIES][i % CATEGORIES].count > 0;
	assert_int_equal(n, expected);
	for (size_t i = 0; i < n; i++) {
		int name = 0, category = (int)ops[i].category;
		while (strcmp(names[name], ops[i].name) != 0)
			name++;
		SAME(ops[i].count, s->names[name][category].count);
		SAME(ops[i].total_ns, s->names[name][category].total);
		SAME(ops[i].min_ns, s->names[name][category].min);
		SAME(ops[i].max_ns, s->names[name][category].max);
		uint64_t counted = 0;
		for (size_t k = 0; k < ops[i].bins.n; k += 2) {
			unsigned bin = (unsigned)ops[i].bins.items[k];
			SAME(ops[i].bins.items[k + 1], s->names[name][category].bins[bin]);
			counted += (uint64_t)ops[i].bins.items[k + 1];
		}
		SAME(ops[i].count, counted);
		assert_true(i == 0 || ops[i].total_ns <= ops[i - 1].total_ns);
	}
}

static void compare_gap(const struct model *m, const struct picture_gap *gap)
{
	uint64_t total = 0, lane[LANES] = { 0 }, unknown = 0;
	bool busy[SPAN];
	unite(m, -1, -1, true, busy);
	for (int t = 0; t < SPAN; t++) {
		if (!m->window[t] || busy[t])
			continue;
		int i = 0;
		while (i < LANES && !m->lane[i][t])
			i++;
		bool told = t >= m->threads_from && t < m->threads_to;
		total++;
		unknown += i == LANES && !told;
		lane[i < LANES ? i : LANES - 1] += i < LANES || told;
	}
	SAME(gap->total_ns, total);
	SAME(gap->sync_ns, lane[0]);
	SAME(gap->api_ns, lane[1]);
	SAME(gap->io_ns, lane[2]);
	SAME(gap->mpi_ns, lane[3]);
	assert_true(known(gap->cpu_ns) == (unknown == 0));
	assert_true(known(gap->off_cpu_ns) == (unknown == 0));
	if (unknown == 0) {
		SAME(gap->cpu_ns, lane[4]);
		SAME(gap->off_cpu_ns, lane[5]);
	}
}

static void compare(const struct model *m, const struct picture *p)
{
	uint64_t entries = 0;
	int64_t base = (int64_t)(p->base_s * 1e9 + p->base_ns) - SHIFT;
	for (int t = 0; t < SPAN; t++)
		entries += m->roi[t] && !(t > 0 && m->roi[t - 1]);
	SAME(p->late, 0);
	SAME(p->late_marks, 0);
	SAME(p->late_calls, 0);
	compare_sums(m, &p->whole, false);
	compare_ops(&m->whole, p->whole_ops.items, p->whole_ops.n);
	assert_int_equal(p->found, entries ? YES : NO);
	if (!entries) {
		assert_null(p->roi.time_ns.items);
		assert_false(known(p->gap.total_ns) || known(p->wall_ns));
		return;
	}
	SAME(p->entries, entries);
	SAME(p->gross_ns, ones(m->roi));
	SAME(p->wall_ns, ones(m->window));
	compare_line(m->window, &p->windows, base);
	compare_sums(m, &p->roi, true);
	compare_ops(&m->in, p->ops.items, p->ops.n);
	for (size_t d = 0; d < DEVICES; d++) {
		bool line[SPAN];
		unite(m, (int)d, -1, true, line);
		SAME(p->devices.items[d].busy_ns, ones(line));
		SAME(p->devices.items[d].whole_busy_ns, united(m, (int)d, -1, false));
		compare_line(line, &p->devices.items[d].busy, base);
	}
	compare_gap(m, &p->gap);
}

/* ---- random time lines ---------------------------------------------------------------------- */

static struct flow *new_flow(size_t slots)
{
	struct flow *f;
	struct flow_options o = {
		.observes = ALL, .slots = slots, .keep_busy = true, .calls = true, .threads = true
	};
	assert_int_equal(flow_new(&f, &o, NULL), 0);
	flow_host_told(f, FLOW_IO);
	flow_host_told(f, FLOW_MPI);
	for (int i = 0; i < DEVICES; i++)
		assert_int_equal(flow_device(f, devices[i], NULL), i);
	return f;
}

static void tell(struct flow *f, const struct event *e)
{
	int64_t begin = e->begin + SHIFT, end = e->end + SHIFT;
	switch (e->what) {
	case OP: {
		int64_t name = flow_name(f, names[e->name], strlen(names[e->name]));
		flow_op(f, &(struct flow_op){ begin, end, e->bytes, e->device, (uint32_t)name,
					      e->category });
		break;
	}
	case CALL:
		flow_call(f, begin, end, e->flag);
		break;
	case SLICE:
		flow_thread(f, begin, end, e->flag);
		break;
	case HOST:
		flow_host(f, e->flag ? FLOW_IO : FLOW_MPI, begin, end);
		break;
	case MARK:
		assert_int_equal(flow_mark(f, e->mark, begin), 0);
		break;
	case RANGE:
		assert_int_equal(flow_range(f, e->flag, begin, end), 0);
		break;
	}
}

static void picture_is_right(struct flow *f, const struct event *e, size_t n)
{
	struct arena a = { 0 };
	struct picture p;
	struct model m;
	model(&m, e, n);
	assert_int_equal(flow_picture(f, &a, &p, NULL), 0);
	compare(&m, &p);
	arena_free(&a);
}

static int by_begin(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	return x->begin != y->begin ? (x->begin > y->begin ? 1 : -1)
				    : (x->end > y->end) - (x->end < y->end);
}

static struct event random_event(void)
{
	struct event e = { .what = dice(4)   ? OP
				   : dice(3) ? CALL
				   : dice(2) ? HOST
					     : SLICE,
			   .begin = dice(SPAN - 60),
			   .bytes = dice(100),
			   .device = dice(DEVICES),
			   .name = dice(NAMES),
			   .category = dice(CATEGORIES),
			   .flag = dice(2) };
	e.end = e.begin + 1 + dice(dice(4) ? 12 : 50);
	return e;
}

/* Ordered, then out of order by less than the ring can mend. */
static size_t random_work(struct event *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		e[i] = random_event();
	qsort(e, n, sizeof *e, by_begin);
	for (size_t i = 0; i + 8 <= n; i += 8)
		for (size_t k = 0; k < 8; k++) {
			size_t with = i + dice(8);
			struct event t = e[i + k];
			e[i + k] = e[with];
			e[with] = t;
		}
	return n;
}

static size_t random_ranges(struct event *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t at = dice(SPAN - 80);
		e[i] = (struct event){
			.what = RANGE, .begin = at, .end = at + dice(80), .flag = dice(3) == 0
		};
	}
	return n;
}

static void ranges_agree_with_the_model(void **state)
{
	(void)state;
	for (seed = 1; seed < 600; seed++) {
		uint32_t round = seed;
		struct event e[EVENTS];
		size_t n = random_ranges(e, dice(16));
		n += random_work(e + n, dice(100));
		struct flow *f = new_flow(16);
		for (size_t i = 0; i < n; i++) {
			tell(f, &e[i]);
			if (dice(20) == 0)
				picture_is_right(f, e, i + 1);
		}
		picture_is_right(f, e, n);
		flow_free(f);
		seed = round;
	}
}

/* A range may come while operations do, as long as none that touches it has left the ring. */
static void ranges_that_come_in_time_are_as_good(void **state)
{
	(void)state;
	for (seed = 1; seed < 400; seed++) {
		uint32_t round = seed;
		struct event ranges[16], work[EVENTS], e[EVENTS];
		size_t n_ranges = random_ranges(ranges, dice(16)), n = 0, k = 0;
		size_t n_work = random_work(work, dice(100));
		qsort(ranges, n_ranges, sizeof *ranges, by_begin);
		struct flow *f = new_flow(16);
		for (size_t i = 0; i < n_work; i++) {
			for (; k < n_ranges && ranges[k].begin <= work[i].end + (int64_t)dice(30);
			     k++) {
				e[n] = ranges[k];
				tell(f, &e[n++]);
			}
			e[n] = work[i];
			tell(f, &e[n++]);
			if (dice(20) == 0)
				picture_is_right(f, e, n);
		}
		picture_is_right(f, e, n);
		flow_free(f);
		seed = round;
	}
}

static void marks_agree_with_the_model(void **state)
{
	(void)state;
	for (seed = 1; seed < 600; seed++) {
		uint32_t round = seed;
		struct event marks[40], work[EVENTS], e[EVENTS];
		size_t n_marks = dice(40), n_work = random_work(work, dice(100)), n = 0, k = 0;
		int64_t at = 0;
		for (size_t i = 0; i < n_marks; i++) {
			at += dice(20);
			unsigned what = dice(6);
			marks[i] = (struct event){ .what = MARK,
						   .begin = at,
						   .end = at,
						   .mark = what < 4 ? (enum flow_mark)what
								    : FLOW_BEGIN };
			if (at > SPAN - 60)
				n_marks = i;
		}
		struct flow *f = new_flow(dice(2) ? 16 : 64);
		for (size_t i = 0; i < n_work; i++) {
			for (; k < n_marks && marks[k].begin <= work[i].end; k++) {
				e[n] = marks[k];
				tell(f, &e[n++]);
			}
			e[n] = work[i];
			tell(f, &e[n++]);
			if (dice(20) == 0)
				picture_is_right(f, e, n);
		}
		picture_is_right(f, e, n);
		flow_free(f);
		seed = round;
	}
}

/* A call is told of when it ends: it may have begun before all that has left the ring. */
static void long_calls_may_come_behind_the_operations(void **state)
{
	(void)state;
	for (seed = 1; seed < 300; seed++) {
		uint32_t round = seed;
		struct event e[EVENTS];
		size_t n = random_ranges(e, 8), first = n;
		n += random_work(e + n, 80);
		struct flow *f = new_flow(512);
		for (size_t i = 0; i < n; i++)
			if (i < first || e[i].what == OP)
				tell(f, &e[i]);
		flow_settle(f, SPAN / 2 + SHIFT);
		for (size_t i = first; i < n; i++)
			if (e[i].what != OP)
				tell(f, &e[i]);
		picture_is_right(f, e, n);
		flow_settle(f, INT64_MAX);
		picture_is_right(f, e, n);
		flow_free(f);
		seed = round;
	}
}

/* A program that does nothing but I/O, while the device's operations are yet to come. */
static void too_many_stretches_of_the_host_close_their_smallest_gaps(void **state)
{
	struct arena a = { 0 };
	struct picture p;
	struct flow *f = new_flow(16);
	(void)state;
	assert_int_equal(flow_mark(f, FLOW_BEGIN, 1), 0);
	for (int64_t i = 0; i < 10000; i++)
		flow_host(f, FLOW_IO, 1000 * i, 1000 * i + 400);
	for (int64_t i = 0; i < 3; i++) /* far apart: they stay */
		flow_host(f, FLOW_MPI, 20000000 + 1000000 * i, 20000000 + 1000000 * i + 7);
	assert_int_equal(flow_mark(f, FLOW_END, 30000000), 0);
	assert_int_equal(flow_picture(f, &a, &p, NULL), 0);
	assert_true(p.gap.io_ns >= 4000000 - 1 && p.gap.io_ns <= 10000000);
	SAME(p.gap.mpi_ns, 21);
	assert_true(p.late_calls > 0);
	SAME(p.gap.total_ns, 30000000 - 1);
	arena_free(&a);
	flow_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_agree_with_the_model),
		cmocka_unit_test(ranges_that_come_in_time_are_as_good),
		cmocka_unit_test(marks_agree_with_the_model),
		cmocka_unit_test(long_calls_may_come_behind_the_operations),
		cmocka_unit_test(too_many_stretches_of_the_host_close_their_smallest_gaps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
