/* The socket is named by NOTIFY_SOCKET; a leading @ is an abstract one. */
#define _GNU_SOURCE
#include "lib/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	if (n < 2 || n >= sizeof a.sun_path || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(a.sun_path, path, n);
	if (path[0] == '@')
		a.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a, size);
	(void)close(fd);
}

uint64_t notify_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 500;
}
