/* The socket is named by NOTIFY_SOCKET; a leading @ is an abstract one. */
#define _GNU_SOURCE
#include "lib/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* fd -1: none goes with it. */
static void send_with(const char *state, int fd)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	size_t n = path ? strlen(path) : 0;
	if (n < 2 || n >= sizeof a.sun_path || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(a.sun_path, path, n);
	if (path[0] == '@')
		a.sun_path[0] = 0;
	int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (to < 0)
		return;
	struct iovec part = { .iov_base = (void *)(uintptr_t)state, .iov_len = strlen(state) };
	struct msghdr m = { .msg_name = &a,
			    .msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n),
			    .msg_iov = &part,
			    .msg_iovlen = 1 };
	if (fd >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof control.room;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	(void)sendmsg(to, &m, MSG_NOSIGNAL);
	(void)close(to);
}

void notify_send(const char *state)
{
	send_with(state, -1);
}

void notify_keep(const char *name, int fd)
{
	char text[320];
	/* A file is never ready, and never hung up: nothing is to be watched. */
	(void)snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%.250s\nFDPOLL=0", name);
	send_with(text, fd);
}

void notify_unkeep(const char *name)
{
	char text[320];
	(void)snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%.250s", name);
	send_with(text, -1);
}

uint64_t notify_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 500;
}
