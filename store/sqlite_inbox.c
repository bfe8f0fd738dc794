/* The inbox: who sends, and which numbers came. A batch costs one row at the end of one table; what
 * it means for its sender is kept in memory, and in the tables after the next fold. After a start
 * the arrivals since the last fold are gone through once more. */
#include "store/sqlite_inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- statements ------------------------------------------------------------------------------ */

sqlite3_stmt *in_statement(struct store *s, enum inbox_statement which, const char *text,
			   struct err *err)
{
	return sql_statement(s, (enum statement)which, text, err);
}

void in_release(struct store *s, enum inbox_statement which, sqlite3_stmt *stmt)
{
	sql_release(s, (enum statement)which, stmt);
}

int in_run(struct store *s, enum inbox_statement which, sqlite3_stmt *stmt, struct err *err,
	   const char *doing)
{
	return sql_run(s, (enum statement)which, stmt, err, doing);
}

int in_step(struct store *s, sqlite3_stmt *stmt, struct err *err, const char *doing)
{
	int code = sqlite3_step(stmt);
	if (code == SQLITE_ROW || code == SQLITE_DONE)
		return code == SQLITE_ROW;
	return sql_error(s, code, err, doing);
}

void in_bind_ns(sqlite3_stmt *stmt, int at, int64_t ns)
{
	(void)(ns == ROI_UNKNOWN ? sqlite3_bind_null(stmt, at) : sqlite3_bind_int64(stmt, at, ns));
}

void in_bind_str(sqlite3_stmt *stmt, int at, struct str text)
{
	(void)(text.p ? sqlite3_bind_text64(stmt, at, text.p, text.n, SQLITE_STATIC, SQLITE_UTF8)
		      : sqlite3_bind_null(stmt, at));
}

void in_bind_blob(sqlite3_stmt *stmt, int at, struct str bytes)
{
	(void)(bytes.p ? sqlite3_bind_blob64(stmt, at, bytes.p, bytes.n, SQLITE_STATIC)
		       : sqlite3_bind_null(stmt, at));
}

int64_t in_ns(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
		       ? ROI_UNKNOWN
		       : sqlite3_column_int64(stmt, column);
}

struct str in_text(sqlite3_stmt *stmt, int column)
{
	const char *p = sql_text(stmt, column);
	return (struct str){ .p = p, .n = p ? (size_t)sqlite3_column_bytes(stmt, column) : 0 };
}

struct str in_blob(sqlite3_stmt *stmt, int column)
{
	static const char none[1];
	bool null = sqlite3_column_type(stmt, column) == SQLITE_NULL;
	const void *p = sqlite3_column_blob(stmt, column);
	return (struct str){ .p = null ? NULL
				  : p  ? p
				       : none,
			     .n = (size_t)sqlite3_column_bytes(stmt, column) };
}

/* ---- the clock ------------------------------------------------------------------------------- */

static int ask_clock(struct store *s, enum inbox_statement which, const char *text, int64_t *ret,
		     struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, which, text, err);
	if (!stmt)
		return s->failed;
	int rc = in_step(s, stmt, err, "read the clock");
	*ret = rc > 0 ? sqlite3_column_int64(stmt, 0) : 0;
	in_release(s, which, stmt);
	return rc < 0 ? rc : 0;
}

int inbox_age(struct store *s, int64_t *ret_age_ns, struct err *err)
{
	/* After a kill it is not before what was written last. */
	return ask_clock(s, IN_AGE,
			 "SELECT max(age_ns, coalesce((SELECT max(news_age_ns) FROM inbox_run), "
			 "0)) FROM inbox_clock",
			 ret_age_ns, err);
}

int inbox_set_age(struct store *s, int64_t age_ns, struct err *err)
{
	int rc = sql_begin(s, err);
	if (rc)
		return rc;
	sqlite3_stmt *stmt = in_statement(s, IN_SET_AGE, "UPDATE inbox_clock SET age_ns = ?", err);
	if (stmt)
		(void)sqlite3_bind_int64(stmt, 1, age_ns);
	rc = stmt ? in_run(s, IN_SET_AGE, stmt, err, "set the clock") : s->failed;
	return sql_end(s, rc, err);
}

/* ---- arrivals -------------------------------------------------------------------------------- */

static int remember(struct sender *p, uint64_t seq, uint64_t sum)
{
	if (p->now.n_recent == p->recent_cap) {
		size_t cap = p->recent_cap ? 2 * p->recent_cap : 2;
		struct in_sum *recent = realloc(p->recent, cap * sizeof *recent);
		if (!recent)
			return -ENOMEM;
		p->recent = recent;
		p->recent_cap = cap;
	}
	p->recent[p->now.n_recent++] = (struct in_sum){ .seq = seq, .sum = sum ? sum : 1 };
	return 0;
}

/* A time that is not told may be any. */
void in_count(struct in_log *log, size_t bytes, int64_t from_ns, int64_t to_ns)
{
	int64_t from = from_ns, to = to_ns == ROI_UNKNOWN ? INT64_MAX : to_ns;
	log->unfolded++;
	if (!bytes)
		return;
	log->from_ns = !log->bytes || from < log->from_ns ? from : log->from_ns;
	log->to_ns = !log->bytes || to > log->to_ns ? to : log->to_ns;
	log->bytes += bytes;
}

struct arrival {
	uint64_t seq, sum;
	int64_t real_ns, from_ns, to_ns;
};

/* What a batch means for its sender. -ENOMEM: it is half done, and the caller takes it back. */
static int note(struct sender *p, const struct arrival *a)
{
	uint64_t low;
	if (spans_add(&p->now.spans, a->seq, a->from_ns, a->to_ns, &low) ||
	    remember(p, a->seq, a->sum))
		return -ENOMEM;
	p->now.low = low < p->now.low ? low : p->now.low;
	p->now.batches++;
	p->now.dirty = true;
	p->now.last_real_ns = a->real_ns;
	if (a->seq >= p->now.last_seq) {
		p->now.last_seq = a->seq;
		p->now.to_ns = a->to_ns;
	}
	return 0;
}

/* By the number of its row. */
static int sender_by_id(struct store *s, int64_t id, struct sender **ret, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, IN_SPOOL_NAME,
					  "SELECT agent, spool FROM inbox_spool WHERE id = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, id);
	int rc = in_step(s, stmt, err, "look for a sender");
	*ret = NULL;
	if (rc > 0)
		rc = in_sender(s, in_text(stmt, 0), in_text(stmt, 1), ret, err);
	in_release(s, IN_SPOOL_NAME, stmt);
	return rc;
}

/* Arrivals that the ledger has not taken up before the last end. */
static int catch_up(struct store *s, struct inbox *in, struct err *err)
{
	struct in_log *log = &in->log;
	int rc = ask_clock(s, IN_FOLDED, "SELECT folded FROM inbox_clock", &log->folded, err);
	sqlite3_stmt *stmt =
		rc ? NULL
		   : in_statement(s, IN_UNFOLDED,
				  "SELECT spool, seq, sum, real_ns, from_ns, to_ns, length(batch), "
				  "id FROM inbox_arrival WHERE id > ? ORDER BY id",
				  err);
	if (!stmt)
		return rc ? rc : s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log->folded);
	log->last = log->folded;
	while ((rc = in_step(s, stmt, err, "read what arrived")) > 0) {
		struct sender *p;
		rc = sender_by_id(s, sqlite3_column_int64(stmt, 0), &p, err);
		if (rc)
			break;
		const struct arrival a = { .seq = (uint64_t)sqlite3_column_int64(stmt, 1),
					   .sum = (uint64_t)sqlite3_column_int64(stmt, 2),
					   .real_ns = sqlite3_column_int64(stmt, 3),
					   .from_ns = in_ns(stmt, 4),
					   .to_ns = in_ns(stmt, 5) };
		/* It may have been kept by a fold that did not come to its end. */
		if (p && !spans_has(&p->now.spans, a.seq) && note(p, &a)) {
			rc = err_set(err, -ENOMEM, "store %s: out of memory", s->path);
			break;
		}
		in_count(log, (size_t)sqlite3_column_int64(stmt, 6), a.from_ns, a.to_ns);
		log->last = sqlite3_column_int64(stmt, 7);
	}
	in_release(s, IN_UNFOLDED, stmt);
	in->log_before = in->log;
	return rc;
}

int in_ready(struct store *s, struct inbox **ret, struct err *err)
{
	if (!s->inbox)
		s->inbox = calloc(1, sizeof *s->inbox);
	if (!s->inbox)
		return err_set(err, -ENOMEM, "store %s: out of memory", s->path);
	*ret = s->inbox;
	if (s->inbox->ready)
		return 0;
	int rc = catch_up(s, s->inbox, err);
	if (rc) {
		inbox_free(s->inbox);
		s->inbox = NULL;
		return rc;
	}
	s->inbox->ready = true;
	return 0;
}

/* The sum of a number that came; 0: nobody knows any more. */
static int sum_of(struct store *s, const struct sender *p, uint64_t seq, uint64_t *ret,
		  struct err *err)
{
	*ret = 0;
	for (size_t i = p->now.n_recent; i--;)
		if (p->recent[i].seq == seq) {
			*ret = p->recent[i].sum;
			return 0;
		}
	sqlite3_stmt *stmt = in_statement(
		s, IN_GET_SUMS, "SELECT sums FROM inbox_sums WHERE spool = ? AND block = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)(seq / IN_SUMS_BLOCK));
	int rc = in_step(s, stmt, err, "look for a sum");
	struct str sums = rc > 0 ? in_blob(stmt, 0) : (struct str){ .n = 0 };
	if (sums.n == IN_SUMS_BLOCK * sizeof *ret)
		memcpy(ret, sums.p + seq % IN_SUMS_BLOCK * sizeof *ret, sizeof *ret);
	in_release(s, IN_GET_SUMS, stmt);
	return rc < 0 ? rc : 0;
}

int inbox_look(struct store *s, const struct batch_sender *from, uint64_t sum,
	       enum inbox_known *ret, struct err *err)
{
	struct inbox *in;
	struct sender *p = NULL;
	uint64_t before;
	*ret = INBOX_NEW;
	int rc = in_ready(s, &in, err);
	if (!rc)
		rc = in_sender(s, from->agent, from->spool, &p, err);
	if (rc || !p)
		return rc;
	if (!spans_has(&p->now.spans, from->seq))
		return spans_room(&p->now.spans, from->seq)
			       ? 0
			       : err_set(err, -E2BIG,
					 "agent %.*s: %d holes in its numbers are more than one "
					 "spool can have",
					 (int)from->agent.n, from->agent.p, SPANS_MAX);
	rc = sum_of(s, p, from->seq, &before, err);
	*ret = before == (sum ? sum : 1) ? INBOX_SAME : INBOX_OTHER;
	return rc;
}

int inbox_spool(struct store *s, const struct batch_sender *from, int64_t *ret_spool,
		struct err *err)
{
	struct inbox *in;
	struct sender *p = NULL;
	int rc = in_ready(s, &in, err);
	if (!rc)
		rc = in_sender(s, from->agent, from->spool, &p, err);
	if (!rc && !p)
		rc = err_set(err, -ENOENT, "store %s: this sender has never sent", s->path);
	*ret_spool = p ? p->id : 0;
	return rc;
}

static int put_arrival(struct store *s, const struct sender *p, const struct arrival *a,
		       struct str kept, struct err *err)
{
	sqlite3_stmt *stmt =
		in_statement(s, IN_ARRIVE,
			     "INSERT INTO inbox_arrival (spool, seq, sum, real_ns, from_ns, to_ns, "
			     "batch, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			     err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)a->seq);
	(void)sqlite3_bind_int64(stmt, 3, (int64_t)a->sum);
	(void)sqlite3_bind_int64(stmt, 4, a->real_ns);
	in_bind_ns(stmt, 5, a->from_ns);
	in_bind_ns(stmt, 6, a->to_ns);
	in_bind_blob(stmt, 7, kept);
	/* Never one that was used before, also when the rows are gone. */
	(void)sqlite3_bind_int64(stmt, 8, s->inbox->log.last + 1);
	int rc = in_run(s, IN_ARRIVE, stmt, err, "note a batch");
	return rc != -EEXIST ? rc
			     : err_set(err, -EBUSY,
				       "store %s: another daemon takes in batches for it", s->path);
}

int inbox_arrive(struct store *s, const struct batch_sender *from, uint64_t sum, int64_t real_ns,
		 struct str kept, int64_t *ret_spool, struct err *err)
{
	struct inbox *in;
	struct sender *p;
	const struct arrival a = { .seq = from->seq,
				   .sum = sum,
				   .real_ns = real_ns,
				   .from_ns = from->from_real_ns,
				   .to_ns = from->to_real_ns };
	int rc = in_ready(s, &in, err);
	if (!rc)
		rc = in_sender(s, from->agent, from->spool, &p, err);
	if (!rc && !p)
		rc = in_create(s, from, real_ns, &p, err);
	if (!rc)
		rc = in_touch(in, p);
	if (!rc)
		rc = in_describe(s, p, from, err);
	if (!rc)
		rc = put_arrival(s, p, &a, kept, err);
	if (!rc)
		rc = note(p, &a);
	if (rc == -ENOMEM)
		return err_set(err, rc, "store %s: out of memory", s->path);
	if (rc)
		return rc;
	in->log.last++;
	in_count(&in->log, kept.n, a.from_ns, a.to_ns);
	*ret_spool = p->id;
	return 0;
}

uint64_t inbox_unfolded(const struct store *s)
{
	return s->inbox ? s->inbox->log.unfolded : 0;
}
