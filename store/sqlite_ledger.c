/* The ledger as it is asked for: tables, and the arrivals that are not in them yet. */
#include "store/sqlite_inbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/utf8.h"
#include "store/holes.h"

/* ---- arrivals since the last fold ------------------------------------------------------------ */

struct arrived {
	int64_t spool, real_ns, from_ns, to_ns;
	uint64_t seq;
};

struct arrivals {
	struct arrived *items;
	size_t n, cap;
};

static int no_memory(const struct store *s, struct err *err)
{
	return err_set(err, -ENOMEM, "store %s: out of memory", s->path);
}

static int keep_arrival(struct arrivals *l, sqlite3_stmt *stmt)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 256;
		struct arrived *items = realloc(l->items, cap * sizeof *items);
		if (!items)
			return -ENOMEM;
		l->items = items;
		l->cap = cap;
	}
	l->items[l->n++] = (struct arrived){ .spool = sqlite3_column_int64(stmt, 0),
					     .seq = (uint64_t)sqlite3_column_int64(stmt, 1),
					     .real_ns = sqlite3_column_int64(stmt, 2),
					     .from_ns = in_ns(stmt, 3),
					     .to_ns = in_ns(stmt, 4) };
	return 0;
}

/* By sender, in the order of arrival. */
static int get_arrivals(struct store *s, const char *agent, struct arrivals *ret, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_EACH_ARRIVAL,
		"SELECT spool, seq, real_ns, from_ns, to_ns FROM inbox_arrival WHERE id > "
		"(SELECT folded FROM inbox_clock) AND (?1 IS NULL OR spool IN (SELECT id FROM "
		"inbox_spool WHERE agent = ?1)) ORDER BY spool, id",
		err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, agent);
	int rc;
	while ((rc = in_step(s, stmt, err, "read what arrived")) > 0) {
		rc = keep_arrival(ret, stmt);
		if (rc) {
			rc = no_memory(s, err);
			break;
		}
	}
	in_release(s, IN_EACH_ARRIVAL, stmt);
	return rc;
}

/* ---- one sender ------------------------------------------------------------------------------ */

struct page {
	struct store *s;
	struct arena arena;
	struct inbox_ledger l;
	struct spans spans;
	int64_t id, since_ns, until_ns;
};

static int get_spans(struct page *p, struct err *err)
{
	struct store *s = p->s;
	sqlite3_stmt *stmt = in_statement(s, IN_SPANS,
					  "SELECT first, last, from_ns, to_ns FROM inbox_span "
					  "WHERE spool = ? ORDER BY first",
					  err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the ledger")) > 0) {
		uint64_t low;
		if (spans_add(&p->spans, (uint64_t)sqlite3_column_int64(stmt, 0), in_ns(stmt, 2),
			      in_ns(stmt, 3), &low)) {
			rc = no_memory(s, err);
			break;
		}
		p->spans.items[p->spans.n - 1].last = (uint64_t)sqlite3_column_int64(stmt, 1);
	}
	in_release(s, IN_SPANS, stmt);
	return rc;
}

static int add_arrivals(struct page *p, const struct arrivals *all, size_t *at)
{
	while (*at < all->n && all->items[*at].spool < p->id)
		++*at;
	for (; *at < all->n && all->items[*at].spool == p->id; ++*at) {
		const struct arrived *a = &all->items[*at];
		uint64_t low;
		if (spans_has(&p->spans, a->seq))
			continue;
		if (spans_add(&p->spans, a->seq, a->from_ns, a->to_ns, &low))
			return -ENOMEM;
		p->l.batches++;
		p->l.last_real_ns = a->real_ns;
		if (a->seq >= p->l.last_seq) {
			p->l.last_seq = a->seq;
			p->l.last_to_ns = a->to_ns;
		}
	}
	return 0;
}

static char *copy(struct page *p, sqlite3_stmt *stmt, int column)
{
	return arena_strdup(&p->arena, sql_text(stmt, column));
}

static struct str copy_blob(struct page *p, sqlite3_stmt *stmt, int column)
{
	struct str blob = in_blob(stmt, column);
	char *bytes = blob.p ? arena_alloc(&p->arena, blob.n + 1) : NULL;
	if (bytes)
		memcpy(bytes, blob.p, blob.n);
	return (struct str){ .p = bytes, .n = bytes ? blob.n : 0 };
}

static int get_holes(struct page *p, struct err *err)
{
	struct store *s = p->s;
	struct told_gap *told = NULL;
	size_t n = 0, cap = 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_EACH_GAP,
		"SELECT first, last, carried, what, why, from_ns, to_ns FROM inbox_gap WHERE "
		"spool = ? ORDER BY first, last",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the gaps")) > 0) {
		struct told_gap *more = arena_grow(&p->arena, told, &cap, n + 1, sizeof *told);
		if (!more) {
			rc = no_memory(s, err);
			break;
		}
		told = more;
		told[n++] = (struct told_gap){ .first = (uint64_t)sqlite3_column_int64(stmt, 0),
					       .last = (uint64_t)sqlite3_column_int64(stmt, 1),
					       .carried = sqlite3_column_int(stmt, 2),
					       .what = copy(p, stmt, 3),
					       .why = copy(p, stmt, 4),
					       .from_ns = in_ns(stmt, 5),
					       .to_ns = in_ns(stmt, 6) };
	}
	in_release(s, IN_EACH_GAP, stmt);
	if (rc)
		return rc;
	rc = holes_find(&p->arena, &p->spans, told, n, &p->l.holes, &p->l.n_holes);
	return rc ? no_memory(s, err) : 0;
}

static int add_loss(struct page *p, sqlite3_stmt *stmt, size_t *cap)
{
	struct inbox_lost *items =
		arena_grow(&p->arena, p->l.losses, cap, p->l.n_losses + 1, sizeof *items);
	if (!items)
		return -ENOMEM;
	const char *run = sql_text(stmt, 2), *exec = sql_text(stmt, 3);
	p->l.losses = items;
	items[p->l.n_losses++] =
		(struct inbox_lost){ .what = copy(p, stmt, 0),
				     .why = copy(p, stmt, 1),
				     .run = run && *run ? copy(p, stmt, 2) : NULL,
				     .exec = exec && *exec ? copy(p, stmt, 3) : NULL,
				     .count = (uint64_t)sqlite3_column_int64(stmt, 4),
				     .bytes = (uint64_t)sqlite3_column_int64(stmt, 5),
				     .from_ns = in_ns(stmt, 6),
				     .to_ns = in_ns(stmt, 7),
				     .text = copy(p, stmt, 8),
				     .ours = sqlite3_column_int(stmt, 9) };
	return 0;
}

static int get_losses(struct page *p, struct err *err)
{
	struct store *s = p->s;
	size_t cap = 0;
	sqlite3_stmt *stmt = in_statement(
		s, IN_EACH_LOSS,
		"SELECT what, why, run, exec, count, bytes, from_ns, to_ns, text, ours "
		"FROM inbox_loss WHERE spool = ?",
		err);
	if (!stmt)
		return s->failed;
	(void)sqlite3_bind_int64(stmt, 1, p->id);
	int rc;
	while ((rc = in_step(s, stmt, err, "read the losses")) > 0) {
		if (!holes_touch(in_ns(stmt, 6), in_ns(stmt, 7), p->since_ns, p->until_ns))
			continue;
		rc = add_loss(p, stmt, &cap);
		if (rc) {
			rc = no_memory(s, err);
			break;
		}
	}
	in_release(s, IN_EACH_LOSS, stmt);
	return rc;
}

/* ---- is anything missing? -------------------------------------------------------------------- */

static bool is_context(const char *what)
{
	return what && !strcmp(what, "context");
}

static void missing(struct page *p, bool marks, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void missing(struct page *p, bool marks, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	/* Cut within a letter it would be no text any more. */
	size_t n = strlen(text);
	while (n && !utf8_valid(text, n))
		n--;
	text[n] = 0;
	/* What is missing of marks is said before what is missing of context. */
	if (!p->l.why || (marks && p->l.marks_complete))
		p->l.why = arena_strdup(&p->arena, text);
	p->l.complete = false;
	p->l.marks_complete = p->l.marks_complete && !marks;
}

static void judge_holes(struct page *p)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->l.n_holes; i++) {
		const struct inbox_hole h = p->l.holes[i];
		if (!holes_touch(h.from_ns, h.to_ns, p->since_ns, p->until_ns))
			continue;
		p->l.holes[kept++] = h;
		missing(p, !is_context(h.what),
			h.told ? "%" PRIu64 " batches of numbers %" PRIu64 " to %" PRIu64
				 " are lost: %s"
			       : "%" PRIu64 " batches of numbers %" PRIu64 " to %" PRIu64
				 " have not come%s",
			h.count, h.first, h.last,
			!h.told ? ""
			: h.why ? h.why
				: "no reason is told");
	}
	p->l.n_holes = kept;
}

static void judge(struct page *p)
{
	struct inbox_ledger *l = &p->l;
	l->marks_complete = l->complete = true;
	judge_holes(p);
	for (size_t i = 0; i < l->n_losses; i++)
		if (!l->losses[i].ours)
			missing(p, !is_context(l->losses[i].what), "%" PRIu64 " %s lost: %s",
				l->losses[i].count, l->losses[i].what, l->losses[i].why);
	bool heard = l->last_to_ns != ROI_UNKNOWN && l->last_to_ns >= p->since_ns;
	if (p->until_ns != INT64_MAX ? l->last_to_ns < p->until_ns : !heard)
		missing(p, true, "its newest batch, number %" PRIu64 ", does not reach that far",
			l->last_seq);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int read_page(struct page *p, sqlite3_stmt *stmt, const struct arrivals *all, size_t *at,
		     struct err *err)
{
	p->id = sqlite3_column_int64(stmt, 0);
	p->l = (struct inbox_ledger){ .agent = copy(p, stmt, 1),
				      .spool = copy(p, stmt, 2),
				      .host = copy(p, stmt, 3),
				      .boot = copy(p, stmt, 4),
				      .tool = copy(p, stmt, 5),
				      .first_real_ns = sqlite3_column_int64(stmt, 6),
				      .last_real_ns = sqlite3_column_int64(stmt, 7),
				      .last_to_ns = in_ns(stmt, 8),
				      .last_seq = (uint64_t)sqlite3_column_int64(stmt, 9),
				      .batches = (uint64_t)sqlite3_column_int64(stmt, 10),
				      .self = copy_blob(p, stmt, 11),
				      .node = copy_blob(p, stmt, 12) };
	if (!p->l.agent || !p->l.spool)
		return no_memory(p->s, err);
	int rc = get_spans(p, err);
	if (!rc && add_arrivals(p, all, at))
		rc = no_memory(p->s, err);
	if (!rc)
		rc = get_holes(p, err);
	if (!rc)
		rc = get_losses(p, err);
	if (rc)
		return rc;
	judge(p);
	p->l.spans = p->spans.items;
	p->l.n_spans = p->spans.n;
	return 0;
}

static int each_page(struct store *s, const char *agent, const struct page *like,
		     const struct arrivals *all,
		     int (*each)(void *arg, const struct inbox_ledger *l), void *arg,
		     struct err *err)
{
	sqlite3_stmt *stmt = in_statement(
		s, IN_EACH_SPOOL,
		"SELECT id, inbox_spool.agent, spool, host, boot, tool, first_real_ns, "
		"last_real_ns, to_ns, last_seq, batches, self, frame FROM inbox_spool LEFT JOIN "
		"inbox_node ON inbox_node.agent = inbox_spool.agent "
		"WHERE ?1 IS NULL OR inbox_spool.agent = ?1 ORDER BY id",
		err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, agent);
	int rc;
	size_t at = 0;
	while ((rc = in_step(s, stmt, err, "read the senders")) > 0) {
		struct page p = *like;
		rc = read_page(&p, stmt, all, &at, err);
		if (!rc)
			rc = each(arg, &p.l);
		spans_done(&p.spans);
		arena_free(&p.arena);
		if (rc)
			break;
	}
	in_release(s, IN_EACH_SPOOL, stmt);
	return rc;
}

/* One state of all tables: a fold in between would show its arrivals twice, or not at all. */
static int begin_reading(struct store *s, bool *ret_alone, struct err *err)
{
	*ret_alone = sqlite3_get_autocommit(s->db);
	int rc = *ret_alone ? sql_exec(s, "BEGIN", err) : 0;
	*ret_alone = *ret_alone && !rc;
	return rc;
}

static void end_reading(struct store *s, bool alone)
{
	if (alone)
		(void)sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
}

int inbox_each_ledger(struct store *s, const char *agent, int64_t since_ns, int64_t until_ns,
		      int (*each)(void *arg, const struct inbox_ledger *l), void *arg,
		      struct err *err)
{
	const struct page like = { .s = s, .since_ns = since_ns, .until_ns = until_ns };
	struct arrivals all = { .n = 0 };
	bool alone;
	int rc = begin_reading(s, &alone, err);
	if (!rc)
		rc = get_arrivals(s, agent, &all, err);
	if (!rc)
		rc = each_page(s, agent, &like, &all, each, arg, err);
	end_reading(s, alone);
	free(all.items);
	return rc;
}

#define OF_AGENT                                                                                   \
	"a.batch IS NOT NULL AND (?1 IS NULL OR a.spool IN (SELECT id FROM inbox_spool WHERE "     \
	"agent = ?1)) AND coalesce(a.to_ns, ?2) >= ?2 AND coalesce(a.from_ns, ?3) <= ?3"

static const struct {
	enum inbox_statement which;
	const char *text;
} contexts[] = {
	/* What is folded: by the times of each fold. CROSS JOIN: these first. */
	{ IN_EACH_CONTEXT, "SELECT a.batch FROM inbox_fold AS f CROSS JOIN inbox_arrival AS a ON "
			   "a.id >= f.first AND a.id <= f.arrival WHERE f.to_ns >= ?2 AND "
			   "f.from_ns <= ?3 AND " OF_AGENT },
	{ IN_NEW_CONTEXT, "SELECT a.batch FROM inbox_arrival AS a WHERE a.id > (SELECT folded FROM "
			  "inbox_clock) AND " OF_AGENT " ORDER BY a.id" },
};

struct context_of {
	const char *agent;
	int64_t since_ns, until_ns;
	int (*each)(void *arg, struct str batch);
	void *arg;
};

static int each_context(struct store *s, int which, const struct context_of *c, struct err *err)
{
	sqlite3_stmt *stmt = in_statement(s, contexts[which].which, contexts[which].text, err);
	if (!stmt)
		return s->failed;
	sql_bind_text(stmt, 1, c->agent);
	(void)sqlite3_bind_int64(stmt, 2, c->since_ns);
	(void)sqlite3_bind_int64(stmt, 3, c->until_ns);
	int rc;
	while ((rc = in_step(s, stmt, err, "read context")) > 0) {
		rc = c->each(c->arg, in_blob(stmt, 0));
		if (rc)
			break;
	}
	in_release(s, contexts[which].which, stmt);
	return rc;
}

int inbox_each_context(struct store *s, const char *agent, int64_t since_ns, int64_t until_ns,
		       int (*each)(void *arg, struct str batch), void *arg, struct err *err)
{
	const struct context_of c = { agent, since_ns, until_ns, each, arg };
	bool alone;
	int rc = begin_reading(s, &alone, err);
	for (int i = 0; i < 2 && !rc; i++)
		rc = each_context(s, i, &c, err);
	end_reading(s, alone);
	return rc;
}
