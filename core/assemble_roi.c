/* The region over all samples: statistics, steps, phases. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "lib/num.h"

static int put_numbers(struct assembly *a, struct nums *ret, const double *numbers, size_t n)
{
	/* Room for one more, so that "observed: none" differs from "not known". */
	ret->items = arena_array(&a->rec->arena, n + 1, sizeof *ret->items);
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ret->items[i] = num15(numbers[i]);
	ret->n = n;
	return 0;
}

static int put_samples(struct assembly *a)
{
	struct roi *roi = &a->rec->body.roi;
	size_t used = 0, warm = 0;
	for (size_t i = 0; i < a->n; i++)
		if (a->all[i].stage == WARMUP && a->all[i].ended_well && known(a->all[i].roi_s))
			a->scratch[warm++] = a->all[i].roi_s;
	int rc = warm ? put_numbers(a, &roi->warmup_runs_s, a->scratch, warm) : 0;
	for (size_t i = 0; i < a->n; i++)
		if (a->all[i].used)
			a->scratch[used++] = a->all[i].roi_s;
	if (!rc)
		rc = put_numbers(a, &roi->runs_s, a->scratch, used);
	if (!rc)
		rc = stats_of(roi->runs_s.items, used, &a->stats);
	return rc;
}

static int put_statistics(struct assembly *a)
{
	struct roi *roi = &a->rec->body.roi;
	const struct stats *s = &a->stats;
	roi->wall_s = num15(s->median);
	roi->min_s = num15(s->min);
	roi->max_s = num15(s->max);
	roi->stddev_s = num15(s->stddev);
	roi->cv = num15(s->cv);
	roi->ci95_coverage = num15(s->ci_coverage);
	roi->spread = num15(s->spread);
	roi->iqr = num15(s->iqr);
	roi->stable = s->stable;
	roi->stable_rule = s->rule;
	roi->two_levels = s->two_levels;
	roi->drift = s->drift;
	double ends[2] = { s->ci_low, s->ci_high };
	return known(s->ci_low) ? put_numbers(a, &roi->ci95_s, ends, 2) : 0;
}

static int put_source(struct assembly *a)
{
	struct roi *roi = &a->rec->body.roi;
	const char *region = a->rec->body.measurement.region;
	if (a->by_timer) {
		roi->source = "timer";
		roi->timer = arena_strdup(&a->rec->arena, region + strlen("timer:"));
		return roi->timer ? 0 : -ENOMEM;
	}
	roi->source = region && strncmp(region, "range:", 6) == 0 ? "range" : "markers";
	return 0;
}

/* ---- what the marks tell ----------------------------------------------------------------------
 */

/* All finished steps and entries of all samples, all processes together. */
struct tally {
	uint64_t steps, sum_ns, min_ns, max_ns, bins[ROI_BINS];
	uint64_t entry_min_ns, entry_max_ns;
};

static void tally_steps(struct tally *t, const struct roi_log *log)
{
	if (!log->has_steps || !log->steps)
		return;
	t->min_ns = !t->steps || log->step_min_ns < t->min_ns ? log->step_min_ns : t->min_ns;
	t->max_ns = log->step_max_ns > t->max_ns ? log->step_max_ns : t->max_ns;
	t->steps += log->steps;
	t->sum_ns += log->step_sum_ns;
	for (size_t i = 0; i < ROI_BINS; i++)
		t->bins[i] += log->step_bins[i];
}

static void tally_all(const struct assembly *a, struct tally *t)
{
	bool some = false;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		for (size_t k = 0; w->used && k < w->seen->n_logs; k++) {
			const struct roi_process *p = &w->processes[k];
			tally_steps(t, w->seen->logs[k]);
			if (!p->finished)
				continue;
			t->entry_min_ns = !some || p->entry_min_ns < t->entry_min_ns
						  ? p->entry_min_ns
						  : t->entry_min_ns;
			t->entry_max_ns = p->entry_max_ns > t->entry_max_ns ? p->entry_max_ns
									    : t->entry_max_ns;
			some = true;
		}
	}
}

/* The upper end of the bin in which the 95 % point lies, but no longer than the longest step. */
static double p95(const struct tally *t)
{
	uint64_t all = 0, below = 0;
	for (size_t i = 0; i < ROI_BINS; i++)
		all += t->bins[i];
	if (!all)
		return NAN;
	for (unsigned i = 0; i < ROI_BINS; i++) {
		below += t->bins[i];
		if ((double)below >= 0.95 * (double)all) {
			uint64_t top = roi_bin_top(i);
			return seconds(top < t->max_ns ? top : t->max_ns);
		}
	}
	return seconds(t->max_ns);
}

static void put_steps(struct assembly *a, const struct tally *t)
{
	struct roi *roi = &a->rec->body.roi;
	const struct observed *seen = a->first->seen;
	for (size_t i = 0; i < seen->n_logs; i++)
		if (seen->logs[i]->has_steps && !(roi->steps >= (double)seen->logs[i]->steps))
			roi->steps = (double)seen->logs[i]->steps;
	if (!t->steps)
		return;
	roi->step_s = num15((double)t->sum_ns / (double)t->steps / 1e9);
	roi->step_min_s = seconds(t->min_ns);
	roi->step_max_s = seconds(t->max_ns);
	roi->step_p95_s = p95(t);
}

static void put_marks(struct assembly *a)
{
	struct roi *roi = &a->rec->body.roi;
	if (a->lead) {
		roi->entries = (double)a->lead->job.entries;
		roi->excludes = (double)a->lead->job.excludes;
		roi->processes = (double)a->lead->job.processes;
		roi->unfinished = (double)a->lead->job.unfinished;
	}
	if (!a->first || !a->first->entered)
		return;
	struct tally t = { 0 };
	tally_all(a, &t);
	roi->excluded_s = seconds(a->first->job.excluded_ns);
	roi->imbalance_s = seconds(a->first->job.imbalance_ns);
	roi->folded = (double)a->first->job.folded;
	roi->entry_min_s = seconds(t.entry_min_ns);
	roi->entry_max_s = seconds(t.entry_max_ns);
	put_steps(a, &t);
}

/* ---- phases -----------------------------------------------------------------------------------
 */

static struct phase *phase_of(struct assembly *a, const char *name)
{
	struct record_body *body = &a->rec->body;
	for (size_t i = 0; i < body->phases.n; i++)
		if (strcmp(body->phases.items[i].name, name) == 0)
			return &body->phases.items[i];
	struct phase *p = &body->phases.items[body->phases.n]; /* room was made for all */
	block_clear(&phase_block, p);
	p->name = record_text(a->rec, name, strlen(name));
	if (!p->name)
		return NULL;
	p->count = p->total_s = 0;
	body->phases.n++;
	return p;
}

static int add_phase(struct assembly *a, const struct roi_phase *from, uint64_t region_ns)
{
	struct phase *p = phase_of(a, from->name);
	if (!p)
		return -ENOMEM;
	p->count += (double)from->count;
	if (!from->count)
		return 0;
	double total = seconds(from->total_ns), low = seconds(from->min_ns),
	       high = seconds(from->max_ns);
	if (total >= p->total_s) {
		p->total_s = total;
		p->share = region_ns ? num15((double)from->total_ns / (double)region_ns) : NAN;
	}
	if (!(p->min_s <= low))
		p->min_s = low;
	if (!(p->max_s >= high))
		p->max_s = high;
	return 0;
}

/* Phases of the first sample, in the order in which its processes name them. */
static int put_phases(struct assembly *a)
{
	const struct worked *w = a->first;
	bool can_tell = false;
	size_t room = 0;
	for (size_t i = 0; i < w->seen->n_logs; i++) {
		can_tell |= w->seen->logs[i]->has_steps; /* such a log can tell phases too */
		room += w->seen->logs[i]->n_phases;
	}
	if (!can_tell && !room)
		return 0;
	a->rec->body.phases.items = arena_array(&a->rec->arena, room + 1, sizeof(struct phase));
	if (!a->rec->body.phases.items)
		return -ENOMEM;
	for (size_t i = 0; i < w->seen->n_logs; i++)
		for (size_t k = 0; k < w->seen->logs[i]->n_phases; k++) {
			int rc =
				add_phase(a, &w->seen->logs[i]->phases[k], w->processes[i].wall_ns);
			if (rc)
				return rc;
		}
	return 0;
}

/* ---- the application's own timer as the region --------------------------------------------------
 */

static double timer_excluded(const struct worked *w)
{
	return w->seen->timer->excluded_s;
}

static int put_timer(struct assembly *a)
{
	struct roi *roi = &a->rec->body.roi;
	const struct timer_result *t = a->first->seen->timer;
	roi->steps = num15(t->steps);
	roi->setup_s = num15(t->setup_s);
	roi->excluded_s = over_samples(a, timer_excluded);
	roi->step_s = t->steps > 0 ? num15(t->wall_s / t->steps) : NAN;
	if (!t->n_parts)
		return 0;
	struct phase *items = arena_array(&a->rec->arena, t->n_parts, sizeof *items);
	if (!items)
		return -ENOMEM;
	a->rec->body.phases.items = items;
	for (size_t i = 0; i < t->n_parts; i++) {
		struct phase *p = &items[i];
		block_clear(&phase_block, p);
		p->name = record_text(a->rec, t->parts[i].name, strlen(t->parts[i].name));
		p->total_s = num15(t->parts[i].seconds);
		p->share = t->wall_s > 0 ? num15(t->parts[i].seconds / t->wall_s) : NAN;
		if (!p->name)
			return -ENOMEM;
		a->rec->body.phases.n = i + 1;
	}
	return 0;
}

static void put_profiled(struct assembly *a)
{
	struct roi *roi = &a->rec->body.roi;
	const struct worked *w = device_execution(a);
	if (w && strcmp(w->status, "ok") == 0)
		roi->profiled_wall_s = w->roi_s;
	if (known(roi->profiled_wall_s) && roi->wall_s > 0)
		roi->profiler_inflation = num15(roi->profiled_wall_s / roi->wall_s);
}

int put_region(struct assembly *a)
{
	int rc = put_source(a);
	if (!rc)
		rc = put_samples(a);
	if (!rc)
		rc = put_statistics(a);
	if (rc)
		return rc;
	if (!a->by_timer)
		put_marks(a);
	put_profiled(a);
	if (!a->first)
		return 0;
	return a->by_timer ? put_timer(a) : put_phases(a);
}
