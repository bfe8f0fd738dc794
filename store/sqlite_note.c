/* What senders say about themselves: gaps, losses, their node. Each is one row, replaced by what is
 * newer or larger, so that what comes twice counts once. */
#include "store/sqlite_inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct str or_empty(struct str text)
{
	return text.p ? text : (struct str){ .p = "", .n = 0 };
}

/* A write of one row, by itself or within the caller's transaction. */
static int write_row(struct store *s, enum inbox_statement which, sqlite3_stmt *stmt,
		     struct err *err)
{
	return stmt ? in_run(s, which, stmt, err, "note what a sender says") : s->failed;
}

int inbox_put_gap(struct store *s, int64_t spool, const struct inbox_gap *g, int64_t real_ns,
		  struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_GAP,
		"INSERT INTO inbox_gap (spool, first, last, what, why, carried, from_ns, to_ns, "
		"real_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
		"carried = max(carried, excluded.carried)",
		err);
	if (stmt) {
		(void)sqlite3_bind_int64(stmt, 1, spool);
		(void)sqlite3_bind_int64(stmt, 2, (int64_t)g->first);
		(void)sqlite3_bind_int64(stmt, 3, (int64_t)g->last);
		in_bind_str(stmt, 4, g->what);
		in_bind_str(stmt, 5, g->why);
		(void)sqlite3_bind_int(stmt, 6, g->carried);
		in_bind_ns(stmt, 7, g->from_ns);
		in_bind_ns(stmt, 8, g->to_ns);
		(void)sqlite3_bind_int64(stmt, 9, real_ns);
	}
	return sql_end(s, write_row(s, IN_PUT_GAP, stmt, err), err);
}

/* The count of the agent is of all together, ours of those in this batch. */
#define MORE                                                                                       \
	"count = CASE excluded.ours WHEN 1 THEN count + excluded.count "                           \
	"ELSE max(count, excluded.count) END, "                                                    \
	"bytes = CASE excluded.ours WHEN 1 THEN bytes + excluded.bytes "                           \
	"ELSE max(bytes, excluded.bytes) END, "                                                    \
	"from_ns = min(coalesce(from_ns, excluded.from_ns), coalesce(excluded.from_ns, "           \
	"from_ns)), "                                                                              \
	"to_ns = max(coalesce(to_ns, excluded.to_ns), coalesce(excluded.to_ns, to_ns)), "          \
	"text = max(coalesce(text, excluded.text), coalesce(excluded.text, text)), "               \
	"real_ns = excluded.real_ns"

int inbox_put_loss(struct store *s, int64_t spool, const struct inbox_loss *l, int64_t real_ns,
		   struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_LOSS,
		"INSERT INTO inbox_loss (spool, what, why, run, exec, count, bytes, from_ns, "
		"to_ns, text, ours, real_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
		"ON CONFLICT DO UPDATE SET " MORE,
		err);
	if (stmt) {
		(void)sqlite3_bind_int64(stmt, 1, spool);
		in_bind_str(stmt, 2, or_empty(l->what));
		in_bind_str(stmt, 3, or_empty(l->why));
		in_bind_str(stmt, 4, or_empty(l->run));
		in_bind_str(stmt, 5, or_empty(l->exec));
		(void)sqlite3_bind_int64(stmt, 6, (int64_t)l->count);
		(void)sqlite3_bind_int64(stmt, 7, (int64_t)l->bytes);
		in_bind_ns(stmt, 8, l->from_ns);
		in_bind_ns(stmt, 9, l->to_ns);
		in_bind_str(stmt, 10, l->text);
		(void)sqlite3_bind_int(stmt, 11, l->ours);
		(void)sqlite3_bind_int64(stmt, 12, real_ns);
	}
	return sql_end(s, write_row(s, IN_PUT_LOSS, stmt, err), err);
}

int inbox_drop_loss(struct store *s, const char *run, const char *what, const char *why,
		    struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_DROP_LOSS,
		"DELETE FROM inbox_loss WHERE run = ?1 AND run <> '' AND what = ?2 AND why = ?3",
		err);
	if (stmt) {
		sql_bind_text(stmt, 1, run);
		sql_bind_text(stmt, 2, what);
		sql_bind_text(stmt, 3, why);
	}
	return sql_end(s, write_row(s, IN_DROP_LOSS, stmt, err), err);
}

int inbox_put_node(struct store *s, struct str agent, int64_t real_ns, struct str frame,
		   struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_NODE,
		"INSERT INTO inbox_node (agent, real_ns, frame) VALUES (?, ?, ?) ON CONFLICT DO "
		"UPDATE SET real_ns = excluded.real_ns, frame = excluded.frame "
		"WHERE (excluded.real_ns, excluded.frame) > (real_ns, frame)",
		err);
	if (stmt) {
		in_bind_str(stmt, 1, agent);
		(void)sqlite3_bind_int64(stmt, 2, real_ns);
		in_bind_blob(stmt, 3, frame);
	}
	return sql_end(s, write_row(s, IN_PUT_NODE, stmt, err), err);
}

int inbox_newer_declared(struct store *s, const char *suite, int64_t real_ns, uint64_t sum,
			 bool *ret, struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_DECLARED,
		"INSERT INTO inbox_declared (suite, real_ns, sum) VALUES (?, ?, ?) ON CONFLICT DO "
		"UPDATE SET real_ns = excluded.real_ns, sum = excluded.sum "
		"WHERE (excluded.real_ns, excluded.sum) > (real_ns, sum)",
		err);
	if (stmt) {
		sql_bind_text(stmt, 1, suite);
		(void)sqlite3_bind_int64(stmt, 2, real_ns);
		(void)sqlite3_bind_int64(stmt, 3, (int64_t)sum);
	}
	rc = write_row(s, IN_DECLARED, stmt, err);
	*ret = !rc && sqlite3_changes(s->db) > 0;
	return sql_end(s, rc, err);
}

int inbox_put_self(struct store *s, const struct batch_sender *from, int64_t real_ns,
		   struct str frame, struct err *err)
{
	struct inbox *in;
	struct sender *p = NULL;
	int rc = in_ready(s, &in, err);
	if (!rc)
		rc = in_sender(s, from->agent, from->spool, &p, err);
	if (rc || !p || (p->self && real_ns < p->self_ns))
		return rc;
	char *copy = realloc(p->self, frame.n + 1);
	if (!copy)
		return err_set(err, -ENOMEM, "store %s: out of memory", s->path);
	memcpy(copy, frame.p, frame.n);
	p->self = copy;
	p->self_n = frame.n;
	p->self_ns = real_ns;
	p->self_new = true;
	return 0;
}

int in_keep_self(struct store *s, const struct sender *p, struct err *err)
{
	sqlite3_stmt *stmt =
		in_statement(s, IN_PUT_SELF,
			     "UPDATE inbox_spool SET self = ?3, self_ns = ?2 WHERE id = ?1 AND "
			     "(self_ns IS NULL OR (?2, ?3) > (self_ns, self))",
			     err);
	if (stmt) {
		(void)sqlite3_bind_int64(stmt, 1, p->id);
		(void)sqlite3_bind_int64(stmt, 2, p->self_ns);
		in_bind_blob(stmt, 3, (struct str){ .p = p->self, .n = p->self_n });
	}
	return write_row(s, IN_PUT_SELF, stmt, err);
}

int inbox_get_node(struct store *s, int64_t spool, struct arena *a, struct str *ret,
		   struct err *err)
{
	*ret = (struct str){ .p = NULL };
	sqlite3_stmt *stmt =
		in_statement(s, IN_GET_NODE,
			     "SELECT frame FROM inbox_node WHERE agent = (SELECT agent "
			     "FROM inbox_spool WHERE id = ?)",
			     err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, spool);
	int rc = in_step(s, stmt, err, "look for a node");
	struct str frame = rc > 0 ? in_blob(stmt, 0) : (struct str){ .p = NULL };
	*ret = (struct str){ .p = arena_strndup(a, frame.p, frame.n), .n = frame.n };
	in_release(s, IN_GET_NODE, stmt);
	if (rc > 0 && !ret->p)
		return err_set(err, -ENOMEM, "store %s: out of memory", s->path);
	return rc < 0 ? rc : 0;
}
