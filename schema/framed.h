/* A block as a file of its own: a line that says what it is and its version, a sum over the rest (FNV-1a,
 * 8 bytes, least significant first: a guest carries no library for a better one), the block. */
#ifndef SCHEMA_FRAMED_H
#define SCHEMA_FRAMED_H

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "schema/field.h"

struct framed {
	const char *magic; /* "roimeter-picture 1\n": the version is its last but one */
	const char *what;  /* "picture of a device collector" */
	size_t max_bytes;
	const struct block *block;
};

void framed_put(struct buf *b, const struct framed *f, const void *at);

/* -EBADMSG: it is damaged, cut, no such file; -EPROTONOSUPPORT: another version. */
int framed_get(void *ret, struct arena *a, const struct framed *f, const char *file,
	       const void *bytes, size_t n, struct err *err);

/* The fields up to the one of this name, from the first bytes of a file, without a look at the sum. */
int framed_peek(void *ret, struct arena *a, const struct framed *f, const char *upto,
		const void *bytes, size_t n, struct err *err);

#endif
