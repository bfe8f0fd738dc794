/* What it costs a program that its marks are delivered: CPU time of a loop of pairs whose log lies
 * in the agent's folder, against the same loop whose log nobody follows. Each variant runs in
 * processes of its own, with and without by turns; in each, slices of pairs take turns with slices
 * of two bare reads of the tick counter, so that a figure is a ratio of ratios. "bare" is the loop
 * itself against that: what it costs that there are marks at all, and somebody who takes them.
 *
 *     delivery             all variants, against their goals
 *     delivery KIND        one process of them: unpaced, or paced at 100,000 pairs a second */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/pairs.h"
#include "bench/ratio.h"
#include "lib/file.h"
#include "lib/unixsock.h"
#include "schema/local.h"

#define TURNS 9
#define GOAL 1.25

/* ---- the measured loop ----------------------------------------------------------------------- */

static void burst_and_rest(void (*slice)(int n))
{
	struct timespec rest = { .tv_nsec = 5000000 };
	slice(500);
	(void)nanosleep(&rest, NULL);
}

static void unpaced(void (*slice)(int n))
{
	slice(20000);
}

static int measure(const char *kind)
{
	bool paced = !strcmp(kind, "paced");
	void (*turn)(void (*slice)(int n)) = paced ? burst_and_rest : unpaced;
	struct ratio r = { .n = 0 };
	pair_slice(20000); /* attach, first touches */
	for (int i = 0; i < (paced ? 24 : RATIO_ROUNDS); i++) {
		double a = clock_s(CLOCK_THREAD_CPUTIME_ID);
		turn(pair_slice);
		double b = clock_s(CLOCK_THREAD_CPUTIME_ID);
		turn(counter_slice);
		ratio_add(&r, b - a, clock_s(CLOCK_THREAD_CPUTIME_ID) - b);
	}
	qsort(r.rounds, r.n, sizeof *r.rounds, ratio_order);
	printf("%g\n", r.rounds[r.n / 2]);
	return 0;
}

/* ---- who takes the marks --------------------------------------------------------------------- */

static char self[PATH_MAX], library[PATH_MAX + 32], program[PATH_MAX + 32];

struct place {
	char folder[64], socket[96], logs[96], spool[96], alone[96];
	pid_t agent;
};

/* Where there is no roimeter-agent, and beside it as something harder: takes one hello, and then
 * reads the whole log a hundred times a second. */
static void poll_logs(const char *path)
{
	static char log[1 << 20];
	int fds[64], n = 0, listening = unixsock_listen(path, 0666, NULL);
	for (;;) {
		struct timespec ms = { .tv_nsec = 10000000 };
		char text[64];
		int one = unixsock_accept(listening);
		if (one >= 0) {
			int fd = -1;
			while (unixsock_recv(one, text, sizeof text, &fd) == -EAGAIN)
				(void)nanosleep(&ms, NULL);
			(void)close(one);
			if (n == 64)
				(void)close(fds[--n]);
			if (fd >= 0)
				fds[n++] = fd;
		}
		if (n && pread(fds[n - 1], log, sizeof log, 0) < 0)
			_exit(2);
		(void)nanosleep(&ms, NULL);
	}
}

/* Never accepts, and no more connections have room. */
static void be_full(const char *path)
{
	int listening = unixsock_listen(path, 0666, NULL);
	if (listening < 0 || listen(listening, 1))
		_exit(2);
	while (unixsock_connect(path, NULL) >= 0)
		continue;
	for (;;)
		(void)pause();
}

enum agent { REAL, POLLS, FULL };

static void agent_run(const struct place *p, enum agent kind)
{
	int null = open("/dev/null", O_WRONLY);
	(void)dup2(null, 1);
	(void)dup2(null, 2);
	if (kind == REAL)
		(void)execl(program, program, "--socket", p->socket, "--spool", p->spool,
			    (char *)NULL);
	else if (kind == POLLS)
		poll_logs(p->socket);
	else
		be_full(p->socket);
	_exit(127);
}

static int agent_start(struct place *p, enum agent kind)
{
	p->agent = fork();
	if (p->agent == 0)
		agent_run(p, kind);
	for (int i = 0; i < 1000 && p->agent > 0; i++) {
		struct timespec ms = { .tv_nsec = 5000000 };
		int fd = unixsock_connect(p->socket, NULL);
		if (fd >= 0)
			(void)close(fd);
		if (kind == FULL ? fd == -EAGAIN : fd >= 0)
			return 0;
		if (waitpid(p->agent, NULL, WNOHANG) == p->agent)
			break;
		(void)nanosleep(&ms, NULL);
	}
	p->agent = 0;
	return -1;
}

static void agent_end(struct place *p)
{
	if (p->agent > 0) {
		(void)kill(p->agent, SIGKILL);
		(void)waitpid(p->agent, NULL, 0);
	}
	p->agent = 0;
}

static int place_make(struct place *p)
{
	(void)snprintf(p->folder, sizeof p->folder, "/dev/shm/roimeter-bench.XXXXXX");
	if (!mkdtemp(p->folder))
		return -1;
	(void)snprintf(p->socket, sizeof p->socket, "%s/agent.sock", p->folder);
	(void)snprintf(p->logs, sizeof p->logs, "%s/" LOCAL_LOGS, p->folder);
	(void)snprintf(p->spool, sizeof p->spool, "%s/spool", p->folder);
	(void)snprintf(p->alone, sizeof p->alone, "%s/alone", p->folder);
	return mkdir(p->logs, 01777) || mkdir(p->alone, 0777);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static int run_child(const struct place *p, const char *kind, bool delivered, double *ret)
{
	int out[2];
	char said[64] = "";
	if (pipe(out))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(out[1], 1);
		(void)setenv("ROIMETER_LIBRARY", library, 1);
		(void)setenv("ROIMETER_CLOCK", "tsc", 1);
		(void)setenv(delivered ? "ROIMETER_AGENT" : "ROIMETER_LOG",
			     delivered ? p->socket : p->alone, 1);
		(void)unsetenv(delivered ? "ROIMETER_LOG" : "ROIMETER_AGENT");
		(void)execl(self, self, kind, (char *)NULL);
		_exit(127);
	}
	(void)close(out[1]);
	ssize_t n = read(out[0], said, sizeof said - 1);
	(void)close(out[0]);
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status || n <= 0)
		return -1;
	return sscanf(said, "%lf", ret) == 1 ? 0 : -1;
}

static int figure(const struct place *p, const char *kind, const char *agent)
{
	struct ratio r = { .n = 0 }, bare = { .n = 0 };
	char name[96];
	for (int i = 0; i < TURNS; i++) {
		double with, without;
		if (run_child(p, kind, true, &with) || run_child(p, kind, false, &without)) {
			printf("delivery_%s_%s failed\n", kind, agent);
			return 0;
		}
		ratio_add(&r, with, without);
		ratio_add(&bare, with, 1);
	}
	(void)snprintf(name, sizeof name, "delivery_%s_%s", kind, agent);
	int good = ratio_print(&r, name, GOAL);
	if (!strcmp(kind, "unpaced")) {
		(void)snprintf(name, sizeof name, "delivery_%s_%s_bare", kind, agent);
		good &= ratio_print(&bare, name, GOAL);
	}
	(void)fflush(stdout);
	return good;
}

static void figures(const struct place *p, const char *agent)
{
	(void)figure(p, "unpaced", agent);
	(void)figure(p, "paced", agent);
}

/* The agent deletes a log from its folder when all that it tells is on disk. */
static bool all_taken(const struct place *p)
{
	for (int i = 0; i < 100; i++) {
		struct timespec ms = { .tv_nsec = 50000000 };
		size_t left = 0;
		DIR *all = opendir(p->logs);
		const struct dirent *e;
		while (all && (e = readdir(all)))
			left += strstr(e->d_name, ".roilog") != NULL;
		if (all)
			(void)closedir(all);
		if (all && !left)
			return true;
		(void)nanosleep(&ms, NULL);
	}
	return false;
}

static int parent(void)
{
	struct place p = { .agent = 0 };
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0 || place_make(&p))
		return 2;
	*strrchr(self, '/') = 0; /* B/bench/delivery stands beside B/libroimeter.so */
	(void)snprintf(library, sizeof library, "%s/../libroimeter.so", self);
	(void)snprintf(program, sizeof program, "%s/../roimeter-agent", self);
	self[strlen(self)] = '/';
	printf("# a loop of pairs, its log followed; 1 = the same loop, its log not followed "
	       "(bare: = "
	       "two bare reads of the counter)\n");
	bool real = !access(program, X_OK);
	if (!real)
		printf("# roimeter-agent is not built: a loop that reads logs stands in for it\n");
	if (!agent_start(&p, POLLS))
		figures(&p, "read_100_times_a_second");
	agent_end(&p);
	if (!agent_start(&p, FULL))
		figures(&p, "agent_full");
	agent_end(&p);
	if (agent_start(&p, real ? REAL : POLLS)) {
		printf("the agent does not start: failed\n");
		(void)file_remove_tree(p.folder, NULL);
		return 1;
	}
	figures(&p, "agent_runs");
	if (real && !all_taken(&p))
		printf("delivery: the agent has not taken all logs: failed\n");
	(void)kill(p.agent, SIGSTOP);
	figures(&p, "agent_stopped");
	agent_end(&p);
	figures(&p, "agent_killed");
	(void)file_remove_tree(p.folder, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	return argc < 2 ? parent() : measure(argv[1]);
}
