/* Tells the node's agent of the log. Nothing here waits, whatever became of the agent. It is not
 * lib/unixsock, which makes sentences with strerror: that may allocate in a program with a locale.
 */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "schema/local.h"

static int send_log(int to, int log)
{
	static const char hello[] = LOCAL_HELLO;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	char text[sizeof hello];
	memcpy(text, hello, sizeof hello);
	struct iovec part = { .iov_base = text, .iov_len = sizeof hello - 1 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof control.room };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &log, sizeof log);
	return sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int hello_say(const char *socket_path, int log)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(socket_path);
	if (n >= sizeof a.sun_path)
		return -ENAMETOOLONG;
	memcpy(a.sun_path, socket_path, n);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int rc = connect(fd, (const struct sockaddr *)&a, sizeof a) ? -errno : 0;
	if (!rc) {
		/* To be read only. Without /proc, or for a file that its owner may not read, the
		 * descriptor itself: the agent is trusted by more than this. */
		char path[32];
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", log);
		int to_read = open(path, O_RDONLY | O_CLOEXEC);
		rc = send_log(fd, to_read >= 0 ? to_read : log);
		if (to_read >= 0)
			(void)close(to_read);
	}
	(void)close(fd);
	return rc;
}
