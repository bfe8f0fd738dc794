/* What must stay true of the store when its writer is killed at any moment, or its disk is full:
 * every add that returned is there exactly once, a batch is there whole or not at all, and the grid
 * is what the runs say. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "lib/file.h"
#include "store/store.h"
#include "tests/unit/random_record.h"
#include "tests/unit/small_disk.h"

static char folder[64], path[96];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-kill.XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/store.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return file_remove_tree(folder, NULL);
}

/* The same record for the same number; the number is the second of its run id. */
static void record_number(struct record *rec, unsigned number)
{
	struct dice d = { number * 7919ull + 1 };
	any_record(rec, &d, number);
}

/* ---- an own look, in SQL ------------------------------------------------------------------- */

static sqlite3_int64 ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	sqlite3_int64 n = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	return n;
}

/* Cells that differ from a scan of the runs, or lack. */
static const char wrong_cells[] =
	"SELECT (SELECT count(*) FROM cell AS c WHERE"
	" c.runs <> (SELECT count(*) FROM run WHERE cell = c.id)"
	" OR c.ok IS NOT (SELECT max(id) FROM run WHERE cell = c.id AND status = 'ok')"
	" OR c.last IS NOT (SELECT max(id) FROM run WHERE cell = c.id)"
	" OR c.ok_wall_s IS NOT (SELECT wall_s FROM run WHERE id = c.ok)"
	" OR c.ok_samples IS NOT (SELECT samples FROM run WHERE id = c.ok)"
	" OR c.ok_caveats IS NOT (SELECT caveats FROM run WHERE id = c.ok)"
	" OR (c.last IS c.ok) <> (c.last_status IS NULL)"
	" OR (c.last IS NOT c.ok AND (c.last_status, c.last_wall_s) IS NOT"
	"     (SELECT status, wall_s FROM run WHERE id = c.last)))"
	" + (SELECT count(*) FROM run WHERE cell NOT IN (SELECT id FROM cell))"
	" + (SELECT count(*) FROM run WHERE id NOT IN (SELECT run FROM run_body))"
	" + (SELECT count(*) FROM run_body WHERE run NOT IN (SELECT id FROM run))";

static sqlite3_int64 look(void)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		ask(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
		1);
	assert_int_equal(ask(db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	assert_int_equal(ask(db, wrong_cells), 0);
	sqlite3_int64 runs = ask(db, "SELECT count(*) FROM run");
	(void)sqlite3_close(db);
	return runs;
}

/* ---- SIGKILL ------------------------------------------------------------------------------- */

struct ack {
	unsigned first, n; /* these were added and committed */
};

/* Adds runs from this number on, by one or in batches, and tells each commit. Ends by being killed.
 */
static void write_for_ever(int out, unsigned number)
{
	struct store *s = NULL;
	struct dice d = { number + 1 };
	if (store_open(&s, path, STORE_WRITE, NULL))
		_exit(1);
	for (;;) {
		struct ack ack = { .first = number,
				   .n = below(&d, 3) ? 1 : 1 + (unsigned)below(&d, 12) };
		bool batch = ack.n > 1;
		int rc = batch ? store_begin(s, NULL) : 0;
		for (unsigned i = 0; i < ack.n && !rc; i++) {
			struct record rec;
			record_number(&rec, number++);
			rc = store_add_run(s, &rec, NULL);
			record_done(&rec);
		}
		if (!rc && batch)
			rc = store_commit(s, NULL);
		if (rc || write(out, &ack, sizeof ack) != (ssize_t)sizeof ack)
			_exit(2);
	}
}

static bool is_there(struct store *s, unsigned number)
{
	struct record rec, got;
	record_number(&rec, number);
	int rc = store_get_run(s, rec.body.run_id, &got, NULL);
	if (rc && rc != -ENOENT)
		fail_msg("run %u: %d", number, rc);
	if (!rc)
		assert_string_equal(rec.body.app, got.body.app);
	record_done(&rec);
	record_done(&got);
	return rc == 0;
}

static void a_writer_killed_at_any_moment_loses_nothing_it_was_told(void **state)
{
	(void)state;
	struct dice d = { (uint64_t)time(NULL) };
	unsigned number = 0, acked = 0;
	for (int round = 0; round < 100; round++) {
		int ends[2];
		assert_int_equal(pipe(ends), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			write_for_ever(ends[1], number);
		(void)close(ends[1]);
		/* Anywhere: before the store is there, or after its first commit and some more. */
		struct pollfd told = { .fd = ends[0], .events = POLLIN };
		if (round % 2)
			(void)poll(&told, 1, 20000);
		struct timespec pause = { .tv_nsec = (long)below(&d, 20000000) };
		(void)nanosleep(&pause, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

		struct store *s;
		struct err err = { 0 };
		struct ack ack;
		if (store_open(&s, path, STORE_WRITE, &err))
			fail_msg("round %d: %s", round, err.text);
		while (read(ends[0], &ack, sizeof ack) == (ssize_t)sizeof ack) {
			assert_int_equal(ack.first, number);
			for (unsigned i = 0; i < ack.n; i++)
				assert_true(is_there(s, number++));
			acked += ack.n;
		}
		/* Committed and not told: one commit at most, so the next number starts after it.
		 */
		unsigned untold = 0;
		while (is_there(s, number)) {
			number++;
			untold++;
		}
		assert_true(untold <= 12);
		(void)close(ends[0]);
		store_close(s);
		assert_int_equal(look(), number);
	}
	print_message("# 100 kills, %u runs told as stored, %u there\n", acked, number);
	assert_true(acked >= 50);
}

/* ---- a full disk --------------------------------------------------------------------------- */

/* Add runs until one fails; *ret_n is how many did not. */
static int add_runs(struct store *s, unsigned first, unsigned n, unsigned *ret_n, struct err *err)
{
	int rc = 0;
	for (*ret_n = 0; *ret_n < n && !rc; *ret_n += !rc) {
		struct record rec;
		record_number(&rec, first + *ret_n);
		rc = store_add_run(s, &rec, err);
		record_done(&rec);
	}
	return rc;
}

static bool put_filler(const char *filler)
{
	struct buf mebibyte = { 0 };
	while (mebibyte.len < 1 << 20)
		buf_put(&mebibyte, "filler", 6);
	int rc = file_write(filler, mebibyte.data, mebibyte.len, NULL);
	buf_done(&mebibyte);
	return !rc;
}

/* 0 good, 77 not permitted here, else the step that went wrong. */
static int fill_disk(void)
{
	char filler[96];
	struct store *s;
	struct err err = { 0 };
	unsigned there, more;
	if (!small_disk_mount(folder, "size=2m"))
		return 77;
	(void)snprintf(filler, sizeof filler, "%s/filler", folder);
	if (!put_filler(filler) || store_open(&s, path, STORE_WRITE, &err))
		return 1;
	if (add_runs(s, 0, 5000, &there, &err) != -ENOSPC || !strstr(err.text, "no space left"))
		return 2;
	/* It still answers, and what was stored before is there. */
	for (unsigned i = 0; i < there; i++)
		if (!is_there(s, i))
			return 3;
	/* A batch that meets the full disk is told so at its commit at the latest, and leaves
	 * nothing. */
	if (!store_begin(s, NULL))
		(void)add_runs(s, there, 200, &more, NULL);
	if (store_commit(s, NULL) == 0)
		return 4;
	store_close(s);
	if (look() != there)
		return 5;

	/* With room again it goes on. */
	if (unlink(filler) || store_open(&s, path, STORE_WRITE, &err))
		return 6;
	if (add_runs(s, there, 10, &more, &err)) {
		print_message("# with room again: %s\n", err.text);
		return 7;
	}
	store_close(s);
	return look() == there + 10 ? 0 : 8;
}

static void a_full_disk_is_said_and_nothing_half_is_left(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fill_disk());
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("# a tmpfs can't be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	(void)alarm(110);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_writer_killed_at_any_moment_loses_nothing_it_was_told, make_folder,
			remove_folder),
		cmocka_unit_test_setup_teardown(a_full_disk_is_said_and_nothing_half_is_left,
						make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
