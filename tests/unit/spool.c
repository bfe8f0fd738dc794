/* The spool: what was synced is there until it is acknowledged, whatever happens in between. */
/* wrap: malloc calloc realloc pwritev ftruncate fdatasync fsync */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "lib/spool.h"
#include "lib/spool_impl.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/spool_model.h"

/* ---- a disk that fails --------------------------------------------------------------------------
 */

ssize_t __real_pwritev(int fd, const struct iovec *iov, int n, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *iov, int n, off_t at);
int __real_ftruncate(int fd, off_t n);
int __wrap_ftruncate(int fd, off_t n);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

static long long disk_left = -1; /* bytes that still go to segments; -1: no limit */
static int truncate_errno, sync_errno;

ssize_t __wrap_pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
	size_t wanted = 0;
	for (int i = 0; i < n; i++)
		wanted += iov[i].iov_len;
	if (disk_left < 0 || (size_t)disk_left >= wanted) {
		ssize_t done = __real_pwritev(fd, iov, n, at);
		if (disk_left >= 0 && done > 0)
			disk_left -= done;
		return done;
	}
	if (!disk_left) {
		errno = ENOSPC;
		return -1;
	}
	size_t some = (size_t)disk_left < iov->iov_len ? (size_t)disk_left : iov->iov_len;
	disk_left -= (long long)some;
	return pwrite(fd, iov->iov_base, some, at);
}

int __wrap_ftruncate(int fd, off_t n)
{
	errno = truncate_errno;
	return truncate_errno ? -1 : __real_ftruncate(fd, n);
}

int __wrap_fdatasync(int fd)
{
	(void)fd;
	errno = sync_errno;
	return sync_errno ? -1 : 0; /* the tests survive no power cut: the disk is spared */
}

int __wrap_fsync(int fd)
{
	return __wrap_fdatasync(fd);
}

/* ---- one folder a test
 * ---------------------------------------------------------------------------- */

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	disk_left = -1;
	truncate_errno = sync_errno = 0;
	model_marks_only = false;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-spool.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	disk_left = -1;
	return file_remove_tree(folder, NULL);
}

static struct spool *open_spool(uint64_t max_bytes, uint32_t segment_bytes)
{
	struct spool *s = NULL;
	struct err err = { .text = "" };
	if (spool_open(&s, folder, max_bytes, segment_bytes, &err))
		fail_msg("%s", err.text);
	return s;
}

static void append(struct spool *s, size_t n)
{
	for (; n; n--)
		assert_int_equal(model_append(s), 0);
	assert_int_equal(spool_sync(s, NULL), 0);
}

/* Reads all there is: as many records and gaps as expected, none of them wrong. */
static void expect(struct spool *s, uint64_t from, uint64_t to, uint64_t gone)
{
	struct model_seen seen;
	model_read(s, &seen);
	assert_int_equal(seen.from, from);
	assert_int_equal(seen.to, to);
	assert_int_equal(seen.gone, gone);
}

/* The path of the highest segment of a class, and its size. */
static uint64_t last_segment(struct spool *s, enum spool_class class, char path[128])
{
	struct found f;
	struct stat st;
	char name[SEGMENT_NAME_BYTES];
	assert_int_equal(segment_find(s, class, UINT64_MAX, &f), 0);
	segment_name(name, class, f.highest);
	(void)snprintf(path, 128, "%s/%s", folder, name);
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* ---- tests
 * ------------------------------------------------------------------------------------------ */

static void what_is_synced_is_read_until_acknowledged(void **state)
{
	(void)state;
	struct spool *s = open_spool(1 << 20, 0);
	struct spool_item item;
	assert_int_equal(spool_next_seq(s), 1);
	assert_int_equal(spool_read(s, &item, NULL), 0);
	assert_int_equal(model_append(s), 0);
	assert_int_equal(spool_read(s, &item, NULL), 0); /* not yet durable */
	append(s, 9);
	assert_int_equal(spool_read(s, &item, NULL), 1);
	assert_int_equal(item.seq, 1);
	expect(s, 2, 10, 0);
	spool_rewind(s);
	expect(s, 1, 10, 0);
	assert_int_equal(spool_ack(s, 4, NULL), 0);
	assert_int_equal(spool_ack(s, 2, NULL), 0); /* an answer that comes late */
	assert_int_equal(spool_ack(s, 11, NULL), -EINVAL);
	spool_rewind(s);
	expect(s, 5, 10, 0);
	char id[17];
	(void)snprintf(id, sizeof id, "%s", spool_id(s));
	spool_close(s);

	s = open_spool(1 << 20, 0);
	assert_string_equal(spool_id(s), id);
	assert_int_equal(spool_next_seq(s), 11);
	expect(s, 5, 10, 0);
	assert_int_equal(spool_ack(s, 10, NULL), 0);
	spool_close(s);
	s = open_spool(1 << 20, 0);
	assert_int_equal(spool_next_seq(s), 11);
	assert_int_equal(spool_read(s, &item, NULL), 0);
	append(s, 1);
	expect(s, 11, 11, 0);
	spool_close(s);
}

static void numbers_go_on_when_all_segments_are_gone(void **state)
{
	(void)state;
	struct spool *s = open_spool(1 << 20, 2000);
	append(s, 300);
	assert_int_equal(spool_ack(s, 300, NULL), 0);
	struct spool_stats st;
	spool_stats(s, &st);
	assert_true(st.bytes < 5000);
	spool_close(s);
	s = open_spool(1 << 20, 2000);
	assert_int_equal(spool_next_seq(s), 301);
	append(s, 5);
	expect(s, 301, 305, 0);
	spool_close(s);
}

static void one_agent_at_a_time(void **state)
{
	(void)state;
	struct spool *s = open_spool(1 << 20, 0), *other = NULL;
	struct err err;
	assert_int_equal(spool_open(&other, folder, 1 << 20, 0, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another agent"));
	spool_close(s);
	assert_int_equal(spool_open(&other, folder, 100, 0, &err), -EINVAL);
	assert_int_equal(spool_open(&other, "/proc/none", 1 << 20, 0, &err), -ENOENT);
	assert_null(other);
}

static void a_record_that_can_never_fit_is_no_loss(void **state)
{
	(void)state;
	struct spool *s = open_spool(1 << 16, 0);
	struct spool_stats st;
	static char big[1 << 16];
	assert_int_equal(spool_append(s, SPOOL_MARK, 0, big, sizeof big, NULL), -E2BIG);
	assert_int_equal(spool_append(s, SPOOL_MARK, 0, big, 0, NULL), -E2BIG);
	spool_stats(s, &st);
	assert_int_equal(st.refused[SPOOL_MARK].records, 0);
	spool_close(s);
}

/* The stated policy: the oldest context first, never a mark; then marks are refused; all counted.
 */
static void a_full_spool_drops_context_and_refuses_marks(void **state)
{
	(void)state;
	struct spool *s = open_spool(SPOOL_MIN_BYTES, 4096);
	struct spool_stats st;
	static const char bytes[1000];
	uint64_t context = 0, marks = 0;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(spool_append(s, SPOOL_CONTEXT, i, bytes, sizeof bytes, NULL), 0);
		context++;
	}
	spool_stats(s, &st);
	assert_true(st.dropped.records > 130 && st.bytes <= SPOOL_MIN_BYTES);
	assert_int_equal(st.dropped.from_real_ns, 0); /* the oldest */
	assert_int_equal(st.dropped.to_real_ns, st.dropped.records - 1);
	while (spool_append(s, SPOOL_MARK, 1000, bytes, sizeof bytes, NULL) == 0)
		marks++;
	assert_true(marks >= 58);
	assert_int_equal(spool_append(s, SPOOL_CONTEXT, 7, bytes, sizeof bytes, NULL), -ENOSPC);
	assert_int_equal(spool_append(s, SPOOL_MARK, 1001, bytes, sizeof bytes, NULL), -ENOSPC);
	assert_int_equal(spool_next_seq(s), context + marks + 1);
	assert_int_equal(spool_sync(s, NULL), 0);
	spool_close(s);

	s = open_spool(SPOOL_MIN_BYTES, 4096);
	spool_stats(s, &st);
	assert_int_equal(st.dropped.records, context);
	assert_int_equal(st.dropped.bytes, context * sizeof bytes);
	assert_int_equal(st.refused[SPOOL_MARK].records, 2);
	assert_int_equal(st.refused[SPOOL_MARK].from_real_ns, 1000);
	assert_int_equal(st.refused[SPOOL_MARK].to_real_ns, 1001);
	assert_int_equal(st.refused[SPOOL_CONTEXT].records, 1);
	assert_int_equal(st.damaged, 0);
	struct spool_item item;
	assert_int_equal(spool_read(s, &item, NULL), 1);
	assert_true(item.gap && !item.damaged && item.first_seq == 1 && item.seq == context);
	assert_int_equal(item.from_real_ns, SPOOL_NO_TIME);
	assert_int_equal(item.to_real_ns, 1000);
	for (uint64_t i = 1; i <= marks; i++) {
		assert_int_equal(spool_read(s, &item, NULL), 1);
		assert_true(!item.gap && item.class == SPOOL_MARK && item.seq == context + i);
	}
	assert_int_equal(spool_read(s, &item, NULL), 0);
	assert_int_equal(spool_ack(s, context + marks, NULL), 0);
	assert_int_equal(spool_append(s, SPOOL_MARK, 0, bytes, sizeof bytes, NULL), 0);
	spool_close(s);
}

static void what_is_being_sent_is_dropped_last(void **state)
{
	(void)state;
	struct spool *s = open_spool(SPOOL_MIN_BYTES, 4096);
	static const char bytes[1000];
	struct spool_item item;
	for (int i = 0; i < 50; i++)
		assert_int_equal(spool_append(s, SPOOL_CONTEXT, i, bytes, sizeof bytes, NULL), 0);
	assert_int_equal(spool_sync(s, NULL), 0);
	assert_int_equal(spool_read(s, &item, NULL), 1); /* on its way, when the spool fills up */
	for (int i = 0; i < 30; i++)
		assert_int_equal(spool_append(s, SPOOL_CONTEXT, i, bytes, sizeof bytes, NULL), 0);
	assert_int_equal(spool_sync(s, NULL), 0);
	assert_int_equal(spool_read(s, &item, NULL), 1);
	assert_true(!item.gap && item.seq == 2);
	spool_close(s);
}

static void a_torn_end_loses_nothing_that_is_whole(void **state)
{
	(void)state;
	model_marks_only = true;
	uint64_t three = UINT64_MAX;
	for (uint64_t cut = 0; cut < three; cut++) {
		struct spool *s = open_spool(1 << 20, 0);
		char path[128];
		append(s, 2);
		uint64_t two = last_segment(s, SPOOL_MARK, path);
		append(s, 1);
		three = last_segment(s, SPOOL_MARK, path);
		spool_close(s);
		cut = cut < two ? two : cut;
		assert_int_equal(truncate(path, (off_t)cut), 0);
		s = open_spool(1 << 20, 0);
		assert_int_equal(spool_next_seq(s), 3);
		expect(s, 1, 2, 0);
		append(s, 4);
		expect(s, 3, 6, 0);
		spool_close(s);
		s = open_spool(1 << 20, 0);
		expect(s, 1, 6, 0);
		spool_close(s);
		assert_int_equal(remove_folder(NULL), 0);
	}
}

static void a_flipped_bit_is_a_gap_at_most(void **state)
{
	(void)state;
	struct spool *s = open_spool(1 << 20, 1000);
	append(s, 60);
	char path[128], name[SEGMENT_NAME_BYTES];
	struct found f;
	assert_int_equal(segment_find(s, SPOOL_MARK, 20, &f), 0);
	segment_name(name, SPOOL_MARK, f.from);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	spool_close(s);
	struct buf whole = { 0 };
	assert_int_equal(file_read(&whole, path, NULL), 0);
	size_t gaps = 0;
	for (size_t i = 0; i < whole.len; i += 3) {
		int fd = open(path, O_WRONLY);
		char bad = (char)(whole.data[i] ^ 1 << i % 8);
		assert_int_equal(pwrite(fd, &bad, 1, (off_t)i), 1);
		s = open_spool(1 << 20, 1000);
		struct model_seen seen;
		model_read(s, &seen);
		assert_int_equal(seen.from, 1);
		assert_int_equal(seen.to, 60);
		assert_int_equal(seen.gone, seen.damaged);
		assert_true(i < SEGMENT_HEAD_BYTES ? !seen.gone : seen.gone > 0);
		gaps += seen.gone;
		spool_close(s);
		assert_int_equal(pwrite(fd, whole.data + i, 1, (off_t)i), 1);
		(void)close(fd);
	}
	assert_true(gaps > 0);
	buf_done(&whole);
}

static void a_full_disk_is_a_full_spool(void **state)
{
	(void)state;
	struct spool *s = open_spool(1 << 20, 2000);
	struct spool_stats st;
	model_append_class(s, SPOOL_CONTEXT, 20);
	model_append_class(s, SPOOL_MARK, 20);
	uint64_t next = spool_next_seq(s);
	for (disk_left = 0; disk_left < 60; disk_left++) {
		long long before = disk_left;
		if (spool_append(s, SPOOL_MARK, 5, "0123456789", 10, NULL) == 0)
			break;
		assert_int_equal(spool_next_seq(s), next);
		disk_left = before;
	}
	disk_left = -1;
	spool_stats(s, &st);
	assert_true(st.dropped.records > 0); /* context was given up before a mark was refused */
	assert_true(st.refused[SPOOL_MARK].records > 0);
	assert_int_equal(spool_sync(s, NULL), 0);
	struct model_seen seen;
	model_read_foreign(s, &seen, "0123456789");
	uint64_t marks = spool_next_seq(s) - next;
	for (uint64_t seq = 1; seq < next; seq++)
		marks += model_class(seq) == SPOOL_MARK;
	assert_int_equal(seen.marks, marks);
	assert_int_equal(seen.gone, st.dropped.records);
	spool_close(s);
}

static void a_disk_that_fills_within_a_record_leaves_it_out(void **state)
{
	(void)state;
	model_marks_only = true;
	for (int fails = 0; fails < 2; fails++) {
		assert_int_equal(remove_folder(NULL), 0);
		struct spool *s = open_spool(1 << 20, 0);
		model_append_class(s, SPOOL_MARK, 5);
		uint64_t next = spool_next_seq(s);
		disk_left = 45; /* the head and a little */
		truncate_errno = fails ? EIO : 0;
		assert_int_equal(model_append(s), -ENOSPC);
		disk_left = -1;
		truncate_errno = 0;
		assert_int_equal(spool_next_seq(s), next);
		append(s, 6);
		expect(s, 1, next + 5, 0);
		spool_close(s);
		s = open_spool(1 << 20, 0);
		expect(s, 1, next + 5, 0);
		spool_close(s);
	}
}

static void a_failed_sync_takes_back_what_was_appended(void **state)
{
	(void)state;
	struct spool *s = open_spool(1 << 20, 700);
	for (int round = 0; round < 20; round++) {
		uint64_t next = spool_next_seq(s);
		struct spool_stats st, after;
		spool_stats(s, &st);
		for (int i = 0; i < round % 3; i++)
			assert_int_equal(model_append(s), 0);
		uint64_t synced;
		sync_errno = EIO;
		for (int i = 0; i < 3; i++)
			(void)model_append(s);
		assert_int_equal(spool_sync(s, NULL), -EIO);
		sync_errno = 0;
		spool_stats(s, &after);
		synced = after.synced_seq;
		assert_int_equal(spool_next_seq(s), synced + 1);
		assert_true(synced >= next - 1);
		append(s, 4);
		expect(s, next, synced + 4, 0);
	}
	uint64_t next = spool_next_seq(s);
	spool_close(s);
	s = open_spool(1 << 20, 700);
	expect(s, 1, next - 1, 0);
	spool_close(s);
}

static void a_lost_state_begins_with_what_is_there(void **state)
{
	(void)state;
	char path[128], id[17];
	struct spool *s = open_spool(1 << 20, 1000);
	append(s, 100);
	assert_int_equal(spool_ack(s, 50, NULL), 0);
	(void)snprintf(id, sizeof id, "%s", spool_id(s));
	spool_close(s);
	(void)snprintf(path, sizeof path, "%s/state", folder);
	assert_int_equal(truncate(path, 100), 0);
	s = open_spool(1 << 20, 1000);
	assert_string_not_equal(spool_id(s), id);
	assert_int_equal(spool_next_seq(s), 101);
	struct model_seen seen;
	model_read(s, &seen);
	assert_true(seen.from > 1 && seen.from <= 51 && seen.to == 100);
	spool_close(s);
}

static void each_slot_of_the_state_is_enough(void **state)
{
	(void)state;
	char path[128];
	struct spool *s = open_spool(1 << 20, 0);
	append(s, 100);
	assert_int_equal(spool_ack(s, 50, NULL), 0);
	assert_int_equal(spool_ack(s, 60, NULL), 0);
	spool_close(s);
	(void)snprintf(path, sizeof path, "%s/state", folder);
	int fd = open(path, O_RDWR);
	char old = 0;
	for (off_t slot = 0; slot < 2; slot++) {
		assert_int_equal(pread(fd, &old, 1, slot * STATE_SLOT_BYTES + 100), 1);
		char bad = (char)~old;
		assert_int_equal(pwrite(fd, &bad, 1, slot * STATE_SLOT_BYTES + 100), 1);
		s = open_spool(1 << 20, 0);
		struct model_seen seen;
		model_read(s, &seen);
		assert_true(seen.from == 51 || seen.from == 61);
		spool_close(s);
		assert_int_equal(pwrite(fd, &old, 1, slot * STATE_SLOT_BYTES + 100), 1);
	}
	(void)close(fd);
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	for (int n = 1; fail_alloc(n); n++) {
		struct spool *s = NULL;
		struct spool_item item;
		int rc = spool_open(&s, folder, 1 << 20, 1000, NULL);
		for (int i = 0; !rc && i < 20; i++) {
			rc = model_append(s);
			if (!rc)
				rc = spool_sync(s, NULL);
			if (!rc && spool_read(s, &item, NULL) < 0)
				rc = -ENOMEM;
			if (!rc && !(i % 7))
				rc = spool_ack(s, item.seq, NULL);
		}
		alloc_left = 0;
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		spool_close(s);
	}
	alloc_left = 0;
	struct spool *s = open_spool(1 << 20, 1000);
	struct model_seen seen;
	model_read(s, &seen);
	assert_int_equal(seen.gone, 0);
	assert_int_equal(seen.to, spool_next_seq(s) - 1);
	spool_close(s);
}

/* Any order of appends, syncs, reads, acknowledgements and stops. */
static void any_life_of_a_spool(void **state)
{
	(void)state;
	struct dice d = { 42 };
	struct spool *s = open_spool(SPOOL_MIN_BYTES, 3000);
	struct model m = { .acked = 0 };
	for (int i = 0; i < 20000; i++) {
		if (!below(&d, 200)) {
			spool_close(s);
			s = open_spool(SPOOL_MIN_BYTES, 3000);
			model_opened(&m, s);
		}
		if (!below(&d, 500))
			disk_left = (long long)below(&d, 3000);
		if (!below(&d, 50))
			disk_left = -1;
		sync_errno = !below(&d, 300) ? EIO : 0;
		model_step(&m, s, &d);
	}
	sync_errno = 0;
	assert_true(m.dropped_seen > 100 && m.refused > 0);
	spool_close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(what_is_synced_is_read_until_acknowledged),
		TEST(numbers_go_on_when_all_segments_are_gone),
		TEST(one_agent_at_a_time),
		TEST(a_record_that_can_never_fit_is_no_loss),
		TEST(a_full_spool_drops_context_and_refuses_marks),
		TEST(what_is_being_sent_is_dropped_last),
		TEST(a_torn_end_loses_nothing_that_is_whole),
		TEST(a_flipped_bit_is_a_gap_at_most),
		TEST(a_full_disk_is_a_full_spool),
		TEST(a_disk_that_fills_within_a_record_leaves_it_out),
		TEST(a_failed_sync_takes_back_what_was_appended),
		TEST(a_lost_state_begins_with_what_is_there),
		TEST(each_slot_of_the_state_is_enough),
		TEST(every_failed_allocation_is_survived),
		TEST(any_life_of_a_spool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
