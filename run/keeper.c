/* The process between the runner and the command. */
#define _GNU_SOURCE
#include "run/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/fds.h"
#include "node/procs.h"

#define SECOND INT64_C(1000000000)
#define LINGER_NS (SECOND / 10) /* for helpers that end by themselves after the command */
#define KILL_EVERY_NS (SECOND / 50)
#define GIVE_UP_NS (10 * SECOND) /* after SIGKILL: a process stuck in the kernel */
#define ORPHAN_GRACE_NS                                                                            \
	(SECOND / 2) /* when the runner is gone, nobody waits for a long good-bye                  \
		      */

enum stage {
	RUNNING,
	LINGERING, /* the command has ended, others have not */
	ENDING,    /* SIGTERM was sent */
	KILLING,
};

struct keeper {
	const struct tree_spec *spec;
	struct keeper_page *page;
	enum stage stage;
	int64_t deadline_ns, give_up_ns;
	pid_t main;
	bool main_ended;
	int signals, control, report;
	int64_t grace_ns;
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- the command ---- */

struct start_failure {
	int error, what;
};

static const char *const start_what[] = { "start", "enter the folder of", "create the output of" };

static _Noreturn void fail_start(int report, int what)
{
	struct start_failure f = { .error = errno, .what = what };
	ssize_t n = write(report, &f, sizeof f);
	_exit(n == (ssize_t)sizeof f ? 127 : 126);
}

/* In the new process, up to exec. */
static _Noreturn void become_command(const struct tree_spec *spec, int report)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setsid(); /* no terminal: Ctrl-C reaches the runner only, which ends the tree in order
			 */
	/* By the kernel's own call: libc's leaves out the two signals it keeps to itself, and a
	 * command started by make would begin with both ignored. All-zero is SIG_DFL. */
	static const unsigned long by_default[8];
	for (int sig = 1; sig < NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, by_default, NULL, (size_t)(NSIG - 1) / 8);
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);

	int in = open("/dev/null", O_RDONLY);
	int out = open(spec->output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	if (in < 0 || out < 0)
		fail_start(report, 2);
	(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(out, STDERR_FILENO);
	fds_close_on_exec();
	if (spec->cwd && chdir(spec->cwd))
		fail_start(report, 1);
	(void)execve(spec->path, spec->argv, spec->envp);
	fail_start(report, 0);
}

/* A fork, straight into the control group where there is one: moving a process later costs
 * milliseconds, and what it starts before would be outside. */
static pid_t fork_into(const char *cgroup)
{
	int fd = cgroup[0] ? open(cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0)
		return fork();
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)fd,
	};
	long pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid)
		(void)close(fd);
	return (pid_t)pid;
}

static void make_group(struct keeper *k)
{
	char *path = k->page->cgroup;
	if (!k->spec->cgroup)
		return;
	int n = snprintf(path, CGROUP_PATH_BYTES, "%s/%ld", k->spec->cgroup, (long)getpid());
	if (n < 0 || n >= CGROUP_PATH_BYTES || mkdir(path, 0755))
		path[0] = 0;
}

static void drop_group(struct keeper *k)
{
	if (k->page->cgroup[0])
		cgroup_remove(k->page->cgroup);
	k->page->cgroup[0] = 0;
}

/* 0, or not started: then end says why. */
static int start_command(struct keeper *k)
{
	struct tree_end *end = &k->page->end;
	int report[2];
	make_group(k);
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK)) {
		end->start_errno = errno;
		end->start_what = start_what[0];
		return -1;
	}
	end->start_real_ns = now_ns(CLOCK_REALTIME);
	end->start_ns = now_ns(CLOCK_MONOTONIC);
	k->main = fork_into(k->page->cgroup);
	if (k->main < 0 &&
	    k->page->cgroup[0]) { /* an old kernel, or no permission for this group */
		drop_group(k);
		k->main = fork();
	}
	if (k->main == 0)
		become_command(k->spec, report[1]);
	int fork_errno = errno;
	(void)close(report[1]);
	k->report = report[0];
	end->grouped = k->page->cgroup[0] != 0;
	if (k->main > 0)
		return 0;
	end->start_errno = fork_errno;
	end->start_what = start_what[0];
	return -1;
}

/* Why it could not become the command, if so. Asked when it has ended: to wait for the pipe to
 * close at exec would be one wake-up more in every execution, just when the program starts. */
static bool start_failed(struct keeper *k)
{
	struct start_failure f;
	ssize_t n = read(k->report, &f, sizeof f);
	if (n != (ssize_t)sizeof f)
		return false;
	k->page->end.end = END_NOT_STARTED;
	k->page->end.start_errno = f.error;
	k->page->end.start_what = start_what[f.what];
	return true;
}

/* ---- the wait ---- */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add_usage(struct tree_end *end, const struct rusage *u)
{
	end->user_s += seconds(u->ru_utime);
	end->system_s += seconds(u->ru_stime);
	end->voluntary += (double)u->ru_nvcsw;
	end->involuntary += (double)u->ru_nivcsw;
	end->minor += (double)u->ru_minflt;
	end->major += (double)u->ru_majflt;
	/* What /proc/PID/io says as read_bytes and write_bytes, in blocks of 512. */
	end->device_read_bytes += (double)u->ru_inblock * 512;
	end->device_write_bytes += (double)u->ru_oublock * 512;
	end->max_rss_bytes = fmax(end->max_rss_bytes, (double)u->ru_maxrss * 1024);
}

static void command_ended(struct keeper *k, int status)
{
	struct tree_end *end = &k->page->end;
	end->end_ns = now_ns(CLOCK_MONOTONIC);
	end->end_real_ns = now_ns(CLOCK_REALTIME);
	end->status = status;
	k->main_ended = true;
	if (start_failed(k))
		return; /* nothing of it ever ran */
	if (k->stage == RUNNING) {
		k->stage = LINGERING;
		k->deadline_ns = end->end_ns + LINGER_NS;
	}
}

/* Takes in all that ended. Returns false when nothing is left below us: orphans come to us, so
 * without a child there is no descendant. */
static bool reap(struct keeper *k)
{
	for (;;) {
		int status;
		struct rusage usage;
		pid_t pid = wait4(-1, &status, WNOHANG, &usage);
		if (pid == 0)
			return true;
		if (pid < 0)
			return errno == EINTR;
		add_usage(&k->page->end, &usage);
		if (pid == k->main)
			command_ended(k, status);
	}
}

static void begin_ending(struct keeper *k, int64_t grace_ns)
{
	(void)procs_signal(getpid(), SIGTERM);
	(void)procs_signal(getpid(), SIGCONT); /* a stopped process would not see it */
	k->stage = ENDING;
	k->deadline_ns = now_ns(CLOCK_MONOTONIC) + grace_ns;
}

static void kill_all(struct keeper *k)
{
	if (k->page->cgroup[0])
		(void)cgroup_kill(k->page->cgroup);
	(void)procs_kill(getpid());
	int64_t now = now_ns(CLOCK_MONOTONIC);
	if (k->stage != KILLING)
		k->give_up_ns = now + GIVE_UP_NS;
	k->stage = KILLING;
	k->deadline_ns = now + KILL_EVERY_NS;
}

/* The deadline of this stage has come. */
static void next_stage(struct keeper *k)
{
	struct pids left = { 0 };
	switch (k->stage) {
	case RUNNING:
		k->page->end.end = END_TIMEOUT;
		begin_ending(k, k->grace_ns);
		break;
	case LINGERING:
		if (procs_below("/proc", getpid(), &left) == 0)
			k->page->end.outlived = (uint32_t)left.n;
		pids_done(&left);
		begin_ending(k, k->grace_ns);
		break;
	case ENDING:
	case KILLING:
		kill_all(k);
		break;
	}
}

static void read_control(struct keeper *k)
{
	char c;
	ssize_t n = read(k->control, &c, 1);
	if (n < 0)
		return;
	if (n == 0) {
		(void)close(k->control);
		k->control = -1; /* poll leaves it alone */
	}
	if (k->stage == RUNNING)
		k->page->end.end = END_INTERRUPTED;
	if (k->stage == RUNNING || k->stage == LINGERING)
		begin_ending(k, n == 0 && ORPHAN_GRACE_NS < k->grace_ns ? ORPHAN_GRACE_NS
									: k->grace_ns);
}

/* One wait: for a child, for the runner, or for the deadline. */
static void wait_once(struct keeper *k)
{
	struct pollfd fds[2] = { { k->signals, POLLIN, 0 }, { k->control, POLLIN, 0 } };
	struct timespec pause = { 0 };
	bool endless = k->deadline_ns == INT64_MAX;
	int64_t left = endless ? 0 : k->deadline_ns - now_ns(CLOCK_MONOTONIC);
	if (left > 0) {
		pause.tv_sec = left / SECOND;
		pause.tv_nsec = left % SECOND;
	}
	if (ppoll(fds, 2, endless ? NULL : &pause, NULL) < 0)
		return;
	struct signalfd_siginfo info;
	while (fds[0].revents && read(k->signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD && k->stage == RUNNING) {
			k->page->end.end = END_INTERRUPTED;
			begin_ending(k, k->grace_ns);
		}
	if (fds[1].revents)
		read_control(k);
}

static void watch(struct keeper *k)
{
	while (reap(k)) {
		wait_once(k);
		if (k->deadline_ns != INT64_MAX && now_ns(CLOCK_MONOTONIC) >= k->deadline_ns) {
			if (!reap(k))
				return;
			/* Has it ended meanwhile? Then what it left has its time still. */
			if (now_ns(CLOCK_MONOTONIC) >= k->deadline_ns)
				next_stage(k);
		}
		if (k->stage == KILLING && now_ns(CLOCK_MONOTONIC) > k->give_up_ns) {
			struct pids left = { 0 };
			if (procs_below("/proc", getpid(), &left) == 0)
				k->page->end.immortal = (uint32_t)left.n;
			pids_done(&left);
			return;
		}
	}
}

static int take_signals(void)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGQUIT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGCHLD, SIG_DFL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* It may have been killed while nothing was to be waited for. */
static bool runner_is_gone(struct keeper *k)
{
	struct pollfd p = { k->control, POLLIN, 0 };
	return k->control < 0 || (poll(&p, 1, 0) > 0 && (p.revents & POLLHUP));
}

static void finish(struct keeper *k)
{
	struct tree_end *end = &k->page->end;
	if (!k->main_ended && end->end != END_NOT_STARTED) {
		end->end_ns = now_ns(CLOCK_MONOTONIC);
		end->end_real_ns = now_ns(CLOCK_REALTIME);
	}
	end->group_read_bytes = end->group_write_bytes = NAN;
	if (end->grouped) {
		double user, system;
		cgroup_cpu(k->page->cgroup, &user, &system);
		/* Also of processes whose parent never waited for them. */
		end->user_s = fmax(end->user_s, user);
		end->system_s = fmax(end->system_s, system);
		cgroup_io(k->page->cgroup, &end->group_read_bytes, &end->group_write_bytes);
	}
	drop_group(k);
	if (k->spec->cgroup && runner_is_gone(k))
		cgroup_remove(k->spec->cgroup); /* nobody else will */
	struct rusage own;
	(void)getrusage(RUSAGE_SELF, &own);
	end->keeper_cpu_s = seconds(own.ru_utime) + seconds(own.ru_stime);
	end->keeper_wakeups = (double)own.ru_nvcsw;
	__sync_synchronize();
	k->page->done = true;
}

_Noreturn void keeper_main(const struct tree_spec *spec, struct keeper_page *page, int control)
{
	struct keeper k = {
		.spec = spec,
		.page = page,
		.control = control,
		.grace_ns = (int64_t)(spec->grace_s * 1e9),
		.deadline_ns = INT64_MAX,
	};
	(void)setsid(); /* a signal to the runner's process group must not reach us */
	(void)prctl(PR_SET_NAME, "roimeter-keeper");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	k.signals = take_signals();
	if (k.signals < 0) {
		page->end.end = END_NOT_STARTED;
		page->end.start_errno = errno;
		page->end.start_what = start_what[0];
	} else if (start_command(&k)) {
		page->end.end = END_NOT_STARTED;
	} else {
		if (!isnan(spec->timeout_s) && spec->timeout_s < 1e9)
			k.deadline_ns = page->end.start_ns + (int64_t)(spec->timeout_s * 1e9);
		watch(&k);
	}
	finish(&k);
	_exit(0);
}
