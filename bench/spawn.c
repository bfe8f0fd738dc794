/* What the runner itself costs for one execution: a marked program under execute(), journalled and
 * worked out, against the same program under plain posix_spawn and waitpid, in turn. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/file.h"
#include "run/cgroup.h"
#include "run/execute.h"
#include "run/journal.h"

#define ROUNDS 200
#define GOAL_MS 3.0

extern char **environ;

static double now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void die(const char *what, const struct err *err)
{
	(void)fprintf(stderr, "%s: %s\n", what, err->text);
	exit(1);
}

static double plain(const char *path)
{
	char *name = strdup(path), *argv[] = { name, NULL };
	pid_t pid;
	int status;
	double begin = now_ms();
	if (!name || posix_spawn(&pid, path, NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid)
		exit(1);
	double end = now_ms();
	free(name);
	return end - begin;
}

static double managed(struct runner *r, const struct command *c, struct journal *j)
{
	struct capture capture;
	struct worked worked;
	struct err err = { 0 };
	const struct execution_spec spec = { .command = c,
					     .run_id = "20260929T045201Z-00000000",
					     .name = "clean.0",
					     .timeout_s = 60 };
	double begin = now_ms();
	if (execute(r, &spec, &capture, &err) || (j && journal_add(j, 0, &capture, &err)) ||
	    capture_work_out(&worked, &capture, c->c, NULL, &err))
		die("execute", &err);
	worked_done(&worked);
	capture_done(&capture);
	return now_ms() - begin;
}

static void compare(const char *name, struct runner *r, const struct command *c, struct journal *j)
{
	static double floor_ms[ROUNDS], more_ms[ROUNDS], ratio[ROUNDS];
	(void)managed(r, c, j); /* warm-up */
	for (int i = 0; i < ROUNDS; i++) {
		floor_ms[i] = plain(c->path);
		double mine = managed(r, c, j);
		more_ms[i] = mine - floor_ms[i];
		ratio[i] = mine / floor_ms[i];
	}
	qsort(floor_ms, ROUNDS, sizeof *floor_ms, by_size);
	qsort(more_ms, ROUNDS, sizeof *more_ms, by_size);
	qsort(ratio, ROUNDS, sizeof *ratio, by_size);
	double median = more_ms[ROUNDS / 2];
	(void)printf("%s %.3g [%.3g %.3g] goal %g %s (%.3g [%.3g %.3g] times plain posix_spawn)\n",
		     name, median, more_ms[ROUNDS / 10], more_ms[ROUNDS * 9 / 10], GOAL_MS,
		     median < GOAL_MS ? "ok" : "missed", ratio[ROUNDS / 2], ratio[ROUNDS / 10],
		     ratio[ROUNDS * 9 / 10]);
}

int main(void)
{
	static const char *argv[] = { "/bin/true" };
	char folder[] = "/tmp/roimeter-bench-XXXXXX", group[CGROUP_PATH_BYTES];
	struct suite_case sc = {
		.app = "bench", .name = "true", .command = { argv, 1 }, .timeout_s = NAN
	};
	struct journal_case jc = { .app = "bench", .name = "true", .fingerprint = "0" };
	struct command_options o = { .envp = environ };
	struct arena arena = { 0 };
	struct command c;
	struct journal *j = NULL;
	struct err err = { 0 };
	size_t discarded;
	struct runner r = { .envp = environ, .grace_s = 1, .signals = -1 };
	if (!mkdtemp(folder))
		return 1;
	if (command_make(&c, &arena, &sc, &o, &err) || scratch_open(&r.scratch, NULL, &err) ||
	    journal_create(&j, folder, "bench", &jc, 1, &discarded, &err))
		die("start", &err);
	peers_join(&r.peers);
	compare("run: ms more per execution, subreaper", &r, &c, j);
	if (cgroup_make(group, &err) == 0) {
		r.cgroup = group;
		compare("run: ms more per execution, cgroup", &r, &c, j);
		cgroup_remove(group);
	} else {
		(void)printf("run: ms more per execution, cgroup: left out, %s\n", err.text);
	}
	journal_close(j, true);
	peers_leave(&r.peers);
	scratch_close(&r.scratch);
	(void)file_remove_tree(folder, NULL);
	arena_free(&arena);
	return 0;
}
