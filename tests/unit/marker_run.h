/* For the tests of the markers: run a body in a child process with a log folder of its own, read
 * what it left behind. The test itself never marks, so each child begins fresh. */
#ifndef TESTS_UNIT_MARKER_RUN_H
#define TESTS_UNIT_MARKER_RUN_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/roimeter.h"
#include "lib/file.h"
#include "schema/marklog.h"

/* Shared between a child and the test. */
struct shared {
	uint64_t started, done; /* pairs */
	int64_t own_ns[20], least_ns[20];
	uint64_t values[16];
};

struct trial {
	char folder[64];
	struct shared *shared;
	struct roi_logs logs;
	int status; /* of the child, as waitpid tells it */
};

typedef void body(struct shared *shared);

static inline int64_t own_clock_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void spin_us(int us)
{
	int64_t until = own_clock_ns() + us * INT64_C(1000);
	while (own_clock_ns() < until)
		continue;
}

static inline void trial_prepare(struct trial *t)
{
	*t = (struct trial){ .folder = "/tmp/roimeter-unit.XXXXXX" };
	assert_non_null(mkdtemp(t->folder));
	t->shared = mmap(NULL, sizeof *t->shared, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(t->shared != MAP_FAILED);
}

static inline pid_t trial_start(struct trial *t, body *run)
{
	(void)fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!getenv("ROIMETER_LOG"))
			(void)setenv("ROIMETER_LOG", t->folder, 1);
		run(t->shared);
		exit(0);
	}
	return pid;
}

static inline void trial_read(struct trial *t)
{
	struct err err = { .text = "" };
	if (roilog_read(&t->logs, t->folder, &err))
		fail_msg("%s", err.text);
}

static inline void trial_run(struct trial *t, body *run)
{
	trial_prepare(t);
	pid_t pid = trial_start(t, run);
	assert_int_equal(waitpid(pid, &t->status, 0), pid);
	trial_read(t);
}

/* The log of the only process there was. */
static inline const struct roi_log *trial_log(const struct trial *t)
{
	assert_int_equal(t->logs.n, 1);
	assert_null(t->logs.items[0]->damage);
	return t->logs.items[0];
}

static inline void trial_done(struct trial *t)
{
	roilogs_done(&t->logs);
	(void)munmap(t->shared, sizeof *t->shared);
	assert_int_equal(file_remove_tree(t->folder, NULL), 0);
}

static inline uint64_t net_ns(const struct roi_log *log)
{
	uint64_t net = log->folded_gross_ns - log->folded_excluded_ns;
	for (size_t i = 0; i < log->n_entries; i++)
		net += (uint64_t)(log->entries[i].end_ns - log->entries[i].begin_ns) -
		       log->entries[i].excluded_ns;
	return net;
}

#endif
