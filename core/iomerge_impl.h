/* Inside of core/iomerge.h: iomerge.c (sums, interfaces, calls of MPI, what is to be said), iomerge_files.c,
 * iomerge_series.c. */
#ifndef CORE_IOMERGE_IMPL_H
#define CORE_IOMERGE_IMPL_H

#include "core/iomerge.h"
#include "schema/roilog.h"

struct iomerge {
	struct record *rec;
	const struct iopicture *const *pictures;
	size_t n;
	int64_t begun_real_ns;
};

/* Every number of a block and below it is added where it is known; histograms bin by bin. 0, -ENOMEM. */
int iomerge_add(struct arena *a, const struct block *block, void *to, const void *from);
void iomerge_round(const struct block *block, void *at); /* to 15 digits */

int iomerge_files(struct iomerge *m);
int iomerge_series(struct iomerge *m);

/* When a clock of a picture is at 0, after the start of the command; false: not known. */
bool iomerge_zero(const struct iomerge *m, const struct iopicture *p, int64_t *ret_ns);

#endif
