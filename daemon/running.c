/* Runs in progress, for those who ask. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "core/carry.h"
#include "daemon/ambient.h"
#include "daemon/gather.h"
#include "daemon/parts.h"
#include "lib/num.h"
#include "schema/runid.h"

struct asking {
	struct store *s;
	const char *only;
	int (*each)(void *arg, const struct gather_running *r);
	void *arg;
	struct err *err;
};

/* The one that began last and has no end. */
static const struct part_exec *current(const struct parts *p)
{
	const struct part_exec *best = NULL;
	for (size_t i = 0; i < p->n_execs; i++) {
		const struct part_exec *e = &p->execs[i];
		if (e->started && !e->ended && (!best || e->start.order > best->start.order))
			best = e;
	}
	return best;
}

static void tell_logs(const struct part_log *logs, size_t n, struct gather_running *r)
{
	r->steps = NAN;
	for (size_t i = 0; i < n; i++)
		if (known(logs[i].row.steps) && !(r->steps >= logs[i].row.steps))
			r->steps = logs[i].row.steps;
	r->processes = n ? (double)n : (double)NAN; /* of none that is heard of nothing is known */
}

/* From what one execution took before, how many are left, and how far this one is. */
static int64_t expected_end(const struct gather_running *r)
{
	double left = r->planned - r->done;
	if (!known(r->expected_s) || !known(left) || r->exec_ns == ROI_UNKNOWN || left < 1 ||
	    left * r->expected_s > 1e9)
		return ROI_UNKNOWN;
	return r->exec_ns + (int64_t)(left * r->expected_s * 1e9);
}

static int tell_announced(struct parts *p, struct gather_running *r)
{
	const struct frame_run_announce *a = &p->announce;
	const struct str from[] = { a->suite, a->app,  a->case_, a->platform,
				    a->kind,  a->user, a->job };
	const char **to[] = { &r->suite, &r->app,  &r->case_, &r->platform,
			      &r->kind,  &r->user, &r->job };
	for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
		*to[i] = arena_str(&p->arena, from[i]);
		if (from[i].p && !*to[i])
			return -ENOMEM;
	}
	r->announced_ns = a->real_ns;
	r->steps_expected = a->steps;
	r->expected_s = a->expected_s;
	return 0;
}

static int tell_run(struct parts *p, bool ambient, struct gather_running *r)
{
	const struct part_exec *e = current(p);
	*r = (struct gather_running){ .run = ambient ? NULL : p->run,
				      .kind = ambient ? "ambient" : NULL,
				      .announced_ns = ROI_UNKNOWN,
				      .planned = parts_planned(p),
				      .steps_expected = (double)NAN,
				      .expected_s = (double)NAN,
				      .exec = e ? e->name : NULL,
				      .exec_ns = e ? e->start.real_ns : ROI_UNKNOWN,
				      .ended = p->ended };
	for (size_t i = 0; i < p->n_execs; i++)
		r->done += p->execs[i].ended;
	tell_logs(e         ? e->logs
		  : ambient ? p->logs
			    : NULL,
		  e         ? e->n_logs
		  : ambient ? p->n_logs
			    : 0,
		  r);
	if (p->announced && tell_announced(p, r))
		return -ENOMEM;
	if (ambient && p->n_logs) {
		r->job = arena_str(&p->arena, p->logs[0].said.job);
		r->done = NAN;
	}
	r->end_ns = p->ended ? ROI_UNKNOWN : expected_end(r);
	return 0;
}

/* While a clean region is open no logs come, only how far it is. */
static int tell_progress(struct store *s, int64_t run, struct gather_running *r, struct err *err)
{
	double n = 0, steps = NAN;
	int rc = inbox_get_progress(s, run, r->exec, &n, &steps, err);
	if (known(steps) && !(r->steps >= steps))
		r->steps = steps;
	if (n > 0)
		r->processes = fmax(r->processes, n);
	return rc;
}

/* ---- a runner that has no history of its own ---------------------------------------------------
 */

struct wanted {
	const char *case_, *platform;
	char run_id[RUNID_BYTES];
};

static int look(void *arg, const struct cell *c)
{
	struct wanted *w = arg;
	if (!c->ok.run_id || strcmp(c->case_, w->case_) != 0 ||
	    strcmp(c->platform, w->platform) != 0)
		return 0;
	(void)strncpy(w->run_id, c->ok.run_id, sizeof w->run_id - 1);
	return 1;
}

/* As long as the latest result of the same cell took. */
static int expect(struct store *s, struct gather_running *r, struct err *err)
{
	struct wanted w = { .case_ = r->case_, .platform = r->platform };
	struct record rec;
	if (known(r->expected_s) || !r->suite || !r->app || !r->case_ || !r->platform)
		return 0;
	int rc = store_each_cell(s, r->suite, r->app, look, &w, err);
	if (rc <= 0)
		return rc;
	rc = store_get_run(s, w.run_id, &rec, err);
	if (!rc) {
		r->expected_s = rec.body.context.process_wall_s;
		if (!known(r->steps_expected))
			r->steps_expected = rec.body.roi.steps;
		r->end_ns = r->ended ? ROI_UNKNOWN : expected_end(r);
	}
	record_done(&rec);
	return rc;
}

/* Nobody announced it: its own log says what it is. */
static int tell_name(struct parts *p, struct store *s, struct record *rec, struct gather_running *r,
		     struct err *err)
{
	const struct record_body *b = &rec->body;
	int rc = ambient_name(p, s, rec, &r->exec_ns, err);
	r->suite = b->suite;
	r->app = b->app;
	r->case_ = b->case_;
	r->platform = b->platform;
	return rc;
}

static int one(void *arg, const struct inbox_run *run)
{
	const struct asking *a = arg;
	struct gather_running r;
	struct record named;
	struct parts p;
	record_init(&named);
	if (a->only && strcmp(run->name, a->only) != 0)
		return 0;
	int rc = parts_load(&p, a->s, run, a->err);
	if (rc == -E2BIG) { /* it will be told as failed */
		parts_done(&p);
		return 0;
	}
	if (!rc && tell_run(&p, run->ambient, &r))
		rc = err_set(a->err, -ENOMEM, "out of memory");
	if (!rc && run->ambient)
		rc = tell_name(&p, a->s, &named, &r, a->err);
	if (!rc && r.exec)
		rc = tell_progress(a->s, run->id, &r, a->err);
	if (!rc)
		rc = expect(a->s, &r, a->err);
	if (!rc)
		rc = a->each(a->arg, &r);
	record_done(&named);
	parts_done(&p);
	return rc;
}

int gather_each_running(struct store *s, const char *run,
			int (*each)(void *arg, const struct gather_running *r), void *arg,
			struct err *err)
{
	struct asking a = { .s = s, .only = run, .each = each, .arg = arg, .err = err };
	struct inbox_run found;
	struct err none;
	if (!run)
		return inbox_each_run(s, INBOX_OPEN, one, &a, err);
	int rc = inbox_find_run(s, run, &found, &none);
	if (rc)
		return rc == -ENOENT ? 0 : err_set(err, rc, "%s", none.text);
	if (found.state != INBOX_OPEN)
		return 0;
	return one(&a, &found);
}
