/* Shared by intake.c (connections) and intake_batch.c (what runners hand in). */
#ifndef AGENT_INTAKE_H
#define AGENT_INTAKE_H

#include "agent/impl.h"

struct answer {
	struct answer *next;
	int pass; /* descriptor, or -1 */
	char text[];
};

struct connection {
	struct connection *next;
	struct agent *agent;
	uv_poll_t poll;
	int fd, events;
	bool polled;    /* poll is open */
	bool broken;    /* it does not read what it is answered: hung up soon */
	bool announced; /* a run, over this connection */
	struct unixsock_peer peer;
	struct answer *answers; /* that could not be sent yet */
	unsigned n_answers;
	unsigned kept; /* batches to be answered behind the next sync */
	unsigned n_waits;
	uint64_t waits[16]; /* numbers whose delivery is asked for */
};

struct intake {
	struct connection *first;
	size_t n;
	uv_poll_t listening;
	uv_timer_t pause;
	unsigned handles; /* open */
	int fd;
	bool passed; /* the socket was passed to us: it stays */
	bool full;
	struct batch_in in;
};

void intake_accept(uv_poll_t *handle, int status, int events);

/* One packet. text is followed by a NUL; fd, if any, is taken. */
void intake_packet(struct connection *c, const char *text, size_t n, int fd);

/* The batch that this descriptor leads to, into the outbox. 0: it is there, and durable behind the
 * next sync. Else it was refused, and nothing of it was done. */
int intake_batch(struct connection *c, int fd, struct err *err);

#endif
