/* What is due: runs become records, the ledger is kept, what is old goes. Each run is a transaction
 * of its own, so that one that can't be made keeps no other one waiting. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/ambient.h"
#include "daemon/gather_impl.h"
#include "daemon/parts.h"
#include "lib/num.h"
#include "store/verdict.h"

#define RUNS_AT_ONCE 16
#define LONG_NS (GATHER_SECOND / 10) /* after so long no other run is begun */
#define FOLD_NS (30 * GATHER_SECOND)
#define FOLD_ARRIVALS 100000
#define SAVE_NS (10 * GATHER_SECOND)  /* of the clock that a kill may take back */
#define IDLE_NS (600 * GATHER_SECOND) /* likewise, while nothing is due */
#define AGAIN_NS (60 * GATHER_SECOND)
#define SAME_IDS 4

struct ticking {
	struct gather *g;
	struct store *s;
	int64_t age_ns, real_ns;
	/* Of the run at hand: copies, since the inbox lends its texts only. */
	struct arena arena;
	struct inbox_run run;
	/* What to tell when it is committed. */
	enum gather_change what[3];
	const char *who[3];
	size_t n_told;
};

static int keep(struct ticking *t, const struct inbox_run *run, struct err *err)
{
	t->run = *run;
	t->run.name = arena_strdup(&t->arena, run->name);
	t->run.stored = arena_strdup(&t->arena, run->stored);
	t->run.why = arena_strdup(&t->arena, run->why);
	if (!t->run.name || (run->stored && !t->run.stored) || (run->why && !t->run.why))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void tell(struct ticking *t, enum gather_change what, const char *run)
{
	t->what[t->n_told] = what;
	t->who[t->n_told++] = arena_strdup(&t->arena, run);
}

/* ---- when is it due? ------------------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t plus(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* When there is nothing to wait for any more, whatever is missing. */
static int64_t patience(const struct gather *g, const struct inbox_run *r, const struct parts *p)
{
	int64_t silent = plus(r->news_age_ns, g->config.silence_ns);
	if (r->ambient)
		return ambient_over(p) ? plus(r->news_age_ns, g->config.wait_ns) : silent;
	if (p->ended)
		return plus(r->ended_age_ns == ROI_UNKNOWN ? r->news_age_ns : r->ended_age_ns,
			    g->config.wait_ns);
	/* One execution may be silent for as long as it is allowed to run. */
	double limit_s = p->announced ? p->announce.timeout_s : (double)NAN;
	if (limit_s > 0 && limit_s < 1e8)
		silent = plus(silent, (int64_t)(limit_s * 1e9));
	return silent;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_faulty(int rc)
{
	return rc == -EBADMSG || rc == -EINVAL || rc == -EEXIST || rc == -E2BIG;
}

#define NO_RECORD "no_record"

/* It can't be made of what is here: said, in the ledger too, and tried again only when more comes.
 */
static int fail(struct ticking *t, const struct parts *p, const char *why, struct err *err)
{
	const struct inbox_loss loss = { .what = str_of("run"),
					 .why = str_of(NO_RECORD),
					 .run = str_of(t->run.name),
					 .text = str_of(why),
					 .count = 1,
					 .from_ns = p->from_ns,
					 .to_ns = p->to_ns };
	t->run.state = INBOX_FAILED;
	t->run.why = why;
	if (t->run.closed_age_ns == ROI_UNKNOWN)
		t->run.closed_age_ns = t->age_ns;
	t->run.due_age_ns = plus(t->run.closed_age_ns, t->g->config.keep_ns);
	tell(t, GATHER_FAILED, t->run.name);
	int rc = inbox_put_loss(t->s, p->spool, &loss, t->real_ns, err);
	return rc ? rc : inbox_set_run(t->s, &t->run, err);
}

static int stored(struct ticking *t, const char *run_id, struct err *err)
{
	t->run.state = INBOX_STORED;
	t->run.why = NULL;
	t->run.stored = run_id;
	if (t->run.closed_age_ns == ROI_UNKNOWN)
		t->run.closed_age_ns = t->age_ns;
	t->run.due_age_ns = plus(t->run.closed_age_ns, t->g->config.keep_ns);
	tell(t, GATHER_STORED, run_id);
	return inbox_set_run(t->s, &t->run, err);
}

/* Its record is there: this is the one that takes its place, maybe under another id. Somebody may
 * have deleted it: then that stands. */
static int replace(struct ticking *t, const struct record *rec, struct err *err)
{
	const char *old = t->run.stored;
	bool renamed = strcmp(old, rec->body.run_id) != 0;
	int rc = renamed ? store_add_run(t->s, rec, err) : store_replace_run(t->s, rec, err);
	if (!rc && renamed)
		rc = store_delete_run(t->s, old, err);
	if (rc == -ENOENT && renamed)
		rc = store_delete_run(t->s, rec->body.run_id, err);
	else if (!rc && renamed)
		tell(t, GATHER_GONE, old);
	if (rc == -ENOENT || (!rc && renamed && !t->n_told))
		return inbox_delete_run(t->s, t->run.id, err);
	return rc ? rc : stored(t, rec->body.run_id, err);
}

static int store(struct ticking *t, const struct record *rec, struct err *err)
{
	if (t->run.stored)
		return replace(t, rec, err);
	int rc = store_add_run(t->s, rec, err);
	return rc ? rc : stored(t, rec->body.run_id, err);
}

static int make(struct ticking *t, const struct parts *p, struct err *err)
{
	int rc = t->run.why ? inbox_drop_loss(t->s, t->run.name, "run", NO_RECORD, err) : 0;
	if (rc)
		return rc;
	rc = -EEXIST;
	/* Two groups may begin within a millisecond, and have the same hash. */
	for (unsigned again = 0; rc == -EEXIST && again < (t->run.ambient ? SAME_IDS : 1);
	     again++) {
		struct record rec;
		t->run.wants_node = 0;
		rc = t->run.ambient ? ambient_record(p, t->s, again, &rec, &t->run.wants_node, err)
				    : parts_record(p, t->s, &rec, err);
		if (!rc)
			rc = store_put_verdicts(t->s, &rec, err);
		if (!rc)
			rc = store(t, &rec, err);
		/* The record goes, its id stays: it may have to be told. */
		t->run.stored = arena_strdup(&t->arena, t->run.stored);
		record_done(&rec);
	}
	return rc;
}

/* ---- one run --------------------------------------------------------------------------------- */

static int again_at(struct ticking *t, int64_t age_ns, struct err *err)
{
	t->run.due_age_ns = age_ns;
	return inbox_set_run(t->s, &t->run, err);
}

static int judge(struct ticking *t, struct err *err)
{
	struct parts p;
	struct err why = { .text = "" };
	int rc = parts_load(&p, t->s, &t->run, &why);
	if (is_faulty(rc)) {
		rc = fail(t, &p, why.text, err);
	} else if (rc) {
		(void)err_set(err, rc, "%s", why.text);
	} else {
		bool complete = t->run.ambient ? ambient_complete(&p) : parts_complete(&p);
		int64_t until = patience(t->g, &t->run, &p);
		/* What was stored before is made anew with whatever came. */
		if (!complete && t->run.state == INBOX_OPEN && until > t->age_ns) {
			rc = again_at(t, until, err);
		} else {
			rc = make(t, &p, &why);
			if (is_faulty(rc))
				rc = fail(t, &p, why.text, err);
			else if (rc)
				(void)err_set(err, rc, "%s", why.text);
		}
	}
	parts_done(&p);
	return rc;
}

/* Nothing new came for as long as it was to be kept. */
static int put_away(struct ticking *t, struct err *err)
{
	int64_t until =
		plus(later(t->run.closed_age_ns, t->run.began_age_ns), t->g->config.keep_ns);
	return until > t->age_ns ? again_at(t, until, err) : inbox_delete_run(t->s, t->run.id, err);
}

static int do_run(struct ticking *t, struct err *err)
{
	int rc = store_begin(t->s, err);
	if (rc)
		return rc;
	if (t->run.state == INBOX_OPEN || t->run.state == INBOX_LATE)
		rc = judge(t, err);
	else
		rc = put_away(t, err);
	if (rc) {
		store_rollback(t->s);
		return err_wrap(err, rc, "run %s", t->run.name);
	}
	return store_commit(t->s, err);
}

/* What goes wrong with this run alone must not keep the others waiting; what the store can't do for
 * any of them is no fault of this one. */
static int postpone(struct ticking *t, int rc, struct err *err)
{
	if (rc == -ENOSPC || rc == -EBUSY || rc == -EROFS || rc == -EACCES)
		return rc;
	struct inbox_run before;
	int again = inbox_find_run(t->s, t->run.name, &before, NULL);
	before.due_age_ns = plus(t->age_ns, AGAIN_NS);
	if (!again)
		again = inbox_set_run(t->s, &before, err);
	return again ? again : 1;
}

/* 1: there may be more to do; 0: none is due before *ret_next_age. *ret_trouble: what went wrong
 * with this run alone. */
static int one_run(struct ticking *t, int64_t *ret_next_age, int *ret_trouble, struct err *err)
{
	struct inbox_run run;
	int rc = inbox_next_due(t->s, t->age_ns, &run, ret_next_age, err);
	if (rc <= 0)
		return rc;
	rc = keep(t, &run, err);
	if (!rc)
		rc = do_run(t, err);
	if (!rc)
		return 1;
	t->n_told = 0;
	*ret_trouble = *ret_trouble ? *ret_trouble : rc;
	return t->run.name ? postpone(t, rc, NULL) : rc;
}

static int64_t mono_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * GATHER_SECOND + t.tv_nsec;
}

static int runs(struct gather *g, struct store *s, int64_t age_ns, int64_t real_ns,
		void (*changed)(void *arg, enum gather_change what, const char *run), void *arg,
		int64_t *ret_next_age, struct err *err)
{
	int rc = 1, trouble = 0;
	const int64_t begin_ns = mono_ns();
	/* Agents wait meanwhile: what is left goes with the next tick. */
	for (int i = 0; i < RUNS_AT_ONCE && rc > 0 && mono_ns() - begin_ns < LONG_NS; i++) {
		struct ticking t = { .g = g, .s = s, .age_ns = age_ns, .real_ns = real_ns };
		rc = one_run(&t, ret_next_age, &trouble, err);
		for (size_t k = 0; k < t.n_told && changed; k++)
			if (t.who[k])
				changed(arg, t.what[k], t.who[k]);
		arena_free(&t.arena);
	}
	if (rc > 0)
		*ret_next_age = age_ns;
	return trouble ? trouble : rc < 0 ? rc : 0;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int keep_ledger(struct gather *g, struct store *s, const struct gather_now *now,
		       int64_t age_ns, bool *ret_more, struct err *err)
{
	*ret_more = false;
	if (age_ns - g->fold_age_ns < FOLD_NS && inbox_unfolded(s) < FOLD_ARRIVALS)
		return 0;
	const struct inbox_fold f = { .age_ns = age_ns,
				      .real_ns = now->real_ns,
				      .keep_age_ns = g->config.context_keep_ns,
				      .max_bytes = g->config.context_bytes };
	int rc = inbox_fold(s, &f, ret_more, err);
	if (!rc && !*ret_more)
		g->fold_age_ns = age_ns;
	return rc;
}

static int save_clock(struct gather *g, struct store *s, int64_t age_ns, bool idle, struct err *err)
{
	if (age_ns - g->saved_age_ns < (idle ? IDLE_NS : SAVE_NS))
		return 0;
	int rc = inbox_set_age(s, age_ns, err);
	if (!rc)
		g->saved_age_ns = age_ns;
	return rc;
}

int gather_tick(struct gather *g, struct store *s, const struct gather_now *now,
		void (*changed)(void *arg, enum gather_change what, const char *run), void *arg,
		int64_t *ret_next_ns, struct err *err)
{
	int64_t age_ns = gather_age(g, now), next = INT64_MAX;
	bool more;
	*ret_next_ns = plus(now->mono_ns, GATHER_SECOND);
	int rc = runs(g, s, age_ns, now->real_ns, changed, arg, &next, err);
	if (!rc)
		rc = save_clock(g, s, age_ns, next == INT64_MAX, err);
	if (!rc)
		rc = keep_ledger(g, s, now, age_ns, &more, err);
	if (rc)
		return rc;
	next = more ? age_ns : next;
	int64_t in_ns = next <= age_ns ? 0 : next - age_ns;
	*ret_next_ns = now->mono_ns + (in_ns < SAVE_NS ? in_ns : SAVE_NS);
	return 0;
}
