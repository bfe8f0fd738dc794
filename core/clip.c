/* Arrays in any order: by process and time, a flow for each process, their pictures put together.
 */
#include "core/clip.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow.h"
#include "core/picture.h"

/* Everything is in order and in memory: no ring has to mend anything, no list needs a ceiling. */
#define SLOTS 16
#define NO_CEILING (SIZE_MAX / 256)
#define DEVICE_ID_BYTES 16

enum kind { MARK, OPERATION, CALL };

struct item {
	int64_t begin;
	size_t index;
	uint32_t process;
	enum kind kind;
};

struct work {
	const struct trace *trace;
	struct arena *arena;
	struct item *items;
	size_t n;
	struct picture *pictures; /* one a process */
	const struct picture **list;
	size_t n_pictures;
	int64_t *device_of; /* a device's number in the flow, or -1 */
	unsigned observes;
};

/* Windows are known before what is clipped to them. */
static int by_process(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	bool x_mark = x->kind == MARK, y_mark = y->kind == MARK;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x_mark != y_mark)
		return x_mark ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int check_ops(const struct trace *t, struct err *err)
{
	for (size_t i = 0; i < t->n_ops; i++) {
		const struct trace_op *op = &t->ops[i];
		if (op->category >= CATEGORIES || (t->devices && op->device >= t->n_devices))
			return err_set(err, -EINVAL,
				       "operation %zu of the trace has category %u and device %u",
				       i, op->category, op->device);
	}
	return 0;
}

static int list_items(struct work *w)
{
	const struct trace *t = w->trace;
	size_t processes = 0;
	w->items = malloc((t->n_marks + t->n_ops + t->n_calls + 1) * sizeof *w->items);
	if (!w->items)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_marks; i++)
		w->items[w->n++] =
			(struct item){ t->marks[i].begin_ns, i, t->marks[i].process, MARK };
	for (size_t i = 0; i < t->n_ops; i++)
		w->items[w->n++] =
			(struct item){ t->ops[i].begin_ns, i, t->ops[i].process, OPERATION };
	for (size_t i = 0; i < t->n_calls; i++)
		w->items[w->n++] =
			(struct item){ t->calls[i].begin_ns, i, t->calls[i].process, CALL };
	qsort(w->items, w->n, sizeof *w->items, by_process);
	for (size_t i = 0; i < w->n; i++)
		processes += i == 0 || w->items[i].process != w->items[i - 1].process;
	w->pictures = calloc(processes + 1, sizeof *w->pictures);
	w->list = calloc(processes + 1, sizeof *w->list);
	w->device_of = malloc((t->n_devices + 1) * sizeof *w->device_of);
	return w->pictures && w->list && w->device_of ? 0 : -ENOMEM;
}

/* ---- one process ---------------------------------------------------------------------------- */

/* Devices of one name stay apart: the number is their id. */
static int64_t device_of(struct work *w, struct flow *f, uint32_t device)
{
	char id[DEVICE_ID_BYTES];
	if (!w->trace->devices)
		return flow_device(f, "device", NULL);
	(void)snprintf(id, sizeof id, "%u", device);
	if (w->device_of[device] < 0)
		w->device_of[device] = flow_device(f, w->trace->devices[device], id);
	return w->device_of[device];
}

/* Only what has a length says that a device was used. */
static int put_op(struct work *w, struct flow *f, const struct trace_op *op)
{
	if (op->end_ns <= op->begin_ns) {
		flow_untimed(f, 1);
		return 0;
	}
	const char *text = w->trace->names[op->name];
	int64_t name = flow_name(f, text, strlen(text)), device = device_of(w, f, op->device);
	if (name < 0 || device < 0)
		return -ENOMEM;
	flow_op(f, &(struct flow_op){ .begin_ns = op->begin_ns,
				      .end_ns = op->end_ns,
				      .bytes = op->bytes,
				      .device = (uint32_t)device,
				      .name = (uint32_t)name,
				      .category = op->category });
	return 0;
}

static int put_item(struct work *w, struct flow *f, const struct item *i)
{
	const struct trace *t = w->trace;
	if (i->kind == OPERATION)
		return put_op(w, f, &t->ops[i->index]);
	if (i->kind == MARK) {
		const struct trace_mark *m = &t->marks[i->index];
		return flow_range(f, m->exclude, m->begin_ns, m->end_ns);
	}
	const struct trace_call *c = &t->calls[i->index];
	flow_call(f, c->begin_ns, c->end_ns, c->sync);
	return 0;
}

static int clip_process(struct work *w, const struct item *items, size_t n, struct err *err)
{
	struct picture *p = &w->pictures[w->n_pictures];
	struct flow *f;
	struct flow_options o = { .observes = w->observes,
				  .slots = SLOTS,
				  .max_names = NO_CEILING,
				  .max_ranges = NO_CEILING,
				  .keep_busy = true,
				  .calls = w->trace->calls != NULL };
	int rc = flow_new(&f, &o, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < w->trace->n_devices; i++)
		w->device_of[i] = -1;
	for (size_t i = 0; !rc && i < n; i++)
		rc = put_item(w, f, &items[i]);
	if (!rc)
		rc = flow_picture(f, w->arena, p, err);
	p->status = "ok";
	p->dropped = w->trace->dropped_ops;
	w->list[w->n_pictures++] = p;
	flow_free(f);
	return rc;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct clip_device *x = a, *y = b;
	return (x->device > y->device) - (x->device < y->device);
}

/* What the trace does not tell apart is not known of each. */
static void devices_of_trace(struct clip *ret, const struct trace *t)
{
	for (size_t i = 0; i < ret->n_devices; i++)
		ret->devices[i].device = (uint32_t)strtoul(ret->devices[i].id, NULL, 10);
	if (ret->n_devices && t->devices)
		qsort(ret->devices, ret->n_devices, sizeof *ret->devices, by_number);
	if (t->devices && ret->found)
		return;
	ret->devices = NULL;
	ret->n_devices = 0;
	ret->busy_frac_mean = ret->idle_ns = NAN;
	if (t->devices)
		return;
	ret->roi.device_busy_ns = ret->whole.device_busy_ns = NAN;
	for (int c = 0; c < CATEGORIES; c++)
		ret->roi.union_ns[c] = ret->whole.union_ns[c] = NAN;
}

int clip_trace(struct arena *arena, const struct trace *trace, struct clip *ret, struct err *err)
{
	struct work w = { .trace = trace, .arena = arena };
	/* Of who observes nothing the region and the calls are known all the same. */
	w.observes = trace->observes ? trace->observes : 1u << OTHER;
	int rc = check_ops(trace, err);
	if (rc)
		return rc;
	rc = list_items(&w);
	for (size_t i = 0, k; !rc && i < w.n; i = k) {
		for (k = i + 1; k < w.n && w.items[k].process == w.items[i].process; k++)
			;
		rc = clip_process(&w, &w.items[i], k - i, err);
	}
	if (!rc && w.n == 0)
		rc = clip_process(&w, w.items, 0, err);
	if (!rc)
		rc = picture_merge(w.list, w.n_pictures, arena, ret, err);
	free(w.items);
	free(w.pictures);
	free(w.list);
	free(w.device_of);
	if (rc)
		return rc == -ENOMEM ? err_set(err, rc,
					       "out of memory while a trace of %zu operations is "
					       "clipped",
					       trace->n_ops)
				     : rc;
	ret->observed = trace->observes != 0;
	ret->nodes = 0;
	ret->dropped = trace->dropped_ops;
	ret->ops_of_whole = trace->ops_of_whole && !ret->found;
	ret->n_ops = ret->found || ret->ops_of_whole ? ret->n_ops : 0;
	devices_of_trace(ret, trace);
	return 0;
}
