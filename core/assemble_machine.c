/* Limits of a record's numbers that lie in the machine: its clocks, its load, and what marking
 * itself costs. The thresholds are in docs/statistics.md. */
#include <math.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "lib/num.h"

#define LOAD_LIMIT 0.5    /* of the CPUs, before anything of ours ran */
#define OTHERS_LIMIT 0.05 /* of the CPU time that the machine had meanwhile */
#define STEAL_LIMIT 0.01  /* of the CPU time */
#define FREQUENCY_LIMIT 0.05
#define CLOCK_LIMIT 0.001 /* of the region */
#define MARK_COST_LIMIT 0.01

/* ---- clocks and the cost of marking
 * ---------------------------------------------------------------- */

/* How far the wall clock moved against the monotonic one between first and last mark. */
static double wall_clock_moved_s(const struct roi_log *log)
{
	if (log->first_begin_ns == ROI_UNKNOWN || log->last_end_ns == ROI_UNKNOWN ||
	    log->first_begin_real == ROI_UNKNOWN || log->last_end_real == ROI_UNKNOWN)
		return 0;
	double real = (double)log->last_end_real - (double)log->first_begin_real;
	double mono = (double)log->last_end_ns - (double)log->first_begin_ns;
	double moved = fabs(real - mono) / 1e9;
	return moved > 0.001 + 0.001 * mono / 1e9 ? moved : 0;
}

static int clocks(struct assembly *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		for (size_t k = 0; w->used && k < w->seen->n_logs; k++) {
			const struct roi_log *log = w->seen->logs[k];
			double moved = wall_clock_moved_s(log);
			char text[32];
			if (log->clock_error_ns > 1000 &&
			    log->clock_error_ns > CLOCK_LIMIT * w->roi_s * 1e9)
				return record_caveat(a->rec, "clock_inconsistent",
						     "The clock of the marks was up to %s away "
						     "from the kernel's in %s.",
						     num_duration(text, log->clock_error_ns / 1e9),
						     w->seen->row.name);
			if (moved > 0)
				return record_caveat(a->rec, "clock_inconsistent",
						     "The wall clock was set by %s during %s: the "
						     "times before and after the region "
						     "are off, the region is not.",
						     num_duration(text, moved), w->seen->row.name);
		}
		if (w->used && w->entered && w->seen->start_real_ns != ROI_UNKNOWN &&
		    w->seen->end_real_ns != ROI_UNKNOWN && (!known(w->pre_s) || !known(w->post_s)))
			return record_caveat(a->rec, "clock_inconsistent",
					     "The marks of %s lie outside of the time from its "
					     "start to its end: its wall clock is "
					     "not the runner's.",
					     w->seen->row.name);
	}
	return 0;
}

static int mark_cost(struct assembly *a)
{
	const struct worked *w = a->first;
	if (!w || !w->entered || a->by_timer)
		return 0;
	const struct roi_log *log = w->seen->logs[w->job.slowest];
	double share = (double)log->marks * log->mark_cost_ns / (double)w->job.wall_ns;
	if (!(share > MARK_COST_LIMIT))
		return 0;
	return record_caveat(a->rec, "marking_cost",
			     "The marks themselves take about %.2g %% of the region: there are "
			     "many of them for its length.",
			     100 * share);
}

/* ---- the machine
 * ------------------------------------------------------------------------------------ */

static int busy_machine(struct assembly *a)
{
	double cpus = a->rec->body.platform_info.cpus, worst = NAN, load = NAN;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		const struct execution *row = &a->rec->body.executions.items[i];
		double share = row->others_cpu_s / (row->process_wall_s * cpus);
		if (w->used && known(share) && !(worst >= share))
			worst = share;
		/* Later ones find our own load there. */
		if (i == 0 && row->order <= 1)
			load = row->load1;
	}
	if (worst > OTHERS_LIMIT)
		return record_caveat(
			a->rec, "machine_loaded",
			"Other processes took up to %.3g %% of the machine's CPU time "
			"during a clean execution.",
			100 * fmin(worst, 1)); /* clock ticks of 10 ms can make it more */
	if (load > LOAD_LIMIT * cpus)
		return record_caveat(
			a->rec, "machine_loaded",
			"The machine had a load of %.3g on %.0f CPUs before the first execution.",
			load, cpus);
	return 0;
}

/* The rows of one execution; they are sorted by rank, those without one last. */
struct rows {
	const struct rank *items;
	size_t n;
};

/* A rank with another CPU set in y than in x, or NULL. */
static const struct rank *moved(struct rows x, struct rows y, const struct rank **ret_other)
{
	for (size_t i = 0, k = 0; i < x.n && k < y.n;) {
		const struct rank *p = x.items + i, *q = y.items + k;
		if (!known(p->rank) || !known(q->rank))
			break;
		if (p->rank == q->rank && p->cpus && q->cpus && strcmp(p->cpus, q->cpus) != 0) {
			*ret_other = q;
			return p;
		}
		i += p->rank <= q->rank;
		k += q->rank <= p->rank;
	}
	return NULL;
}

/* Pinned ranks have a set each: what must not differ is the set of one rank between executions. */
static int cpu_sets(struct assembly *a)
{
	struct rows first = { NULL, 0 }, row = { a->rec->body.ranks.items, 0 };
	for (size_t i = 0; i < a->n; i++) {
		const struct rank *other = NULL;
		row.items += row.n;
		row.n = a->all[i].n_ranks;
		if (!a->all[i].used)
			continue;
		if (!first.items)
			first = row;
		const struct rank *r = moved(first, row, &other);
		if (r)
			return record_caveat(a->rec, "cpu_set_differs",
					     "Rank %.0f ran on CPUs %s in %s and on CPUs %s in %s.",
					     r->rank, r->cpus, r->execution, other->cpus,
					     other->execution);
	}
	return 0;
}

static int frequencies(struct assembly *a)
{
	double low = NAN, high = NAN;
	for (size_t i = 0; i < a->n; i++) {
		double khz = a->all[i].used ? a->all[i].seen->row.cpu_khz_max : NAN;
		if (!known(khz))
			continue;
		low = low <= khz ? low : khz;
		high = high >= khz ? high : khz;
	}
	if (!(high > (1 + FREQUENCY_LIMIT) * low))
		return 0;
	return record_caveat(a->rec, "frequency_changed",
			     "The fastest CPU frequency seen differs between the clean executions: "
			     "%.0f to %.0f MHz.",
			     low / 1000, high / 1000);
}

static int others(struct assembly *a)
{
	const struct record_body *b = &a->rec->body;
	int rc = busy_machine(a);
	if (!rc && b->placement.oversubscribed == YES)
		rc = record_caveat(a->rec, "oversubscribed",
				   "There were more running threads than CPUs for them.");
	if (!rc)
		rc = cpu_sets(a);
	if (!rc)
		rc = frequencies(a);
	if (!rc && b->context.others_running > 0)
		rc = record_caveat(a->rec, "others_running",
				   "%.0f other run%s of this tool %s on the machine meanwhile.",
				   b->context.others_running, plural(b->context.others_running),
				   b->context.others_running == 1 ? "was" : "were");
	if (!rc && b->context.steal_frac > STEAL_LIMIT)
		rc = record_caveat(a->rec, "cpu_stolen",
				   "The hypervisor took %.2g %% of the CPU time meanwhile.",
				   100 * b->context.steal_frac);
	if (!rc && b->context.cpu_throttles > 0)
		rc = record_caveat(a->rec, "cpu_throttled",
				   "Heat slowed the CPU down %.0f time%s during a clean execution.",
				   b->context.cpu_throttles, plural(b->context.cpu_throttles));
	return rc ? rc : put_device_state_caveats(a);
}

int put_machine_caveats(struct assembly *a)
{
	int rc = clocks(a);
	if (!rc)
		rc = mark_cost(a);
	return rc ? rc : others(a);
}
