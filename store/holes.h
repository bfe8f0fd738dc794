/* What is missing from a sender's numbers, and when. Pure. */
#ifndef STORE_HOLES_H
#define STORE_HOLES_H

#include "store/spans.h"

/* A gap as its sender told of it. */
struct told_gap {
	uint64_t first, last;
	bool carried;
	const char *what, *why; /* NULL: not told */
	int64_t from_ns, to_ns;
};

/* Those that are told, joined where they overlap, and those nobody says anything about, in order.
 * told: in order of first; it is used up. In the arena. -ENOMEM. */
int holes_find(struct arena *a, const struct spans *spans, struct told_gap *told, size_t n_told,
	       struct inbox_hole **ret, size_t *ret_n);

/* May something between these times be among it? ROI_UNKNOWN: no end on that side. */
bool holes_touch(int64_t from_ns, int64_t to_ns, int64_t since_ns, int64_t until_ns);

#endif
