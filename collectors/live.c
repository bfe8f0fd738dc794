/* What live collectors share: start, the flow and its lock, notes. */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#define CPU_TIMES 61 /* a prime: what comes by turns is met alike */

struct live live;

int64_t live_now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool live_is_on(void)
{
	return GET_ACQUIRE(live.state) == LIVE_ON && live.pid == getpid();
}

int live_lock(void)
{
	int rc = lock_take(&live.lock);
	if (!rc) {
		live_marks_tell();
		host_tell();
	}
	return rc;
}

void live_unlock(void)
{
	live_marks_tell();
	lock_give(&live.lock);
}

/* ---- start ---------------------------------------------------------------------------------- */

/* In a profiled execution, of this collector; and never in a set-user-id program. */
static bool wanted(const struct live_options *o)
{
	const char *exec = getenv("ROIMETER_EXEC"), *collect = getenv("ROIMETER_COLLECT");
	return !getauxval(AT_SECURE) && exec && strncmp(exec, "profiled", 8) == 0 &&
	       live_wanted(collect, o->collector);
}

static int make_flow(void)
{
	const struct flow_options o = {
		.observes = live.o.observes,
		.keep_busy = true,
		.calls = live.o.calls,
		.threads = !live.o.picture,
	};
	return flow_new(&live.flow, &o, NULL);
}

static int start(const struct live_options *o)
{
	if (!wanted(o))
		return -ENOENT;
	live.o = *o;
	live.clock_offset_ns = live.clock_drift_ns = live.clock_error_ns = (double)NAN;
	(void)snprintf(live.runtime, sizeof live.runtime, "%s", o->runtime ? o->runtime : "");
	int rc = who_find();
	if (!rc)
		rc = make_flow();
	if (rc)
		return rc;
	exits_watch();
	PUT_RELEASE(live.state, LIVE_ON);
	live_marks_start();
	writer_start();
	return 0;
}

int live_start(const struct live_options *o)
{
	static uint64_t starting;
	int saved = errno;
	if (lock_take(&starting)) /* a child, forked in the middle of its parent's start */
		return -ENOENT;
	if (live.pid != getpid()) {
		live.pid = getpid();
		live.rc = start(o);
	}
	int rc = live.rc;
	lock_give(&starting);
	errno = saved;
	return rc;
}

void live_refuse(const char *status, const char *why_format, ...)
{
	int saved = errno;
	va_list args;
	if (!live_is_on())
		return;
	if (live_lock() == 0) {
		(void)snprintf(live.status, sizeof live.status, "%s", status);
		va_start(args, why_format);
		(void)vsnprintf(live.why, sizeof live.why, why_format, args);
		va_end(args);
		live_unlock();
		(void)live_write(LIVE_MORE);
	}
	errno = saved;
}

/* ---- the flow --------------------------------------------------------------------------------
 */

/* A child of fork is not LIVE_ON, so that nobody need ask the kernel who this is. */
struct flow *live_take(void)
{
	if (GET_ACQUIRE(live.state) != LIVE_ON)
		return NULL;
	int saved = errno, rc = live_lock();
	errno = saved;
	if (rc)
		return NULL;
	if (GET(live.state) == LIVE_ON)
		return live.flow;
	live_unlock();
	return NULL;
}

void live_give(struct flow *f)
{
	if (f)
		live_unlock();
}

void live_pending(int64_t change)
{
	ADD(live.pending, change);
}

/* ---- what is told once ------------------------------------------------------------------------
 */

static void note(const char *text)
{
	for (size_t i = 0; i < live.n_notes; i++)
		if (strcmp(live.notes[i], text) == 0)
			return;
	const char *copy = live.n_notes < LIVE_NOTES ? arena_strdup(&live.texts, text) : NULL;
	if (copy)
		live.notes[live.n_notes++] = copy;
	else
		live.notes_left_out++;
}

void live_note(const char *format, ...)
{
	char text[512];
	int saved = errno;
	va_list args;
	if (!live_is_on())
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (live_lock() == 0) {
		note(text);
		live_unlock();
	}
	errno = saved;
}

void live_runtime(const char *runtime)
{
	if (!live_is_on() || live_lock())
		return;
	(void)snprintf(live.runtime, sizeof live.runtime, "%s", runtime);
	live_unlock();
}

void live_clock(double offset_ns, double drift_ns, double error_ns)
{
	if (!live_is_on() || live_lock())
		return;
	live.clock_offset_ns = offset_ns;
	live.clock_drift_ns = drift_ns;
	live.clock_error_ns = error_ns;
	live_unlock();
}

/* ---- what it costs ---------------------------------------------------------------------------
 */

int64_t live_cpu_begin(void)
{
	struct timespec t;
	int saved = errno;
	int rc = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	errno = saved;
	return rc ? 0 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void cpu_add(int64_t ns)
{
	if (ns <= 0)
		return;
	ADD(live.cpu_ns, ns);
	if (GET(live.inside))
		ADD(live.roi_cpu_ns, ns);
}

void live_cpu_end(int64_t begun)
{
	cpu_add(live_cpu_begin() - begun);
}

int64_t live_cpu_sometimes(void)
{
	static uint32_t times;
	return __atomic_fetch_add(&times, 1, __ATOMIC_RELAXED) % CPU_TIMES ? 0 : live_cpu_begin();
}

void live_cpu_sometimes_end(int64_t begun)
{
	if (begun)
		cpu_add((live_cpu_begin() - begun) * CPU_TIMES);
}
