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

/* The fields of a category follow one another in the order of the enum, in both blocks. */
#define PUT_CATEGORY(to, sums, c, field)                                                           \
	do {                                                                                       \
		(to)->field##_s = ns((sums)->time_ns[c]);                                          \
		(to)->field##_ops = (sums)->ops[c];                                                \
		(to)->field##_bytes = (sums)->bytes[c];                                            \
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

static int put_devices(struct record *rec, const struct trace *trace, const struct clip *clip)
{
	struct device *d = &rec->body.device;
	if (!clip->devices)
		return 0;
	d->per_device.items =
		arena_array(&rec->arena, clip->n_devices + 1, sizeof *d->per_device.items);
	if (!d->per_device.items)
		return -ENOMEM;
	for (size_t i = 0; i < clip->n_devices; i++) {
		const struct clip_device *from = &clip->devices[i];
		const char *name = trace->devices[from->device];
		struct per_device *to = &d->per_device.items[i];
		block_clear(&per_device_block, to);
		to->device = record_text(rec, name, strlen(name));
		to->busy_s = ns((double)from->busy_ns);
		to->processes = (double)from->processes;
		if (!to->device)
			return -ENOMEM;
	}
	d->per_device.n = clip->n_devices;
	return 0;
}

static int put_device(struct record *rec, const struct trace *trace, const struct clip *clip)
{
	struct device *d = &rec->body.device;
	struct derived x;
	derive(rec->body.roi.wall_s, (double)clip->roi.busy_ns / 1e9, (double)clip->processes,
	       (double)clip->wall_ns / 1e9, &x);
	d->busy_s = ns((double)clip->roi.busy_ns);
	d->busy_frac_of_roi = x.busy_frac_of_roi;
	d->busy_frac_of_profiled_roi = x.busy_frac_of_profiled_roi;
	d->host_gap_s = x.host_gap_s;
	d->host_gap_frac_of_roi = x.host_gap_frac;
	d->op_time_sum_s = ns((double)clip->roi.op_sum_ns);
	d->overlap_s = ns((double)(clip->roi.op_sum_ns - clip->roi.busy_ns));
	d->job_busy_s = ns((double)clip->job_busy_ns);
	d->busy_frac_mean = num15(clip->busy_frac_mean);
	d->processes = (double)clip->processes;
	d->processes_with_device_work = (double)clip->processes_with_device_work;
	d->untimed_ops = (double)clip->untimed_ops;
	d->dropped_ops = trace->dropped_ops;
	PUT_CATEGORIES(d, &clip->roi);
	rec->body.roi.profiled_wall_s = ns((double)clip->wall_ns);
	rec->body.roi.profiler_inflation = x.inflation;
	int rc = put_devices(rec, trace, clip);
	if (!rc && x.busy_exceeds)
		rc = record_caveat(rec, "busy_exceeds_clean_roi",
				   "The device was busy for %.4g of the clean region: busy time "
				   "and region are of different "
				   "executions.",
				   x.busy_frac_of_roi);
	if (!rc && x.inflated)
		rc = record_caveat(
			rec, "profiler_inflation",
			"The region took %.3g times as long under the collector as clean.",
			x.inflation);
	if (!rc && x.deflated)
		rc = record_caveat(rec, "profiler_deflation",
				   "The region took only %.3g of its clean time under the "
				   "collector: shares of the two mix "
				   "different executions.",
				   x.inflation);
	return rc;
}

static int put_ops(struct record *rec, const struct trace *trace, const struct clip *clip)
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
		if (!to->name)
			return -ENOMEM;
	}
	b->ops.n = clip->n_ops;
	b->ops_scope = trace->ops_of_whole && !clip->found ? "whole_process" : "roi";
	return 0;
}

static int put_calls(struct record *rec, const struct trace *trace, const struct clip *clip)
{
	struct runtime_api *api = &rec->body.runtime_api;
	if (!clip->has_calls)
		return 0;
	if (trace->runtime) {
		api->name = record_text(rec, trace->runtime, strlen(trace->runtime));
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
	return 0;
}

int clip_put(struct record *rec, const struct trace *trace, const struct clip *clip)
{
	int rc = put_calls(rec, trace, clip);
	if (rc || !clip->observed)
		return rc;
	struct whole_process *whole = &rec->body.context.whole_process;
	whole->busy_s = ns((double)clip->whole.busy_ns);
	whole->op_time_sum_s = ns((double)clip->whole.op_sum_ns);
	PUT_CATEGORIES(whole, &clip->whole);
	rc = put_ops(rec, trace, clip);
	if (!rc && clip->found)
		rc = put_device(rec, trace, clip);
	if (!rc && clip->untimed_ops)
		rc = record_caveat(
			rec, "untimed_operations",
			"%.0f device operations have no usable time; they are in no count.",
			(double)clip->untimed_ops);
	if (!rc && trace->dropped_ops > 0)
		rc = record_caveat(rec, "dropped_operations",
				   "The collector lost %.0f device operations.",
				   trace->dropped_ops);
	return rc;
}
