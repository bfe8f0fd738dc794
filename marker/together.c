/* END came on a thread that has no open entry while another has one. From then on the threads of
 * this process mark in one stream, under the lock: it opens with the first BEGIN and closes with
 * the last END, on whatever thread. There is no way back. */
#define _GNU_SOURCE
#include "marker/guest.h"
#include "marker/mark.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAIT_NS 200000000 /* for threads that are inside a mark, which takes some ns */

static bool anything_open(struct guest *g)
{
	for (uint32_t i = 0; i < g->slots; i++)
		if (GET(g->threads[i].depth) && g->threads[i].stream)
			return true;
	return false;
}

static void all_live(struct guest *g, enum live live)
{
	for (uint32_t i = 0; i < g->slots; i++) {
		struct mark_thread *t = &g->threads[i];
		PUT(t->live, t->used && t->stream ? live : LIVE_NOT);
	}
}

/* After this no thread is inside a mark, or comes into one the fast way. */
static bool all_outside(struct guest *g)
{
	all_live(g, LIVE_NOT);
	/* Every thread either sees that live is gone, or its busy is visible to us. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) &&
	    (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	     syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))) {
		/* Not offered here: a store is visible everywhere long before a millisecond is
		 * over. */
		struct timespec ms = { .tv_nsec = 1000000 };
		(void)nanosleep(&ms, NULL);
	}
	uint64_t until = clock_monotonic_ns() + WAIT_NS;
	for (uint32_t i = 0; i < g->slots; i++)
		while (GET_ACQUIRE(g->threads[i].busy)) {
			if (clock_monotonic_ns() > until)
				return false; /* a stopped thread; let it be */
			(void)sched_yield();
		}
	return true;
}

bool threads_hold(struct guest *g)
{
	if (all_outside(g))
		return true;
	threads_release(g);
	return false;
}

void threads_release(struct guest *g)
{
	all_live(g, g->together ? LIVE_NOT : live_kind());
}

/* The open entries of all threads become one: the earliest begin, all depths, all excludes. */
static void merge(struct guest *g)
{
	struct mark_thread *all = &g->everyone;
	for (uint32_t i = 0; i < g->slots; i++) {
		struct mark_thread *t = &g->threads[i];
		if (!t->depth || !t->stream)
			continue;
		if (!all->depth || t->begin < all->begin) {
			all->begin = t->begin;
			all->step_entry = t->step_entry == t->head + 1;
			all->step_last = t->step_last;
			all->step_excluded = t->step_excluded;
		}
		if (t->exclude_depth &&
		    (!all->exclude_depth || t->exclude_begin < all->exclude_begin))
			all->exclude_begin = t->exclude_begin;
		all->depth += t->depth;
		all->exclude_depth += t->exclude_depth;
		all->excluded += t->excluded;
		all->excludes_n += t->excludes_n;
		for (uint32_t k = 0; k < t->phase_depth && all->phase_depth < PHASE_DEPTH; k++)
			all->phases[all->phase_depth++] = t->phases[k];
	}
	PUT(all->stream->open_begin, all->begin);
	PUT(all->stream->exclude_begin, all->exclude_depth ? all->exclude_begin : 0);
	PUT_RELEASE(all->stream->begun, 1);
	uint32_t merged = 0;
	bool excluded = false; /* by one of those before */
	for (uint32_t i = 0; i < g->slots; i++) {
		struct mark_thread *t = &g->threads[i];
		if (!t->depth || !t->stream)
			continue;
		if (merged++ && GET(ranges_wanted))
			told_merged(t, clock_tick(), excluded && t->exclude_depth);
		excluded |= t->exclude_depth > 0;
		PUT_RELEASE(t->stream->begun, t->head);
		PUT(t->stream->exclude_begin, 0);
		PUT(t->depth, 0);
		PUT(t->exclude_depth, 0);
		t->phase_depth = 0;
	}
}

bool together_start(struct guest *g)
{
	if (!anything_open(g))
		return false;
	struct marklog_stream *s = g->everyone.stream;
	if (!s) {
		int rc = log_stream(g, g->header->streams, &s);
		if (!s) {
			g->header->overflow_errno = (uint32_t)-rc;
			return false;
		}
		thread_bind(&g->everyone, s);
	}
	if (!threads_hold(g))
		return false;
	if (!anything_open(g)) {
		threads_release(g);
		return false;
	}
	PUT(s->shared, 1);
	merge(g);
	g->together = 1;
	return true;
}
