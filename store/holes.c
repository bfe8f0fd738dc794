/* Holes between spans, less what was told. */
#include "store/holes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/roilog.h"

bool holes_touch(int64_t from_ns, int64_t to_ns, int64_t since_ns, int64_t until_ns)
{
	/* A clock that was set back in between makes them the wrong way round. */
	if (from_ns != ROI_UNKNOWN && to_ns != ROI_UNKNOWN && from_ns > to_ns) {
		int64_t x = from_ns;
		from_ns = to_ns;
		to_ns = x;
	}
	return (from_ns == ROI_UNKNOWN || from_ns <= until_ns) &&
	       (to_ns == ROI_UNKNOWN || to_ns >= since_ns);
}

static const char *same_or_null(const char *a, const char *b)
{
	return a && b && !strcmp(a, b) ? a : NULL;
}

/* Earlier and later of two times, unknown is open. */
static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b; /* ROI_UNKNOWN is the smallest */
}

static int64_t later(int64_t a, int64_t b)
{
	return a == ROI_UNKNOWN || b == ROI_UNKNOWN ? ROI_UNKNOWN : a > b ? a : b;
}

static int by_number(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return a < b ? -1 : a > b;
}

/* The numbers of a told gap that nothing came under: those not in the spans, and the last ones that
 * only the word of the gap came under. Several gaps may say the same of one number. */
static int gone(struct arena *a, const struct spans *spans, const struct told_gap *g, size_t n,
		struct inbox_hole *h)
{
	uint64_t *carried = arena_array(a, n, sizeof *carried);
	size_t k = 0;
	if (!carried)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (g[i].carried)
			carried[k++] = g[i].last;
	if (k)
		qsort(carried, k, sizeof *carried, by_number);
	h->count = h->last - h->first + 1 - spans_count(spans, h->first, h->last);
	for (size_t i = 0; i < k; i++)
		h->count += (!i || carried[i] != carried[i - 1]) && spans_has(spans, carried[i]);
	return 0;
}

struct list_of {
	struct arena *a;
	struct inbox_hole *items;
	size_t n, cap;
};

static struct inbox_hole *add(struct list_of *l)
{
	struct inbox_hole *items = arena_grow(l->a, l->items, &l->cap, l->n + 1, sizeof *items);
	if (!items)
		return NULL;
	l->items = items;
	return &l->items[l->n++];
}

static int add_told(struct list_of *l, const struct spans *spans, const struct told_gap *g,
		    size_t n)
{
	for (size_t i = 0; i < n;) {
		struct inbox_hole h = { .first = g[i].first,
					.last = g[i].last,
					.told = true,
					.what = g[i].what,
					.why = g[i].why,
					.from_ns = g[i].from_ns,
					.to_ns = g[i].to_ns };
		size_t end = i + 1;
		for (; end < n && g[end].first <= h.last; end++) {
			h.last = g[end].last > h.last ? g[end].last : h.last;
			h.what = same_or_null(h.what, g[end].what);
			h.why = same_or_null(h.why, g[end].why);
			h.from_ns = earlier(h.from_ns, g[end].from_ns);
			h.to_ns = later(h.to_ns, g[end].to_ns);
		}
		if (gone(l->a, spans, g + i, end - i, &h))
			return -ENOMEM;
		i = end;
		if (!h.count)
			continue;
		struct inbox_hole *to = add(l);
		if (!to)
			return -ENOMEM;
		*to = h;
	}
	return 0;
}

/* What is left of a hole between two spans when the told ones are taken out. told: joined, and like
 * the holes they come in order: *at is the first of them that may still reach into one. */
static int add_untold(struct list_of *l, struct inbox_hole hole, size_t n_told, size_t *at)
{
	while (*at < n_told && l->items[*at].last < hole.first)
		++*at;
	for (size_t i = *at; i < n_told && hole.first <= hole.last; i++) {
		uint64_t first = l->items[i].first, last = l->items[i].last;
		if (first > hole.last)
			break;
		if (first > hole.first) {
			struct inbox_hole *to = add(l);
			if (!to)
				return -ENOMEM;
			*to = hole;
			to->last = first - 1;
			to->count = to->last - to->first + 1;
		}
		if (last >= hole.last)
			return 0;
		hole.first = last + 1;
	}
	struct inbox_hole *to = add(l);
	if (!to)
		return -ENOMEM;
	*to = hole;
	to->count = to->last - to->first + 1;
	return 0;
}

int holes_find(struct arena *a, const struct spans *spans, struct told_gap *told, size_t n_told,
	       struct inbox_hole **ret, size_t *ret_n)
{
	struct list_of l = { .a = a };
	int rc = add_told(&l, spans, told, n_told);
	size_t joined = l.n, at = 0;
	uint64_t next = 1;
	int64_t from_ns = ROI_UNKNOWN;
	for (size_t i = 0; i < spans->n && !rc; i++) {
		const struct inbox_span *span = &spans->items[i];
		if (span->first > next)
			rc = add_untold(&l,
					(struct inbox_hole){ .first = next,
							     .last = span->first - 1,
							     .from_ns = from_ns,
							     .to_ns = span->from_ns },
					joined, &at);
		next = span->last + 1;
		from_ns = span->to_ns;
	}
	*ret = l.items;
	*ret_n = l.n;
	return rc;
}
