/* The state of the process, the api table, and the slow way of a mark: the first one in a process
 * or thread, in a forked child, or where the fast way found something unusual. */
#define _GNU_SOURCE
#include "marker/guest.h"
#include "marker/mark.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct guest *guest;
/* Inside the slow way: a mark in a signal handler that interrupts it must not wait for itself. */
static __thread uint32_t mark_inside __attribute__((tls_model("initial-exec")));

static pthread_key_t thread_key;
static uint32_t thread_key_made; /* both survive fork, as the key does */

static void child_starts_anew(void)
{
	if (guest)
		memset(guest, 0, sizeof *guest);
}

/* One struct guest, whoever comes first. NULL: no memory, then marks do nothing. */
static struct guest *guest_find(void)
{
	struct guest *g = GET_ACQUIRE(guest);
	if (g)
		return g;
	g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (g == MAP_FAILED)
		return NULL;
	(void)madvise(g, sizeof *g, MADV_NOHUGEPAGE);
	struct guest *none = NULL;
	if (!__atomic_compare_exchange_n(&guest, &none, g, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		(void)munmap(g, sizeof *g);
		return none;
	}
	/* Linux before 4.14 can't wipe: then fork() tells us, but a bare clone() does not. */
	if (madvise(g, sizeof *g, MADV_WIPEONFORK))
		(void)pthread_atfork(NULL, NULL, child_starts_anew);
	return g;
}

/* ---- threads -------------------------------------------------------------------------------- */

enum live live_kind(void)
{
	return GET(ranges_wanted) ? LIVE_RANGES : clock_is_tsc ? LIVE_TICK : LIVE_MONOTONIC;
}

/* A thread ends: its stream is free for the next one. With an open entry it keeps it, since
 * another thread may still end that. */
static void thread_gone(void *slot)
{
	struct mark_thread *t = slot;
	struct guest *g = GET_ACQUIRE(guest);
	if (!g || t->owner != &mark_self)
		return; /* a slot of the parent's before fork */
	(void)pthread_mutex_lock(&g->lock);
	if (!GET(t->depth)) {
		PUT(t->live, LIVE_NOT);
		PUT(t->used, 0);
		t->owner = NULL;
	}
	(void)pthread_mutex_unlock(&g->lock);
	mark_self = &mark_nobody;
}

static struct mark_thread *slot_find(struct guest *g)
{
	for (uint32_t i = 0; i < g->slots; i++)
		if (!GET(g->threads[i].used))
			return &g->threads[i];
	return g->slots < MAX_THREADS ? &g->threads[g->slots++] : NULL;
}

/* A stream for this thread, if there can be one. Asked again at the 2nd, 4th, 8th, ... entry. */
static void thread_stream(struct guest *g, struct mark_thread *t)
{
	uint32_t tries = ++t->tries;
	if (tries & (tries - 1))
		return;
	struct marklog_stream *s = NULL;
	uint32_t index = g->header->streams;
	int rc = log_stream(g, index, &s);
	if (!s) {
		g->header->overflow_errno = (uint32_t)-rc;
		return;
	}
	t->index = index;
	thread_bind(t, s);
}

/* The calling thread's slot, made when it has none. Called with the lock. */
static struct mark_thread *thread_here(struct guest *g)
{
	struct mark_thread *t = mark_self;
	if (t->owner == &mark_self)
		return t;
	t = slot_find(g);
	if (!t)
		return NULL;
	PUT(t->used, 1);
	t->owner = &mark_self;
	t->tries = 0;
	if (!thread_key_made && !pthread_key_create(&thread_key, thread_gone))
		thread_key_made = 1;
	if (thread_key_made)
		(void)pthread_setspecific(thread_key, t);
	if (g->state == GUEST_LOGGING && !t->stream && !g->together)
		thread_stream(g, t);
	if (t->stream) {
		PUT(t->stream->tenants, GET(t->stream->tenants) + 1);
		PUT(t->live, g->together ? LIVE_NOT : live_kind());
	}
	mark_self = t;
	return t;
}

/* ---- the slow way --------------------------------------------------------------------------- */

static void mark_on(struct mark_thread *t, enum mark what, const char *name)
{
	switch (what) {
	case MARK_BEGIN:
		mark_begin(t);
		break;
	case MARK_END:
		mark_end(t);
		break;
	case MARK_EXCLUDE_BEGIN:
		mark_exclude_begin(t);
		break;
	case MARK_EXCLUDE_END:
		mark_exclude_end(t);
		break;
	case MARK_STEP:
		mark_step(t);
		break;
	case MARK_PHASE_BEGIN:
		mark_phase_begin(t, name);
		break;
	case MARK_PHASE_END:
		mark_phase_end(t);
		break;
	}
}

/* A mark that needs an open entry, and there is none in the whole process. */
static void mark_outside(struct guest *g, enum mark what)
{
	struct marklog_header *h = g->header;
	if (what == MARK_END)
		COUNT(h->unmatched_end);
	else if (what == MARK_EXCLUDE_BEGIN)
		COUNT(h->unmatched_exclude); /* once for the pair */
	else if (what == MARK_PHASE_BEGIN)
		COUNT(h->unmatched_phase);
	else if (what == MARK_STEP)
		COUNT(h->unmatched_step);
}

/* Nothing can be recorded, but entries are counted, and a profiler gets its ranges. */
static void mark_unrecorded(struct guest *g, struct mark_thread *t, enum mark what)
{
	if (!t)
		return;
	uint32_t depth = GET(t->depth);
	bool wanted = GET(ranges_wanted);
	if (what == MARK_BEGIN) {
		PUT(t->depth, depth + 1);
		if (!depth && wanted)
			(void)told_begin(t);
	} else if (what == MARK_END && !depth) {
		if (g->state == GUEST_LOGGING)
			COUNT(g->header->unmatched_end);
	} else if (what == MARK_END) {
		PUT(t->depth, depth - 1);
		if (depth > 1)
			return;
		if (g->state == GUEST_LOGGING)
			COUNT(g->header->overflow);
		else if (g->loss)
			COUNT(g->loss->entries);
		if (wanted)
			told_end(t, clock_tick(), t->exclude_depth);
		t->exclude_depth = 0;
	} else if (what == MARK_EXCLUDE_BEGIN && depth && !t->exclude_depth++) {
		if (wanted)
			told_exclude_begin(t, clock_tick());
	} else if (what == MARK_EXCLUDE_END && t->exclude_depth && !--t->exclude_depth) {
		if (wanted)
			(void)told_exclude_end(t);
	}
}

/* Inside a library that the program loads and unloads: stay, since threads will call back when
 * they end. dlopen and dladdr are asked for by name, see device.c. */
static void stay_loaded(void)
{
	Dl_info info;
	void *handle;
	int (*address)(const void *, Dl_info *) =
		(int (*)(const void *, Dl_info *))symbol_in_program("dladdr");
	void *(*open_again)(const char *, int) =
		(void *(*)(const char *, int))symbol_in_program("dlopen");
	if (!address || !open_again || !address(&guest, &info) || !info.dli_fname)
		return;
	/* Fails for the program itself, which stays anyway. Never closed, on purpose. */
	handle = open_again(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	(void)handle;
}

static void guest_start(struct guest *g)
{
	stay_loaded();
	ranges_find();
	if (!log_wanted()) {
		g->state = GUEST_RANGES;
		return;
	}
	if (!log_open(g)) {
		thread_bind(&g->threads[0], g->threads[0].stream);
		g->state = GUEST_LOGGING;
	} else {
		g->state = g->other ? GUEST_ELSEWHERE : GUEST_FAILED;
	}
}

/* Somebody else says where the region is (collectors/range.c): the program's own BEGIN and END
 * would make it larger. Its steps, phases and excludes are as ever. */
static void nothing(void)
{
}

static const struct roimeter_api *without_region(void)
{
	static struct roimeter_api api;
	static uint32_t made;
	if (!GET_ACQUIRE(made)) { /* with the lock */
		api = roimeter_api_1;
		api.begin_ = api.end_ = nothing;
		PUT_RELEASE(made, 1);
	}
	return &api;
}

static void mark_locked(struct guest *g, enum mark what, const char *name)
{
	if (g->together) {
		struct mark_thread *all = &g->everyone;
		(void)thread_here(g); /* so that the number of threads is right */
		if (what == MARK_BEGIN || GET(all->depth))
			mark_on(all, what, name);
		else
			mark_outside(g, what);
		return;
	}
	struct mark_thread *t = thread_here(g);
	if (!t && what == MARK_END)
		COUNT(g->header->overflow);
	if (t && !t->stream && what == MARK_BEGIN && !GET(t->depth)) {
		thread_stream(g, t);
		PUT(t->live, t->stream ? live_kind() : LIVE_NOT);
	}
	if (!t || !t->stream) {
		mark_unrecorded(g, t, what);
		return;
	}
	if (what != MARK_BEGIN && !GET(t->depth)) {
		if (together_start(g))
			mark_on(&g->everyone, what, name);
		else
			mark_outside(g, what);
		return;
	}
	PUT(t->busy, 1);
	mark_on(t, what, name);
	PUT(t->busy, 0);
}

static void forward(const struct roimeter_api *api, enum mark what, const char *name)
{
	switch (what) {
	case MARK_BEGIN:
		api->begin_();
		break;
	case MARK_END:
		api->end_();
		break;
	case MARK_EXCLUDE_BEGIN:
		api->exclude_begin_();
		break;
	case MARK_EXCLUDE_END:
		api->exclude_end_();
		break;
	case MARK_STEP:
		api->step_();
		break;
	case MARK_PHASE_BEGIN:
		api->phase_begin_(name);
		break;
	case MARK_PHASE_END:
		api->phase_end_();
		break;
	}
}

/* Around everything that takes the lock: a signal handler that marks must not wait for its own
 * thread, and a thread must not be cancelled with the lock in its hands. */
struct inside {
	int saved_errno, cancel;
};

static bool inside_enter(struct inside *i)
{
	struct mark_thread *t = mark_self;
	if (mark_inside || (t != &mark_nobody && GET(t->busy)))
		return false;
	mark_inside = 1;
	i->saved_errno = errno;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &i->cancel);
	return true;
}

static void inside_leave(const struct inside *i)
{
	(void)pthread_setcancelstate(i->cancel, NULL);
	errno = i->saved_errno;
	mark_inside = 0;
}

void mark_slow(enum mark what, const char *name)
{
	struct inside inside;
	struct guest *g = GET_ACQUIRE(guest);
	if (!inside_enter(&inside)) {
		/* A signal handler has interrupted a mark of its own thread. */
		if (what == MARK_END && g && GET(g->header))
			COUNT(g->header->overflow);
		return;
	}
	const struct roimeter_api *other = NULL;
	g = guest_find();
	if (g) {
		(void)pthread_mutex_lock(&g->lock);
		clock_order();
		if (g->state == GUEST_FRESH)
			guest_start(g);
		other = g->other;
		if (g->state == GUEST_LOGGING)
			mark_locked(g, what, name);
		else if (!other)
			mark_unrecorded(g, thread_here(g), what);
		(void)pthread_mutex_unlock(&g->lock);
	}
	inside_leave(&inside);
	if (other)
		forward(other, what, name);
}

const struct roimeter_api *guest_attach(void)
{
	struct inside inside;
	if (!inside_enter(&inside))
		return NULL;
	const struct roimeter_api *api = NULL;
	struct guest *g = guest_find();
	if (g) {
		(void)pthread_mutex_lock(&g->lock);
		if (g->state == GUEST_FRESH)
			guest_start(g);
		bool idle = g->state != GUEST_LOGGING && !g->loss && !GET(ranges_wanted);
		api = g->other ? g->other : idle ? NULL : &roimeter_api_1;
		if (api && range_is_region())
			api = without_region();
		(void)pthread_mutex_unlock(&g->lock);
	}
	inside_leave(&inside);
	return api;
}

/* The library at work may be an older copy, which can't be watched, or has room for one. */
#define KNOWS(api, member)                                                                         \
	((api)->size_ >= __builtin_offsetof(struct roimeter_api, member) + sizeof(api)->member)

static int watch_elsewhere(const struct roimeter_api *other, roimeter_watcher *watcher, bool stop)
{
	if (stop && KNOWS(other, unwatch_))
		return other->unwatch_(watcher);
	return KNOWS(other, watch_) ? other->watch_(stop ? NULL : watcher) : -ENOSYS;
}

static int watch(roimeter_watcher *watcher, bool stop)
{
	struct inside inside;
	if (!inside_enter(&inside))
		return -EDEADLK;
	int rc = -ENOMEM;
	const struct roimeter_api *other = NULL;
	struct guest *g = guest_find();
	if (g) {
		(void)pthread_mutex_lock(&g->lock);
		if (g->state == GUEST_FRESH)
			guest_start(g);
		other = g->other;
		rc = other ? 0 : stop ? watch_stop(g, watcher) : watch_start(g, watcher);
		(void)pthread_mutex_unlock(&g->lock);
	}
	inside_leave(&inside);
	return other ? watch_elsewhere(other, watcher, stop) : rc;
}

int guest_watch(roimeter_watcher *watcher)
{
	return watch(watcher, !watcher);
}

int guest_unwatch(roimeter_watcher *watcher)
{
	return watcher ? watch(watcher, true) : -EINVAL;
}

/* From anywhere, signal handlers included: without a lock. */
void guest_tell(roimeter_watcher *from, const struct roimeter_watched *what)
{
	struct guest *g = GET_ACQUIRE(guest);
	int saved = errno;
	if (g && g->other && KNOWS(g->other, tell_))
		g->other->tell_(from, what);
	else if (g && !g->other)
		watch_tell(g, from, what);
	errno = saved;
}

const unsigned *guest_watchers(void)
{
	struct guest *g = guest_find();
	if (g && g->other)
		return KNOWS(g->other, watchers_) ? g->other->watchers_() : NULL;
	return g ? &g->n_watchers : NULL;
}

int guest_measuring(void)
{
	struct guest *g = GET_ACQUIRE(guest);
	if (g && g->other)
		return g->other->measuring_();
	return g && (g->state == GUEST_LOGGING || g->state == GUEST_RANGES);
}

__attribute__((destructor)) static void guest_exit(void)
{
	struct guest *g = GET_ACQUIRE(guest);
	if (!g || g->state != GUEST_LOGGING)
		return;
	clock_check(g);
	PUT_RELEASE(g->header->exited, 1);
	log_leave(g);
}
