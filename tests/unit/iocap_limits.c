/* A capture that is not to be trusted, opened within a limit: what claims much is refused, what is
 * as large as the limit is read, and one byte more is not. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/iocap_impl.h"

#define FILES_MAX 64

struct folder {
	char path[64];
	char names[FILES_MAX][32];
	size_t n;
};

static int folder_make(void **state)
{
	struct folder *f = calloc(1, sizeof *f);
	assert_non_null(f);
	(void)snprintf(f->path, sizeof f->path, "/tmp/iocap-limits-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	*state = f;
	return 0;
}

static void full_path(const struct folder *f, size_t i, char *path, size_t room)
{
	(void)snprintf(path, room, "%s/%s", f->path, f->names[i]);
}

static int folder_end(void **state)
{
	struct folder *f = *state;
	char path[128];
	for (size_t i = 0; i < f->n; i++) {
		full_path(f, i, path, sizeof path);
		(void)unlink(path);
	}
	(void)rmdir(f->path);
	free(f);
	return 0;
}

/* The name is "N.iocap", of the N-th file. */
static void put_file(struct folder *f, struct iocap_bytes *file)
{
	char path[128];
	assert_true(f->n < FILES_MAX && !file->failed);
	(void)snprintf(f->names[f->n], sizeof f->names[0], "%zu" IOCAP_SUFFIX, f->n);
	full_path(f, f->n++, path, sizeof path);
	FILE *to = fopen(path, "w");
	assert_non_null(to);
	assert_int_equal(file->len ? fwrite(file->data, 1, file->len, to) : 0, file->len);
	assert_int_equal(fclose(to), 0);
	iocap_bytes_done(file);
}

static int opens(const struct folder *f, size_t max)
{
	struct iocap *c = NULL;
	struct err err = { "" };
	int rc = iocap_open_within(&c, f->path, max, &err);
	if (rc) {
		assert_null(c);
		assert_true(err.text[0]);
		return rc;
	}
	size_t used = c->arena.used_bytes - sizeof(max_align_t); /* it rounds the last one */
	assert_true(!max || (c->tables <= max && c->files <= max && used < max));
	iocap_close(c);
	return 0;
}

/* As large as that it is read, and not within one byte less. */
static void exactly(const struct folder *f, size_t max)
{
	assert_int_equal(opens(f, max), 0);
	assert_int_equal(opens(f, max - 1), -EFBIG);
	assert_int_equal(opens(f, 1), -EFBIG);
	assert_int_equal(opens(f, SIZE_MAX), 0);
	assert_int_equal(opens(f, 0), 0); /* no limit */
}

#define PROCESS_BYTES (sizeof(struct rprocess) + sizeof(struct rprocess *)) /* of a table */

/* ---- files --------------------------------------------------------------------------------------
 */

static void begin(struct iocap_bytes *file, const char *magic)
{
	struct iocap_bytes payload = { 0 };
	if (magic)
		iocap_bytes_put(file, magic, 8);
	for (int i = 0; i < 5; i++) /* pid, parent, rank, clock, timed */
		iocap_varint_put(&payload, 0);
	iocap_varint_put(&payload, 1); /* step */
	for (int i = 0; i < 3; i++)    /* host, program, source */
		iocap_varint_put(&payload, 0);
	iocap_block_put(file, IOCAP_B_PROCESS, 0, 0, &payload);
	iocap_bytes_done(&payload);
}

/* Of a kind that nobody knows, which is stepped over. */
static void pad(struct iocap_bytes *file, size_t n)
{
	struct iocap_bytes payload = { 0 };
	for (size_t i = 0; i < n; i++)
		iocap_bytes_put(&payload, &(uint8_t){ (uint8_t)i }, 1);
	iocap_block_put(file, 77, 0, 0, &payload);
	iocap_bytes_done(&payload);
}

static void put_column(struct iocap_bytes *payload, const uint64_t *x, size_t n, uint64_t times)
{
	struct iocap_column c = { 0 };
	struct iocap_bytes scratch = { 0 };
	for (uint64_t k = 0; k < times; k++)
		for (size_t i = 0; i < n; i++)
			iocap_column_put(&c, x[i]);
	iocap_column_write(&c, payload, &scratch);
	iocap_column_done(&c);
	iocap_bytes_done(&scratch);
}

/* A signature without arguments. */
static void put_signatures(struct iocap_bytes *file, uint32_t n)
{
	struct iocap_bytes payload = { 0 };
	for (uint32_t i = 0; i < n; i++) {
		iocap_varint_put(&payload, IO_sync);
		iocap_varint_put(&payload, 0);
		iocap_varint_put(&payload, 0);
	}
	iocap_block_put(file, IOCAP_B_SIGNATURES, 0, n, &payload);
	iocap_bytes_done(&payload);
}

static void segment_head(struct iocap_bytes *payload, uint64_t first, uint64_t symbols, bool list)
{
	iocap_varint_put(payload, first);
	iocap_varint_put(payload, symbols);
	iocap_varint_put(payload, 0);
	iocap_varint_put(payload, list);
}

/* A list of n times symbol 0: some ten bytes. */
static void put_list(struct iocap_bytes *file, uint64_t first, uint64_t n)
{
	struct iocap_bytes payload = { 0 };
	segment_head(&payload, first, n, true);
	put_column(&payload, &(uint64_t){ 0 }, 1, n);
	put_column(&payload, &(uint64_t){ 0 }, 1, n);
	iocap_block_put(file, IOCAP_B_SEGMENT, 0, 0, &payload);
	iocap_bytes_done(&payload);
}

/* 2^n handles by n rules, each the next one twice. */
static void put_handles(struct iocap_bytes *file, unsigned n)
{
	struct iocap_bytes info = { 0 }, payload = { 0 };
	uint64_t items[64];
	for (int i = 0; i < 6; i++)
		iocap_varint_put(&info, 0);
	iocap_block_put(file, IOCAP_B_INFOS, 0, 1, &info);
	segment_head(&payload, 0, (uint64_t)1 << n, false);
	put_column(&payload, &(uint64_t){ 1 }, 1, n);
	for (uint64_t i = 0; i < n; i++)
		items[i] = i + 1 < n ? (i + 1) * 2 + 1 : 2 << 1; /* at the end: the first info */
	put_column(&payload, items, n, 1);
	put_column(&payload, &(uint64_t){ 1 }, 1, n);
	iocap_block_put(file, IOCAP_B_SEGMENT, IOCAP_HANDLES, 0, &payload);
	iocap_bytes_done(&info);
	iocap_bytes_done(&payload);
}

/* ---- what may be as large as the limit ----------------------------------------------------------
 */

static void files_together(void **state)
{
	struct folder *f = *state;
	size_t all = 0;
	for (int i = 0; i < 3; i++) {
		struct iocap_bytes file = { 0 };
		begin(&file, IOCAP_MAGIC);
		pad(&file, 40000 + (size_t)i);
		all += file.len;
		put_file(f, &file);
	}
	exactly(f, all);
}

static void tables_of_signatures_and_infos(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes file = { 0 }, infos = { 0 };
	begin(&file, IOCAP_MAGIC);
	put_signatures(&file, 1000);
	for (int i = 0; i < 6 * 500; i++)
		iocap_varint_put(&infos, 0);
	iocap_block_put(&file, IOCAP_B_INFOS, 0, 500, &infos);
	iocap_bytes_done(&infos);
	put_file(f, &file);
	exactly(f, PROCESS_BYTES + 1000 * sizeof(struct iocap_signature) +
			   500 * sizeof(struct iocap_handle));
}

/* A block's head says how many there are, without any: that takes no room. */
static void a_count_without_items_claims_nothing(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes file = { 0 }, none = { 0 };
	begin(&file, IOCAP_MAGIC);
	iocap_block_put(&file, IOCAP_B_SIGNATURES, 0, UINT32_MAX, &none);
	put_file(f, &file);
	assert_int_equal(opens(f, 1 << 20), -EINVAL);
}

static void places_of_columns_and_segments(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes file = { 0 }, none = { 0 };
	begin(&file, IOCAP_MAGIC);
	put_signatures(&file, 1);
	for (int i = 0; i < 300; i++)
		iocap_block_put(&file, i % 2 ? IOCAP_B_VALUES : IOCAP_B_TIMES, (unsigned)i % 5, 0,
				&none);
	for (uint64_t i = 0; i < 100; i++)
		put_list(&file, i * 2, 2);
	put_file(f, &file);
	exactly(f, PROCESS_BYTES + sizeof(struct iocap_signature) + 300 * sizeof(struct place) +
			   100 * sizeof(struct segment));
}

/* Each begins as the one before does: a byte of the file is a thousand of text. */
static void texts_that_grow(void **state)
{
	struct folder *f = *state;
	enum { TEXTS = 400, BYTES = 1000 };
	struct iocap_bytes file = { 0 }, payload = { 0 };
	begin(&file, IOCAP_MAGIC);
	uint64_t prefix[TEXTS], suffix[TEXTS] = { BYTES };
	for (int i = 0; i < TEXTS; i++)
		prefix[i] = i ? BYTES : 0;
	put_column(&payload, &(uint64_t){ 0 }, 1, TEXTS);
	put_column(&payload, prefix, TEXTS, 1);
	put_column(&payload, suffix, TEXTS, 1);
	put_column(&payload, &(uint64_t){ 'x' }, 1, BYTES);
	iocap_block_put(&file, IOCAP_B_TEXTS, 0, 0, &payload);
	iocap_bytes_done(&payload);
	assert_true(file.len < 2000);
	put_file(f, &file);
	size_t low = (size_t)TEXTS * BYTES, high = low + low / 20; /* too small; large enough */
	assert_int_equal(opens(f, low), -EFBIG);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		*(opens(f, middle) ? &low : &high) = middle;
	}
	exactly(f, high);
}

/* Rules that stand for very many handles cost nothing until somebody asks for one. */
static void handles_when_they_are_asked_for(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes file = { 0 };
	begin(&file, IOCAP_MAGIC);
	put_handles(&file, 20);
	assert_true(file.len < 400);
	put_file(f, &file);
	size_t max = PROCESS_BYTES + sizeof(struct iocap_handle) + sizeof(struct segment) +
		     ((size_t)8 << 20);
	for (int less = 0; less < 2; less++) {
		struct iocap *c;
		assert_int_equal(iocap_open_within(&c, f->path, max - (size_t)less, NULL), 0);
		assert_int_equal(iocap_sums(c, 0)->handles, 1 << 20);
		assert_true((iocap_handle(c, 0, 1 << 20) != NULL) == !less);
		assert_null(iocap_handle(c, 0, (1 << 20) + 1));
		assert_true((iocap_handle(c, 0, 1) != NULL) == !less); /* nor the second time */
		assert_true(c->tables <= max);
		iocap_close(c);
	}
}

/* Half a million numbers in twenty bytes, again and again: no memory, but time. */
static void the_same_too_often(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes file = { 0 };
	begin(&file, IOCAP_MAGIC);
	put_signatures(&file, 1);
	for (uint64_t i = 0; i < 4; i++)
		put_list(&file, i * COLUMN_MAX, COLUMN_MAX);
	assert_true(file.len < 400);
	put_file(f, &file);
	exactly(f, 4 * (COLUMN_MAX + 1) / 2);
}

static void a_column_has_its_own_limit(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes file = { 0 };
	begin(&file, IOCAP_MAGIC);
	put_signatures(&file, 1);
	put_list(&file, 0, COLUMN_MAX + 1);
	put_file(f, &file);
	assert_int_equal(opens(f, SIZE_MAX), -EINVAL);
	assert_int_equal(opens(f, 0), -EINVAL);
}

/* ---- folders ------------------------------------------------------------------------------------
 */

/* An empty file is a process that was killed before it wrote who it is. */
static void processes_of_nothing(void **state)
{
	struct folder *f = *state;
	for (int i = 0; i < 40; i++) {
		struct iocap_bytes file = { 0 };
		put_file(f, &file);
	}
	exactly(f, 40 * PROCESS_BYTES);
}

/* Stored as what differs from another; bytes: what it has of its own. */
static void alike_file(struct folder *f, const char *base, size_t bytes)
{
	struct iocap_bytes file = { 0 }, payload = { 0 };
	iocap_bytes_put(&file, IOCAP_ALIKE_MAGIC, 8);
	iocap_bytes_put(&payload, base, strlen(base));
	iocap_block_put(&file, 9, 0, 0, &payload); /* whose base */
	begin(&file, NULL);
	pad(&file, bytes);
	put_file(f, &file);
	iocap_bytes_done(&payload);
}

/* However many have it, a base is in memory once, beside itself as a process. */
static void a_base_counts_once(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes base = { 0 };
	begin(&base, IOCAP_MAGIC);
	pad(&base, 100000);
	size_t n_base = base.len, all = 2 * n_base;
	put_file(f, &base);
	for (int i = 0; i < 30; i++) { /* with more bytes than their tables have */
		alike_file(f, "0" IOCAP_SUFFIX, 20000);
		all += 8 + IOCAP_BLOCK_HEAD + strlen("0" IOCAP_SUFFIX) + (n_base - 8) - 80000;
	}
	exactly(f, all);
}

/* What is made of a base's block lies in memory: ten bytes may stand for all of it. */
static void alike_blocks_that_grow(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes base = { 0 }, file = { 0 }, payload = { 0 };
	begin(&base, IOCAP_MAGIC);
	pad(&base, 10000);
	put_file(f, &base);
	iocap_bytes_put(&file, IOCAP_ALIKE_MAGIC, 8);
	iocap_bytes_put(&payload, "0" IOCAP_SUFFIX, strlen("0" IOCAP_SUFFIX));
	iocap_block_put(&file, 9, 0, 0, &payload);
	begin(&file, NULL);
	payload.len = 0;
	iocap_varint_put(&payload, 77);
	iocap_varint_put(&payload, 1); /* the second block of the base, as it is */
	for (int i = 0; i < 100; i++)
		iocap_block_put(&file, 10, 0, 0, &payload);
	assert_true(file.len < 3000);
	put_file(f, &file);
	iocap_bytes_done(&payload);
	assert_int_equal(opens(f, 900000), -EFBIG);
	assert_int_equal(opens(f, 1020000), 0);
}

static void a_base_of_many_parts(void **state)
{
	struct folder *f = *state;
	struct iocap_bytes base = { 0 }, none = { 0 };
	begin(&base, IOCAP_MAGIC);
	for (int i = 0; i < 2000; i++)
		iocap_block_put(&base, 77, 0, 0, &none);
	put_file(f, &base);
	alike_file(f, "0" IOCAP_SUFFIX, 0);
	/* The first block is of the process. */
	assert_int_equal(opens(f, 2001 * sizeof(struct iocap_block_in)), 0);
	assert_int_equal(opens(f, 2000 * sizeof(struct iocap_block_in)), -EFBIG);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_make, folder_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_together),
		TEST(tables_of_signatures_and_infos),
		TEST(a_count_without_items_claims_nothing),
		TEST(places_of_columns_and_segments),
		TEST(texts_that_grow),
		TEST(handles_when_they_are_asked_for),
		TEST(the_same_too_often),
		TEST(a_column_has_its_own_limit),
		TEST(processes_of_nothing),
		TEST(a_base_counts_once),
		TEST(alike_blocks_that_grow),
		TEST(a_base_of_many_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
