/* Files as they are: plain, gzip, zstd; what is cut, damaged or of another kind is a sentence. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "import/source.h"
#include "lib/buf.h"
#include "lib/file.h"

static char folder[64], path[96];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/source-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof path, "%s/trace", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return file_remove_tree(folder, NULL);
}

static void put(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Much that packs well, and much that does not. */
static char *content(size_t n)
{
	char *bytes = malloc(n + 1);
	uint32_t x = 1;
	assert_non_null(bytes);
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = i / 100000 % 2 ? (char)(x >> 24) : (char)('a' + i % 7);
	}
	return bytes;
}

static struct buf gzip(const char *bytes, size_t n)
{
	struct buf out = { 0 };
	z_stream z = { 0 };
	static char piece[65536];
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)n;
	int rc;
	do {
		z.next_out = (Bytef *)piece;
		z.avail_out = sizeof piece;
		rc = deflate(&z, Z_FINISH);
		buf_put(&out, piece, sizeof piece - z.avail_out);
	} while (rc == Z_OK);
	assert_int_equal(rc, Z_STREAM_END);
	(void)deflateEnd(&z);
	return out;
}

static struct buf zstd(const char *bytes, size_t n)
{
	struct buf out = { 0 };
	size_t room = ZSTD_compressBound(n);
	char *to = malloc(room);
	assert_non_null(to);
	size_t k = ZSTD_compress(to, room, bytes, n, 3);
	assert_false(ZSTD_isError(k));
	buf_put(&out, to, k);
	free(to);
	return out;
}

/* All pieces. 0, or what went wrong. */
static int read_all(struct source *s, struct buf *ret, struct err *err)
{
	const char *piece;
	size_t n;
	int rc;
	do {
		rc = source_next(s, &piece, &n, err);
		if (!rc)
			buf_put(ret, piece, n);
	} while (!rc && n);
	return rc;
}

static void reads_twice(const char *want, size_t n)
{
	struct source *s;
	struct err err = { 0 };
	if (source_open(&s, path, &err))
		fail_msg("%s", err.text);
	size_t head_n;
	const char *head = source_head(s, &head_n);
	assert_int_equal(head_n, n < 4096 ? n : 4096);
	assert_memory_equal(head, want, head_n);
	assert_int_equal(head[head_n], 0);
	for (int i = 0; i < 2; i++) {
		struct buf got = { 0 };
		if (read_all(s, &got, &err))
			fail_msg("%s", err.text);
		assert_int_equal(got.len, n);
		assert_memory_equal(got.data, want, n);
		buf_done(&got);
		assert_int_equal(source_rewind(s, &err), 0);
	}
	const char *plain;
	struct buf got = { 0 };
	assert_int_equal(source_plain_file(s, &plain, &err), 0);
	assert_int_equal(file_read(&got, plain, &err), 0);
	assert_int_equal(got.len, n);
	assert_memory_equal(got.data, want, n);
	buf_done(&got);
	source_close(s);
}

/* The sentence names the file and has the word. */
static void refuses(int rc, const char *word)
{
	struct source *s = NULL;
	struct err err = { 0 };
	struct buf got = { 0 };
	int answer = source_open(&s, path, &err);
	if (!answer)
		answer = read_all(s, &got, &err);
	assert_int_equal(answer, rc);
	if (!strstr(err.text, path) || !strstr(err.text, word))
		fail_msg("no \"%s\" in: %s", word, err.text);
	buf_done(&got);
	source_close(s);
}

static void plain_gzip_and_zstd_give_the_same_bytes(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 4095, 4096, 4097, 262143, 262144, 262145, 3000000 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t n = sizes[i];
		char *bytes = content(n);
		put(bytes, n);
		reads_twice(bytes, n);
		struct buf b = gzip(bytes, n);
		put(b.data, b.len);
		reads_twice(bytes, n);
		buf_done(&b);
		b = zstd(bytes, n);
		put(b.data, b.len);
		reads_twice(bytes, n);
		buf_done(&b);
		free(bytes);
	}
}

/* As bgzip, pigz and appended files have them; zeroes fill the last block of tapes. */
static void several_members_are_one_file(void **state)
{
	(void)state;
	size_t n = 600000;
	char *bytes = content(n);
	struct buf a = gzip(bytes, 250000), none = gzip("", 0),
		   b = gzip(bytes + 250000, n - 250000);
	buf_put(&a, none.data, none.len);
	buf_put(&a, b.data, b.len);
	put(a.data, a.len);
	reads_twice(bytes, n);
	static const char zeroes[512] = { 0 };
	buf_put(&a, zeroes, sizeof zeroes);
	put(a.data, a.len);
	reads_twice(bytes, n);
	buf_puts(&a, "more");
	put(a.data, a.len);
	refuses(-EINVAL, "damaged");
	buf_done(&a);
	buf_done(&b);
	buf_done(&none);
	a = zstd(bytes, 250000);
	b = zstd(bytes + 250000, n - 250000);
	buf_put(&a, b.data, b.len);
	put(a.data, a.len);
	reads_twice(bytes, n);
	buf_done(&a);
	buf_done(&b);
	free(bytes);
}

static void cut_anywhere_is_said(void **state)
{
	(void)state;
	size_t n = 300000;
	char *bytes = content(n);
	struct buf packed[] = { gzip(bytes, n), zstd(bytes, n) };
	for (size_t i = 0; i < 2; i++) {
		/* The first bytes are needed to know what it is. */
		for (size_t k = 4; k < packed[i].len;
		     k += k < 64 || k + 64 > packed[i].len ? 1 : 4999) {
			put(packed[i].data, k);
			refuses(-EINVAL, "cut");
		}
		buf_done(&packed[i]);
	}
	free(bytes);
}

static void damage_is_said(void **state)
{
	(void)state;
	size_t n = 300000;
	char *bytes = content(n);
	struct buf b = gzip(bytes, n);
	b.data[b.len - 6] ^= 1; /* in the sum at the end */
	put(b.data, b.len);
	refuses(-EINVAL, "damaged");
	b.data[b.len - 6] ^= 1;
	memset(b.data + 5000, 0xff, 200);
	put(b.data, b.len);
	refuses(-EINVAL, "gzip");
	buf_done(&b);
	b = zstd(bytes, n);
	b.data[5] ^= 0x40;
	put(b.data, b.len);
	struct source *s = NULL;
	struct err err = { 0 };
	struct buf got = { 0 };
	int rc = source_open(&s, path, &err);
	if (!rc)
		rc = read_all(s, &got, &err);
	assert_true(rc == -EINVAL);
	buf_done(&got);
	source_close(s);
	buf_done(&b);
	free(bytes);
}

static void what_cannot_be_read_is_said(void **state)
{
	(void)state;
	put("", 0);
	refuses(-EINVAL, "empty");
	struct buf b = gzip("", 0);
	put(b.data, b.len);
	refuses(-EINVAL, "nothing is packed");
	buf_done(&b);
	put("\xfd"
	    "7zXZ\0\0\4",
	    8);
	refuses(-EINVAL, "xz");
	put("PK\3\4....", 8);
	refuses(-EINVAL, "zip");
	assert_int_equal(unlink(path), 0);
	refuses(-ENOENT, "No such file");
	assert_int_equal(mkdir(path, 0700), 0);
	refuses(-EINVAL, "folder");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	refuses(-EINVAL, "plain file");
	assert_int_equal(unlink(path), 0);
}

static void no_room_to_unpack_is_said(void **state)
{
	(void)state;
	struct source *s;
	struct err err = { 0 };
	const char *plain, *before = getenv("TMPDIR");
	char *keep = before ? strdup(before) : NULL;
	struct buf b = gzip("text", 4);
	put(b.data, b.len);
	buf_done(&b);
	assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
	assert_int_equal(source_open(&s, path, &err), 0);
	assert_true(source_plain_file(s, &plain, &err) < 0);
	assert_non_null(strstr(err.text, "TMPDIR"));
	source_close(s);
	if (keep)
		(void)setenv("TMPDIR", keep, 1);
	else
		(void)unsetenv("TMPDIR");
	free(keep);
}

static void the_hash_is_of_the_file_as_it_is(void **state)
{
	(void)state;
	struct source *s;
	struct err err = { 0 };
	const char *piece;
	size_t n;
	put("abc", 3);
	assert_int_equal(source_open(&s, path, &err), 0);
	assert_string_equal(source_hash(s, &err),
			    "06b05ab6733a618578af5f94892f3950"); /* xxh128sum */
	assert_string_equal(source_hash(s, &err), "06b05ab6733a618578af5f94892f3950");
	assert_int_equal(source_next(s, &piece, &n, &err), 0);
	assert_int_equal(n, 3);
	source_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_gzip_and_zstd_give_the_same_bytes),
		cmocka_unit_test(several_members_are_one_file),
		cmocka_unit_test(cut_anywhere_is_said),
		cmocka_unit_test(damage_is_said),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(no_room_to_unpack_is_said),
		cmocka_unit_test(the_hash_is_of_the_file_as_it_is),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
