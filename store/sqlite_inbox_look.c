/* Looks at a file of a process, a log or a picture: their pieces, until a look is whole. */
#include <errno.h>
#include <string.h>

#include "store/sqlite_inbox.h"

#define HALF_LOOKS 8 /* looks at one file that are not whole and above the newest whole one */

/* Of one look. Of the largest log that goes in chunks there are 256; each one that comes is held
 * against all others. */
#define PIECES 260

/* The same for both, on tables of their own: FILES has a row for each file, PIECE one for each
 * piece, which its column OF gives to a file. */
#define LOOKS(FILES, PIECE, OF)                                                                    \
	.set = "UPDATE " FILES " SET snapshot = ?2, final = ?3 WHERE id = ?1",                     \
	.put = "INSERT INTO " PIECE " (" OF ", snapshot, at, n, size, data) VALUES (?, ?, ?, ?, "  \
	       "?, ?) ON CONFLICT DO NOTHING",                                                     \
	.pieces = "SELECT at, n FROM " PIECE " WHERE " OF                                          \
		  " = ? AND snapshot = ? AND size = ? ORDER BY at",                                \
	.count = "SELECT count(*) FROM (SELECT 1 FROM " PIECE " WHERE " OF                         \
		 " = ?1 AND snapshot = ?2 LIMIT ?3)",                                              \
	.snapshots = "SELECT DISTINCT snapshot FROM " PIECE " WHERE " OF                           \
		     " = ? ORDER BY snapshot DESC LIMIT 1 OFFSET ?",                               \
	.drop_half = "DELETE FROM " PIECE " WHERE " OF                                             \
		     " = ?1 AND snapshot <= ?2 AND snapshot > (SELECT snapshot FROM " FILES        \
		     " WHERE id = ?1)",                                                            \
	.drop_old = "DELETE FROM " PIECE " WHERE " OF " = ? AND snapshot < ?",                     \
	.bytes = "SELECT at, n, data FROM " PIECE " WHERE " OF                                     \
		 " = ?1 AND snapshot = (SELECT snapshot FROM " FILES " WHERE id = ?1) ORDER BY at"

const struct in_looks in_log_looks = { .first = IN_LOG_LOOKS,
				       LOOKS("inbox_log", "inbox_piece", "log") };
const struct in_looks in_picture_looks = { .first = IN_PICTURE_LOOKS,
					   LOOKS("inbox_picture", "inbox_picture_piece",
						 "picture") };

enum which { SET, PUT, ALL_PIECES, COUNT, SNAPSHOTS, DROP_HALF, DROP_OLD, BYTES, WHICH };
static_assert((int)WHICH == IN_LOOK_STATEMENTS, "each has a place among the statements");

static enum inbox_statement place(const struct in_looks *k, enum which w)
{
	return (enum inbox_statement)((int)k->first + (int)w);
}

/* ---- in -------------------------------------------------------------------------------------- */

static int put_piece(struct store *s, const struct in_looks *k, int64_t file,
		     const struct in_piece *p, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, place(k, PUT), k->put, err);
	if (!stmt)
		return s->failed;
	/* A piece as long as it says is not packed, whatever it begins with. */
	const struct buf plain = { .data = (char *)(uintptr_t)p->data.p, .len = p->data.n };
	const void *bytes = "";
	size_t n = 0;
	if (p->data.n)
		pack_put(s->pack_body, &plain, &bytes, &n);
	(void)sqlite3_bind_int64(stmt, 1, file);
	(void)sqlite3_bind_int64(stmt, 2, p->snapshot);
	(void)sqlite3_bind_int64(stmt, 3, p->at);
	(void)sqlite3_bind_int64(stmt, 4, (int64_t)p->data.n);
	(void)sqlite3_bind_int64(stmt, 5, p->size);
	in_bind_blob(stmt, 6, (struct str){ .p = bytes, .n = n });
	return in_run(s, place(k, PUT), stmt, err, "keep a piece of a file");
}

/* Do the pieces of this look cover the file? 1 yes, 0 no. */
static int is_whole(struct store *s, const struct in_looks *k, int64_t file,
		    const struct in_piece *p, struct err *err)
{
	if (p->at == 0 && (int64_t)p->data.n == p->size)
		return 1;
	sqlite3_stmt *stmt = in_statement(s, place(k, ALL_PIECES), k->pieces, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, file);
	(void)sqlite3_bind_int64(stmt, 2, p->snapshot);
	(void)sqlite3_bind_int64(stmt, 3, p->size);
	int64_t covered = 0, end;
	int rc;
	while ((rc = in_step(s, stmt, err, "look at the pieces")) > 0) {
		if (sqlite3_column_int64(stmt, 0) > covered)
			break;
		end = sqlite3_column_int64(stmt, 0) + sqlite3_column_int64(stmt, 1);
		covered = end > covered ? end : covered;
	}
	in_release(s, place(k, ALL_PIECES), stmt);
	return rc < 0 ? rc : covered >= p->size;
}

static int drop(struct store *s, enum inbox_statement which, const char *text, int64_t file,
		int64_t snapshot, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, which, text, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, file);
	(void)sqlite3_bind_int64(stmt, 2, snapshot);
	return in_run(s, which, stmt, err, "drop pieces of a file");
}

/* Of looks that were never whole only the newest few are kept: the last one is what counts. */
static int drop_half_looks(struct store *s, const struct in_looks *k, int64_t file, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, place(k, SNAPSHOTS), k->snapshots, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, file);
	(void)sqlite3_bind_int(stmt, 2, HALF_LOOKS + 1); /* and the whole one */
	int rc = in_step(s, stmt, err, "look at the pieces");
	int64_t snapshot = rc > 0 ? sqlite3_column_int64(stmt, 0) : 0;
	in_release(s, place(k, SNAPSHOTS), stmt);
	return rc <= 0 ? rc : drop(s, place(k, DROP_HALF), k->drop_half, file, snapshot, err);
}

static int set_look(struct store *s, const struct in_looks *k, const struct in_look *l,
		    struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, place(k, SET), k->set, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, l->id);
	(void)sqlite3_bind_int64(stmt, 2, l->snapshot);
	in_bind_ns(stmt, 3, l->final);
	return in_run(s, place(k, SET), stmt, err, "keep a look");
}

/* How many pieces of this look are here, at most PIECES. */
static int count_pieces(struct store *s, const struct in_looks *k, int64_t file, int64_t snapshot,
			int *ret, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, place(k, COUNT), k->count, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, file);
	(void)sqlite3_bind_int64(stmt, 2, snapshot);
	(void)sqlite3_bind_int(stmt, 3, PIECES);
	int rc = in_step(s, stmt, err, "count the pieces");
	*ret = rc > 0 ? sqlite3_column_int(stmt, 0) : 0;
	in_release(s, place(k, COUNT), stmt);
	return rc < 0 ? rc : 0;
}

static int put_newer(struct store *s, const struct in_looks *k, struct in_look *l,
		     const struct in_piece *p, bool *ret_whole, struct err *err)
{
	int before = 0, rc = 0;
	if (!l->is_new)
		rc = count_pieces(s, k, l->id, p->snapshot, &before, err);
	if (!rc && before == PIECES)
		rc = err_set(err, -E2BIG, "more than %d pieces of one look at a file", PIECES);
	if (!rc)
		rc = put_piece(s, k, l->id, p, err);
	int whole = rc ? 0 : is_whole(s, k, l->id, p, err);
	if (rc || whole < 0)
		return rc ? rc : whole;
	*ret_whole = whole;
	if (!whole)
		return before ? 0 : drop_half_looks(s, k, l->id, err);
	l->snapshot = p->snapshot;
	return l->is_new ? 0 : drop(s, place(k, DROP_OLD), k->drop_old, l->id, l->snapshot, err);
}

int in_look_put(struct store *s, const struct in_looks *k, struct in_look *l,
		const struct in_piece *p, bool final, bool *ret_whole, struct err *err)
{
	const struct in_look before = *l;
	int rc = p->snapshot > l->snapshot ? put_newer(s, k, l, p, ret_whole, err) : 0;
	if (final && (l->final == ROI_UNKNOWN || l->final > p->snapshot))
		l->final = p->snapshot;
	if (!rc && (l->snapshot != before.snapshot || l->final != before.final))
		rc = set_look(s, k, l, err);
	return rc;
}

/* ---- out ------------------------------------------------------------------------------------- */

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
		return err_set(err, -EUCLEAN, "store %s: a piece of a file is damaged", s->path);
	size_t known_n = ret->len - (size_t)at; /* pieces may overlap */
	if (known_n < n)
		buf_put(ret, (const char *)plain + known_n, n - known_n);
	return ret->failed ? err_set(err, -ENOMEM, "store %s: out of memory", s->path) : 0;
}

int in_look_bytes(struct store *s, const struct in_looks *k, int64_t file, struct buf *ret,
		  struct err *err)
{
	ret->len = 0;
	sqlite3_stmt *stmt = in_statement(s, place(k, BYTES), k->bytes, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, file);
	int rc;
	while ((rc = in_step(s, stmt, err, "read a file")) > 0) {
		rc = append(s, stmt, ret, err);
		if (rc)
			break;
	}
	in_release(s, place(k, BYTES), stmt);
	return rc;
}
