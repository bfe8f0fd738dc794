/* JSON that somebody else wrote, as a record: refused with a sentence, or read; what passes the
 * check comes back from text and bytes as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schema/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void text_of(struct buf *b, const struct record *rec)
{
	json_t *json = record_to_json(rec);
	if (!json || json_text(b, json))
		abort();
	json_decref(json);
}

static void must_survive(const struct record *rec)
{
	struct buf before = { 0 }, after = { 0 }, body = { 0 }, ops = { 0 }, row = { 0 };
	struct record again;
	text_of(&before, rec);
	record_put(&body, rec);
	record_put_ops(&ops, rec);
	record_csv_row(&row, rec);
	if (record_get(&again, body.data, body.len, ops.data, ops.len, NULL))
		abort();
	text_of(&after, &again);
	if (before.len != after.len || memcmp(before.data, after.data, after.len) != 0)
		abort();
	record_done(&again);
	buf_done(&before);
	buf_done(&after);
	buf_done(&body);
	buf_done(&ops);
	buf_done(&row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	json_t *json = NULL;
	struct record rec;
	struct err err = { 0 };
	if (json_parse(&json, data, n, "input", &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	int rc = record_from_json(&rec, json, &err);
	if (rc && !err.text[0])
		abort();
	if (!rc && !record_check(&rec, NULL))
		must_survive(&rec);
	record_done(&rec);
	json_decref(json);
	return 0;
}
