/* One short connection, with an end to every wait. */
#define _GNU_SOURCE
#include "daemon/probe.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Where one listens on all addresses, one of this machine is asked. */
static const char *reachable(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 ? "127.0.0.1" : strcmp(host, "::") == 0 ? "::1" : host;
}

static int dial(const char *where)
{
	char host[80];
	const char *colon = strrchr(where, ':');
	bool brackets = where[0] == '[';
	if (!colon)
		return -1;
	(void)snprintf(host, sizeof host, "%.*s", (int)(colon - where) - 2 * brackets,
		       where + brackets);
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *a = NULL;
	if (getaddrinfo(reachable(host), colon + 1, &hints, &a))
		return -1;
	const struct timeval limit = { .tv_sec = 2 };
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
		if (connect(fd, a->ai_addr, a->ai_addrlen)) {
			(void)close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(a);
	return fd;
}

bool probe_health(const char *where)
{
	static const char ask[] = "GET /health HTTP/1.0\r\n\r\n";
	char got[16] = { 0 };
	int fd = dial(where);
	if (fd < 0)
		return false;
	bool good = send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) == (ssize_t)sizeof ask - 1 &&
		    recv(fd, got, 12, MSG_WAITALL) == 12 && memcmp(got + 8, " 200", 4) == 0;
	(void)close(fd);
	return good;
}
