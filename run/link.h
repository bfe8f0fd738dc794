/* A connection to the agent of this node, as runners and `roimeter agent-status` have it: requests
 * of schema/local.h, and their answers. Every wait has an end. */
#ifndef RUN_LINK_H
#define RUN_LINK_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* When a wait ends. */
struct link_wait {
	int64_t until_ns; /* CLOCK_MONOTONIC */
	int cancel;       /* a descriptor that ends it, too, when it becomes readable; -1: none */
};

int64_t link_now_ns(void); /* CLOCK_MONOTONIC */

/* Where the agent's socket is: told (NULL or empty: nobody said), else ROIMETER_AGENT, else
 * configured, else LOCAL_SOCKET. */
const char *link_path(const char *told, const char *configured);

/* Returns the descriptor. Never waits. -ECONNREFUSED: no agent is there, and the sentence says what
 * to do; -EAGAIN: it has no time now. */
int link_open(const char *path, struct err *err);

/* One packet, with a descriptor (-1: none) that stays the caller's. -EPIPE: the agent is gone.
 * -ETIMEDOUT, -EINTR (cancelled). */
int link_send(int fd, const void *bytes, size_t n, int pass, const struct link_wait *w,
	      struct err *err);

enum link_kind { LINK_KEPT, LINK_DELIVERED, LINK_STATUS, LINK_REFUSED };

struct link_answer {
	enum link_kind kind;
	uint64_t seq;   /* of KEPT and DELIVERED */
	int pass;       /* of STATUS: the caller's; else -1 */
	int rc;         /* of REFUSED: a negative errno */
	struct err why; /* of REFUSED: the agent's sentence */
};

/* The next answer. -EPIPE, -ETIMEDOUT, -EINTR as above; -EPROTO: not what an agent says. */
int link_receive(int fd, struct link_answer *ret, const struct link_wait *w, struct err *err);

/* What the agent says about itself (docs/agent-status.md); the caller's. Not while other answers
 * are awaited. */
int link_status(int fd, json_t **ret, const struct link_wait *w, struct err *err);

/* Only waits. -EINTR: cancelled; else 0. */
int link_pause(const struct link_wait *w);

/* An anonymous file that holds these bytes and can't be changed any more, to be passed. */
int link_memory(const void *bytes, size_t n, struct err *err);

#endif
