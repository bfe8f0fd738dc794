/* Results of conformance tests. */
#include <errno.h>
#include <string.h>

#include "schema/codec.h"
#include "store/sqlite.h"

/* What came back from an export has the digits of JSON. */
static bool is_same(const void *stored, size_t n, const struct buf *body)
{
	struct arena arena = { 0 };
	struct conformance a, b;
	if (n == body->len && memcmp(stored, body->data, n) == 0)
		return true;
	bool same = false;
	if (conformance_get(&a, &arena, stored, n, NULL) == 0 &&
	    conformance_get(&b, &arena, body->data, body->len, NULL) == 0) {
		json_t *x = conformance_to_json(&a), *y = conformance_to_json(&b);
		struct buf tx = { 0 }, ty = { 0 };
		same = x && y && json_text(&tx, x) == 0 && json_text(&ty, y) == 0 &&
		       tx.len == ty.len && memcmp(tx.data, ty.data, tx.len) == 0;
		buf_done(&tx);
		buf_done(&ty);
		json_decref(x);
		json_decref(y);
	}
	arena_free(&arena);
	return same;
}

static int is_stored(struct store *s, const struct conformance *c, const struct buf *body,
		     struct err *err)
{
	sqlite3_stmt *stmt = sql_statement(s, STMT_FIND_CONFORMANCE,
					   "SELECT body FROM conformance "
					   "WHERE platform = ? AND collector = ? AND utc = ?",
					   err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, c->platform);
	sql_bind_text(stmt, 2, c->collector);
	sql_bind_text(stmt, 3, c->utc);
	int code = sqlite3_step(stmt), rc = 0;
	if (code == SQLITE_ROW) {
		size_t n = (size_t)sqlite3_column_bytes(stmt, 0);
		rc = is_same(sqlite3_column_blob(stmt, 0), n, body)
			     ? 1
			     : err_set(err, -EEXIST,
				       "store %s: there is another conformance result of %s with "
				       "%s "
				       "at %s; nothing was changed",
				       s->path, c->platform, c->collector, c->utc);
	} else if (code != SQLITE_DONE) {
		rc = sql_error(s, code, err, "look for a conformance result");
	}
	sql_release(s, STMT_FIND_CONFORMANCE, stmt);
	return rc;
}

static int insert(struct store *s, const struct conformance *c, const struct buf *body,
		  struct err *err)
{
	sqlite3_stmt *stmt =
		sql_statement(s, STMT_ADD_CONFORMANCE,
			      "INSERT INTO conformance (platform, collector, utc, verdict, body) "
			      "VALUES (?, ?, ?, ?, ?)",
			      err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, c->platform);
	sql_bind_text(stmt, 2, c->collector);
	sql_bind_text(stmt, 3, c->utc);
	sql_bind_text(stmt, 4, c->verdict);
	(void)sqlite3_bind_blob64(stmt, 5, body->data, body->len, SQLITE_STATIC);
	return sql_run(s, STMT_ADD_CONFORMANCE, stmt, err, "add a conformance result");
}

int store_add_conformance(struct store *s, const struct conformance *c, bool *ret_new,
			  struct err *err)
{
	struct buf body = { 0 };
	bool is_new = false;
	int rc = conformance_check(c, err);
	if (rc)
		return rc;
	block_put(&body, &conformance_block, c);
	rc = body.failed ? err_set(err, -ENOMEM, "out of memory") : sql_begin(s, err);
	if (!rc) {
		rc = is_stored(s, c, &body, err);
		is_new = rc == 0;
		if (!rc)
			rc = insert(s, c, &body, err);
		rc = sql_end(s, rc > 0 ? 0 : rc, err);
	}
	buf_done(&body);
	if (!rc && ret_new)
		*ret_new = is_new;
	return rc;
}

static int give(struct store *s, sqlite3_stmt *stmt, struct arena *a,
		int (*each)(void *arg, const struct conformance *c), void *arg, struct err *err)
{
	struct conformance c;
	int rc = block_get(a, &conformance_block, &c, sqlite3_column_blob(stmt, 0),
			   (size_t)sqlite3_column_bytes(stmt, 0), err);
	return rc ? err_wrap(err, rc, "store %s: a conformance result", s->path) : each(arg, &c);
}

#define IS_ASKED "(?2 IS NULL OR collector = ?2)"

/* x'' stands behind any text. */
#define ALL                                                                                        \
	"SELECT body FROM conformance WHERE platform BETWEEN ifnull(?1, '') AND ifnull(?1, x'') "  \
	"AND " IS_ASKED " ORDER BY platform, collector, utc DESC"

/* From one platform to the next, and from one collector of it to the next, each by the key: results
 * before the newest, which in a year are hundreds of each, are not touched. */
#define NEWEST                                                                                     \
	"WITH RECURSIVE p (platform) AS ("                                                         \
	"SELECT ifnull(?1, (SELECT min(platform) FROM conformance)) "                              \
	"UNION ALL SELECT (SELECT min(c.platform) FROM conformance AS c "                          \
	"WHERE c.platform > p.platform) FROM p WHERE ?1 IS NULL AND p.platform IS NOT NULL), "     \
	"k (platform, collector) AS ("                                                             \
	"SELECT platform, (SELECT min(c.collector) FROM conformance AS c "                         \
	"WHERE c.platform = p.platform) FROM p WHERE platform IS NOT NULL "                        \
	"UNION ALL SELECT platform, (SELECT min(c.collector) FROM conformance AS c "               \
	"WHERE c.platform = k.platform AND c.collector > k.collector) FROM k "                     \
	"WHERE collector IS NOT NULL) "                                                            \
	"SELECT body FROM k CROSS JOIN conformance USING (platform, collector) "                   \
	"WHERE " IS_ASKED " AND utc = (SELECT max(n.utc) FROM conformance AS n "                   \
	"WHERE n.platform = k.platform AND n.collector = k.collector) "                            \
	"ORDER BY platform, collector"

int store_each_conformance(struct store *s, const char *platform, const char *collector, bool all,
			   int (*each)(void *arg, const struct conformance *c), void *arg,
			   struct err *err)
{
	enum statement which = all ? STMT_EACH_CONFORMANCE : STMT_NEWEST_CONFORMANCE;
	sqlite3_stmt *stmt = sql_statement(s, which, all ? ALL : NEWEST, err);
	int code = SQLITE_DONE, rc = 0;
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, platform);
	sql_bind_text(stmt, 2, collector);
	while (!rc && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct arena arena = { 0 };
		rc = give(s, stmt, &arena, each, arg, err);
		arena_free(&arena);
	}
	if (!rc && code != SQLITE_DONE)
		rc = sql_error(s, code, err, "read conformance results");
	sql_release(s, which, stmt);
	return rc;
}
