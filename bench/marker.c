/* What a pair of marks costs, against two clock_gettime(CLOCK_MONOTONIC) beside it. Each variant
 * runs in a process of its own, where slices of pairs and slices of the floor take turns; a
 * figure is the median over the rounds of their ratio, by the thread's own CPU clock.
 *
 *     marker              all variants, against their goals
 *     marker VARIANT N    one of them, with N threads (used by the former) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/pairs.h"
#include "lib/file.h"
#include "schema/roilog.h"

#define ROUNDS 41
#define SLICE 20000
#define MAX_THREADS 8

static __attribute__((noinline)) void floor_slice(int n)
{
	struct timespec t;
	for (int i = 0; i < n; i++) {
		(void)clock_gettime(CLOCK_MONOTONIC, &t);
		__asm__ volatile("" : : "r"(&t) : "memory");
		(void)clock_gettime(CLOCK_MONOTONIC, &t);
		__asm__ volatile("" : : "r"(&t) : "memory");
	}
}

static void (*measured_slice)(int n) = pair_slice;

static void *rounds(void *ratios)
{
	double *ratio = ratios;
	measured_slice(SLICE); /* attach, first touches */
	for (int r = -2; r < ROUNDS; r++) {
		double a = clock_s(CLOCK_THREAD_CPUTIME_ID);
		measured_slice(SLICE);
		double b = clock_s(CLOCK_THREAD_CPUTIME_ID);
		floor_slice(SLICE);
		double c = clock_s(CLOCK_THREAD_CPUTIME_ID);
		if (r >= 0)
			ratio[r] = (b - a) / (c - b);
	}
	return NULL;
}

static int run_ratio(int threads)
{
	static double ratio[MAX_THREADS * ROUNDS];
	pthread_t thread[MAX_THREADS];
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, rounds, ratio + (size_t)i * ROUNDS))
			return 2;
	for (int i = 0; i < threads; i++)
		(void)pthread_join(thread[i], NULL);
	size_t n = (size_t)threads * ROUNDS;
	qsort(ratio, n, sizeof *ratio, by_value);
	printf("%g %g %g\n", ratio[n / 2], ratio[0], ratio[n - 1]);
	return 0;
}

/* ---- stalls: single pairs over 10 us ----------------------------------------------------------
 */

static uint64_t over(bool marks, int n)
{
	uint64_t found = 0;
	for (int i = 0; i < n; i++) {
		uint64_t a = (uint64_t)(1e9 * clock_s(CLOCK_MONOTONIC));
		if (marks)
			PAIR;
		else
			no_pair();
		uint64_t b = (uint64_t)(1e9 * clock_s(CLOCK_MONOTONIC));
		found += b - a > 10000;
	}
	return found;
}

static int run_stalls(void)
{
	enum { TURNS = 40, PAIRS = 50000 };
	uint64_t with = 0, without = 0;
	PAIR;
	for (int i = 0; i < TURNS; i++) {
		with += over(true, PAIRS);
		without += over(false, PAIRS);
	}
	double ratio = (double)(with + 1) / (double)(without + 1);
	printf("%g %g %g\n", ratio, (double)with, (double)without);
	return 0;
}

/* Entries for a log that is read back by the parent. */
static int run_entries(int n)
{
	for (int i = 0; i < n; i++)
		PAIR;
	return 0;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static char self[PATH_MAX], library[PATH_MAX + 32];

struct figure {
	double value, low, high;
};

static int run_child(const char *folder, const char *clock, const char *variant, int n,
		     struct figure *ret)
{
	int out[2];
	char count[16], said[128] = "";
	if (pipe(out))
		return -1;
	(void)snprintf(count, sizeof count, "%d", n);
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(out[1], 1);
		(void)setenv("ROIMETER_LIBRARY", library, 1);
		(void)setenv("ROIMETER_CLOCK", clock, 1);
		if (folder)
			(void)setenv("ROIMETER_LOG", folder, 1);
		else
			(void)unsetenv("ROIMETER_LOG");
		(void)execl(self, self, variant, count, (char *)NULL);
		_exit(127);
	}
	(void)close(out[1]);
	size_t len = 0;
	ssize_t got;
	while (len < sizeof said - 1 && (got = read(out[0], said + len, sizeof said - 1 - len)) > 0)
		len += (size_t)got;
	said[len] = 0;
	(void)close(out[0]);
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return -1;
	if (!ret)
		return 0;
	return sscanf(said, "%lf %lf %lf", &ret->value, &ret->low, &ret->high) == 3 ? 0 : -1;
}

static void line(const char *name, const struct figure *f, double goal)
{
	printf("%-34s %7.4f [%.4f %.4f]", name, f->value, f->low, f->high);
	if (goal > 0)
		printf("  goal %g %s", goal, f->value <= goal ? "ok" : "missed");
	printf("\n");
	(void)fflush(stdout);
}

static void variant(const char *name, const char *folder, const char *clock, int threads,
		    double goal)
{
	struct figure f;
	if (run_child(folder, clock, "pairs", threads, &f))
		printf("%-34s failed\n", name);
	else
		line(name, &f, goal);
}

static void stalls(const char *name, const char *folder, double goal)
{
	struct figure f;
	if (run_child(folder, "tsc", "stalls", 1, &f)) {
		printf("%-34s failed\n", name);
		return;
	}
	printf("%-34s %7.4f [%g of 2000000, empty loop %g]", name, f.value, f.low, f.high);
	if (goal > 0)
		printf("  goal %g %s", goal, f.value <= goal ? "ok" : "missed");
	printf("\n");
	(void)fflush(stdout);
}

static void read_back(const char *folder)
{
	char below[PATH_MAX];
	(void)snprintf(below, sizeof below, "%s/million", folder);
	if (mkdir(below, 0777) || run_child(below, "tsc", "entries", 1000000, NULL)) {
		printf("%-34s failed\n", "marker_read_1e6_ms");
		return;
	}
	enum { TIMES = 15 };
	double took[TIMES];
	uint64_t entries = 0;
	for (int i = 0; i < TIMES; i++) {
		struct roi_logs logs = { .n = 0 };
		double a = clock_s(CLOCK_MONOTONIC);
		int rc = roilog_read(&logs, below, NULL);
		took[i] = 1e3 * (clock_s(CLOCK_MONOTONIC) - a);
		entries = rc || logs.n != 1 ? 0 : logs.items[0]->n_entries + logs.items[0]->folded;
		roilogs_done(&logs);
	}
	qsort(took, TIMES, sizeof *took, by_value);
	struct figure f = { .value = took[TIMES / 2], .low = took[0], .high = took[TIMES - 1] };
	if (entries == 1000000)
		line("marker_read_1e6_ms", &f, 20);
	else
		printf("%-34s failed: %llu entries\n", "marker_read_1e6_ms",
		       (unsigned long long)entries);
}

static int parent(void)
{
	char memory[] = "/dev/shm/roimeter-bench.XXXXXX", disk[] = "/tmp/roimeter-bench.XXXXXX";
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0 || !mkdtemp(memory) || !mkdtemp(disk))
		return 2;
	*strrchr(self, '/') = 0; /* B/bench/marker stands beside B/libroimeter.so */
	(void)snprintf(library, sizeof library, "%s/../libroimeter.so", self);
	self[strlen(self)] = '/';
	if (access(library, R_OK)) {
		perror(library);
		return 2;
	}
	printf("# a BEGIN/END pair; 1 = two clock_gettime(CLOCK_MONOTONIC); median [min max]\n");
	variant("marker_off", NULL, "tsc", 1, 0.012);
	struct figure bare;
	if (run_child(NULL, "tsc", "counter", 1, &bare) == 0)
		line("two_bare_reads_of_the_counter", &bare, 0);
	for (int threads = 1; threads <= MAX_THREADS; threads *= 2) {
		char name[40];
		(void)snprintf(name, sizeof name, "marker_on_tsc_%d_thread%s", threads,
			       threads > 1 ? "s" : "");
		variant(name, memory, "tsc", threads, 0.5);
	}
	variant("marker_on_monotonic", memory, "monotonic", 1, 1.15);
	variant("marker_on_tsc_log_in_tmp", disk, "tsc", 1, 0);
	printf("# pairs over 10 us, against the same loop with two reads of the tick counter "
	       "instead\n");
	stalls("marker_stalls", memory, 1.5);
	stalls("marker_stalls_log_in_tmp", disk, 0);
	printf("# milliseconds\n");
	read_back(memory);
	(void)file_remove_tree(memory, NULL);
	(void)file_remove_tree(disk, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return parent();
	int n = atoi(argv[2]);
	if (!strcmp(argv[1], "counter"))
		measured_slice = counter_slice;
	if (!strcmp(argv[1], "pairs") || !strcmp(argv[1], "counter"))
		return run_ratio(n);
	if (!strcmp(argv[1], "stalls"))
		return run_stalls();
	return run_entries(n);
}
