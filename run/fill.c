/* From a case and its executions to its record: who, what, where, with what; the numbers are
 * core's. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/finish.h"
#include "lib/num.h"
#include "lib/version.h"
#include "run/case.h"
#include "run/layouts.h"
#include "schema/codec.h"

#define CPUS_MAX 8192

/* Text of the outside becomes text of a record: UTF-8, and owned by it. */
static const char *text_of(struct record *rec, const char *text)
{
	return text ? record_text(rec, text, strlen(text)) : NULL;
}

static int copy_txts(struct record *rec, struct txts *to, const struct txts *from)
{
	to->items = arena_array(&rec->arena, from->n + 1, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		to->items[i] = text_of(rec, from->items[i]);
		if (!to->items[i])
			return -ENOMEM;
	}
	to->n = from->n;
	return 0;
}

static bool is_clean(const struct made *m)
{
	return strncmp(m->capture.row.name, "clean", 5) == 0;
}

static void put_identity(struct record_body *b, const struct case_run *c, const struct fill *f)
{
	b->run_id = c->run_id;
	b->suite = f->o->suite->name;
	b->app = c->c->app;
	b->case_ = c->c->name;
	b->platform = f->o->platform->id;
	b->kind = "measured";
	b->utc = c->n_made ? c->made[0]->capture.row.utc : NULL;
	b->platform_info = f->o->platform->info;
}

static const char *tree_of(const struct case_run *c)
{
	bool grouped = false, alone = false;
	for (size_t i = 0; i < c->n_made; i++)
		if (c->made[i]->capture.end != END_NOT_STARTED)
			*(c->made[i]->capture.grouped ? &grouped : &alone) = true;
	return grouped && alone ? "mixed" : grouped ? "cgroup" : alone ? "subreaper" : NULL;
}

/* Texts that stay null where there is nothing to copy. */
struct copied {
	const char **to, *from;
};

static int copy_texts(struct record *rec, const struct copied *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		*list[i].to = text_of(rec, list[i].from);
		if (list[i].from && !*list[i].to)
			return -ENOMEM;
	}
	return 0;
}

/* "none", or the names of those that are asked for. */
static const char *all_collectors(struct record *rec, const struct case_run *c,
				  const struct fill *f)
{
	const char *names = NULL;
	const struct collector_lib *with = NULL;
	for (size_t i = 0; (double)i < c->profiled; i++) {
		with = f->o->collectors[i].with;
		names = arena_printf(&rec->arena, "%s%s%s", names ? names : "", names ? "," : "",
				     f->o->collectors[i].name);
		if (!names)
			return NULL;
	}
	if (with)
		names = arena_printf(&rec->arena, "%s,%s", names, with->name);
	return names || with ? names : "none";
}

static int put_measurement(struct record *rec, const struct case_run *c, const struct fill *f)
{
	struct measurement *m = &rec->body.measurement;
	const struct copied texts[] = {
		{ &m->region, c->c->region },
		{ &m->verify, c->c->verify },
		{ &m->excludes, c->c->excludes },
		{ &m->profile_reason, c->profiled > 0 ? NULL
				      : c->profile_no ? c->profile_no
						      : f->o->profile_reason },
		{ &m->launcher_region, c->timer ? timer_def_ranks(c->timer) : NULL },
		{ &rec->body.roi.timer, c->timer ? c->c->region + strlen("timer:") : NULL },
	};
	m->tool = "roimeter " ROIMETER_VERSION_TEXT;
	m->cleans_asked = c->cleans;
	m->order = f->o->interleaved ? "interleaved" : "sequential";
	m->collector = all_collectors(rec, c, f);
	if (!m->collector)
		return -ENOMEM;
	m->timeout_s = num15(c->timeout_s);
	m->resumed = c->resumed ? YES : NO;
	if (c->profiled > 0)
		m->profile_auto = f->o->collect_auto ? YES : NO;
	m->tree = tree_of(c);
	if (c->timer)
		m->device_sync = (signed char)timer_def_device_sync(c->timer);
	int rc = copy_texts(rec, texts, sizeof texts / sizeof *texts);
	if (!rc)
		rc = copy_txts(rec, &m->env_allow, &c->command.allow);
	return rc ? rc : copy_txts(rec, &m->env_refused, &c->refused);
}

static int put_inputs(struct record *rec, const struct case_run *c)
{
	struct inputs *in = &rec->body.inputs;
	in->ranks = c->c->ranks ? (double)c->c->ranks : (double)NAN;
	in->cwd = text_of(rec, c->command.cwd ? c->command.cwd : "(a folder of its own)");
	in->exe_hash = c->command.exe_hash;
	in->input_hash = c->command.input_hash;
	int rc = in->cwd ? copy_txts(rec, &in->argv, &c->c->command) : -ENOMEM;
	if (!rc)
		rc = copy_txts(rec, &in->env, &c->command.env);
	return rc ? rc : copy_txts(rec, &in->files, &c->command.files);
}

static int put_metrics(struct record *rec, const struct case_run *c)
{
	struct record_body *b = &rec->body;
	const struct copied texts[] = {
		{ &b->fom.name, c->c->fom.name },
		{ &b->fom.unit, c->c->fom.unit },
		{ &b->fom.better, c->c->fom.better },
		{ &b->fom.pattern, c->c->fom.pattern },
		{ &b->own_timer.pattern, c->c->own_timer.pattern },
	};
	return copy_texts(rec, texts, sizeof texts / sizeof *texts);
}

static int put_launcher(struct record *rec, const struct case_run *c)
{
	struct launcher *l = &rec->body.launcher;
	l->name = c->command.launcher;
	for (size_t i = 0; i < c->n_made && !l->audit; i++)
		if (is_clean(c->made[i]) && c->made[i]->worked.audit) {
			l->audit = text_of(rec, c->made[i]->worked.audit);
			if (!l->audit)
				return -ENOMEM;
			l->audit_ok = c->made[i]->worked.audit_ok;
		}
	return copy_txts(rec, &l->argv, &c->command.launcher_argv);
}

static void put_provenance(struct record_body *b, const struct fill *f)
{
	const char *file = f->o->suite->file, *slash = file ? strrchr(file, '/') : NULL;
	b->provenance.suite_file = slash ? slash + 1 : file;
	b->provenance.suite_hash = f->o->suite->hash;
	b->provenance.git_commit = f->git_commit;
	b->provenance.git_dirty = f->git_dirty;
	b->provenance.job = f->job;
}

/* ---- where the processes ran ---- */

static int add_distinct(struct record *rec, struct txts *t, const char *text)
{
	if (!text)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->items[i], text) == 0)
			return 0;
	size_t cap = t->n;
	const char **items = arena_grow(&rec->arena, t->items, &cap, t->n + 1, sizeof *items);
	if (!items)
		return -ENOMEM;
	t->items = items;
	t->items[t->n] = text_of(rec, text);
	return t->items[t->n++] ? 0 : -ENOMEM;
}

/* CPUs in any of the lists. */
static double count_union(const struct txts *lists)
{
	static bool in[CPUS_MAX];
	double n = 0;
	memset(in, 0, sizeof in);
	for (size_t i = 0; i < lists->n; i++)
		for (const char *p = lists->items[i]; *p;) {
			char *end;
			unsigned long first = strtoul(p, &end, 10), last = first;
			if (end == p)
				return NAN;
			if (*end == '-')
				last = strtoul(end + 1, &end, 10);
			for (unsigned long k = first; k <= last && k < CPUS_MAX; k++) {
				n += !in[k];
				in[k] = true;
			}
			p = *end ? end + 1 : end;
		}
	return lists->n ? n : (double)NAN;
}

static bool marks(const struct made *m, pid_t pid)
{
	for (size_t i = 0; i < m->worked.logs.n; i++)
		if (m->worked.logs.items[i]->pid &&
		    strtol(m->worked.logs.items[i]->pid, NULL, 10) == pid)
			return true;
	return false;
}

/* As their logs tell it, or a later look. */
static int add_ranks(struct record *rec, const struct worked *w)
{
	struct placement *p = &rec->body.placement;
	for (size_t i = 0; i < w->logs.n; i++)
		if (add_distinct(rec, &p->cpus, w->rank_cpus[i]) ||
		    add_distinct(rec, &p->mems, w->logs.items[i]->mems))
			return -ENOMEM;
	return 0;
}

/* Of the processes that marked; where none did, of those that started no others: a launcher's own
 * place says nothing of the program's. */
static int put_placement(struct record *rec, const struct case_run *c)
{
	struct placement *p = &rec->body.placement;
	for (size_t i = 0; i < c->n_made; i++) {
		const struct made *m = c->made[i];
		double threads = 0;
		if (!is_clean(m))
			continue;
		if (add_ranks(rec, &m->worked))
			return -ENOMEM;
		for (size_t k = 0; k < m->capture.n_seen; k++) {
			const struct watched *w = &m->capture.seen[k];
			if (m->worked.logs.n ? !marks(m, w->pid) : !w->leaf)
				continue;
			if (add_distinct(rec, &p->cpus, w->cpus) ||
			    add_distinct(rec, &p->mems, w->mems))
				return -ENOMEM;
			p->threads_max = fmax(p->threads_max, w->threads);
			threads += known(w->threads) ? w->threads : 0;
		}
		if (threads > 0)
			p->threads_total = fmax(p->threads_total, threads);
		if (m->capture.state.oversubscribed > p->oversubscribed)
			p->oversubscribed = m->capture.state.oversubscribed;
	}
	p->cpus_n = count_union(&p->cpus);
	if (p->cpus.n)
		p->consistent = p->cpus.n == 1 ? YES : NO;
	return 0;
}

/* ---- the machine, and what watching it cost ---- */

static void put_machine(struct record_body *b, const struct case_run *c, const struct fill *f)
{
	struct context *x = &b->context;
	double cpu_s = 0, sampler_cpu_s = 0, wakeups = 0, bytes = 0;
	bool any = false;
	x->governor = f->governor;
	for (size_t i = 0; i < c->n_made; i++) {
		const struct capture *m = &c->made[i]->capture;
		if (!is_clean(c->made[i]) || m->end == END_NOT_STARTED)
			continue;
		x->others_running = fmax(x->others_running, m->others_running);
		x->steal_frac = fmax(x->steal_frac, m->state.steal_frac);
		x->temperature_c = fmax(x->temperature_c, m->state.temperature_c);
		cpu_s += m->state.runner_cpu_s;
		sampler_cpu_s += m->state.sampler_cpu_s;
		wakeups += m->state.wakeups;
		bytes += m->log_bytes;
		any = true;
	}
	if (any) {
		b->observer.runner_cpu_s = num15(cpu_s);
		b->observer.sampler_cpu_s = num15(sampler_cpu_s);
		b->observer.wakeups = wakeups;
		b->observer.log_bytes = bytes;
	}
}

/* Why there are none: what the machine would tell, and not to everybody. */
static int explain_machine(struct record *rec, const struct case_run *c)
{
	for (size_t i = 0; i < c->n_made; i++)
		if (c->made[i]->capture.state.energy_denied)
			return record_null(rec, "context.cpu_energy_j", "no_permission");
	return 0;
}

/* ---- caveats of the runner ---- */

static int put_caveats(struct record *rec, const struct case_run *c)
{
	double outlived = 0, immortal = 0;
	size_t cut = 0;
	int rc = 0;
	for (size_t i = 0; i < c->n_made; i++) {
		const struct capture *m = &c->made[i]->capture;
		outlived = fmax(outlived, m->outlived);
		immortal = fmax(immortal, m->immortal);
		cut += is_clean(c->made[i]) && m->output_cut;
	}
	if (outlived > 0)
		rc = record_caveat(rec, "processes_outlived",
				   "The command ended while %.0f of its processes went on; "
				   "they were ended, and what they did is not in the times.",
				   outlived);
	if (!rc && immortal > 0)
		rc = record_caveat(rec, "processes_immortal",
				   "%.0f process%s did not end even by SIGKILL, stuck in the "
				   "kernel, and may have disturbed what came after.",
				   immortal, immortal == 1 ? "" : "es");
	if (!rc && cut)
		rc = record_caveat(rec, "output_cut",
				   "The output of %zu clean execution%s is so long that only its "
				   "first and last 16 MiB were searched.",
				   cut, cut == 1 ? "" : "s");
	if (!rc && c->timer && timer_def_caveat(c->timer))
		rc = record_caveat(rec, "timer_limit", "%s", timer_def_caveat(c->timer));
	return rc;
}

int fill_known(struct record *rec, struct case_run *c, const struct fill *f, struct err *err)
{
	record_init(rec);
	put_identity(&rec->body, c, f);
	put_provenance(&rec->body, f);
	put_machine(&rec->body, c, f);
	int rc = put_metrics(rec, c);
	if (!rc)
		rc = put_measurement(rec, c, f);
	if (!rc)
		rc = put_inputs(rec, c);
	if (!rc)
		rc = put_launcher(rec, c);
	if (!rc)
		rc = put_placement(rec, c);
	if (!rc)
		rc = put_caveats(rec, c);
	if (!rc)
		rc = explain_machine(rec, c);
	if (!rc)
		rc = block_clean(&rec->arena, &record_block, &rec->body);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

int fill_record(struct record *rec, struct case_run *c, const struct fill *f, struct err *err)
{
	const struct run_close close = { .complete = !c->cut,
					 .planned = (double)case_planned(c),
					 .begun_real_ns = ROI_UNKNOWN };
	int rc = fill_known(rec, c, f, err);
	struct observed *seen = arena_array(&rec->arena, c->n_made + 1, sizeof *seen);
	if (rc || !seen)
		return rc ? rc : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < c->n_made; i++)
		seen[i] = c->made[i]->worked.observed;
	rc = record_finish(rec, seen, c->n_made, &close, err);
	if (!rc && layouts_look(rec, LAYOUTS_LUSTRE))
		rc = err_set(err, -ENOMEM, "out of memory");
	return rc;
}
