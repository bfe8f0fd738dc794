/* Preloaded (LD_PRELOAD=libdouble_clock.so), the whole program has the virtual clock: its marks and
 * its collector, too. A library of its own: libdouble's own waits must not come here.
 *
 * Marks read the machine's tick counter, or the kernel's clock past libc: here they are told not
 * to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "double.h"

enum { SPINS = 200, SPIN_NS = 10000 };

static uint64_t real_now(void)
{
	struct timespec t;

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void timespec_of(uint64_t ns, struct timespec *ret)
{
	ret->tv_sec = (time_t)(ns / 1000000000U);
	ret->tv_nsec = (long)(ns % 1000000000U);
}

__attribute__((constructor)) static void marks_read_this_clock(void)
{
	if (double_virtual())
		(void)setenv("ROIMETER_CLOCK", "monotonic", 1);
}

DOUBLE_EXPORT void *dlopen(const char *name, int flags)
{
	static void *(*real)(const char *, int);

	if (!real) {
		void *f = dlsym(RTLD_NEXT, "dlopen");
		memcpy(&real, &f, sizeof f);
	}
	if (name && strcmp(name, "linux-vdso.so.1") == 0 && double_virtual())
		return NULL;
	return real(name, flags);
}

/* Nobody's time but that of who turns round and round until some has passed: after so many readings
 * that were alike it goes on. */
static void go_on(uint64_t now)
{
	static __thread uint64_t last;
	static __thread unsigned alike;

	alike = now == last ? alike + 1 : 0;
	last = now;
	if (alike >= SPINS) {
		double_advance(SPIN_NS);
		alike = 0;
	}
}

DOUBLE_EXPORT int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id == CLOCK_MONOTONIC && double_virtual()) {
		uint64_t now = double_now();
		go_on(now);
		timespec_of(now, t);
		return 0;
	}
	return syscall(SYS_clock_gettime, id, t) ? -1 : 0;
}

/* What waits until a time of the virtual clock waits as long in real time: a thread that wakes up
 * every second would else never sleep, or never wake up. Only for conditions of CLOCK_MONOTONIC;
 * times of CLOCK_REALTIME are far away from those, and left alone. */
DOUBLE_EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
					 const struct timespec *t)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	uint64_t until = (uint64_t)t->tv_sec * 1000000000U + (uint64_t)t->tv_nsec;
	uint64_t now = double_now();
	struct timespec changed = *t;

	if (!real) {
		void *f = dlvsym(RTLD_NEXT, "pthread_cond_timedwait",
				 "GLIBC_2.3.2"); /* not the first one */
		if (!f)
			f = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
		memcpy(&real, &f, sizeof f);
	}
	if (double_virtual() && until < now + 3600000000000U && now < until + 3600000000000U)
		timespec_of(real_now() + (until > now ? until - now : 0), &changed);
	return real(c, m, &changed);
}
