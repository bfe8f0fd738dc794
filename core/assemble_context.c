/* Around the region: the process, the machine, the application's own numbers, what marking cost. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "lib/num.h"

#define ROW(name)                                                                                  \
	static double row_##name(const struct worked *w)                                           \
	{                                                                                          \
		return w->seen->row.name;                                                          \
	}
ROW(load1)
ROW(user_s)
ROW(system_s)
ROW(voluntary_switches)
ROW(involuntary_switches)
ROW(minor_faults)
ROW(major_faults)
ROW(max_rss_bytes)
ROW(others_cpu_s)
ROW(cpu_khz_min)
ROW(cpu_khz_max)
ROW(cpu_khz_mean)
ROW(cpu_throttles)
ROW(cpu_energy_j)

static double pre(const struct worked *w)
{
	return w->pre_s;
}

static double post(const struct worked *w)
{
	return w->post_s;
}

static double between(const struct worked *w)
{
	return w->between_s;
}

static double process_wall(const struct worked *w)
{
	const struct observed *seen = w->seen;
	if (known(seen->row.process_wall_s))
		return seen->row.process_wall_s;
	if (seen->start_real_ns == ROI_UNKNOWN || seen->end_real_ns == ROI_UNKNOWN ||
	    seen->end_real_ns < seen->start_real_ns)
		return NAN;
	return seconds((uint64_t)(seen->end_real_ns - seen->start_real_ns));
}

static double outside(const struct worked *w)
{
	return process_wall(w) - w->roi_s;
}

/* The largest (sign 1) or the smallest (sign -1) over the samples. */
static double extreme(const struct assembly *a, double (*f)(const struct worked *w), int sign)
{
	double best = NAN;
	for (size_t i = 0; i < a->n; i++) {
		double x = a->all[i].used ? f(&a->all[i]) : NAN;
		if (known(x) && !(sign * best >= sign * x))
			best = x;
	}
	return num15(best);
}

/* What the marks inside the first sample cost, by the calibration that each process made. */
static void put_observer(struct assembly *a)
{
	struct observer *o = &a->rec->body.observer;
	if (!a->first || !a->first->entered)
		return;
	double marks = 0, cost = 0;
	for (size_t i = 0; i < a->first->seen->n_logs; i++) {
		const struct roi_log *log = a->first->seen->logs[i];
		marks += (double)log->marks;
		if (log->marks)
			cost += (double)log->marks * log->mark_cost_ns / 1e9;
	}
	o->marks = marks;
	o->mark_cost_s = num15(cost);
}

int put_context(struct assembly *a)
{
	struct context *c = &a->rec->body.context;
	put_observer(a);
	c->process_wall_s = over_samples(a, process_wall);
	if (a->by_timer) {
		c->outside_region_s = over_samples(a, outside);
	} else {
		c->pre_roi_s = over_samples(a, pre);
		c->post_roi_s = over_samples(a, post);
		c->between_s = over_samples(a, between);
	}
	c->load1 = over_samples(a, row_load1);
	c->user_s = over_samples(a, row_user_s);
	c->system_s = over_samples(a, row_system_s);
	c->voluntary_switches = over_samples(a, row_voluntary_switches);
	c->involuntary_switches = over_samples(a, row_involuntary_switches);
	c->minor_faults = over_samples(a, row_minor_faults);
	c->major_faults = over_samples(a, row_major_faults);
	c->max_rss_bytes = over_samples(a, row_max_rss_bytes);
	c->others_cpu_s = extreme(a, row_others_cpu_s, 1);
	c->cpu_khz_min = extreme(a, row_cpu_khz_min, -1);
	c->cpu_khz_max = extreme(a, row_cpu_khz_max, 1);
	c->cpu_khz_mean = over_samples(a, row_cpu_khz_mean);
	c->cpu_throttles = extreme(a, row_cpu_throttles, 1);
	c->cpu_energy_j = over_samples(a, row_cpu_energy_j);
	return put_device_states(a);
}

/* ---- figure of merit and own timer --------------------------------------------------------------
 */

static const struct metric *fom_of(const struct observed *seen)
{
	return &seen->fom;
}

static const struct metric *own_timer_of(const struct observed *seen)
{
	return &seen->own_timer;
}

/* The median over the clean executions that ended well and have it. The status is that of the
 * first one that has not, if nobody has. */
static int put_metric(struct assembly *a, const struct metric *(*of)(const struct observed *),
		      double *ret_value, struct nums *ret_runs, const char **ret_status)
{
	enum metric_status status = METRIC_NONE;
	size_t n = 0;
	bool looked = false;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		if (w->stage != CLEAN || !w->ended_well)
			continue;
		looked = true;
		const struct metric *m = of(w->seen);
		if (m->status == METRIC_OK)
			a->scratch[n++] = num15(m->value);
		else if (status == METRIC_NONE)
			status = m->status;
	}
	*ret_status = looked ? metric_status_name(n ? METRIC_OK : status) : NULL;
	if (!n)
		return 0;
	ret_runs->items = arena_array(&a->rec->arena, n, sizeof *ret_runs->items);
	if (!ret_runs->items)
		return -ENOMEM;
	memcpy(ret_runs->items, a->scratch, n * sizeof *ret_runs->items);
	ret_runs->n = n;
	*ret_value = num15(stats_median(a->scratch, n));
	return 0;
}

int put_metrics(struct assembly *a)
{
	struct record_body *body = &a->rec->body;
	struct own_timer *own = &body->own_timer;
	int rc = put_metric(a, fom_of, &body->fom.value, &body->fom.runs, &body->fom.status);
	if (!rc)
		rc = put_metric(a, own_timer_of, &own->value_s, &own->runs_s, &own->status);
	if (own->value_s > 0)
		own->roi_diff_frac = num15((body->roi.wall_s - own->value_s) / own->value_s);
	return rc;
}
