/* How a file lies on the servers of its file system: what io.files.layout says. Pure. */
#ifndef CORE_LAYOUT_H
#define CORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "schema/record.h"

#define LAYOUT_TARGETS 16 /* that are told */
#define LAYOUT_POOL_BYTES 17

/* Start from LAYOUT_UNKNOWN. */
struct layout {
	int64_t components;        /* that are used: a file may lie in parts, each in its own way */
	int64_t size_bytes, count; /* stripes of the first of them that is on data servers; -1 not known */
	int64_t mirrors;           /* copies; -1 not known */
	int64_t mdt_bytes;         /* the first so many are on the metadata server; -1: none */
	char pool[LAYOUT_POOL_BYTES];
	int64_t targets[LAYOUT_TARGETS]; /* numbers of data servers' targets, of all parts */
	size_t n_targets;                /* maybe more than there is room for */
};

#define LAYOUT_UNKNOWN                                                                             \
	(struct layout)                                                                            \
	{                                                                                          \
		.size_bytes = -1, .count = -1, .mirrors = -1, .mdt_bytes = -1                      \
	}

/* "stripe_size=1048576", "stripe_count=4", "pool=flash", "components=3", "mirrors=2", "mdt=65536",
 * "osts=3,4". -ENOMEM. */
int layout_put(struct record *rec, struct txts *to, const struct layout *l);

/* Of Lustre's attribute "lustre.lov" as a client gives it: layouts v1, v3 and composite ones, in
 * either byte order. -EINVAL: none of these, or one that is cut or lies about its parts. Written from the
 * kernel's user interface; never seen on a Lustre file system. */
int layout_of_lustre(struct layout *ret, const void *bytes, size_t n);

#endif
