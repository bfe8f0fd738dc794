/* The socket that connections come in by. */
#ifndef DAEMON_LISTEN_H
#define DAEMON_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

#include "lib/err.h"

#define LISTEN_TEXT 80

/* "127.0.0.1:8640", "[::1]:8640", "*:8640" (all addresses), "localhost:0" (any free port). Or the
 * socket that systemd passes, whatever address says. ret_text: where it listens in the end. */
int listen_open(int *ret_fd, char ret_text[LISTEN_TEXT], const char *address, struct err *err);

/* Is it written as it must be? */
int listen_check(const char *address, struct err *err);

bool listen_is_loopback(const struct sockaddr *a);

/* "127.0.0.1" or "::1"; returns text. */
const char *listen_host(char text[LISTEN_TEXT], const struct sockaddr *a);

#endif
