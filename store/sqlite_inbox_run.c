/* Runs that are not records yet, or may have to be made again, and the frames about them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite_inbox.h"

#define RUN_COLUMNS                                                                                \
	"id, name, ambient, state, uid, began_age_ns, news_age_ns, due_age_ns, ended_age_ns, "     \
	"closed_age_ns, stored, why, wants_node"

static void read_run(sqlite3_stmt *stmt, struct inbox_run *r)
{
	int64_t due = in_ns(stmt, 7);
	*r = (struct inbox_run){ .id = sqlite3_column_int64(stmt, 0),
				 .name = sql_text(stmt, 1),
				 .ambient = sqlite3_column_int(stmt, 2),
				 .state = (enum inbox_state)sqlite3_column_int(stmt, 3),
				 .uid = sqlite3_column_int64(stmt, 4),
				 .began_age_ns = sqlite3_column_int64(stmt, 5),
				 .news_age_ns = sqlite3_column_int64(stmt, 6),
				 .due_age_ns = due == ROI_UNKNOWN ? INT64_MAX : due,
				 .ended_age_ns = in_ns(stmt, 8),
				 .closed_age_ns = in_ns(stmt, 9),
				 .stored = sql_text(stmt, 10),
				 .why = sql_text(stmt, 11),
				 .wants_node = sqlite3_column_int64(stmt, 12) };
}

/* The texts of a run that was found go with the statement: they are kept in the store, until the
 * next one is. */
static int keep_run(struct store *s, sqlite3_stmt *stmt, struct inbox_run *r, struct err *err)
{
	read_run(stmt, r);
	const char *texts[] = { r->name, r->stored, r->why };
	size_t at[3] = { 0 };
	s->found.len = 0;
	for (int i = 0; i < 3; i++) {
		at[i] = s->found.len;
		if (texts[i])
			buf_put(&s->found, texts[i], strlen(texts[i]) + 1);
	}
	if (s->found.failed) {
		s->found.failed = false;
		return err_set(err, -ENOMEM, "store %s: out of memory", s->path);
	}
	r->name = s->found.data + at[0];
	r->stored = r->stored ? s->found.data + at[1] : NULL;
	r->why = r->why ? s->found.data + at[2] : NULL;
	return 0;
}

int inbox_find_run(struct store *s, const char *name, struct inbox_run *ret, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_FIND_RUN, "SELECT " RUN_COLUMNS " FROM inbox_run WHERE name = ?", err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, name);
	int rc = in_step(s, stmt, err, "look for a run");
	if (rc > 0)
		rc = keep_run(s, stmt, ret, err);
	else if (!rc)
		rc = err_set(err, -ENOENT, "store %s: nothing came of the run %s", s->path, name);
	in_release(s, IN_FIND_RUN, stmt);
	return rc;
}

static int new_run(struct store *s, const char *name, bool ambient, int64_t age_ns, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_NEW_RUN,
		"INSERT INTO inbox_run (name, ambient, state, uid, began_age_ns, news_age_ns) "
		"VALUES (?1, ?2, 0, -1, ?3, ?3)",
		err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, name);
	(void)sqlite3_bind_int(stmt, 2, ambient);
	(void)sqlite3_bind_int64(stmt, 3, age_ns);
	return in_run(s, IN_NEW_RUN, stmt, err, "add a run");
}

int inbox_run(struct store *s, const char *name, bool ambient, int64_t age_ns,
	      struct inbox_run *ret, struct err *err)
{
	struct err none;
	int rc = inbox_find_run(s, name, ret, &none);
	if (rc != -ENOENT)
		return rc ? err_set(err, rc, "%s", none.text) : 0;
	rc = sql_begin(s, err);
	if (rc)
		return rc;
	rc = new_run(s, name, ambient, age_ns, err);
	if (!rc)
		rc = inbox_find_run(s, name, ret, err);
	return sql_end(s, rc, err);
}

int inbox_set_run(struct store *s, const struct inbox_run *r, struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_SET_RUN,
		"UPDATE inbox_run SET state = ?2, uid = ?3, began_age_ns = ?4, news_age_ns = ?5, "
		"due_age_ns = ?6, ended_age_ns = ?7, closed_age_ns = ?8, stored = ?9, why = ?10, "
		"wants_node = nullif(?11, 0) WHERE id = ?1",
		err);
	if (!stmt)
		return sql_end(s, s->failed, err);
	(void)sqlite3_bind_int64(stmt, 1, r->id);
	(void)sqlite3_bind_int(stmt, 2, (int)r->state);
	(void)sqlite3_bind_int64(stmt, 3, r->uid);
	(void)sqlite3_bind_int64(stmt, 4, r->began_age_ns);
	(void)sqlite3_bind_int64(stmt, 5, r->news_age_ns);
	in_bind_ns(stmt, 6, r->due_age_ns == INT64_MAX ? ROI_UNKNOWN : r->due_age_ns);
	in_bind_ns(stmt, 7, r->ended_age_ns);
	in_bind_ns(stmt, 8, r->closed_age_ns);
	sql_bind_text(stmt, 9, r->stored);
	sql_bind_text(stmt, 10, r->why);
	(void)sqlite3_bind_int64(stmt, 11, r->wants_node);
	return sql_end(s, in_run(s, IN_SET_RUN, stmt, err, "keep a run"), err);
}

int inbox_delete_run(struct store *s, int64_t id, struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	/* Its frames and logs go with it (ON DELETE CASCADE). */
	sqlite3_stmt *stmt =
		in_statement(s, IN_DELETE_RUN, "DELETE FROM inbox_run WHERE id = ?", err);
	if (stmt)
		(void)sqlite3_bind_int64(stmt, 1, id);
	rc = stmt ? in_run(s, IN_DELETE_RUN, stmt, err, "drop a run") : s->failed;
	return sql_end(s, rc, err);
}

int inbox_next_due(struct store *s, int64_t age_ns, struct inbox_run *ret, int64_t *ret_next_ns,
		   struct err *err)
{
	sqlite3_stmt *stmt =
		in_statement(s, IN_NEXT_DUE,
			     "SELECT " RUN_COLUMNS " FROM inbox_run WHERE due_age_ns IS NOT NULL "
			     "ORDER BY due_age_ns LIMIT 1",
			     err);
	if (!stmt)
		return s->failed;
	*ret_next_ns = INT64_MAX;
	int rc = in_step(s, stmt, err, "look for what is due");
	if (rc > 0) {
		rc = keep_run(s, stmt, ret, err);
		*ret_next_ns = ret->due_age_ns;
		if (!rc)
			rc = ret->due_age_ns <= age_ns;
	}
	in_release(s, IN_NEXT_DUE, stmt);
	return rc;
}

int inbox_node_came(struct store *s, struct str agent, int64_t age_ns, struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_NODE_CAME,
		"UPDATE inbox_run SET state = 3, due_age_ns = ?2, wants_node = NULL WHERE "
		"wants_node IN (SELECT id FROM inbox_spool WHERE agent = ?1) AND state = 1",
		err);
	if (!stmt)
		return sql_end(s, s->failed, err);
	in_bind_str(stmt, 1, agent);
	(void)sqlite3_bind_int64(stmt, 2, age_ns);
	return sql_end(s, in_run(s, IN_NODE_CAME, stmt, err, "note a node"), err);
}

int inbox_each_run(struct store *s, enum inbox_state state,
		   int (*each)(void *arg, const struct inbox_run *run), void *arg, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_EACH_RUN, "SELECT " RUN_COLUMNS " FROM inbox_run WHERE state = ? ORDER BY id",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int(stmt, 1, (int)state);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the runs")) > 0) {
		struct inbox_run r;
		read_run(stmt, &r);
		rc = each(arg, &r);
		if (rc)
			break;
	}
	in_release(s, IN_EACH_RUN, stmt);
	return rc;
}

/* ---- frames ---------------------------------------------------------------------------------- */

int inbox_put_frame(struct store *s, int64_t run, const struct inbox_frame *f, struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_FRAME,
		"INSERT INTO inbox_frame (run, type, exec, uid, spool, weight, real_ns, frame) "
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET spool = excluded.spool, "
		"weight = excluded.weight, real_ns = excluded.real_ns, frame = excluded.frame "
		"WHERE (excluded.weight, excluded.real_ns, excluded.frame) > "
		"(weight, real_ns, frame)",
		err);
	if (!stmt)
		return sql_end(s, s->failed, err);
	(void)sqlite3_bind_int64(stmt, 1, run);
	(void)sqlite3_bind_int(stmt, 2, (int)f->type);
	in_bind_str(stmt, 3, f->exec.p ? f->exec : str_of(""));
	(void)sqlite3_bind_int64(stmt, 4, f->uid);
	(void)sqlite3_bind_int64(stmt, 5, f->spool);
	(void)sqlite3_bind_int64(stmt, 6, f->weight);
	(void)sqlite3_bind_int64(stmt, 7, f->real_ns);
	in_bind_blob(stmt, 8, f->bytes);
	return sql_end(s, in_run(s, IN_PUT_FRAME, stmt, err, "keep a frame"), err);
}

int inbox_each_frame(struct store *s, int64_t run,
		     int (*each)(void *arg, const struct inbox_frame *f), void *arg,
		     struct err *err)
{
	sqlite3_stmt *stmt =
		in_statement(s, IN_EACH_FRAME,
			     "SELECT type, exec, uid, spool, weight, real_ns, frame FROM "
			     "inbox_frame WHERE run = ? ORDER BY type, exec, uid",
			     err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, run);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the frames of a run")) > 0) {
		const struct inbox_frame f = { .type = (enum frame_type)sqlite3_column_int(stmt, 0),
					       .exec = in_text(stmt, 1),
					       .uid = sqlite3_column_int64(stmt, 2),
					       .spool = sqlite3_column_int64(stmt, 3),
					       .weight = sqlite3_column_int64(stmt, 4),
					       .real_ns = sqlite3_column_int64(stmt, 5),
					       .bytes = in_blob(stmt, 6) };
		rc = each(arg, &f);
		if (rc)
			break;
	}
	in_release(s, IN_EACH_FRAME, stmt);
	return rc;
}

/* ---- whose they are -------------------------------------------------------------------------- */

static int remove_others(struct store *s, enum inbox_statement which, const char *text, int64_t run,
			 int64_t uid, uint64_t *ret_n, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, which, text, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, run);
	(void)sqlite3_bind_int64(stmt, 2, uid);
	int rc = in_run(s, which, stmt, err, "refuse what others said");
	*ret_n += rc ? 0 : (uint64_t)sqlite3_changes(s->db);
	return rc;
}

int inbox_refuse_others(struct store *s, int64_t run, int64_t uid, uint64_t *ret_n, struct err *err)
{
	*ret_n = 0;
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	rc = remove_others(s, IN_OTHER_FRAMES,
			   "DELETE FROM inbox_frame WHERE run = ? AND uid NOT IN (?, 0, -1)", run,
			   uid, ret_n, err);
	if (!rc)
		rc = remove_others(s, IN_OTHER_LOGS,
				   "DELETE FROM inbox_log WHERE run = ?1 AND uid NOT IN (?2, 0, "
				   "-1) AND ?2 <> 0",
				   run, uid, ret_n, err);
	if (!rc)
		rc = remove_others(s, IN_OTHER_PICTURES,
				   "DELETE FROM inbox_picture WHERE run = ?1 AND uid NOT IN (?2, "
				   "0, -1) AND ?2 <> 0",
				   run, uid, ret_n, err);
	return sql_end(s, rc, err);
}

/* ---- losses of a run ------------------------------------------------------------------------- */

int inbox_each_loss(struct store *s, const char *run,
		    int (*each)(void *arg, const struct inbox_lost *l), void *arg, struct err *err)
{
	sqlite3_stmt *stmt =
		in_statement(s, IN_RUN_LOSS,
			     "SELECT what, why, exec, CAST(min(total(count), 9e18) AS INTEGER), "
			     "CAST(min(total(bytes), 9e18) AS INTEGER), min(from_ns), max(to_ns), "
			     "max(text), ours FROM inbox_loss WHERE run = ?1 AND run <> '' "
			     "GROUP BY what, why, exec, ours ORDER BY what, why, exec, ours",
			     err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, run);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the losses of a run")) > 0) {
		const struct inbox_lost l = { .run = run,
					      .what = sql_text(stmt, 0),
					      .why = sql_text(stmt, 1),
					      .exec = sql_text(stmt, 2),
					      .count = (uint64_t)sqlite3_column_int64(stmt, 3),
					      .bytes = (uint64_t)sqlite3_column_int64(stmt, 4),
					      .from_ns = in_ns(stmt, 5),
					      .to_ns = in_ns(stmt, 6),
					      .text = sql_text(stmt, 7),
					      .ours = sqlite3_column_int(stmt, 8) };
		rc = each(arg, &l);
		if (rc)
			break;
	}
	in_release(s, IN_RUN_LOSS, stmt);
	return rc;
}
