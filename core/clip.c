/* Windows, segments, unions. Every union is taken over segments that are already clipped, so one
 * routine serves processes, devices and the whole job. */
#include "core/clip.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct range {
	int64_t begin, end;
};

/* A range of one process (marks, windows) or of one process on one device (segments). */
struct piece {
	struct range r;
	uint32_t process, device;
};

struct pieces {
	struct piece *items;
	size_t n, cap;
};

struct work {
	const struct trace *trace;
	struct clip *ret;
	struct pieces roi, exclude; /* unions, by process and begin */
	struct pieces windows;
	struct pieces segments; /* of operations in the region, unsorted */
	struct pieces whole;    /* operations */
};

static int add(struct pieces *list, int64_t begin, int64_t end, uint32_t process, uint32_t device)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 64;
		void *items = realloc(list->items, cap * sizeof *list->items);
		if (!items)
			return -ENOMEM;
		list->items = items;
		list->cap = cap;
	}
	list->items[list->n++] = (struct piece){ { begin, end }, process, device };
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	return x->r.begin < y->r.begin ? -1 : x->r.begin > y->r.begin;
}

static int by_process(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return by_begin(a, b);
}

static int by_device(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return by_begin(a, b);
}

static uint64_t length(struct range r)
{
	return (uint64_t)r.end - (uint64_t)r.begin;
}

/* Sort by process, then merge what overlaps or touches. */
static void merge(struct pieces *list)
{
	if (!list->n)
		return;
	qsort(list->items, list->n, sizeof *list->items, by_process);
	size_t kept = 0;
	for (size_t i = 1; i < list->n; i++) {
		struct piece *last = &list->items[kept];
		const struct piece *p = &list->items[i];
		if (p->process == last->process && p->r.begin <= last->r.end) {
			if (p->r.end > last->r.end)
				last->r.end = p->r.end;
		} else {
			list->items[++kept] = *p;
		}
	}
	list->n = kept + 1;
}

/* Length of the union of sorted pieces [from, to). */
static uint64_t union_length(const struct piece *from, const struct piece *to)
{
	uint64_t sum = 0;
	for (const struct piece *p = from; p < to;) {
		struct range r = p->r;
		for (p++; p < to && p->r.begin <= r.end; p++)
			if (p->r.end > r.end)
				r.end = p->r.end;
		sum += length(r);
	}
	return sum;
}

/* How many pieces belong to a process before this one; they are sorted by process. */
static size_t before_process(const struct pieces *list, uint64_t process)
{
	size_t low = 0, high = list->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list->items[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct piece *of_process(const struct pieces *list, uint32_t process, size_t *ret_n)
{
	size_t from = before_process(list, process);
	*ret_n = before_process(list, (uint64_t)process + 1) - from;
	return *ret_n ? &list->items[from] : NULL;
}

/* ---- windows -----------------------------------------------------------------------------------
 */

static int read_marks(struct work *w)
{
	for (size_t i = 0; i < w->trace->n_marks; i++) {
		const struct trace_mark *m = &w->trace->marks[i];
		if (m->end_ns <= m->begin_ns)
			continue;
		int rc = add(m->exclude ? &w->exclude : &w->roi, m->begin_ns, m->end_ns, m->process,
			     0);
		if (rc)
			return rc;
	}
	merge(&w->roi);
	merge(&w->exclude);
	return 0;
}

/* What is left of one region range when the excludes of its process are taken out. */
static int cut(struct work *w, const struct piece *roi, const struct piece *x, size_t n)
{
	int64_t at = roi->r.begin;
	for (size_t i = 0; i < n && x[i].r.begin < roi->r.end; i++) {
		if (x[i].r.end <= at)
			continue;
		int rc =
			x[i].r.begin > at ? add(&w->windows, at, x[i].r.begin, roi->process, 0) : 0;
		if (rc)
			return rc;
		at = x[i].r.end;
	}
	return at < roi->r.end ? add(&w->windows, at, roi->r.end, roi->process, 0) : 0;
}

static int make_windows(struct work *w)
{
	struct clip *ret = w->ret;
	ret->found = w->roi.n > 0;
	for (size_t i = 0; i < w->roi.n;) {
		uint32_t process = w->roi.items[i].process;
		size_t n_excludes, first_window = w->windows.n;
		const struct piece *excludes = of_process(&w->exclude, process, &n_excludes);
		uint64_t entries = 0, gross = 0, net = 0;
		for (; i < w->roi.n && w->roi.items[i].process == process; i++) {
			entries++;
			gross += length(w->roi.items[i].r);
			int rc = cut(w, &w->roi.items[i], excludes, n_excludes);
			if (rc)
				return rc;
		}
		for (size_t k = first_window; k < w->windows.n; k++)
			net += length(w->windows.items[k].r);
		ret->processes++;
		ret->entries = entries > ret->entries ? entries : ret->entries;
		ret->wall_ns = net > ret->wall_ns ? net : ret->wall_ns;
		ret->excluded_ns = gross - net > ret->excluded_ns ? gross - net : ret->excluded_ns;
	}
	return 0;
}

/* ---- operations --------------------------------------------------------------------------------
 */

static void sums_start(struct clip_sums *s, unsigned observes)
{
	for (unsigned c = 0; c < CATEGORIES; c++) {
		double zero = observes & 1u << c ? 0 : NAN;
		s->time_ns[c] = s->ops[c] = s->bytes[c] = zero;
	}
	/* Only moving and filling has a size. */
	s->bytes[COMPUTE] = s->bytes[OTHER] = NAN;
}

static void count(struct clip_sums *s, const struct trace_op *op, uint64_t ns)
{
	s->time_ns[op->category] += (double)ns;
	s->ops[op->category] += 1;
	/* In this order: a share of 33 / 108 is rounded, and half a byte would be half no more. */
	s->bytes[op->category] += op->bytes * (double)ns / (double)(op->end_ns - op->begin_ns);
	s->op_sum_ns += ns;
}

/* Adds what lies in the windows of the operation's process; answers how long that is. */
static int clip_op(struct work *w, const struct trace_op *op, uint64_t *ret_ns)
{
	size_t n;
	const struct piece *windows = of_process(&w->windows, op->process, &n);
	size_t low = 0, high = n;
	while (low < high) { /* the first window that ends after the operation begins */
		size_t middle = low + (high - low) / 2;
		if (windows[middle].r.end <= op->begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_ns = 0;
	for (; low < n && windows[low].r.begin < op->end_ns; low++) {
		struct range r = windows[low].r;
		if (r.begin < op->begin_ns)
			r.begin = op->begin_ns;
		if (r.end > op->end_ns)
			r.end = op->end_ns;
		*ret_ns += length(r);
		int rc = add(&w->segments, r.begin, r.end, op->process, op->device);
		if (rc)
			return rc;
	}
	return 0;
}

struct row {
	uint32_t name, category;
	uint64_t ns;
};

struct rows {
	struct row *items;
	size_t n;
};

static int read_ops(struct work *w, struct rows *rows, struct err *err)
{
	const struct trace *t = w->trace;
	bool of_whole = t->ops_of_whole && !w->ret->found;
	for (size_t i = 0; i < t->n_ops; i++) {
		const struct trace_op *op = &t->ops[i];
		if (op->category >= CATEGORIES || (t->devices && op->device >= t->n_devices))
			return err_set(err, -EINVAL,
				       "operation %zu of the trace has category %u and device %u",
				       i, op->category, op->device);
		if (op->end_ns <= op->begin_ns) {
			w->ret->untimed_ops++;
			continue;
		}
		uint64_t all = (uint64_t)op->end_ns - (uint64_t)op->begin_ns, inside;
		int rc = clip_op(w, op, &inside);
		if (!rc)
			rc = add(&w->whole, op->begin_ns, op->end_ns, op->process, op->device);
		if (rc)
			return rc;
		count(&w->ret->whole, op, all);
		if (inside)
			count(&w->ret->roi, op, inside);
		uint64_t ns = of_whole ? all : inside;
		if (ns)
			rows->items[rows->n++] = (struct row){ op->name, op->category, ns };
	}
	for (unsigned c = 0; c < CATEGORIES; c++) { /* half to even, once, at the end */
		w->ret->roi.bytes[c] = rint(w->ret->roi.bytes[c]);
		w->ret->whole.bytes[c] = rint(w->ret->whole.bytes[c]);
	}
	return 0;
}

static void busy_by_process(struct pieces *list, uint64_t *ret_busy, size_t *ret_processes)
{
	*ret_busy = 0;
	*ret_processes = 0;
	if (!list->n)
		return;
	qsort(list->items, list->n, sizeof *list->items, by_process);
	for (size_t i = 0, k; i < list->n; i = k) {
		for (k = i; k < list->n && list->items[k].process == list->items[i].process; k++)
			;
		*ret_busy += union_length(&list->items[i], &list->items[k]);
		++*ret_processes;
	}
}

/* ---- devices -----------------------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static size_t distinct_processes(uint32_t *scratch, const struct piece *from,
				 const struct piece *to)
{
	size_t n = 0, distinct = 0;
	for (const struct piece *p = from; p < to; p++)
		scratch[n++] = p->process;
	qsort(scratch, n, sizeof *scratch, by_number);
	for (size_t i = 0; i < n; i++)
		distinct += i == 0 || scratch[i] != scratch[i - 1];
	return distinct;
}

/* A device that the job used only outside the region was idle inside it: it has a line, too. */
static int per_device(struct arena *arena, struct work *w)
{
	struct clip *ret = w->ret;
	size_t n = w->trace->n_devices;
	ret->devices = arena_array(arena, n + 1, sizeof *ret->devices);
	uint32_t *scratch = malloc((w->segments.n + 1) * sizeof *scratch);
	bool *used = calloc(n + 1, sizeof *used);
	int rc = ret->devices && scratch && used ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < w->whole.n; i++)
		used[w->whole.items[i].device] = true;
	if (!rc && w->segments.n)
		qsort(w->segments.items, w->segments.n, sizeof *w->segments.items, by_device);
	const struct piece *p = w->segments.items, *end = p + w->segments.n;
	double share = 0, idle = 0;
	for (uint32_t d = 0; !rc && d < n; d++) {
		const struct piece *from = p;
		while (p < end && p->device == d)
			p++;
		if (!used[d])
			continue;
		uint64_t busy = union_length(from, p);
		ret->devices[ret->n_devices++] =
			(struct clip_device){ .device = d,
					      .busy_ns = busy,
					      .processes = distinct_processes(scratch, from, p),
					      .process_busy_ns = NAN,
					      .window_ns = NAN,
					      .whole_ns = NAN,
					      .whole_sum_ns = NAN };
		share += (double)busy / (double)ret->window_ns;
		idle += (double)(ret->window_ns - busy);
	}
	if (!rc && ret->n_devices && ret->window_ns) {
		ret->busy_frac_mean = share / (double)ret->n_devices;
		ret->idle_ns = idle;
	}
	free(scratch);
	free(used);
	return rc;
}

static int unions(struct arena *arena, struct work *w)
{
	struct clip *ret = w->ret;
	busy_by_process(&w->whole, &ret->whole.busy_ns, &ret->whole.processes);
	busy_by_process(&w->segments, &ret->roi.busy_ns, &ret->processes_with_device_work);
	ret->roi.processes = ret->processes;
	if (w->windows.n)
		qsort(w->windows.items, w->windows.n, sizeof *w->windows.items, by_begin);
	ret->window_ns = union_length(w->windows.items, w->windows.items + w->windows.n);
	if (w->segments.n)
		qsort(w->segments.items, w->segments.n, sizeof *w->segments.items, by_begin);
	ret->job_busy_ns = union_length(w->segments.items, w->segments.items + w->segments.n);
	return w->trace->devices && ret->found ? per_device(arena, w) : 0;
}

/* ---- the table of operations
 * ---------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->category < y->category ? -1 : x->category > y->category;
}

static int by_total(const void *a, const void *b)
{
	const struct clip_op *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	int names = strcmp(x->name, y->name);
	return names ? names : (int)x->category - (int)y->category;
}

static int table(struct arena *arena, struct work *w, struct rows *rows)
{
	struct clip *ret = w->ret;
	size_t distinct = 0;
	uint64_t total = 0;
	if (rows->n)
		qsort(rows->items, rows->n, sizeof *rows->items, by_name);
	for (size_t i = 0; i < rows->n; i++)
		distinct += i == 0 || by_name(&rows->items[i - 1], &rows->items[i]) != 0;
	ret->ops = arena_array(arena, distinct + 1, sizeof *ret->ops);
	if (!ret->ops)
		return -ENOMEM;
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->items[i];
		if (i == 0 || by_name(row - 1, row) != 0)
			ret->ops[ret->n_ops++] = (struct clip_op){
				.name = w->trace->names[row->name],
				.category = (enum category)row->category,
				.min_ns = row->ns,
			};
		struct clip_op *op = &ret->ops[ret->n_ops - 1];
		op->count++;
		op->total_ns += row->ns;
		op->min_ns = row->ns < op->min_ns ? row->ns : op->min_ns;
		op->max_ns = row->ns > op->max_ns ? row->ns : op->max_ns;
		total += row->ns;
	}
	for (size_t i = 0; i < ret->n_ops; i++)
		ret->ops[i].share = (double)ret->ops[i].total_ns / (double)total;
	if (ret->n_ops)
		qsort(ret->ops, ret->n_ops, sizeof *ret->ops, by_total);
	return 0;
}

/* ---- runtime calls
 * -------------------------------------------------------------------------------- */

static void add_call(struct clip_calls *sum, const struct trace_call *call)
{
	uint64_t ns = call->end_ns > call->begin_ns
			      ? (uint64_t)call->end_ns - (uint64_t)call->begin_ns
			      : 0;
	sum->calls++;
	sum->time_ns += ns;
	if (call->sync) {
		sum->sync_calls++;
		sum->sync_ns += ns;
	}
}

/* Counted, never cut: one that crosses the border of a window is not in the region at all. */
static void read_calls(struct work *w)
{
	w->ret->has_calls = w->trace->calls != NULL;
	for (size_t i = 0; i < w->trace->n_calls; i++) {
		const struct trace_call *call = &w->trace->calls[i];
		size_t n;
		const struct piece *windows = of_process(&w->windows, call->process, &n);
		add_call(&w->ret->calls_whole, call);
		size_t low = 0, high = n;
		while (low < high) { /* the first window that does not end before the call does */
			size_t middle = low + (high - low) / 2;
			if (windows[middle].r.end < call->end_ns)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < n && windows[low].r.begin <= call->begin_ns &&
		    call->begin_ns <= call->end_ns)
			add_call(&w->ret->calls_roi, call);
	}
}

int clip_trace(struct arena *arena, const struct trace *trace, struct clip *ret, struct err *err)
{
	clip_clear(ret);
	ret->observed = trace->observes != 0;
	struct work w = { .trace = trace, .ret = ret };
	struct rows rows = { .items = malloc((trace->n_ops + 1) * sizeof *rows.items) };
	sums_start(&ret->roi, trace->observes);
	sums_start(&ret->whole, trace->observes);
	int rc = rows.items ? read_marks(&w) : -ENOMEM;
	if (!rc)
		rc = make_windows(&w);
	if (!rc)
		rc = read_ops(&w, &rows, err);
	if (!rc)
		read_calls(&w); /* needs the windows by process, unions() turns them round */
	if (!rc)
		rc = table(arena, &w, &rows);
	if (!rc)
		rc = unions(arena, &w);
	free(rows.items);
	free(w.roi.items);
	free(w.exclude.items);
	free(w.windows.items);
	free(w.segments.items);
	free(w.whole.items);
	return rc == -ENOMEM ? err_set(err, rc,
				       "out of memory while a trace of %zu operations is clipped",
				       trace->n_ops)
			     : rc;
}
