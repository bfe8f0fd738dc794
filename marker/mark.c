/* The fast way of a mark: on the calling thread's own state, if that is live. */
#define _GNU_SOURCE
#include "marker/mark.h"

/* Claim the thread's state: first busy, then a look at live. Whoever wants all threads to mark
 * together takes live away first and then waits until busy is 0; membarrier(2) on its side saves
 * the fence on this one. In a forked child both are wiped, so it goes the slow way. */
static inline struct mark_thread *enter(void)
{
	struct mark_thread *t = mark_self;
	if (UNLIKELY(!t || GET(t->busy)))
		return NULL;
	PUT(t->busy, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (LIKELY(GET(t->live)))
		return t;
	PUT(t->busy, 0);
	return NULL;
}

static inline void leave(struct mark_thread *t)
{
	PUT_RELEASE(t->busy, 0);
}

static void begin(void)
{
	struct mark_thread *t = enter();
	if (UNLIKELY(!t)) {
		mark_slow(MARK_BEGIN, NULL);
		return;
	}
	mark_begin(t);
	leave(t);
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

static void end(void)
{
	struct mark_thread *t = enter_open(MARK_END, NULL);
	if (t) {
		mark_end(t);
		leave(t);
	}
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
	.size = sizeof(struct roimeter_api),
	.version = 1,
	.attach = guest_attach,
	.begin = begin,
	.end = end,
	.exclude_begin = exclude_begin,
	.exclude_end = exclude_end,
	.step = step,
	.phase_begin = phase_begin,
	.phase_end = phase_end,
	.sync = device_sync,
	.measuring = guest_measuring,
};
