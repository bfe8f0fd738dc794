/* One case of a sweep: its plan, what was made, its record. Internal to sweep.c and fill.c. */
#ifndef RUN_CASE_H
#define RUN_CASE_H

#include "run/announce.h"
#include "run/capture.h"
#include "run/command.h"
#include "run/sweep.h"

struct made {
	struct capture capture;
	struct worked worked; /* borrows from capture */
};

struct case_run {
	const struct suite_case *c;
	struct command command;
	struct timer_def *timer;
	const char *range; /* pattern; NULL: the region is no range */
	struct txts timer_files, refused;
	const char *const *calls; /* folder for the capture of each profiled execution, NULL where
				   * none is wanted; NULL: of none */
	double warmups, cleans, profiled, timeout_s;
	const char *profile_no; /* why there are no profiled ones, where it is the case's matter */
	const char *fingerprint;
	char run_id[40];
	struct made **made; /* each by itself: worked points into it */
	size_t n_made, made_cap;
	double spent_s;
	double expected_s, expected_steps; /* of one execution, from earlier runs; NAN */
	bool spread;                       /* its processes may run on other nodes, too */
	struct announced announced;        /* what the agent has of it */
	bool over;                         /* no more executions */
	/* earlier: executions of another session are in it; resumed: and some of this one, too */
	bool stored, earlier, resumed, begun;
	bool lacking;     /* all is measured, and the agent has not all of it */
	bool cut;         /* the run was ended before this case was done */
	bool interrupted; /* its record has the status "interrupted" */
};

/* What the record needs that is not the case's own. */
struct fill {
	const struct sweep_options *o;
	const char *git_commit, *governor, *job;
	signed char git_dirty;
};

/* The record as assemble() wants it: what is known of it by now, before the first execution too.
 * rec is initialised by this call, also when it fails. */
int fill_known(struct record *rec, struct case_run *c, const struct fill *f, struct err *err);

/* Makes the record of a case; rec is initialised by this call, also when it fails. */
int fill_record(struct record *rec, struct case_run *c, const struct fill *f, struct err *err);

/* Executions that are to be made, and the name of each: warm-ups, clean ones, profiled ones. */
#define EXECUTION_NAME_BYTES 96
size_t case_planned(const struct case_run *c);
const char *case_execution(const struct case_run *c, const struct fill *f, size_t i,
			   char ret[EXECUTION_NAME_BYTES]);

#endif
