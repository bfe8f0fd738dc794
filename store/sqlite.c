/* The SQLite store: opening, transactions, and what its codes mean. */
#define _GNU_SOURCE
#include "store/sqlite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/num.h"
#include "store/place.h"

#define OLDEST_SQLITE 3037000 /* STRICT tables */
#define BUSY_MS 10000         /* another program writes: a batch takes well under a second */

/* ---- codes --------------------------------------------------------------------------------- */

static const struct {
	int code, rc;
} codes[] = {
	{ SQLITE_BUSY, -EBUSY },        { SQLITE_LOCKED, -EBUSY },    { SQLITE_PROTOCOL, -EBUSY },
	{ SQLITE_NOMEM, -ENOMEM },      { SQLITE_READONLY, -EROFS },  { SQLITE_PERM, -EACCES },
	{ SQLITE_AUTH, -EACCES },       { SQLITE_CANTOPEN, -EACCES }, { SQLITE_FULL, -ENOSPC },
	{ SQLITE_CORRUPT, -EUCLEAN },   { SQLITE_NOTADB, -EUCLEAN },  { SQLITE_TOOBIG, -EFBIG },
	{ SQLITE_CONSTRAINT, -EEXIST }, { SQLITE_INTERRUPT, -EINTR },
};

int sql_error(struct store *s, int code, struct err *err, const char *doing)
{
	int rc = -EIO, system = s->db ? sqlite3_system_errno(s->db) : 0;
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (codes[i].code == (code & 0xff))
			rc = codes[i].rc;
	/* A full disk is an I/O error in some places; there the system knows better. */
	if ((code & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT))
		rc = -ENOSPC;
	const char *why = s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code);
	if (rc == -ENOSPC)
		why = "no space left on the device";
	else if (rc == -EBUSY)
		why = "another program is writing to it, and has been for 10 s";
	else if ((code & 0xff) == SQLITE_NOTADB)
		why = "this is not a database";
	else if (!s->writable &&
		 ((code & 0xff) == SQLITE_READONLY || (code & 0xff) == SQLITE_CANTOPEN))
		why = "reading needs its -wal and -shm files, or a folder to make them in; copy "
		      "the "
		      "store to a folder of yours";
	s->failed = rc;
	if (s->in_transaction && !s->broken)
		s->broken = rc;
	return err_set(err, rc, "store %s: %s: %s", s->path, doing, why);
}

/* ---- statements ---------------------------------------------------------------------------- */

sqlite3_stmt *sql_statement(struct store *s, enum statement which, const char *text,
			    struct err *err)
{
	sqlite3_stmt *stmt = s->statements[which];
	if (stmt && !sqlite3_stmt_busy(stmt))
		return stmt;
	bool keep = !stmt;
	int code = sqlite3_prepare_v3(s->db, text, -1, keep ? SQLITE_PREPARE_PERSISTENT : 0, &stmt,
				      NULL);
	if (code) {
		(void)sql_error(s, code, err, "prepare");
		return NULL;
	}
	if (keep)
		s->statements[which] = stmt;
	return stmt;
}

void sql_release(struct store *s, enum statement which, sqlite3_stmt *stmt)
{
	if (stmt != s->statements[which]) {
		(void)sqlite3_finalize(stmt);
		return;
	}
	(void)sqlite3_reset(stmt);
	(void)sqlite3_clear_bindings(stmt); /* they borrow the caller's memory */
}

int sql_run(struct store *s, enum statement which, sqlite3_stmt *stmt, struct err *err,
	    const char *doing)
{
	int code = sqlite3_step(stmt);
	int rc = code == SQLITE_DONE ? 0 : sql_error(s, code, err, doing);
	sql_release(s, which, stmt);
	return rc;
}

int sql_exec(struct store *s, const char *text, struct err *err)
{
	int code = sqlite3_exec(s->db, text, NULL, NULL, NULL);
	return code ? sql_error(s, code, err, "set up") : 0;
}

void sql_bind_num(sqlite3_stmt *stmt, int at, double x)
{
	(void)(known(x) ? sqlite3_bind_double(stmt, at, num15(x)) : sqlite3_bind_null(stmt, at));
}

void sql_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	(void)sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

double sql_num(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
		       ? (double)NAN
		       : sqlite3_column_double(stmt, column);
}

const char *sql_text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

/* ---- transactions -------------------------------------------------------------------------- */

static int run_text(struct store *s, enum statement which, const char *text, const char *doing,
		    struct err *err)
{
	sqlite3_stmt *stmt = sql_statement(s, which, text, err);
	return stmt ? sql_run(s, which, stmt, err, doing) : s->failed;
}

/* A write lock from the start: a reader that turns into a writer can't be made to wait. */
static int begin(struct store *s, struct err *err)
{
	return run_text(s, STMT_BEGIN, "BEGIN IMMEDIATE", "begin to write", err);
}

static int commit(struct store *s, struct err *err)
{
	int rc = run_text(s, STMT_COMMIT, "COMMIT", "commit", err);
	if (rc && !sqlite3_get_autocommit(s->db))
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	inbox_settle(s, !rc);
	return rc;
}

static void rollback(struct store *s)
{
	/* SQLite may have rolled back by itself: full disk, no memory. */
	if (!sqlite3_get_autocommit(s->db))
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	inbox_settle(s, false);
}

int sql_begin(struct store *s, struct err *err)
{
	if (!s->writable)
		return err_set(err, -EROFS, "store %s: opened for reading only", s->path);
	if (s->in_transaction && s->broken)
		return err_set(err, s->broken, "store %s: an earlier write of this batch failed",
			       s->path);
	return s->in_transaction ? 0 : begin(s, err);
}

int sql_end(struct store *s, int rc, struct err *err)
{
	if (s->in_transaction)
		return rc;
	if (!rc)
		return commit(s, err);
	rollback(s);
	return rc;
}

int store_begin(struct store *s, struct err *err)
{
	if (s->in_transaction)
		return err_set(err, -EALREADY, "store %s: a batch has begun already", s->path);
	int rc = sql_begin(s, err);
	s->in_transaction = !rc;
	s->broken = 0;
	return rc;
}

int store_commit(struct store *s, struct err *err)
{
	if (!s->in_transaction)
		return err_set(err, -EINVAL, "store %s: no batch was begun", s->path);
	int broken = s->broken;
	if (broken) {
		store_rollback(s);
		return err_set(err, broken,
			       "store %s: a write of this batch failed, nothing of it was kept",
			       s->path);
	}
	s->in_transaction = false;
	return commit(s, err);
}

void store_rollback(struct store *s)
{
	if (!s->in_transaction)
		return;
	s->in_transaction = false;
	s->broken = 0;
	rollback(s);
}

int store_snapshot(struct store *s, struct err *err)
{
	if (s->in_transaction || !sqlite3_get_autocommit(s->db))
		return err_set(err, -EALREADY, "store %s: a batch has begun already", s->path);
	return run_text(s, STMT_SNAPSHOT, "BEGIN", "begin to read", err);
}

void store_snapshot_end(struct store *s)
{
	if (!s->in_transaction && !sqlite3_get_autocommit(s->db))
		(void)run_text(s, STMT_SNAPSHOT_END, "ROLLBACK", "end reading", NULL);
}

/* ---- opening ------------------------------------------------------------------------------- */

static int open_file(struct store *s, struct err *err)
{
	int flags =
		SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
		(s->writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
	int code = sqlite3_open_v2(s->path, &s->db, flags, NULL);
	if (code)
		return sql_error(s, code, err, "open");
	(void)sqlite3_busy_timeout(s->db, BUSY_MS);
	return 0;
}

/* Going over to WAL takes a lock that SQLite does not wait for. */
static int use_wal(struct store *s, struct err *err)
{
	int code = SQLITE_BUSY;
	for (int tries = 0; tries < BUSY_MS / 50 && (code & 0xff) == SQLITE_BUSY; tries++) {
		if (tries)
			(void)sqlite3_sleep(50);
		code = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	}
	return code ? sql_error(s, code, err, "write ahead") : 0;
}

/* FULL: what was committed is on disk. Deleted pages are not overwritten: nothing here is secret.
 */
static int set_up(struct store *s, struct err *err)
{
	int rc = sql_exec(s,
			  "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; "
			  "PRAGMA synchronous = FULL; PRAGMA secure_delete = FAST",
			  err);
	if (rc)
		return rc;
	rc = steps_apply(s, err); /* before anything is changed: it may not be ours */
	if (rc || !s->writable)
		return rc;
	/* The log file stays after the last one closes, empty, so that readers who may not write in
	 * this folder can still open the store. */
	int on = 1;
	(void)sqlite3_file_control(s->db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
	rc = sql_exec(s, "PRAGMA journal_size_limit = 4194304", err);
	return rc ? rc : use_wal(s, err);
}

static int must_exist(const char *path, struct err *err)
{
	struct stat st;
	if (!stat(path, &st))
		return 0;
	if (errno == ENOENT)
		return err_set(
			err, -ENOENT,
			"store %s: there is none yet; measure or import something first, or name "
			"another with --db",
			path);
	return err_set(err, -errno, "store %s: %s", path, strerror(errno));
}

int store_open(struct store **ret_store, const char *path, enum store_mode mode, struct err *err)
{
	if (sqlite3_libversion_number() < OLDEST_SQLITE)
		return err_set(err, -ENOSYS, "SQLite %s is too old, 3.37 is needed",
			       sqlite3_libversion());
	int rc = mode == STORE_READ ? must_exist(path, err) : 0;
	if (!rc)
		rc = place_check(path, err);
	if (rc)
		return rc;
	struct store *s = calloc(1, sizeof *s);
	if (s)
		s->path = strdup(path);
	if (!s || !s->path) {
		free(s);
		return err_set(err, -ENOMEM, "out of memory");
	}
	s->writable = mode == STORE_WRITE;
	s->pack_body = pack_new();
	s->pack_ops = pack_new();
	if (!s->pack_body || !s->pack_ops) {
		rc = err_set(err, -ENOMEM, "out of memory");
		goto fail;
	}
	rc = open_file(s, err);
	if (rc)
		goto fail;
	rc = set_up(s, err);
	if (rc)
		goto fail;
	*ret_store = s;
	return 0;

fail:
	store_close(s);
	return rc;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_rollback(s);
	for (size_t i = 0; i < STMT_N; i++)
		(void)sqlite3_finalize(s->statements[i]);
	(void)sqlite3_close(s->db);
	inbox_free(s->inbox);
	buf_done(&s->found);
	buf_done(&s->body);
	buf_done(&s->ops);
	pack_free(s->pack_body);
	pack_free(s->pack_ops);
	free(s->path);
	free(s);
}
