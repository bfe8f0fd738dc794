/* Records as bytes, as JSON, as a CSV row. All walk the tables of schema/record.h. */
#ifndef SCHEMA_CODEC_H
#define SCHEMA_CODEC_H

#include <jansson.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "schema/record.h"

/* JSON. Keys in the order of the tables, numbers with 15 significant digits, whole numbers
 * without a point. json_t is the caller's. */
json_t *record_to_json(const struct record *rec); /* NULL: out of memory */

/* Strict: an unknown key, a wrong type, NaN or another schema is refused with its place
 * ("roi.runs_s[2]: expected a number"). Fields that are absent are null. rec is initialised by
 * this call, also when it fails. -EINVAL. */
int record_from_json(struct record *rec, const json_t *json, struct err *err);

/* The same for one block by itself; at must be clear. schema is what the sentence about an unknown
 * key names. */
json_t *block_to_json(const struct block *block, const void *at);
int block_from_json(const struct block *block, void *at, struct arena *arena, const json_t *json,
		    const char *schema, struct err *err);

/* Text of the JSON of any value, the same bytes for the same value; appended to b. */
int json_text(struct buf *b, const json_t *json);

/* Read JSON that somebody else wrote. Refused: doubled keys, text after the value, more than
 * 256 MiB, nesting deeper than 64. The sentence begins with "name:line:column". -EINVAL. */
int json_parse(json_t **ret, const void *bytes, size_t n, const char *name, struct err *err);

/* The JSON Schema (2020-12) of the record, made from the tables. */
json_t *record_json_schema(void);

/* Bytes: the body without ops, and ops by themselves as varints (nanoseconds), since the store
 * keeps them in two columns. Each block carries its number of fields: a reader of a longer,
 * newer block skips the rest, of a shorter, older one finds the rest null. */
void record_put(struct buf *b, const struct record *rec);
void record_put_ops(struct buf *b, const struct record *rec);

/* rec is initialised by this call, also when it fails. ops may be NULL: then ops stay null.
 * -EBADMSG when the bytes are damaged; never reads past n. */
int record_get(struct record *rec, const void *body, size_t n, const void *ops, size_t ops_n,
	       struct err *err);

/* One block by itself, as it stands in the body: execution_block, rank_block, ... What is read is
 * clear first, and lives in the arena. -EBADMSG, -ENOMEM. */
void block_put(struct buf *b, const struct block *block, const void *at);
int block_get(struct arena *arena, const struct block *block, void *at, const void *bytes, size_t n,
	      struct err *err);

/* Of a block as above, of which only the first bytes are at hand: the first of its fields, so many.
 * -EBADMSG: they are not in it whole; -ENOMEM. */
int block_peek(struct arena *arena, const struct block *block, size_t fields, void *at,
	       const void *bytes, size_t n, struct err *err);

/* A block, and the blocks in it, as they come back from their bytes: numbers with 15 digits, texts
 * that are UTF-8 (others would be refused by whoever reads them), copied into the arena where they
 * were not. Lists are left alone. 0 or -ENOMEM. */
int block_clean(struct arena *arena, const struct block *block, void *at);

/* The fixed CSV columns: one line of names, one line for a record. RFC 4180 quoting, null is
 * an empty cell, new columns only at the end. */
void record_csv_head(struct buf *b);
void record_csv_row(struct buf *b, const struct record *rec);

/* The words of fields that know only a few; each list ends with NULL. */
extern const char *const record_statuses[], *const record_kinds[], *const record_null_whys[];

/* Is this a record that may be stored? Identity complete, status known, name characters, and so
 * on: what the tables cannot say. -EINVAL and a sentence. */
int record_check(const struct record *rec, struct err *err);

/* Is this a name that a suite, an application, a case, a platform can have in a record? field is
 * what the sentence names. -EINVAL. */
int record_check_name(const char *field, const char *name, struct err *err);

#endif
