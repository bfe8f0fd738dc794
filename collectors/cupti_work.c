/* Our own thread, which does what may not be done in a callback for buffers; flushes; and the end.
 *
 * `busy` is held around each call that makes libcupti deliver buffers. The end takes it for good,
 * so that no thread of ours is inside libcupti while the process takes that apart. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "collectors/cupti_impl.h"
#include "collectors/live.h"

#define PERIOD_S 1 /* what a process that is killed may lose */
#define FLUSH_APART_NS 20000000
#define END_WAIT_S 5        /* for a flush that is under way */
#define MISSING_WAIT_MS 500 /* for buffers that a thread of libcupti has */
#define LIMIT_FACTOR 4      /* by which the device's buffers are raised, once */

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static pthread_cond_t wake;
static bool woken;
static bool running, ending, ended, flush_wanted;
static int64_t flushed_ns;
static int flush_result;
static uint64_t untimed_seen;

void cupti_work_wake(void)
{
	if (!__atomic_load_n(&running, __ATOMIC_ACQUIRE))
		return;
	(void)pthread_mutex_lock(&wake_lock);
	woken = true;
	(void)pthread_cond_signal(&wake);
	(void)pthread_mutex_unlock(&wake_lock);
}

/* False: nobody woke us, a period has passed. By a clock that nobody sets. */
static bool sleep_a_period(void)
{
	struct timespec until;
	int rc = 0;
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PERIOD_S;
	(void)pthread_mutex_lock(&wake_lock);
	while (!woken && !rc)
		rc = pthread_cond_timedwait(&wake, &wake_lock, &until);
	bool was = woken;
	woken = false;
	(void)pthread_mutex_unlock(&wake_lock);
	return was;
}

/* Time stamps are lost when the buffers on the device are full. */
static void raise_limit(void)
{
	static bool done;
	size_t limit = 0, n = sizeof limit;
	if (done)
		return;
	done = true;
	bool read = cupti.get_attribute && cupti.set_attribute &&
		    cupti.get_attribute(CUPTI_ATTRIBUTE_DEVICE_POOL_LIMIT, &n, &limit) == CUPTI_OK;
	limit *= LIMIT_FACTOR;
	n = sizeof limit;
	if (read && limit &&
	    cupti.set_attribute(CUPTI_ATTRIBUTE_DEVICE_POOL_LIMIT, &n, &limit) == CUPTI_OK)
		live_note("the driver began to lose times of operations; the limit of its buffers "
			  "on the "
			  "device was raised to %zu",
			  limit);
	else
		live_note("the driver began to lose times of operations; the limit of its buffers "
			  "on the "
			  "device could not be raised");
}

/* Under busy. */
static void look_after(void)
{
	static bool driver_off, told_refused;
	char text[48];
	uint64_t untimed = cupti_untimed();
	if (cupti_driver_calls_idle() && !driver_off && cupti.disable) {
		driver_off = true;
		if (cupti_has(CUPTI_KIND_DRIVER))
			(void)cupti.disable(CUPTI_KIND_DRIVER);
	}
	if (untimed > untimed_seen)
		raise_limit();
	untimed_seen = untimed;
	if (cupti_pool_refused() && !told_refused) {
		told_refused = true;
		(void)cupti_pool_text(text, sizeof text);
		live_note("all of CUPTI's buffers (%s) were in use when it asked for one more: "
			  "records "
			  "were lost; set ROIMETER_CUPTI_BUFFERS to more or larger ones",
			  text);
	}
}

static void *work(void *arg)
{
	const struct timespec pause = { .tv_nsec = FLUSH_APART_NS };
	(void)arg;
	live_thread();
	for (;;) {
		bool early = sleep_a_period();
		bool wanted = __atomic_exchange_n(&flush_wanted, false, __ATOMIC_ACQ_REL);
		if (wanted)
			(void)nanosleep(&pause, NULL);
		if (!cupti_on() || __atomic_load_n(&ending, __ATOMIC_ACQUIRE) || live_alone())
			return NULL;
		if (pthread_mutex_lock(&busy))
			continue;
		if (cupti_on() && !__atomic_load_n(&ending, __ATOMIC_ACQUIRE)) {
			int64_t cpu = live_cpu_begin();
			look_after();
			if ((!early || wanted || cupti_pool_refused()) && cupti_pool_changed())
				(void)cupti.flush_all(0);
			live_cpu_end(cpu);
		}
		(void)pthread_mutex_unlock(&busy);
	}
}

int cupti_work_start(void)
{
	pthread_attr_t a;
	pthread_t t;
	sigset_t all, old;
	pthread_condattr_t monotonic;
	if (pthread_condattr_init(&monotonic) || pthread_attr_init(&a))
		return -ENOMEM;
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&wake, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	(void)pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&a, 256 << 10);
	/* The program's signals are for the program's threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&t, &a, work, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&a);
	__atomic_store_n(&running, rc == 0, __ATOMIC_RELEASE);
	return -rc;
}

static bool hold(int seconds)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	int64_t until = cupti_clock_now() + seconds * INT64_C(1000000000);
	int rc = pthread_mutex_trylock(&busy);
	while (rc == EBUSY && cupti_clock_now() < until) {
		(void)nanosleep(&pause, NULL);
		rc = pthread_mutex_trylock(&busy);
	}
	return rc == 0;
}

static void settle_calls(void)
{
	struct flow *f = live_take();
	if (!f)
		return;
	cupti_calls_settle(f);
	live_give(f);
}

/* A region that is entered ten thousand times a second is not flushed as often. */
static bool too_soon(void)
{
	int64_t now = cupti_clock_now();
	if (now - __atomic_load_n(&flushed_ns, __ATOMIC_RELAXED) < FLUSH_APART_NS) {
		__atomic_store_n(&flush_wanted, true, __ATOMIC_RELEASE);
		cupti_work_wake();
		return true;
	}
	__atomic_store_n(&flushed_ns, now, __ATOMIC_RELAXED);
	return false;
}

static void flush(uint32_t flag)
{
	if (hold(flag ? END_WAIT_S : 1)) {
		if (!ended)
			flush_result = cupti.flush_all(flag);
		(void)pthread_mutex_unlock(&busy);
	}
	settle_calls();
}

/* live has forgotten the flow by now; no call of libcupti works in a forked child. */
void cupti_forget(void)
{
	__atomic_store_n(&running, false, __ATOMIC_RELEASE);
}

/* A buffer may be with a thread of libcupti's. */
static void wait_for_buffers(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	for (int ms = 0; ms < MISSING_WAIT_MS && cupti_pool_missing(); ms++)
		(void)nanosleep(&pause, NULL);
}

/* What did not come at the end is not zero. */
static void tell_missing(void)
{
	char text[160];
	size_t missing = cupti_pool_missing();
	struct flow *f = missing ? live_take() : NULL;
	if (!missing)
		return;
	if (f) {
		flow_dropped(f, missing);
		live_give(f);
	}
	cupti_result_text(flush_result, text, sizeof text);
	if (cupti_pool_come() == 0)
		live_refuse("failed", "CUPTI gave back none of its records%s%s",
			    flush_result ? ": " : "", flush_result ? text : "");
	else
		live_note("CUPTI did not give back %zu of its buffers when the process ended: "
			  "their records "
			  "are missing%s%s",
			  missing, flush_result ? ": " : "", flush_result ? text : "");
}

/* What is complete comes first, so that what the forced flush brings without an end is known to be
 * what was under way. */
static void flush_last(void)
{
	if (__atomic_exchange_n(&ending, true, __ATOMIC_ACQ_REL))
		return;
	cupti_clock_check();
	cupti_clock_tell();
	if (hold(END_WAIT_S)) {
		look_after();
		(void)pthread_mutex_unlock(&busy);
	}
	if (!cupti_pool_used())
		return;
	flush(0);
	uint64_t untimed = cupti_untimed();
	flush(CUPTI_FLUSH_FORCED);
	wait_for_buffers();
	untimed = cupti_untimed() - untimed;
	if (untimed)
		live_note("%llu operations had no end when the process ended",
			  (unsigned long long)untimed);
	cupti_add_dropped();
	tell_missing();
	cupti_record_notes();
}

/* Not forced: what runs would lose its end, and the process may go on. */
static bool flush_now(void)
{
	cupti_clock_check();
	cupti_clock_tell();
	flush(0);
	wait_for_buffers();
	cupti_add_dropped();
	return !cupti_pool_missing();
}

bool cupti_flush(enum live_flush how)
{
	if (!cupti_on())
		return true;
	if (how == LIVE_FLUSH_LAST)
		flush_last();
	else if (cupti_pool_used() && how == LIVE_FLUSH_NOW)
		return flush_now();
	else if (cupti_pool_used() && !too_soon())
		flush(0);
	return true;
}

void cupti_end(void)
{
	if (!cupti_on())
		return;
	live_finish();
	/* For good: see above. */
	if (hold(END_WAIT_S))
		__atomic_store_n(&ended, true, __ATOMIC_RELEASE);
	cupti_work_wake();
}
