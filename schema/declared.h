/* The inputs that a suite declares, in its order, as an export carries them: what was never
 * measured has no record, and stands in reports all the same. */
#ifndef SCHEMA_DECLARED_H
#define SCHEMA_DECLARED_H

#include <jansson.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "schema/record.h"

#define DECLARED_SCHEMA "roimeter-declared/1"

#define DECLARED_INPUT_FIELDS(F, B, L)                                                             \
	F(txt, app, "", "application")                                                             \
	F(txt, case_, "", "input of it")                                                           \
	F(txt, title, "", "for people")

#define DECLARED_FIELDS(F, B, L)                                                                   \
	F(txt, schema, "", "roimeter-declared/1")                                                  \
	F(txt, suite, "", "that declares them")                                                    \
	L(declared_input, inputs, "each once, in the order of the suite")

#define DECLARED_BLOCKS(X)                                                                         \
	X(declared_input, DECLARED_INPUT_FIELDS)                                                   \
	X(declared, DECLARED_FIELDS)

DECLARED_BLOCKS(DEFINE_STRUCT)

#define DECLARE_DECLARED_BLOCK(kind, FIELDS) extern const struct block kind##_block;
DECLARED_BLOCKS(DECLARE_DECLARED_BLOCK)

json_t *declared_to_json(const struct declared *in); /* NULL: out of memory */

/* Strict, as record_from_json; names are good, all in the arena. -EINVAL. */
int declared_from_json(struct declared *ret, struct arena *a, const json_t *json, struct err *err);

#endif
