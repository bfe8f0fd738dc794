/* Asking oneself over the network, as anybody would. */
#ifndef DAEMON_PROBE_H
#define DAEMON_PROBE_H

#include <stdbool.h>

/* Does GET /health at "127.0.0.1:8640" answer 200 within 2 s? */
bool probe_health(const char *where);

#endif
