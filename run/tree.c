/* The runner's side of a tree: fork the keeper, wait for it, and clean up should it be gone. */
#define _GNU_SOURCE
#include "run/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/keeper.h"
#include "node/procs.h"

struct tree {
	struct keeper_page *page;
	pid_t keeper;
	int pidfd, control;
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void tree_free(struct tree *t)
{
	if (t->page)
		(void)munmap(t->page, sizeof *t->page);
	if (t->pidfd >= 0)
		(void)close(t->pidfd);
	if (t->control >= 0)
		(void)close(t->control);
	free(t);
}

static int fork_keeper(struct tree *t, const struct tree_spec *spec)
{
	int control[2];
	if (pipe2(control, O_CLOEXEC))
		return -errno;
	t->keeper = fork();
	if (t->keeper == 0) {
		(void)close(control[1]); /* or it would never see our end */
		keeper_main(spec, t->page, control[0]);
	}
	int rc = t->keeper < 0 ? -errno : 0;
	(void)close(control[0]);
	t->control = control[1];
	return rc;
}

int tree_start(struct tree **ret, const struct tree_spec *spec, struct err *err)
{
	struct tree *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->pidfd = t->control = -1;
	int rc = 0;
	void *page = mmap(NULL, sizeof *t->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	if (page == MAP_FAILED) {
		rc = err_set(err, -errno, "start %s: %s", spec->path, strerror(errno));
		goto fail;
	}
	t->page = page;
	/* Should the keeper be killed, its orphans come to us. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	t->page->end.start_real_ns = now_ns(CLOCK_REALTIME);
	t->page->end.start_ns = now_ns(CLOCK_MONOTONIC);
	rc = fork_keeper(t, spec);
	if (rc) {
		(void)err_set(err, rc, "start %s: %s", spec->path, strerror(-rc));
		goto fail;
	}
	t->pidfd = (int)syscall(SYS_pidfd_open, t->keeper, 0);
	if (t->pidfd < 0) {
		rc = err_set(err, -errno, "watch a process (pidfd_open, Linux 5.3): %s",
			     strerror(errno));
		(void)close(t->control);
		t->control = -1;
		(void)waitpid(t->keeper, NULL, 0);
		goto fail;
	}
	*ret = t;
	return 0;

fail:
	tree_free(t);
	return rc;
}

int tree_fd(const struct tree *t)
{
	return t->pidfd;
}

pid_t tree_root(const struct tree *t)
{
	return t->keeper;
}

const char *tree_group(const struct tree *t)
{
	return t->page->cgroup[0] ? t->page->cgroup : NULL;
}

void tree_interrupt(struct tree *t)
{
	/* A pipe with one byte in it has room; should the keeper be gone, so is the need. */
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	(void)sigaction(SIGPIPE, &ignore, &old);
	ssize_t n = write(t->control, "i", 1);
	(void)n;
	(void)sigaction(SIGPIPE, &old, NULL);
}

/* The keeper was killed. All that was below it is below us now. */
static void clean_up_after_keeper(struct tree *t, struct tree_end *end)
{
	char group[CGROUP_PATH_BYTES];
	memcpy(group, t->page->cgroup, sizeof group);
	group[sizeof group - 1] = 0;
	for (int i = 0; i < 500; i++) {
		if (group[0])
			(void)cgroup_kill(group);
		(void)procs_kill(getpid());
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0)
			break;
		const struct timespec pause = { .tv_nsec = 20000000 };
		(void)nanosleep(&pause, NULL);
	}
	if (group[0])
		cgroup_remove(group);
	end->keeper_lost = true;
	end->end = END_INTERRUPTED;
	end->end_real_ns = now_ns(CLOCK_REALTIME);
	end->end_ns = now_ns(CLOCK_MONOTONIC);
	end->user_s = end->system_s = end->voluntary = end->involuntary = NAN;
	end->minor = end->major = end->max_rss_bytes = NAN;
	end->device_read_bytes = end->device_write_bytes = NAN;
	end->group_read_bytes = end->group_write_bytes = NAN;
	end->keeper_cpu_s = end->keeper_wakeups = NAN;
}

void tree_finish(struct tree *t, struct tree_end *ret)
{
	while (waitpid(t->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	*ret = t->page->end;
	if (!t->page->done)
		clean_up_after_keeper(t, ret);
	tree_free(t);
}
