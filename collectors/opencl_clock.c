/* Brackets, pairs, and the line between two pairs. */
#define _GNU_SOURCE
#include "collectors/opencl_clock.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* The clocks may be slewed against each other by 500 ppm: in this time by 5 us at most, and what is
 * drawn on from the last two readings is better than that. */
#define STALE_NS 10000000

static const clockid_t ids[ON_TIMER] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME,
					 CLOCK_REALTIME };

const char *opencl_source_name(enum opencl_source s)
{
	static const char *const names[SOURCES] = { "CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW",
						    "CLOCK_BOOTTIME", "CLOCK_REALTIME",
						    "the device's timer" };
	return names[s];
}

static int64_t clock_now(clockid_t id)
{
	struct timespec t;
	if (clock_gettime(id, &t))
		return NO_READING;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* CLOCK_MONOTONIC first and last, so that all others lie between. */
static void read_once(struct opencl_reading *ret, opencl_timer *timer, void *device)
{
	int64_t first = clock_now(CLOCK_MONOTONIC);
	for (int s = ON_MONOTONIC_RAW; s < ON_TIMER; s++)
		ret->at_ns[s] = clock_now(ids[s]);
	ret->at_ns[ON_TIMER] = NO_READING;
	if (timer && !timer(device, &ret->at_ns[ON_TIMER]))
		ret->at_ns[ON_TIMER] = NO_READING;
	int64_t last = clock_now(CLOCK_MONOTONIC);
	ret->at_ns[ON_MONOTONIC] = first + (last - first) / 2;
	ret->width_ns = last - first;
}

void opencl_read(struct opencl_reading *ret, opencl_timer *timer, void *device)
{
	read_once(ret, timer, device);
	for (int i = 0; i < 2; i++) {
		struct opencl_reading again;
		read_once(&again, timer, device);
		if (again.width_ns < ret->width_ns)
			*ret = again;
	}
}

static bool bracket_fits(const struct opencl_bracket *b, int s, int64_t tolerance)
{
	int64_t before = b->before.at_ns[s], after = b->after.at_ns[s];
	if (before == NO_READING || after == NO_READING)
		return false;
	/* Readings are as exact as they were narrow. */
	int64_t slack = tolerance + b->before.width_ns / 2 + b->after.width_ns / 2;
	return b->start_ns >= before - slack && b->end_ns <= after + slack &&
	       b->end_ns >= b->start_ns;
}

static void choose(struct opencl_clock *c)
{
	for (int s = SOURCES - 1; s >= 0; s--)
		if (c->fits & 1u << s)
			c->source = (enum opencl_source)s;
}

/* of the source's clock to CLOCK_MONOTONIC */
static int64_t offset_at(const struct opencl_clock *c, size_t i)
{
	const int64_t *at = c->pairs[i].at_ns;
	return at[c->source] - at[ON_MONOTONIC];
}

bool opencl_clock_find(struct opencl_clock *c, const struct opencl_bracket *b, size_t n,
		       int64_t resolution_ns)
{
	/* Times that a driver converts itself may be off by some microseconds; that is then the
	 * error. */
	static const int64_t tolerances[] = { 1000, 20000, 200000 };
	memset(c, 0, sizeof *c);
	for (size_t t = 0; n && !c->fits && t < sizeof tolerances / sizeof *tolerances; t++) {
		c->tolerance_ns = tolerances[t] + resolution_ns;
		for (int s = 0; s < SOURCES; s++) {
			bool good = true;
			for (size_t i = 0; good && i < n; i++)
				good = bracket_fits(&b[i], s, c->tolerance_ns);
			c->fits |= good ? 1u << s : 0;
		}
		if (t > 0 && c->fits)
			c->worst_ns = c->tolerance_ns;
	}
	if (!c->fits)
		return false;
	choose(c);
	opencl_clock_pair(c, &b[0].before);
	opencl_clock_pair(c, &b[n - 1].after);
	c->first_offset_ns = offset_at(c, 0);
	return true;
}

bool opencl_clock_stale(const struct opencl_clock *c, int64_t now_ns)
{
	return c->fits != 1u << ON_MONOTONIC &&
	       (!c->n || now_ns - c->pairs[c->n - 1].at_ns[ON_MONOTONIC] > STALE_NS);
}

void opencl_clock_pair(struct opencl_clock *c, const struct opencl_reading *r)
{
	/* Two threads may come with theirs in either order. */
	if (c->n && r->at_ns[ON_MONOTONIC] <= c->pairs[c->n - 1].at_ns[ON_MONOTONIC])
		return;
	if (c->fits & 1u << ON_TIMER && r->at_ns[ON_TIMER] == NO_READING)
		return;
	if (c->n == CLOCK_PAIRS) {
		/* Of the older ones every second goes: so they reach back far, for a long command.
		 */
		size_t old = CLOCK_PAIRS * 3 / 4, kept = 0;
		for (size_t i = 0; i < c->n; i++)
			if (i >= old || i % 2 == 0)
				c->pairs[kept++] = c->pairs[i];
		c->n = kept;
	}
	c->pairs[c->n++] = *r;
	if (r->width_ns > c->width_ns)
		c->width_ns = r->width_ns;
}

static int64_t to_monotonic(const struct opencl_clock *c, int64_t at_ns)
{
	enum opencl_source s = c->source;
	if (s == ON_MONOTONIC)
		return at_ns;
	size_t hi = c->n - 1;
	while (hi > 1 && c->pairs[hi - 1].at_ns[s] > at_ns)
		hi--;
	if (hi == 0)
		return at_ns - offset_at(c, 0);
	int64_t from = c->pairs[hi - 1].at_ns[s], run = c->pairs[hi].at_ns[s] - from;
	int64_t offset = offset_at(c, hi - 1), change = offset_at(c, hi) - offset;
	/* Two readings close together tell no slope, and no slope is followed far. */
	if (run < STALE_NS / 2 || at_ns < from - run)
		return at_ns - (at_ns < from ? offset : offset + change);
	if (at_ns > from + 2 * run)
		return at_ns - offset - change;
	return at_ns - offset - llround((double)change * ((double)(at_ns - from) / (double)run));
}

/* How far outside of what is possible. */
static int64_t excess(int64_t begun_ns, int64_t known_ns, int64_t start_ns, int64_t end_ns)
{
	int64_t early = begun_ns - start_ns, late = end_ns - known_ns;
	return early > late ? early : late;
}

void opencl_clock_convert(struct opencl_clock *c, int64_t begun_ns, int64_t known_ns,
			  int64_t *start_ns, int64_t *end_ns)
{
	for (;;) {
		int64_t start = to_monotonic(c, *start_ns), end = to_monotonic(c, *end_ns);
		int64_t outside = excess(begun_ns, known_ns, start, end);
		bool others = c->fits & (c->fits - 1);
		if (outside > c->tolerance_ns && others) {
			c->fits &= ~(1u << c->source);
			choose(c);
			c->first_offset_ns = offset_at(c, 0);
			continue;
		}
		if (outside > c->worst_ns)
			c->worst_ns = outside;
		*start_ns = start;
		*end_ns = end;
		return;
	}
}

void opencl_clock_tell(const struct opencl_clock *c, double *ret_offset, double *ret_drift,
		       double *ret_error)
{
	int64_t half = c->source == ON_MONOTONIC ? 0 : c->width_ns / 2;
	*ret_offset = (double)c->first_offset_ns;
	*ret_drift = c->n ? (double)(offset_at(c, c->n - 1) - c->first_offset_ns) : 0;
	*ret_error = (double)(c->worst_ns > half ? c->worst_ns : half);
}
