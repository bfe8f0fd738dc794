/* Arrivals become the ledger: spans of numbers and sums by sender. And what is old goes. Ten
 * thousand senders take a third of a second, and agents wait for the thread that does it: so it is
 * done in pieces, each a transaction of some milliseconds. A sender that is kept has in the tables
 * all that had come from it, also what comes behind the arrival up to which the fold goes; who
 * reads both passes over what is in its spans. */
#include "store/sqlite_inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SENDERS 65536 /* kept in memory from fold to fold; each has some 300 bytes */
#define DROP_AT_ONCE 2000
#define SENDERS_AT_ONCE 128
#define CLEAR_AT_ONCE 4000 /* arrivals */

/* ---- one sender ------------------------------------------------------------------------------ */

static int keep_spool(struct store *s, const struct sender *p, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, IN_KEEP_SPOOL,
					  "UPDATE inbox_spool SET last_real_ns = ?2, to_ns = ?3, "
					  "last_seq = ?4, batches = ?5 WHERE id = ?1",
					  err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	(void)sqlite3_bind_int64(stmt, 2, p->now.last_real_ns);
	in_bind_ns(stmt, 3, p->now.to_ns);
	(void)sqlite3_bind_int64(stmt, 4, (int64_t)p->now.last_seq);
	(void)sqlite3_bind_int64(stmt, 5, (int64_t)p->now.batches);
	return in_run(s, IN_KEEP_SPOOL, stmt, err, "keep the ledger");
}

static int put_span(struct store *s, int64_t spool, const struct inbox_span *span, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_SPAN,
		"INSERT INTO inbox_span (spool, first, last, from_ns, to_ns) VALUES (?, ?, ?, ?, "
		"?)",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, spool);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)span->first);
	(void)sqlite3_bind_int64(stmt, 3, (int64_t)span->last);
	in_bind_ns(stmt, 4, span->from_ns);
	in_bind_ns(stmt, 5, span->to_ns);
	return in_run(s, IN_PUT_SPAN, stmt, err, "keep the ledger");
}

/* Those from the lowest changed one on. */
static int keep_spans(struct store *s, const struct sender *p, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_DROP_SPANS, "DELETE FROM inbox_span WHERE spool = ? AND first >= ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)p->now.low);
	int rc = in_run(s, IN_DROP_SPANS, stmt, err, "keep the ledger");
	for (size_t i = p->now.spans.n; i-- && !rc && p->now.spans.items[i].first >= p->now.low;)
		rc = put_span(s, p->id, &p->now.spans.items[i], err);
	return rc;
}

static int get_sums(struct store *s, int64_t spool, uint64_t block, uint64_t *sums, struct err *err)
{
	memset(sums, 0, IN_SUMS_BLOCK * sizeof *sums);
	sqlite3_stmt *stmt = in_statement(
		s, IN_GET_SUMS, "SELECT sums FROM inbox_sums WHERE spool = ? AND block = ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, spool);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)block);
	int rc = in_step(s, stmt, err, "keep the sums");
	struct str old = rc > 0 ? in_blob(stmt, 0) : (struct str){ .n = 0 };
	if (old.n == IN_SUMS_BLOCK * sizeof *sums)
		memcpy(sums, old.p, old.n);
	in_release(s, IN_GET_SUMS, stmt);
	return rc < 0 ? rc : 0;
}

static int put_sums(struct store *s, int64_t spool, uint64_t block, const uint64_t *sums,
		    struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_SUMS,
		"INSERT OR REPLACE INTO inbox_sums (spool, block, sums) VALUES (?, ?, ?)", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, spool);
	(void)sqlite3_bind_int64(stmt, 2, (int64_t)block);
	in_bind_blob(stmt, 3,
		     (struct str){ .p = (const char *)sums, .n = IN_SUMS_BLOCK * sizeof *sums });
	return in_run(s, IN_PUT_SUMS, stmt, err, "keep the sums");
}

static int drop_sums(struct store *s, const struct sender *p, struct err *err)
{
	if (p->now.last_seq < IN_SUMS_KEPT)
		return 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_DROP_SUMS, "DELETE FROM inbox_sums WHERE spool = ? AND block < ?", err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	(void)sqlite3_bind_int64(stmt, 2,
				 (int64_t)((p->now.last_seq - IN_SUMS_KEPT) / IN_SUMS_BLOCK));
	return in_run(s, IN_DROP_SUMS, stmt, err, "drop old sums");
}

static int by_seq(const void *a, const void *b)
{
	const struct in_sum *x = a, *y = b;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Block by block; they come in order, mostly. */
static int keep_sums(struct store *s, struct sender *p, struct err *err)
{
	uint64_t sums[IN_SUMS_BLOCK];
	int rc = 0;
	qsort(p->recent, p->now.n_recent, sizeof *p->recent, by_seq);
	for (size_t i = 0; i < p->now.n_recent && !rc;) {
		uint64_t block = p->recent[i].seq / IN_SUMS_BLOCK;
		rc = get_sums(s, p->id, block, sums, err);
		for (; i < p->now.n_recent && p->recent[i].seq / IN_SUMS_BLOCK == block; i++)
			sums[p->recent[i].seq % IN_SUMS_BLOCK] = p->recent[i].sum;
		if (!rc)
			rc = put_sums(s, p->id, block, sums, err);
	}
	return rc ? rc : drop_sums(s, p, err);
}

static int keep_sender(struct store *s, struct sender *p, struct err *err)
{
	int rc = keep_spool(s, p, err);
	if (!rc)
		rc = keep_spans(s, p, err);
	if (!rc)
		rc = keep_sums(s, p, err);
	return rc || !p->self_new ? rc : in_keep_self(s, p, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int with_number(struct store *s, enum inbox_statement which, const char *text, int64_t x,
		       int64_t y, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, which, text, err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, x);
	(void)sqlite3_bind_int64(stmt, 2, y);
	return in_run(s, which, stmt, err, "keep the ledger");
}

static int put_fold(struct store *s, const struct in_log *log, int64_t age_ns, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_PUT_FOLD,
		"INSERT OR REPLACE INTO inbox_fold (arrival, first, age_ns, from_ns, to_ns, bytes) "
		"VALUES (?, ?, ?, ?, ?, ?)",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, log->last);
	(void)sqlite3_bind_int64(stmt, 2, log->folded + 1);
	(void)sqlite3_bind_int64(stmt, 3, age_ns);
	(void)sqlite3_bind_int64(stmt, 4, log->from_ns);
	(void)sqlite3_bind_int64(stmt, 5, log->to_ns);
	(void)sqlite3_bind_int64(stmt, 6, (int64_t)log->bytes);
	return in_run(s, IN_PUT_FOLD, stmt, err, "keep the ledger");
}

static int by_row(const void *a, const void *b)
{
	const struct sender *x = *(struct sender *const *)a, *y = *(struct sender *const *)b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int begin_pass(struct inbox *in)
{
	struct in_pass *p = &in->pass;
	struct sender **list = in->n ? realloc(p->list, in->n * sizeof(struct sender *)) : p->list;
	if (in->n && !list)
		return -ENOMEM;
	*p = (struct in_pass){
		.list = list, .log = in->log, .cleared = in->log.folded, .open = true
	};
	in->log.bytes = 0; /* of the next one from here on */
	in->log_before = in->log;
	for (size_t i = 0; i < in->n_buckets; i++)
		for (struct sender *one = in->buckets[i]; one; one = one->next)
			if (one->now.dirty)
				p->list[p->n++] = one;
	if (p->n)
		qsort(p->list, p->n, sizeof *p->list, by_row);
	return 0;
}

/* What one call has done, to be noted when it is committed. */
struct piece {
	size_t at;
	int64_t cleared;
	bool ended;
};

/* Where a row stands for nothing but its number, it may go now; the others stay until they are too
 * old. Only at the end the ledger is up to the last of them: until then who reads looks at both. */
static int clear(struct store *s, const struct inbox_fold *f, struct piece *done, struct err *err)
{
	const struct in_pass *p = &s->inbox->pass;
	int64_t from = p->cleared, last = p->log.last;
	done->cleared = last - from < CLEAR_AT_ONCE ? last : from + CLEAR_AT_ONCE;
	done->ended = done->cleared == last;
	int rc = with_number(
		s, IN_CLEAR,
		"DELETE FROM inbox_arrival WHERE id > ?1 AND id <= ?2 AND batch IS NULL", from,
		done->cleared, err);
	if (!rc && done->ended && p->log.bytes)
		rc = put_fold(s, &p->log, f->age_ns, err);
	if (!rc && done->ended)
		rc = with_number(s, IN_SET_FOLDED,
				 "UPDATE inbox_clock SET folded = ?1 WHERE ?2 >= 0", last, 0, err);
	return rc;
}

static int keep_some(struct store *s, const struct inbox_fold *f, struct piece *done,
		     struct err *err)
{
	const struct in_pass *p = &s->inbox->pass;
	int rc = 0;
	*done = (struct piece){ .at = p->at, .cleared = p->cleared };
	for (; done->at < p->n && done->at < p->at + SENDERS_AT_ONCE && !rc; done->at++)
		if (p->list[done->at]->now.dirty)
			rc = keep_sender(s, p->list[done->at], err);
	return rc || done->at < p->n ? rc : clear(s, f, done, err);
}

/* The arrival up to which context is too old, or too much. 0: none. */
static int too_old(struct store *s, const struct inbox_fold *f, int64_t *ret, struct err *err)
{
	*ret = 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_FOLDS, "SELECT arrival, age_ns, bytes FROM inbox_fold ORDER BY arrival DESC",
		err);
	if (!stmt)
		return s->failed;
	uint64_t bytes = 0;
	int rc = 0;
	while (!*ret && (rc = in_step(s, stmt, err, "look for old context")) > 0) {
		bytes += (uint64_t)sqlite3_column_int64(stmt, 2);
		if (sqlite3_column_int64(stmt, 1) <= f->age_ns - f->keep_age_ns ||
		    bytes > f->max_bytes)
			*ret = sqlite3_column_int64(stmt, 0);
	}
	in_release(s, IN_FOLDS, stmt);
	return rc < 0 ? rc : 0;
}

static int drop_old(struct store *s, const struct inbox_fold *f, bool *ret_more, struct err *err)
{
	int64_t up_to;
	int rc = too_old(s, f, &up_to, err);
	*ret_more = false;
	if (rc || !up_to)
		return rc;
	rc = with_number(s, IN_DROP_CONTEXT,
			 "DELETE FROM inbox_arrival WHERE id IN (SELECT id FROM inbox_arrival "
			 "WHERE id <= ?1 ORDER BY id LIMIT ?2)",
			 up_to, DROP_AT_ONCE, err);
	if (rc)
		return rc;
	*ret_more = sqlite3_changes(s->db) == DROP_AT_ONCE;
	/* The row of the fold goes last: it says how far to drop. */
	return *ret_more ? 0
			 : with_number(s, IN_DROP_FOLDS,
				       "DELETE FROM inbox_fold WHERE arrival <= ?1 AND ?2 >= 0",
				       up_to, 0, err);
}

/* What is in the tables need not be kept in memory. */
static void is_kept(struct sender *p)
{
	p->now.dirty = p->self_new = false;
	p->now.n_recent = 0;
	p->now.low = UINT64_MAX;
	free(p->recent);
	p->recent = NULL;
	p->recent_cap = 0;
	free(p->self);
	p->self = NULL;
	p->self_n = 0;
}

static void note_piece(struct inbox *in, const struct piece *done)
{
	struct in_pass *p = &in->pass;
	for (; p->at < done->at; p->at++)
		is_kept(p->list[p->at]);
	p->cleared = done->cleared;
	if (done->ended) {
		in->log.folded = p->log.last;
		in->log.unfolded -= p->log.unfolded;
		in->log_before = in->log;
		p->open = false;
		p->drops = true;
		if (in->n > MAX_SENDERS)
			in_forget(in);
	}
}

int inbox_fold(struct store *s, const struct inbox_fold *f, bool *ret_more, struct err *err)
{
	struct inbox *in;
	struct piece done = { .at = 0 };
	*ret_more = false;
	if (s->in_transaction)
		return err_set(err, -EALREADY, "store %s: a batch has begun already", s->path);
	int rc = in_ready(s, &in, err);
	bool begins = !rc && !in->pass.open && !in->pass.drops && in->log.unfolded;
	if (begins && begin_pass(in))
		rc = err_set(err, -ENOMEM, "store %s: out of memory", s->path);
	if (!rc)
		rc = sql_begin(s, err);
	if (rc)
		return rc;
	bool keeps = in->pass.open;
	rc = keeps ? keep_some(s, f, &done, err) : drop_old(s, f, ret_more, err);
	rc = sql_end(s, rc, err);
	if (rc)
		return rc;
	if (keeps) {
		note_piece(in, &done);
		*ret_more = true;
	} else {
		in->pass.drops = *ret_more;
	}
	return 0;
}
