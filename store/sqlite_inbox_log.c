/* Mark logs in the inbox: pieces of looks at them, until a look is whole; and what frames say
 * beside the bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "store/sqlite_inbox.h"

#define HALF_LOOKS 8 /* looks at one log that are not whole and above the newest whole one */

/* Of one look. Of the largest log that goes in chunks there are 256; each one that comes is held
 * against all others. */
#define PIECES 260

struct log_row {
	int64_t id, snapshot, final;
	bool is_new;
};

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
		    struct log_row *ret, struct err *err)
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
		*ret = (struct log_row){ .id = sqlite3_column_int64(stmt, 0),
					 .snapshot = sqlite3_column_int64(stmt, 1),
					 .final = in_ns(stmt, 2) };
	in_release(s, IN_FIND_LOG, stmt);
	return rc;
}

static int need_log(struct store *s, int64_t run, int64_t spool, const struct frame_process *p,
		    struct log_row *ret, struct err *err)
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
	*ret = (struct log_row){ .id = sqlite3_last_insert_rowid(s->db),
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

static int put_piece(struct store *s, int64_t log, const struct frame_process *p, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_PIECE,
		"INSERT INTO inbox_piece (log, snapshot, at, n, size, data) VALUES (?, ?, ?, ?, ?, "
		"?) ON CONFLICT DO NOTHING",
		err);
	if (!stmt)
		return s->failed;
	/* A piece as long as it says is not packed, whatever it begins with. */
	const struct buf plain = { .data = (char *)(uintptr_t)p->data.p, .len = p->data.n };
	const void *bytes = "";
	size_t n = 0;
	if (p->data.n)
		pack_put(s->pack_body, &plain, &bytes, &n);
	(void)sqlite3_bind_int64(stmt, 1, log);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)p->snapshot);
	(void)sqlite3_bind_int64(stmt, 3, (int64_t)p->offset);
	(void)sqlite3_bind_int64(stmt, 4, (int64_t)p->data.n);
	(void)sqlite3_bind_int64(stmt, 5, (int64_t)p->size);
	in_bind_blob(stmt, 6, (struct str){ .p = bytes, .n = n });
	return in_run(s, IN_PUT_PIECE, stmt, err, "keep a piece of a log");
}

/* Do the pieces of this look cover the log? 1 yes, 0 no. */
static int is_whole(struct store *s, int64_t log, const struct frame_process *p, struct err *err)
{
	if (p->offset == 0 && p->data.n == p->size)
		return 1;
	sqlite3_stmt *stmt = in_statement(s, IN_PIECES,
					  "SELECT at, n FROM inbox_piece WHERE log = ? AND "
					  "snapshot = ? AND size = ? ORDER BY at",
					  err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)p->snapshot);
	(void)sqlite3_bind_int64(stmt, 3, (int64_t)p->size);
	int64_t covered = 0, end;
	int rc;
	while ((rc = in_step(s, stmt, err, "look at the pieces")) > 0) {
		if (sqlite3_column_int64(stmt, 0) > covered)
			break;
		end = sqlite3_column_int64(stmt, 0) + sqlite3_column_int64(stmt, 1);
		covered = end > covered ? end : covered;
	}
	in_release(s, IN_PIECES, stmt);
	return rc < 0 ? rc : covered >= (int64_t)p->size;
}

static int drop_below(struct store *s, enum inbox_statement which, const char *text, int64_t log,
		      int64_t snapshot, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, which, text, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log);
	(void)sqlite3_bind_int64(stmt, 2, snapshot);
	return in_run(s, which, stmt, err, "drop pieces of a log");
}

/* Of looks that were never whole only the newest few are kept: the last one is what counts. */
static int drop_half_looks(struct store *s, int64_t log, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_SNAPSHOTS,
		"SELECT DISTINCT snapshot FROM inbox_piece WHERE log = ? ORDER BY snapshot DESC "
		"LIMIT 1 OFFSET ?",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log);
	(void)sqlite3_bind_int(stmt, 2, HALF_LOOKS + 1); /* and the whole one */
	int rc = in_step(s, stmt, err, "look at the pieces");
	int64_t snapshot = rc > 0 ? sqlite3_column_int64(stmt, 0) : 0;
	in_release(s, IN_SNAPSHOTS, stmt);
	if (rc <= 0)
		return rc;
	return drop_below(
		s, IN_DROP_SNAPSHOT,
		"DELETE FROM inbox_piece WHERE log = ?1 AND snapshot <= ?2 AND snapshot > "
		"(SELECT snapshot FROM inbox_log WHERE id = ?1)",
		log, snapshot, err);
}

static int set_log(struct store *s, const struct log_row *l, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_SET_LOG, "UPDATE inbox_log SET snapshot = ?2, final = ?3 WHERE id = ?1", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, l->id);
	(void)sqlite3_bind_int64(stmt, 2, l->snapshot);
	in_bind_ns(stmt, 3, l->final);
	return in_run(s, IN_SET_LOG, stmt, err, "keep a log");
}

/* How many pieces of this look are here, at most PIECES. */
static int count_pieces(struct store *s, int64_t log, int64_t snapshot, int *ret, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_COUNT_PIECES,
		"SELECT count(*) FROM (SELECT 1 FROM inbox_piece WHERE log = ?1 AND snapshot = ?2 "
		"LIMIT ?3)",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log);
	(void)sqlite3_bind_int64(stmt, 2, snapshot);
	(void)sqlite3_bind_int(stmt, 3, PIECES);
	int rc = in_step(s, stmt, err, "count the pieces");
	*ret = rc > 0 ? sqlite3_column_int(stmt, 0) : 0;
	in_release(s, IN_COUNT_PIECES, stmt);
	return rc < 0 ? rc : 0;
}

static int put_look(struct store *s, struct log_row *l, const struct frame_process *p,
		    bool *ret_whole, struct err *err)
{
	int before = 0, rc = 0;
	if (!l->is_new)
		rc = count_pieces(s, l->id, (int64_t)p->snapshot, &before, err);
	if (!rc && before == PIECES)
		rc = err_set(err, -E2BIG, "more than %d pieces of one look at a log", PIECES);
	if (!rc)
		rc = put_piece(s, l->id, p, err);
	int whole = rc ? 0 : is_whole(s, l->id, p, err);
	if (rc || whole < 0)
		return rc ? rc : whole;
	*ret_whole = whole;
	if (!whole)
		return before ? 0 : drop_half_looks(s, l->id, err);
	l->snapshot = (int64_t)p->snapshot;
	return l->is_new ? 0
			 : drop_below(s, IN_DROP_PIECES,
				      "DELETE FROM inbox_piece WHERE log = ? AND snapshot < ?",
				      l->id, l->snapshot, err);
}

static int put_all(struct store *s, int64_t run, int64_t spool, const struct frame_process *p,
		   struct log_row *l, bool *ret_whole, struct err *err)
{
	int rc = need_log(s, run, spool, p, l, err);
	if (rc)
		return rc;
	const struct log_row before = *l;
	rc = put_meta(s, l->id, p, err);
	if (!rc && (int64_t)p->snapshot > l->snapshot)
		rc = put_look(s, l, p, ret_whole, err);
	if (p->final == YES && (l->final == ROI_UNKNOWN || l->final > (int64_t)p->snapshot))
		l->final = (int64_t)p->snapshot;
	if (!rc && (l->snapshot != before.snapshot || l->final != before.final))
		rc = set_log(s, l, err);
	return rc;
}

int inbox_put_piece(struct store *s, int64_t run, int64_t spool, const struct frame_process *p,
		    int64_t *ret_log, bool *ret_whole, struct err *err)
{
	struct log_row l = { .id = 0 };
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

static int append(struct store *s, sqlite3_stmt *stmt, struct buf *ret, struct err *err)
{
	const void *plain = NULL;
	size_t n = 0, want = (size_t)sqlite3_column_int64(stmt, 1);
	int64_t at = sqlite3_column_int64(stmt, 0);
	struct str data = in_blob(stmt, 2);
	int rc = data.n == want ? (plain = data.p, n = want, 0)
				: pack_get(data.p, data.n, &s->body, &plain, &n);
	if (rc == -ENOMEM)
		return err_set(err, rc, "store %s: out of memory", s->path);
	if (rc || n != want || at > (int64_t)ret->len)
		return err_set(err, -EUCLEAN, "store %s: a piece of a log is damaged", s->path);
	size_t known_n = ret->len - (size_t)at; /* pieces may overlap */
	if (known_n < n)
		buf_put(ret, (const char *)plain + known_n, n - known_n);
	return ret->failed ? err_set(err, -ENOMEM, "store %s: out of memory", s->path) : 0;
}

int inbox_get_log_bytes(struct store *s, int64_t log, struct buf *ret, struct err *err)
{
	ret->len = 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_PIECE_BYTES,
		"SELECT at, n, data FROM inbox_piece WHERE log = ?1 AND snapshot = (SELECT "
		"snapshot FROM inbox_log WHERE id = ?1) ORDER BY at",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log);
	int rc;
	while ((rc = in_step(s, stmt, err, "read a log")) > 0) {
		rc = append(s, stmt, ret, err);
		if (rc)
			break;
	}
	in_release(s, IN_PIECE_BYTES, stmt);
	return rc;
}
