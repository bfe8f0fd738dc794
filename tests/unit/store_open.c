/* What is opened and what is not: other places, other programs' files, other versions; and memory
 * that runs out at any point. */
/* wrap: statfs malloc calloc realloc sqlite3_prepare_v2 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "tests/unit/fail_alloc.h"
#include "tests/unit/store_fixture.h"

/* ---- opening ------------------------------------------------------------------------------- */

static void refuses(enum store_mode mode, int rc, const char *part)
{
	struct store *s = NULL;
	struct err err = { 0 };
	assert_int_equal(store_open(&s, path, mode, &err), rc);
	assert_null(s);
	if (!strstr(err.text, part))
		fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

static long fs_type;
int __real_statfs(const char *name, struct statfs *fs);
int __wrap_statfs(const char *name, struct statfs *fs);
int __wrap_statfs(const char *name, struct statfs *fs)
{
	int rc = __real_statfs(name, fs);
	if (fs_type)
		fs->f_type = fs_type;
	return rc;
}

static void a_network_file_system_is_refused(void **state)
{
	(void)state;
	fs_type = 0x6969;
	refuses(STORE_WRITE, -EREMOTE, "it lies on NFS, where a database's locks do not hold");
	fs_type = 0x0bd00bd0;
	refuses(STORE_WRITE, -EREMOTE, "it lies on Lustre");
	fs_type = (long)(int)0xff534d42; /* as a 32-bit kernel has it: below zero */
	refuses(STORE_WRITE, -EREMOTE, "it lies on CIFS");
	fs_type = 0;
	store_close(open_store(STORE_WRITE));
	fs_type = 0x65735546;
	refuses(STORE_READ, -EREMOTE, "it lies on FUSE");
	fs_type = 0;
}

static void what_is_no_store_is_not_opened_and_not_changed(void **state)
{
	(void)state;
	refuses(STORE_READ, -ENOENT, "there is none yet");
	assert_int_equal(access(path, F_OK), -1);

	assert_int_equal(
		file_write(path,
			   "This is text, and a good deal of it: more than 100 bytes, since "
			   "SQLite looks at the first hundred bytes of any file.",
			   115, NULL),
		0);
	refuses(STORE_WRITE, -EUCLEAN, "this is not a database");
	assert_int_equal(unlink(path), 0);

	tell("CREATE TABLE somebody (x)");
	refuses(STORE_WRITE, -EUCLEAN, "another program's database");
	assert_int_equal(ask("SELECT count(*) FROM sqlite_schema"), 1);
	assert_int_equal(
		ask("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'delete'"), 1);
	assert_int_equal(unlink(path), 0);

	assert_int_equal(file_write(path, "", 0, NULL), 0);
	refuses(STORE_READ, -EUCLEAN, "empty");
	store_close(open_store(STORE_WRITE));
}

static void a_newer_store_is_refused(void **state)
{
	(void)state;
	store_close(open_store(STORE_WRITE));
	tell("PRAGMA user_version = 99");
	refuses(STORE_WRITE, -EPROTO,
		"its tables have version 99, made by a newer roimeter; this program "
		"knows up to version 9");
	refuses(STORE_READ, -EPROTO, "99");
	assert_int_equal(ask("PRAGMA user_version"), 99);
}

/* Somebody else's store: they may read it, and not write beside it. As root only, who can be both.
 */
/* Between what we read of a file that is new, another program makes its tables; it may take the
 * time that it waits for our lock. */
static int other_program = -1, other_answers = -1;
int __real_sqlite3_prepare_v2(sqlite3 *db, const char *text, int n, sqlite3_stmt **ret,
			      const char **tail);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *text, int n, sqlite3_stmt **ret,
			      const char **tail);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *text, int n, sqlite3_stmt **ret,
			      const char **tail)
{
	if (other_program >= 0 && strstr(text, "FROM sqlite_schema")) {
		struct pollfd made = { .fd = other_answers, .events = POLLIN };
		assert_int_equal(write(other_program, "", 1), 1);
		(void)poll(&made, 1, 1000);
		(void)close(other_program);
		other_program = -1;
	}
	return __real_sqlite3_prepare_v2(db, text, n, ret, tail);
}

static void another_program_may_make_it_at_the_same_time(void **state)
{
	(void)state;
	int ask[2], answer[2], status;
	assert_int_equal(pipe(ask) | pipe(answer), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char c;
		struct store *s = NULL;
		(void)close(ask[1]);
		int rc = read(ask[0], &c, 1) == 1 ? store_open(&s, path, STORE_WRITE, NULL) : -1;
		store_close(s);
		_exit(rc || write(answer[1], "", 1) != 1);
	}
	(void)close(ask[0]);
	other_program = ask[1];
	other_answers = answer[0];
	store_close(open_store(STORE_WRITE));
	assert_int_equal(other_program, -1); /* it was asked */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(answer[0]);
	(void)close(answer[1]);
}

static void who_may_only_read_can_read(void **state)
{
	(void)state;
	if (getuid() != 0) {
		print_message("# needs root, to be somebody else for a moment\n");
		skip();
	}
	struct dice d = { 17 };
	struct record rec;
	struct store *mine = open_store(STORE_WRITE);
	any_record(&rec, &d, 1);
	add(mine, &rec);
	record_done(&rec);
	store_close(mine);
	assert_int_equal(chmod(folder, 0755), 0);
	for (int with_log = 1; with_log >= 0; with_log--) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct store *s = NULL;
			struct err err = { 0 };
			if (setuid(65534) || access(folder, X_OK))
				_exit(77); /* some folder above is closed to others */
			int rc = store_open(&s, path, STORE_READ, &err);
			store_close(s);
			print_message("# as somebody else: %d %s\n", rc, err.text);
			_exit(with_log ? rc != 0 : rc == 0 || !strstr(err.text, "copy the store"));
		}
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
			print_message("# the temporary folder is closed to other users here\n");
			skip();
		}
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		char name[120];
		(void)snprintf(name, sizeof name, "%s-wal", path);
		assert_int_equal(unlink(name), with_log ? 0 : -1);
		(void)snprintf(name, sizeof name, "%s-shm", path);
		assert_int_equal(unlink(name), with_log ? 0 : -1);
	}
}

static void a_folder_that_is_not_there_is_said(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof path, "%s/no/store.db", folder);
	refuses(STORE_WRITE, -ENOENT, "No such file or directory");
}

static void run_step(const char *file, int version)
{
	struct buf b = { 0 };
	char pragma[100];
	assert_int_equal(file_read(&b, file, NULL), 0);
	tell(b.data);
	(void)snprintf(pragma, sizeof pragma,
		       "PRAGMA application_id = 1380927821; PRAGMA user_version = %d", version);
	tell(pragma);
	buf_done(&b);
}

/* A store as the first version left it, with a run in it, made by its own steps. */
static void every_older_version_is_brought_up(void **state)
{
	(void)state;
	static const char *const steps[] = {
		"store/steps/001_runs.sql",           "store/steps/002_declared.sql",
		"store/steps/003_view.sql",           "store/steps/004_app_change.sql",
		"store/steps/005_inbox.sql",          "store/steps/006_input_hash.sql",
		"store/steps/007_inbox_declared.sql", "store/steps/008_conformance.sql",
		"store/steps/009_inbox_picture.sql",
	};
	const int newest = sizeof steps / sizeof *steps;
	for (int version = 1; version <= newest; version++) {
		struct dice d = { 10 };
		struct record rec;
		(void)snprintf(path, sizeof path, "%s/v%d.db", folder, version);
		for (int i = 0; i < version; i++)
			run_step(steps[i], i + 1);
		tell("INSERT INTO cell (suite, app, case_name, platform, id, runs, ok, ok_wall_s, "
		     "last) VALUES "
		     "('s', 'a', 'c', 'p', 7, 1, 5, 1.5, 5); INSERT INTO run (id, cell, kind, "
		     "status, wall_s, hash) "
		     "VALUES (5, 7, 'measured', 'ok', 1.5, x'00'); INSERT INTO run_body VALUES (5, "
		     "x'0100', NULL)");
		if (version < newest)
			refuses(STORE_READ, -EROFS, "must be brought to version 9");
		struct store *s = open_store(STORE_WRITE);
		any_record(&rec, &d, 1);
		add(s, &rec);
		assert_int_equal(store_declare(s, "s",
					       &(struct declared_case){ .app = "a", .case_ = "c" },
					       1, NULL),
				 0);
		assert_int_equal(ask("PRAGMA user_version"), newest);
		assert_int_equal(ask("SELECT count(*) FROM runs"), 2);
		assert_int_equal(ask("SELECT count(*) FROM app_change WHERE suite = 's'"), 1);
		assert_int_equal(ask("SELECT count(*) FROM runs JOIN cell ON ok = 5 WHERE run_id = "
				     "'20380119T031408Z-00000005' AND cell.id = 7"),
				 1);
		assert_stored(s, &rec);
		record_done(&rec);
		store_close(s);
	}
}

static void the_view_tells_run_ids_as_people_write_them(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 12 };
	struct record rec;
	char sql[200];
	any_record(&rec, &d, 5000);
	add(s, &rec);
	(void)snprintf(sql, sizeof sql,
		       "SELECT count(*) FROM runs WHERE run_id = '%s' AND app = '%s'",
		       rec.body.run_id, rec.body.app);
	assert_int_equal(ask(sql), 1);
	record_done(&rec);
	store_close(s);
}

static void what_was_committed_is_in_a_copy_of_the_file(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 13 };
	struct record rec;
	struct buf bytes = { 0 };
	any_record(&rec, &d, 1);
	add(s, &rec);
	store_close(s);
	assert_int_equal(file_read(&bytes, path, NULL), 0);
	(void)snprintf(path, sizeof path, "%s/copy.db", folder);
	assert_int_equal(file_write(path, bytes.data, bytes.len, NULL), 0);
	s = open_store(STORE_READ);
	assert_stored(s, &rec);
	store_close(s);
	buf_done(&bytes);
	record_done(&rec);
}

/* ---- memory: SQLite's own, through the door that it has for that --------------------------- */

static sqlite3_mem_methods real;
static long left; /* 0: off */
static bool failed;

static void *failing_malloc(int n)
{
	if (left && --left == 0) {
		failed = true;
		return NULL;
	}
	return real.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
	if (left && --left == 0) {
		failed = true;
		return NULL;
	}
	return real.xRealloc(p, n);
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	struct dice d = { 14 };
	struct record rec;
	any_record(&rec, &d, 1);
	store_close(open_store(STORE_WRITE));
	for (long n = 1; n == 1 || failed; n += 1 + n / 40) {
		struct store *s = NULL;
		uint64_t cells = 0;
		failed = false;
		left = n;
		int rc = store_open(&s, path, STORE_WRITE, NULL);
		if (!rc)
			rc = store_add_run(s, &rec, NULL);
		if (!rc)
			rc = store_delete_run(s, rec.body.run_id, NULL);
		left = 0;
		if (rc && rc != -ENOMEM)
			fail_msg("allocation %ld: %d", n, rc);
		store_close(s);
		s = open_store(STORE_WRITE);
		struct record got;
		int there = store_get_run(s, rec.body.run_id, &got, NULL);
		record_done(&got);
		if (!there)
			assert_int_equal(store_delete_run(s, rec.body.run_id, NULL), 0);
		assert_true(there == 0 || there == -ENOENT);
		assert_int_equal(ask("SELECT count(*) FROM cell"), cells);
		store_close(s);
	}
	record_done(&rec);
}

/* Our own, with a record that is large enough to be packed. */
static void every_failed_allocation_of_ours_is_survived(void **state)
{
	(void)state;
	struct dice d = { 18 };
	struct record rec, got;
	any_record(&rec, &d, 1);
	rec.body.ops.n = 300;
	rec.body.ops.items = arena_array(&rec.arena, 300, sizeof(struct op));
	for (size_t i = 0; i < 300; i++) {
		block_clear(&op_block, &rec.body.ops.items[i]);
		rec.body.ops.items[i].name = arena_printf(&rec.arena, "kernel number %zu", i);
	}
	store_close(open_store(STORE_WRITE));
	for (int n = 1; fail_alloc(n); n++) {
		struct store *s = NULL;
		int rc = store_open(&s, path, STORE_WRITE, NULL);
		if (!rc)
			rc = store_add_run(s, &rec, NULL);
		if (!rc) {
			rc = store_get_run(s, rec.body.run_id, &got, NULL);
			record_done(&got);
		}
		if (!rc)
			rc = store_delete_run(s, rec.body.run_id, NULL);
		if (rc && rc != -ENOMEM)
			fail_msg("allocation %d: %d", n, rc);
		store_close(s);
	}
	assert_int_equal(ask("PRAGMA user_version"), 9);
	record_done(&rec);
}

int main(void)
{
	sqlite3_mem_methods failing;
	(void)sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
	(void)sqlite3_config(SQLITE_CONFIG_GETMALLOC, &failing);
	failing.xMalloc = failing_malloc;
	failing.xRealloc = failing_realloc;
	(void)sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
	(void)alarm(110);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(a_network_file_system_is_refused),
		TEST(what_is_no_store_is_not_opened_and_not_changed),
		TEST(a_newer_store_is_refused),
		TEST(another_program_may_make_it_at_the_same_time),
		TEST(who_may_only_read_can_read),
		TEST(a_folder_that_is_not_there_is_said),
		TEST(every_older_version_is_brought_up),
		TEST(the_view_tells_run_ids_as_people_write_them),
		TEST(what_was_committed_is_in_a_copy_of_the_file),
		TEST(every_failed_allocation_is_survived),
		TEST(every_failed_allocation_of_ours_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
