/* What asks the store. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "schema/codec.h"
#include "schema/runid.h"
#include "store/sqlite.h"

/* ---- one run ------------------------------------------------------------------------------- */

void sql_content_hash(unsigned char hash[16], const void *body, size_t n, const void *ops,
		      size_t ops_n)
{
	XXH64_hash_t seed = ops ? XXH3_64bits(ops, ops_n) | 1 : 0;
	XXH128_canonical_t canonical;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(body, n, seed));
	static_assert(sizeof canonical == 16, "a hash has 16 bytes");
	memcpy(hash, &canonical, 16);
}

static int unpack(struct store *s, sqlite3_stmt *stmt, int column, struct buf *b,
		  const void **ret_plain, size_t *ret_n, const char *run_id, struct err *err)
{
	int rc = pack_get(sqlite3_column_blob(stmt, column),
			  (size_t)sqlite3_column_bytes(stmt, column), b, ret_plain, ret_n);
	if (rc == -EBADMSG)
		return err_set(err, -EUCLEAN, "store %s: the record of run %s is damaged", s->path,
			       run_id);
	return rc ? err_set(err, rc, "store %s: run %s: out of memory", s->path, run_id) : 0;
}

static int decode(struct store *s, sqlite3_stmt *stmt, const char *run_id, struct record *rec,
		  struct err *err)
{
	unsigned char hash[16];
	const void *body, *ops;
	size_t n, ops_n;
	int rc = unpack(s, stmt, 0, &s->body, &body, &n, run_id, err);
	if (!rc)
		rc = unpack(s, stmt, 1, &s->ops, &ops, &ops_n, run_id, err);
	if (rc)
		return rc;
	sql_content_hash(hash, body, n, ops, ops_n);
	if (sqlite3_column_bytes(stmt, 2) != 16 ||
	    memcmp(sqlite3_column_blob(stmt, 2), hash, 16) != 0)
		return err_set(err, -EUCLEAN, "store %s: the record of run %s is damaged", s->path,
			       run_id);
	rc = record_get(rec, body, n, ops, ops_n, err);
	return rc ? err_wrap(err, rc, "store %s: run %s", s->path, run_id) : 0;
}

int store_get_run(struct store *s, const char *run_id, struct record *rec, struct err *err)
{
	int64_t key;
	record_init(rec);
	if (!runid_key(run_id, &key))
		return err_set(err, -ENOENT, "store %s: there is no run %s", s->path, run_id);
	sqlite3_stmt *stmt = sql_statement(
		s, STMT_GET_RUN,
		"SELECT body, ops, hash FROM run JOIN run_body ON run_body.run = run.id "
		"WHERE run.id = ?",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, key);
	int code = sqlite3_step(stmt), rc;
	if (code == SQLITE_ROW)
		rc = decode(s, stmt, run_id, rec, err);
	else if (code == SQLITE_DONE)
		rc = err_set(err, -ENOENT, "store %s: there is no run %s", s->path, run_id);
	else
		rc = sql_error(s, code, err, "read the run");
	sql_release(s, STMT_GET_RUN, stmt);
	return rc;
}

/* Run a statement that gives one whole number. */
static int read_number(struct store *s, enum statement which, const char *text, int64_t *ret,
		       struct err *err)
{
	sqlite3_stmt *stmt = sql_statement(s, which, text, err);
	if (!stmt)
		return s->failed;
	int code = sqlite3_step(stmt), rc = 0;
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	else
		rc = sql_error(s, code, err, "ask for its version");
	sql_release(s, which, stmt);
	return rc;
}

/* data_version tells that others wrote anything at all, total_changes that we did. It is asked
 * first: what is written between the two questions is looked for again the next time. */
int store_version(struct store *s, uint64_t *ret, struct err *err)
{
	int64_t data_version, version = 0;
	int changes = sqlite3_total_changes(s->db);
	int rc = read_number(s, STMT_DATA_VERSION, "PRAGMA data_version", &data_version, err);
	if (rc)
		return rc;
	if (!s->version_known || s->data_version != (uint64_t)data_version ||
	    s->changes != changes) {
		rc = read_number(s, STMT_VERSION, "SELECT coalesce(max(change), 0) FROM app_change",
				 &version, err);
		if (rc)
			return rc;
		s->version_known = true;
		s->version = (uint64_t)version;
		s->data_version = (uint64_t)data_version;
		s->changes = changes;
	}
	*ret = s->version;
	return 0;
}

int store_each_changed(struct store *s, uint64_t since,
		       int (*each)(void *arg, const char *suite, const char *app), void *arg,
		       struct err *err)
{
	sqlite3_stmt *stmt = sql_statement(
		s, STMT_CHANGED,
		"SELECT suite, app FROM app_change WHERE change > ? ORDER BY change", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)since);
	int rc = 0, code = SQLITE_DONE;
	while (!rc && (code = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = each(arg, sql_text(stmt, 0), sql_text(stmt, 1));
	if (!rc && code != SQLITE_DONE)
		rc = sql_error(s, code, err, "read what has changed");
	sql_release(s, STMT_CHANGED, stmt);
	return rc;
}

int store_run_hash(struct store *s, const char *run_id, unsigned char ret_hash[16], struct err *err)
{
	int64_t key;
	if (!runid_key(run_id, &key))
		return err_set(err, -ENOENT, "store %s: there is no run %s", s->path, run_id);
	sqlite3_stmt *stmt =
		sql_statement(s, STMT_RUN_HASH, "SELECT hash FROM run WHERE id = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, key);
	int code = sqlite3_step(stmt), rc = 0;
	if (code == SQLITE_DONE)
		rc = err_set(err, -ENOENT, "store %s: there is no run %s", s->path, run_id);
	else if (code != SQLITE_ROW)
		rc = sql_error(s, code, err, "read the run");
	else if (sqlite3_column_bytes(stmt, 0) != 16)
		rc = err_set(err, -EUCLEAN, "store %s: the record of run %s is damaged", s->path,
			     run_id);
	else
		memcpy(ret_hash, sqlite3_column_blob(stmt, 0), 16);
	sql_release(s, STMT_RUN_HASH, stmt);
	return rc;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* The columns of SHARED from this one on. */
static void read_shared(sqlite3_stmt *stmt, int at, struct run_row *row)
{
	row->kind = sql_text(stmt, at);
	row->utc = sql_text(stmt, at + 1);
	row->wall_s = sql_num(stmt, at + 2);
	row->cv = sql_num(stmt, at + 3);
	row->min_s = sql_num(stmt, at + 4);
	row->max_s = sql_num(stmt, at + 5);
	row->samples = sql_num(stmt, at + 6);
	row->process_wall_s = sql_num(stmt, at + 7);
	row->busy_frac = sql_num(stmt, at + 8);
	row->fom = sql_num(stmt, at + 9);
	row->caveats = sql_num(stmt, at + 10);
}

/* Conditions and the texts that go with them, in order. */
struct where {
	struct buf text;
	const char *values[8];
	int n;
};

static void also(struct where *w, const char *condition, const char *value)
{
	if (!value)
		return;
	buf_printf(&w->text, "%s%s", w->text.len ? " AND " : " WHERE ", condition);
	w->values[w->n++] = value;
}

static void run_where(struct where *w, const struct run_query *q)
{
	/* With an application named, its cells' runs are picked by the index; a suite is most of
	 * the store, and the walk in order of time is left at the limit. */
	bool few = q->app;
	struct where cells = { 0 };
	also(&cells, "suite = ?", q->suite);
	also(&cells, "app = ?", q->app);
	also(&cells, "case_name = ?", q->case_);
	also(&cells, "platform = ?", q->platform);
	if (cells.n) {
		buf_printf(&w->text, " WHERE %srun.cell IN (SELECT id FROM cell%s)", few ? "" : "+",
			   cells.text.data ? cells.text.data : "");
		for (int i = 0; i < cells.n; i++)
			w->values[w->n++] = cells.values[i];
	}
	w->text.failed |= cells.text.failed;
	buf_done(&cells.text);
	also(w, "status = ?", q->status);
	also(w, "kind = ?", q->kind);
	also(w, "utc >= ?", q->since);
}

static sqlite3_stmt *prepare_runs(struct store *s, const struct run_query *q, int64_t before,
				  struct err *err)
{
	struct where w = { 0 };
	struct buf text = { 0 };
	sqlite3_stmt *stmt = NULL;
	run_where(&w, q);
	buf_puts(&text, "SELECT run.id, suite, app, case_name, platform, status, " SHARED(
				"run.") ", input_hash FROM run JOIN cell ON cell.id = run.cell");
	if (w.text.len)
		buf_puts(&text, w.text.data);
	buf_printf(&text, "%s ORDER BY run.id DESC",
		   w.text.len ? " AND run.id < ?" : " WHERE run.id < ?");
	if (q->limit)
		buf_printf(&text, " LIMIT %llu",
			   (unsigned long long)(q->limit < INT64_MAX ? q->limit : INT64_MAX));
	int code = w.text.failed || text.failed
			   ? SQLITE_NOMEM
			   : sqlite3_prepare_v2(s->db, text.data, -1, &stmt, NULL);
	if (code)
		(void)sql_error(s, code, err, "list runs");
	for (int i = 0; stmt && i < w.n; i++)
		sql_bind_text(stmt, i + 1, w.values[i]);
	if (stmt)
		(void)sqlite3_bind_int64(stmt, w.n + 1, before);
	buf_done(&w.text);
	buf_done(&text);
	return stmt;
}

int store_each_run(struct store *s, const struct run_query *q,
		   int (*each)(void *arg, const struct run_row *row), void *arg, struct err *err)
{
	int64_t before = INT64_MAX; /* later than any run: seconds end before */
	if (q->before && !runid_key(q->before, &before))
		return err_set(err, -EINVAL, "\"%s\" is not a run id", q->before);
	sqlite3_stmt *stmt = prepare_runs(s, q, before, err);
	if (!stmt)
		return s->failed;
	int rc = 0, code = SQLITE_DONE;
	while (!rc && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		char run_id[RUNID_BYTES];
		struct run_row row = { .run_id =
					       runid_text(run_id, sqlite3_column_int64(stmt, 0)) };
		row.suite = sql_text(stmt, 1);
		row.app = sql_text(stmt, 2);
		row.case_ = sql_text(stmt, 3);
		row.platform = sql_text(stmt, 4);
		row.status = sql_text(stmt, 5);
		read_shared(stmt, 6, &row);
		row.input_hash = sql_text(stmt, 6 + N_SHARED);
		rc = each(arg, &row);
	}
	if (!rc && code != SQLITE_DONE)
		rc = sql_error(s, code, err, "list runs");
	(void)sqlite3_finalize(stmt);
	return rc;
}

/* ---- the grid ------------------------------------------------------------------------------ */

#define CELLS                                                                                      \
	"SELECT suite, app, case_name, platform, runs, ok, " SHARED(                               \
		"ok_") ", last, last_status, " SHARED("last_") " FROM cell"
#define IN_ORDER " ORDER BY suite, app, case_name, platform"

static const char *const cells_by[] = {
	CELLS IN_ORDER,
	CELLS " WHERE suite = ?1" IN_ORDER,
	CELLS " WHERE app = ?2" IN_ORDER,
	CELLS " WHERE suite = ?1 AND app = ?2" IN_ORDER,
};

enum { AT_OK = 5, AT_LAST = AT_OK + 1 + N_SHARED, AT_LAST_STATUS, AT_LAST_SHARED };

static void read_names(struct run_row *row, const struct cell *cell)
{
	row->suite = cell->suite;
	row->app = cell->app;
	row->case_ = cell->case_;
	row->platform = cell->platform;
}

static int give_cell(sqlite3_stmt *stmt, int (*each)(void *arg, const struct cell *cell), void *arg)
{
	char ok_id[RUNID_BYTES], last_id[RUNID_BYTES];
	struct cell cell = {
		.suite = sql_text(stmt, 0),
		.app = sql_text(stmt, 1),
		.case_ = sql_text(stmt, 2),
		.platform = sql_text(stmt, 3),
		.runs = (uint64_t)sqlite3_column_int64(stmt, 4),
	};
	if (sqlite3_column_type(stmt, AT_OK) != SQLITE_NULL) {
		cell.ok.run_id = runid_text(ok_id, sqlite3_column_int64(stmt, AT_OK));
		cell.ok.status = "ok";
		read_names(&cell.ok, &cell);
		read_shared(stmt, AT_OK + 1, &cell.ok);
	}
	if (sqlite3_column_type(stmt, AT_LAST_STATUS) == SQLITE_NULL) {
		cell.last = cell.ok;
	} else {
		cell.last.run_id = runid_text(last_id, sqlite3_column_int64(stmt, AT_LAST));
		cell.last.status = sql_text(stmt, AT_LAST_STATUS);
		read_names(&cell.last, &cell);
		read_shared(stmt, AT_LAST_SHARED, &cell.last);
	}
	return each(arg, &cell);
}

int store_each_cell(struct store *s, const char *suite, const char *app,
		    int (*each)(void *arg, const struct cell *cell), void *arg, struct err *err)
{
	int by = (suite ? 1 : 0) + (app ? 2 : 0);
	enum statement which = (enum statement)(STMT_EACH_CELL + by);
	sqlite3_stmt *stmt = sql_statement(s, which, cells_by[by], err);
	if (!stmt)
		return s->failed;
	if (suite)
		sql_bind_text(stmt, 1, suite);
	if (app)
		sql_bind_text(stmt, 2, app);
	int rc = 0, code = SQLITE_DONE;
	while (!rc && (code = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = give_cell(stmt, each, arg);
	if (!rc && code != SQLITE_DONE)
		rc = sql_error(s, code, err, "read the grid");
	sql_release(s, which, stmt);
	return rc;
}

#define DECLARED "SELECT suite, app, case_name, title, place FROM declared"

static const char *const declared_by[] = {
	DECLARED " ORDER BY suite, place",
	DECLARED " WHERE suite = ?1 ORDER BY place",
	DECLARED " WHERE suite = ?1 AND app = ?2 ORDER BY place",
};

int store_each_declared(struct store *s, const char *suite, const char *app,
			int (*each)(void *arg, const char *suite, const struct declared_case *c),
			void *arg, struct err *err)
{
	int by = !suite ? 0 : !app ? 1 : 2;
	enum statement which = (enum statement)(STMT_DECLARED + by);
	sqlite3_stmt *stmt = sql_statement(s, which, declared_by[by], err);
	if (!stmt)
		return s->failed;
	if (by > 0)
		sql_bind_text(stmt, 1, suite);
	if (by > 1)
		sql_bind_text(stmt, 2, app);
	int rc = 0, code = SQLITE_DONE;
	while (!rc && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const struct declared_case c = { .app = sql_text(stmt, 1),
						 .case_ = sql_text(stmt, 2),
						 .title = sql_text(stmt, 3),
						 .place = (uint64_t)sqlite3_column_int64(stmt, 4) };
		rc = each(arg, sql_text(stmt, 0), &c);
	}
	if (!rc && code != SQLITE_DONE)
		rc = sql_error(s, code, err, "read what is declared");
	sql_release(s, which, stmt);
	return rc;
}
