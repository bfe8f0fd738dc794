/* Unions over processes: of the ranges that the pictures keep, many lists at once, each in order.
 * What only one process did is taken from its own sums, which are exact always. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture_impl.h"
#include "lib/num.h"

/* ---- many lists in order -------------------------------------------------------------------- */

struct list {
	const struct nums *ranges;
	int64_t base;
	size_t at;
	int64_t begin; /* of the next range */
};

struct lists {
	struct list *heap; /* the one whose next range begins first is heap[0] */
	size_t n;
};

static int64_t time_at(const struct list *l, size_t i)
{
	return l->base + (int64_t)l->ranges->items[i];
}

static void sift(struct lists *h, size_t i)
{
	for (;;) {
		size_t least = i, left = 2 * i + 1;
		for (size_t k = left; k < left + 2 && k < h->n; k++)
			if (h->heap[k].begin < h->heap[least].begin)
				least = k;
		if (least == i)
			return;
		struct list swap = h->heap[i];
		h->heap[i] = h->heap[least];
		h->heap[least] = swap;
		i = least;
	}
}

static void lists_add(struct lists *h, const struct nums *ranges, int64_t base)
{
	struct list l = { .ranges = ranges, .base = base };
	if (ranges->n < 2)
		return;
	l.begin = time_at(&l, 0);
	h->heap[h->n++] = l;
}

/* Takes all that is in the lists. */
static uint64_t union_of(struct lists *h)
{
	uint64_t sum = 0;
	int64_t until = INT64_MIN;
	for (size_t i = h->n / 2; i-- > 0;)
		sift(h, i);
	while (h->n) {
		struct list *l = &h->heap[0];
		int64_t end = time_at(l, l->at + 1), begin = l->begin > until ? l->begin : until;
		if (end > begin) {
			sum += (uint64_t)end - (uint64_t)begin;
			until = end;
		}
		l->at += 2;
		if (l->at + 1 < l->ranges->n)
			l->begin = time_at(l, l->at);
		else
			*l = h->heap[--h->n];
		sift(h, 0);
	}
	return sum;
}

/* ---- devices -------------------------------------------------------------------------------- */

struct use {
	const struct member *m;
	const struct picture_device *d;
	const char *id;
};

static int by_device(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	if (x->m->node != y->m->node)
		return x->m->node < y->m->node ? -1 : 1;
	int ids = strcmp(x->id, y->id);
	if (ids)
		return ids;
	if (x->m != y->m)
		return x->m < y->m ? -1 : 1;
	return (x->d > y->d) - (x->d < y->d);
}

static bool same_device(const struct use *x, const struct use *y)
{
	return x->m->node == y->m->node && strcmp(x->id, y->id) == 0;
}

static uint64_t ns_of(double x)
{
	return x > 0 ? (uint64_t)x : 0;
}

/* The union of what several processes did on one device. It is at most their sum; where ranges are
 * missing that must do. Answers by how much it may be too large. */
static uint64_t shared_busy(struct lists *h, const struct use *uses, size_t n, uint64_t *ret)
{
	uint64_t sum = 0, closed = 0, largest = 0;
	bool ranges = true;
	h->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct picture_device *d = uses[i].d;
		uint64_t busy = ns_of(d->busy_ns);
		sum += busy;
		largest = busy > largest ? busy : largest;
		closed += ns_of(d->closed_ns);
		ranges &= d->busy.items || !busy;
		lists_add(h, &d->busy, uses[i].m->base);
	}
	uint64_t of_ranges = union_of(h);
	*ret = ranges && of_ranges < sum ? of_ranges : sum;
	uint64_t error = sum - largest;
	return ranges && closed < error ? closed : error;
}

static void put_device(struct clip *ret, struct lists *h, const struct use *uses, size_t n)
{
	struct clip_device *to = &ret->devices[ret->n_devices];
	const struct use *only = NULL;
	size_t busy = 0;
	*to = (struct clip_device){ .device = (uint32_t)ret->n_devices,
				    .name = uses[0].d->name ? uses[0].d->name : uses[0].id,
				    .host = uses[0].m->p->host,
				    .id = uses[0].d->id,
				    .window_ns = NAN,
				    .process_busy_ns = 0,
				    .whole_sum_ns = 0 };
	for (size_t i = 0; i < n; i++) {
		const struct picture_device *d = uses[i].d;
		to->whole_processes += d->whole_busy_ns > 0;
		to->whole_sum_ns += (double)ns_of(d->whole_busy_ns);
		to->process_busy_ns += (double)ns_of(d->busy_ns);
		to->processes += d->busy_ns > 0;
		if (d->busy_ns > 0) {
			busy++;
			only = &uses[i];
		}
	}
	to->whole_ns = to->whole_processes <= 1 ? to->whole_sum_ns : NAN;
	uint64_t error = 0;
	if (busy == 1)
		to->busy_ns = ns_of(only->d->busy_ns);
	else if (busy > 1)
		error = shared_busy(h, uses, n, &to->busy_ns);
	ret->closed_ns = error > ret->closed_ns ? error : ret->closed_ns;
	ret->n_devices++;
}

/* By host and name, numbers in it by their size. */
static int by_place(const void *a, const void *b)
{
	const struct clip_device *x = a, *y = b;
	int order = strcmp(x->host ? x->host : "", y->host ? y->host : "");
	if (!order)
		order = strverscmp(x->name, y->name);
	return order ? order : strcmp(x->id ? x->id : "", y->id ? y->id : "");
}

/* The mean is over those that the job used at all. */
static void put_shares(struct clip *ret)
{
	double share = 0, idle = 0, used = 0;
	for (size_t i = 0; i < ret->n_devices; i++) {
		const struct clip_device *d = &ret->devices[i];
		if (!d->whole_processes)
			continue;
		used++;
		share += (double)d->busy_ns / d->window_ns;
		idle += d->window_ns - (double)d->busy_ns;
	}
	if (used > 0 && isfinite(share)) {
		ret->busy_frac_mean = share / used;
		ret->idle_ns = idle;
	}
}

/* ---- windows and job ------------------------------------------------------------------------ */

static uint64_t largest_num(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Windows of one node: exact for one process. */
static uint64_t node_window(struct merge *m, struct lists *h, const struct member *of, size_t n)
{
	uint64_t sum = 0, closed = 0, largest = 0;
	size_t entered = 0;
	h->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct picture *p = of[i].p;
		if (p->found != YES)
			continue;
		entered++;
		sum += ns_of(p->wall_ns);
		largest = largest_num(largest, ns_of(p->wall_ns));
		closed += ns_of(p->windows_closed_ns);
		lists_add(h, &p->windows, of[i].base);
	}
	if (entered <= 1)
		return sum;
	uint64_t ns = union_of(h), error = sum - largest;
	error = closed < error ? closed : error;
	m->ret->closed_ns = largest_num(m->ret->closed_ns, error);
	return ns < sum ? ns : sum;
}

/* Any device of the node busy, for any of its processes. */
static uint64_t node_busy(struct merge *m, struct lists *h, const struct member *of, size_t n)
{
	uint64_t sum = 0, closed = 0, largest = 0;
	size_t busy = 0;
	bool ranges = true;
	h->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct picture *p = of[i].p;
		if (p->found != YES || !(p->roi.busy_ns > 0))
			continue;
		busy++;
		sum += ns_of(p->roi.busy_ns);
		largest = largest_num(largest, ns_of(p->roi.busy_ns));
		for (size_t k = 0; k < p->devices.n; k++) {
			const struct picture_device *d = &p->devices.items[k];
			closed += ns_of(d->closed_ns);
			ranges &= d->busy.items || !(d->busy_ns > 0);
			lists_add(h, &d->busy, of[i].base);
		}
	}
	if (busy <= 1)
		return sum;
	uint64_t ns = union_of(h), error = sum - largest;
	if (ranges)
		error = closed < error ? closed : error;
	m->ret->closed_ns = largest_num(m->ret->closed_ns, error);
	return ranges && ns < sum ? ns : sum;
}

static void put_nodes(struct merge *m, struct lists *h, double *windows)
{
	for (size_t i = 0, k; i < m->n; i = k) {
		for (k = i + 1; k < m->n && m->members[k].node == m->members[i].node; k++)
			;
		uint64_t window = node_window(m, h, &m->members[i], k - i);
		windows[m->members[i].node] = (double)window;
		m->ret->window_ns += window;
		m->ret->job_busy_ns += node_busy(m, h, &m->members[i], k - i);
	}
}

/* ---- all --------------------------------------------------------------------------------------
 */

static void put_devices(struct merge *m, struct lists *h, const double *windows, struct use *uses,
			size_t n)
{
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && same_device(&uses[i], &uses[k]); k++)
			;
		put_device(m->ret, h, &uses[i], k - i);
		m->ret->devices[m->ret->n_devices - 1].window_ns =
			m->ret->found ? windows[uses[i].m->node] : NAN;
	}
	if (m->ret->n_devices)
		qsort(m->ret->devices, m->ret->n_devices, sizeof *m->ret->devices, by_place);
	for (size_t i = 0; i < m->ret->n_devices; i++)
		m->ret->devices[i].device = (uint32_t)i;
	if (m->ret->found)
		put_shares(m->ret);
}

static size_t take_uses(const struct merge *m, struct use *uses)
{
	size_t n = 0;
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->members[i].p->devices.n; k++) {
			const struct picture_device *d = &m->members[i].p->devices.items[k];
			const char *id = d->id ? d->id : d->name;
			uses[n++] = (struct use){ &m->members[i], d, id ? id : "" };
		}
	if (n)
		qsort(uses, n, sizeof *uses, by_device);
	return n;
}

int merge_unions(struct merge *m, struct arena *a)
{
	size_t room = 0;
	for (size_t i = 0; i < m->n; i++)
		room += m->members[i].p->devices.n + 1; /* its windows are a list, too */
	struct lists h = { .heap = malloc((room + 1) * sizeof *h.heap) };
	struct use *uses = malloc((room + 1) * sizeof *uses);
	double *windows = calloc(m->nodes + 1, sizeof *windows);
	m->ret->devices = arena_array(a, room + 1, sizeof *m->ret->devices);
	int rc = h.heap && uses && windows && m->ret->devices ? 0 : -ENOMEM;
	if (!rc) {
		put_nodes(m, &h, windows);
		put_devices(m, &h, windows, uses, take_uses(m, uses));
	}
	free(h.heap);
	free(uses);
	free(windows);
	return rc;
}
