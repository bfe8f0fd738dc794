/* Slots that are taken are names that can't be bound. */
#define _GNU_SOURCE
#include "run/peers.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SLOTS 16

/* The socket, or -errno; -EADDRINUSE: somebody else has it. */
static int take(int slot)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "roimeter-run-%d", slot);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n))) {
		int rc = -errno;
		(void)close(fd);
		return rc;
	}
	return fd;
}

void peers_join(struct peers *p)
{
	p->own = -1;
	for (p->slot = 0; p->slot < SLOTS; p->slot++) {
		int fd = take(p->slot);
		if (fd >= 0) {
			p->own = fd;
			return;
		}
		if (fd != -EADDRINUSE)
			return;
	}
}

void peers_leave(struct peers *p)
{
	if (p->own >= 0)
		(void)close(p->own);
	p->own = -1;
}

double peers_count(const struct peers *p)
{
	double n = 0;
	for (int slot = 0; slot < SLOTS; slot++) {
		if (p->own >= 0 && slot == p->slot)
			continue;
		int fd = take(slot);
		if (fd == -EADDRINUSE)
			n++;
		else if (fd < 0)
			return NAN;
		else
			(void)close(fd);
	}
	return n;
}
