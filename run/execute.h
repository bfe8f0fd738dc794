/* One execution of a command: its folders, its environment, the tree, the watch, and what it
 * left. */
#ifndef RUN_EXECUTE_H
#define RUN_EXECUTE_H

#include <stdbool.h>

#include "run/capture.h"
#include "run/collector.h"
#include "run/command.h"
#include "run/peers.h"
#include "run/sampler.h"
#include "run/scratch.h"

/* What all executions of a run have in common. */
struct runner {
	struct scratch scratch;
	struct peers peers;
	struct sampler *sampler; /* looks at accelerators meanwhile; NULL: none does */
	const char *library;     /* of the markers, for ROIMETER_LIBRARY; NULL: not found */
	const char *agent;       /* socket, for ROIMETER_AGENT; NULL: none is told */
	const char *cgroup;      /* group of ours in which each execution gets one; NULL: none */
	char *const *envp;       /* the caller's */
	double grace_s;
	int signals;           /* signalfd of what ends a run; -1: none */
	bool interrupted;      /* one of them came; stays */
	const char *keep_logs; /* folder to copy logs and output to; NULL: none */
	/* Told about once a second while something runs; may be NULL. */
	void (*progress)(void *arg, double elapsed_s);
	void *progress_arg;
};

struct execution_spec {
	const struct command *command;
	const char *run_id, *name; /* name: "clean.0" */
	double order, timeout_s;
	const struct txts *timer_files;        /* globs; may be NULL */
	const struct collector_lib *collector; /* of a profiled execution; else NULL */
	const char *calls;      /* folder for a capture (run/calls.h); NULL: none is wanted */
	const char *calls_step; /* what its times are rounded to, as calls_variables wants it */
	const char *range, *range_library;     /* the region is a range of the program; else NULL */
};

/* Runs it. Whatever goes wrong with the command is in ret->end and ret->row.why, and the call is
 * good; it fails when the run as a whole can't go on (no memory, no scratch folder). ret is
 * initialised by this call, also when it fails. */
int execute(struct runner *r, const struct execution_spec *spec, struct capture *ret,
	    struct err *err);

/* Has a signal come that ends the run? Never waits. */
bool runner_interrupted(struct runner *r);

#endif
