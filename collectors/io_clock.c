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

/* Between pairs: the doubt of each is some 30 ns, and all that are kept reach further back than the
 * oldest event that is not handed over, which is a second old, or a few on a machine that is busy. */
#define LEAST_NS 10000000
#define PAIRS 1024
#define SLOW_NS 150 /* what a clock takes that is a system call */

IO_HOT_DATA static bool counts = false; /* the tick counter */
IO_HOT_DATA static int (*now)(clockid_t, struct timespec *) = clock_gettime;
static struct {
	uint64_t tick, ns;
} pairs[PAIRS];
static uint64_t n_pairs, first_ns; /* n_pairs: ever */

IO_HOT static uint64_t monotonic(void)
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

static void slurp(const char *path, char *text, size_t room)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : syscall(SYS_read, fd, text, room - 1);
	if (fd >= 0)
		(void)syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
}

/* Without a system call the clock of KVM is the tick counter, by a rule that holds for all
 * processors: so the host says that they run alike. The least of some, since each may be
 * interrupted. */
static bool is_counter(void)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 8; i++) {
		uint64_t begin = monotonic(), ns = monotonic() - begin;
		least = ns < least ? ns : least;
	}
	return least < SLOW_NS;
}

#define SOURCES "/sys/devices/system/clocksource/clocksource0/"

static bool usable(void)
{
	unsigned a, b, c, d;
	char text[256];
	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
		return false;
	slurp(SOURCES "available_clocksource", text, sizeof text);
	if (!*text || strstr(text, "tsc"))
		return true;
	slurp(SOURCES "current_clocksource", text, sizeof text);
	return strncmp(text, "kvm-clock", 9) == 0 && is_counter();
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

IO_HOT uint64_t io_now(void)
{
	return counts ? counter() : monotonic();
}

/* The tightest of three: this thread may be interrupted within one. */
static void put_pair(void)
{
	uint64_t least = UINT64_MAX, tick = 0, ns = 0;
	for (int i = 0; i < 3; i++) {
		uint64_t before = counter(), at = monotonic(), after = counter();
		if (after - before >= least)
			continue;
		least = after - before;
		tick = before + least / 2;
		ns = at;
	}
	pairs[n_pairs % PAIRS].tick = tick;
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
	if (counts && !n_pairs) {
		put_pair();
		first_ns = pairs[0].ns;
	}
}

/* The first ones are close: none has to answer for more than the time that it is from the first. */
void io_clock_pair(void)
{
	if (!counts)
		return;
	uint64_t last = pairs[(n_pairs - 1) % PAIRS].ns, since = last - first_ns;
	if (n_pairs < 2 || monotonic() - last > (since < LEAST_NS ? since : LEAST_NS))
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
