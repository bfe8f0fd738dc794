/* Mark logs in the inbox: looks at them, and what frames say beside the bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "store/sqlite_inbox.h"

/* ---- which fields a frame knows -------------------------------------------------------------- */

static bool known_u64(uint64_t x)
{
	(void)x;
	return true;
}

static bool known_i64(int64_t x)
{
	return x != ROI_UNKNOWN;
}

static bool known_num(double x)
{
	return known(x);
}

static bool known_ter(signed char x)
{
	return x != UNKNOWN;
}

static bool known_txt(struct str x)
{
	return x.p;
}
#define known_bin known_txt

#define BIT(type, name, unit, meaning)                                                             \
	mask |= known_##type(p->name) ? bit : 0;                                                   \
	bit <<= 1;

static int64_t mask_of(const struct frame_process *p)
{
	uint64_t mask = 0, bit = 1;
	FRAME_PROCESS_FIELDS(BIT)
	return (int64_t)mask;
}

#define FILL(type, name, unit, meaning)                                                            \
	if (!known_##type(to->name))                                                               \
		to->name = from->name;

static void fill(struct frame_process *to, const struct frame_process *from)
{
	FRAME_PROCESS_FIELDS(FILL)
}

/* ---- in -------------------------------------------------------------------------------------- */

static void bind_key(sqlite3_stmt *stmt, int64_t run, const struct frame_process *p)
{
	(void)sqlite3_bind_int64(stmt, 1, run);
	in_bind_str(stmt, 2, p->exec.p ? p->exec : str_of(""));
	(void)sqlite3_bind_int64(stmt, 3, p->uid == ROI_UNKNOWN ? INBOX_UNKNOWN_UID : p->uid);
	in_bind_str(stmt, 4, p->stream);
}

static int find_log(struct store *s, int64_t run, const struct frame_process *p,
		    struct in_look *ret, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, IN_FIND_LOG,
					  "SELECT id, snapshot, final FROM inbox_log WHERE run = ? "
					  "AND exec = ? AND uid = ? AND stream = ?",
					  err);
	if (!stmt)
		return s->failed;
	bind_key(stmt, run, p);
	int rc = in_step(s, stmt, err, "look for a log");
	if (rc > 0)
		*ret = (struct in_look){ .id = sqlite3_column_int64(stmt, 0),
					 .snapshot = sqlite3_column_int64(stmt, 1),
					 .final = in_ns(stmt, 2) };
	in_release(s, IN_FIND_LOG, stmt);
	return rc;
}

static int need_log(struct store *s, int64_t run, int64_t spool, const struct frame_process *p,
		    struct in_look *ret, struct err *err)
{
	int rc = find_log(s, run, p, ret, err);
	if (rc)
		return rc < 0 ? rc : 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_NEW_LOG,
		"INSERT INTO inbox_log (run, exec, uid, stream, spool, snapshot) VALUES (?, ?, ?, "
		"?, ?, -1)",
		err);
	if (!stmt)
		return s->failed;
	bind_key(stmt, run, p);
	(void)sqlite3_bind_int64(stmt, 5, spool);
	rc = in_run(s, IN_NEW_LOG, stmt, err, "add a log");
	*ret = (struct in_look){ .id = sqlite3_last_insert_rowid(s->db),
				 .snapshot = -1,
				 .final = ROI_UNKNOWN,
				 .is_new = true };
	return rc;
}

/* Its fields without the data, as a frame by itself. */
static int put_meta(struct store *s, int64_t log, const struct frame_process *p, struct err *err)
{
	struct frame f = { .type = FRAME_PROCESS };
	struct batch_out out = { .frames = 0 };
	f.as.process = *p;
	f.as.process.data = (struct str){ .p = NULL };
	f.as.process.offset = 0;
	int rc = batch_put(&out, &f);
	sqlite3_stmt *stmt =
		rc ? NULL
		   : in_statement(
			     s, IN_PUT_META,
			     "INSERT INTO inbox_meta (log, mask, snapshot, frame) VALUES (?, "
			     "?, ?, ?) ON CONFLICT DO UPDATE SET snapshot = excluded.snapshot, "
			     "frame = excluded.frame WHERE (excluded.snapshot, excluded.frame) "
			     "> (snapshot, frame)",
			     err);
	if (stmt) {
		(void)sqlite3_bind_int64(stmt, 1, log);
		(void)sqlite3_bind_int64(stmt, 2, mask_of(&f.as.process));
		(void)sqlite3_bind_int64(stmt, 3, (int64_t)p->snapshot);
		in_bind_blob(stmt, 4, batch_list(&out.body));
		rc = in_run(s, IN_PUT_META, stmt, err, "keep what is said of a log");
	} else {
		rc = rc ? err_set(err, rc, "store %s: out of memory", s->path) : s->failed;
	}
	batch_out_done(&out);
	return rc;
}

static int put_all(struct store *s, int64_t run, int64_t spool, const struct frame_process *p,
		   struct in_look *l, bool *ret_whole, struct err *err)
{
	const struct in_piece piece = { .snapshot = (int64_t)p->snapshot,
					.size = (int64_t)p->size,
					.at = (int64_t)p->offset,
					.data = p->data };
	int rc = need_log(s, run, spool, p, l, err);
	if (!rc)
		rc = put_meta(s, l->id, p, err);
	return rc ? rc
		  : in_look_put(s, &in_log_looks, l, &piece, p->final == YES, ret_whole, err);
}

int inbox_put_piece(struct store *s, int64_t run, int64_t spool, const struct frame_process *p,
		    int64_t *ret_log, bool *ret_whole, struct err *err)
{
	struct in_look l = { .id = 0 };
	*ret_whole = false;
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	rc = put_all(s, run, spool, p, &l, ret_whole, err);
	*ret_log = l.id;
	return sql_end(s, rc, err);
}

#define STEPS "steps = max(coalesce(steps, ?1), coalesce(?1, steps))"

int inbox_set_progress(struct store *s, int64_t log, double steps, double processes,
		       struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt =
		in_statement(s, IN_PROGRESS,
			     "UPDATE inbox_log SET " STEPS ", processes = ?2 WHERE id = ?3", err);
	if (!stmt)
		return sql_end(s, s->failed, err);
	sql_bind_num(stmt, 1, steps);
	sql_bind_num(stmt, 2, processes);
	(void)sqlite3_bind_int64(stmt, 3, log);
	return sql_end(s, in_run(s, IN_PROGRESS, stmt, err, "note progress"), err);
}

int inbox_note_progress(struct store *s, int64_t run, struct str exec, struct str stream,
			double steps, struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(
		s, IN_NOTE_PROGRESS,
		"INSERT INTO inbox_progress (run, exec, stream, steps) VALUES (?, ?, ?, ?) ON "
		"CONFLICT DO UPDATE SET steps = max(steps, excluded.steps)",
		err);
	if (!stmt)
		return sql_end(s, s->failed, err);
	(void)sqlite3_bind_int64(stmt, 1, run);
	in_bind_str(stmt, 2, exec.p ? exec : str_of(""));
	in_bind_str(stmt, 3, stream);
	sql_bind_num(stmt, 4, steps);
	return sql_end(s, in_run(s, IN_NOTE_PROGRESS, stmt, err, "note progress"), err);
}

int inbox_get_progress(struct store *s, int64_t run, const char *exec, double *ret_n,
		       double *ret_steps, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_GET_PROGRESS,
		"SELECT count(*), max(steps) FROM inbox_progress WHERE run = ? AND exec = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, run);
	sql_bind_text(stmt, 2, exec);
	int rc = in_step(s, stmt, err, "read progress");
	if (rc > 0) {
		*ret_n = sql_num(stmt, 0);
		*ret_steps = sql_num(stmt, 1);
	}
	in_release(s, IN_GET_PROGRESS, stmt);
	return rc < 0 ? rc : 0;
}

/* ---- out ------------------------------------------------------------------------------------- */

int inbox_each_log(struct store *s, int64_t run, int (*each)(void *arg, const struct inbox_log *l),
		   void *arg, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, IN_EACH_LOG,
					  "SELECT id, spool, uid, exec, stream, snapshot, final, "
					  "steps, processes FROM inbox_log "
					  "WHERE run = ? ORDER BY exec, uid, stream",
					  err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, run);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the logs of a run")) > 0) {
		const char *exec = sql_text(stmt, 3);
		int64_t final = in_ns(stmt, 6);
		struct inbox_log l = { .id = sqlite3_column_int64(stmt, 0),
				       .spool = sqlite3_column_int64(stmt, 1),
				       .uid = sqlite3_column_int64(stmt, 2),
				       .exec = exec && *exec ? exec : NULL,
				       .stream = sql_text(stmt, 4),
				       .snapshot = sqlite3_column_int64(stmt, 5),
				       .steps = sql_num(stmt, 7),
				       .processes = sql_num(stmt, 8) };
		l.final = final != ROI_UNKNOWN && l.snapshot >= final;
		rc = each(arg, &l);
		if (rc)
			break;
	}
	in_release(s, IN_EACH_LOG, stmt);
	return rc;
}

int inbox_get_log(struct store *s, int64_t log, struct arena *a, struct frame_process *ret,
		  struct err *err)
{
	struct frame f;
	frame_clear(&f, FRAME_PROCESS);
	*ret = f.as.process;
	sqlite3_stmt *stmt = in_statement(
		s, IN_EACH_META,
		"SELECT frame FROM inbox_meta WHERE log = ? ORDER BY snapshot DESC, mask DESC",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log);
	int rc, n = 0;
	for (; (rc = in_step(s, stmt, err, "read what is said of a log")) > 0; n++) {
		struct str bytes = in_blob(stmt, 0);
		bytes.p = arena_strndup(a, bytes.p, bytes.n);
		rc = bytes.p ? frame_get(&f, bytes, err)
			     : err_set(err, -ENOMEM, "store %s: out of memory", s->path);
		if (rc)
			break;
		if (!n)
			*ret = f.as.process;
		else
			fill(ret, &f.as.process);
	}
	in_release(s, IN_EACH_META, stmt);
	if (rc == -EBADMSG)
		return err_wrap(err, -EUCLEAN, "store %s: the frame of a log", s->path);
	return rc;
}

int inbox_get_log_bytes(struct store *s, int64_t log, struct buf *ret, struct err *err)
{
	return in_look_bytes(s, &in_log_looks, log, ret, err);
}
