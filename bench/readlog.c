/* A region log of 10^6 entries read back, against counting the newlines of the same bytes, which is
 * the least that a reader of text can do. Both map the file anew each time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/roi.h"
#include "core/stats.h"
#include "schema/roilog.h"

#define ENTRIES 1000000
#define ROUNDS 21
#define GOAL_MS 20.0

static double now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Lines as the published header writes them on a machine that has been up for a week. */
static void write_log(const char *path)
{
	FILE *f = fopen(path, "w");
	int64_t mono = 604800000000000, real = 1790000000000000000;
	if (!f) {
		perror(path);
		exit(1);
	}
	(void)fprintf(f, "# hpcperf-roi-log 2\npid 4711\nrank 0\nclock CLOCK_MONOTONIC CLOCK_REALTIME\n");
	for (int i = 0; i < ENTRIES; i++) {
		(void)fprintf(f, "B %" PRId64 " %" PRId64 "\n", mono, real);
		mono += 12345 + i % 100;
		real += 12345 + i % 100;
		(void)fprintf(f, "E %" PRId64 " %" PRId64 "\n", mono, real);
		mono += 1000;
		real += 1000;
	}
	if (fclose(f)) {
		perror(path);
		exit(1);
	}
}

static size_t count_newlines(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return 0;
	const char *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	(void)close(fd);
	if (bytes == MAP_FAILED)
		return 0;
	size_t n = 0;
	const char *end = bytes + st.st_size;
	for (const char *p = bytes; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	(void)munmap((void *)(uintptr_t)bytes, (size_t)st.st_size);
	return n;
}

static void read_back(const char *path)
{
	struct roi_logs logs = { 0 };
	struct err err = { "" };
	struct roi_process p;
	if (roilog_read(&logs, path, &err)) {
		(void)fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	roi_process_sum(logs.items[0], &p);
	if (p.finished != ENTRIES)
		exit(1);
	roilogs_done(&logs);
}

int main(void)
{
	char path[4096];
	double read_ms[ROUNDS], floor_ms[ROUNDS], ratio[ROUNDS];
	struct stats s, floor_s, r;
	const char *folder = getenv("TMPDIR");
	(void)snprintf(path, sizeof path, "%s/roimeter-readlog.%ld", folder ? folder : "/tmp", (long)getpid());
	write_log(path);
	for (int i = -2; i < ROUNDS; i++) {
		double a = now_ms();
		size_t lines = count_newlines(path);
		double b = now_ms();
		read_back(path);
		double c = now_ms();
		if (lines != 2 * ENTRIES + 4)
			return 1;
		if (i >= 0) {
			floor_ms[i] = b - a;
			read_ms[i] = c - b;
			ratio[i] = read_ms[i] / floor_ms[i];
		}
	}
	(void)unlink(path);
	if (stats_of(read_ms, ROUNDS, &s) || stats_of(floor_ms, ROUNDS, &floor_s) || stats_of(ratio, ROUNDS, &r))
		return 1;
	(void)printf("readlog_1e6_text_vs_newlines %.2f [%.2f %.2f]\n", r.median, r.min, r.max);
	(void)printf("readlog_1e6_text_ms %.1f [%.1f %.1f] goal %.0f %s (newlines alone: %.1f ms)\n", s.median, s.min,
		     s.max, GOAL_MS, s.median < GOAL_MS ? "ok" : "missed", floor_s.median);
	return 0;
}
