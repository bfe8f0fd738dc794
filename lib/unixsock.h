/* Packets between programs of one machine, each with one descriptor at most. Nothing here ever
 * waits: what can't be done at once is -EAGAIN. Descriptors are close-on-exec. */
#ifndef LIB_UNIXSOCK_H
#define LIB_UNIXSOCK_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

struct unixsock_peer { /* as the kernel knew them when the connection was made */
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/* A listening socket at path, which gets this mode; one that a dead program left is replaced.
 * Returns the descriptor. -EADDRINUSE: somebody listens there. -EEXIST: no socket is there. */
int unixsock_listen(const char *path, mode_t mode, struct err *err);

/* Returns the descriptor. -EAGAIN: too many wait to be let in; -ECONNREFUSED, -ENOENT: nobody
 * listens; -EACCES. */
int unixsock_connect(const char *path, struct err *err);

/* Returns the descriptor; -EAGAIN: nobody waits. */
int unixsock_accept(int fd);

/* One packet, whole, and a descriptor (-1: none), which stays the caller's. -EAGAIN: the other side
 * has not read enough; -EPIPE: it is gone. Never a signal. */
int unixsock_send(int fd, const void *bytes, size_t n, int pass);

/* One packet: its length; 0: the other side is gone. ret_pass: a descriptor, which is the caller's
 * now, or -1. -EMSGSIZE: it was longer, or had more descriptors, and nothing of it is kept. */
ssize_t unixsock_recv(int fd, void *to, size_t room, int *ret_pass);

int unixsock_peer(int fd, struct unixsock_peer *ret);

#endif
