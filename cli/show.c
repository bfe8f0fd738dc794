/* The page goes from the result to the circumstances: headline, executions, ranks, phases, the
 * application's own numbers, the device, what was around, where it comes from, what limits it. */
#define _GNU_SOURCE
#include "cli/show_impl.h"

#include <stdio.h>
#include <string.h>

#include "cli/state_text.h"
#include "cli/table.h"
#include "cli/words.h"
#include "lib/num.h"

#define RANKS_SHOWN 64

/* "device.busy_s" is covered by a reason for "device.busy_s" or for "device". */
const char *show_why(const struct page *p, const char *field)
{
	for (size_t i = 0; i < p->r->nulls.n; i++) {
		const char *of = p->r->nulls.items[i].field;
		size_t n = of ? strlen(of) : 0;
		if (n && strncmp(field, of, n) == 0 && (field[n] == 0 || field[n] == '.'))
			return p->r->nulls.items[i].why;
	}
	return NULL;
}

void show_heading(struct page *p, const char *title)
{
	buf_printf(p->b, "\n%s\n", title);
}

static void put_plain(struct buf *b, const char *text)
{
	words_plain(b, text, strlen(text));
}

void show_line(struct page *p, const char *label, const char *value)
{
	buf_printf(p->b, "  %-24s ", label);
	put_plain(p->b, value);
	buf_puts(p->b, "\n");
}

void show_null(struct page *p, const char *nothing, const char *label, const char *field)
{
	const char *why = show_why(p, field);
	char text[96];
	(void)snprintf(text, sizeof text, "%s%s%.60s%s", nothing, why ? " (" : "", why ? why : "",
		       why ? ")" : "");
	for (char *at = text; *at; at++)
		if (*at == '_')
			*at = ' ';
	show_line(p, label, text);
}

void show_seconds(struct page *p, const char *nothing, const char *label, const char *field,
		  double x)
{
	char text[32];
	if (known(x))
		show_line(p, label, num_duration(text, x));
	else
		show_null(p, nothing, label, field);
}

static void missing(struct page *p, const char *label, const char *field)
{
	show_null(p, "-", label, field);
}

static void seconds(struct page *p, const char *label, const char *field, double x)
{
	show_seconds(p, "-", label, field, x);
}

static void percent(struct page *p, const char *label, const char *field, double x)
{
	char text[32];
	(void)snprintf(text, sizeof text, "%.1f %%", x * 100);
	if (known(x))
		show_line(p, label, text);
	else
		missing(p, label, field);
}

/* A line only where there is something to say. */
static void maybe_text(struct page *p, const char *label, const char *text)
{
	if (text && *text)
		show_line(p, label, text);
}

void show_maybe_count(struct page *p, const char *label, double x)
{
	char text[32];
	(void)snprintf(text, sizeof text, "%.15g", x);
	if (known(x))
		show_line(p, label, text);
}

void show_maybe_seconds(struct page *p, const char *label, double x)
{
	char text[32];
	if (known(x))
		show_line(p, label, num_duration(text, x));
}

static void maybe_list(struct page *p, const char *label, const struct txts *list)
{
	struct buf b = { .max = 1 << 20 };
	words_command(&b, list);
	maybe_text(p, label, b.failed ? NULL : b.data);
	buf_done(&b);
}

/* ---- headline ---------------------------------------------------------------------------------
 */

static void head(struct page *p)
{
	const struct record_body *r = p->r;
	buf_printf(p->b, "%s  %s / %s on %s\n", r->suite, r->app, r->case_, r->platform);
	buf_printf(p->b, "%s, %s%s%s\n", r->run_id, r->kind, r->utc ? " " : "",
		   r->utc ? r->utc : "");
	if (strcmp(r->status, "ok") != 0) {
		buf_printf(p->b, "NO RESULT: %s", r->status);
		if (r->status_text) {
			buf_puts(p->b, ": ");
			put_plain(p->b, r->status_text);
		}
		buf_puts(p->b, "\n");
	}
}

static void region(struct page *p)
{
	const struct roi *r = &p->r->roi;
	const struct measurement *m = &p->r->measurement;
	char a[32], b[32], text[256];
	show_heading(p, "Region of interest");
	if (!known(r->wall_s)) {
		missing(p, "median", "roi.wall_s");
		show_maybe_seconds(p, "under the collector", r->profiled_wall_s);
		return;
	}
	(void)snprintf(text, sizeof text, "%s (%.15g s)", num_duration(a, r->wall_s), r->wall_s);
	show_line(p, "median", text);
	if (known(m->cleans_used)) {
		(void)snprintf(text, sizeof text, "%.0f", m->cleans_used);
		if (known(m->cleans_made) && m->cleans_made != m->cleans_used)
			(void)snprintf(text, sizeof text, "%.0f of %.0f clean executions",
				       m->cleans_used, m->cleans_made);
		show_line(p, "samples", text);
	} else {
		missing(p, "samples", "measurement.cleans_used");
	}
	if (r->ci95_s.n == 2 && known(r->ci95_coverage)) {
		(void)snprintf(text, sizeof text, "%s to %s, covers the median in %.1f %% of cases",
			       num_duration(a, r->ci95_s.items[0]),
			       num_duration(b, r->ci95_s.items[1]), r->ci95_coverage * 100);
		show_line(p, "interval of the median", text);
	} else {
		missing(p, "interval of the median", "roi.ci95_s");
	}
	if (known(r->min_s) && known(r->max_s)) {
		(void)snprintf(text, sizeof text, "%s to %s", num_duration(a, r->min_s),
			       num_duration(b, r->max_s));
		show_line(p, "range", text);
	} else {
		missing(p, "range", "roi.min_s");
	}
	percent(p, "CV", "roi.cv", r->cv);
	percent(p, "(max - min) / median", "roi.spread", r->spread);
	if (r->stable == UNKNOWN)
		missing(p, "stable", "roi.stable");
	else
		show_line(p, "stable", r->stable == YES ? "yes" : "NO");
	if (r->two_levels == YES)
		show_line(p, "two levels", "yes: the samples fall into two groups");
	if (r->drift == YES)
		show_line(p, "drift", "yes: the samples follow their order");
	show_maybe_count(p, "entries per process", r->entries);
	show_maybe_seconds(p, "left out inside", r->excluded_s);
	show_maybe_count(p, "processes", r->processes);
	if (r->processes > 1)
		show_maybe_seconds(p, "imbalance", r->imbalance_s);
	show_maybe_count(p, "steps", r->steps);
	show_maybe_seconds(p, "mean step", r->step_s);
	maybe_text(p, "measured by", r->timer ? r->timer : r->source);
	show_maybe_seconds(p, "under the collector", r->profiled_wall_s);
	if (known(r->profiler_inflation)) {
		(void)snprintf(text, sizeof text, "%.2f times the clean region",
			       r->profiler_inflation);
		show_line(p, "collector's cost", text);
	}
}

/* ---- tables
 * -------------------------------------------------------------------------------------- */

void show_cell_seconds(struct text_table *t, double x)
{
	char text[32];
	text_cell(t, num_duration(text, x));
}

static void cell_number(struct text_table *t, double x)
{
	if (known(x))
		text_cellf(t, "%.15g", x);
	else
		text_cell(t, NULL);
}

static void executions(struct page *p)
{
	static const struct text_column columns[] = {
		{ "execution", false }, { "status", false }, { "used", false }, { "region", true },
		{ "process", true },    { "before", true },  { "after", true }, { "exit", true },
		{ "load", true },       { "why", false },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	for (size_t i = 0; i < p->r->executions.n; i++) {
		const struct execution *e = &p->r->executions.items[i];
		text_cell(&t, e->name);
		text_cell(&t, e->status);
		text_cell(&t, e->used == YES ? "yes" : e->used == NO ? "no" : NULL);
		show_cell_seconds(&t, e->roi_s);
		show_cell_seconds(&t, e->process_wall_s);
		show_cell_seconds(&t, e->pre_roi_s);
		show_cell_seconds(&t, e->post_roi_s);
		if (known(e->signal))
			text_cellf(&t, "signal %.0f", e->signal);
		else
			cell_number(&t, e->exit_code);
		if (known(e->load1))
			text_cellf(&t, "%.2f", e->load1);
		else
			text_cell(&t, NULL);
		text_cell(&t, e->why);
	}
	if (p->r->executions.n)
		show_heading(p, "Executions");
	text_table_put(&t, "  ", p->b);
}

static bool is_sample(const struct page *p, const char *execution)
{
	for (size_t i = 0; execution && i < p->r->executions.n; i++) {
		const struct execution *e = &p->r->executions.items[i];
		if (e->name && strcmp(e->name, execution) == 0)
			return e->used == YES;
	}
	return false;
}

static void put_rank(struct text_table *t, const struct rank *k)
{
	text_cell(t, k->execution);
	cell_number(t, k->rank);
	text_cell(t, k->host);
	show_cell_seconds(t, k->roi_s);
	show_cell_seconds(t, k->excluded_s);
	if (k->unterminated == YES)
		text_cellf(t, "%.0f, open", known(k->entries) ? k->entries : 0);
	else
		cell_number(t, k->entries);
	cell_number(t, k->steps);
	text_cell(t, k->cpus);
}

/* Where not all can be shown, those of the samples come first: the result is made of them. */
static void ranks(struct page *p)
{
	static const struct text_column columns[] = {
		{ "execution", false }, { "rank", true },    { "host", false }, { "region", true },
		{ "left out", true },   { "entries", true }, { "steps", true }, { "CPUs", false },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	size_t n = p->r->ranks.n, shown = 0;
	bool all = n <= RANKS_SHOWN;
	if (n <= p->r->executions.n) /* one process each: the table above has it all */
		return;
	for (int samples = all ? 0 : 1; samples >= 0; samples--)
		for (size_t i = 0; i < n && shown < RANKS_SHOWN; i++) {
			const struct rank *k = &p->r->ranks.items[i];
			if (!all && is_sample(p, k->execution) != (samples == 1))
				continue;
			put_rank(&t, k);
			shown++;
		}
	show_heading(p, "Processes");
	text_table_put(&t, "  ", p->b);
	if (n > shown)
		buf_printf(p->b, "  and %zu more: --format json has all\n", n - shown);
}

static void phases(struct page *p)
{
	static const struct text_column columns[] = {
		{ "phase", false }, { "times", true },    { "total", true },
		{ "share", true },  { "shortest", true }, { "longest", true },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	for (size_t i = 0; i < p->r->phases.n; i++) {
		const struct phase *f = &p->r->phases.items[i];
		text_cell(&t, f->name);
		cell_number(&t, f->count);
		show_cell_seconds(&t, f->total_s);
		if (known(f->share))
			text_cellf(&t, "%.1f %%", f->share * 100);
		else
			text_cell(&t, NULL);
		show_cell_seconds(&t, f->min_s);
		show_cell_seconds(&t, f->max_s);
	}
	if (p->r->phases.n)
		show_heading(p, "Phases");
	text_table_put(&t, "  ", p->b);
}

/* ---- blocks
 * -------------------------------------------------------------------------------------- */

static void metrics(struct page *p)
{
	const struct fom *f = &p->r->fom;
	const struct own_timer *o = &p->r->own_timer;
	char a[32], text[160];
	if (known(f->value) || (f->status && strcmp(f->status, "none") != 0)) {
		show_heading(p, "Figure of merit");
		if (known(f->value))
			(void)snprintf(text, sizeof text, "%.15g %.60s", f->value,
				       f->unit ? f->unit : "");
		else
			(void)snprintf(text, sizeof text, "- (%.60s)", f->status);
		show_line(p, f->name ? f->name : "value", text);
		maybe_text(p, "better", f->better);
	}
	if (known(o->value_s) || known(o->roi_diff_frac) ||
	    (o->status && strcmp(o->status, "none") != 0)) {
		show_heading(p, "The application's own timer");
		if (known(o->value_s))
			show_line(p, "value", num_duration(a, o->value_s));
		else
			missing(p, "value", "own_timer.value_s");
		if (known(o->roi_diff_frac)) {
			(void)snprintf(text, sizeof text, "%+.4f %%", o->roi_diff_frac * 100);
			show_line(p, "region against it", text);
		}
		maybe_text(p, "status", o->status);
	}
}

static void context(struct page *p)
{
	const struct context *c = &p->r->context;
	char text[32];
	show_heading(p, "Around the region");
	seconds(p, "process", "context.process_wall_s", c->process_wall_s);
	seconds(p, "before the region", "context.pre_roi_s", c->pre_roi_s);
	seconds(p, "after the region", "context.post_roi_s", c->post_roi_s);
	show_maybe_seconds(p, "outside the region", c->outside_region_s);
	show_maybe_seconds(p, "CPU time, user", c->user_s);
	show_maybe_seconds(p, "CPU time, kernel", c->system_s);
	show_maybe_count(p, "load at the start", c->load1);
	show_maybe_seconds(p, "CPU time of others", c->others_cpu_s);
	show_maybe_count(p, "switches, waiting", c->voluntary_switches);
	show_maybe_count(p, "switches, forced", c->involuntary_switches);
	if (known(c->max_rss_bytes)) {
		(void)snprintf(text, sizeof text, "%.3g MiB", c->max_rss_bytes / 1048576);
		show_line(p, "peak memory", text);
	}
}

/* How the hardware ran meanwhile. */
static void states(struct page *p)
{
	const struct context *c = &p->r->context;
	struct buf text = { .max = 1 << 16 };
	state_text_cpu(&text, c);
	maybe_text(p, "CPU ran at", text.failed ? NULL : text.data);
	for (size_t i = 0; i < c->devices.n; i++) {
		char label[40];
		(void)snprintf(label, sizeof label, "device %.20s ran at",
			       c->devices.items[i].device ? c->devices.items[i].device : "-");
		text.len = 0;
		state_text_device(&text, &c->devices.items[i]);
		maybe_text(p, label, text.failed ? NULL : text.data);
	}
	buf_done(&text);
}

static void origin(struct page *p)
{
	const struct record_body *r = p->r;
	char text[64];
	show_heading(p, "How and where");
	maybe_list(p, "command", &r->inputs.argv);
	maybe_list(p, "environment", &r->inputs.env);
	maybe_list(p, "parameters", &r->inputs.params);
	show_maybe_count(p, "ranks", r->inputs.ranks);
	show_maybe_count(p, "accelerators", r->inputs.devices);
	maybe_text(p, "region", r->measurement.region);
	maybe_text(p, "results checked", r->measurement.verify);
	maybe_text(p, "left out", r->measurement.excludes);
	show_maybe_count(p, "warm-ups", r->measurement.warmups);
	maybe_text(p, "collector", r->measurement.collector);
	maybe_text(p, "order", r->measurement.order);
	maybe_text(p, "launcher", r->launcher.name);
	maybe_list(p, "CPU sets", &r->placement.cpus);
	if (r->placement.oversubscribed != UNKNOWN)
		show_line(p, "oversubscribed", r->placement.oversubscribed == YES ? "YES" : "no");
	maybe_text(p, "accelerator or CPU", r->platform_info.product);
	maybe_text(p, "CPU", r->platform_info.cpu_model);
	maybe_text(p, "host", r->platform_info.host);
	maybe_text(p, "conformance", r->platform_info.conformance);
	maybe_text(p, "suite file", r->provenance.suite_file);
	(void)snprintf(text, sizeof text, "%.40s%s",
		       r->provenance.git_commit ? r->provenance.git_commit : "",
		       r->provenance.git_dirty == YES ? ", changed" : "");
	maybe_text(p, "suite's commit", r->provenance.git_commit ? text : NULL);
	maybe_text(p, "imported from", r->provenance.imported_from);
	maybe_text(p, "application's commit", r->provenance.source_commit);
	maybe_text(p, "source's verification", r->provenance.verification);
	maybe_text(p, "source's correctness", r->provenance.correctness);
	maybe_text(p, "tool", r->measurement.tool);
}

static void caveats(struct page *p)
{
	if (p->r->caveats.n)
		show_heading(p, "Caveats");
	for (size_t i = 0; i < p->r->caveats.n; i++) {
		const struct caveat *c = &p->r->caveats.items[i];
		struct buf text = { .max = 1 << 16 };
		buf_printf(&text, "%s [%s]", c->text ? c->text : "", c->code ? c->code : "");
		words_wrapped(p->b, "  - ", "    ", text.data ? text.data : "");
		buf_done(&text);
	}
}

/* The last lines of what a failed execution printed. */
static void tails(struct page *p)
{
	for (size_t i = 0; i < p->r->executions.n; i++) {
		const struct execution *e = &p->r->executions.items[i];
		if (!e->output_tail || !*e->output_tail)
			continue;
		buf_printf(p->b, "\nLast lines of %s\n", e->name ? e->name : "an execution");
		words_quoted_lines(p->b, e->output_tail);
	}
}

void show_record(struct buf *b, const struct record *rec)
{
	struct page p = { b, &rec->body };
	head(&p);
	region(&p);
	executions(&p);
	ranks(&p);
	phases(&p);
	metrics(&p);
	show_device(&p);
	show_io(&p);
	context(&p);
	states(&p);
	origin(&p);
	caveats(&p);
	tails(&p);
}
