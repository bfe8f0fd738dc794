/* A fork, a pipe, and a time limit. */
#define _GNU_SOURCE
#include "node/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/fds.h"

#define REAP_MS 200 /* for a process that was killed, or has closed its pipe */

static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The first bytes are what fn answered. */
static _Noreturn void child(pid_t parent, int to, int (*fn)(struct buf *out, void *arg), void *arg)
{
	struct buf out = { 0 };
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	fds_let_go(to); /* it may be stuck for longer than its parent lives */
	int rc = fn(&out, arg);
	if (out.failed)
		rc = -ENOMEM;
	ssize_t n = write(to, &rc, sizeof rc);
	for (size_t at = 0; n > 0 && !rc && at < out.len; at += (size_t)n)
		n = write(to, out.data + at, out.len - at);
	_exit(n < 0);
}

/* Until the other end is closed. */
static int read_all(struct buf *ret, int from, int64_t until_ns)
{
	char bytes[4096];
	for (;;) {
		int64_t left_ns = until_ns - now_ns();
		struct pollfd fd = { from, POLLIN, 0 };
		int ready = poll(&fd, 1, left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ready < 0 ? -errno : -ETIMEDOUT;
		ssize_t n = read(from, bytes, sizeof bytes);
		if (n == 0)
			return ret->failed ? -ENOMEM : 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_put(ret, bytes, (size_t)n);
	}
}

/* A process that is stuck in the kernel does not end even by SIGKILL: it is left. */
static void reap(pid_t pid)
{
	for (int i = 0; i < REAP_MS; i++) {
		const struct timespec pause = { .tv_nsec = 1000000 };
		pid_t done = waitpid(pid, NULL, WNOHANG);
		if (done == pid || (done < 0 && errno != EINTR))
			return;
		(void)nanosleep(&pause, NULL);
	}
}

int aside(struct buf *ret, double limit_s, int (*fn)(struct buf *out, void *arg), void *arg)
{
	struct buf all = { .max = (size_t)16 << 20 };
	int ends[2], answer = -ECHILD;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		child(parent, ends[1], fn, arg);
	int rc = pid < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (!rc) {
		rc = read_all(&all, ends[0], now_ns() + (int64_t)(limit_s * 1e9));
		if (rc)
			(void)kill(pid, SIGKILL);
		reap(pid);
	}
	(void)close(ends[0]);
	if (!rc && all.len >= sizeof answer)
		memcpy(&answer, all.data, sizeof answer);
	if (!rc)
		rc = answer;
	if (!rc)
		buf_put(ret, all.data + sizeof answer, all.len - sizeof answer);
	if (!rc && ret->failed)
		rc = -ENOMEM;
	buf_done(&all);
	return rc;
}
