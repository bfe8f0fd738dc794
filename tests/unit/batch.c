/* Batches: what goes in comes out, what is newer is stepped over, what is damaged is refused. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <xxhash.h>

#include <cmocka.h>

#include "tests/unit/batch_frames.h"
#include "tests/unit/fail_alloc.h"

/* The sum of a batch that a test has changed. */
static void seal(struct buf *b)
{
	unsigned char *p = (unsigned char *)b->data;
	uint64_t sum = XXH3_64bits_withSeed(p + 32, b->len - 32, XXH3_64bits(p, 24));
	for (int i = 0; i < 8; i++)
		p[24 + i] = (unsigned char)(sum >> 8 * i);
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void what_goes_in_comes_out(void **state)
{
	(void)state;
	struct batch_out out = { .frames = 0 };
	struct batch_in in = { .left = 0 };
	struct dice d = { 1 };
	for (uint64_t round = 1; round <= 100; round++) {
		struct buf b = { 0 };
		struct frame sent[40], got;
		size_t n = below(&d, 40);
		for (size_t i = 0; i < n; i++)
			put(&out, sent[i] = any_frame(&d));
		end(&out, round, &b);
		end(&out, round + 1, &b); /* an empty one behind it */
		assert_int_equal(batch_open(&in, b.data, b.len, NULL), 0);
		struct batch_sender s = a_sender(round);
		same_sender(&s, &in.head.sender);
		assert_int_equal(in.head.frames, n);
		assert_false(in.head.longer);
		for (int again = 0; again < 2; again++, batch_rewind(&in)) {
			for (size_t i = 0; i < n; i++) {
				assert_int_equal(batch_next(&in, &got, NULL), 1);
				assert_same_frame(&sent[i], &got);
			}
			assert_int_equal(batch_next(&in, &got, NULL), 0);
		}
		size_t first = in.head.bytes;
		assert_int_equal(batch_open(&in, b.data + first, b.len - first, NULL), 0);
		assert_int_equal(in.head.bytes, b.len - first);
		assert_int_equal(in.head.sender.seq, round + 1);
		assert_int_equal(batch_next(&in, &got, NULL), 0);
		buf_done(&b);
		arena_free(&texts);
	}
	assert_int_equal(in.unknown + in.longer, 0);
	batch_out_done(&out);
	batch_in_done(&in);
}

static void lists_are_taken_off_item_by_item(void **state)
{
	(void)state;
	struct buf b = { 0 };
	batch_pair_put(&b, str_of("user_s"), 1.5);
	batch_pair_put(&b, str_of("read_B"), (double)NAN);
	struct str list = batch_list(&b), name;
	double value;
	assert_true(batch_pair_next(&list, &name, &value));
	assert_true(same_bin(name, str_of("user_s")) && value == 1.5);
	assert_true(batch_pair_next(&list, &name, &value));
	assert_true(same_bin(name, str_of("read_B")) && !known(value));
	assert_false(batch_pair_next(&list, &name, &value));
	list = (struct str){ .p = NULL };
	assert_false(batch_text_next(&list, &name));
	buf_done(&b);
}

static void text_is_made_utf8(void **state)
{
	(void)state;
	struct batch_out out = { .frames = 0 };
	struct batch_in in = { .left = 0 };
	struct buf b = { 0 };
	struct frame f;
	frame_clear(&f, FRAME_RUN_END);
	f.as.run_end.run = str_of("a\xff"
				  "b");
	put(&out, f);
	end(&out, 1, &b);
	assert_int_equal(batch_open(&in, b.data, b.len, NULL), 0);
	assert_int_equal(batch_next(&in, &f, NULL), 1);
	assert_true(same_bin(f.as.run_end.run, str_of("a\xef\xbf\xbd"
						      "b")));
	buf_done(&b);
	batch_out_done(&out);
	batch_in_done(&in);
}

/* A batch of frames whose bytes the test writes itself. */
static struct buf by_hand(const void *body, size_t n, uint32_t frames)
{
	struct batch_out out = { .frames = frames };
	struct buf b = { 0 };
	buf_put(&out.body, body, n);
	end(&out, 1, &b);
	batch_out_done(&out);
	return b;
}

static void newer_frames_and_fields_are_stepped_over_and_counted(void **state)
{
	(void)state;
	/* A run_end of an older writer: the run only. One of type 200. A gap with one field more.
	 */
	static const unsigned char body[] = { 5,   3,   3,   'r', '1', 0xc8, 1,   2,   9,   9,
					      8,   27,  4,   6,   0,   0,    255, 255, 255, 255,
					      255, 255, 255, 255, 255, 1,    255, 255, 255, 255,
					      255, 255, 255, 255, 255, 1,    42,  42,  42 };
	struct buf b = by_hand(body, sizeof body, 3);
	struct batch_in in = { .left = 0 };
	struct frame f;
	assert_int_equal(batch_open(&in, b.data, b.len, NULL), 0);
	assert_int_equal(batch_next(&in, &f, NULL), 1);
	assert_true(same_bin(f.as.run_end.run, str_of("r1")));
	assert_int_equal(f.as.run_end.complete, UNKNOWN);
	assert_true(f.as.run_end.real_ns == ROI_UNKNOWN && !known(f.as.run_end.wakeups));
	assert_null(f.as.run_end.record.p);
	assert_int_equal(batch_next(&in, &f, NULL), 1);
	assert_int_equal(f.type, FRAME_GAP);
	assert_int_equal(f.as.gap.first_seq, 4);
	assert_int_equal(f.as.gap.last_seq, 6);
	assert_int_equal(batch_next(&in, &f, NULL), 0);
	assert_int_equal(in.unknown, 1);
	assert_int_equal(in.longer, 1);
	buf_done(&b);
	batch_in_done(&in);
}

static int read_through(struct batch_in *in, const void *bytes, size_t n, struct err *err)
{
	struct frame f;
	int rc = batch_open(in, bytes, n, err);
	if (!rc)
		rc = 1;
	while (rc == 1)
		rc = batch_next(in, &f, err);
	return rc;
}

static void frames_that_lie_are_refused(void **state)
{
	(void)state;
	static const struct {
		uint32_t frames;
		size_t n;
		unsigned char body[12];
	} bad[] = {
		{ 1, 0, { 0 } },                   /* one promised, none there */
		{ 0, 2, { 200, 1 } },              /* bytes without a frame */
		{ 1, 2, { 5, 9 } },                /* longer than what is there */
		{ 1, 4, { 5, 2, 9, 'r' } },        /* a text longer than its frame */
		{ 1, 4, { 5, 2, 2, 0xff } },       /* no UTF-8 */
		{ 1, 4, { 5, 2, 0, 3 } },          /* neither yes, no nor unknown */
		{ 1, 7, { 6, 4, 0, 0, 0, 0, 0 } }, /* a byte behind the last frame */
		{ 1, 3, { 0x80, 0x80, 0x80 } },
	};
	struct batch_in in = { .left = 0 };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err err = { .text = "" };
		struct buf b = by_hand(bad[i].body, bad[i].n, bad[i].frames);
		if (read_through(&in, b.data, b.len, &err) != -EBADMSG)
			fail_msg("%zu was not refused", i);
		assert_string_not_equal(err.text, "");
		buf_done(&b);
	}
	batch_in_done(&in);
}

static void every_flipped_bit_and_every_cut_is_noticed(void **state)
{
	(void)state;
	struct buf b = an_example();
	struct batch_in in = { .left = 0 };
	struct err err;
	for (size_t n = 0; n < b.len; n++)
		assert_true(batch_open(&in, b.data, n, &err) < 0);
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] = (char)(b.data[i] ^ 1 << i % 8);
		assert_true(batch_open(&in, b.data, b.len, &err) < 0);
		b.data[i] = (char)(b.data[i] ^ 1 << i % 8);
	}
	assert_int_equal(read_through(&in, b.data, b.len, &err), 0);
	buf_done(&b);
	batch_in_done(&in);
}

static void set_le32(struct buf *b, size_t at, uint32_t x)
{
	for (size_t i = 0; i < 4; i++)
		b->data[at + i] = (char)(unsigned char)(x >> 8 * i);
	seal(b);
}

static void limits_hold_before_a_byte_is_unpacked(void **state)
{
	(void)state;
	struct buf b = an_example();
	struct batch_in in = { .max_plain = 100 };
	struct err err;
	assert_int_equal(batch_open(&in, b.data, b.len, &err), -E2BIG);
	assert_null(in.plain.data);
	in.max_plain = 0;
	uint32_t plain = (uint32_t)in.head.plain_bytes;
	set_le32(&b, 16, BATCH_MAX_PLAIN + 1);
	assert_int_equal(batch_open(&in, b.data, b.len, &err), -E2BIG);
	set_le32(&b, 16, plain - 1); /* it unfolds to more than it says */
	assert_int_equal(batch_open(&in, b.data, b.len, &err), -EBADMSG);
	set_le32(&b, 16, plain + 1);
	assert_int_equal(batch_open(&in, b.data, b.len, &err), -EBADMSG);
	set_le32(&b, 16, plain);
	set_le32(&b, 20, BATCH_MAX_FRAMES + 1);
	assert_int_equal(batch_open(&in, b.data, b.len, &err), -E2BIG);
	set_le32(&b, 20, FRAME_TYPES - 1);
	b.data[8] = 2;
	seal(&b);
	assert_int_equal(batch_open(&in, b.data, b.len, &err), -EPROTONOSUPPORT);
	buf_done(&b);
	batch_in_done(&in);
}

static void the_writer_knows_the_limits_too(void **state)
{
	(void)state;
	struct batch_out out = { .frames = 0 };
	struct buf b = { 0 };
	struct frame f;
	frame_clear(&f, FRAME_PROCESS);
	char *big = calloc(1, BATCH_MAX_PLAIN);
	assert_non_null(big);
	f.as.process.data = (struct str){ .p = big, .n = BATCH_MAX_PLAIN / 2 };
	put(&out, f);
	assert_int_equal(batch_put(&out, &f), -E2BIG);
	f.as.process.data.n = 3;
	put(&out, f);
	assert_int_equal(out.frames, 2);
	struct batch_in in = { .left = 0 };
	end(&out, 1, &b);
	assert_int_equal(read_through(&in, b.data, b.len, NULL), 0);
	struct batch_sender s = a_sender(1);
	s.tool = (struct str){ .p = big, .n = BATCH_MAX_SENDER };
	put(&out, f);
	size_t before = b.len;
	assert_int_equal(batch_end(&out, &s, &b, NULL), -E2BIG);
	assert_int_equal(b.len, before);
	assert_int_equal(out.frames, 0);
	frame_clear(&f, FRAME_LOSS);
	for (size_t i = 0; i < BATCH_MAX_FRAMES; i++)
		put(&out, f);
	assert_int_equal(batch_put(&out, &f), -E2BIG);
	free(big);
	buf_done(&b);
	batch_out_done(&out);
	batch_in_done(&in);
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	struct frame f;
	frame_clear(&f, FRAME_LOSS);
	f.as.loss.text = str_of("a\xff");
	struct batch_sender s = a_sender(1);
	for (int n = 1; fail_alloc(n); n++) {
		struct batch_out out = { .frames = 0 };
		struct batch_in in = { .left = 0 };
		struct buf b = { 0 };
		int rc = batch_put(&out, &f);
		if (!rc)
			rc = batch_end(&out, &s, &b, NULL);
		if (!rc)
			rc = read_through(&in, b.data, b.len, NULL);
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		buf_done(&b);
		batch_out_done(&out);
		batch_in_done(&in);
	}
	alloc_left = 0;
}

static void a_row_of_the_record_travels_as_a_block(void **state)
{
	(void)state;
	struct execution row, got;
	struct arena a = { .blocks = NULL };
	struct buf b = { 0 };
	block_clear(&execution_block, &row);
	row.name = "clean.3";
	row.exit_code = 0;
	row.process_wall_s = 1.25;
	block_put(&b, &execution_block, &row);
	assert_int_equal(block_get(&a, &execution_block, &got, b.data, b.len, NULL), 0);
	assert_string_equal(got.name, "clean.3");
	assert_true(got.exit_code == 0 && got.process_wall_s == 1.25 && !known(got.signal));
	assert_int_equal(block_get(&a, &execution_block, &got, b.data, b.len - 1, NULL), -EBADMSG);
	assert_int_equal(block_get(&a, &execution_block, &got, "", 0, NULL), -EBADMSG);
	buf_done(&b);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(lists_are_taken_off_item_by_item),
		cmocka_unit_test(text_is_made_utf8),
		cmocka_unit_test(newer_frames_and_fields_are_stepped_over_and_counted),
		cmocka_unit_test(frames_that_lie_are_refused),
		cmocka_unit_test(every_flipped_bit_and_every_cut_is_noticed),
		cmocka_unit_test(limits_hold_before_a_byte_is_unpacked),
		cmocka_unit_test(the_writer_knows_the_limits_too),
		cmocka_unit_test(every_failed_allocation_is_survived),
		cmocka_unit_test(a_row_of_the_record_travels_as_a_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
