/* Any bytes as what the collector io left of a process. The first byte says whether they get the
 * head and the sum that a whole file has. What is read comes back the same from its own bytes, and
 * twice beside itself makes a record that can be written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/iomerge.h"
#include "schema/codec.h"
#include "schema/roilog.h"

#define HEAD "roimeter-io-picture 1\n"
#define HEAD_BYTES (sizeof HEAD - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool get(struct iopicture *ret, struct arena *a, const void *bytes, size_t n)
{
	struct err err = { 0 };
	int rc = iopicture_get(ret, a, "FILE", bytes, n, &err);
	if (rc > 0 || (rc < 0 && !err.text[0]))
		abort(); /* a failure without a sentence */
	return rc == 0;
}

static void comes_back(const struct iopicture *p)
{
	struct buf first = { 0 }, second = { 0 };
	struct arena a = { 0 };
	struct iopicture again;
	iopicture_put(&first, p);
	if (first.failed || !get(&again, &a, first.data, first.len))
		abort();
	iopicture_put(&second, &again);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	buf_done(&first);
	buf_done(&second);
	arena_free(&a);
}

static void makes_a_record(const struct iopicture *p)
{
	const struct iopicture *const both[] = { p, p };
	struct record rec;
	struct buf text = { 0 };
	record_init(&rec);
	if (iomerge_put_record(&rec, both, 2, 1000000000))
		abort();
	json_t *json = record_to_json(&rec);
	if (!json || json_text(&text, json))
		abort();
	json_decref(json);
	buf_done(&text);
	record_done(&rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = { 0 };
	struct iopicture p;
	if (!n)
		return 0;
	bool whole = data[0] & 1;
	data++;
	n--;
	size_t head = whole ? HEAD_BYTES + 8 : 0;
	uint8_t *file = malloc(head + n + 1);
	if (!file)
		abort();
	if (n)
		memcpy(file + head, data, n);
	if (whole) { /* as schema/framed.h has it, written again */
		uint64_t sum = UINT64_C(0xcbf29ce484222325);
		memcpy(file, HEAD, HEAD_BYTES);
		for (size_t i = 0; i < n; i++)
			sum = (sum ^ data[i]) * UINT64_C(0x100000001b3);
		for (size_t i = 0; i < 8; i++)
			file[HEAD_BYTES + i] = (uint8_t)(sum >> 8 * i);
	}
	if (get(&p, &a, file, head + n)) {
		comes_back(&p);
		makes_a_record(&p);
	}
	free(file);
	arena_free(&a);
	return 0;
}
