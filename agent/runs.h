/* What runners said about their runs, for those who ask for the state of the agent. What follows
 * from it is the core's; this is only told. */
#ifndef AGENT_RUNS_H
#define AGENT_RUNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/batch.h"

struct run_info {
	struct run_info *next;
	const void *connection; /* NULL: its runner is gone */
	uid_t uid;
	int64_t announced_real_ns;  /* ROI_UNKNOWN: this agent was not there */
	uint32_t executions, ended; /* to come, all in all; of them */
	bool recalled;              /* from an earlier life of the agent: ended is not known */
	char run[128], suite[128], app[128], case_[128], exec[128]; /* "": not known, none */
};

struct runs {
	struct run_info *first;
	size_t n;
};

#define RUNS_MAX 1024u /* told about; more are only worked on */

/* A frame of a runner. */
void runs_note(struct runs *r, const struct frame *f, uid_t uid, const void *connection);
void runs_hangup(struct runs *r, const void *connection);
/* One of an earlier life of the agent, whose runner has not come back yet. */
void runs_recall(struct runs *r, const char *run, uid_t uid, int64_t announced_real_ns);
/* Its end was told for its runner. */
void runs_remove(struct runs *r, const char *run);
void runs_done(struct runs *r);

/* The run of a frame, and where one is named, the execution; p NULL: it has none. */
struct str frame_run(const struct frame *f);
struct str frame_exec(const struct frame *f);

#endif
