/* Region logs of 10^6 entries read back. Ours, as the marker library writes it; the published
 * suite's text, against counting the newlines of the same bytes, which is the least that a reader
 * of text can do. Files are mapped anew each time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/roi.h"
#include "core/stats.h"
#include "include/roimeter.h"
#include "lib/file.h"
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
	(void)fprintf(
		f, "# hpcperf-roi-log 2\npid 4711\nrank 0\nclock CLOCK_MONOTONIC CLOCK_REALTIME\n");
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
	const char *bytes =
		mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
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

/* A child marks 10^6 entries under the library that was built beside this program. */
static int write_native(const char *program, const char *folder)
{
	char library[4096];
	const char *slash = strrchr(program, '/');
	(void)snprintf(library, sizeof library, "%.*s/../libroimeter.so",
		       slash ? (int)(slash - program) : 1, slash ? program : ".");
	if (access(library, R_OK) || mkdir(folder, 0755))
		return -1;
	pid_t child = fork();
	if (child == 0) {
		(void)setenv("ROIMETER_LIBRARY", library, 1);
		(void)setenv("ROIMETER_LOG", folder, 1);
		for (int i = 0; i < ENTRIES; i++) {
			ROIMETER_BEGIN();
			ROIMETER_END();
		}
		_exit(0);
	}
	int status = 1;
	return child < 0 || waitpid(child, &status, 0) < 0 || status ? -1 : 0;
}

static void print(const char *name, const double *ms, const char *more)
{
	struct stats s;
	if (stats_of(ms, ROUNDS, &s))
		exit(1);
	(void)printf("%s %.3g [%.3g %.3g] goal %.0f %s%s\n", name, s.median, s.min, s.max, GOAL_MS,
		     s.median < GOAL_MS ? "ok" : "missed", more);
}

static void bench_native(const char *program)
{
	char folder[4096];
	double ms[ROUNDS];
	const char *above = getenv("TMPDIR");
	(void)snprintf(folder, sizeof folder, "%s/roimeter-readlog.%ld.d", above ? above : "/tmp",
		       (long)getpid());
	if (write_native(program, folder)) {
		(void)printf(
			"# readlog_1e6_native_ms: left out, the marker library is not built\n");
	} else {
		for (int i = 0; i < ROUNDS; i++) {
			double a = now_ms();
			read_back(folder);
			ms[i] = now_ms() - a;
		}
		print("readlog_1e6_native_ms", ms, "");
	}
	(void)file_remove_tree(folder, NULL);
}

int main(int argc, char **argv)
{
	char path[4096], more[64];
	double read_ms[ROUNDS], floor_ms[ROUNDS], ratio[ROUNDS];
	struct stats r;
	const char *folder = getenv("TMPDIR");
	bench_native(argc ? argv[0] : "");
	(void)snprintf(path, sizeof path, "%s/roimeter-readlog.%ld", folder ? folder : "/tmp",
		       (long)getpid());
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
	if (stats_of(ratio, ROUNDS, &r))
		return 1;
	(void)printf("readlog_1e6_text_vs_newlines %.2f [%.2f %.2f]\n", r.median, r.min, r.max);
	(void)snprintf(more, sizeof more, " (newlines alone: %.1f ms)",
		       stats_median(floor_ms, ROUNDS));
	print("readlog_1e6_text_ms", read_ms, more);
	return 0;
}
