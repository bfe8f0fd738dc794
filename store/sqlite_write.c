/* What changes the store. Each write keeps the grid in the same transaction. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/num.h"
#include "schema/codec.h"
#include "schema/runid.h"
#include "store/sqlite.h"

/* ---- a run in columns ---------------------------------------------------------------------- */

/* Lists are printed without quotes: what is no hash stays in the record alone. */
static const char *hash_or_null(const char *text)
{
	size_t n = text ? strspn(text, "0123456789abcdef") : 0;
	return n >= 8 && n <= 64 && !text[n] ? text : NULL;
}

static struct run_row row_of(const struct record *rec)
{
	const struct record_body *b = &rec->body;
	return (struct run_row){
		.run_id = b->run_id,
		.suite = b->suite,
		.app = b->app,
		.case_ = b->case_,
		.platform = b->platform,
		.kind = b->kind,
		.utc = b->utc,
		.status = b->status,
		.wall_s = b->roi.wall_s,
		.cv = b->roi.cv,
		.min_s = b->roi.min_s,
		.max_s = b->roi.max_s,
		.samples = b->measurement.cleans_used,
		.process_wall_s = b->context.process_wall_s,
		.busy_frac = b->device.busy_frac_of_roi,
		.fom = b->fom.value,
		.caveats = b->caveats.items ? (double)b->caveats.n : (double)NAN,
		.input_hash = hash_or_null(b->inputs.input_hash),
	};
}

static void bind_shared(sqlite3_stmt *stmt, int at, const struct run_row *row)
{
	const double numbers[] = { row->wall_s,    row->cv,      row->min_s,
				   row->max_s,     row->samples, row->process_wall_s,
				   row->busy_frac, row->fom,     row->caveats };
	sql_bind_text(stmt, at, row->kind);
	sql_bind_text(stmt, at + 1, row->utc);
	for (int i = 0; i < N_SHARED - 2; i++)
		sql_bind_num(stmt, at + 2 + i, numbers[i]);
}

/* ---- add ----------------------------------------------------------------------------------- */

struct new_run {
	int64_t key;
	struct run_row row;
	unsigned char hash[16];
	bool has_ops;
};

static int encode(struct store *s, const struct record *rec, struct new_run *run, struct err *err)
{
	run->row = row_of(rec);
	run->has_ops = rec->body.ops.items;
	s->body.len = s->ops.len = 0;
	s->body.failed = s->ops.failed = false;
	record_put(&s->body, rec);
	if (run->has_ops)
		record_put_ops(&s->ops, rec);
	if (s->body.failed || s->ops.failed)
		return err_set(err, -ENOMEM, "out of memory");
	sql_content_hash(run->hash, s->body.data, s->body.len, run->has_ops ? s->ops.data : NULL,
			 run->has_ops ? s->ops.len : 0);
	return 0;
}

/* 1: there already, the same. */
static int find_same(struct store *s, const struct new_run *run, struct err *err)
{
	sqlite3_stmt *stmt =
		sql_statement(s, STMT_FIND_RUN, "SELECT hash FROM run WHERE id = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, run->key);
	int code = sqlite3_step(stmt), rc = 0;
	if (code == SQLITE_ROW) {
		bool same = sqlite3_column_bytes(stmt, 0) == (int)sizeof run->hash &&
			    !memcmp(sqlite3_column_blob(stmt, 0), run->hash, sizeof run->hash);
		rc = same ? 1
			  : err_set(err, -EEXIST,
				    "store %s: run %s is there already, with another content; "
				    "nothing was changed",
				    s->path, run->row.run_id);
	} else if (code != SQLITE_DONE) {
		rc = sql_error(s, code, err, "look for the run");
	}
	sql_release(s, STMT_FIND_RUN, stmt);
	return rc;
}

struct cell_state {
	int64_t id, ok, last; /* INT64_MIN: none; before any run that can be stored next */
};

static void bind_names(sqlite3_stmt *stmt, int at, const struct run_row *row)
{
	sql_bind_text(stmt, at, row->suite);
	sql_bind_text(stmt, at + 1, row->app);
	sql_bind_text(stmt, at + 2, row->case_);
	sql_bind_text(stmt, at + 3, row->platform);
}

static int64_t key_or_none(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
		       ? INT64_MIN
		       : sqlite3_column_int64(stmt, column);
}

static int new_cell(struct store *s, const struct run_row *row, struct err *err)
{
	sqlite3_stmt *stmt =
		sql_statement(s, STMT_NEW_CELL,
			      "INSERT INTO cell (suite, app, case_name, platform, id, runs) VALUES "
			      "(?, ?, ?, ?, (SELECT coalesce(max(id), 0) + 1 FROM cell), 0)",
			      err);
	if (!stmt)
		return s->failed;
	bind_names(stmt, 1, row);
	return sql_run(s, STMT_NEW_CELL, stmt, err, "add a cell");
}

static int find_cell(struct store *s, const struct run_row *row, struct cell_state *ret,
		     struct err *err)
{
	for (int made = 0;; made++) {
		sqlite3_stmt *stmt =
			sql_statement(s, STMT_FIND_CELL,
				      "SELECT id, ok, last FROM cell WHERE suite = ? AND app = ? "
				      "AND case_name = ? AND platform = ?",
				      err);
		if (!stmt)
			return s->failed;
		bind_names(stmt, 1, row);
		int code = sqlite3_step(stmt);
		if (code == SQLITE_ROW)
			*ret = (struct cell_state){ sqlite3_column_int64(stmt, 0),
						    key_or_none(stmt, 1), key_or_none(stmt, 2) };
		int rc = code == SQLITE_ROW || code == SQLITE_DONE
				 ? 0
				 : sql_error(s, code, err, "find the cell");
		sql_release(s, STMT_FIND_CELL, stmt);
		if (rc || code == SQLITE_ROW || made)
			return rc;
		rc = new_cell(s, row, err);
		if (rc)
			return rc;
	}
}

static int put_run(struct store *s, const struct new_run *run, int64_t cell, struct err *err)
{
	sqlite3_stmt *stmt = sql_statement(
		s, STMT_PUT_RUN,
		"INSERT INTO run (" SHARED("") ", id, cell, status, hash, input_hash) "
					       "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		err);
	if (!stmt)
		return s->failed;
	bind_shared(stmt, 1, &run->row);
	(void)sqlite3_bind_int64(stmt, N_SHARED + 1, run->key);
	(void)sqlite3_bind_int64(stmt, N_SHARED + 2, cell);
	sql_bind_text(stmt, N_SHARED + 3, run->row.status);
	(void)sqlite3_bind_blob(stmt, N_SHARED + 4, run->hash, sizeof run->hash, SQLITE_STATIC);
	sql_bind_text(stmt, N_SHARED + 5, run->row.input_hash);
	int rc = sql_run(s, STMT_PUT_RUN, stmt, err, "add the run");
	if (rc)
		return rc;

	stmt = sql_statement(s, STMT_PUT_BODY,
			     "INSERT INTO run_body (run, body, ops) VALUES (?, ?, ?)", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, run->key);
	const void *bytes;
	size_t n;
	pack_put(s->pack_body, &s->body, &bytes, &n);
	(void)sqlite3_bind_blob64(stmt, 2, bytes, n, SQLITE_STATIC);
	if (run->has_ops) {
		pack_put(s->pack_ops, &s->ops, &bytes, &n);
		(void)sqlite3_bind_blob64(stmt, 3, bytes, n, SQLITE_STATIC);
	}
	return sql_run(s, STMT_PUT_BODY, stmt, err, "add the record");
}

#define ASSIGN(P)                                                                                  \
	P "kind = ?6, " P "utc = ?7, " P "wall_s = ?8, " P "cv = ?9, " P "min_s = ?10, " P         \
	  "max_s = ?11, " P "samples = ?12, " P "process_wall_s = ?13, " P "busy_frac = ?14, " P   \
	  "fom = ?15, " P "caveats = ?16"
#define LAST_NULL                                                                                  \
	"last_kind = NULL, last_utc = NULL, last_wall_s = NULL, last_cv = NULL, last_min_s = "     \
	"NULL, "                                                                                   \
	"last_max_s = NULL, last_samples = NULL, last_process_wall_s = NULL, last_busy_frac = "    \
	"NULL, "                                                                                   \
	"last_fom = NULL, last_caveats = NULL, last_status = NULL"
#define COUNT "UPDATE cell SET runs = runs + 1"
#define OF_CELL " WHERE suite = ?1 AND app = ?2 AND case_name = ?3 AND platform = ?4"

static const struct {
	enum statement statement;
	const char *text;
} grid[] = {
	[0] = { STMT_CELL_COUNT, COUNT OF_CELL },
	[1] = { STMT_CELL_OK, COUNT ", ok = ?5, " ASSIGN("ok_") OF_CELL },
	[2] = { STMT_CELL_LAST, COUNT ", last = ?5, last_status = ?17, " ASSIGN("last_") OF_CELL },
	[3] = { STMT_CELL_BOTH,
		COUNT ", ok = ?5, last = ?5, " ASSIGN("ok_") ", " LAST_NULL OF_CELL },
};

/* Later is by run id, so runs may come in any order: an ok one may be the latest of its kind and
 * still not the last. */
static int keep_grid(struct store *s, const struct new_run *run, const struct cell_state *cell,
		     struct err *err)
{
	int ok = !strcmp(run->row.status, "ok") && run->key > cell->ok;
	int last = run->key > cell->last;
	int how = ok + 2 * last;
	sqlite3_stmt *stmt = sql_statement(s, grid[how].statement, grid[how].text, err);
	if (!stmt)
		return s->failed;
	bind_names(stmt, 1, &run->row);
	if (how) {
		(void)sqlite3_bind_int64(stmt, 5, run->key);
		bind_shared(stmt, 6, &run->row);
	}
	if (how == 2)
		sql_bind_text(stmt, 17, run->row.status);
	return sql_run(s, grid[how].statement, stmt, err, "keep the grid");
}

static int add(struct store *s, const struct new_run *run, struct err *err)
{
	struct cell_state cell = { 0 };
	int rc = find_same(s, run, err);
	if (rc)
		return rc > 0 ? 0 : rc;
	rc = find_cell(s, &run->row, &cell, err);
	if (rc)
		return rc;
	rc = put_run(s, run, cell.id, err);
	if (rc)
		return rc;
	return keep_grid(s, run, &cell, err);
}

static int prepare_run(struct store *s, const struct record *rec, struct new_run *run,
		       struct err *err)
{
	int rc = record_check(rec, err);
	if (rc)
		return err_wrap(err, rc, "a record that may not be stored");
	(void)runid_key(rec->body.run_id, &run->key);
	return encode(s, rec, run, err);
}

int store_add_run(struct store *s, const struct record *rec, struct err *err)
{
	struct new_run run = { 0 };
	int rc = prepare_run(s, rec, &run, err);
	if (!rc)
		rc = sql_begin(s, err);
	return rc ? rc : sql_end(s, add(s, &run, err), err);
}

/* ---- delete -------------------------------------------------------------------------------- */

static int delete_row(struct store *s, int64_t key, struct err *err)
{
	/* Its record goes with it (ON DELETE CASCADE). */
	sqlite3_stmt *stmt = sql_statement(s, STMT_DELETE_RUN, "DELETE FROM run WHERE id = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, key);
	return sql_run(s, STMT_DELETE_RUN, stmt, err, "delete the run");
}

/* What the grid shows of this cell, from its runs: they are few, and their index ends in id. */
static const char *const remake_cell[] = {
	"UPDATE cell SET runs = runs - 1, (ok, " SHARED("ok_") ") = (SELECT id, " SHARED(
		"") " FROM run WHERE cell = ?1 AND status = 'ok' ORDER BY id DESC LIMIT 1), (last, "
		    "last_status, " SHARED("last_") ") = (SELECT id, status, " SHARED("") " FROM "
											  "run "
											  "WHERE "
											  "cell = "
											  "?1 "
											  "ORDER "
											  "BY id "
											  "DESC "
											  "LIMIT "
											  "1) "
											  "WHERE "
											  "id = ?1",
	"UPDATE cell SET " LAST_NULL " WHERE id = ?1 AND last = ok",
	"DELETE FROM cell WHERE id = ?1 AND last IS NULL",
};

static int delete_run(struct store *s, int64_t key, const char *run_id, struct err *err)
{
	sqlite3_stmt *stmt =
		sql_statement(s, STMT_CELL_OF_RUN, "SELECT cell FROM run WHERE id = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, key);
	int code = sqlite3_step(stmt), rc = 0;
	int64_t cell = code == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
	if (code == SQLITE_DONE)
		rc = err_set(err, -ENOENT, "store %s: there is no run %s", s->path, run_id);
	else if (code != SQLITE_ROW)
		rc = sql_error(s, code, err, "look for the run");
	sql_release(s, STMT_CELL_OF_RUN, stmt);
	if (!rc)
		rc = delete_row(s, key, err);
	for (int i = 0; i < 3 && !rc; i++) {
		stmt = sql_statement(s, (enum statement)(STMT_REMAKE_CELL + i), remake_cell[i],
				     err);
		if (!stmt)
			return s->failed;
		(void)sqlite3_bind_int64(stmt, 1, cell);
		rc = sql_run(s, (enum statement)(STMT_REMAKE_CELL + i), stmt, err, "keep the grid");
	}
	return rc;
}

int store_delete_run(struct store *s, const char *run_id, struct err *err)
{
	int64_t key;
	if (!runid_key(run_id, &key))
		return err_set(err, -ENOENT, "store %s: there is no run %s", s->path, run_id);
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	return sql_end(s, delete_run(s, key, run_id, err), err);
}

/* ---- replace ------------------------------------------------------------------------------- */

static int replace(struct store *s, const struct new_run *run, struct err *err)
{
	struct err ignored;
	int rc = find_same(s, run, &ignored);
	if (rc == 1)
		return 0;
	if (rc && rc != -EEXIST)
		return err_set(err, rc, "%s", ignored.text);
	if (!rc)
		return err_set(err, -ENOENT, "store %s: there is no run %s", s->path,
			       run->row.run_id);
	/* The cell may be another one, and what it shows of the old content is told anew. */
	rc = delete_run(s, run->key, run->row.run_id, err);
	return rc ? rc : add(s, run, err);
}

int store_replace_run(struct store *s, const struct record *rec, struct err *err)
{
	struct new_run run = { 0 };
	int rc = prepare_run(s, rec, &run, err);
	if (!rc)
		rc = sql_begin(s, err);
	return rc ? rc : sql_end(s, replace(s, &run, err), err);
}

/* ---- declare ------------------------------------------------------------------------------- */

static int declare(struct store *s, const char *suite, const struct declared_case *cases, size_t n,
		   struct err *err)
{
	sqlite3_stmt *stmt =
		sql_statement(s, STMT_UNDECLARE, "DELETE FROM declared WHERE suite = ?", err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, suite);
	int rc = sql_run(s, STMT_UNDECLARE, stmt, err, "declare");
	for (size_t i = 0; i < n && !rc; i++) {
		stmt = sql_statement(s, STMT_DECLARE,
				     "INSERT INTO declared (suite, place, app, case_name, title) "
				     "VALUES (?,?,?,?,?)",
				     err);
		if (!stmt)
			return s->failed;
		sql_bind_text(stmt, 1, suite);
		(void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)i);
		sql_bind_text(stmt, 3, cases[i].app);
		sql_bind_text(stmt, 4, cases[i].case_);
		sql_bind_text(stmt, 5, cases[i].title);
		rc = sql_run(s, STMT_DECLARE, stmt, err, "declare");
		if (rc == -EEXIST)
			err_set(err, rc, "store %s: %s/%s is declared twice", s->path, cases[i].app,
				cases[i].case_);
	}
	return rc;
}

struct comparison {
	const struct declared_case *cases;
	size_t n, at;
	bool differs;
};

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static int compare_declared(void *arg, const char *suite, const struct declared_case *c)
{
	struct comparison *w = arg;
	(void)suite;
	if (w->at == w->n || !is_same_text(w->cases[w->at].app, c->app) ||
	    !is_same_text(w->cases[w->at].case_, c->case_) ||
	    !is_same_text(w->cases[w->at].title, c->title)) {
		w->differs = true;
		return 1;
	}
	w->at++;
	return 0;
}

/* Each run of a suite declares it anew, mostly the same: that must not make every report of it
 * old. */
int store_declare(struct store *s, const char *suite, const struct declared_case *cases, size_t n,
		  struct err *err)
{
	struct comparison w = { .cases = cases, .n = n };
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	rc = store_each_declared(s, suite, NULL, compare_declared, &w, err);
	if (rc >= 0)
		rc = w.differs || w.at != n ? declare(s, suite, cases, n, err) : 0;
	return sql_end(s, rc, err);
}
