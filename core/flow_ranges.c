/* Lists of ranges that stay below a ceiling: the smallest gaps are closed, and their sum is kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow_impl.h"

#define FIRST 64

int ranges_init(struct ranges *r, size_t max)
{
	size_t cap = max < FIRST ? max : FIRST;
	*r = (struct ranges){ .items = malloc(cap * sizeof *r->items), .cap = cap, .max = max };
	return r->items ? 0 : -ENOMEM;
}

int ranges_copy(struct ranges *to, const struct ranges *from)
{
	*to = *from;
	to->cap = from->n + FIRST < from->max ? from->n + FIRST : from->max;
	to->items = malloc(to->cap * sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	if (from->n)
		memcpy(to->items, from->items, from->n * sizeof *to->items);
	return 0;
}

static int grow_to(struct ranges *r, size_t cap)
{
	struct range *items =
		cap > SIZE_MAX / sizeof *items ? NULL : realloc(r->items, cap * sizeof *items);
	if (!items)
		return -ENOMEM;
	r->items = items;
	r->cap = cap;
	return 0;
}

int ranges_grow(struct ranges *r)
{
	return r->n < r->cap ? 0 : grow_to(r, r->cap ? 2 * r->cap : FIRST);
}

void ranges_full(struct ranges *r)
{
	size_t cap = 2 * r->cap < r->max ? 2 * r->cap : r->max;
	if (cap > r->cap && grow_to(r, cap) == 0)
		return;
	ranges_reduce(r, r->n, r->n / 2);
}

static unsigned gap_bin(const struct range *p)
{
	return roi_bin(range_ns(p[-1].end, p->begin));
}

/* Gaps are sorted into bins; all of the smaller bins are closed, and of the last one as many as it
 * takes, the oldest first: equal gaps must not all go at once. */
void ranges_reduce(struct ranges *r, size_t n, size_t want)
{
	size_t of_bin[ROI_BINS] = { 0 }, kept = 0;
	want = want ? want : 1;
	if (n <= want)
		return;
	for (size_t i = 1; i < n; i++)
		of_bin[gap_bin(&r->items[i])]++;
	size_t left = n - want;
	unsigned edge = 0;
	for (; of_bin[edge] < left; edge++)
		left -= of_bin[edge];
	for (size_t i = 1; i < n; i++) {
		struct range p = r->items[i];
		unsigned bin = gap_bin(&r->items[i]);
		bool closes = bin < edge || (bin == edge && left > 0);
		if (closes) {
			left -= bin == edge;
			r->closed_ns += range_ns(r->items[kept].end, p.begin);
			r->items[kept].end = p.end;
		} else {
			r->items[++kept] = p;
		}
	}
	kept++;
	memmove(&r->items[kept], &r->items[n], (r->n - n) * sizeof *r->items);
	r->n -= n - kept;
	if (edge > 0 && roi_bin_top(edge - 1) > r->least_ns)
		r->least_ns = roi_bin_top(edge - 1);
}
