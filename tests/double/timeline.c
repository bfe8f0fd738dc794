/* The clock and the device's thread. With the real clock an operation ends when its time has come;
 * with the virtual one ("clock virtual") nothing waits: time goes on with each call ("call-ns") and
 * to the end of what is waited for, so every time is known to the nanosecond.
 *
 * Preloaded (LD_PRELOAD=libdouble.so), the marks and collectors of the program read the virtual
 * clock too. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "double.h"

struct pending {
	uint64_t start, end;
	void (*done)(void *, uint64_t, uint64_t);
	void *arg;
	struct pending *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken, settled; /* of CLOCK_MONOTONIC */
static struct pending *first;         /* by end; equal ones as they came */
static bool started, handling;
static uint64_t handling_end;
static bool forked;

static bool is_virtual;
static uint64_t virtual_now;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct double_listener *listener;
static const struct double_driver *driver;
static uint32_t correlation;

static uint64_t real_now(void)
{
	struct timespec t;

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void in_child(void)
{
	forked = forked || started;
}

static void begin(void)
{
	const char *clock = script_text("clock");
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&woken, &attr);
	pthread_cond_init(&settled, &attr);
	pthread_condattr_destroy(&attr);
	pthread_atfork(NULL, NULL, in_child);
	if (clock && strncmp(clock, "virtual", 7) == 0) {
		is_virtual = true;
		virtual_now = strtoull(clock + 7, NULL, 0);
		if (!virtual_now)
			virtual_now = real_now();
	}
}

DOUBLE_EXPORT bool double_virtual(void)
{
	pthread_once(&once, begin);
	return is_virtual;
}

DOUBLE_EXPORT uint64_t double_now(void)
{
	return double_virtual() ? __atomic_load_n(&virtual_now, __ATOMIC_SEQ_CST) : real_now();
}

DOUBLE_EXPORT void double_advance(uint64_t ns)
{
	if (double_virtual())
		__atomic_add_fetch(&virtual_now, ns, __ATOMIC_SEQ_CST);
}

static void timespec_of(uint64_t ns, struct timespec *ret)
{
	ret->tv_sec = (time_t)(ns / 1000000000U);
	ret->tv_nsec = (long)(ns % 1000000000U);
}

static void *device_thread(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		struct timespec t;
		if (!first) {
			pthread_cond_wait(&woken, &lock);
			continue;
		}
		if (first->end > real_now()) {
			timespec_of(first->end, &t);
			pthread_cond_timedwait(&woken, &lock, &t);
			continue;
		}
		struct pending *p = first;
		first = p->next;
		handling = true;
		handling_end = p->end;
		pthread_mutex_unlock(&lock);
		p->done(p->arg, p->start, p->end);
		free(p);
		pthread_mutex_lock(&lock);
		handling = false;
		pthread_cond_broadcast(&settled);
	}
	return NULL;
}

DOUBLE_EXPORT void double_schedule(uint64_t start, uint64_t end,
				   void (*done)(void *, uint64_t, uint64_t), void *arg)
{
	if (double_virtual()) {
		started = true;
		done(arg, start, end);
		return;
	}
	struct pending *p = malloc(sizeof *p), **at = &first;
	if (!p)
		abort();
	*p = (struct pending){ start, end, done, arg, NULL };
	pthread_mutex_lock(&lock);
	if (!started) {
		pthread_t t;
		started = true;
		if (pthread_create(&t, NULL, device_thread, NULL))
			abort();
		pthread_detach(t);
	}
	while (*at && (*at)->end <= end)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
	pthread_cond_signal(&woken);
	pthread_mutex_unlock(&lock);
}

DOUBLE_EXPORT void double_wait_until(uint64_t ns)
{
	if (double_virtual()) {
		uint64_t now = double_now();
		while (now < ns && !__atomic_compare_exchange_n(&virtual_now, &now, ns, false,
								__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
		return;
	}
	struct timespec t;
	timespec_of(ns, &t);
	while (real_now() < ns)
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	pthread_mutex_lock(&lock);
	while ((first && first->end <= ns) || (handling && handling_end <= ns))
		pthread_cond_wait(&settled, &lock);
	pthread_mutex_unlock(&lock);
}

DOUBLE_EXPORT bool double_forked(void)
{
	pthread_once(&once, begin);
	return forked;
}

DOUBLE_EXPORT void double_listen(const struct double_listener *l)
{
	pthread_once(&once, begin);
	__atomic_store_n(&listener, l, __ATOMIC_RELEASE);
}

DOUBLE_EXPORT const struct double_listener *double_listener(void)
{
	return __atomic_load_n(&listener, __ATOMIC_ACQUIRE);
}

DOUBLE_EXPORT void double_drive(const struct double_driver *d)
{
	pthread_once(&once, begin);
	__atomic_store_n(&driver, d, __ATOMIC_RELEASE);
}

DOUBLE_EXPORT const struct double_driver *double_driver(void)
{
	return __atomic_load_n(&driver, __ATOMIC_ACQUIRE);
}

DOUBLE_EXPORT uint32_t double_correlation(void)
{
	return __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED);
}
