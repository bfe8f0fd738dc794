/* Values out of the JSON objects of other people's records: a wrong type is refused with the path
 * of the field, and what is absent is unknown. */
#ifndef IMPORT_OBJECT_H
#define IMPORT_OBJECT_H

#include <jansson.h>

#include "lib/err.h"
#include "schema/record.h"

/* One document: what went wrong first stays in rc and err. */
struct reader {
	const char *file;
	struct record *rec; /* its arena owns every text and list */
	struct err *err;
	int rc;
};

/* An object and where it is; json NULL where there is none: then all in it is unknown. */
struct object {
	struct reader *r;
	const json_t *json;
	char path[96];
};

void object_fault(struct object *o, const char *key, const char *what);
void object_nomem(struct object *o);

/* NULL where it is absent or null. */
const json_t *object_value(struct object *o, const char *key);
struct object object_in(struct object *o, const char *key);
struct object object_maybe(struct object *o, const char *key); /* another type: as if absent */
double object_number(struct object *o, const char *key);
double object_amount(struct object *o, const char *key); /* a time, a count, a share: not below 0 */
const char *object_text(struct object *o, const char *key);
/* The same for what only people read: what is no text is shown as JSON. */
const char *object_remark(struct object *o, const char *key);
signed char object_yes_no(struct object *o, const char *key);
struct nums object_numbers(struct object *o, const char *key);

/* Texts of an array, or the one text that stands in its place. */
struct txts object_texts(struct object *o, const char *key);

/* {"A": "1", "B": 2} as "A=1", "B=2"; a list of texts stays one. */
struct txts object_pairs(struct object *o, const char *key);

#endif
