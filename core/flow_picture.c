/* A flow's picture: what waits is folded into a copy of all that folding changes; names are counted
 * from 0 there and added. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow_impl.h"
#include "lib/num.h"
#include "schema/codec.h"

#define TOO_LARGE 1000000000000000 /* schema/picture.h: numbers are below 10^15 */
#define SECOND 1000000000

static void copy_done(struct flow *c)
{
	for (size_t i = 0; c->stats && i < c->names.n * CATEGORIES; i++)
		free(c->stats[i]);
	free(c->stats);
	for (size_t i = 0; c->devices && i < c->n_devices; i++)
		free(c->devices[i].busy.items);
	free(c->devices);
	gap_done(&c->gap);
}

/* The windows, the names and the ring stay the flow's: folding does not change them. */
static int copy_make(struct flow *c, const struct flow *f)
{
	*c = *f;
	c->original = f;
	c->stats = calloc(f->names.n * CATEGORIES, sizeof *c->stats);
	c->devices = calloc(f->n_devices + 1, sizeof *c->devices);
	int rc = gap_copy(&c->gap, &f->gap);
	if (!rc && (!c->stats || !c->devices))
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < f->n_devices; i++) {
		c->devices[i] = f->devices[i];
		rc = ranges_copy(&c->devices[i].busy, &f->devices[i].busy);
	}
	return rc;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void *room(struct arena *a, size_t n, size_t bytes, int *rc)
{
	void *items = arena_array(a, n + 1, bytes);
	if (!items)
		*rc = -ENOMEM;
	return items;
}

static struct nums ranges_nums(struct arena *a, const struct range *items, size_t n, int64_t base,
			       int *rc)
{
	struct nums ret = { room(a, 2 * n, sizeof *ret.items, rc), 0 };
	for (size_t i = 0; ret.items && i < n; i++) {
		uint64_t end = range_ns(base, items[i].end);
		if (end >= TOO_LARGE) {
			*rc = -ERANGE;
			break;
		}
		ret.items[ret.n++] = (double)range_ns(base, items[i].begin);
		ret.items[ret.n++] = (double)end;
	}
	return ret;
}

static double sum_num(uint64_t x, int *rc)
{
	if (x >= TOO_LARGE)
		*rc = -ERANGE;
	return (double)x;
}

static struct nums category_nums(struct arena *a, const struct flow *f, const uint64_t *from,
				 int *rc)
{
	struct nums ret = { room(a, CATEGORIES, sizeof *ret.items, rc), CATEGORIES };
	for (unsigned c = 0; ret.items && c < CATEGORIES; c++)
		ret.items[c] = f->options.observes & 1u << c ? sum_num(from[c], rc) : NAN;
	return ret;
}

static void put_sums(struct arena *a, const struct flow *f, const struct flow_sums *s,
		     struct picture_sums *ret, int *rc)
{
	if (f->options.calls) {
		ret->calls = sum_num(s->calls, rc);
		ret->calls_ns = sum_num(s->calls_ns, rc);
		ret->sync_calls = sum_num(s->sync_calls, rc);
		ret->sync_ns = sum_num(s->sync_ns, rc);
	}
	if (!f->options.observes)
		return;
	uint64_t device_busy = 0;
	for (size_t i = 0; i < f->n_devices; i++)
		device_busy += s == &f->roi ? f->devices[i].busy_ns : f->devices[i].whole_busy_ns;
	ret->time_ns = category_nums(a, f, s->time_ns, rc);
	ret->ops = category_nums(a, f, s->ops, rc);
	ret->union_ns = category_nums(a, f, s->union_ns, rc);
	ret->bytes = category_nums(a, f, s->ops, rc);
	for (unsigned c = 0; ret->bytes.items && c < CATEGORIES; c++)
		if (!isnan(ret->bytes.items[c]))
			ret->bytes.items[c] = c == COMPUTE || c == OTHER ? NAN : s->bytes[c];
	ret->op_sum_ns = sum_num(s->op_sum_ns, rc);
	ret->busy_ns = sum_num(s->busy_ns, rc);
	ret->device_busy_ns = sum_num(device_busy, rc);
	ret->untimed = sum_num(s->untimed, rc);
}

/* ---- operations ----------------------------------------------------------------------------- */

static struct flow_scope add_scopes(const struct flow_scope *a, const struct flow_scope *b)
{
	struct flow_scope sum = a ? *a : (struct flow_scope){ 0 };
	if (!b || !b->count)
		return sum;
	if (!sum.count)
		return *b;
	sum.count += b->count;
	sum.total_ns += b->total_ns;
	sum.min_ns = b->min_ns < sum.min_ns ? b->min_ns : sum.min_ns;
	sum.max_ns = b->max_ns > sum.max_ns ? b->max_ns : sum.max_ns;
	for (unsigned i = 0; i < ROI_BINS; i++)
		sum.bins[i] += b->bins[i];
	return sum;
}

static struct nums bins_nums(struct arena *a, const struct flow_scope *s, int *rc)
{
	size_t used = 0;
	for (unsigned i = 0; i < ROI_BINS; i++)
		used += s->bins[i] > 0;
	struct nums ret = { room(a, 2 * used, sizeof *ret.items, rc), 0 };
	for (unsigned i = 0; ret.items && i < ROI_BINS; i++) {
		if (!s->bins[i])
			continue;
		ret.items[ret.n++] = i;
		ret.items[ret.n++] = (double)s->bins[i];
	}
	return ret;
}

static int by_total(const void *a, const void *b)
{
	const struct picture_op *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	int names = strcmp(x->name, y->name);
	return names ? names : (x->category > y->category) - (x->category < y->category);
}

struct op_list {
	struct picture_op *items;
	size_t n;
};

/* roi: of the region, else of the whole process. */
static struct op_list op_list(struct arena *a, const struct flow *c, bool roi, int *rc)
{
	size_t all = c->names.n * CATEGORIES, used = 0;
	for (size_t i = 0; i < all; i++)
		used += c->stats[i] || c->original->stats[i];
	struct op_list ret = { room(a, used, sizeof *ret.items, rc), 0 };
	for (size_t i = 0; ret.items && i < all; i++) {
		const struct flow_stat *x = c->original->stats[i], *y = c->stats[i];
		struct flow_scope sum =
			roi ? add_scopes(x ? &x->roi : NULL, y ? &y->roi : NULL)
			    : add_scopes(x ? &x->whole : NULL, y ? &y->whole : NULL);
		if (!sum.count)
			continue;
		const struct flow_text *name = &c->names.items[i / CATEGORIES];
		ret.items[ret.n] = (struct picture_op){
			.name = arena_strndup(a, name->text, name->n),
			.category = (double)(i % CATEGORIES),
			.count = sum_num(sum.count, rc),
			.total_ns = sum_num(sum.total_ns, rc),
			.min_ns = (double)sum.min_ns,
			.max_ns = (double)sum.max_ns,
			.bins = bins_nums(a, &sum, rc),
		};
		if (!ret.items[ret.n++].name)
			*rc = -ENOMEM;
	}
	if (ret.n)
		qsort(ret.items, ret.n, sizeof *ret.items, by_total);
	return ret;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void put_devices(struct arena *a, const struct flow *c, int64_t base, struct picture *ret,
			int *rc)
{
	if (!c->options.observes)
		return;
	ret->devices.items = room(a, c->n_devices, sizeof *ret->devices.items, rc);
	for (size_t i = 0; ret->devices.items && i < c->n_devices; i++) {
		const struct flow_device *d = &c->devices[i];
		struct picture_device *to = &ret->devices.items[ret->devices.n++];
		block_clear(&picture_device_block, to);
		to->name = arena_strdup(a, d->name);
		to->id = arena_strdup(a, d->id);
		if (!to->name || !to->id)
			*rc = -ENOMEM;
		to->whole_busy_ns = sum_num(d->whole_busy_ns, rc);
		if (ret->found != YES)
			continue;
		to->busy_ns = sum_num(d->busy_ns, rc);
		if (!c->options.keep_busy)
			continue;
		to->busy = ranges_nums(a, d->busy.items, d->busy.n, base, rc);
		to->closed_ns = (double)d->busy.closed_ns;
	}
}

/* Parts that nobody observes are null. So are on and off the CPU where a part of the gap lies
 * before the first or behind the last stretch of a thread that was told. */
static void put_gap(const struct flow *c, struct picture *ret)
{
	const struct flow_gap *g = &c->gap;
	uint64_t unknown = g->unknown_ns + g->waiting_ns, total = unknown;
	if (!c->options.observes)
		return;
	for (int i = LANE_SYNC; i < LANES; i++)
		total += g->ns[i];
	if (!g->cap)
		total = (uint64_t)ret->wall_ns > c->roi.busy_ns
				? (uint64_t)ret->wall_ns - c->roi.busy_ns
				: 0;
	ret->gap.total_ns = (double)total;
	if (c->options.calls) {
		ret->gap.sync_ns = (double)g->ns[LANE_SYNC];
		ret->gap.api_ns = (double)g->ns[LANE_API];
	}
	if (g->told & 1u << FLOW_IO)
		ret->gap.io_ns = (double)g->ns[LANE_IO];
	if (g->told & 1u << FLOW_MPI)
		ret->gap.mpi_ns = (double)g->ns[LANE_MPI];
	if (c->options.threads && unknown == 0) {
		ret->gap.cpu_ns = (double)g->ns[LANE_ON];
		ret->gap.off_cpu_ns = (double)g->ns[LANE_OFF];
	}
}

/* The region, its windows; an open one ends with the last thing that was told. */
static int put_region(struct arena *a, struct flow *c, int64_t now, struct picture *ret,
		      struct ranges *list, int64_t *base)
{
	const struct windows *w = &c->windows;
	uint64_t entries = w->entries, gross = w->gross_ns, net = 0;
	int rc = ranges_copy(list, &w->list);
	if (rc)
		return rc;
	for (size_t i = 0; i < w->roi.n; i++)
		gross += range_ns(w->roi.items[i].begin, w->roi.items[i].end);
	entries += w->roi.n;
	if (w->regions && now > w->since) {
		bool goes_on = w->roi.n && w->roi.items[w->roi.n - 1].end >= w->since;
		entries += !goes_on;
		gross += range_ns(w->since, now);
	}
	if (list->n && list->items[list->n - 1].end == INT64_MAX && w->regions) {
		list->items[list->n - 1].end = now;
		list->n -= list->items[list->n - 1].begin >= now;
	}
	for (size_t i = 0; i < list->n; i++)
		net += range_ns(list->items[i].begin, list->items[i].end);
	net -= list->closed_ns;
	ret->found = entries > 0 ? YES : NO;
	if (!entries)
		return 0;
	ranges_reduce(list, list->n, c->options.max_ranges);
	*base = list->n ? list->items[0].begin : 0;
	for (size_t i = 0; i < c->n_devices; i++)
		if (c->devices[i].busy.n)
			*base = earlier(*base, c->devices[i].busy.items[0].begin);
	ret->entries = (double)entries;
	ret->gross_ns = sum_num(gross, &rc);
	ret->wall_ns = sum_num(net, &rc);
	ret->windows = ranges_nums(a, list->items, list->n, *base, &rc);
	ret->windows_closed_ns = (double)list->closed_ns;
	return rc;
}

static int put_all(struct arena *a, struct flow *c, int64_t now, struct picture *ret,
		   struct ranges *list)
{
	int64_t base = 0;
	int rc = put_region(a, c, now, ret, list, &base);
	if (rc)
		return rc;
	int64_t base_s = base / SECOND - (base % SECOND < 0);
	ret->base_s = (double)base_s;
	ret->base_ns = (double)(base % SECOND + (base % SECOND < 0 ? SECOND : 0));
	put_sums(a, c, &c->whole, &ret->whole, &rc);
	if (ret->found == YES)
		put_sums(a, c, &c->roi, &ret->roi, &rc);
	put_devices(a, c, base, ret, &rc);
	if (c->options.observes) {
		struct op_list ops = op_list(a, c, false, &rc);
		ret->whole_ops.items = ops.items;
		ret->whole_ops.n = ops.n;
	}
	if (c->options.observes && ret->found == YES) {
		struct op_list ops = op_list(a, c, true, &rc);
		ret->ops.items = ops.items;
		ret->ops.n = ops.n;
		put_gap(c, ret);
	}
	ret->observes.items = room(a, CATEGORIES, sizeof *ret->observes.items, &rc);
	for (unsigned i = 0; ret->observes.items && i < CATEGORIES; i++)
		if (c->options.observes & 1u << i)
			ret->observes.items[ret->observes.n++] = category_name((enum category)i);
	ret->names_folded = sum_num(c->names_folded, &rc);
	ret->dropped = c->dropped;
	ret->late = sum_num(c->late, &rc);
	ret->late_marks = sum_num(c->windows.late_marks, &rc);
	ret->graphs = sum_num(c->graphs, &rc);
	ret->late_calls = sum_num(c->gap.late_calls, &rc);
	return c->no_memory ? -ENOMEM : rc;
}

int flow_picture(struct flow *f, struct arena *a, struct picture *ret, struct err *err)
{
	struct flow c;
	struct ranges list = { 0 };
	int rc = windows_ready(f);
	picture_clear(ret);
	if (rc)
		return err_set(err, rc, "out of memory");
	windows_sort(f);
	rc = copy_make(&c, f);
	for (size_t i = f->head; !rc && i != f->tail; i++)
		flow_fold(&c, &f->ring[i & f->mask]);
	int64_t now = later(later(c.until, c.seen), c.windows.last_mark);
	if (!rc && c.gap.cap)
		gap_sweep(&c, c.windows.regions ? now : INT64_MAX);
	if (!rc)
		rc = put_all(a, &c, now, ret, &list);
	copy_done(&c);
	free(list.items);
	if (rc == -ERANGE)
		return err_set(err, rc,
			       "times or sums of device operations reach over 11 days, "
			       "which no picture holds");
	return rc ? err_set(err, rc, "out of memory while a picture is made") : 0;
}
