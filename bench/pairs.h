/* Slices of work that the benches of marks share: pairs of BEGIN and END, and what they are
 * compared with. */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include <stdint.h>
#include <time.h>

#include "include/roimeter.h"

static inline double clock_s(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define PAIR                                                                                       \
	do {                                                                                       \
		ROIMETER_BEGIN();                                                                  \
		__asm__ volatile("" ::: "memory");                                                 \
		ROIMETER_END();                                                                    \
		__asm__ volatile("" ::: "memory");                                                 \
	} while (0)

static __attribute__((noinline, unused)) void pair_slice(int n)
{
	for (int i = 0; i < n; i += 4) {
		PAIR;
		PAIR;
		PAIR;
		PAIR;
	}
}

/* Two bare reads of the tick counter: what no pair of marks with this clock can be below. The loop
 * that stalls are compared with has them too, or it would be the shorter one, and fewer interrupts
 * would fall into it. */
static inline void no_pair(void)
{
#if defined(__x86_64__)
	uint64_t tick = __builtin_ia32_rdtsc();
	__asm__ volatile("" : : "r"(tick) : "memory");
	tick = __builtin_ia32_rdtsc();
	__asm__ volatile("" : : "r"(tick) : "memory");
#endif
}

static __attribute__((noinline, unused)) void counter_slice(int n)
{
	for (int i = 0; i < n; i++)
		no_pair();
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

#endif
