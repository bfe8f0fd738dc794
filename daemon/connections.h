/* How long each connection has been without a whole request. libmicrohttpd ends one that is
 * silent; a client that sends a byte now and then would stay for ever. */
#ifndef DAEMON_CONNECTIONS_H
#define DAEMON_CONNECTIONS_H

#include <stdint.h>

struct connections;
struct connection;
struct request;

struct connections *connections_new(void);
void connections_free(struct connections *c);

/* The socket stays its owner's. NULL: out of memory; then it is not watched. */
struct connection *connection_begin(struct connections *c, int fd, uint64_t now_ns);
void connection_end(struct connections *c,
		    struct connection *one); /* before its socket is closed */

/* The request that is under way on it, NULL: none. libmicrohttpd forgets some that it refuses
 * itself, as those with more parameters than it has room for: the one who ends the connection frees
 * it. */
void connection_hold(struct connection *one, struct request *r);
struct request *connection_held(const struct connection *one);

/* A whole request has come: from now on we are who takes the time. */
void connection_busy(struct connections *c, struct connection *one);
void connection_idle(struct connections *c, struct connection *one, uint64_t now_ns);

/* Shut down those that have waited since before this time. */
void connections_sweep(struct connections *c, uint64_t before_ns);

#endif
