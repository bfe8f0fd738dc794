/* Clipped sums into a record, and what they say together with the clean region. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/assemble.h"
#include "core/clip.h"
#include "lib/num.h"

#define INFLATION_LIMIT 1.2
#define BUSY_LIMIT 1.01
#define EDGE                                                                                       \
	1e-12 /* a ratio that is the limit itself is none over it, whatever its last bit says */

void derive(double roi_wall_s, double busy_s, double processes, double profiled_wall_s,
	    struct derived *ret)
{
	double busy = busy_s / processes;
	if (!(processes > 0))
		busy = NAN;
	*ret = (struct derived){
		.host_gap_s = num15(roi_wall_s - busy),
		.host_gap_frac = roi_wall_s > 0 ? num15((roi_wall_s - busy) / roi_wall_s) : NAN,
		.busy_frac_of_roi = roi_wall_s > 0 ? num15(busy / roi_wall_s) : NAN,
		.busy_frac_of_profiled_roi =
			profiled_wall_s > 0 ? num15(busy / profiled_wall_s) : NAN,
		.inflation = roi_wall_s > 0 ? num15(profiled_wall_s / roi_wall_s) : NAN,
	};
	ret->busy_exceeds = busy > BUSY_LIMIT * roi_wall_s * (1 + EDGE);
	ret->inflated = ret->inflation > INFLATION_LIMIT * (1 + EDGE);
	ret->deflated = ret->inflation * INFLATION_LIMIT < 1 - EDGE;
}

static double ns(double x)
{
	return num15(x / 1e9);
}

static void sums_clear(struct clip_sums *s)
{
	*s = (struct clip_sums){ .device_busy_ns = NAN, .untimed = NAN };
	for (unsigned c = 0; c < CATEGORIES; c++)
		s->time_ns[c] = s->ops[c] = s->bytes[c] = s->union_ns[c] = NAN;
}

void clip_clear(struct clip *clip)
{
	*clip = (struct clip){
		.busy_frac_mean = NAN,
		.idle_ns = NAN,
		.dropped = NAN,
		.late = NAN,
		.graphs = NAN,
		.pending = NAN,
		.names_folded = NAN,
		.gap = { NAN, NAN, NAN, NAN, NAN, NAN, NAN },
		.collector_cpu_s = NAN,
		.collector_roi_cpu_s = NAN,
	};
	sums_clear(&clip->roi);
	sums_clear(&clip->whole);
}

/* The fields of a category follow one another in the order of the enum, in both blocks. */
#define PUT_CATEGORY(to, sums, c, field)                                                           \
	do {                                                                                       \
		(to)->field##_s = ns((sums)->time_ns[c]);                                          \
		(to)->field##_ops = (sums)->ops[c];                                                \
		(to)->field##_bytes = (sums)->bytes[c];                                            \
		(to)->field##_busy_s = ns((sums)->union_ns[c]);                                    \
	} while (0)

#define PUT_CATEGORIES(to, sums)                                                                   \
	do {                                                                                       \
		PUT_CATEGORY(to, sums, COMPUTE, compute);                                          \
		PUT_CATEGORY(to, sums, COPY_H2D, copy_h2d);                                        \
		PUT_CATEGORY(to, sums, COPY_D2H, copy_d2h);                                        \
		PUT_CATEGORY(to, sums, COPY_D2D, copy_d2d);                                        \
		PUT_CATEGORY(to, sums, COPY_OTHER, copy_other);                                    \
		PUT_CATEGORY(to, sums, FILL, fill);                                                \
		PUT_CATEGORY(to, sums, COLLECTIVE, collective);                                    \
		PUT_CATEGORY(to, sums, OTHER, other);                                              \
	} while (0)

static const char *own(struct record *rec, const char *text, int *rc)
{
	const char *copy = text ? record_text(rec, text, strlen(text)) : NULL;
	if (text && !copy)
		*rc = -ENOMEM;
	return copy;
}

static int put_row(struct record *rec, const struct clip_device *from, struct per_device *to)
{
	int rc = 0;
	block_clear(&per_device_block, to);
	to->device = own(rec, from->name, &rc);
	to->host = own(rec, from->host, &rc);
	to->id = own(rec, from->id, &rc);
	return rc;
}

/* A device that was used only outside the region was idle inside it: it has a line, too. */
static int put_devices(struct record *rec, const struct clip *clip)
{
	struct device *d = &rec->body.device;
	struct whole_process *w = &rec->body.context.whole_process;
	if (!clip->devices)
		return 0;
	size_t n = clip->n_devices;
	d->per_device.items = arena_array(&rec->arena, n + 1, sizeof *d->per_device.items);
	w->per_device.items = arena_array(&rec->arena, n + 1, sizeof *w->per_device.items);
	if (!d->per_device.items || !w->per_device.items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct clip_device *from = &clip->devices[i];
		struct per_device *roi = &d->per_device.items[i];
		struct per_device *whole = &w->per_device.items[i];
		double window = isnan(from->window_ns) ? (double)clip->window_ns : from->window_ns;
		if (put_row(rec, from, roi) || put_row(rec, from, whole))
			return -ENOMEM;
		roi->busy_s = ns((double)from->busy_ns);
		roi->processes = (double)from->processes;
		roi->process_busy_s = ns(from->process_busy_ns);
		roi->busy_frac = window > 0 ? num15((double)from->busy_ns / window) : NAN;
		roi->idle_s = ns(window - (double)from->busy_ns);
		whole->busy_s = ns(from->whole_ns);
		whole->process_busy_s = ns(from->whole_sum_ns);
		whole->processes = (double)from->whole_processes;
	}
	d->per_device.n = clip->found ? n : 0;
	w->per_device.n = n;
	if (!clip->found)
		d->per_device.items = NULL;
	if (isnan(n ? clip->devices[0].whole_sum_ns : 0))
		w->per_device = (__typeof__(w->per_device)){ NULL, 0 }; /* nobody looked */
	return 0;
}

static void put_unions(struct device *d, const struct clip *clip)
{
	d->busy_s = ns((double)clip->roi.busy_ns);
	d->op_time_sum_s = ns((double)clip->roi.op_sum_ns);
	d->overlap_s = ns((double)(clip->roi.op_sum_ns - clip->roi.busy_ns));
	d->process_device_busy_s = ns(clip->roi.device_busy_ns);
	d->device_overlap_s = ns((double)clip->roi.op_sum_ns - clip->roi.device_busy_ns);
	if (clip->nodes < 2) /* else their clocks can't be compared */
		d->job_busy_s = ns((double)clip->job_busy_ns);
	d->union_error_s = ns((double)clip->closed_ns);
	d->busy_frac_mean = num15(clip->busy_frac_mean);
}

/* Something is known to be missing, nothing is, or nobody can tell. */
static enum ternary incomplete(const struct clip *clip)
{
	const double counts[] = { clip->late, clip->graphs, clip->pending };
	if (clip->untimed_ops || clip->dropped > 0)
		return YES;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (counts[i] > 0)
			return YES;
	return isnan(clip->dropped) ? UNKNOWN : NO;
}

static int shares_caveats(struct record *rec, const struct derived *x)
{
	int rc = 0;
	if (x->busy_exceeds)
		rc = record_caveat(rec, "busy_exceeds_clean_roi",
				   "The device was busy for %.4g of the clean region: busy time "
				   "and region are of different "
				   "executions.",
				   x->busy_frac_of_roi);
	if (!rc && x->inflated)
		rc = record_caveat(
			rec, "profiler_inflation",
			"The region took %.3g times as long under the collector as clean.",
			x->inflation);
	if (!rc && x->deflated)
		rc = record_caveat(rec, "profiler_deflation",
				   "The region took only %.3g of its clean time under the "
				   "collector: shares of the two mix "
				   "different executions.",
				   x->inflation);
	return rc;
}

static int put_device(struct record *rec, const struct clip *clip)
{
	struct device *d = &rec->body.device;
	struct roi *roi = &rec->body.roi;
	struct derived x;
	if (!known(roi->profiled_wall_s))
		roi->profiled_wall_s = ns((double)clip->wall_ns);
	derive(roi->wall_s, (double)clip->roi.busy_ns / 1e9, (double)clip->processes,
	       roi->profiled_wall_s, &x);
	roi->profiler_inflation = x.inflation;
	put_unions(d, clip);
	d->busy_frac_of_roi = x.busy_frac_of_roi;
	d->busy_frac_of_profiled_roi = x.busy_frac_of_profiled_roi;
	d->host_gap_s = x.host_gap_s;
	d->host_gap_frac_of_roi = x.host_gap_frac;
	d->processes = (double)clip->processes;
	d->processes_with_device_work = (double)clip->processes_with_device_work;
	d->untimed_ops = isnan(clip->roi.untimed) ? (double)clip->untimed_ops : clip->roi.untimed;
	d->dropped_ops = clip->dropped;
	d->late_ops = clip->late;
	d->graphs = clip->graphs;
	d->pending_ops = clip->pending;
	d->incomplete = incomplete(clip);
	PUT_CATEGORIES(d, &clip->roi);
	return shares_caveats(rec, &x);
}

static int put_bins(struct record *rec, const struct nums *from, struct nums *to)
{
	*to = (struct nums){ NULL, 0 };
	if (!from->items)
		return 0;
	to->items = arena_array(&rec->arena, from->n + 1, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	memcpy(to->items, from->items, from->n * sizeof *to->items);
	to->n = from->n;
	return 0;
}

static int put_ops(struct record *rec, const struct clip *clip)
{
	struct record_body *b = &rec->body;
	b->ops.items = arena_array(&rec->arena, clip->n_ops + 1, sizeof *b->ops.items);
	if (!b->ops.items)
		return -ENOMEM;
	for (size_t i = 0; i < clip->n_ops; i++) {
		const struct clip_op *from = &clip->ops[i];
		struct op *to = &b->ops.items[i];
		to->name = record_text(rec, from->name, strlen(from->name));
		to->category = category_name(from->category);
		to->count = (double)from->count;
		to->total_s = ns((double)from->total_ns);
		to->avg_s = ns((double)from->total_ns / (double)from->count);
		to->min_s = ns((double)from->min_ns);
		to->max_s = ns((double)from->max_ns);
		to->share = num15(from->share);
		if (!to->name || put_bins(rec, &from->bins, &to->bins))
			return -ENOMEM;
	}
	b->ops.n = clip->n_ops;
	b->ops_scope = clip->ops_of_whole && !clip->found ? "whole_process" : "roi";
	return 0;
}

static int put_calls(struct record *rec, const struct clip *clip)
{
	struct runtime_api *api = &rec->body.runtime_api;
	if (!clip->has_calls)
		return 0;
	if (clip->runtime) {
		api->name = record_text(rec, clip->runtime, strlen(clip->runtime));
		if (!api->name)
			return -ENOMEM;
	}
	if (clip->found) {
		api->calls = (double)clip->calls_roi.calls;
		api->time_s = ns((double)clip->calls_roi.time_ns);
		api->sync_calls = (double)clip->calls_roi.sync_calls;
		api->sync_s = ns((double)clip->calls_roi.sync_ns);
	}
	api->whole_calls = (double)clip->calls_whole.calls;
	api->whole_time_s = ns((double)clip->calls_whole.time_ns);
	api->whole_sync_calls = (double)clip->calls_whole.sync_calls;
	api->whole_sync_s = ns((double)clip->calls_whole.sync_ns);
	return 0;
}

static void put_gap(struct record *rec, const struct clip *clip)
{
	struct gap *gap = &rec->body.gap;
	gap->device_idle_s = ns(clip->gap.total_ns);
	gap->sync_s = ns(clip->gap.sync_ns);
	gap->api_s = ns(clip->gap.api_ns);
	gap->cpu_s = ns(clip->gap.cpu_ns);
	gap->off_cpu_s = ns(clip->gap.off_cpu_ns);
	gap->io_s = ns(clip->gap.io_ns);
	gap->mpi_s = ns(clip->gap.mpi_ns);
}

static void put_whole(struct record *rec, const struct clip *clip)
{
	struct whole_process *whole = &rec->body.context.whole_process;
	const struct clip_sums *s = &clip->whole;
	whole->busy_s = ns((double)s->busy_ns);
	whole->op_time_sum_s = ns((double)s->op_sum_ns);
	whole->process_device_busy_s = ns(s->device_busy_ns);
	whole->device_overlap_s = ns((double)s->op_sum_ns - s->device_busy_ns);
	whole->untimed_ops = s->untimed;
	PUT_CATEGORIES(whole, s);
}

int clip_put_sums(struct record *rec, const struct clip *clip)
{
	int rc = put_calls(rec, clip);
	if (rc || !clip->observed)
		return rc;
	put_whole(rec, clip);
	if (clip->found)
		put_gap(rec, clip);
	rc = put_ops(rec, clip);
	if (!rc && clip->found)
		rc = put_device(rec, clip);
	if (!rc)
		rc = put_devices(rec, clip);
	if (!rc && clip->untimed_ops)
		rc = record_caveat(
			rec, "untimed_operations",
			"%.0f device operations have no usable time; they are in no count.",
			(double)clip->untimed_ops);
	if (!rc && clip->dropped > 0)
		rc = record_caveat(rec, "dropped_operations",
				   "The collector lost %.0f device operations.", clip->dropped);
	return rc;
}

int clip_put(struct record *rec, const struct trace *trace, const struct clip *clip)
{
	struct clip c = *clip;
	if (c.devices && c.n_devices) {
		c.devices = arena_array(&rec->arena, c.n_devices, sizeof *c.devices);
		if (!c.devices)
			return -ENOMEM;
		memcpy(c.devices, clip->devices, c.n_devices * sizeof *c.devices);
	}
	for (size_t i = 0; i < c.n_devices; i++)
		if (!c.devices[i].name && trace->devices)
			c.devices[i].name = trace->devices[c.devices[i].device];
	c.runtime = c.runtime ? c.runtime : trace->runtime;
	c.dropped = trace->dropped_ops;
	c.ops_of_whole = trace->ops_of_whole;
	return clip_put_sums(rec, &c);
}
