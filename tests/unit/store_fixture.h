/* What the tests of the store share: a folder, a store in it, and a look from outside. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "lib/file.h"
#include "store/store.h"
#include "tests/unit/random_record.h"

static char folder[64], path[96];

static inline struct store *open_store(enum store_mode mode)
{
	struct store *s = NULL;
	struct err err = { 0 };
	if (store_open(&s, path, mode, &err))
		fail_msg("%s", err.text);
	return s;
}

static inline int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-store.XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/store.db", folder);
	return 0;
}

static inline int remove_folder(void **state)
{
	(void)state;
	return file_remove_tree(folder, NULL);
}

static inline void add(struct store *s, const struct record *rec)
{
	struct err err = { 0 };
	if (store_add_run(s, rec, &err))
		fail_msg("%s", err.text);
}

/* SQL from outside, as somebody with the shell. */
static inline sqlite3_int64 ask(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	(void)sqlite3_busy_timeout(db, 5000);
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	sqlite3_int64 n = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(db);
	return n;
}

static inline void tell(const char *sql)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	(void)sqlite3_close(db);
}

static inline struct buf text_of(const struct record *rec)
{
	struct buf b = { 0 };
	json_t *json = record_to_json(rec);
	assert_int_equal(json_text(&b, json), 0);
	json_decref(json);
	return b;
}

static inline void assert_stored(struct store *s, const struct record *rec)
{
	struct record got;
	struct err err = { 0 };
	if (store_get_run(s, rec->body.run_id, &got, &err))
		fail_msg("%s", err.text);
	struct buf a = text_of(rec), b = text_of(&got);
	assert_string_equal(a.data, b.data);
	buf_done(&a);
	buf_done(&b);
	record_done(&got);
}

#endif
