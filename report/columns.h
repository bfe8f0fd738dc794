/* The platforms that a grid has cells of, and what is known about each. */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/part.h"

/* A column, and the newest run that tells about its platform. */
struct column {
	char *id;
	int64_t run;
	unsigned char content[16]; /* of its record */
	bool has_facts;
	struct buf facts; /* JSON, of the record with this content: */
	unsigned char facts_of[16];
	struct buf tested; /* JSON of the newest conformance result of each collector; empty: none */
};

/* All-zero is a valid empty one. */
struct columns {
	struct column *items; /* by id, bytes */
	size_t n;
	bool are_known; /* as the parts are now */
};

void columns_done(struct columns *c);

/* Those of these parts. *ret_new: they are not those of before, so that every part must be rendered
 * anew. -ENOMEM; then they are as before. */
int columns_find(struct columns *c, struct part *const *parts, size_t n, bool *ret_new);

/* One part takes another's place. True: the columns are right after it, without a look at all the
 * other parts. */
bool columns_replace(struct columns *c, const struct part *old, const struct part *p);

/* From the newest run of each, where it is not the one of before; and what conformance tests found. */
int columns_read_facts(struct columns *c, struct store *s, struct err *err);

/* [{"id":..,"info":..,"conformance":..}, ...] without the brackets; the last where there are any. */
void columns_put(const struct columns *c, struct buf *b);

#endif
