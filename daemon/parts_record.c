/* The record of an announced run: what the runner would have made, and what only the daemon knows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/carry.h"
#include "daemon/parts.h"
#include "lib/num.h"
#include "schema/codec.h"

struct making {
	const struct parts *p;
	struct part_loader loader;
	struct arena arena;
	struct observed *seen;
	struct roi_logs *logs; /* of each */
	size_t n;
};

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory while a record is made");
}

/* ---- executions ------------------------------------------------------------------------------ */

static const char *utc_of(struct arena *a, int64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	struct tm tm;
	char text[64];
	if (real_ns == ROI_UNKNOWN || !gmtime_r(&seconds, &tm))
		return NULL;
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return arena_strdup(a, text);
}

/* One of which no end came: it began, or processes of it are here. */
static int see_unended(struct making *m, const struct part_exec *e, struct observed *seen)
{
	*seen = (struct observed){ .end = END_INTERRUPTED,
				   .start_real_ns = e->started ? e->start.real_ns : ROI_UNKNOWN,
				   .end_real_ns = ROI_UNKNOWN };
	seen->fom.value = seen->own_timer.value = NAN;
	block_clear(&execution_block, &seen->row);
	seen->row.name = e->name;
	seen->row.order = e->started ? (double)e->start.order : (double)NAN;
	seen->row.utc = utc_of(&m->arena, seen->start_real_ns);
	seen->row.why = m->p->ended && m->p->end.complete == YES
				? "how it ended was not told"
				: "was interrupted: its runner did not tell of its end";
	return 0;
}

static int see_pictures(struct making *m, const struct part_exec *e, struct observed *seen,
			struct err *err)
{
	struct carried_picture *list;
	size_t n;
	int rc = parts_carry_pictures(&m->arena, &m->loader, e->pictures, e->n_pictures, &list, &n,
				      err);
	return rc ? rc : observed_pictures(seen, &m->arena, list, n, err);
}

static int see(struct making *m, const struct part_exec *e, struct err *err)
{
	struct observed *seen = &m->seen[m->n];
	struct carried_log *list;
	size_t n;
	int rc = e->ended ? observed_get(seen, &m->arena, &e->end, err) : see_unended(m, e, seen);
	if (rc)
		return rc;
	rc = parts_carry(&m->arena, &m->loader, e->logs, e->n_logs, &list, &n, err);
	if (!rc)
		rc = observed_logs(seen, &m->logs[m->n], &m->arena, list, n, err);
	m->n++; /* its logs are to be freed */
	return rc ? rc : see_pictures(m, e, seen, err);
}

static int by_order(const void *x, const void *y)
{
	const struct observed *a = x, *b = y;
	double p = known(a->row.order) ? a->row.order : (double)INFINITY,
	       q = known(b->row.order) ? b->row.order : (double)INFINITY;
	if (p != q)
		return p < q ? -1 : 1;
	return strcmp(a->row.name, b->row.name);
}

static int see_all(struct making *m, struct err *err)
{
	m->seen = arena_array(&m->arena, m->p->n_execs + 1, sizeof *m->seen);
	m->logs = arena_array(&m->arena, m->p->n_execs + 1, sizeof *m->logs);
	if (!m->seen || !m->logs)
		return no_memory(err);
	int rc = 0;
	for (size_t i = 0; i < m->p->n_execs && !rc; i++)
		if (*m->p->execs[i].name)
			rc = see(m, &m->p->execs[i], err);
	if (!rc)
		qsort(m->seen, m->n, sizeof *m->seen, by_order);
	return rc;
}

static void done(struct making *m)
{
	for (size_t i = 0; i < m->n; i++)
		roilogs_done(&m->logs[i]);
	buf_done(&m->loader.bytes);
	arena_free(&m->arena);
}

/* ---- who did not come ------------------------------------------------------------------------ */

/* The rank as a number below n; n: it is none. */
static size_t rank_of(struct str rank, size_t n)
{
	size_t x = 0;
	if (!rank.n || rank.n > 6 || (*rank.p == '0' && rank.n > 1))
		return n;
	for (size_t i = 0; i < rank.n; i++) {
		if (rank.p[i] < '0' || rank.p[i] > '9')
			return n;
		x = 10 * x + (size_t)(rank.p[i] - '0');
	}
	return x < n ? x : n;
}

/* "1, 4-7" */
static int put_missing(struct buf *b, const struct part_exec *e, double ranks)
{
	size_t n = ranks > 0 && ranks < 1e6 ? (size_t)ranks : 0;
	const char *before = "";
	bool *here = calloc(n + 1, sizeof *here);
	if (!here)
		return -ENOMEM;
	for (size_t i = 0; i < e->n_logs; i++)
		if (e->logs[i].row.snapshot >= 0)
			here[rank_of(e->logs[i].said.rank, n)] = true;
	for (size_t first = 0; first < n && !b->failed; first++) {
		size_t end = first;
		while (end < n && !here[end])
			end++;
		if (end == first)
			continue;
		buf_printf(b, end - first > 1 ? "%s%zu-%zu" : "%s%zu", before, first, end - 1);
		before = ", ";
		first = end;
	}
	free(here);
	return 0;
}

static int put_missing_ranks(const struct parts *p, struct record *rec)
{
	int rc = 0;
	for (size_t i = 0; i < p->n_execs && !rc; i++) {
		const struct part_exec *e = &p->execs[i];
		double expected = parts_expected(p, e), here = 0;
		struct buf list = { .max = 400 };
		for (size_t k = 0; k < e->n_logs; k++)
			here += e->logs[k].row.snapshot >= 0 && known(e->logs[k].row.processes)
					? e->logs[k].row.processes
					: 0;
		if (!*e->name || here >= expected)
			continue;
		if (known(p->announce.ranks))
			rc = put_missing(&list, e, p->announce.ranks);
		if (!rc)
			rc = record_caveat(
				rec, "ranks_missing",
				"Of %.0f processes of %s, %.0f never told of their marks%s%s: "
				"the region's time may be too small.",
				expected, e->name, expected - here, list.len ? ", ranks " : "",
				list.len ? list.data : "");
		buf_done(&list);
	}
	return rc;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static int put_loss(void *arg, const struct inbox_lost *l)
{
	struct record *rec = arg;
	if (l->ours || !strcmp(l->what, "context"))
		return 0;
	return record_caveat(rec, "marks_lost",
			     "%" PRIu64 " %s%s%s lost on the way from the node: %s%s%s.", l->count,
			     l->what, *l->exec ? " of " : "", l->exec, l->why, l->text ? ": " : "",
			     l->text ? l->text : "");
}

/* Of those that are there observed_pictures says what is wrong with them. */
static int put_cut_pictures(const struct parts *p, struct record *rec)
{
	int rc = 0;
	for (size_t i = 0; i < p->n_pictures && !rc; i++)
		if (p->pictures[i].snapshot < 0)
			rc = record_caveat(rec, "picture_unreadable",
					   "%s: only a part of the picture %s came from its node.",
					   p->pictures[i].exec, p->pictures[i].file);
	return rc;
}

int parts_losses(const struct parts *p, struct store *s, struct record *rec, struct err *err)
{
	size_t early = 0, unplaced = 0;
	int rc = inbox_each_loss(s, p->run, put_loss, rec, err);
	for (size_t i = 0; i < p->n_logs; i++) {
		bool placed = *p->logs[i].row.exec;
		early += placed && !p->logs[i].row.final;
		unplaced += !placed;
	}
	if (!rc && early)
		rc = record_caveat(
			rec, "log_not_final",
			"Of %zu process%s the last that came of its marks is from before "
			"its end.",
			early, early == 1 ? "" : "es");
	if (!rc && unplaced && rec->body.kind && strcmp(rec->body.kind, "ambient") != 0)
		rc = record_caveat(rec, "marks_lost",
				   "%zu process%s told of the run and not of the execution: their "
				   "marks are left out.",
				   unplaced, unplaced == 1 ? "" : "es");
	if (!rc)
		rc = put_cut_pictures(p, rec);
	return rc == -ENOMEM ? no_memory(err) : rc;
}

/* ---- all together ---------------------------------------------------------------------------- */

static int begin_record(const struct parts *p, struct record *rec, struct err *err)
{
	const struct str bytes = p->ended && p->end.record.p ? p->end.record
				 : p->announced              ? p->announce.record
							     : (struct str){ .p = NULL };
	record_init(rec);
	if (!bytes.p)
		return err_set(err, -EBADMSG, "run %s: nobody announced it", p->run);
	int rc = record_get(rec, bytes.p, bytes.n, NULL, 0, err);
	if (rc)
		return err_wrap(err, rc, "run %s: its announcement", p->run);
	if (!rec->body.run_id || strcmp(rec->body.run_id, p->run) != 0)
		return err_set(err, -EBADMSG, "run %s: its announcement is about another run, %s",
			       p->run, rec->body.run_id ? rec->body.run_id : "without a name");
	return 0;
}

/* Everything that was to be made is there, and only the end is not. */
static int put_endless(const struct parts *p, size_t n, struct record *rec)
{
	if (p->ended || (double)n < parts_planned(p))
		return 0;
	return record_caveat(rec, "interrupted",
			     "The end of the run never came: what its runner tells at the end is "
			     "missing.");
}

static int add_ours(const struct parts *p, struct store *s, size_t n, struct record *rec,
		    struct err *err)
{
	struct record_body *b = &rec->body;
	parts_cost(p, &b->observer);
	if (!b->provenance.job && p->announce.job.p)
		b->provenance.job = record_text(rec, p->announce.job.p, p->announce.job.n);
	int rc = put_endless(p, n, rec);
	if (!rc)
		rc = put_missing_ranks(p, rec);
	if (rc)
		return no_memory(err);
	rc = parts_losses(p, s, rec, err);
	if (!rc && record_explain_nulls(rec))
		rc = no_memory(err);
	return rc;
}

int parts_record(const struct parts *p, struct store *s, struct record *rec, struct err *err)
{
	struct making m = { .p = p, .loader = { .s = s } };
	int rc = begin_record(p, rec, err);
	if (!rc)
		rc = see_all(&m, err);
	const struct run_close close = { .complete = p->ended && p->end.complete == YES,
					 .planned = parts_planned(p),
					 .begun_real_ns =
						 p->announced ? p->announce.real_ns : ROI_UNKNOWN };
	if (!rc)
		rc = record_finish(rec, m.seen, m.n, &close, err);
	if (!rc)
		rc = add_ours(p, s, m.n, rec, err);
	done(&m);
	return rc;
}
