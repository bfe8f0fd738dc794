/* roimeter conformance: where its result goes: to a database, or by the agent to a daemon. */
#ifndef CLI_CONFORMANCE_KEEP_H
#define CLI_CONFORMANCE_KEEP_H

#include <stdio.h>

#include "cli/config.h"
#include "cli/run_server.h"
#include "schema/conformance.h"

/* All-zero is closed. */
struct conformance_keep {
	const char *db; /* NULL: the user's own */
	struct run_server server;
	struct arena *arena;
};

/* As for `roimeter run`: what the call says, else the configuration. The agent must be there, so
 * that it is known before anything is measured. wait_s -1: not told. -EINVAL, -ECONNREFUSED. */
int conformance_keep_open(struct conformance_keep *k, const char *db, const char *server,
			  long wait_s, const struct config *c, struct arena *a, struct err *err);

/* c may get a later time: two results of a platform and a collector never have the same. */
int conformance_keep(struct conformance_keep *k, struct conformance *c, struct err *err);

/* How far the delivery came, where it goes by the agent. */
void conformance_keep_tell(struct conformance_keep *k, FILE *out);
void conformance_keep_close(struct conformance_keep *k);

#endif
