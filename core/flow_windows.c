/* Marks into windows: the union of the region's ranges less the union of the excludes. The list of
 * windows is made anew when ranges come out of order; what comes in order is put at its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow_impl.h"

int windows_init(struct windows *w, size_t max)
{
	*w = (struct windows){
		.known_end = INT64_MIN, .fixed = INT64_MIN, .last_mark = INT64_MIN, .max = max
	};
	if (ranges_init(&w->list, SIZE_MAX) || ranges_init(&w->roi, SIZE_MAX) ||
	    ranges_init(&w->exclude, SIZE_MAX))
		return -ENOMEM;
	return 0;
}

void windows_done(struct windows *w)
{
	free(w->list.items);
	free(w->roi.items);
	free(w->exclude.items);
}

/* ---- what they are made of ------------------------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void merge(struct ranges *r)
{
	size_t kept = 0;
	if (!r->n)
		return;
	qsort(r->items, r->n, sizeof *r->items, by_begin);
	for (size_t i = 1; i < r->n; i++) {
		struct range p = r->items[i];
		if (p.begin <= r->items[kept].end)
			r->items[kept].end = later(r->items[kept].end, p.end);
		else
			r->items[++kept] = p;
	}
	r->n = kept + 1;
}

static void sort(struct windows *w)
{
	if (!w->unsorted)
		return;
	merge(&w->roi);
	merge(&w->exclude);
	w->unsorted = false;
}

void windows_sort(struct flow *f)
{
	sort(&f->windows);
}

static void drop(struct ranges *r, size_t n)
{
	memmove(r->items, &r->items[n], (r->n - n) * sizeof *r->items);
	r->n -= n;
}

/* What ends before the frontier can't be changed, and a range that touches it can't come. */
static void drop_final(struct windows *w, int64_t frontier)
{
	size_t n = 0;
	sort(w);
	for (; n < w->roi.n && w->roi.items[n].end < frontier; n++) {
		w->entries++;
		w->gross_ns += range_ns(w->roi.items[n].begin, w->roi.items[n].end);
	}
	drop(&w->roi, n);
	for (n = 0; n < w->exclude.n && w->exclude.items[n].end < frontier; n++)
		;
	drop(&w->exclude, n);
}

static int put(struct windows *w, struct ranges *r, int64_t begin, int64_t end, int64_t frontier)
{
	struct range *last = r->n ? &r->items[r->n - 1] : NULL;
	if (last && begin >= last->begin && begin <= last->end) {
		last->end = later(last->end, end);
		return 0;
	}
	if (r->n == r->cap) {
		drop_final(w, frontier);
		/* Less than half is free: the next time would come too soon. */
		int rc = r->n > r->cap / 2 ? ranges_grow(r) : 0;
		if (rc && r->n == r->cap)
			return rc;
	}
	w->unsorted |= r->n && begin < r->items[r->n - 1].begin;
	r->items[r->n++] = (struct range){ begin, end };
	return 0;
}

/* ---- the list ------------------------------------------------------------------------------- */

/* Windows that nothing will touch any more are only kept for the picture. */
static int list_room(struct flow *f)
{
	struct windows *w = &f->windows;
	if (w->list.n < w->list.cap)
		return 0;
	if (f->gap.cap && w->op_at > w->max)
		gap_sweep(f, f->folded);
	size_t settled = f->gap.cap && w->gap_at < w->op_at ? w->gap_at : w->op_at;
	if (settled <= w->max)
		return ranges_grow(&w->list);
	size_t before = w->list.n;
	ranges_reduce(&w->list, settled, w->max / 2);
	w->list.least_ns = 0;
	w->op_at -= before - w->list.n;
	w->gap_at = f->gap.cap ? w->gap_at - (before - w->list.n) : 0;
	return 0;
}

static int list_add(struct flow *f, int64_t begin, int64_t end)
{
	struct windows *w = &f->windows;
	int rc = list_room(f);
	if (rc)
		return rc;
	ranges_add(&w->list, begin, end);
	/* It may have grown behind a cursor that had left it. */
	w->op_at = w->op_at < w->list.n ? w->op_at : w->list.n - 1;
	w->gap_at = w->gap_at < w->list.n ? w->gap_at : w->list.n - 1;
	return 0;
}

/* One stretch of the region, from the frontier on, without its excludes. x: the first of them. */
static int cut(struct flow *f, int64_t begin, int64_t end, size_t *x)
{
	const struct ranges *exclude = &f->windows.exclude;
	int rc = 0;
	while (*x < exclude->n && exclude->items[*x].end <= begin)
		++*x;
	for (size_t i = *x; !rc && i < exclude->n && exclude->items[i].begin < end; i++) {
		if (exclude->items[i].begin > begin)
			rc = list_add(f, begin, exclude->items[i].begin);
		begin = later(begin, exclude->items[i].end);
	}
	return !rc && begin < end ? list_add(f, begin, end) : rc;
}

/* From the frontier on; an open stretch is what the marks say, whatever ranges say. */
int windows_ready_slow(struct flow *f)
{
	struct windows *w = &f->windows;
	int64_t frontier = flow_frontier(f), limit = w->regions ? w->since : INT64_MAX;
	size_t x = 0;
	int rc = 0;
	drop_final(w, frontier);
	while (w->list.n && w->list.items[w->list.n - 1].begin >= frontier)
		w->list.n--;
	if (w->list.n && w->list.items[w->list.n - 1].end > frontier)
		w->list.items[w->list.n - 1].end = frontier;
	for (size_t i = 0; !rc && i < w->roi.n; i++)
		rc = cut(f, later(w->roi.items[i].begin, frontier),
			 earlier(w->roi.items[i].end, limit), &x);
	if (!rc && w->regions && !w->excludes)
		rc = list_add(f, later(w->since, frontier), INT64_MAX);
	w->stale = rc != 0;
	return rc;
}

int flow_range(struct flow *f, bool exclude, int64_t begin_ns, int64_t end_ns)
{
	struct windows *w = &f->windows;
	int64_t frontier = flow_frontier(f);
	if (end_ns <= begin_ns)
		return 0;
	if (begin_ns < frontier) {
		w->late_marks++;
		begin_ns = frontier;
		if (end_ns <= begin_ns)
			return 0;
	}
	int rc = put(w, exclude ? &w->exclude : &w->roi, begin_ns, end_ns, frontier);
	if (rc)
		return rc;
	if (w->regions || begin_ns < w->known_end)
		w->stale = true;
	w->known_end = later(w->known_end, end_ns);
	return w->stale || exclude ? 0 : list_add(f, begin_ns, end_ns);
}

/* ---- marks ---------------------------------------------------------------------------------- */

/* Marks come in order, so what they made long ago need not be kept for ranges that may still come.
 */
static int64_t frontier_of_marks(struct flow *f)
{
	struct windows *w = &f->windows;
	if (!w->stale && !w->unsorted && (w->roi.n >= w->max || w->exclude.n >= w->max))
		w->fixed = later(w->fixed, w->since);
	return flow_frontier(f);
}

/* Windows that wait for operations have a ceiling too. */
static void limit(struct flow *f)
{
	struct windows *w = &f->windows;
	if (w->list.n <= 4 * w->max)
		return;
	ranges_reduce(&w->list, w->list.n, 2 * w->max);
	w->list.least_ns = 0;
	w->op_at = windows_find(&w->list, f->folded);
	w->gap_at = windows_find(&w->list, f->gap.swept);
}

/* The open stretch ends here. */
static int step(struct flow *f, int64_t at)
{
	struct windows *w = &f->windows;
	int64_t since = w->since, frontier = frontier_of_marks(f);
	w->since = at;
	if (since < w->known_end)
		w->stale = true;
	if (!w->stale && !w->excludes) {
		struct range *last = &w->list.items[w->list.n - 1];
		last->end = at;
		w->list.n -= last->begin == at;
	}
	if (at <= since)
		return 0;
	w->known_end = later(w->known_end, at);
	int rc = put(w, &w->roi, since, at, frontier);
	return !rc && w->excludes ? put(w, &w->exclude, since, at, frontier) : rc;
}

static int open_stretch(struct flow *f, int64_t at)
{
	struct windows *w = &f->windows;
	w->since = at;
	if (at < w->known_end)
		w->stale = true;
	if (w->stale)
		return 0;
	limit(f);
	return list_add(f, at, INT64_MAX);
}

int flow_mark(struct flow *f, enum flow_mark what, int64_t at_ns)
{
	struct windows *w = &f->windows;
	bool exclude = what == FLOW_EXCLUDE_BEGIN || what == FLOW_EXCLUDE_END;
	bool begins = what == FLOW_BEGIN || what == FLOW_EXCLUDE_BEGIN;
	int rc = 0;
	/* Excludes mean nothing outside the region, and one that is open at its end ends there. */
	if ((exclude || !begins) && !w->regions)
		return 0;
	if (what == FLOW_EXCLUDE_END && !w->excludes)
		return 0;
	unsigned *depth = exclude ? &w->excludes : &w->regions;
	unsigned after = begins ? *depth + 1 : *depth - 1;
	bool changes = begins ? after == 1 : after == 0;
	at_ns = later(at_ns, w->last_mark);
	w->last_mark = at_ns;
	w->late_marks += changes && at_ns < flow_frontier(f);
	if (changes && w->regions)
		rc = step(f, at_ns);
	*depth = after;
	if (!w->regions)
		w->excludes = 0;
	if (!rc && changes && w->regions && !w->excludes)
		rc = open_stretch(f, at_ns);
	else if (changes)
		w->since = at_ns;
	return rc;
}

bool flow_inside(const struct flow *f)
{
	return f->windows.regions > 0 && f->windows.excludes == 0;
}

/* ---- asked by operations and calls ---------------------------------------------------------- */

size_t windows_find(const struct ranges *w, int64_t time)
{
	size_t low = 0, high = w->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->items[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t windows_clip(const struct ranges *w, size_t at, int64_t begin, int64_t end,
		      struct ranges *pieces)
{
	uint64_t ns = 0;
	for (; at < w->n && w->items[at].begin < end; at++) {
		int64_t from = later(w->items[at].begin, begin);
		int64_t to = earlier(w->items[at].end, end);
		if (to <= from)
			continue;
		ns += range_ns(from, to);
		if (pieces)
			ranges_add(pieces, from, to);
	}
	return ns;
}

/* An empty one at the end of a window is inside. */
bool windows_hold(const struct ranges *w, size_t at, int64_t begin, int64_t end)
{
	if (begin == end && at > 0 && w->items[at - 1].end == end)
		return true;
	return at < w->n && w->items[at].begin <= begin && begin <= end && end <= w->items[at].end;
}
