/* The fast way of a mark: on the calling thread's own state, if that is live. */
#define _GNU_SOURCE
#include "marker/mark.h"

struct mark_thread mark_nobody = { .busy = 1 };
__thread struct mark_thread *mark_self __attribute__((tls_model("initial-exec"))) = &mark_nobody;

/* Claim the thread's state: first busy, then a look at live. Whoever wants all threads to mark
 * together takes live away first and then waits until busy is 0; membarrier(2) on its side saves
 * the fence on this one. In a forked child both are wiped, so it goes the slow way. */
static inline bool claim(struct mark_thread *t, enum live *ret_live)
{
	if (UNLIKELY(GET(t->busy)))
		return false;
	PUT(t->busy, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*ret_live = GET(t->live);
	return true;
}

static inline void leave(struct mark_thread *t)
{
	PUT_RELEASE(t->busy, 0);
}

static inline struct mark_thread *enter(void)
{
	struct mark_thread *t = mark_self;
	enum live live;
	if (UNLIKELY(!claim(t, &live)))
		return NULL;
	if (LIKELY(live != LIVE_NOT))
		return t;
	leave(t);
	return NULL;
}

/* BEGIN and END have three ways: all as usual, which is written out with as few instructions as
 * can be; something unusual on the own state; the slow way. */
static __attribute__((noinline)) void begin_otherwise(struct mark_thread *t)
{
	if (GET(t->live) == LIVE_NOT) {
		leave(t);
		mark_slow(MARK_BEGIN, NULL);
		return;
	}
	mark_begin(t);
	leave(t);
}

static __attribute__((noinline)) void begin_monotonic(struct mark_thread *t)
{
	entry_open(t, clock_monotonic_ns());
	leave(t);
}

static void begin(void)
{
	struct mark_thread *t = mark_self;
	enum live live;
	if (UNLIKELY(!claim(t, &live))) {
		mark_slow(MARK_BEGIN, NULL);
	} else if (LIKELY(live == LIVE_TICK && !GET(t->depth))) {
		entry_open(t, clock_counter());
		leave(t);
	} else if (live == LIVE_MONOTONIC && !GET(t->depth)) {
		begin_monotonic(t);
	} else {
		begin_otherwise(t);
	}
}

static __attribute__((noinline)) void end_otherwise(struct mark_thread *t)
{
	if (GET(t->live) == LIVE_NOT || !GET(t->depth)) {
		leave(t);
		mark_slow(MARK_END, NULL);
		return;
	}
	mark_end(t);
	leave(t);
}

static __attribute__((noinline)) void end_late_and_leave(struct mark_thread *t, uint64_t now)
{
	end_late(t, now);
	leave(t);
}

static inline void end_usual(struct mark_thread *t, uint64_t now)
{
	if (entry_close(t, now))
		end_late_and_leave(t, now);
	else
		leave(t);
}

static inline bool ends_usually(const struct mark_thread *t)
{
	return LIKELY(GET(t->depth) == 1 && !(GET(t->exclude_depth) | t->phase_depth));
}

static __attribute__((noinline)) void end_monotonic(struct mark_thread *t)
{
	end_usual(t, clock_monotonic_ns());
}

static void end(void)
{
	struct mark_thread *t = mark_self;
	enum live live;
	if (UNLIKELY(!claim(t, &live)))
		mark_slow(MARK_END, NULL);
	else if (LIKELY(live == LIVE_TICK && ends_usually(t)))
		end_usual(t, clock_counter());
	else if (live == LIVE_MONOTONIC && ends_usually(t))
		end_monotonic(t);
	else
		end_otherwise(t);
}

/* The others need an open entry. If this thread has none, another may. */
static inline struct mark_thread *enter_open(enum mark what, const char *name)
{
	struct mark_thread *t = enter();
	if (LIKELY(t)) {
		if (LIKELY(GET(t->depth)))
			return t;
		leave(t);
	}
	mark_slow(what, name);
	return NULL;
}

static void exclude_begin(void)
{
	struct mark_thread *t = enter_open(MARK_EXCLUDE_BEGIN, NULL);
	if (t) {
		mark_exclude_begin(t);
		leave(t);
	}
}

static void exclude_end(void)
{
	struct mark_thread *t = enter_open(MARK_EXCLUDE_END, NULL);
	if (t) {
		mark_exclude_end(t);
		leave(t);
	}
}

static void step(void)
{
	struct mark_thread *t = enter_open(MARK_STEP, NULL);
	if (t) {
		mark_step(t);
		leave(t);
	}
}

static void phase_begin(const char *name)
{
	struct mark_thread *t = enter_open(MARK_PHASE_BEGIN, name);
	if (t) {
		mark_phase_begin(t, name);
		leave(t);
	}
}

static void phase_end(void)
{
	struct mark_thread *t = enter_open(MARK_PHASE_END, NULL);
	if (t) {
		mark_phase_end(t);
		leave(t);
	}
}

const struct roimeter_api roimeter_api_1 __attribute__((visibility("default"))) = {
	.size_ = sizeof(struct roimeter_api),
	.version_ = 1,
	.attach_ = guest_attach,
	.begin_ = begin,
	.end_ = end,
	.exclude_begin_ = exclude_begin,
	.exclude_end_ = exclude_end,
	.step_ = step,
	.phase_begin_ = phase_begin,
	.phase_end_ = phase_end,
	.sync_ = device_sync,
	.measuring_ = guest_measuring,
	.watch_ = guest_watch,
	.unwatch_ = guest_unwatch,
	.tell_ = guest_tell,
	.watchers_ = guest_watchers,
};
