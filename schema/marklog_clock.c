/* From the counter that the marks read to the kernel's clocks: straight lines between the readings
 * that stand in the log. */
#include "schema/marklog_impl.h"

#include <errno.h>
#include <math.h>

static struct marklog_pair pair_at(const unsigned char *p)
{
	return (struct marklog_pair){ .tick = get64(p),
				      .mono_ns = (int64_t)get64(p + 8),
				      .real_ns = (int64_t)get64(p + 16),
				      .window = get64(p + 24) };
}

static void pair_add(struct source *s, const unsigned char *p)
{
	struct marklog_pair q = pair_at(p);
	/* Held to a range in which differences can't overflow: some decades of uptime. */
	bool sane = q.tick <= INT64_MAX && q.mono_ns >= 0 && q.mono_ns <= INT64_MAX / 4 &&
		    q.real_ns >= 0 && q.real_ns <= INT64_MAX / 2;
	const struct marklog_pair *last = s->n_pairs ? &s->pairs[s->n_pairs - 1] : NULL;
	if (!sane || (last && (q.tick <= last->tick || q.mono_ns <= last->mono_ns))) {
		source_damaged(s, "the clock's readings are not in order");
		return;
	}
	s->pairs[s->n_pairs++] = q;
}

static double pair_rate(const struct marklog_pair *a, const struct marklog_pair *b)
{
	return (double)(b->mono_ns - a->mono_ns) / (double)(b->tick - a->tick);
}

/* How far the clock was from the kernel's: half the time a reading took, and at each reading
 * between two others its distance from their straight line. */
static double clock_error(const struct source *s)
{
	double worst = 0;
	for (size_t i = 0; i < s->n_pairs; i++) {
		double doubt = (double)s->pairs[i].window * s->rate / 2;
		if (doubt > worst)
			worst = doubt;
	}
	for (size_t i = 1; i + 1 < s->n_pairs; i++) {
		const struct marklog_pair *a = &s->pairs[i - 1], *b = a + 1, *c = a + 2;
		double line = (double)(b->tick - a->tick) * pair_rate(a, c);
		double off = fabs(line - (double)(b->mono_ns - a->mono_ns));
		if (off > worst)
			worst = off;
	}
	return worst;
}

int source_clock(struct source *s)
{
	const unsigned char *h = s->bytes;
	uint32_t n = AT32(h, struct marklog_header, pairs);
	uint32_t latest = AT32(h, struct marklog_header, latest);
	if (n > MARKLOG_PAIRS)
		n = MARKLOG_PAIRS;
	s->pairs = arena_array(s->arena, (size_t)n + 1, sizeof *s->pairs);
	if (!s->pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		pair_add(s, h + offsetof(struct marklog_header, pair) +
				    i * sizeof(struct marklog_pair));
	const unsigned char *last = h + offsetof(struct marklog_header, last) +
				    (latest == 2) * sizeof(struct marklog_pair);
	/* The last one that was not kept for ever is older than the last one that was, at times. */
	if (latest && (!s->n_pairs || get64(last) > s->pairs[s->n_pairs - 1].tick))
		pair_add(s, last);
	if (!s->n_pairs)
		return -EINVAL;
	uint32_t clock = AT32(h, struct marklog_header, clock);
	s->log->clock = clock == MARKLOG_MONOTONIC ? "monotonic"
			: clock == MARKLOG_TSC     ? "tsc"
						   : "cntvct";
	s->rate = s->n_pairs > 1 ? pair_rate(&s->pairs[0], &s->pairs[s->n_pairs - 1]) : 1;
	if (clock == MARKLOG_MONOTONIC)
		s->rate = 1;
	s->log->clock_error_ns = clock_error(s);
	s->log->mark_cost_ns = (double)AT64(h, struct marklog_header, mark_ticks) / 16 * s->rate;
	return 0;
}

/* The last pair that is not after this tick; the first one for what is before all. */
static size_t pair_before(const struct source *s, uint64_t tick)
{
	size_t low = 0, high = s->n_pairs;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->pairs[middle].tick <= tick)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int64_t to_mono(const struct source *s, uint64_t tick)
{
	size_t i = pair_before(s, tick);
	const struct marklog_pair *a = &s->pairs[i];
	bool inside = i + 1 < s->n_pairs && tick >= a->tick;
	double rate = s->rate == 1 ? 1 : inside ? pair_rate(a, a + 1) : s->rate;
	int64_t ticks = (int64_t)(tick - a->tick);
	if (rate == 1 && ticks > -INT64_MAX / 8 && ticks < INT64_MAX / 8)
		return a->mono_ns + ticks;
	double ns = (double)ticks * rate;
	if (!(fabs(ns) < 1e18))
		return ROI_UNKNOWN;
	return a->mono_ns + llround(ns);
}

int64_t to_real(const struct source *s, uint64_t tick)
{
	const struct marklog_pair *a = &s->pairs[pair_before(s, tick)];
	int64_t mono = to_mono(s, tick);
	return mono == ROI_UNKNOWN ? ROI_UNKNOWN : a->real_ns + (mono - a->mono_ns);
}

uint64_t to_ns(const struct source *s, uint64_t ticks)
{
	double ns = (double)ticks * s->rate;
	return ns >= 0 && ns < 1.8e19 ? (uint64_t)(ns + 0.5) : UINT64_MAX;
}

bool tick_sane(const struct source *s, uint64_t tick)
{
	const uint64_t year = UINT64_C(1) << 58; /* at 5 GHz, nearly two */
	return tick <= INT64_MAX && tick + year >= s->pairs[0].tick &&
	       tick <= s->pairs[s->n_pairs - 1].tick + year;
}

/* ns for ticks that were counted between two moments, by the clock's rate between them. */
uint64_t ns_between(const struct source *s, uint64_t ticks, uint64_t from, uint64_t to)
{
	if (!tick_sane(s, from) || !tick_sane(s, to) || to <= from)
		return to_ns(s, ticks);
	int64_t begin = to_mono(s, from), end = to_mono(s, to);
	if (begin == ROI_UNKNOWN || end == ROI_UNKNOWN)
		return to_ns(s, ticks);
	double ns = (double)ticks * ((double)(end - begin) / (double)(to - from));
	return ns >= 0 && ns < 1.8e19 ? (uint64_t)(ns + 0.5) : to_ns(s, ticks);
}
