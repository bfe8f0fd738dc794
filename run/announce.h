/* Telling the agent of this node about runs: as each begins, between its executions, at its end.
 * The measurement never waits for the agent: every wait has an end, and after one that was in vain
 * the next tries come more and more rarely.
 *
 * What the agent has is known for each case. Whatever it has not kept, because it was away or was
 * started anew, goes with a later call over a new connection; what comes twice takes the place of
 * the same (docs/wire.md). */
#ifndef RUN_ANNOUNCE_H
#define RUN_ANNOUNCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

struct case_run;
struct fill;
struct suite;
struct announce;
struct conformance;

struct announce_options {
	const char *socket;  /* of the agent */
	const char *server;  /* the daemon that it has to send to */
	double patience_s;   /* the longest wait between two executions */
	double at_the_end_s; /* ... and when nothing is measured: at the start, and at the end */
};

/* What the agent has of a case. All-zero: nothing. */
struct announced {
	uint64_t link; /* the connection over which it was announced */
	size_t ends;   /* executions that are kept */
	bool closed;   /* all of it is kept */
};

/* The agent must be there. -ECONNREFUSED, -ETIMEDOUT: it is not; -EINVAL: it sends elsewhere. What
 * options point to stays the caller's. */
int announce_open(struct announce **ret, const struct announce_options *o, struct err *err);
void announce_close(struct announce *a); /* NULL is fine */

/* What the suite declares, for reports that show also what was never measured. Before the first
 * case. What the agent does not take now, because it is away or has no room, goes with the first
 * case; a refusal is the end of it. The suite stays the caller's, until announce_close. */
int announce_declare(struct announce *a, const struct suite *suite, struct err *err);

/* The result of a conformance test. 0: the agent keeps it; a refusal has its sentence. */
int announce_conformance(struct announce *a, const struct conformance *c, struct err *err);

/* A descriptor that ends every wait when it becomes readable. */
void announce_cancel(struct announce *a, int fd);

struct announce_news {
	const char *running; /* an execution begins; NULL: none does */
	double order;        /* of that */
	bool end;            /* the case is done */
	bool last;           /* so is everything: there is time to wait for an agent */
};

/* Brings the agent up to date about a case. 0: it keeps all there is. A failure is said once when
 * it begins, in err; what is lacking stays lacking until the next call. */
int announce_case(struct announce *a, struct case_run *c, const struct fill *f,
		  const struct announce_news *news, struct err *err);

/* The number under which all that was kept is kept; 0: nothing was. */
uint64_t announce_kept(const struct announce *a);

/* Waits until the daemon has it. 0, -ETIMEDOUT, -EINTR, or the agent is gone. */
int announce_delivered(struct announce *a, double wait_s, struct err *err);

#endif
