/* Sends what the outbox holds durably to the daemon: POST /api/v1/ingest, several batches a body,
 * one body at a time, in the order of their numbers; and runs what is due in the outbox.
 *
 * Whatever happens, nothing is given up but what the daemon refuses for good:
 *   no answer, 429, 5xx       the same again after a pause that doubles; Retry-After is obeyed
 *   401, 403, 404, 415, ...   likewise, with a long pause: a person has to do something
 *   400, 413                  batches one by one; the bad one is counted as lost, a gap in its
 * place 409                       the same frames under a new number (see docs/agent.md) A lasting
 * trouble is one line in the log when it starts, and one when it ends. */
#ifndef AGENT_POST_H
#define AGENT_POST_H

#include <uv.h>

#include "agent/outbox.h"
#include "lib/err.h"

#define POST_BODY_BYTES (1u << 20) /* of several batches; one that is larger goes alone */

struct post_options {
	uv_loop_t *loop;
	struct outbox *outbox;
	const char *url; /* http://HOST:PORT; NULL: nothing is sent */
	const char *token_file, *ca, *certificate, *key; /* NULL: none, the system's, none */
	double connect_s, stall_s, retry_max_s;
	/* The daemon has all up to seq. Called from the loop; may be NULL. */
	void (*delivered)(void *arg, uint64_t seq);
	void *arg;
};

struct post;

/* Texts are copied. -EACCES: the token file can be read by others; -EINVAL: it holds none. */
int post_open(struct post **ret, const struct post_options *o, struct err *err);

/* The token is read again, and what waits is tried at once. When it fails all is as before. */
int post_reload(struct post *p, struct err *err);

/* What is under way is given up (it is sent again by the next life). The handles close in the loop:
 * run it until it is empty, or until closed is called, which may be NULL. */
void post_close(struct post *p, void (*closed)(void *arg), void *arg);

struct post_stats {
	uint64_t posts, delivered_batches, delivered_bytes; /* answered with 200 */
	uint64_t failures, refused_batches, renumbered_batches;
	unsigned failures_in_a_row;           /* 0: all is well */
	int64_t good_real_ns, failed_real_ns; /* the last of each; ROI_UNKNOWN: none yet */
	bool in_flight;
	int status;           /* of the last answer; 0: none came */
	bool trouble;         /* the last attempt failed */
	char why[256];        /* the sentence about it */
	uint64_t next_try_ns; /* on the loop's clock; 0: now */
};
void post_stats(const struct post *p, struct post_stats *ret);

#endif
