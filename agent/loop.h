/* The agent around its core: one libuv loop takes in what processes and runners say, watches them,
 * and puts what it learns into the outbox. Single-threaded; main.c calls this and runs the loop. */
#ifndef AGENT_LOOP_H
#define AGENT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lib/err.h"

struct outbox;
struct post;
struct sampler;
struct agent;

/* All strings are copied. */
struct agent_options {
	const char *socket;         /* path; beside it is the folder "logs" */
	int listening;              /* a listening socket that was passed to us, or -1: make one */
	const char *const *folders; /* more folders to watch for logs */
	size_t n_folders;
	const char *state;  /* folder for what the agent must know after a restart */
	const char *id;     /* of the agent */
	const char *server; /* address of the daemon, as configured, or NULL; told in the status */

	double progress_s;      /* 5; 0: none */
	double first_s;         /* 1 */
	double slowest_s;       /* 60 */
	double sample_s;        /* 1; 0: none */
	double self_s;          /* 60; 0: none */
	size_t max_processes;   /* followed at a time */
	uint64_t max_log_bytes; /* of one process; what is past it is lost, and said */
	size_t max_connections;

	struct outbox *outbox;   /* open; stays the caller's */
	struct post *post;       /* for the status; NULL: none */
	struct sampler *sampler; /* NULL: none; stays the caller's */
};

/* The defaults of the numbers above. */
void agent_defaults(struct agent_options *o);

/* Listens, scans the folders, follows. */
int agent_start(struct agent **ret, uv_loop_t *loop, const struct agent_options *o,
		struct err *err);

/* Other folders, numbers, server. The socket stays: -EINVAL when it is another. */
int agent_reload(struct agent *a, const struct agent_options *o, struct err *err);

/* The daemon has everything up to seq: runners that wait for it are told. From post.c's owner. */
void agent_acked(struct agent *a, uint64_t seq);

/* A clean region is open on this node: do nothing that can wait. */
bool agent_quiet(const struct agent *a);

/* Stops taking in, sends a last snapshot of what still lives, syncs the outbox, closes its handles;
 * the memory is freed when the loop has run their close callbacks. No run is ended by this. */
void agent_stop(struct agent *a);

#endif
