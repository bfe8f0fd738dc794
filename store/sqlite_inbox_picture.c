/* Pictures in the inbox: what collectors left of processes. */
#include <errno.h>

#include "lib/num.h"
#include "store/sqlite_inbox.h"

static void bind_key(sqlite3_stmt *stmt, int64_t run, const struct frame_picture *p)
{
	(void)sqlite3_bind_int64(stmt, 1, run);
	in_bind_str(stmt, 2, p->exec);
	(void)sqlite3_bind_int64(stmt, 3, p->uid == ROI_UNKNOWN ? INBOX_UNKNOWN_UID : p->uid);
	in_bind_str(stmt, 4, p->file);
}

static int find(struct store *s, int64_t run, const struct frame_picture *p, struct in_look *ret,
		struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, IN_FIND_PICTURE,
					  "SELECT id, snapshot, final FROM inbox_picture WHERE run "
					  "= ? AND exec = ? AND uid = ? AND file = ?",
					  err);
	if (!stmt)
		return s->failed;
	bind_key(stmt, run, p);
	int rc = in_step(s, stmt, err, "look for a picture");
	if (rc > 0)
		*ret = (struct in_look){ .id = sqlite3_column_int64(stmt, 0),
					 .snapshot = sqlite3_column_int64(stmt, 1),
					 .final = in_ns(stmt, 2) };
	in_release(s, IN_FIND_PICTURE, stmt);
	return rc;
}

static int need(struct store *s, int64_t run, int64_t spool, const struct frame_picture *p,
		struct in_look *ret, struct err *err)
{
	int rc = find(s, run, p, ret, err);
	if (rc)
		return rc < 0 ? rc : 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_NEW_PICTURE,
		"INSERT INTO inbox_picture (run, exec, uid, file, spool, real_ns, snapshot) "
		"VALUES (?, ?, ?, ?, ?, ?, -1)",
		err);
	if (!stmt)
		return s->failed;
	bind_key(stmt, run, p);
	(void)sqlite3_bind_int64(stmt, 5, spool);
	in_bind_ns(stmt, 6, p->real_ns);
	rc = in_run(s, IN_NEW_PICTURE, stmt, err, "add a picture");
	*ret = (struct in_look){ .id = sqlite3_last_insert_rowid(s->db),
				 .snapshot = -1,
				 .final = ROI_UNKNOWN,
				 .is_new = true };
	return rc;
}

int inbox_put_picture(struct store *s, int64_t run, int64_t spool, const struct frame_picture *p,
		      bool *ret_whole, struct err *err)
{
	struct in_look l = { .id = 0 };
	const struct in_piece piece = { .snapshot = (int64_t)p->snapshot,
					.size = (int64_t)p->size,
					.at = (int64_t)p->offset,
					.data = p->data };
	*ret_whole = false;
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	rc = need(s, run, spool, p, &l, err);
	if (!rc)
		rc = in_look_put(s, &in_picture_looks, &l, &piece, p->final == YES, ret_whole, err);
	return sql_end(s, rc, err);
}

int inbox_each_picture(struct store *s, int64_t run,
		       int (*each)(void *arg, const struct inbox_picture *p), void *arg,
		       struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, IN_EACH_PICTURE,
					  "SELECT id, spool, uid, exec, file, snapshot, final, "
					  "real_ns FROM inbox_picture WHERE run = ? ORDER BY exec, "
					  "file, uid",
					  err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, run);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the pictures of a run")) > 0) {
		int64_t final = in_ns(stmt, 6);
		struct inbox_picture p = { .id = sqlite3_column_int64(stmt, 0),
					   .spool = sqlite3_column_int64(stmt, 1),
					   .uid = sqlite3_column_int64(stmt, 2),
					   .exec = sql_text(stmt, 3),
					   .file = sql_text(stmt, 4),
					   .snapshot = sqlite3_column_int64(stmt, 5),
					   .real_ns = in_ns(stmt, 7) };
		p.final = final != ROI_UNKNOWN && p.snapshot >= final;
		rc = each(arg, &p);
		if (rc)
			break;
	}
	in_release(s, IN_EACH_PICTURE, stmt);
	return rc;
}

int inbox_get_picture_bytes(struct store *s, int64_t picture, struct buf *ret, struct err *err)
{
	return in_look_bytes(s, &in_picture_looks, picture, ret, err);
}
