/* How accelerators ran while the clean executions did: all samples together, one row a device, and
 * what is to be said of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "lib/num.h"

#define THROTTLE_LIMIT 0.05 /* of the looks */

static const struct device_state *state_in(const struct worked *w, const char *device)
{
	for (size_t i = 0; i < w->seen->row.devices.n; i++) {
		const struct device_state *s = &w->seen->row.devices.items[i];
		if (s->device && strcmp(s->device, device) == 0)
			return s;
	}
	return NULL;
}

static double weighted(double mean, double n, double more, double more_n)
{
	if (!known(mean) || !(n > 0))
		return more;
	return known(more) && more_n > 0 ? (mean * n + more * more_n) / (n + more_n) : mean;
}

static int add_reasons(struct arena *a, struct txts *to, const struct txts *more)
{
	if (!more->items)
		return 0;
	const char **items = arena_array(a, to->n + more->n + 1, sizeof *items);
	if (!items)
		return -ENOMEM;
	if (to->n)
		memcpy(items, to->items, to->n * sizeof *items);
	to->items = items;
	for (size_t i = 0; i < more->n; i++) {
		size_t k = 0;
		while (k < to->n && strcmp(to->items[k], more->items[i]) != 0)
			k++;
		if (k == to->n)
			to->items[to->n++] = more->items[i];
	}
	return 0;
}

#define THREE(X, name, unit) X(name##_min_##unit, name##_mean_##unit, name##_max_##unit)
#define ALL_THREES(X)                                                                              \
	THREE(X, clock, hz)                                                                        \
	THREE(X, memory_clock, hz) THREE(X, power, w) THREE(X, temperature, c)

/* Means by the number of looks; times and energies are added up. */
static int add_state(struct arena *a, struct device_state *to, const struct device_state *s)
{
	double n = to->samples, more = s->samples;
#define ADD(min, mean, max)                                                                        \
	to->min = fmin(to->min, s->min);                                                           \
	to->mean = weighted(to->mean, n, s->mean, more);                                           \
	to->max = fmax(to->max, s->max);
	ALL_THREES(ADD)
#undef ADD
	to->busy_mean_frac = weighted(to->busy_mean_frac, n, s->busy_mean_frac, more);
	to->throttled_frac = weighted(to->throttled_frac, n, s->throttled_frac, more);
	to->others = fmax(to->others, s->others);
	if (known(s->span_s))
		to->span_s = known(to->span_s) ? to->span_s + s->span_s : s->span_s;
	if (known(s->energy_j))
		to->energy_j = known(to->energy_j) ? to->energy_j + s->energy_j : s->energy_j;
	if (more > 0)
		to->samples = n > 0 ? n + more : more;
	if (s->status &&
	    (!to->status || strcmp(to->status, "ok") == 0 || strcmp(to->status, "too_short") == 0))
		/* What went wrong stays; one good look is better than none. */
		if (!to->status || strcmp(s->status, "too_short") != 0)
			to->status = s->status;
	if (s->within && to->within && strcmp(s->within, to->within) != 0)
		to->within = "execution"; /* some of the looks are outside of regions */
	return add_reasons(a, &to->throttle_reasons, &s->throttle_reasons);
}

static void round_state(struct device_state *s)
{
#define ROUND(min, mean, max) s->mean = num15(s->mean);
	ALL_THREES(ROUND)
#undef ROUND
	s->busy_mean_frac = num15(s->busy_mean_frac);
	s->throttled_frac = num15(s->throttled_frac);
	s->span_s = num15(s->span_s);
	s->energy_j = num15(s->energy_j);
}

int put_device_states(struct assembly *a)
{
	struct context *c = &a->rec->body.context;
	struct arena *arena = &a->rec->arena;
	size_t n = a->first ? a->first->seen->row.devices.n : 0;
	if (!n)
		return 0;
	c->devices.items = arena_array(arena, n, sizeof *c->devices.items);
	if (!c->devices.items)
		return -ENOMEM;
	c->devices.n = n;
	for (size_t i = 0; i < n; i++) {
		const struct device_state *first = &a->first->seen->row.devices.items[i];
		struct device_state *to = &c->devices.items[i];
		block_clear(&device_state_block, to);
		to->device = first->device;
		to->name = first->name;
		to->place = first->place;
		to->within = first->within;
		to->samples = 0;
		for (size_t k = 0; k < a->n; k++) {
			const struct device_state *s = a->all[k].used && first->device
							       ? state_in(&a->all[k], first->device)
							       : NULL;
			if (s && add_state(arena, to, s))
				return -ENOMEM;
		}
		round_state(to);
		if (block_copy(arena, &device_state_block, to))
			return -ENOMEM;
	}
	return 0;
}

/* ---- caveats ---- */

static int say_throttled(struct assembly *a, const struct device_state *s)
{
	char list[256] = "";
	size_t at = 0;
	for (size_t i = 0; i < s->throttle_reasons.n && at < sizeof list; i++) {
		int n = snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "",
				 s->throttle_reasons.items[i]);
		at += n > 0 ? (size_t)n : 0;
	}
	for (char *p = list; *p; p++)
		if (*p == '_')
			*p = ' ';
	return record_caveat(
		a->rec, "device_throttled",
		"Something held the clocks of device %s down in %.3g %% of %.0f looks: %s.",
		s->device, 100 * s->throttled_frac, s->samples, list);
}

static int say_not_sampled(struct assembly *a, const struct device_state *s)
{
	bool gone = strcmp(s->status, "gone") == 0;
	return record_caveat(
		a->rec, "device_not_sampled",
		gone ? "Device %s was gone from its driver during an execution; what is "
		       "told of it is from before."
		     : "The driver of device %s gave no answer during an execution: how "
		       "the device ran is not known, or in part.",
		s->device);
}

int put_device_state_caveats(struct assembly *a)
{
	const struct context *c = &a->rec->body.context;
	int rc = 0;
	for (size_t i = 0; !rc && i < c->devices.n; i++) {
		const struct device_state *s = &c->devices.items[i];
		if (s->throttled_frac >= THROTTLE_LIMIT)
			rc = say_throttled(a, s);
		if (!rc && s->others > 0)
			rc = record_caveat(
				a->rec, "device_shared",
				"Up to %.0f other process%s on device %s during a clean execution.",
				s->others, s->others == 1 ? " was" : "es were", s->device);
		if (!rc && s->status &&
		    (strcmp(s->status, "gone") == 0 || strcmp(s->status, "no_answer") == 0))
			rc = say_not_sampled(a, s);
	}
	return rc;
}
