/* Packets to the agent and back. */
#define _GNU_SOURCE
#include "run/link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "lib/unixsock.h"
#include "schema/codec.h"
#include "schema/local.h"

#define STATUS_MAX_BYTES ((size_t)64 << 20)

int64_t link_now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

const char *link_path(const char *told, const char *configured)
{
	const char *variable = getenv(LOCAL_VARIABLE);
	if (told && *told)
		return told;
	if (variable && *variable)
		return variable;
	return configured && *configured ? configured : LOCAL_SOCKET;
}

int link_open(const char *path, struct err *err)
{
	struct err why = { .text = "" };
	int fd = unixsock_connect(path, &why);
	if (fd >= 0)
		return fd;
	if (fd == -EAGAIN)
		return err_set(err, fd, "the agent at %s has too much to do just now", path);
	if (fd == -ECONNREFUSED || fd == -ENOENT || fd == -ENOTDIR)
		return err_set(err, -ECONNREFUSED,
			       "no agent of this node answers at %s: start roimeter-agent, or "
			       "name its socket with [agent] socket or " LOCAL_VARIABLE,
			       path);
	if (fd == -EACCES)
		return err_set(err, -ECONNREFUSED,
			       "%s: its owner does not let you speak to this agent", why.text);
	return err_set(err, fd, "%s", why.text);
}

/* 0: ready; -ETIMEDOUT; -EINTR. */
static int wait_for(int fd, short events, const struct link_wait *w)
{
	for (;;) {
		struct pollfd fds[2] = { { fd, events, 0 }, { w->cancel, POLLIN, 0 } };
		int64_t left = w->until_ns - link_now_ns();
		struct timespec pause = { 0, 0 };
		if (left > 0)
			pause = (struct timespec){ left / 1000000000, left % 1000000000 };
		int n = ppoll(fds, 2, &pause, NULL);
		if (n > 0 && fds[0].revents)
			return 0;
		if (n > 0)
			return -EINTR;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && left <= 0)
			return -ETIMEDOUT;
	}
}

static int said(int rc, struct err *err)
{
	switch (rc) {
	case -ETIMEDOUT:
		return err_set(err, rc, "the agent does not answer in time");
	case -EINTR:
		return err_set(err, rc, "interrupted while the agent was asked");
	case -EPIPE:
	case -ECONNRESET:
	case -ECONNREFUSED:
	case -ENOTCONN:
		return err_set(err, -EPIPE, "the agent ended the connection");
	default:
		return err_set(err, rc, "speak to the agent: %s", strerror(-rc));
	}
}

int link_send(int fd, const void *bytes, size_t n, int pass, const struct link_wait *w,
	      struct err *err)
{
	for (;;) {
		int rc = unixsock_send(fd, bytes, n, pass);
		if (rc == 0)
			return 0;
		if (rc == -EAGAIN || rc == -ENOBUFS)
			rc = wait_for(fd, POLLOUT, w);
		if (rc)
			return said(rc, err);
	}
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "SEQ\n" */
static int take_seq(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long seq = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno || *end != '\n' || end[1])
		return -EPROTO;
	*ret = seq;
	return 0;
}

/* "errno name\nsentence\n"; a name of another system's is still a refusal. */
static int take_refusal(char *text, struct link_answer *ret)
{
	static const int known[] = { EACCES, EPERM,  EBADMSG, EPROTONOSUPPORT, E2BIG,
				     ENOSPC, ENOMEM, EAGAIN,  EINVAL,          EBUSY,
				     ENOENT, EIO,    EEXIST,  ENOTSUP,         EPROTO,
				     EMFILE, ENFILE, EROFS,   EDQUOT,          EMSGSIZE };
	char *line = strchr(text, '\n');
	if (!line)
		return -EPROTO;
	*line = 0;
	ret->rc = -EPROTO;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(text, strerrorname_np(known[i])) == 0)
			ret->rc = -known[i];
	line[1 + strcspn(line + 1, "\n")] = 0;
	(void)err_set(&ret->why, 0, "%s", line + 1);
	return 0;
}

static int take(char *text, int pass, struct link_answer *ret)
{
	*ret = (struct link_answer){ .pass = -1 };
	if (starts(text, LOCAL_KEPT))
		return take_seq(text + strlen(LOCAL_KEPT), &ret->seq);
	if (starts(text, LOCAL_DELIVERED)) {
		ret->kind = LINK_DELIVERED;
		return take_seq(text + strlen(LOCAL_DELIVERED), &ret->seq);
	}
	if (starts(text, LOCAL_ERROR)) {
		ret->kind = LINK_REFUSED;
		return take_refusal(text + strlen(LOCAL_ERROR), ret);
	}
	if (!starts(text, LOCAL_STATUS) || pass < 0)
		return -EPROTO;
	ret->kind = LINK_STATUS;
	ret->pass = pass;
	return 0;
}

int link_receive(int fd, struct link_answer *ret, const struct link_wait *w, struct err *err)
{
	char text[LOCAL_MAX_BYTES + 1];
	int pass = -1;
	for (;;) {
		ssize_t n = unixsock_recv(fd, text, sizeof text - 1, &pass);
		int rc = n == 0 ? -EPIPE : n < 0 ? (int)n : 0;
		if (rc == -EAGAIN) {
			rc = wait_for(fd, POLLIN, w);
			if (!rc)
				continue;
		}
		if (rc)
			return said(rc, err);
		text[n] = 0;
		rc = take(text, pass, ret);
		if (pass >= 0 && (rc || ret->pass < 0))
			(void)close(pass);
		return rc ? err_set(err, rc,
				    "the agent says what is not understood here: is it of "
				    "another version?")
			  : 0;
	}
}

int link_pause(const struct link_wait *w)
{
	return wait_for(-1, 0, w) == -EINTR ? -EINTR : 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

static int read_from_start(int fd, struct buf *b)
{
	char part[8192];
	for (off_t at = 0;;) {
		ssize_t n = pread(fd, part, sizeof part, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return b->failed ? -ENOMEM : 0;
		buf_put(b, part, (size_t)n);
		at += n;
	}
}

int link_status(int fd, json_t **ret, const struct link_wait *w, struct err *err)
{
	struct link_answer answer;
	struct buf text = { .max = STATUS_MAX_BYTES };
	int rc = link_send(fd, LOCAL_STATUS, strlen(LOCAL_STATUS), -1, w, err);
	if (!rc)
		rc = link_receive(fd, &answer, w, err);
	if (rc)
		return rc;
	if (answer.kind == LINK_REFUSED)
		return err_set(err, answer.rc, "%s", answer.why.text);
	if (answer.kind != LINK_STATUS)
		return err_set(err, -EPROTO, "the agent answers what was not asked for");
	rc = read_from_start(answer.pass, &text);
	(void)close(answer.pass);
	if (rc)
		(void)err_set(err, rc, "read the agent's status: %s", strerror(-rc));
	else
		rc = json_parse(ret, text.data ? text.data : "", text.len, "the agent's status",
				err);
	if (!rc && !json_is_object(*ret)) {
		json_decref(*ret);
		*ret = NULL;
		rc = err_set(err, -EPROTO, "the agent's status is no object");
	}
	buf_done(&text);
	return rc;
}

/* ---- what is passed -------------------------------------------------------------------------- */

int link_memory(const void *bytes, size_t n, struct err *err)
{
	int fd = memfd_create("roimeter-batch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc = fd < 0 ? -errno : 0;
	for (size_t at = 0; !rc && at < n;) {
		ssize_t wrote = write(fd, (const char *)bytes + at, n - at);
		if (wrote > 0)
			at += (size_t)wrote;
		else if (wrote < 0 && errno != EINTR)
			rc = -errno;
	}
	if (!rc && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		rc = -errno;
	if (!rc)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return err_set(err, rc, "make a file in memory: %s", strerror(-rc));
}
