/* What the host did while the device was idle: seven kinds of stretches, each in order, looked at
 * together and some time later, since a long call is told of only when it ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow_impl.h"

int gap_init(struct flow_gap *g, size_t cap)
{
	*g = (struct flow_gap){ .cap = cap, .swept = INT64_MIN };
	for (int i = 0; i < LANES; i++) {
		g->lanes[i].items = malloc(cap * sizeof *g->lanes[i].items);
		if (!g->lanes[i].items)
			return -ENOMEM;
	}
	return 0;
}

/* Only what waits. */
int gap_copy(struct flow_gap *to, const struct flow_gap *from)
{
	*to = *from;
	for (int i = 0; i < LANES; i++)
		to->lanes[i].items = NULL;
	for (int i = 0; from->cap && i < LANES; i++) {
		const struct lane_queue *q = &from->lanes[i];
		to->lanes[i] = (struct lane_queue){ .n = q->n - q->head, .least_ns = q->least_ns };
		to->lanes[i].items = malloc(from->cap * sizeof *q->items);
		if (!to->lanes[i].items)
			return -ENOMEM;
		memcpy(to->lanes[i].items, &q->items[q->head], to->lanes[i].n * sizeof *q->items);
	}
	return 0;
}

void gap_done(struct flow_gap *g)
{
	for (int i = 0; i < LANES; i++)
		free(g->lanes[i].items);
}

/* ---- the sweep ------------------------------------------------------------------------------ */

/* The first lane that covers the time, and where that changes. */
static int covered_by(struct flow_gap *g, int64_t at, int64_t *end)
{
	for (int i = 0; i < LANES; i++) {
		struct lane_queue *q = &g->lanes[i];
		while (q->head < q->n && q->items[q->head].end <= at)
			q->head++;
		if (q->head == q->n)
			continue;
		if (q->items[q->head].begin <= at) {
			*end = earlier(*end, q->items[q->head].end);
			return i;
		}
		*end = earlier(*end, q->items[q->head].begin);
	}
	return LANE_NONE;
}

/* Nothing covers it: off the CPU, if the threads are known before and after. */
static void nobody(struct flow_gap *g, int64_t at, uint64_t ns)
{
	if (!g->threads_seen || at >= g->threads_to)
		g->waiting_ns += ns;
	else if (at < g->threads_from)
		g->unknown_ns += ns;
	else
		g->ns[LANE_OFF] += ns;
}

void gap_sweep(struct flow *f, int64_t until)
{
	struct flow_gap *g = &f->gap;
	const struct ranges *windows = &f->windows.list;
	int64_t at = g->swept;
	while (at < until) {
		int64_t end = until;
		int lane = covered_by(g, at, &end);
		f->windows.gap_at = windows_from(windows, f->windows.gap_at, at);
		uint64_t ns = windows_clip(windows, f->windows.gap_at, at, end, NULL);
		if (lane == LANE_NONE)
			nobody(g, at, ns);
		else
			g->ns[lane] += ns;
		at = end;
	}
	g->swept = later(g->swept, until);
}

/* ---- in ------------------------------------------------------------------------------------- */

/* Gaps are closed, twice as large ones each time, until a quarter is left; each counts as late. */
static void close_up(struct flow_gap *g, struct lane_queue *q)
{
	while (q->n > g->cap / 4) {
		size_t kept = 0;
		q->least_ns = q->least_ns ? 2 * q->least_ns : 256;
		for (size_t i = 1; i < q->n; i++) {
			if (range_ns(q->items[kept].end, q->items[i].begin) > q->least_ns) {
				q->items[++kept] = q->items[i];
				continue;
			}
			q->items[kept].end = q->items[i].end;
			g->late_calls++;
		}
		q->n = kept + 1;
	}
}

/* All lanes but those of the host are known up to what was folded, so half of a full queue can go.
 */
static void make_room(struct flow *f, struct lane_queue *q)
{
	if (q->n < f->gap.cap)
		return;
	if (q->head < q->n / 2)
		gap_sweep(f, earlier(q->items[q->head + (q->n - q->head) / 2].begin, f->folded));
	while (q->head < q->n && q->items[q->head].end <= f->gap.swept)
		q->head++;
	memmove(q->items, &q->items[q->head], (q->n - q->head) * sizeof *q->items);
	q->n -= q->head;
	q->head = 0;
	if (q->n == f->gap.cap)
		close_up(&f->gap, q);
}

static void see_thread(struct flow_gap *g, int64_t begin, int64_t end)
{
	if (g->threads_seen)
		g->ns[LANE_OFF] += g->waiting_ns;
	else
		g->unknown_ns += g->waiting_ns;
	g->waiting_ns = 0;
	g->threads_from = g->threads_seen ? earlier(g->threads_from, begin) : begin;
	g->threads_to = g->threads_seen ? later(g->threads_to, end) : end;
	g->threads_seen = true;
}

void gap_add(struct flow *f, enum lane lane, int64_t begin, int64_t end)
{
	struct lane_queue *q = &f->gap.lanes[lane];
	if (lane == LANE_ON || lane == LANE_OFF)
		see_thread(&f->gap, begin, end);
	if (q->n > q->head && begin <= q->items[q->n - 1].end) {
		q->items[q->n - 1].end = later(q->items[q->n - 1].end, end);
		return;
	}
	make_room(f, q);
	q->items[q->n++] = (struct range){ begin, end };
}

void gap_add_late(struct flow *f, enum lane lane, int64_t begin, int64_t end)
{
	struct flow_gap *g = &f->gap;
	struct lane_queue *q = &g->lanes[lane];
	if (lane == LANE_ON || lane == LANE_OFF)
		see_thread(g, begin, end);
	if (begin < g->swept) {
		g->late_calls++;
		begin = g->swept;
		if (end <= begin)
			return;
	}
	make_room(f, q);
	/* [first, after): what it touches. */
	size_t after = q->n;
	while (after > q->head && q->items[after - 1].begin > end)
		after--;
	size_t first = after;
	/* Gaps that are small enough are closed; which one is next to it depends on the order, so
	 * only those behind it are looked for: most come in order. */
	while (first > q->head && (q->items[first - 1].end >= begin ||
				   range_ns(q->items[first - 1].end, begin) <= q->least_ns)) {
		first--;
		g->late_calls += q->items[first].end < begin;
		begin = earlier(begin, q->items[first].begin);
		end = later(end, q->items[first].end);
	}
	memmove(&q->items[first + 1], &q->items[after], (q->n - after) * sizeof *q->items);
	q->items[first] = (struct range){ begin, end };
	q->n = q->n - (after - first) + 1;
}
