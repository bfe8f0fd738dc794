/* The marks, on the state of one thread (or of the process, when its threads mark together). The
 * caller owns that state for the time of the call. No lock, no system call, no read-modify-write
 * of shared memory; what is visible in the log is published by the last store of each. */
#ifndef MARKER_MARK_H
#define MARKER_MARK_H

#include "marker/guest.h"

static inline uint64_t excluded_until(const struct mark_thread *t, uint64_t now)
{
	uint64_t open = GET(t->exclude_depth) ? now - GET(t->exclude_begin) : 0;
	return GET(t->excluded) + open;
}

/* The parts that every outermost BEGIN and END has. */
static inline void entry_open(struct mark_thread *t, uint64_t now)
{
	struct marklog_stream *s = t->stream;
	PUT(t->depth, 1);
	PUT(t->begin, now);
	PUT(s->open_begin, now);
	PUT_RELEASE(s->begun, t->head + 1);
}

/* True when something is due that is not due each time: see end_late(). */
static inline bool entry_close(struct mark_thread *t, uint64_t now)
{
	struct marklog_record *r = t->next;
	uint64_t head = t->head + 1;
	uint32_t excludes = GET(t->excludes_n);
	PUT(t->depth, 0);
	PUT(r->begin, GET(t->begin));
	PUT(r->end, now);
	PUT(r->excluded, GET(t->excluded));
	PUT(r->excludes, excludes);
	PUT(r->check, (uint32_t)head);
	PUT_RELEASE(t->stream->head, head);
	t->head = head;
	t->next = r + 1;
	if (UNLIKELY(excludes)) {
		PUT(t->excluded, 0);
		PUT(t->excludes_n, 0);
	}
	return UNLIKELY((head >= t->turn_at) | (now >= t->pair_at));
}

static inline void mark_begin(struct mark_thread *t)
{
	uint32_t depth = GET(t->depth);
	if (depth) {
		PUT(t->depth, depth + 1);
		return;
	}
	entry_open(t, UNLIKELY(GET(ranges_wanted)) ? told_begin(t) : clock_tick());
}

static inline void exclude_close(struct mark_thread *t, uint64_t now)
{
	struct marklog_stream *s = t->stream;
	uint64_t begin = GET(t->exclude_begin);
	uint64_t head = t->exclude_head++;
	struct marklog_exclude *x = &t->excludes[head % MARKLOG_EXCLUDES];
	PUT(x->begin, begin);
	PUT(x->end, now);
	PUT_RELEASE(s->exclude_head, head + 1);
	PUT(t->excluded, GET(t->excluded) + (now - begin));
	PUT(t->excludes_n, GET(t->excludes_n) + 1);
	PUT_RELEASE(s->exclude_begin, 0);
}

void end_odd(struct mark_thread *t, uint64_t now);  /* an exclude or a phase is still open */
void end_late(struct mark_thread *t, uint64_t now); /* the ring is full, or a clock pair is due */

static inline void mark_end(struct mark_thread *t)
{
	uint32_t depth = GET(t->depth);
	if (depth > 1) {
		PUT(t->depth, depth - 1);
		return;
	}
	uint64_t now = clock_tick();
	bool excluding = GET(t->exclude_depth);
	if (excluding || t->phase_depth)
		end_odd(t, now);
	bool late = entry_close(t, now);
	if (UNLIKELY(GET(ranges_wanted)))
		told_end(t, now, excluding);
	if (late)
		end_late(t, now);
}

static inline void mark_exclude_begin(struct mark_thread *t)
{
	uint32_t depth = GET(t->exclude_depth);
	if (depth) {
		PUT(t->exclude_depth, depth + 1);
		return;
	}
	uint64_t now = clock_tick();
	PUT(t->exclude_begin, now);
	PUT(t->exclude_depth, 1);
	PUT_RELEASE(t->stream->exclude_begin, now);
	if (UNLIKELY(GET(ranges_wanted)))
		told_exclude_begin(t, now);
}

static inline void mark_exclude_end(struct mark_thread *t)
{
	uint32_t depth = GET(t->exclude_depth);
	if (UNLIKELY(!depth)) {
		COUNT(guest->header->unmatched_exclude);
		return;
	}
	PUT(t->exclude_depth, depth - 1);
	if (depth > 1)
		return;
	exclude_close(t, UNLIKELY(GET(ranges_wanted)) ? told_exclude_end(t) : clock_tick());
}

static inline void mark_step(struct mark_thread *t)
{
	uint64_t now = clock_tick();
	uint64_t excluded = excluded_until(t, now);
	if (t->step_entry != t->head + 1) { /* the first one in this entry */
		t->step_entry = t->head + 1;
		t->step_last = GET(t->begin);
		t->step_excluded = 0;
	}
	uint64_t gross = now - t->step_last;
	uint64_t less = excluded - t->step_excluded;
	step_add(t, gross > less ? gross - less : 0, guest->ns_per_tick);
	t->step_last = now;
	t->step_excluded = excluded;
}

static inline void mark_phase_begin(struct mark_thread *t, const char *name)
{
	uint32_t depth = t->phase_depth++;
	if (depth >= PHASE_DEPTH)
		return; /* counted where it ends */
	struct open_phase *p = &t->phases[depth];
	p->index = phase_index(guest->header, name);
	p->begin = clock_tick();
	p->excluded = excluded_until(t, p->begin);
}

static inline void phase_close(struct mark_thread *t, uint64_t now)
{
	uint32_t depth = --t->phase_depth;
	if (UNLIKELY(depth >= PHASE_DEPTH)) {
		COUNT(guest->header->unmatched_phase);
		return;
	}
	const struct open_phase *p = &t->phases[depth];
	uint64_t gross = now - p->begin, less = excluded_until(t, now) - p->excluded;
	phase_add(t, p->index, gross > less ? gross - less : 0);
}

static inline void mark_phase_end(struct mark_thread *t)
{
	if (UNLIKELY(!t->phase_depth))
		COUNT(guest->header->unmatched_phase);
	else
		phase_close(t, clock_tick());
}

#endif
