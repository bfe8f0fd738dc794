/* The marks of the program: the marker library at work in it tells them (marker/watch.c). */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct roimeter_api *watched;

uint32_t live_marked;

static bool in_time(const struct roimeter_watched *m)
{
	return m->until_ns_ > m->at_ns_;
}

/* With the lock. The flow is there while state is LIVE_ON. */
static void put(const struct roimeter_watched *m)
{
	struct flow *f = live.flow;
	switch (m->what_) {
	case ROIMETER_WATCH_START_:
		if (m->log_)
			who_take(m->log_);
		break;
	case ROIMETER_WATCH_PAST_REGION_:
		if (in_time(m))
			(void)flow_range(f, false, m->at_ns_, m->until_ns_);
		break;
	case ROIMETER_WATCH_PAST_EXCLUDE_:
		if (in_time(m))
			(void)flow_range(f, true, m->at_ns_, m->until_ns_);
		break;
	case ROIMETER_WATCH_FOLDED_:
		live.regions_folded += m->count_;
		break;
	case ROIMETER_WATCH_BEGIN_:
		live.first_ns = live.first_ns ? live.first_ns : m->at_ns_;
		(void)flow_mark(f, FLOW_BEGIN, m->at_ns_);
		break;
	case ROIMETER_WATCH_END_:
		(void)flow_mark(f, FLOW_END, m->at_ns_);
		live.closed_ns = m->at_ns_;
		break;
	case ROIMETER_WATCH_EXCLUDE_BEGIN_:
		(void)flow_mark(f, FLOW_EXCLUDE_BEGIN, m->at_ns_);
		break;
	case ROIMETER_WATCH_EXCLUDE_END_:
		(void)flow_mark(f, FLOW_EXCLUDE_END, m->at_ns_);
		break;
	case ROIMETER_WATCH_TELLS_:
		for (unsigned i = 0; i <= FLOW_MPI; i++)
			if (m->count_ & 1u << (ROIMETER_WATCH_HOST_IO_ + i))
				flow_host_told(f, (enum flow_host)i);
		break;
	}
	PUT(live.inside, flow_inside(f));
}

/* ---- marks that wait --------------------------------------------------------------------------
 */

/* A mark may come from a signal handler, which must not allocate, and which may have come upon its
 * own thread in the middle of the flow. So it is only written down here, in the hands of whoever
 * has the lock or is interrupted with it; the next one with work for the flow tells it. */
static bool keep(const struct roimeter_watched *m)
{
	uint32_t n = GET(live.n_marks);
	do { /* its place first: a handler that comes upon this takes the next one */
		if (n == LIVE_MARKS)
			return false;
	} while (!__atomic_compare_exchange_n(&live.n_marks, &n, n + 1, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	live.marks[n] = *m;
	return true;
}

/* More may come while these are told. */
void live_marks_tell(void)
{
	uint32_t told = 0, n;
	while ((n = GET_ACQUIRE(live.n_marks)) > 0) {
		for (; told < n; told++)
			if (GET(live.state) == LIVE_ON && live.flow)
				put(&live.marks[told]);
		if (__atomic_compare_exchange_n(&live.n_marks, &n, 0, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return;
	}
}

/* The lock that SOON takes is kept until what it announces has come: nobody waits inside the region
 * for the flow. */
static void take_down(const struct roimeter_watched *m)
{
	bool soon = m->what_ == ROIMETER_WATCH_SOON_;
	int rc = lock_take(&live.lock);
	if (rc == -EDEADLK && live.announced)
		rc = 0;
	if (!rc)
		live.announced = soon;
	if (soon) {
		if (!rc && GET(live.state) == LIVE_ON)
			sample_here(live_now());
		return;
	}
	bool kept = rc != -ETIMEDOUT && keep(m);
	if (!kept && !rc) { /* a thousand marks and no operation */
		live_marks_tell();
		kept = keep(m);
	}
	if (!kept)
		ADD(live.marks_lost, 1);
	if (!rc)
		lock_give(&live.lock);
}

/* What was before, told by watch_ itself. */
static void take_past(const struct roimeter_watched *m)
{
	if (live_lock())
		return;
	if (GET(live.state) == LIVE_ON && live.flow)
		put(m);
	live_unlock();
}

static void watcher(const struct roimeter_watched *m)
{
	int saved = errno;
	bool ended = m->what_ == ROIMETER_WATCH_END_;
	ADD(live_marked, 1);
	if (m->what_ > ROIMETER_WATCH_TELLS_)
		host_take(m);
	else if (m->what_ < ROIMETER_WATCH_SOON_)
		take_past(m);
	else
		take_down(m);
	if (ended && !__atomic_exchange_n(&live.ended, 1, __ATOMIC_RELAXED))
		writer_ring();
	else if (m->what_ == ROIMETER_WATCH_BEGIN_ && GET(live.asleep))
		writer_ring();
	errno = saved;
}

/* ---- finding the library -------------------------------------------------------------------- */

static const struct roimeter_api *api_in(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return library ? dlsym(library, "roimeter_api_1") : NULL;
}

/* Beside this library, or in the folder above. */
static const struct roimeter_api *api_beside(void)
{
	static const char *const places[] = { "", "../" };
	Dl_info info;
	if (!dladdr((void *)(uintptr_t)&api_beside, &info) || !info.dli_fname)
		return NULL;
	const char *slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
		char path[PATH_MAX];
		int n = snprintf(path, sizeof path, "%.*s/%slibroimeter.so.1",
				 (int)(slash - info.dli_fname), info.dli_fname, places[i]);
		const struct roimeter_api *api =
			n > 0 && (size_t)n < sizeof path ? api_in(path) : NULL;
		if (api)
			return api;
	}
	return NULL;
}

static const struct roimeter_api *find(void)
{
	const struct roimeter_api *api = dlsym(RTLD_DEFAULT, "roimeter_api_1");
	const char *name = getenv("ROIMETER_LIBRARY");
	if (!api && name && *name)
		api = api_in(name);
	if (!api)
		api = api_in("libroimeter.so.1");
	return api ? api : api_beside();
}

#define KNOWS(api, member)                                                                         \
	((api)->size_ >= offsetof(struct roimeter_api, member) + sizeof(api)->member)

void live_marks_start(void)
{
	const struct roimeter_api *api = find();
	if (!api) {
		live_note("the marker library (ROIMETER_LIBRARY) is not found, so where the region "
			  "is is not known");
		return;
	}
	(void)api->attach_();
	int rc = KNOWS(api, watch_) ? api->watch_(watcher) : -ENOSYS;
	if (rc == -ENOSYS)
		live_note("the marker library in the program is older than this collector and does "
			  "not tell of marks: where the region is is not known");
	else if (rc)
		live_note("the marks could not be watched, so where the region is is not known: %s",
			  strerror(-rc));
	else
		watched = api;
	if (watched)
		host_start(api, watcher);
	if (live.regions_folded)
		live_note("%" PRIu64 " entries of the region were over before the device was used "
			  "first, and are missing in its numbers",
			  live.regions_folded);
}

void live_marks_stop(void)
{
	if (watched && KNOWS(watched, unwatch_))
		(void)watched->unwatch_(watcher);
	else if (watched)
		(void)watched->watch_(NULL);
}
