/* Numeric addresses and names, IPv4 and IPv6, socket activation. */
#define _GNU_SOURCE
#include "daemon/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 4096
#define FIRST_PASSED_FD 3 /* SD_LISTEN_FDS_START */

const char *listen_host(char text[LISTEN_TEXT], const struct sockaddr *a)
{
	const void *at =
		a->sa_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr
			: (const void *)&((const struct sockaddr_in *)(const void *)a)->sin_addr;
	if ((a->sa_family != AF_INET && a->sa_family != AF_INET6) ||
	    !inet_ntop(a->sa_family, at, text, LISTEN_TEXT))
		(void)snprintf(text, LISTEN_TEXT, "?");
	return text;
}

bool listen_is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)a;
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	if (a->sa_family != AF_INET6)
		return false;
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
	return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
}

/* "HOST:PORT" in two; brackets around an IPv6 address. */
static int split(const char *address, char host[LISTEN_TEXT], const char **ret_port,
		 struct err *err)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;
	if (!n || n >= LISTEN_TEXT || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return err_set(err, -EINVAL,
			       "listen address \"%.60s\": expected ADDRESS:PORT, as "
			       "127.0.0.1:8640 or [::1]:8640",
			       address);
	bool brackets = address[0] == '[' && colon[-1] == ']';
	(void)snprintf(host, LISTEN_TEXT, "%.*s", (int)(brackets ? n - 2 : n), address + brackets);
	*ret_port = colon + 1;
	return 0;
}

int listen_check(const char *address, struct err *err)
{
	char host[LISTEN_TEXT];
	const char *port = NULL;
	return split(address, host, &port, err);
}

static int open_one(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1,
	    off = 0;
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (a->ai_family == AF_INET6) /* [::] takes IPv4 too */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG))
		return fd;
	int rc = -errno;
	(void)close(fd);
	return rc;
}

static int open_address(const char *address, struct err *err)
{
	char host[LISTEN_TEXT];
	const char *port = NULL;
	int rc = split(address, host, &port, err);
	if (rc)
		return rc;
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int bad = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints, &list);
	if (bad)
		return err_set(err, -EINVAL, "listen address %s: %s", address, gai_strerror(bad));
	int fd = -EADDRNOTAVAIL;
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = open_one(a);
	freeaddrinfo(list);
	return fd >= 0 ? fd : err_set(err, fd, "listen on %s: %s", address, strerror(-fd));
}

/* -ENOENT: systemd passed none. */
static int passed_socket(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	if (!pid || !n || strtol(pid, NULL, 10) != getpid() || strtol(n, NULL, 10) < 1)
		return -ENOENT;
	int flags = fcntl(FIRST_PASSED_FD, F_GETFL);
	if (flags < 0 || fcntl(FIRST_PASSED_FD, F_SETFL, flags | O_NONBLOCK) ||
	    fcntl(FIRST_PASSED_FD, F_SETFD, FD_CLOEXEC))
		return -errno;
	return FIRST_PASSED_FD;
}

int listen_open(int *ret_fd, char ret_text[LISTEN_TEXT], const char *address, struct err *err)
{
	int fd = passed_socket();
	if (fd == -ENOENT)
		fd = open_address(address, err);
	if (fd < 0)
		return fd;
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof a;
	char host[LISTEN_TEXT];
	if (getsockname(fd, (struct sockaddr *)&a, &n)) {
		int rc = err_set(err, -errno, "listen on %s: %s", address, strerror(errno));
		(void)close(fd);
		return rc;
	}
	bool six = a.ss_family == AF_INET6;
	(void)listen_host(host, (struct sockaddr *)&a);
	/* The ports lie at the same place. */
	int port = ntohs(((struct sockaddr_in *)(void *)&a)->sin_port);
	(void)snprintf(ret_text, LISTEN_TEXT, "%s%.60s%s:%d", six ? "[" : "", host, six ? "]" : "",
		       port);
	*ret_fd = fd;
	return 0;
}
