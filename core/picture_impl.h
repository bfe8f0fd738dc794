/* Between the files of pictures. */
#ifndef CORE_PICTURE_IMPL_H
#define CORE_PICTURE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/picture.h"

/* A picture that observes something. Members are in order of their nodes. */
struct member {
	const struct picture *p;
	size_t place; /* among all pictures */
	size_t node;
	int64_t base; /* ns, of its lists */
};

struct merge {
	struct member *members;
	size_t n, nodes;
	struct clip *ret;
};

/* Did it look at the device of its process? */
bool picture_observes(const struct picture *p);

/* picture_union.c: devices, windows, the job. -ENOMEM. */
int merge_unions(struct merge *m, struct arena *a);

#endif
