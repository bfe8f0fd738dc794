/* The checks of one part whose processes end by themselves, and the verdict over all parts. */
#include "core/conform.h"

#include <math.h>
#include <string.h>

#include "lib/num.h"

const char *const conform_categories[CONFORM_CATEGORIES] = { "compute", "copy_d2d", "copy_h2d",
							     "copy_d2h", "fill" };

static const char *const inside_names[CONFORM_CATEGORIES] = {
	"compute_ops", "copy_d2d_ops", "copy_h2d_ops", "copy_d2h_ops", "fill_ops",
};
static const char *const whole_names[CONFORM_CATEGORIES] = {
	"whole_compute_ops",  "whole_copy_d2d_ops", "whole_copy_h2d_ops",
	"whole_copy_d2h_ops", "whole_fill_ops",
};

/* The region under a collector may be as far from the clean one as a record may have it without
 * the caveat profiler_inflation; and a little more, which a region of tenths of a second needs:
 * what a collector does at the ends of a region (the device drained, buffers given back) takes some
 * ms however long it is; and by what the clean ones differ among themselves, since on a machine
 * that does that nothing closer can be told. The region that it clips to may differ from the marks
 * as in device_region_differs: by 1 %, or 20 us. */
#define TIMES_LIMIT 0.2
#define TIMES_LEAST_S 0.005
#define REGION_LIMIT 0.01
#define REGION_LEAST_S 20e-6

void conform_want_clear(struct conform_want *w)
{
	w->graphs = w->entries = w->excludes = w->steps = w->processes = NAN;
	for (size_t i = 0; i < CONFORM_CATEGORIES; i++)
		w->inside[i] = w->whole[i] = NAN;
	for (size_t i = 0; i < CONFORM_SUMS; i++)
		w->files_inside[i] = w->files_whole[i] = NAN;
	w->files = NULL;
	w->n_files = 0;
}

/* ---- a check ---- */

struct check *conform_add(struct conform *c, const char *part, const char *name, const char *detail)
{
	static struct check nowhere; /* written to, never read */
	struct check *items = arena_grow(c->arena, c->items, &c->cap, c->n + 1, sizeof *items);
	char *copy = arena_strdup(c->arena, detail);
	if (!items || !copy) {
		c->failed = true;
		return &nowhere;
	}
	c->items = items;
	struct check *k = &c->items[c->n++];
	block_clear(&check_block, k);
	k->name = name;
	k->part = part;
	k->detail = copy;
	k->verdict = "fail";
	return k;
}

void conform_verdict(struct check *k, bool good)
{
	k->verdict = good ? "pass" : "fail";
}

void conform_near(struct conform *c, const struct conform_seen *seen, const char *name,
		  const char *unit, double value, double expected, double tolerance,
		  const char *detail)
{
	bool there = known(value) && known(expected);
	struct check *k = conform_add(c, seen->part, name,
				      there ? detail : "there is no number where one must be");
	k->unit = unit;
	k->value = value;
	k->expected = expected;
	k->tolerance = tolerance;
	conform_verdict(k, there && fabs(value - expected) <= tolerance);
}

bool conform_is(const struct conform_seen *seen, const char *collector)
{
	return strcmp(seen->collector, collector) == 0;
}

void conform_skipped(struct conform *c, const struct conform_seen *seen, const char *name)
{
	conform_add(c, seen->part, name, "no collector was used, and only one can see this")
		->verdict = "skipped";
}

const struct execution *conform_execution(const struct conform_seen *seen)
{
	static const char prefix[] = "profiled.", clean[] = "clean.";
	const struct record_body *r = seen->record;
	const struct execution *found = NULL;
	for (size_t i = 0; i < r->executions.n; i++) {
		const struct execution *e = &r->executions.items[i];
		if (!e->name)
			continue;
		if (conform_is(seen, "none")
			    ? strncmp(e->name, clean, sizeof clean - 1) == 0
			    : strncmp(e->name, prefix, sizeof prefix - 1) == 0 &&
				      strcmp(e->name + sizeof prefix - 1, seen->collector) == 0)
			found = e;
	}
	return found;
}

bool conform_said(const struct record_body *r, const char *code)
{
	for (size_t i = 0; i < r->caveats.n; i++)
		if (r->caveats.items[i].code && strcmp(r->caveats.items[i].code, code) == 0)
			return true;
	return false;
}

/* ---- operations ---- */

static void at_most(struct conform *c, const struct conform_seen *seen, const char *name,
		    double value, double expected)
{
	struct check *k =
		conform_add(c, seen->part, name,
			    known(value) ? "not more than there were: nothing is invented"
					 : "not said, which is right for what nobody saw");
	k->unit = "1";
	k->value = value;
	k->expected = expected;
	conform_verdict(k, known(expected) && (!known(value) || value <= expected));
}

void conform_counts(struct conform *c, const struct conform_seen *seen, const double *got,
		    const double *want, const char *const *names, size_t n, const char *detail)
{
	for (size_t i = 0; i < n; i++)
		if (seen->end == CONFORM_KILLED_AT_ONCE)
			at_most(c, seen, names[i], got[i], want[i]);
		else
			conform_near(c, seen, names[i], "1", got[i], want[i], 0, detail);
}

void conform_operations(struct conform *c, const struct conform_seen *seen,
			const struct conform_want *want)
{
	const struct device *d = &seen->record->device;
	const struct whole_process *w = &seen->record->context.whole_process;
	const double inside[] = { d->compute_ops, d->copy_d2d_ops, d->copy_h2d_ops, d->copy_d2h_ops,
				  d->fill_ops };
	const double whole[] = { w->compute_ops, w->copy_d2d_ops, w->copy_h2d_ops, w->copy_d2h_ops,
				 w->fill_ops };
	struct conform_want less = *want;
	/* A runtime that shows a graph as a whole hides the launches in it; it then must say how
	 * many graphs. */
	double hidden = d->graphs > 0 ? d->graphs * CONFORM_GRAPH_NODES : 0;
	less.inside[0] -= hidden;
	less.whole[0] -= hidden;
	conform_counts(c, seen, inside, less.inside, inside_names, CONFORM_CATEGORIES,
		       "operations inside the region");
	conform_counts(c, seen, whole, less.whole, whole_names, CONFORM_CATEGORIES,
		       "operations of the whole process");
	if (want->graphs > 0)
		conform_near(
			c, seen, "graphs", "1", d->graphs, hidden > 0 ? want->graphs : 0, 0,
			hidden > 0 ? "launches of graphs, each seen as a whole: the launches in "
				     "them are not told apart, and the record says so"
				   : "graphs seen as a whole: the launches in them are told apart");
}

static void skip_operations(struct conform *c, const struct conform_seen *seen)
{
	for (size_t i = 0; i < CONFORM_CATEGORIES; i++)
		conform_skipped(c, seen, inside_names[i]);
	for (size_t i = 0; i < CONFORM_CATEGORIES; i++)
		conform_skipped(c, seen, whole_names[i]);
	conform_skipped(c, seen, "lost");
	conform_skipped(c, seen, "device_processes");
	if (seen->times)
		conform_skipped(c, seen, "profiled_region");
	conform_skipped(c, seen, "picture_region");
}

/* Operations that were lost, late or under way: there must be none, and nothing may be said to be
 * missing, but for graphs that hide what is in them. */
static void lost(struct conform *c, const struct conform_seen *seen)
{
	const struct device *d = &seen->record->device;
	double graphs = d->graphs > 0 ? d->graphs : 0;
	double n = d->untimed_ops + d->dropped_ops + d->late_ops + d->pending_ops - graphs;
	conform_near(c, seen, "lost", "1", n, 0, 0,
		     "operations without a time, dropped, late or still under way");
	if (d->incomplete != (graphs > 0 ? YES : NO) && c->n) {
		struct check *k = &c->items[c->n - 1];
		conform_verdict(k, false);
		k->detail = graphs > 0
				    ? "graphs hide operations, and the record does not say that "
				      "it is incomplete"
				    : "the record says that it is incomplete; its caveats say how";
	}
}

/* ---- times ---- */

static void profiled_region(struct conform *c, const struct conform_seen *seen)
{
	const struct execution *e = conform_execution(seen);
	double profiled_s = known(seen->profiled_s) ? seen->profiled_s : e ? e->roi_s : NAN;
	double clean_s = known(seen->clean_s) ? seen->clean_s : seen->record->roi.min_s;
	double most_s = known(seen->clean_most_s) ? seen->clean_most_s : seen->record->roi.max_s;
	double spread_s = known(most_s) && most_s > clean_s ? most_s - clean_s : 0;
	conform_near(
		c, seen, "profiled_region", "s", profiled_s, clean_s,
		TIMES_LEAST_S + TIMES_LIMIT * clean_s + spread_s,
		"region under the collector, and the shortest of the clean executions; they may "
		"differ by 5 ms, 20 %, and what these differ among themselves");
}

/* Idle and busy time of all processes are their regions, as the collector clipped them. */
static void picture_region(struct conform *c, const struct conform_seen *seen)
{
	const struct record_body *r = seen->record;
	const struct execution *e = conform_execution(seen);
	double marks_s = 0, n = 0;
	for (size_t i = 0; e && i < r->ranks.n; i++) {
		const struct rank *row = &r->ranks.items[i];
		if (!row->execution || strcmp(row->execution, e->name) != 0)
			continue;
		marks_s += row->roi_s; /* one that is not known makes the sum unknown */
		n++;
	}
	conform_near(c, seen, "picture_region", "s", r->gap.device_idle_s + r->device.busy_s,
		     n > 0 ? marks_s : NAN, fmax(REGION_LIMIT * marks_s, REGION_LEAST_S * n),
		     "region that the collector clipped to, and that of the marks' own logs, all "
		     "processes together");
}

/* ---- a part ---- */

/* The number of the clean executions, or that of the one under the collector if only that is wrong.
 */
static double of_both(double clean, const struct execution *e, double profiled, double want)
{
	return e && clean == want ? profiled : clean;
}

static void marks(struct conform *c, const struct conform_seen *seen,
		  const struct conform_want *want)
{
	const struct roi *roi = &seen->record->roi;
	const struct execution *e = conform_execution(seen);
	conform_near(c, seen, "entries", "1",
		     of_both(roi->entries, e, e ? e->entries : NAN, want->entries), want->entries,
		     0, "entries into the region");
	struct check *k = conform_add(c, seen->part, "excluded",
				      "time that the marks leave out must be above 0");
	k->unit = "s";
	k->value = roi->excluded_s;
	conform_verdict(k, roi->excluded_s > 0);
	conform_near(c, seen, "processes", "1",
		     of_both(roi->processes, e, e ? e->processes : NAN, want->processes),
		     want->processes, 0, "processes that entered the region");
	conform_near(c, seen, "steps", "1", of_both(roi->steps, e, e ? e->steps : NAN, want->steps),
		     want->steps, 0, "steps that each process marked");
	conform_near(c, seen, "excludes", "1", roi->excludes, want->excludes, 0,
		     "excludes that each process marked");
}

static void status(struct conform *c, const struct conform_seen *seen)
{
	const struct record_body *r = seen->record;
	bool good = r->status && strcmp(r->status, "ok") == 0;
	const char *text = !good && r->status_text ? r->status_text : "the run's status must be ok";
	conform_verdict(conform_add(c, seen->part, "status", text), good);
}

static void of_device(struct conform *c, const struct conform_seen *seen,
		      const struct conform_want *want)
{
	conform_operations(c, seen, want);
	lost(c, seen);
	conform_near(c, seen, "device_processes", "1",
		     seen->record->device.processes_with_device_work, want->processes, 0,
		     "processes whose work on the device was seen");
}

void conform_part(struct conform *c, const struct conform_seen *seen,
		  const struct conform_want *want)
{
	if (seen->end != CONFORM_ENDS) {
		conform_killed(c, seen, want);
		return;
	}
	status(c, seen);
	marks(c, seen, want);
	if (conform_is(seen, "none")) {
		skip_operations(c, seen);
		return;
	}
	if (conform_is(seen, "io"))
		conform_files(c, seen, want);
	else
		of_device(c, seen, want);
	if (seen->times)
		profiled_region(c, seen);
	if (!conform_is(seen, "io")) /* which has no time of its own region in the record */
		picture_region(c, seen);
}

bool conform_times_failed(const struct conform *c, const char *part)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct check *k = &c->items[i];
		if (strcmp(k->part, part) == 0 && strcmp(k->name, "profiled_region") == 0)
			return strcmp(k->verdict, "fail") == 0 && known(k->value) &&
			       known(k->expected);
	}
	return false;
}

void conform_skip(struct conform *c, const char *part, const char *why)
{
	conform_add(c, part, part, why)->verdict = "skipped";
}

void conform_sentinel(struct conform *c, bool searched, const char *in)
{
	struct check *k = conform_add(
		c, "sentinel", "sentinel",
		in         ? in
		: searched ? "the value of a variable of the caller is in nothing that was written"
			   : "what was written could not be searched");
	conform_verdict(k, searched && !in);
}

/* ---- all of them ---- */

static const char *why_of(struct conform *c, const struct check *k)
{
	if (!known(k->value) || !known(k->expected))
		return arena_printf(c->arena, "%s, %s: %s", k->part, k->name, k->detail);
	return arena_printf(c->arena, "%s, %s: %.9g where %.9g must be (%s)", k->part, k->name,
			    k->value, k->expected, k->detail);
}

void conform_judge(struct conformance *ret, struct conform *c, const char *collector)
{
	const struct check *first = NULL;
	bool none = strcmp(collector, "none") == 0;
	ret->passed = ret->failed = ret->skipped = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct check *k = &c->items[i];
		bool failed = strcmp(k->verdict, "fail") == 0;
		if (failed && !first)
			first = k;
		*(failed                            ? &ret->failed
		  : strcmp(k->verdict, "pass") == 0 ? &ret->passed
						    : &ret->skipped) += 1;
	}
	ret->checks.items = c->items;
	ret->checks.n = c->n;
	ret->verdict = first ? "fail" : none ? "pass-clean-only" : "pass";
	ret->why = first  ? why_of(c, first)
		   : none ? "no collector was used: only the time of the region is tested"
			  : NULL;
}
