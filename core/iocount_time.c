/* Bytes over time, and the time in which any thread of the process was in I/O. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/iocount_impl.h"

/* ---- bytes over time ------------------------------------------------------------------------ */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Two bins become one; which two hangs on the time line only, so that series of several processes
 * fit. */
static void widen(struct count_series *s)
{
	int64_t first = floor_div(s->first, 2);
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t to = (uint32_t)(floor_div(s->first + i, 2) - first);
		for (int d = 0; d < 2; d++) {
			uint64_t bytes = s->bytes[d][i];
			s->bytes[d][i] = 0;
			s->bytes[d][to] += bytes;
		}
		n = to + 1;
	}
	s->first = first;
	s->n = n;
}

/* Room for the bins [from, to] of this source: all sources have one width. */
static void make_room(struct iocount *c, struct count_series *s, int64_t begin, int64_t end)
{
	for (;;) {
		int64_t from = floor_div(begin, c->width_ns), to = floor_div(end, c->width_ns);
		int64_t first = s->n && s->first < from ? s->first : from;
		int64_t last = s->n && s->first + s->n - 1 > to ? s->first + s->n - 1 : to;
		if (last - first < SERIES_BINS) {
			uint32_t shift = s->n ? (uint32_t)(s->first - first) : 0;
			for (int d = 0; shift && d < 2; d++) {
				memmove(&s->bytes[d][shift], s->bytes[d],
					s->n * sizeof s->bytes[d][0]);
				memset(s->bytes[d], 0, shift * sizeof s->bytes[d][0]);
			}
			s->first = first;
			s->n = (uint32_t)(last - first + 1);
			return;
		}
		c->width_ns *= 2;
		c->bin = (struct range){ 0, 0 };
		for (unsigned i = 0; i < SOURCES; i++)
			widen(&c->series[i]);
	}
}

/* Spread over the call's time; no byte is lost: each bin gets what is due by its end. */
void series_add(struct iocount *c, unsigned source, bool write, int64_t begin, int64_t end,
		uint64_t bytes)
{
	struct count_series *s = &c->series[source];
	int64_t last = end > begin ? end - 1 : begin;
	if (!bytes)
		return;
	if (begin >= c->bin.begin && last < c->bin.end &&
	    (uint64_t)(c->bin_number - s->first) < s->n) {
		s->bytes[write][c->bin_number - s->first] += bytes;
		return;
	}
	int64_t from = floor_div(begin, c->width_ns), to = floor_div(last, c->width_ns);
	if (!s->n || from < s->first || to >= s->first + s->n) {
		make_room(c, s, begin, last);
		from = floor_div(begin, c->width_ns);
		to = floor_div(last, c->width_ns);
	}
	uint64_t *bins = s->bytes[write], done = 0;
	for (int64_t i = from; i < to; i++) {
		double part = (double)((i + 1) * c->width_ns - begin) / (double)(end - begin);
		uint64_t due = (uint64_t)((double)bytes * part);
		due = due > bytes ? bytes : due < done ? done : due;
		bins[i - s->first] += due - done;
		done = due;
	}
	bins[to - s->first] += bytes - done;
	c->bin = (struct range){ to * c->width_ns, (to + 1) * c->width_ns };
	c->bin_number = to;
}

/* ---- waiting -------------------------------------------------------------------------------- */

int waits_init(struct count_waits *w)
{
	w->items = malloc(WAITS * sizeof *w->items);
	w->spare = malloc(WAITS * sizeof *w->spare);
	waits_clear(w);
	return w->items && w->spare ? 0 : -ENOMEM;
}

void waits_done(struct count_waits *w)
{
	free(w->items);
	free(w->spare);
}

void waits_clear(struct count_waits *w)
{
	*w = (struct count_waits){ .items = w->items,
				   .spare = w->spare,
				   .settled = INT64_MIN,
				   .flushed = INT64_MIN,
				   .thread = UINT32_MAX };
}

/* The first n go into the sums: nothing will come that touches them. */
static void settle(struct count_waits *w, struct flow *f, size_t n)
{
	const struct ranges *windows = &f->windows.list;
	size_t at = n ? windows_find(windows, w->items[0].begin) : 0;
	for (size_t i = 0; i < n; i++) {
		struct range r = w->items[i];
		at = windows_from(windows, at, r.begin);
		w->ns[WHOLE] += range_ns(r.begin, r.end);
		w->ns[ROI] += windows_clip(windows, at, r.begin, r.end, NULL);
		w->settled = r.end;
	}
	w->n -= n;
	memmove(w->items, &w->items[n], w->n * sizeof *w->items);
}

/* Gaps up to twice, four times, ... as long are closed, until half is free. */
static void close_gaps(struct count_waits *w)
{
	for (uint64_t least = 512; w->n > WAITS / 2; least *= 2) {
		size_t kept = 0;
		for (size_t i = 1; i < w->n; i++) {
			uint64_t gap = range_ns(w->items[kept].end, w->items[i].begin);
			if (gap > least) {
				w->items[++kept] = w->items[i];
				continue;
			}
			w->closed_ns += gap;
			w->items[kept].end = w->items[i].end;
		}
		w->n = kept + 1;
	}
}

/* Of one thread alone what was is final. With several, what was before all were heard is. */
static void make_half(struct count_waits *w, struct flow *f)
{
	size_t n = 0;
	if (!w->several) {
		settle(w, f, w->n / 2);
		return;
	}
	while (n < w->n / 2 && w->items[n].end < w->flushed)
		n++;
	settle(w, f, n);
	if (w->n > WAITS - WAITS / 4)
		close_gaps(w);
}

static void put(struct range *to, size_t *n, struct range r)
{
	if (*n && r.begin <= to[*n - 1].end)
		to[*n - 1].end = later(to[*n - 1].end, r.end);
	else
		to[(*n)++] = r;
}

/* Both are in order; what of the list ends before all of the new stays where it is. */
static void merge(struct count_waits *w, const struct range *some, size_t n)
{
	size_t from = w->n, i, k = 0, merged = 0;
	while (from > 0 && w->items[from - 1].end >= some[0].begin)
		from--;
	if (from == w->n) { /* all are behind, as those of one thread are */
		memcpy(&w->items[from], some, n * sizeof *some);
		w->n += n;
		return;
	}
	for (i = from; i < w->n || k < n;)
		if (k == n || (i < w->n && w->items[i].begin <= some[k].begin))
			put(w->spare, &merged, w->items[i++]);
		else
			put(w->spare, &merged, some[k++]);
	memcpy(&w->items[from], w->spare, merged * sizeof *w->items);
	w->n = from + merged;
}

/* In order of their end, and disjoint but for what a signal handler did: cut at what is settled. */
void waits_add(struct iocount *c, struct flow *f, const struct range *some, size_t n,
	       uint32_t thread)
{
	struct count_waits *w = &c->waits;
	struct range in[256];
	size_t kept = 0;
	w->several |= w->thread != UINT32_MAX && w->thread != thread;
	w->thread = thread;
	if (windows_ready(f))
		return;
	for (size_t i = 0; i < n; i++) {
		struct range r = some[i];
		w->late += r.begin < w->settled;
		r.begin = later(r.begin, w->settled);
		while (kept && in[kept - 1].begin >= r.begin) /* it encloses what was before */
			kept--;
		if (r.end <= r.begin)
			continue;
		put(in, &kept, r);
	}
	if (w->n + kept > WAITS)
		make_half(w, f);
	if (kept)
		merge(w, in, kept);
}
