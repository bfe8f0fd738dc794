/* roimeter run --server: the agent of this node, and what earlier runs tell about what is to come.
 */
#ifndef CLI_RUN_SERVER_H
#define CLI_RUN_SERVER_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/config.h"
#include "run/announce.h"
#include "store/store.h"

/* All-zero: results go to a database, or nowhere. */
struct run_server {
	const char *url, *socket; /* url NULL: not asked for */
	double wait_s;
	struct announce *announce;
	struct store *history; /* the user's own database, if there is one */
};

/* What a call says of where its results go. */
struct run_server_told {
	const char *server; /* NULL: not told */
	bool elsewhere;     /* to a database that it names, or nowhere */
	long wait_s;        /* -1: not told */
};

/* Where results go, by the call and the configuration. -EINVAL: the URL is none. */
int run_server_choose(struct run_server *ret, const struct run_server_told *t,
		      const struct config *c, struct arena *a, struct err *err);

/* The agent must be there and send to url. Nothing where url is NULL. */
int run_server_open(struct run_server *s, struct err *err);
void run_server_close(struct run_server *s);

/* What the latest good run of this case took; leaves alone what is not known. */
void run_server_expect(struct run_server *s, const char *suite, const char *app, const char *name,
		       const char *platform, double *ret_s, double *ret_steps);

/* Waits for the delivery, and says how far it came. out: where to. */
void run_server_tell(struct run_server *s, FILE *out);

#endif
