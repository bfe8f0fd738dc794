/* The process that looks. It waits for messages, and while an execution runs asks each device in
 * turn. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/fds.h"
#include "lib/num.h"
#include "node/sysfile.h"
#include "run/sampler_impl.h"

#define FIRST_LOOK_NS INT64_C(20000000)
#define LOOKS_QUICK 10 /* looks at the full rate, so that short executions are seen */
#define SLOW_NS INT64_C(500000000)
#define QUIET 100 /* a look may take 1/QUIET of a CPU */
#define USERS_MAX 256
#define DEPTH_MAX 64
#define INITIAL_PIDS "pid:[4026531836]" /* the kernel's number of the first pid namespace */

enum whose { OURS, OTHERS, ENDED };

struct known_user {
	pid_t pid;
	enum whose whose;
};

struct looker {
	struct sampler_page *page;
	struct devices *devices;
	const char *root;
	int control;
	struct sampler_message now; /* execution 0: nothing runs */
	uint64_t looks;
	int64_t period_ns, next_ns;
	bool sees_pids; /* those that drivers tell are those of /proc */
	struct known_user users[USERS_MAX];
	size_t n_users;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void tell_cost(struct looker *l)
{
	struct rusage u;
	(void)getrusage(RUSAGE_SELF, &u);
	atomic_store(&l->page->cpu_ns, (uint64_t)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	atomic_store(&l->page->wakeups, (uint64_t)u.ru_nvcsw);
}

/* ---- whose is a process? ---- */

static pid_t parent_of(const struct looker *l, pid_t pid)
{
	char path[64], text[512];
	(void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	(void)sysfile_read(l->root, path, text, sizeof text);
	const char *end = strrchr(text, ')'); /* names may have anything in them */
	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : -1;
}

/* Ranks that a launcher's own daemon has started are not below us, but carry our run's name. Of
 * other users' processes this can't be read, and nothing else of it is looked at. */
static bool carries_run(const struct looker *l, pid_t pid)
{
	static char text[128 << 10];
	char path[64], name[SAMPLER_RUN_BYTES + 16];
	int n = snprintf(name, sizeof name, "ROIMETER_RUN=%s", l->now.run_id);
	(void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
	size_t got = sysfile_read(l->root, path, text, sizeof text);
	for (const char *at = text; at < text + got; at += strlen(at) + 1)
		if (strcmp(at, name) == 0)
			return n > 13;
	return false;
}

/* Of other users' processes /proc may tell nothing (hidepid): not even, with 2, that they are
 * there. */
static bool is_hidden(const struct looker *l, pid_t pid)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/proc/%ld", l->root, (long)pid);
	if (n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0)
		return true;
	return !l->root[0] && pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

static enum whose ask_whose(const struct looker *l, pid_t pid)
{
	pid_t up = pid;
	for (int i = 0; i < DEPTH_MAX && up > 1; i++) {
		if (up == l->now.root)
			return OURS;
		up = parent_of(l, up);
		if (up < 0 && i == 0)
			return is_hidden(l, pid) ? OTHERS : ENDED;
	}
	return carries_run(l, pid) ? OURS : OTHERS;
}

static enum whose whose(struct looker *l, pid_t pid)
{
	for (size_t i = 0; i < l->n_users; i++)
		if (l->users[i].pid == pid)
			return l->users[i].whose;
	enum whose answer = ask_whose(l, pid);
	if (answer != ENDED && l->n_users < USERS_MAX)
		l->users[l->n_users++] = (struct known_user){ pid, answer };
	return answer;
}

static double count_others(struct looker *l, size_t device)
{
	pid_t pids[USERS_MAX];
	size_t n = 0;
	double others = 0;
	if (!l->sees_pids || devices_users(l->devices, device, pids, USERS_MAX, &n))
		return NAN;
	for (size_t i = 0; i < n; i++)
		others += whose(l, pids[i]) == OTHERS;
	return others;
}

/* ---- looking ---- */

static void begin_write(struct looker *l)
{
	atomic_fetch_add_explicit(&l->page->seq, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_write(struct looker *l)
{
	atomic_fetch_add_explicit(&l->page->seq, 1, memory_order_release);
}

static void look(struct looker *l)
{
	int64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), begun = clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < l->page->n; i++) {
		struct device_sample s;
		if (l->page->devices[i].gone)
			continue;
		atomic_store(&l->page->looking_since_ns, clock_ns(CLOCK_MONOTONIC));
		int64_t from = clock_ns(CLOCK_REALTIME);
		int rc = devices_sample(l->devices, i, &s);
		double others = rc ? (double)NAN : count_others(l, i);
		int64_t to = clock_ns(CLOCK_REALTIME);
		begin_write(l);
		if (rc)
			l->page->devices[i].gone = true;
		else
			looks_add(&l->page->devices[i].looks, from, to, &s, others);
		end_write(l);
	}
	atomic_store(&l->page->looking_since_ns, 0);
	l->looks++;
	tell_cost(l);
	int64_t quiet = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) * QUIET;
	int64_t rate = l->looks < LOOKS_QUICK   ? l->period_ns
		       : l->period_ns > SLOW_NS ? l->period_ns
						: SLOW_NS;
	l->next_ns = begun + (quiet > rate ? quiet : rate);
}

static void take_message(struct looker *l)
{
	struct sampler_message m;
	ssize_t n = recv(l->control, &m, sizeof m, MSG_DONTWAIT);
	if (n == 0)
		_exit(0); /* the runner is gone */
	if (n != (ssize_t)sizeof m)
		return;
	m.run_id[sizeof m.run_id - 1] = 0;
	l->now = m;
	if (!m.execution)
		return;
	l->looks = 0;
	l->n_users = 0;
	l->next_ns = clock_ns(CLOCK_MONOTONIC) + FIRST_LOOK_NS;
	begin_write(l);
	l->page->execution = m.execution;
	for (size_t i = 0; i < l->page->n; i++)
		looks_clear(&l->page->devices[i].looks);
	end_write(l);
}

static _Noreturn void serve(struct looker *l)
{
	for (;;) {
		int64_t left = l->next_ns - clock_ns(CLOCK_MONOTONIC);
		left = left > 0 ? left : 0;
		const struct timespec pause = { left / 1000000000, left % 1000000000 };
		struct pollfd fd = { l->control, POLLIN, 0 };
		int ready = ppoll(&fd, 1, l->now.execution ? &pause : NULL, NULL);
		if (ready > 0)
			take_message(l);
		else if (ready == 0)
			look(l);
	}
}

static bool first_pid_namespace(const char *root)
{
	char text[64];
	return strcmp(sysfile_link(root, "/proc/self/ns/pid", text, sizeof text), INITIAL_PIDS) ==
	       0;
}

_Noreturn void sampler_process(struct sampler_page *page, int control,
			       const struct sampler_options *o)
{
	static struct looker l;
	const char *root = o->devices.root ? o->devices.root : "";
	double per_s = o->per_s < 10 ? o->per_s : 10;
	pid_t runner = getppid();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "roi-sampler");
	if (getppid() != runner)
		_exit(0);
	fds_let_go(control);
	l = (struct looker){ .page = page,
			     .root = root,
			     .control = control,
			     .period_ns = (int64_t)(1e9 / per_s),
			     .sees_pids = first_pid_namespace(root) };
	if (devices_open(&l.devices, &o->devices))
		_exit(1);
	page->n = (uint32_t)devices_count(l.devices);
	page->n = page->n < SAMPLED_MAX ? page->n : SAMPLED_MAX;
	for (size_t i = 0; i < page->n; i++) {
		page->devices[i].gone = false;
		looks_clear(&page->devices[i].looks);
	}
	atomic_store(&page->ready, 1);
	serve(&l);
}
