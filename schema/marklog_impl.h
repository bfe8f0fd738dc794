/* Shared by the files that read the mark log. */
#ifndef SCHEMA_MARKLOG_IMPL_H
#define SCHEMA_MARKLOG_IMPL_H

#include "schema/marklog.h"

/* A file being read. */
struct source {
	const unsigned char *bytes;
	size_t n;
	struct arena *arena;
	struct roi_log *log;
	struct marklog_header h; /* in this machine's order */
	struct marklog_pair *pairs;
	size_t n_pairs;
	double rate; /* ns for a tick, over all pairs */
	bool failed; /* out of memory */
};

static inline uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get64(const unsigned char *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

#define AT32(base, type, member) get32((base) + offsetof(type, member))
#define AT64(base, type, member) get64((base) + offsetof(type, member))

/* The first damage is the one that is told. */
static inline void source_damaged(struct source *s, const char *sentence)
{
	if (!s->log->damage)
		s->log->damage = sentence;
}

/* marklog_clock.c: the clock's readings. -EINVAL: there is none; -ENOMEM. */
int source_clock(struct source *s);
/* Ticks to CLOCK_MONOTONIC and CLOCK_REALTIME, or ROI_UNKNOWN; a duration by the mean rate; a
 * duration that lay between two ticks by the rate there. */
int64_t to_mono(const struct source *s, uint64_t tick);
int64_t to_real(const struct source *s, uint64_t tick);
uint64_t to_ns(const struct source *s, uint64_t ticks);
uint64_t ns_between(const struct source *s, uint64_t ticks, uint64_t from, uint64_t to);
/* Does the tick lie within what the readings can speak of? */
bool tick_sane(const struct source *s, uint64_t tick);

#endif
