/* After all files were read: a published row joins the full record of the same measurement, and
 * what the case tables declare goes into the records. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "core/stats.h"
#include "import/hpcperf_impl.h"
#include "schema/codec.h"
#include "schema/walk.h"

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* ---- properties ------------------------------------------------------------------------------ */

static int fill(struct ctx *c, struct draft *d, const char **into, const char *text)
{
	if (*into || !text)
		return 0;
	*into = draft_text(d, text);
	return *into ? 0 : import_nomem(c);
}

/* Cut at blanks; their tables quote nothing. */
static int fill_words(struct ctx *c, struct draft *d, struct txts *into, const char *first,
		      const char *rest, const char *separators)
{
	struct arena *a = &d->rec.arena;
	size_t room = 2 + (rest ? strlen(rest) : 0);
	if (into->items || (!first && !rest))
		return 0;
	const char **items = arena_array(a, room, sizeof *items);
	if (!items)
		return import_nomem(c);
	size_t n = 0;
	if (first)
		items[n++] = draft_text(d, first);
	for (const char *at = rest; at && *at;) {
		size_t word = strcspn(at, separators);
		if (word)
			items[n++] = arena_strndup(a, at, word);
		at += word;
		at += strspn(at, separators);
	}
	for (size_t i = 0; i < n; i++)
		if (!items[i])
			return import_nomem(c);
	*into = (struct txts){ items, n };
	return 0;
}

static int apply_app(struct ctx *c, struct draft *d, const struct app_props *p)
{
	struct record_body *b = &d->rec.body;
	int rc = fill(c, d, &b->measurement.verify, p->verify);
	if (!rc)
		rc = fill(c, d, &b->measurement.excludes, p->excludes);
	/* "yes", or "no (why)" */
	if (!rc && p->profile && strncmp(p->profile, "no", 2) == 0)
		rc = fill(c, d, &b->measurement.profile_reason, p->profile);
	if (!rc)
		rc = fill(c, d, &b->launcher.name, p->launcher);
	if (!rc)
		rc = fill(c, d, &b->fom.name, p->fom_name);
	if (!rc)
		rc = fill(c, d, &b->fom.better, p->fom_better);
	if (!rc)
		rc = fill(c, d, &b->fom.pattern, p->fom_regex);
	if (!rc)
		rc = fill(c, d, &b->fom.unit, p->fom_unit);
	if (!rc)
		rc = fill(c, d, &b->own_timer.pattern, p->timer_regex);
	if (!known(b->measurement.timeout_s))
		b->measurement.timeout_s = p->timeout_s;
	return rc;
}

static int apply_case(struct ctx *c, struct draft *d, const struct case_props *p)
{
	struct record_body *b = &d->rec.body;
	int rc = fill_words(c, d, &b->inputs.argv, p->exe, p->args, " ");
	if (!rc)
		rc = fill_words(c, d, &b->inputs.env, NULL, p->env, ";");
	if (!rc)
		rc = fill(c, d, &b->inputs.cwd, p->cwd);
	/* Stands before the application's: apply_app comes second. */
	if (!known(b->measurement.timeout_s))
		b->measurement.timeout_s = p->timeout_s;
	if (!known(b->inputs.devices))
		b->inputs.devices = p->devices;
	return rc;
}

static int apply_platform(struct ctx *c, struct draft *d)
{
	struct record_body *b = &d->rec.body;
	struct platform_info *p = &b->platform_info;
	const char *dash = strchr(b->platform, '-'), *dot = strrchr(b->platform, '.');
	/* <vendor>-<product>.<runtime><version>: the version has a dot too. */
	while (dot && dot > b->platform && dot[1] >= '0' && dot[1] <= '9') {
		const char *before = memrchr(b->platform, '.', (size_t)(dot - b->platform));
		dot = before;
	}
	if (dash && dot && dot > dash) {
		struct arena *a = &d->rec.arena;
		p->vendor = arena_strndup(a, b->platform, (size_t)(dash - b->platform));
		p->runtime = arena_strdup(a, dot + 1);
		if (!p->product)
			p->product = arena_strndup(a, dash + 1, (size_t)(dot - dash - 1));
		if (!p->vendor || !p->runtime || !p->product)
			return import_nomem(c);
	}
	for (size_t i = 0; i < c->n_platforms; i++) {
		const struct platform_props *q = &c->platforms[i];
		if (!same(q->id, b->platform))
			continue;
		if (!known(p->device_count))
			p->device_count = q->devices;
		if (!known(p->device_memory_bytes))
			p->device_memory_bytes = q->memory_bytes;
		int rc = fill(c, d, &p->driver, q->driver);
		return rc ? rc : fill(c, d, &p->conformance, q->conformance);
	}
	return 0;
}

int apply_properties(struct ctx *c)
{
	int rc = 0;
	for (size_t i = 0; i < c->n_drafts && !rc; i++) {
		struct draft *d = c->drafts[i];
		const struct record_body *b = &d->rec.body;
		for (size_t k = 0; k < c->n_cases && !rc; k++)
			if (c->cases[k].level == d->level && same(c->cases[k].app, b->app) &&
			    same(c->cases[k].case_, b->case_))
				rc = apply_case(c, d, &c->cases[k]);
		for (size_t k = 0; k < c->n_apps && !rc; k++)
			if (c->apps[k].level == d->level && same(c->apps[k].app, b->app))
				rc = apply_app(c, d, &c->apps[k]);
		if (!rc)
			rc = apply_platform(c, d);
	}
	return rc;
}

/* ---- a row and a full record of the same measurement ------------------------------------------ */

/* A published median is the full one, rounded to three digits or more. */
static bool rounds_to(double full, double row)
{
	if (!known(full) || !known(row) || row <= 0)
		return false;
	double unit = pow(10, floor(log10(row)) - 2);
	return fabs(full - row) <= unit * 0.5000001;
}

/* Take over what the full record does not have, and count the numbers among it. */
static int fill_block(struct draft *d, const struct block *block, void *into, const void *from,
		      size_t *numbers)
{
	int rc = 0;
	for (size_t i = 0; i < block->count && !rc; i++) {
		const struct field *f = &block->fields[i];
		void *to = field_in(f, into);
		const void *of = field_at(f, from);
		if (f->type == FIELD_BLOCK) {
			rc = fill_block(d, f->block, to, of, numbers);
			continue;
		}
		if (!field_is_null(f, into) || field_is_null(f, from))
			continue;
		if (f->type == FIELD_NUM) {
			*(double *)to = num_at(f, from);
			++*numbers;
		} else if (f->type == FIELD_TER) {
			*(signed char *)to = *(const signed char *)of;
		} else if (f->type == FIELD_TXT && block != &record_block) {
			char *copy = draft_text(d, txt_at(f, from));
			*(const char **)to = copy;
			rc = copy ? 0 : -ENOMEM;
		}
	}
	return rc;
}

static int join(struct ctx *c, struct draft *full, const struct draft *row)
{
	struct record_body *a = &full->rec.body;
	const struct record_body *b = &row->rec.body;
	size_t numbers = 0;
	int rc = fill_block(full, &record_block, a, b, &numbers);
	if (rc)
		return import_nomem(c);
	if (numbers &&
	    record_caveat(&full->rec, "imported_rounded",
			  "%zu figures that the source's record lacks come from its published table, "
			  "rounded to three significant digits.", numbers))
		rc = import_nomem(c);
	const char *name = strrchr(row->file, '/');
	a->provenance.imported_from = arena_printf(&full->rec.arena, "%s; %s line %u",
						   a->provenance.imported_from,
						   name ? name + 1 : row->file, row->line);
	return rc || a->provenance.imported_from ? rc : import_nomem(c);
}

static void drop_draft(struct ctx *c, size_t i)
{
	record_done(&c->drafts[i]->rec);
	free(c->drafts[i]);
	c->drafts[i] = c->drafts[--c->n_drafts];
}

int merge_drafts(struct ctx *c)
{
	size_t joined = 0;
	for (size_t i = 0; i < c->n_drafts; i++) {
		struct draft *full = c->drafts[i];
		if (full->origin != ORIGIN_RECORD)
			continue;
		for (size_t k = 0; k < c->n_drafts; k++) {
			struct draft *row = c->drafts[k];
			const struct record_body *a = &full->rec.body, *b = &row->rec.body;
			if (row->origin != ORIGIN_TABLE || !same(a->app, b->app) ||
			    !same(a->case_, b->case_) || !same(a->suite, b->suite) ||
			    !same(a->platform, b->platform) || !rounds_to(a->roi.wall_s, b->roi.wall_s))
				continue;
			int rc = join(c, full, row);
			if (rc)
				return rc;
			drop_draft(c, k);
			joined++;
			/* The last one moved to k: begin again, it may be the one we look from. */
			i = (size_t)-1;
			break;
		}
	}
	return joined ? import_note(c, "%zu published rows joined the full record of the same measurement",
				    joined)
		      : 0;
}

/* ---- numbers that follow from others ---------------------------------------------------------- */

static bool close_to(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b) + 1e-12;
}

static int check(struct draft *d, const char *what, double theirs, double ours)
{
	if (!known(theirs) || !known(ours) || close_to(theirs, ours))
		return 0;
	return record_caveat(&d->rec, "source_disagrees",
			     "%s is %.15g in the source, but %.15g follows from its own figures, which is "
			     "what stands here.", what, theirs, ours);
}

static int derive_statistics(struct ctx *c, struct draft *d)
{
	struct roi *r = &d->rec.body.roi;
	struct measurement *m = &d->rec.body.measurement;
	if (!r->runs_s.items || !r->runs_s.n)
		return 0;
	struct stats s;
	int rc = stats_of(r->runs_s.items, r->runs_s.n, &s);
	if (rc)
		return err_set(c->err, rc, "%s: statistics of %zu samples: %s", d->file, r->runs_s.n,
			       strerror(-rc));
	if (check(d, "roi.wall_s", r->wall_s, s.median))
		return import_nomem(c);
	if (r->runs_s.n > 1 && check(d, "roi.stddev_s", r->stddev_s, s.stddev))
		return import_nomem(c);
	r->wall_s = num15(s.median);
	r->min_s = num15(s.min);
	r->max_s = num15(s.max);
	r->stddev_s = num15(s.stddev);
	r->cv = num15(s.cv);
	r->spread = num15(s.spread);
	r->iqr = num15(s.iqr);
	r->stable = s.stable;
	r->stable_rule = s.rule;
	r->two_levels = s.two_levels;
	r->drift = s.drift;
	r->ci95_coverage = num15(s.ci_coverage);
	double *ci = known(s.ci_low) ? arena_array(&d->rec.arena, 2, sizeof *ci) : NULL;
	if (known(s.ci_low) && !ci)
		return import_nomem(c);
	if (ci) {
		ci[0] = num15(s.ci_low);
		ci[1] = num15(s.ci_high);
		r->ci95_s = (struct nums){ ci, 2 };
	}
	m->cleans_used = (double)r->runs_s.n;
	if (!known(m->cleans_made))
		m->cleans_made = (double)r->runs_s.n;
	return 0;
}

static int derive_device(struct draft *d)
{
	int rc = 0;
	struct device *v = &d->rec.body.device;
	struct roi *r = &d->rec.body.roi;
	if (known(r->profiled_wall_s) && known(r->wall_s) && r->wall_s > 0) {
		double inflation = num15(r->profiled_wall_s / r->wall_s);
		rc = check(d, "roi.profiler_inflation", r->profiler_inflation, inflation);
		r->profiler_inflation = inflation;
	}
	double processes = known(v->processes) ? v->processes : r->processes;
	if (!known(v->busy_s) || !known(processes) || processes <= 0 || !known(r->wall_s) || r->wall_s <= 0)
		return rc;
	v->processes = processes;
	double busy = v->busy_s / processes;
	double frac = num15(busy / r->wall_s), gap = num15(r->wall_s - busy);
	if (!rc)
		rc = check(d, "device.busy_frac_of_roi", v->busy_frac_of_roi, frac);
	if (!rc)
		rc = check(d, "device.host_gap_s", v->host_gap_s, gap);
	v->busy_frac_of_roi = frac;
	v->host_gap_s = gap;
	v->host_gap_frac_of_roi = num15(gap / r->wall_s);
	if (known(r->profiled_wall_s) && r->profiled_wall_s > 0)
		v->busy_frac_of_profiled_roi = num15(busy / r->profiled_wall_s);
	if (known(v->op_time_sum_s))
		v->overlap_s = num15(v->op_time_sum_s - v->busy_s);
	return rc;
}

/* The samples as executions, so that a report can list them. */
static int derive_executions(struct ctx *c, struct draft *d)
{
	struct record_body *b = &d->rec.body;
	size_t n = b->roi.runs_s.n;
	if (b->executions.items || !n)
		return 0;
	b->executions.items = arena_array(&d->rec.arena, n, sizeof *b->executions.items);
	if (!b->executions.items)
		return import_nomem(c);
	for (size_t i = 0; i < n; i++) {
		struct execution *e = &b->executions.items[b->executions.n++];
		block_clear(&execution_block, e);
		e->name = arena_printf(&d->rec.arena, "clean.%zu", i);
		e->status = "ok";
		e->used = YES;
		e->roi_s = b->roi.runs_s.items[i];
		if (!e->name)
			return import_nomem(c);
	}
	return 0;
}

/* ---- the end ------------------------------------------------------------------------------------- */

static int give_id(struct ctx *c, struct draft *d)
{
	struct record_body *b = &d->rec.body;
	json_t *json = record_to_json(&d->rec);
	struct buf text = { 0 };
	int rc = json ? json_text(&text, json) : -ENOMEM;
	json_decref(json);
	if (!rc && !text.failed) {
		unsigned hash = (unsigned)(XXH3_64bits(text.data, text.len) & 0xffffffffu);
		const char *u = b->utc;
		b->run_id = arena_printf(&d->rec.arena, "%.4s%.2s%.2sT%.2s%.2s%.2sZ-%08x", u, u + 5, u + 8,
					 u + 11, u + 14, u + 17, hash);
	}
	buf_done(&text);
	return b->run_id ? 0 : import_nomem(c);
}

int derive_draft(struct ctx *c, struct draft *d)
{
	if (d->origin != ORIGIN_RECORD)
		return 0;
	int rc = derive_statistics(c, d);
	if (!rc && derive_device(d))
		rc = import_nomem(c);
	return rc ? rc : derive_executions(c, d);
}

int finish_draft(struct ctx *c, struct draft *d)
{
	if (say_caveats(d) || explain_nulls(d))
		return import_nomem(c);
	int rc = give_id(c, d);
	if (!rc)
		rc = record_check(&d->rec, c->err);
	if (!rc)
		return 0;
	return d->line ? err_wrap(c->err, rc, "%s:%u", d->file, d->line)
		       : err_wrap(c->err, rc, "%s: %s/%s", d->file, d->rec.body.app, d->rec.body.case_);
}
