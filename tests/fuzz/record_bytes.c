/* Bytes as a record. The first two bytes of the input say how many of the rest are the body; what
 * is left is the operations. What is read can be written, and reads back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schema/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void put(struct buf *body, struct buf *ops, const struct record *rec)
{
	record_put(body, rec);
	record_put_ops(ops, rec);
	if (body->failed || ops->failed)
		abort();
}

static void same(const struct buf *a, const struct buf *b)
{
	if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct record rec, again;
	struct err err = { 0 };
	if (n < 2)
		return 0;
	size_t body_n = (size_t)(data[0] | data[1] << 8);
	data += 2;
	n -= 2;
	body_n = body_n < n ? body_n : n;
	int rc = record_get(&rec, data, body_n, data + body_n, n - body_n, &err);
	if (rc && !err.text[0])
		abort();
	if (!rc) {
		struct buf body = { 0 }, ops = { 0 }, body2 = { 0 }, ops2 = { 0 };
		put(&body, &ops, &rec);
		if (record_get(&again, body.data, body.len, ops.data, ops.len, NULL))
			abort();
		put(&body2, &ops2, &again);
		same(&body, &body2);
		same(&ops, &ops2);
		(void)record_check(&rec, NULL);
		record_done(&again);
		buf_done(&body);
		buf_done(&ops);
		buf_done(&body2);
		buf_done(&ops2);
	}
	record_done(&rec);
	return 0;
}
