/* Who is told of marks. A collector in this process (watch_ of the api) learns of each region and
 * exclude, so that it can clip what the device does while it happens; a profiler gets ranges.
 *
 * To a collector:
 *   START         first, while no thread is inside a mark: log_ is the log's header
 *   PAST_REGION   an entry that was finished by then: at_ns_ to until_ns_
 *   PAST_EXCLUDE  the same of an exclude, of finished entries and of open ones
 *   FOLDED        count_ entries were finished and are known as a sum only
 *   BEGIN, END    outermost ones of a thread; after START come the BEGINs that are open, in order
 *   EXCLUDE_BEGIN, EXCLUDE_END
 *   SOON          before each BEGIN and EXCLUDE_END, and before its time is taken; that is told
 *                 next, by the same thread. What the collector has to wait for it waits for here,
 *                 where nothing is measured; so it may keep a lock until then
 *
 * at_ns_ is the log's own time in terms of the kernel's clock, which is read right after it: both
 * agree to some 100 ns, also where the processor was taken away in between. END and EXCLUDE_BEGIN
 * are told after their times were taken. When the threads of a process begin to mark together
 * (together.c), ENDs make up for the BEGINs that are one from then on.
 *
 * What is told is told from inside of a mark: the watcher must not mark, and not wait for a thread
 * that does. A forked child has no watcher.
 *
 * Several collectors may watch, each is told all of it, one after the other. They tell each other
 * by the same way what only one of them sees: TELLS says what will come, and is told to those that
 * come later, too; HOST_IO and HOST_MPI are stretches of a thread, told when they end, outside of
 * marks and from any thread or signal handler, so the watcher must not wait there at all. */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <errno.h>

#define STARTED_WITH "roimeter:roi"
#define NEAR_NS 2000

static uint32_t number_of(const struct mark_thread *t)
{
	const struct guest *g = guest;
	return t == &g->everyone ? MAX_THREADS : (uint32_t)(t - g->threads);
}

static void tell(roimeter_watcher *w, const struct mark_thread *t, int what, long long at_ns)
{
	const struct roimeter_watched mark = { .what_ = what,
					       .thread_ = number_of(t),
					       .at_ns_ = at_ns };
	w(&mark);
}

static bool watched(void)
{
	struct guest *g = GET_ACQUIRE(guest);
	return g && GET(g->n_watchers);
}

/* Always in the same order: each may keep a lock from SOON on. */
static void tell_all(const struct mark_thread *t, int what, long long at_ns)
{
	struct guest *g = GET_ACQUIRE(guest);
	for (size_t i = 0; g && i < MAX_WATCHERS; i++) {
		roimeter_watcher *w = GET_ACQUIRE(g->watchers[i]);
		if (w)
			tell(w, t, what, at_ns);
	}
}

/* A tick of just now by the kernel's clock, in ns. Where a mark lost its processor for a while
 * behind its tick, what the clock says then is that much behind the log; so the ticks since are
 * taken off. Their rate is good to 1e-3 or better, of a short while. */
static long long ns_of(uint64_t tick)
{
	if (!clock_is_tsc)
		return (long long)tick;
	const struct guest *g = GET_ACQUIRE(guest);
	double rate = g ? g->ns_per_tick : 0;
	uint64_t before = tick, mono;
	for (int i = 0; i < 5; i++) {
		mono = clock_monotonic_ns();
		uint64_t after = clock_tick();
		if ((double)(after - before) * rate < NEAR_NS)
			break;
		before = after;
	}
	return (long long)mono - (long long)((double)(before - tick) * rate);
}

static uint64_t told_open(const struct mark_thread *t, int what)
{
	bool are = watched();
	if (are)
		tell_all(t, ROIMETER_WATCH_SOON_, 0);
	uint64_t now = clock_tick();
	if (are)
		tell_all(t, what, ns_of(now));
	return now;
}

static void told_close(const struct mark_thread *t, int what, uint64_t now)
{
	if (watched())
		tell_all(t, what, ns_of(now));
}

static bool profiled(void)
{
	return GET(ranges_wanted) & RANGES_PROFILER;
}

uint64_t told_begin(struct mark_thread *t)
{
	if (profiled())
		range_push(STARTED_WITH);
	return told_open(t, ROIMETER_WATCH_BEGIN_);
}

void told_end(struct mark_thread *t, uint64_t now, bool excluding)
{
	if (excluding)
		told_close(t, ROIMETER_WATCH_EXCLUDE_END_, now);
	told_close(t, ROIMETER_WATCH_END_, now);
	if (profiled()) {
		if (excluding)
			range_pop();
		range_pop();
	}
}

void told_exclude_begin(struct mark_thread *t, uint64_t now)
{
	told_close(t, ROIMETER_WATCH_EXCLUDE_BEGIN_, now);
	if (profiled())
		range_push("roimeter:exclude");
}

uint64_t told_exclude_end(struct mark_thread *t)
{
	if (profiled())
		range_pop();
	return told_open(t, ROIMETER_WATCH_EXCLUDE_END_);
}

void told_merged(struct mark_thread *t, uint64_t now, bool excluding)
{
	if (excluding)
		told_close(t, ROIMETER_WATCH_EXCLUDE_END_, now);
	told_close(t, ROIMETER_WATCH_END_, now);
}

/* ---- the past ------------------------------------------------------------------------------- */

/* Ticks to ns by the first reading of the clocks and one of now. */
struct past {
	roimeter_watcher *w;
	uint64_t tick;
	int64_t ns;
	double rate;
};

static long long ns_at(const struct past *p, uint64_t tick)
{
	return p->ns - (int64_t)((double)(int64_t)(p->tick - tick) * p->rate);
}

static void past_start(struct past *p, const struct guest *g)
{
	const struct marklog_pair *first = &g->header->pair[0];
	p->tick = clock_tick();
	p->ns = (int64_t)clock_monotonic_ns();
	uint64_t ticks = p->tick - first->tick;
	p->rate = ticks && clock_is_tsc ? (double)(p->ns - first->mono_ns) / (double)ticks : 1;
}

static void tell_past(const struct past *p, const struct mark_thread *t, int what, uint64_t begin,
		      uint64_t end)
{
	const struct roimeter_watched mark = { .what_ = what,
					       .thread_ = number_of(t),
					       .at_ns_ = ns_at(p, begin),
					       .until_ns_ = ns_at(p, end) };
	if (mark.until_ns_ > mark.at_ns_)
		p->w(&mark);
}

/* All that are still there: of finished entries and of an open one. */
static void tell_excludes(const struct past *p, const struct mark_thread *t)
{
	uint64_t head = t->exclude_head;
	uint64_t from = head > MARKLOG_EXCLUDES ? head - MARKLOG_EXCLUDES : 0;
	for (uint64_t i = from; i < head; i++) {
		const struct marklog_exclude *x = &t->excludes[i % MARKLOG_EXCLUDES];
		tell_past(p, t, ROIMETER_WATCH_PAST_EXCLUDE_, x->begin, x->end);
	}
}

static void tell_entries(const struct past *p, const struct mark_thread *t)
{
	const uint64_t ring = MARKLOG_RECORDS - MARKLOG_KEPT;
	const struct marklog_record *all = t->ring - MARKLOG_KEPT;
	uint64_t folded = t->fold_at - MARKLOG_RECORDS;
	for (uint64_t i = 0; i < t->head; i++) {
		if (i == MARKLOG_KEPT)
			i += folded;
		if (i >= t->head)
			break;
		uint64_t slot = i < MARKLOG_KEPT ? i : MARKLOG_KEPT + (i - MARKLOG_KEPT) % ring;
		tell_past(p, t, ROIMETER_WATCH_PAST_REGION_, all[slot].begin, all[slot].end);
	}
	if (folded)
		p->w(&(struct roimeter_watched){ .what_ = ROIMETER_WATCH_FOLDED_,
						 .thread_ = number_of(t),
						 .count_ = folded });
}

/* The open entry of a thread is told in its turn: marks are told in order of time. */
static const struct mark_thread *first_open(const struct guest *g, uint64_t from, size_t after,
					    size_t *ret_place)
{
	const struct mark_thread *first = NULL;
	for (size_t i = 0; i <= g->slots; i++) {
		const struct mark_thread *t = i < g->slots ? &g->threads[i] : &g->everyone;
		if (!t->stream || !GET(t->depth) || t->begin < from ||
		    (t->begin == from && i < after))
			continue;
		if (!first || t->begin < first->begin) {
			first = t;
			*ret_place = i;
		}
	}
	return first;
}

/* Entries, then what is open. Excludes that are open are told behind all BEGINs, in no order: the
 * watcher takes each as of its time, or as of the last mark. */
static void tell_log(struct past *p, const struct guest *g)
{
	size_t place = 0;
	uint64_t from = 0;
	past_start(p, g);
	for (size_t i = 0; i <= g->slots; i++) {
		const struct mark_thread *t = i < g->slots ? &g->threads[i] : &g->everyone;
		if (!t->stream)
			continue;
		tell_entries(p, t);
		tell_excludes(p, t);
	}
	for (const struct mark_thread *t; (t = first_open(g, from, place, &place)); place++) {
		from = t->begin;
		tell(p->w, t, ROIMETER_WATCH_SOON_, 0);
		tell(p->w, t, ROIMETER_WATCH_BEGIN_, ns_at(p, t->begin));
	}
	for (size_t i = 0; i <= g->slots; i++) {
		const struct mark_thread *t = i < g->slots ? &g->threads[i] : &g->everyone;
		if (t->stream && GET(t->depth) && GET(t->exclude_depth))
			tell(p->w, t, ROIMETER_WATCH_EXCLUDE_BEGIN_, ns_at(p, t->exclude_begin));
	}
}

/* Entries of which there is no record: when they began is not known. */
static void tell_unrecorded(roimeter_watcher *w, const struct guest *g)
{
	for (size_t i = 0; i < g->slots; i++) {
		const struct mark_thread *t = &g->threads[i];
		if (t->stream || !GET(t->depth))
			continue;
		tell(w, t, ROIMETER_WATCH_SOON_, 0);
		tell(w, t, ROIMETER_WATCH_BEGIN_, (long long)clock_monotonic_ns());
		if (GET(t->exclude_depth))
			tell(w, t, ROIMETER_WATCH_EXCLUDE_BEGIN_, (long long)clock_monotonic_ns());
	}
}

static void tell_now(struct guest *g, roimeter_watcher *w)
{
	struct past p = { .w = w };
	w(&(struct roimeter_watched){ .what_ = ROIMETER_WATCH_START_,
				      .at_ns_ = (long long)clock_monotonic_ns(),
				      .log_ = g->state == GUEST_LOGGING ? g->header : NULL });
	if (g->state == GUEST_LOGGING)
		tell_log(&p, g);
	tell_unrecorded(w, g);
	if (g->tells)
		w(&(struct roimeter_watched){ .what_ = ROIMETER_WATCH_TELLS_, .count_ = g->tells });
}

/* Its place; -EBUSY: there is none. */
static int place_of(const struct guest *g, roimeter_watcher *w)
{
	for (int i = 0; i < MAX_WATCHERS; i++)
		if (g->watchers[i] == w)
			return i;
	return -EBUSY;
}

int watch_start(struct guest *g, roimeter_watcher *w)
{
	if (place_of(g, w) >= 0)
		return 0;
	int place = place_of(g, NULL);
	if (place < 0)
		return place;
	if (!threads_hold(g))
		return -EAGAIN;
	tell_now(g, w);
	PUT(ranges_wanted, GET(ranges_wanted) | RANGES_WATCHER);
	PUT_RELEASE(g->watchers[place], w);
	PUT(g->n_watchers, g->n_watchers + 1);
	threads_release(g);
	return 0;
}

int watch_stop(struct guest *g, roimeter_watcher *w)
{
	if (!threads_hold(g))
		return -EAGAIN;
	for (int i = 0; i < MAX_WATCHERS; i++)
		if (g->watchers[i] && (!w || g->watchers[i] == w)) {
			PUT_RELEASE(g->watchers[i], NULL);
			PUT(g->n_watchers, g->n_watchers - 1);
		}
	if (!g->n_watchers)
		PUT(ranges_wanted, GET(ranges_wanted) & ~(uint32_t)RANGES_WATCHER);
	threads_release(g);
	return 0;
}

void watch_tell(struct guest *g, roimeter_watcher *from, const struct roimeter_watched *what)
{
	if (what->what_ == ROIMETER_WATCH_TELLS_)
		(void)__atomic_fetch_or(&g->tells, (uint64_t)what->count_, __ATOMIC_RELAXED);
	for (size_t i = 0; i < MAX_WATCHERS; i++) {
		roimeter_watcher *w = GET_ACQUIRE(g->watchers[i]);
		if (w && w != from)
			w(what);
	}
}
