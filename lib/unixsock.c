/* SOCK_SEQPACKET: a packet comes whole or not at all, and needs no framing of ours. */
#define _GNU_SOURCE
#include "lib/unixsock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define KIND (SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK)
#define BACKLOG 4096
#define PASSED_MAX 16 /* descriptors of one packet that we make room for, to close them */

static int make_address(struct sockaddr_un *a, const char *path, struct err *err)
{
	size_t n = strlen(path);
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (n == 0 || n >= sizeof a->sun_path)
		return err_set(err, -ENAMETOOLONG,
			       "socket %.200s: a path of a socket has 1 to %zu bytes", path,
			       sizeof a->sun_path - 1);
	memcpy(a->sun_path, path, n);
	return 0;
}

/* A socket file that nobody listens on any more is in the way of bind. */
static int clear_way(const struct sockaddr_un *a, struct err *err)
{
	struct stat st;
	if (lstat(a->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST, "socket %s: there is a file of this name, no socket",
			       a->sun_path);
	int fd = socket(AF_UNIX, KIND, 0);
	if (fd < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	int rc = connect(fd, (const struct sockaddr *)a, sizeof *a) ? -errno : 0;
	(void)close(fd);
	if (rc == 0 || rc == -EAGAIN)
		return err_set(err, -EADDRINUSE, "socket %s: another program listens there",
			       a->sun_path);
	if (rc == -ECONNREFUSED && unlink(a->sun_path) && errno != ENOENT)
		return err_set(err, -errno, "remove the old socket %s: %s", a->sun_path,
			       strerror(errno));
	return 0;
}

int unixsock_listen(const char *path, mode_t mode, struct err *err)
{
	struct sockaddr_un a;
	int rc = make_address(&a, path, err);
	if (!rc)
		rc = clear_way(&a, err);
	if (rc)
		return rc;
	int fd = socket(AF_UNIX, KIND, 0);
	if (fd < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	if (bind(fd, (const struct sockaddr *)&a, sizeof a) || chmod(path, mode) ||
	    listen(fd, BACKLOG)) {
		bool no_folder = errno == ENOENT;
		rc = err_set(err, -errno, "listen on %s: %s%s", path, strerror(errno),
			     no_folder ? "; make its folder, or name another place" : "");
		(void)close(fd);
		return rc;
	}
	return fd;
}

int unixsock_connect(const char *path, struct err *err)
{
	struct sockaddr_un a;
	int rc = make_address(&a, path, err);
	if (rc)
		return rc;
	int fd = socket(AF_UNIX, KIND, 0);
	if (fd < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)&a, sizeof a)) {
		rc = err_set(err, -errno, "connect to %s: %s", path, strerror(errno));
		(void)close(fd);
		return rc;
	}
	return fd;
}

int unixsock_accept(int fd)
{
	for (;;) {
		int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (one >= 0)
			return one;
		if (errno != EINTR && errno != ECONNABORTED)
			return -errno;
	}
}

int unixsock_send(int fd, const void *bytes, size_t n, int pass)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	if (pass >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof control.room;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &pass, sizeof pass);
	}
	for (;;) {
		if (sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

/* The first descriptor stays, the others are closed; how many there were. */
static int take_passed(struct msghdr *m, int *ret)
{
	int n = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t many = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < many; i++, n++) {
			int one;
			memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
			if (n == 0)
				*ret = one;
			else
				(void)close(one);
		}
	}
	return n;
}

ssize_t unixsock_recv(int fd, void *to, size_t room, int *ret_pass)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * PASSED_MAX)];
	} control;
	struct iovec part = { .iov_base = to, .iov_len = room };
	ssize_t n;
	struct msghdr m;
	*ret_pass = -1;
	do {
		m = (struct msghdr){ .msg_iov = &part,
				     .msg_iovlen = 1,
				     .msg_control = control.room,
				     .msg_controllen = sizeof control.room };
		n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	int passed = take_passed(&m, ret_pass);
	if (passed > 1 || (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		if (passed)
			(void)close(*ret_pass);
		*ret_pass = -1;
		return -EMSGSIZE;
	}
	return n;
}

int unixsock_peer(int fd, struct unixsock_peer *ret)
{
	struct ucred c;
	socklen_t n = sizeof c;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n))
		return -errno;
	*ret = (struct unixsock_peer){ .pid = c.pid, .uid = c.uid, .gid = c.gid };
	return 0;
}
