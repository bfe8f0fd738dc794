/* When all bins are full, each two become one. */
#include "run/looks.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/num.h"

void looks_clear(struct looks *l)
{
	l->n = 0;
	l->per_bin = 1;
}

static void clear_bin(struct looks_bin *b)
{
	*b = (struct looks_bin){ .others = NAN, .energy_first_j = NAN, .energy_last_j = NAN };
	for (int i = 0; i < LOOKS_VALUE_COUNT; i++)
		b->values[i] = (struct looks_value){ NAN, NAN, 0, 0 };
}

/* later comes behind. */
static void join(struct looks_bin *to, const struct looks_bin *later)
{
	if (to->n == 0)
		to->first_real_ns = later->first_real_ns;
	to->last_real_ns = later->last_real_ns;
	to->n += later->n;
	to->n_reasons += later->n_reasons;
	to->n_throttled += later->n_throttled;
	to->reasons |= later->reasons;
	to->others = fmax(to->others, later->others);
	if (!known(to->energy_first_j))
		to->energy_first_j = later->energy_first_j;
	if (known(later->energy_last_j))
		to->energy_last_j = later->energy_last_j;
	for (int i = 0; i < LOOKS_VALUE_COUNT; i++) {
		struct looks_value *x = &to->values[i];
		const struct looks_value *y = &later->values[i];
		x->min = fmin(x->min, y->min);
		x->max = fmax(x->max, y->max);
		x->sum += y->sum;
		x->n += y->n;
	}
}

static void halve(struct looks *l)
{
	for (uint64_t i = 0; i < LOOKS_BINS / 2; i++) {
		struct looks_bin both = l->bins[2 * i];
		join(&both, &l->bins[2 * i + 1]);
		l->bins[i] = both;
	}
	l->n = LOOKS_BINS / 2;
	l->per_bin *= 2;
}

static void put_value(struct looks_bin *b, enum looks_value_place at, double x)
{
	if (known(x))
		b->values[at] = (struct looks_value){ x, x, x, 1 };
}

void looks_add(struct looks *l, int64_t begin_real_ns, int64_t end_real_ns,
	       const struct device_sample *s, double others)
{
	struct looks_bin one;
	clear_bin(&one);
	one.first_real_ns = begin_real_ns;
	one.last_real_ns = end_real_ns;
	one.n = 1;
	one.n_reasons = s->reasons_known;
	one.n_throttled = s->reasons_known && s->reasons;
	one.reasons = s->reasons_known ? s->reasons : 0;
	one.others = others;
	one.energy_first_j = one.energy_last_j = s->energy_j;
#define PUT(name) put_value(&one, LOOKS_##name, s->name);
	LOOKS_VALUES(PUT)
#undef PUT
	if (l->n && l->bins[l->n - 1].n < l->per_bin) {
		join(&l->bins[l->n - 1], &one);
		return;
	}
	if (l->n == LOOKS_BINS)
		halve(l);
	l->bins[l->n++] = one;
}

static void take(const struct looks_value *v, double *min, double *mean, double *max)
{
	if (!v->n)
		return;
	if (min)
		*min = num15(v->min);
	*mean = num15(v->sum / (double)v->n);
	if (max)
		*max = num15(v->max);
}

static int name_reasons(uint32_t reasons, struct arena *a, struct txts *ret)
{
	ret->items = arena_array(a, DEVICE_REASON_COUNT, sizeof *ret->items);
	if (!ret->items)
		return -ENOMEM;
	ret->n = 0;
	for (int i = 0; i < DEVICE_REASON_COUNT; i++)
		if (reasons >> i & 1)
			ret->items[ret->n++] = device_reason_names[i];
	return 0;
}

int looks_sum(const struct looks *l, int64_t from_real_ns, int64_t to_real_ns, struct arena *a,
	      struct device_state *ret)
{
	struct looks_bin all;
	clear_bin(&all);
	for (uint64_t i = 0; i < l->n && i < LOOKS_BINS; i++)
		if (l->bins[i].first_real_ns >= from_real_ns &&
		    l->bins[i].last_real_ns <= to_real_ns)
			join(&all, &l->bins[i]);
	ret->samples = (double)all.n;
	if (!all.n)
		return 0;
	const struct looks_value *v = all.values;
	ret->span_s = num15((double)(all.last_real_ns - all.first_real_ns) / 1e9);
	take(&v[LOOKS_clock_hz], &ret->clock_min_hz, &ret->clock_mean_hz, &ret->clock_max_hz);
	take(&v[LOOKS_memory_clock_hz], &ret->memory_clock_min_hz, &ret->memory_clock_mean_hz,
	     &ret->memory_clock_max_hz);
	take(&v[LOOKS_power_w], &ret->power_min_w, &ret->power_mean_w, &ret->power_max_w);
	take(&v[LOOKS_temperature_c], &ret->temperature_min_c, &ret->temperature_mean_c,
	     &ret->temperature_max_c);
	take(&v[LOOKS_busy_frac], NULL, &ret->busy_mean_frac, NULL);
	double energy_j = all.energy_last_j - all.energy_first_j;
	if (all.n > 1 && energy_j >= 0) /* else its counter began anew */
		ret->energy_j = num15(energy_j);
	ret->others = all.others;
	if (!all.n_reasons)
		return 0;
	ret->throttled_frac = num15((double)all.n_throttled / (double)all.n_reasons);
	return name_reasons(all.reasons, a, &ret->throttle_reasons);
}
