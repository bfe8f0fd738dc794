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
	case ROIMETER_WATCH_SOON_:
		sample_here(live_now());
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
	}
	PUT(live.inside, flow_inside(f));
}

/* The lock that SOON takes is kept until what it announces has come: nobody waits inside the region
 * for the flow. */
static void watcher(const struct roimeter_watched *m)
{
	int saved = errno;
	bool announced =
		m->what_ == ROIMETER_WATCH_BEGIN_ || m->what_ == ROIMETER_WATCH_EXCLUDE_END_;
	bool ended = m->what_ == ROIMETER_WATCH_END_;
	if (!announced)
		(void)pthread_mutex_lock(&live.lock);
	if (GET(live.state) == LIVE_ON && live.flow)
		put(m);
	if (m->what_ != ROIMETER_WATCH_SOON_)
		(void)pthread_mutex_unlock(&live.lock);
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

static bool can_watch(const struct roimeter_api *api)
{
	return api->size_ >= offsetof(struct roimeter_api, watch_) + sizeof api->watch_;
}

void live_marks_start(void)
{
	const struct roimeter_api *api = find();
	if (!api) {
		live_note("the marker library (ROIMETER_LIBRARY) is not found, so where the region "
			  "is is not known");
		return;
	}
	(void)api->attach_();
	int rc = can_watch(api) ? api->watch_(watcher) : -ENOSYS;
	if (rc == -ENOSYS)
		live_note("the marker library in the program is older than this collector and does "
			  "not tell of marks: where the region is is not known");
	else if (rc)
		live_note("the marks could not be watched, so where the region is is not known: %s",
			  strerror(-rc));
	else
		watched = api;
	if (live.regions_folded)
		live_note("%" PRIu64 " entries of the region were over before the device was used "
			  "first, and are missing in its numbers",
			  live.regions_folded);
}

void live_marks_stop(void)
{
	if (watched)
		(void)watched->watch_(NULL);
}
