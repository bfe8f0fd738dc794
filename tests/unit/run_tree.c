/* A whole process tree is started, watched, and gone afterwards, however it tries to stay. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "run/cgroup.h"
#include "node/procs.h"
#include "run/tree.h"

static char folder[] = "/tmp/roimeter-tree-XXXXXX";
static char group[CGROUP_PATH_BYTES]; /* empty: none can be made here */
static bool use_group;

static char *in_folder(const char *name)
{
	static char path[8][256];
	static int at;
	at = (at + 1) % 8;
	(void)snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
	return path[at];
}

static void run_shell(const char *script, double timeout_s, double grace_s, struct tree **ret)
{
	static char sh[] = "/bin/sh", c[] = "-c", path[] = "PATH=/usr/bin:/bin";
	char *line = strdup(script);
	char *argv[] = { sh, c, line, NULL };
	char *envp[] = { path, NULL };
	struct tree_spec spec = {
		.path = sh,
		.argv = argv,
		.envp = envp,
		.cwd = folder,
		.output = in_folder("out"),
		.timeout_s = timeout_s,
		.grace_s = grace_s,
		.cgroup = use_group ? group : NULL,
	};
	struct err err = { 0 };
	assert_int_equal(tree_start(ret, &spec, &err), 0);
	free(line);
}

static struct tree_end finished(const char *script, double timeout_s)
{
	struct tree *t = NULL;
	struct tree_end end;
	run_shell(script, timeout_s, 0.1, &t);
	tree_finish(t, &end);
	return end;
}

static void nap(void)
{
	const struct timespec tick = { .tv_nsec = 20000000 };
	(void)nanosleep(&tick, NULL);
}

/* How many processes have written their pid into "pids". */
static int pids_told(void)
{
	struct buf b = { 0 };
	int n = 0;
	if (access(in_folder("pids"), R_OK) == 0 && file_read(&b, in_folder("pids"), NULL) == 0)
		for (const char *p = b.data; p && (p = strchr(p, '\n')); p++)
			n++;
	buf_done(&b);
	return n;
}

/* However long it takes: the tree stands when all of it have told theirs. */
static void await_pids(int wanted)
{
	for (int i = 0; i < 3000 && pids_told() < wanted; i++)
		nap();
	assert_int_equal(pids_told(), wanted);
}

/* The pause until a time-out, a longer one when a slow machine needs it to have all under way by
 * then. */
static const double timeouts_s[] = { 0.3, 2, 10, 30 };
#define TIMEOUTS (sizeof timeouts_s / sizeof *timeouts_s)

static const char *output(void)
{
	static struct buf b;
	b.len = 0;
	assert_int_equal(file_read(&b, in_folder("out"), NULL), 0);
	return b.data ? b.data : "";
}

/* Every pid written to "pids" is gone. */
static void assert_all_gone(int wanted)
{
	struct buf b = { 0 };
	int n = 0;
	assert_int_equal(file_read(&b, in_folder("pids"), NULL), 0);
	for (char *p = b.data; p && *p;) {
		char *end;
		long pid = strtol(p, &end, 10);
		if (end == p)
			break;
		p = end;
		n++;
		if (kill((pid_t)pid, 0) == 0)
			fail_msg("process %ld is still there", pid);
		assert_int_equal(errno, ESRCH);
	}
	assert_int_equal(n, wanted);
	buf_done(&b);
	(void)unlink(in_folder("pids"));
}

static void exit_code_output_and_times_are_told(void **state)
{
	(void)state;
	struct tree_end end = finished("echo out; echo err >&2; sleep 0.05; exit 7", NAN);
	assert_int_equal(end.end, END_EXITED);
	assert_true(WIFEXITED(end.status));
	assert_int_equal(WEXITSTATUS(end.status), 7);
	assert_string_equal(output(), "out\nerr\n");
	double wall = (double)(end.end_ns - end.start_ns) / 1e9;
	assert_true(wall >= 0.05 && wall < 90);
	assert_true(end.max_rss_bytes > 100000);
	assert_true(end.user_s + end.system_s >= 0 && end.user_s < 90);
	assert_int_equal(end.outlived, 0);
	assert_int_equal(end.grouped, use_group);
}

static void a_signal_is_told_as_such(void **state)
{
	(void)state;
	struct tree_end end = finished("kill -9 $$", NAN);
	assert_int_equal(end.end, END_EXITED);
	assert_true(WIFSIGNALED(end.status));
	assert_int_equal(WTERMSIG(end.status), SIGKILL);
}

static void the_command_has_no_descriptors_terminal_or_blocked_signals(void **state)
{
	(void)state;
	struct tree_end end = finished("ls /proc/$$/fd >fds; tr '\\n' ' ' <fds; cat; "
				       "grep -E 'SigBlk|SigIgn' /proc/$$/status | tr -d '\\n'",
				       NAN);
	assert_int_equal(end.status, 0);
	assert_non_null(strstr(output(), "SigBlk:\t0000000000000000"));
	assert_non_null(strstr(output(), "SigIgn:\t0000000000000000"));
	int highest = 0;
	(void)sscanf(output(), "0 1 2 %d", &highest);
	assert_true(highest == 0 || highest == 10 || highest == 255); /* the shell's own */
}

static void a_command_that_cannot_start_says_why(void **state)
{
	(void)state;
	static char nowhere[] = "/nowhere/program";
	char *argv[] = { nowhere, NULL };
	char *envp[] = { NULL };
	struct tree_spec spec = { .path = nowhere,
				  .argv = argv,
				  .envp = envp,
				  .cwd = folder,
				  .output = in_folder("out"),
				  .timeout_s = NAN,
				  .grace_s = 0.1 };
	struct tree *t = NULL;
	struct tree_end end;
	assert_int_equal(tree_start(&t, &spec, NULL), 0);
	tree_finish(t, &end);
	assert_int_equal(end.end, END_NOT_STARTED);
	assert_int_equal(end.start_errno, ENOENT);
	assert_string_equal(end.start_what, "start");

	spec.cwd = "/nowhere";
	assert_int_equal(tree_start(&t, &spec, NULL), 0);
	tree_finish(t, &end);
	assert_int_equal(end.end, END_NOT_STARTED);
	assert_string_equal(end.start_what, "enter the folder of");
}

/* Three levels, one of them a daemon: a double fork with a session of its own. */
#define STUBBORN                                                                                   \
	"trap '' TERM; echo $$ >>pids; "                                                           \
	"(trap '' TERM; sh -c 'echo $$ >>pids; exec sleep 60' & "                                  \
	" sh -c 'trap \"\" TERM; echo $$ >>pids; sh -c \"echo \\$\\$ >>pids; exec sleep 60\"' & "  \
	" setsid sh -c 'trap \"\" TERM; (echo >/dev/null; sh -c \"echo \\$\\$ >>pids; exec sleep " \
	"60\" &) ; exit 0' & wait) & "

static void a_timeout_ends_three_levels_and_a_daemon(void **state)
{
	(void)state;
	for (size_t i = 0; i < TIMEOUTS; i++) {
		struct tree_end end = finished(STUBBORN "wait; sleep 60", timeouts_s[i]);
		assert_int_equal(end.end, END_TIMEOUT);
		assert_true(WIFSIGNALED(end.status));
		assert_int_equal(end.immortal, 0);
		int stood = pids_told();
		if (stood)
			assert_all_gone(stood);
		if (stood == 5)
			return;
	}
	fail_msg("the tree never stood");
}

static void sigterm_comes_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < TIMEOUTS; i++) {
		struct tree *t = NULL;
		struct tree_end end;
		run_shell("trap 'echo good-bye; exit 3' TERM; sleep 60 & echo ready; wait",
			  timeouts_s[i], 30, &t);
		tree_finish(t, &end);
		assert_int_equal(end.end, END_TIMEOUT);
		if (!strstr(output(), "ready")) /* the shell had not come to its trap */
			continue;
		assert_string_equal(output(), "ready\ngood-bye\n");
		assert_true(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 3);
		/* It was not waited for until SIGKILL. */
		assert_true((double)(end.end_ns - end.start_ns) / 1e9 < timeouts_s[i] + 25);
		return;
	}
	fail_msg("the shell never came to its trap");
}

static void what_outlives_the_command_is_ended_and_counted(void **state)
{
	(void)state;
	struct tree_end end = finished("(setsid sh -c 'echo $$ >>pids; exec sleep 60' &) ; until [ "
				       "-s pids ]; do sleep 0.02; done",
				       NAN);
	assert_int_equal(end.end, END_EXITED);
	assert_int_equal(end.status, 0);
	assert_int_equal(end.outlived, 1);
	assert_true(end.end_ns - end.start_ns <
		    INT64_C(50000000000)); /* the command's, not the daemon's */
	assert_all_gone(1);
}

static void a_helper_that_ends_by_itself_is_no_matter(void **state)
{
	(void)state;
	/* It has a tenth of a second, which a busy machine may take for itself. */
	for (int i = 0; i < 20; i++) {
		struct tree_end end = finished("(sleep 0.03 &)", NAN);
		assert_int_equal(end.end, END_EXITED);
		if (end.outlived == 0)
			return;
	}
	fail_msg("each of them counted as one that stays");
}

static void an_interrupt_ends_the_tree(void **state)
{
	(void)state;
	struct tree *t = NULL;
	struct tree_end end;
	run_shell(STUBBORN "sleep 60", NAN, 0.1, &t);
	struct pollfd p = { tree_fd(t), POLLIN, 0 };
	await_pids(5);
	assert_int_equal(poll(&p, 1, 0), 0);
	tree_interrupt(t);
	assert_int_equal(poll(&p, 1, 50000), 1);
	tree_finish(t, &end);
	assert_int_equal(end.end, END_INTERRUPTED);
	assert_all_gone(5);
}

/* The runner is killed: a child of this test plays it. */
static void a_killed_runner_leaves_nothing(void **state)
{
	(void)state;
	pid_t runner = fork();
	if (runner == 0) {
		struct tree *t = NULL;
		run_shell(STUBBORN "sleep 60", NAN, 0.1, &t);
		pause();
		_exit(1);
	}
	await_pids(5);
	assert_int_equal(kill(runner, SIGKILL), 0);
	assert_int_equal(waitpid(runner, NULL, 0), runner);
	/* The keeper is now a stranger's child; give it its half second and some. */
	struct buf b = { 0 };
	for (int i = 0; i < 2000; i++) {
		b.len = 0;
		assert_int_equal(file_read(&b, in_folder("pids"), NULL), 0);
		int alive = 0;
		for (char *p = b.data, *end; strtol(p, &end, 10) && end != p; p = end)
			alive += kill((pid_t)strtol(p, NULL, 10), 0) == 0;
		if (!alive)
			break;
		nap();
	}
	buf_done(&b);
	assert_all_gone(5);
}

static void a_killed_keeper_leaves_nothing_either(void **state)
{
	(void)state;
	struct tree *t = NULL;
	struct tree_end end;
	run_shell(STUBBORN "sleep 60", NAN, 0.1, &t);
	await_pids(5);
	assert_int_equal(kill(tree_root(t), SIGKILL), 0);
	tree_finish(t, &end);
	assert_true(end.keeper_lost);
	assert_int_equal(end.end, END_INTERRUPTED);
	assert_true(isnan(end.user_s));
	assert_all_gone(5);
}

static void a_bomb_that_forks_on_and_on_is_ended(void **state)
{
	(void)state;
	/* Each link starts the next and ends: bounded to 2000 links, some seconds. */
	struct tree_end end = finished("i=${1:-0}; cat >bomb <<'E'\n"
				       "trap '' TERM\n[ $1 -lt 2000 ] || exit\n"
				       "/bin/sh ./bomb $(($1+1)) & exit 0\nE\n"
				       "/bin/sh ./bomb 0 & /bin/sh ./bomb 0 & sleep 60",
				       0.3);
	assert_int_equal(end.end, END_TIMEOUT);
	assert_int_equal(end.immortal, 0);
	struct pids left = { 0 };
	assert_int_equal(procs_below("/proc", getpid(), &left), 0);
	assert_int_equal(left.n, 0);
	pids_done(&left);
}

static void cgroup_paths_are_read(void **state)
{
	(void)state;
	char path[CGROUP_PATH_BYTES];
	const char *mounts = "24 1 0:22 / /proc rw - proc proc rw\n"
			     "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
	assert_int_equal(cgroup_own(mounts, "0::/user.slice/a.scope\n", path), 0);
	assert_string_equal(path, "/sys/fs/cgroup/user.slice/a.scope");
	assert_int_equal(cgroup_own(mounts, "12:cpu:/x\n0::/\n", path), 0);
	assert_string_equal(path, "/sys/fs/cgroup");
	assert_int_equal(cgroup_own(mounts, "12:cpu:/x\n", path), -ENOENT);
	assert_int_equal(cgroup_own("24 1 0:22 / /proc rw - proc proc rw\n", "0::/\n", path),
			 -ENOENT);
	const char *part = "35 24 0:30 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
	assert_int_equal(cgroup_own(part, "0::/docker/1/x\n", path), 0);
	assert_string_equal(path, "/sys/fs/cgroup/x");
	assert_int_equal(cgroup_own(part, "0::/docker/12\n", path), -ENOENT);
}

#define TREE_TESTS                                                                                 \
	cmocka_unit_test(exit_code_output_and_times_are_told),                                     \
		cmocka_unit_test(a_signal_is_told_as_such),                                        \
		cmocka_unit_test(the_command_has_no_descriptors_terminal_or_blocked_signals),      \
		cmocka_unit_test(a_timeout_ends_three_levels_and_a_daemon),                        \
		cmocka_unit_test(what_outlives_the_command_is_ended_and_counted),                  \
		cmocka_unit_test(an_interrupt_ends_the_tree),                                      \
		cmocka_unit_test(a_killed_runner_leaves_nothing),                                  \
		cmocka_unit_test(a_killed_keeper_leaves_nothing_either),                           \
		cmocka_unit_test(a_bomb_that_forks_on_and_on_is_ended)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TESTS,
		cmocka_unit_test(a_command_that_cannot_start_says_why),
		cmocka_unit_test(sigterm_comes_first),
		cmocka_unit_test(a_helper_that_ends_by_itself_is_no_matter),
		cmocka_unit_test(cgroup_paths_are_read),
	};
	const struct CMUnitTest grouped[] = { TREE_TESTS };
	(void)alarm(300);
	if (!mkdtemp(folder))
		return 1;
	int rc = cmocka_run_group_tests_name("tree by subreaper", tests, NULL, NULL);
	struct err err = { 0 };
	if (cgroup_make(group, &err)) {
		(void)printf("ok 1 - tree by control group # SKIP %s\n", err.text);
	} else {
		use_group = true;
		rc |= cmocka_run_group_tests_name("tree by control group", grouped, NULL, NULL);
		cgroup_remove(group);
		if (access(group, F_OK) == 0) {
			(void)printf("not ok - the control group is removed\n");
			rc = 1;
		}
	}
	(void)file_remove_tree(folder, NULL);
	return rc;
}
