/* Any bytes as batches. The sum is put right first, or a fuzzer would never come past it. What
 * is read can be written, and reads back the same number of frames. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "schema/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void seal(unsigned char *p, size_t n)
{
	size_t bytes =
		BATCH_HEAD_BYTES + (size_t)(p[10] | p[11] << 8) +
		((size_t)p[12] | (size_t)p[13] << 8 | (size_t)p[14] << 16 | (size_t)p[15] << 24);
	if (bytes > n)
		return;
	uint64_t sum = XXH3_64bits_withSeed(p + BATCH_HEAD_BYTES, bytes - BATCH_HEAD_BYTES,
					    XXH3_64bits(p, 24));
	for (int i = 0; i < 8; i++)
		p[24 + i] = (unsigned char)(sum >> 8 * i);
}

static void walk_lists(struct str texts, struct str pairs)
{
	struct str text;
	double value;
	while (batch_text_next(&texts, &text))
		;
	while (batch_pair_next(&pairs, &text, &value))
		;
	if (texts.n || pairs.n)
		abort();
}

static void again(struct batch_in *in)
{
	struct batch_out out = { .frames = 0 };
	struct batch_in second = { .max_plain = 4 << 20 };
	struct buf b = { 0 };
	struct frame f;
	size_t n = 0;
	batch_rewind(in);
	for (; batch_next(in, &f, NULL) == 1; n++) {
		if (batch_put(&out, &f))
			abort();
		if (f.type == FRAME_EXECUTION_END)
			walk_lists(f.as.execution_end.notes, f.as.execution_end.timer_parts);
	}
	if (batch_end(&out, &in->head.sender, &b, NULL) ||
	    batch_open(&second, b.data, b.len, NULL) || second.head.frames != n)
		abort();
	while (batch_next(&second, &f, NULL) == 1)
		n--;
	if (n)
		abort();
	buf_done(&b);
	batch_out_done(&out);
	batch_in_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct batch_in in = { .max_plain = 1 << 20 };
	struct frame f;
	struct err err = { .text = "" };
	unsigned char *copy = malloc(n + 1);
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	for (size_t at = 0; n - at > BATCH_HEAD_BYTES; at += in.head.bytes) {
		seal(copy + at, n - at);
		int rc = batch_open(&in, copy + at, n - at, &err);
		if (rc && !err.text[0])
			abort();
		if (rc)
			break;
		do
			rc = batch_next(&in, &f, &err);
		while (rc == 1);
		if (!rc)
			again(&in);
	}
	batch_in_done(&in);
	free(copy);
	return 0;
}
