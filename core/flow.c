/* The ring, and what an operation adds when it leaves it. */
#include "core/flow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow_impl.h"

#define SLOTS 16384
#define NAMES 4096
#define RANGES 65536
#define LEAST_RANGES 16
#define TOO_LONG 1000000000000000 /* 11 days: no operation, but a time that is missing */

static size_t power_of_two(size_t n)
{
	size_t power = 16;
	while (power < n && power < SIZE_MAX / 2)
		power *= 2;
	return power;
}

static int init(struct flow *f)
{
	const struct flow_options *o = &f->options;
	size_t slots = power_of_two(o->slots);
	f->mask = slots - 1;
	f->ring = malloc(slots * sizeof *f->ring);
	int rc = f->ring ? 0 : -ENOMEM;
	if (!rc)
		rc = windows_init(&f->windows, o->max_ranges);
	if (!rc)
		rc = names_init(&f->names, o->max_names);
	if (!rc && !(f->stats = calloc(f->names.cap * CATEGORIES, sizeof(void *))))
		rc = -ENOMEM;
	for (int c = 0; !rc && c < CATEGORIES; c++)
		if (!(f->stats[c] = calloc(1, sizeof **f->stats)))
			rc = -ENOMEM;
	if (!rc && (o->calls || o->threads))
		rc = gap_init(&f->gap, slots);
	return rc;
}

int flow_new(struct flow **ret, const struct flow_options *o, struct err *err)
{
	struct flow *f = calloc(1, sizeof *f);
	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->options = *o;
	f->options.slots = o->slots ? o->slots : SLOTS;
	f->options.max_names = o->max_names ? o->max_names : NAMES;
	f->options.max_ranges = o->max_ranges ? o->max_ranges : RANGES;
	if (f->options.max_ranges < LEAST_RANGES)
		f->options.max_ranges = LEAST_RANGES;
	f->folded = f->until = f->seen = INT64_MIN;
	f->dropped = NAN;
	int rc = o->observes >> CATEGORIES ? -EINVAL : init(f);
	if (rc) {
		flow_free(f);
		return err_set(err, rc, "%s",
			       rc == -EINVAL ? "a flow is asked for a category that does not exist"
					     : "out of memory");
	}
	*ret = f;
	return 0;
}

void flow_free(struct flow *f)
{
	if (!f)
		return;
	for (size_t i = 0; f->stats && i < f->names.n * CATEGORIES; i++)
		free(f->stats[i]);
	free(f->stats);
	for (size_t i = 0; i < f->n_devices; i++)
		free(f->devices[i].busy.items);
	free(f->devices);
	gap_done(&f->gap);
	names_done(&f->names);
	windows_done(&f->windows);
	free(f->ring);
	free(f);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Only moving and filling has a size. */
static bool has_size(unsigned category)
{
	return category != COMPUTE && category != OTHER;
}

static void count(struct flow_sums *s, const struct flow_entry *e, uint64_t ns, uint64_t of_ns)
{
	s->time_ns[e->kind] += ns;
	s->ops[e->kind]++;
	s->op_sum_ns += ns;
	if (!has_size(e->kind))
		return;
	/* In this order: a share of 33 / 108 is rounded, and half a byte would be half no more. */
	s->bytes[e->kind] += ns == of_ns ? e->bytes : e->bytes * (double)ns / (double)of_ns;
}

static void count_scope(struct flow_scope *s, uint64_t ns, unsigned bin)
{
	if (s->count++ == 0)
		s->min_ns = ns;
	s->total_ns += ns;
	s->min_ns = ns < s->min_ns ? ns : s->min_ns;
	s->max_ns = ns > s->max_ns ? ns : s->max_ns;
	s->bins[bin]++;
}

/* The first operation of this name and category. */
static struct flow_stat *new_stat(struct flow *f, const struct flow_entry *e)
{
	size_t at = (size_t)e->name * CATEGORIES + e->kind;
	bool is_known = f->original && f->original->stats[at];
	bool room = is_known || f->n_stats < f->options.max_names;
	struct flow_stat *s = room ? calloc(1, sizeof *s) : NULL;
	if (s) {
		f->n_stats += !is_known;
		f->stats[at] = s;
		return s;
	}
	f->no_memory |= room && f->original;
	f->names_folded++;
	if (!f->stats[e->kind])
		f->stats[e->kind] = calloc(1, sizeof *s);
	return f->stats[e->kind];
}

static void count_name(struct flow *f, const struct flow_entry *e, uint64_t ns, uint64_t inside)
{
	struct flow_stat *s = f->stats[(size_t)e->name * CATEGORIES + e->kind];
	if (__builtin_expect(!s, 0))
		s = new_stat(f, e);
	f->names_folded += e->name == 0;
	if (!s) {
		f->no_memory = true;
		return;
	}
	unsigned bin = roi_bin(ns);
	count_scope(&s->whole, ns, bin);
	if (inside)
		count_scope(&s->roi, inside, inside == ns ? bin : roi_bin(inside));
}

/* ---- unions --------------------------------------------------------------------------------- */

/* Operations come in order of their begin: what is new of one is what reaches over the largest end
 * so far, if anything does. */
struct share {
	const struct ranges *windows;
	size_t at;
	uint64_t inside;
	bool all; /* all of the operation is inside */
};

static uint64_t inside_of(const struct share *s, int64_t begin, int64_t end, struct ranges *pieces)
{
	if (s->all) {
		if (pieces)
			ranges_add(pieces, begin, end);
		return range_ns(begin, end);
	}
	return s->inside ? windows_clip(s->windows, s->at, begin, end, pieces) : 0;
}

static void unite(struct flow *f, const struct flow_entry *e, const struct share *s)
{
	struct flow_device *d = &f->devices[e->device];
	if (e->end > d->category_until[e->kind]) {
		int64_t begin = later(e->begin, d->category_until[e->kind]);
		d->category_until[e->kind] = e->end;
		f->whole.union_ns[e->kind] += range_ns(begin, e->end);
		f->roi.union_ns[e->kind] += inside_of(s, begin, e->end, NULL);
	}
	if (e->end > d->until) {
		int64_t begin = later(e->begin, d->until);
		d->until = e->end;
		d->whole_busy_ns += range_ns(begin, e->end);
		d->busy_ns += inside_of(s, begin, e->end, f->options.keep_busy ? &d->busy : NULL);
	}
	if (e->end > f->until) {
		int64_t begin = later(e->begin, f->until);
		f->until = e->end;
		f->whole.busy_ns += range_ns(begin, e->end);
		f->roi.busy_ns += inside_of(s, begin, e->end, NULL);
		if (f->gap.cap)
			gap_add(f, LANE_BUSY, begin, e->end);
	}
}

/* ---- folding -------------------------------------------------------------------------------- */

static void fold_call(struct flow *f, const struct flow_entry *e, size_t at, bool late)
{
	uint64_t ns = e->end > e->begin ? range_ns(e->begin, e->end) : 0;
	struct flow_sums *const scopes[] = {
		&f->whole, windows_hold(&f->windows.list, at, e->begin, e->end) ? &f->roi : NULL
	};
	f->seen = later(f->seen, e->end);
	for (size_t i = 0; i < 2 && scopes[i]; i++) {
		scopes[i]->calls++;
		scopes[i]->calls_ns += ns;
		scopes[i]->sync_calls += e->kind == KIND_SYNC;
		scopes[i]->sync_ns += e->kind == KIND_SYNC ? ns : 0;
	}
	if (ns && f->gap.cap)
		(late ? gap_add_late : gap_add)(f, e->kind == KIND_SYNC ? LANE_SYNC : LANE_API,
						e->begin, e->end);
}

static void fold_untimed(struct flow *f, const struct flow_entry *e, size_t at)
{
	const struct ranges *w = &f->windows.list;
	f->whole.untimed++;
	f->roi.untimed += at < w->n && w->items[at].begin <= e->begin;
}

static void fold_op(struct flow *f, const struct flow_entry *e, size_t at, bool late)
{
	const struct ranges *w = &f->windows.list;
	uint64_t ns = range_ns(e->begin, e->end);
	struct share s = { .windows = w, .at = at };
	if (at < w->n && e->end > w->items[at].begin) {
		s.all = e->begin >= w->items[at].begin && e->end <= w->items[at].end;
		s.inside = s.all ? ns : windows_clip(w, at, e->begin, e->end, NULL);
	}
	count(&f->whole, e, ns, ns);
	if (s.inside)
		count(&f->roi, e, s.inside, ns);
	count_name(f, e, ns, s.inside);
	if (!late) {
		unite(f, e, &s);
		return;
	}
	f->late++;
	f->seen = later(f->seen, e->end);
}

void flow_fold(struct flow *f, const struct flow_entry *e)
{
	struct windows *w = &f->windows;
	bool late = e->begin < f->folded;
	size_t at;
	if (windows_ready(f))
		f->no_memory = true;
	if (late) {
		at = windows_find(&w->list, e->begin);
	} else {
		f->folded = e->begin;
		at = w->op_at = windows_from(&w->list, w->op_at, e->begin);
	}
	if (e->kind >= KIND_ON) {
		f->seen = later(f->seen, e->end);
		(late ? gap_add_late : gap_add)(f, e->kind == KIND_ON ? LANE_ON : LANE_OFF,
						e->begin, e->end);
	} else if (e->kind >= CATEGORIES) {
		fold_call(f, e, at, late);
	} else if (e->end <= e->begin) {
		fold_untimed(f, e, at);
	} else {
		fold_op(f, e, at, late);
	}
}

/* ---- the ring ------------------------------------------------------------------------------- */

static void take(struct flow *f, const struct flow_entry *e)
{
	struct flow_entry *ring = f->ring;
	size_t mask = f->mask, at = f->tail, head = f->head;
	if (e->begin < f->folded) {
		flow_fold(f, e);
		return;
	}
	if (at - head > mask) {
		if (e->begin <= ring[head & mask].begin) {
			flow_fold(f, e);
			return;
		}
		flow_fold(f, &ring[head & mask]);
		head = ++f->head;
	}
	for (; at != head && ring[(at - 1) & mask].begin > e->begin; at--)
		ring[at & mask] = ring[(at - 1) & mask];
	ring[at & mask] = *e;
	f->tail++;
}

void flow_op(struct flow *f, const struct flow_op *op)
{
	struct flow_entry e = { .begin = op->begin_ns,
				.end = op->end_ns,
				.bytes = op->bytes,
				.name = op->name,
				.device = (uint16_t)op->device,
				.kind = (uint16_t)op->category };
	if (op->end_ns <= op->begin_ns && op->begin_ns <= 0)
		flow_untimed(f, 1);
	else if (op->end_ns > op->begin_ns && range_ns(op->begin_ns, op->end_ns) >= TOO_LONG)
		flow_untimed(f, 1);
	else
		take(f, &e);
}

void flow_call(struct flow *f, int64_t begin_ns, int64_t end_ns, bool sync)
{
	take(f, &(struct flow_entry){
			.begin = begin_ns, .end = end_ns, .kind = sync ? KIND_SYNC : KIND_CALL });
}

void flow_thread(struct flow *f, int64_t begin_ns, int64_t end_ns, bool on)
{
	if (end_ns > begin_ns && f->gap.cap)
		take(f, &(struct flow_entry){ .begin = begin_ns,
					      .end = end_ns,
					      .kind = on ? KIND_ON : KIND_OFF });
}

void flow_host_told(struct flow *f, enum flow_host what)
{
	f->gap.told |= 1u << what;
}

/* Not by way of the ring: a program may do a million calls while the device's operations, which
 * come late, wait there. */
void flow_host(struct flow *f, enum flow_host what, int64_t begin_ns, int64_t end_ns)
{
	if (end_ns <= begin_ns || !f->gap.cap)
		return;
	f->gap.told |= 1u << what;
	f->seen = later(f->seen, end_ns);
	gap_add_late(f, what == FLOW_IO ? LANE_IO : LANE_MPI, begin_ns, end_ns);
}

void flow_told(struct flow *f, int64_t until_ns)
{
	f->seen = later(f->seen, until_ns);
}

void flow_untimed(struct flow *f, uint64_t n)
{
	f->whole.untimed += n;
	f->roi.untimed += n;
}

void flow_dropped(struct flow *f, uint64_t n)
{
	f->dropped = (isnan(f->dropped) ? 0 : f->dropped) + (double)n;
}

void flow_graph(struct flow *f, uint64_t n)
{
	f->graphs += n;
}

void flow_settle(struct flow *f, int64_t before_ns)
{
	while (f->head != f->tail && f->ring[f->head & f->mask].begin < before_ns)
		flow_fold(f, &f->ring[f->head++ & f->mask]);
	/* Ranges that nothing was folded in take effect before all is final. */
	if (windows_ready(f))
		f->no_memory = true;
	f->folded = later(f->folded, before_ns);
}
