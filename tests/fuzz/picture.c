/* Any bytes as what collectors left of processes. The first byte of the input is a number of
 * pictures less one, and whether they get the head and the sum that a whole file has; each but the
 * last says its length first, in two bytes. What is read comes back the same from its own bytes,
 * and all together make sums and a record that can be written. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture.h"
#include "schema/codec.h"

#define PICTURES 4
#define HEAD "roimeter-picture 1\n"
#define HEAD_BYTES (sizeof HEAD - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* As schema/picture.c has it, written again: FNV-1a, the lowest byte first. */
static uint8_t *whole_file(const uint8_t *body, size_t n, size_t *ret_n)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	uint8_t *file = malloc(HEAD_BYTES + 8 + n);
	if (!file)
		abort();
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ body[i]) * UINT64_C(0x100000001b3);
	memcpy(file, HEAD, HEAD_BYTES);
	for (size_t i = 0; i < 8; i++)
		file[HEAD_BYTES + i] = (uint8_t)(sum >> 8 * i);
	if (n)
		memcpy(file + HEAD_BYTES + 8, body, n);
	*ret_n = HEAD_BYTES + 8 + n;
	return file;
}

static bool get(struct picture *ret, struct arena *a, const void *bytes, size_t n)
{
	struct err err = { 0 };
	int rc = picture_get(ret, a, "FILE", bytes, n, &err);
	if (rc > 0 || (rc < 0 && !err.text[0]))
		abort(); /* a failure without a sentence */
	return rc == 0;
}

static void comes_back(const struct picture *p)
{
	struct buf first = { 0 }, second = { 0 };
	struct arena a = { 0 };
	struct picture again;
	picture_put(&first, p);
	if (first.failed || !get(&again, &a, first.data, first.len))
		abort();
	picture_put(&second, &again);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	buf_done(&first);
	buf_done(&second);
	arena_free(&a);
}

static bool sums_hold(const struct clip_sums *s)
{
	for (int c = 0; c < CATEGORIES; c++)
		if (s->time_ns[c] < 0 || s->ops[c] < 0 || s->bytes[c] < 0 || s->union_ns[c] < 0 ||
		    isinf(s->time_ns[c]) || isinf(s->ops[c]) || isinf(s->bytes[c]))
			return false;
	return !(s->untimed < 0) && !(s->device_busy_ns < 0);
}

/* What holds whatever the pictures say. */
static void together(const struct picture *const *pictures, size_t n)
{
	struct arena a = { 0 };
	struct clip clip;
	struct record rec;
	struct err err = { 0 };
	struct buf text = { 0 };
	int rc = picture_merge(pictures, n, &a, &clip, &err);
	if (rc > 0 || (rc < 0 && !err.text[0]))
		abort();
	if (!rc && (!sums_hold(&clip.roi) || !sums_hold(&clip.whole) || clip.processes > n ||
		    clip.nodes > n || clip.job_busy_ns > clip.roi.busy_ns))
		abort();
	for (size_t i = 0; !rc && i < clip.n_devices; i++)
		if ((double)clip.devices[i].busy_ns > clip.devices[i].process_busy_ns)
			abort();
	record_init(&rec);
	rec.body.roi.wall_s = 1;
	rc = picture_put_record(&rec, pictures, n, &err);
	if (rc > 0 || (rc < 0 && !err.text[0]))
		abort();
	json_t *json = rc ? NULL : record_to_json(&rec);
	if (!rc && (!json || json_text(&text, json)))
		abort();
	json_decref(json);
	buf_done(&text);
	record_done(&rec);
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct picture pictures[PICTURES];
	const struct picture *good[PICTURES];
	struct arena a = { 0 };
	size_t n_good = 0, at = 1;
	for (unsigned i = 0; n && i <= data[0] % PICTURES; i++) {
		size_t part = n - at;
		if (i < data[0] % PICTURES) {
			if (part < 2)
				break;
			part = (size_t)(data[at] | data[at + 1] << 8);
			at += 2;
			part = part < n - at ? part : n - at;
		}
		size_t bytes = part;
		/* Exactly as long, so that a look behind it is seen. */
		uint8_t *file =
			data[0] & 128 ? malloc(part + !part) : whole_file(data + at, part, &bytes);
		if (!file)
			abort();
		if (data[0] & 128)
			memcpy(file, data + at, part);
		at += part;
		if (get(&pictures[n_good], &a, file, bytes)) {
			comes_back(&pictures[n_good]);
			good[n_good] = &pictures[n_good];
			n_good++;
		}
		free(file);
	}
	together(good, n_good);
	arena_free(&a);
	return 0;
}
