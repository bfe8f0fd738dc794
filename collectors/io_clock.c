/* The clock of calls: the machine's tick counter where it runs evenly and the kernel trusts it, as
 * with the marks; else the kernel's monotonic clock. Ticks become nanoseconds when events are
 * handed over: a pair of both clocks is taken then, and those between two pairs are on a straight
 * line. */
#include "collectors/io_wrap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define LEAST_NS 1000000 /* between pairs: their own doubt is some 50 ns */
#define PAIRS 64

static bool counts; /* the tick counter */
static int (*now)(clockid_t, struct timespec *) = clock_gettime;
static struct {
	uint64_t tick, ns;
} pairs[PAIRS];
static uint64_t n_pairs; /* ever */

static uint64_t monotonic(void)
{
	struct timespec t;
	(void)now(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
static inline uint64_t counter(void)
{
	return __builtin_ia32_rdtsc();
}

static bool usable(void)
{
	static const char list[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";
	unsigned a, b, c, d;
	char text[256];
	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
		return false;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, list, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof text - 1);
	if (fd >= 0)
		(void)syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	return n <= 0 || strstr(text, "tsc");
}
#elif defined(__aarch64__)
static inline uint64_t counter(void)
{
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static bool usable(void)
{
	return true;
}
#else
static inline uint64_t counter(void)
{
	return monotonic();
}

static bool usable(void)
{
	return false;
}
#endif

uint64_t io_now(void)
{
	return counts ? counter() : monotonic();
}

static void put_pair(void)
{
	uint64_t before = counter(), ns = monotonic(), after = counter();
	pairs[n_pairs % PAIRS].tick = before + (after - before) / 2;
	pairs[n_pairs++ % PAIRS].ns = ns;
}

void io_clock_start(void)
{
	const char *wanted = getenv("ROIMETER_CLOCK");
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	struct timespec t;
	int (*found)(clockid_t, struct timespec *) = NULL;
	if (vdso)
		*(void **)&found = dlsym(vdso, "__vdso_clock_gettime");
	if (found && !found(CLOCK_MONOTONIC, &t))
		now = found;
	counts = (!wanted || strcmp(wanted, "monotonic") != 0) &&
		 ((wanted && strcmp(wanted, "tsc") == 0) || usable());
	if (counts && !n_pairs)
		put_pair();
}

void io_clock_pair(void)
{
	if (counts && (n_pairs < 2 || monotonic() - pairs[(n_pairs - 1) % PAIRS].ns > LEAST_NS))
		put_pair();
}

uint64_t io_clock_ns(uint64_t ticks)
{
	if (!counts)
		return ticks;
	uint64_t i = n_pairs - 1, oldest = n_pairs > PAIRS ? n_pairs - PAIRS : 0;
	while (i > oldest + 1 && pairs[(i - 1) % PAIRS].tick > ticks)
		i--;
	if (i == oldest)
		return pairs[i % PAIRS].ns;
	uint64_t tick = pairs[(i - 1) % PAIRS].tick, ns = pairs[(i - 1) % PAIRS].ns;
	double rate = (double)(pairs[i % PAIRS].ns - ns) / (double)(pairs[i % PAIRS].tick - tick);
	return ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - tick) * rate);
}
