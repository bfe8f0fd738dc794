/* How files lie on the servers of their file system: Lustre's attribute, byte by byte, as its user
 * interface has it. There is no Lustre here: a file with an attribute of our own stands for one. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/layout.h"
#include "lib/buf.h"
#include "run/layouts.h"
#include "schema/codec.h"

static bool big; /* the bytes are the other way round */

static void put(struct buf *b, uint64_t x, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		size_t at = big ? bytes - 1 - i : i;
		buf_put(b, &(unsigned char){ (unsigned char)(at < 8 ? x >> 8 * at : 0) }, 1);
	}
}

/* lov_user_md_v1, or v3 where there is a pool; a stripe for each target. */
static void put_plain(struct buf *b, uint32_t pattern, const char *pool, uint32_t size, uint16_t count,
		      const uint32_t *targets)
{
	char name[16] = "";
	put(b, pool ? 0x0BD30BD0 : 0x0BD10BD0, 4);
	put(b, pattern, 4);
	put(b, 0x1234, 8); /* object: id, sequence */
	put(b, 0x5678, 8);
	put(b, size, 4);
	put(b, count, 2);
	put(b, 3, 2); /* generation */
	(void)snprintf(name, sizeof name, "%s", pool ? pool : "");
	if (pool)
		buf_put(b, name, sizeof name);
	for (uint16_t i = 0; targets && i < count; i++) {
		put(b, 100 + i, 8);
		put(b, 0, 8);
		put(b, 0, 4); /* generation */
		put(b, targets[i], 4);
	}
}

static void same_texts(const struct layout *l, const char *wanted)
{
	struct record rec;
	struct txts list = { 0 };
	struct buf all = { 0 };
	record_init(&rec);
	assert_int_equal(layout_put(&rec, &list, l), 0);
	for (size_t i = 0; i < list.n; i++)
		buf_printf(&all, "%s%s", i ? " " : "", list.items[i]);
	assert_string_equal(all.data ? all.data : "", wanted);
	buf_done(&all);
	record_done(&rec);
}

static void told(const struct buf *b, const char *wanted)
{
	struct layout l;
	assert_int_equal(layout_of_lustre(&l, b->data, b->len), 0);
	same_texts(&l, wanted);
	/* Cut anywhere it is refused; nothing is read behind it. */
	for (size_t n = 0; n < b->len; n++) {
		char *cut = malloc(n + 1);
		assert_non_null(cut);
		memcpy(cut, b->data, n);
		assert_int_equal(layout_of_lustre(&l, cut, n), -EINVAL);
		free(cut);
	}
}

static void plain_layouts(void **state)
{
	(void)state;
	static const uint32_t targets[] = { 7, 2, 40 };
	for (int i = 0; i < 2; i++) {
		struct buf v1 = { 0 }, v3 = { 0 };
		big = i;
		put_plain(&v1, 1, NULL, 1 << 20, 3, targets);
		told(&v1, "stripe_size=1048576 stripe_count=3 osts=7,2,40");
		put_plain(&v3, 1, "flash", 4 << 20, 1, targets);
		told(&v3, "stripe_size=4194304 stripe_count=1 pool=flash osts=7");
		buf_done(&v1);
		buf_done(&v3);
	}
	big = false;
	struct buf many = { 0 }, gone = { 0 };
	uint32_t all[20];
	for (uint32_t i = 0; i < 20; i++)
		all[i] = i;
	put_plain(&many, 1, NULL, 65536, 20, all);
	told(&many, "stripe_size=65536 stripe_count=20 osts=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,...");
	/* Released into an archive: no objects, whatever the count. */
	put_plain(&gone, 0x80000001, NULL, 65536, 4, NULL);
	told(&gone, "stripe_size=65536 stripe_count=4");
	buf_done(&many);
	buf_done(&gone);
}

struct part {
	uint32_t flags, pattern, size;
	uint64_t end;
	uint16_t count;
	const uint32_t *targets;
};

/* lov_comp_md_v1: the table of parts, then they. */
static void put_composite(struct buf *b, const struct part *parts, uint16_t n, uint16_t mirrors)
{
	struct buf blobs = { 0 };
	uint32_t at = 32 + 48u * n;
	put(b, 0x0BD60BD0, 4);
	put(b, 0, 4); /* size: not looked at */
	put(b, 5, 4);
	put(b, 0, 2);
	put(b, n, 2);
	put(b, mirrors, 2);
	put(b, 0, 6);
	put(b, 0, 8);
	for (uint16_t i = 0; i < n; i++) {
		size_t before = blobs.len;
		put_plain(&blobs, parts[i].pattern, NULL, parts[i].size, parts[i].count,
			  parts[i].targets);
		put(b, i + 1u, 4);
		put(b, parts[i].flags, 4);
		put(b, 0, 8);
		put(b, parts[i].end, 8);
		put(b, at + before, 4);
		put(b, blobs.len - before, 4);
		put(b, 0, 16);
	}
	buf_put(b, blobs.data, blobs.len);
	buf_done(&blobs);
}

static void composite_layouts(void **state)
{
	(void)state;
	static const uint32_t first[] = { 3 }, second[] = { 4, 5 };
	const struct part parts[] = {
		{ 0x10, 0x100, 1 << 20, 65536, 0, NULL }, /* on the metadata server */
		{ 0x10, 1, 1 << 20, 1 << 30, 1, first },
		{ 0x10, 1, 4 << 20, 1ull << 40, 2, second },
		{ 0, 1, 4 << 20, UINT64_MAX, 8, NULL }, /* nothing was written so far yet */
	};
	for (int i = 0; i < 2; i++) {
		struct buf b = { 0 }, mirrored = { 0 };
		struct layout l;
		big = i;
		put_composite(&b, parts, 4, 0);
		assert_int_equal(layout_of_lustre(&l, b.data, b.len), 0);
		same_texts(&l, "stripe_size=1048576 stripe_count=1 components=3 mdt=65536 osts=3,4,5");
		put_composite(&mirrored, parts + 1, 2, 1);
		told(&mirrored, "stripe_size=1048576 stripe_count=1 components=2 mirrors=2 osts=3,4,5");
		/* A part that says it lies elsewhere. */
		mirrored.data[32 + 24 + (big ? 2 : 1)] = 0x7f;
		assert_int_equal(layout_of_lustre(&l, mirrored.data, mirrored.len), -EINVAL);
		buf_done(&b);
		buf_done(&mirrored);
	}
	big = false;
}

static const char *why_null(const struct record *rec)
{
	for (size_t i = 0; i < rec->body.nulls.n; i++)
		if (strcmp(rec->body.nulls.items[i].field, "io.files.layout") == 0)
			return rec->body.nulls.items[i].why;
	return "";
}

static void files_are_asked_where_they_are(void **state)
{
	(void)state;
	static const uint32_t targets[] = { 7, 2 };
	char path[] = "/tmp/roimeter-layout-XXXXXX";
	int fd = mkstemp(path);
	struct buf b = { 0 };
	struct record rec;
	put_plain(&b, 1, NULL, 1 << 20, 2, targets);
	if (fd < 0 || fsetxattr(fd, "user.roimeter-lov", b.data, b.len, 0)) {
		buf_done(&b);
		(void)unlink(path);
		skip(); /* no attributes of users here */
	}
	(void)close(fd);
	record_init(&rec);
	struct io *io = &rec.body.io;
	io->files.items = arena_array(&rec.arena, 3, sizeof *io->files.items);
	for (int i = 0; i < 3; i++)
		block_clear(&io_file_block, &io->files.items[i]);
	io->files.n = 1;
	io->files.items[0].name = path;
	io->files.items[0].filesystem = "lustre";
	io->files.items[1].name = "/nowhere/at/all";
	io->files.items[1].filesystem = "lustre";
	io->files.items[2].name = path;
	io->files.items[2].filesystem = "tmpfs";
	assert_int_equal(record_null(&rec, "io.files.layout", "not_measured"), 0);
	assert_int_equal(layouts_look(&rec, "user.roimeter-lov"), 0);
	assert_int_equal(io->files.items[0].layout.n, 3);
	assert_string_equal(io->files.items[0].layout.items[2], "osts=7,2");
	assert_string_equal(why_null(&rec), ""); /* none is */
	io->files.n = 2;
	assert_int_equal(layouts_look(&rec, "user.roimeter-lov"), 0);
	assert_null(io->files.items[1].layout.items);
	assert_string_equal(why_null(&rec), "lost");
	(void)unlink(path);
	record_done(&rec);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_layouts),
		cmocka_unit_test(composite_layouts),
		cmocka_unit_test(files_are_asked_where_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
