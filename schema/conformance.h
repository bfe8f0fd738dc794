/* The result of `roimeter conformance`: is a collector on a platform to be believed? One for each
 * (platform, collector, time); the newest counts. The same rules as in schema/record.h. */
#ifndef SCHEMA_CONFORMANCE_H
#define SCHEMA_CONFORMANCE_H

#include <jansson.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "schema/record.h"

#define CONFORMANCE_SCHEMA "roimeter-conformance/1"

#define CHECK_FIELDS(F, B, L)                                                                  \
	F(txt, name, "", "stable: compute_ops, excluded, sentinel, ...")                       \
	F(txt, part, "", "split, or a harder one: processes, queues, graph, killed, cut, ...")  \
	F(txt, verdict, "", "pass, fail, skipped")                                             \
	F(num, value, "", "what came back, in unit")                                           \
	F(num, expected, "", "what it must be")                                                \
	F(num, tolerance, "", "how far it may be from that; 0 for what is exact")              \
	F(txt, unit, "", "1, s, B")                                                            \
	F(txt, detail, "", "a sentence: what was looked at; why it failed or was skipped")

#define CONFORMANCE_FIELDS(F, B, L)                                                            \
	F(txt, schema, "", "roimeter-conformance/1")                                           \
	F(txt, platform, "", "vendor-product.runtime")                                         \
	F(txt, collector, "", "cupti, opencl, none")                                           \
	F(txt, utc, "", "when it was made")                                                    \
	F(txt, verdict, "", "pass, fail, pass-clean-only")                                     \
	F(txt, why, "", "a sentence, where it is not pass")                                    \
	F(txt, tool, "", "program and version")                                                \
	F(txt, runtime, "", "as the collector tells it: cuda13.0, opencl3.0")                  \
	F(txt, probe, "", "program that was measured")                                         \
	F(txt, probe_hash, "", "XXH3-128 of it")                                               \
	F(num, passed, "1", "checks")                                                          \
	F(num, failed, "1", "checks")                                                          \
	F(num, skipped, "1", "checks")                                                         \
	L(check, checks, "each, in the order in which they were made")                         \
	F(txts, runs, "", "ids of the runs that they were made of")                            \
	B(platform_info, platform_info, "the machine")

#define CONFORMANCE_BLOCKS(X)  \
	X(check, CHECK_FIELDS) \
	X(conformance, CONFORMANCE_FIELDS)

CONFORMANCE_BLOCKS(DEFINE_STRUCT)

#define DECLARE_CONFORMANCE_BLOCK(kind, FIELDS) extern const struct block kind##_block;
CONFORMANCE_BLOCKS(DECLARE_CONFORMANCE_BLOCK)

extern const char *const conformance_verdicts[], *const check_verdicts[]; /* each ends with NULL */

/* Everything null, schema set. */
void conformance_clear(struct conformance *c);

/* May it be stored? Identity complete, words known, counts those of the list. -EINVAL. */
int conformance_check(const struct conformance *c, struct err *err);

/* As bytes, and back. What is read lives in the arena, and may be stored. -EBADMSG: damaged, or
 * more than CONFORMANCE_MAX_BYTES; -EINVAL as conformance_check; -ENOMEM. */
#define CONFORMANCE_MAX_BYTES (256u << 10)
void conformance_put(struct buf *b, const struct conformance *c);
int conformance_get(struct conformance *ret, struct arena *a, const void *bytes, size_t n,
		    struct err *err);

json_t *conformance_to_json(const struct conformance *c); /* NULL: out of memory */

/* Strict, as record_from_json; all in the arena. -EINVAL. */
int conformance_from_json(struct conformance *ret, struct arena *a, const json_t *json,
			  struct err *err);

#endif
