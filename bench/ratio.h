/* Ratios of CPU time, measured by turns in one process: what the machine does to one it does to
 * the other. A line for each:  name ratio [min max] goal G ok|missed */
#ifndef BENCH_RATIO_H
#define BENCH_RATIO_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RATIO_ROUNDS 64

struct ratio {
	double rounds[RATIO_ROUNDS];
	size_t n;
};

static inline double cpu_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void ratio_add(struct ratio *r, double ours, double theirs)
{
	if (r->n < RATIO_ROUNDS)
		r->rounds[r->n++] = ours / theirs;
}

static inline int ratio_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median; goal is the most it may be. Returns whether it was met. */
static inline int ratio_print(struct ratio *r, const char *name, double goal)
{
	qsort(r->rounds, r->n, sizeof r->rounds[0], ratio_order);
	double median = r->n ? (r->rounds[r->n / 2] + r->rounds[(r->n - 1) / 2]) / 2 : 0;
	(void)printf("%s %.3g [%.3g %.3g] goal %g %s\n", name, median, r->n ? r->rounds[0] : 0,
		     r->n ? r->rounds[r->n - 1] : 0, goal, median <= goal ? "ok" : "missed");
	return median <= goal;
}

#endif
