/* Pictures of several processes into one set of sums: what can be added is added, unions over
 * processes are taken over the ranges that the pictures keep. */
#define _GNU_SOURCE
#include "core/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture_impl.h"
#include "lib/num.h"
#include "schema/bins.h"

bool picture_observes(const struct picture *p)
{
	return (strcmp(p->status, "ok") == 0 || strcmp(p->status, "idle") == 0) &&
	       p->whole.ops.items;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* What one of them does not know, the sum is not known of. */
static void add_num(double *sum, double x, bool first)
{
	*sum = first ? x : *sum + x;
}

static void add_list(double sum[CATEGORIES], const struct nums *from, bool first)
{
	for (unsigned c = 0; c < CATEGORIES; c++)
		add_num(&sum[c], from->items ? from->items[c] : NAN, first);
}

static uint64_t whole_number(double x)
{
	return x > 0 ? (uint64_t)x : 0;
}

static void add_sums(struct clip_sums *to, const struct picture_sums *from, bool first)
{
	add_list(to->time_ns, &from->time_ns, first);
	add_list(to->ops, &from->ops, first);
	add_list(to->bytes, &from->bytes, first);
	add_list(to->union_ns, &from->union_ns, first);
	add_num(&to->device_busy_ns, from->device_busy_ns, first);
	add_num(&to->untimed, from->untimed, first);
	to->busy_ns += whole_number(from->busy_ns);
	to->op_sum_ns += whole_number(from->op_sum_ns);
}

static bool has_ops(const struct picture_sums *s)
{
	for (unsigned c = 0; s->ops.items && c < CATEGORIES; c++)
		if (s->ops.items[c] > 0)
			return true;
	return false;
}

static void add_calls(struct clip_calls *to, const struct picture_sums *from)
{
	to->calls += whole_number(from->calls);
	to->time_ns += whole_number(from->calls_ns);
	to->sync_calls += whole_number(from->sync_calls);
	to->sync_ns += whole_number(from->sync_ns);
}

/* So many at least. */
static void add_at_least(double *sum, double x)
{
	if (known(x))
		*sum = known(*sum) ? *sum + x : x;
}

static void add_region(struct clip *ret, const struct picture *p)
{
	uint64_t entries = whole_number(p->entries), wall = whole_number(p->wall_ns);
	uint64_t gross = whole_number(p->gross_ns), excluded = gross > wall ? gross - wall : 0;
	bool first = !ret->found;
	ret->found = true;
	ret->processes++;
	ret->entries = entries > ret->entries ? entries : ret->entries;
	ret->wall_ns = wall > ret->wall_ns ? wall : ret->wall_ns;
	ret->excluded_ns = excluded > ret->excluded_ns ? excluded : ret->excluded_ns;
	ret->processes_with_device_work += has_ops(&p->roi);
	add_sums(&ret->roi, &p->roi, first);
	add_num(&ret->gap.total_ns, p->gap.total_ns, first);
	add_num(&ret->gap.sync_ns, p->gap.sync_ns, first);
	add_num(&ret->gap.api_ns, p->gap.api_ns, first);
	add_num(&ret->gap.cpu_ns, p->gap.cpu_ns, first);
	add_num(&ret->gap.off_cpu_ns, p->gap.off_cpu_ns, first);
	/* Where one process does not tell, this is in its other parts. */
	add_at_least(&ret->gap.io_ns, p->gap.io_ns);
	add_at_least(&ret->gap.mpi_ns, p->gap.mpi_ns);
}

static void add_losses(struct clip *ret, const struct picture *p, bool *drops_known)
{
	*drops_known &= known(p->dropped);
	add_at_least(&ret->dropped, p->dropped);
	add_at_least(&ret->late, p->late);
	add_at_least(&ret->graphs, p->graphs);
	add_at_least(&ret->pending, p->pending);
	add_at_least(&ret->names_folded, p->names_folded);
	add_at_least(&ret->collector_cpu_s, p->collector_cpu_s);
	add_at_least(&ret->collector_roi_cpu_s, p->collector_roi_cpu_s);
	ret->runtime = ret->runtime ? ret->runtime : p->runtime;
}

static void round_bytes(struct clip_sums *s)
{
	for (unsigned c = 0; c < CATEGORIES; c++) /* half to even, once, at the end */
		s->bytes[c] = rint(s->bytes[c]);
}

static void add_all(struct merge *m)
{
	struct clip *ret = m->ret;
	bool drops_known = true;
	for (size_t i = 0; i < m->n; i++) {
		const struct picture *p = m->members[i].p;
		add_sums(&ret->whole, &p->whole, i == 0);
		ret->whole.processes += has_ops(&p->whole);
		add_calls(&ret->calls_whole, &p->whole);
		ret->has_calls = known(p->whole.calls) && (i == 0 || ret->has_calls);
		add_losses(ret, p, &drops_known);
		if (p->found != YES)
			continue;
		add_region(ret, p);
		add_calls(&ret->calls_roi, &p->roi);
	}
	if (!drops_known && !(ret->dropped > 0))
		ret->dropped = NAN;
	ret->roi.processes = ret->processes;
	ret->untimed_ops = whole_number(ret->whole.untimed);
	round_bytes(&ret->roi);
	round_bytes(&ret->whole);
}

/* ---- operations ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct picture_op *const *x = a, *const *y = b;
	int names = strcmp((*x)->name, (*y)->name);
	return names ? names
		     : ((*x)->category > (*y)->category) - ((*x)->category < (*y)->category);
}

static int by_total(const void *a, const void *b)
{
	const struct clip_op *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	int names = strcmp(x->name, y->name);
	return names ? names : (int)x->category - (int)y->category;
}

/* Those of one name and category. */
static int fold_ops(struct arena *a, const struct picture_op *const *ops, size_t n,
		    struct clip_op *ret)
{
	double bins[ROI_BINS] = { 0 };
	size_t used = 0;
	bool has_bins = true;
	*ret = (struct clip_op){ .name = ops[0]->name,
				 .category = (enum category)ops[0]->category,
				 .min_ns = (uint64_t)ops[0]->min_ns };
	for (size_t i = 0; i < n; i++) {
		const struct picture_op *o = ops[i];
		uint64_t min = (uint64_t)o->min_ns, max = (uint64_t)o->max_ns;
		ret->count += (uint64_t)o->count;
		ret->total_ns += (uint64_t)o->total_ns;
		ret->min_ns = min < ret->min_ns ? min : ret->min_ns;
		ret->max_ns = max > ret->max_ns ? max : ret->max_ns;
		has_bins &= o->bins.items != NULL;
		for (size_t k = 0; k + 1 < o->bins.n; k += 2)
			if (o->bins.items[k] < ROI_BINS)
				bins[(size_t)o->bins.items[k]] += o->bins.items[k + 1];
	}
	for (size_t k = 0; k < ROI_BINS; k++)
		used += bins[k] > 0;
	ret->bins.items = has_bins ? arena_array(a, 2 * used + 1, sizeof(double)) : NULL;
	for (size_t k = 0; ret->bins.items && k < ROI_BINS; k++)
		if (bins[k] > 0) {
			ret->bins.items[ret->bins.n++] = (double)k;
			ret->bins.items[ret->bins.n++] = bins[k];
		}
	return has_bins && !ret->bins.items ? -ENOMEM : 0;
}

static int fold_all(struct arena *a, struct clip *ret, const struct picture_op *const *ops,
		    size_t n)
{
	double total = 0;
	int rc = 0;
	ret->ops = arena_array(a, n + 1, sizeof *ret->ops);
	if (!ret->ops)
		return -ENOMEM;
	for (size_t i = 0, k; i < n && !rc; i = k) {
		for (k = i + 1; k < n && by_name(&ops[i], &ops[k]) == 0; k++)
			;
		rc = fold_ops(a, &ops[i], k - i, &ret->ops[ret->n_ops]);
		total += (double)ret->ops[ret->n_ops++].total_ns;
	}
	for (size_t i = 0; i < ret->n_ops; i++)
		ret->ops[i].share = total > 0 ? (double)ret->ops[i].total_ns / total : NAN;
	if (ret->n_ops)
		qsort(ret->ops, ret->n_ops, sizeof *ret->ops, by_total);
	return rc;
}

/* Of the region; where there is none, of the whole processes. */
static int merge_ops(struct merge *m, struct arena *a)
{
	size_t room = 0, n = 0;
	bool whole = m->ret->ops_of_whole = !m->ret->found;
	for (size_t i = 0; i < m->n; i++)
		room += whole ? m->members[i].p->whole_ops.n : m->members[i].p->ops.n;
	const struct picture_op **ops = malloc((room + 1) * sizeof *ops);
	if (!ops)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) {
		const struct picture *p = m->members[i].p;
		const struct picture_op *from = whole ? p->whole_ops.items : p->ops.items;
		size_t more = whole ? p->whole_ops.n : p->ops.n;
		for (size_t k = 0; k < more; k++)
			ops[n++] = &from[k];
	}
	if (n)
		qsort(ops, n, sizeof *ops, by_name);
	int rc = fold_all(a, m->ret, ops, n);
	free(ops);
	return rc;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Times of a node's processes can be compared with each other, if they are of one clock. */
static int by_node(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	const char *const left[] = { x->p->boot ? x->p->boot : x->p->host, x->p->clock };
	const char *const right[] = { y->p->boot ? y->p->boot : y->p->host, y->p->clock };
	for (int i = 0; i < 2; i++) {
		int order = strcmp(left[i] ? left[i] : "", right[i] ? right[i] : "");
		if (order)
			return order;
	}
	return (x->place > y->place) - (x->place < y->place);
}

static bool same_node(const struct member *x, const struct member *y)
{
	struct member a = *x, b = *y;
	a.place = b.place = 0;
	return by_node(&a, &b) == 0;
}

static int take(struct merge *m, const struct picture *const *pictures, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct picture *p = pictures[i];
		if (!picture_observes(p))
			continue;
		bool has_base = known(p->base_s) && known(p->base_ns);
		if (has_base && !(fabs(p->base_s) < 9e9))
			return err_set(err, -EINVAL,
				       "the times of the picture of process %s are over "
				       "280 years from 0",
				       p->pid ? p->pid : "?");
		m->members[m->n++] = (struct member){
			.p = p,
			.place = i,
			.base = has_base ? (int64_t)p->base_s * 1000000000 + (int64_t)p->base_ns
					 : 0,
		};
	}
	if (m->n)
		qsort(m->members, m->n, sizeof *m->members, by_node);
	for (size_t i = 0; i < m->n; i++) {
		m->nodes += i == 0 || !same_node(&m->members[i - 1], &m->members[i]);
		m->members[i].node = m->nodes - 1;
	}
	return 0;
}

int picture_merge(const struct picture *const *pictures, size_t n, struct arena *a,
		  struct clip *ret, struct err *err)
{
	struct merge m = { .ret = ret, .members = calloc(n + 1, sizeof *m.members) };
	clip_clear(ret);
	int rc = m.members ? take(&m, pictures, n, err) : -ENOMEM;
	ret->observed = !rc && m.n > 0;
	ret->nodes = m.nodes;
	if (ret->observed) {
		add_all(&m);
		rc = merge_ops(&m, a);
		if (!rc)
			rc = merge_unions(&m, a);
	}
	free(m.members);
	return rc == -ENOMEM
		       ? err_set(err, rc, "out of memory while %zu pictures are put together", n)
		       : rc;
}
