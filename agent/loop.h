/* The agent around its core: takes in what processes and runners say, watches them, and puts what
 * it learns into the outbox. It lives in a libuv loop, on one thread; main.c runs that. */
#ifndef AGENT_LOOP_H
#define AGENT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

struct uv_loop_s;
struct agent_config;
struct outbox;
struct post;
struct agent;

struct agent_parts {
	struct outbox *outbox; /* open; stays the caller's, and open until agent_stop returned */
	struct post *post;     /* for the status; NULL: nothing is sent */
	int listening;   /* a listening socket that was passed to us (it is ours now), or -1 */
	const int *logs; /* logs that an earlier life left with systemd; ours now, likewise */
	size_t n_logs;
};

/* Listens on config->socket, makes the folder for logs, scans the folders, follows. Of the
 * configuration everything is copied. */
int agent_start(struct agent **ret, struct uv_loop_s *loop, const struct agent_config *config,
		const struct agent_parts *parts, struct err *err);

/* Other folders, periods and limits are taken over; -EINVAL for another socket, which needs a
 * restart. Nothing has changed when it fails. */
int agent_reload(struct agent *a, const struct agent_config *config, struct err *err);

/* The daemon has everything up to seq: runners that wait for it are told. */
void agent_delivered(struct agent *a, uint64_t seq);

/* A clean region is open on this node: leave undone what can wait. */
bool agent_quiet(const struct agent *a);

/* Takes nothing in any more, sends what there is of logs whose processes live, syncs the outbox,
 * closes its handles. The memory goes with the last close callback: run the loop until it is
 * empty. No run is ended by this. */
void agent_stop(struct agent *a);

#endif
