/* Measuring the chosen cases: which execution comes when, what stops a case, and the record of
 * each. Stores nothing itself: records are handed out as they are done. */
#ifndef RUN_SWEEP_H
#define RUN_SWEEP_H

#include <stdbool.h>

#include "run/announce.h"
#include "run/collector.h"
#include "run/command.h"
#include "run/execute.h"
#include "node/platform.h"
#include "schema/runid.h"
#include "suite/suite.h"

/* Before an execution. */
struct sweep_step {
	const char *app, *name, *execution;
	size_t done, total; /* executions, of all cases */
	double eta_s;       /* to the end of all, as far as can be told; NAN */
};

struct sweep_events {
	void (*step)(void *arg, const struct sweep_step *step);
	/* A case is done. partial: the marks of some of its processes are on other nodes. */
	int (*record)(void *arg, const struct record *rec, bool partial, struct err *err);
	/* Before it is handed out: what only the caller knows goes into it. NULL: nothing does. */
	int (*complete)(void *arg, struct record *rec, struct err *err);
	/* Is a run of this id stored already? Asked when a killed run is taken up. */
	bool (*is_stored)(void *arg, const char *run_id);
	/* Duration and steps of one execution, as an earlier run of this case had them; leaves
	 * alone what is not known. May be NULL. */
	void (*expect)(void *arg, const char *app, const char *name, double *ret_s,
		       double *ret_steps);
	/* Something that the person should know, a sentence. */
	void (*warn)(void *arg, const char *text);
	void *arg;
};

struct sweep_options {
	const struct suite *suite;
	const bool *chosen; /* one for each case of the suite */
	struct command_options commands;
	const struct platform *platform;
	double warmup, clean, timeout_s; /* that the caller insists on; NAN: the case's */
	double default_warmup, default_clean, default_timeout_s; /* where the case says nothing */
	bool interleaved, resume;
	const char *timer_path;     /* folders of timer definitions, colon-separated */
	const char *journal_folder; /* NULL: no journal, so a killed run can't be taken up */
	const char *store;          /* name of the store: part of the journal's identity */
	const struct collector_lib *collectors; /* one profiled execution of each case with each */
	size_t n_collectors;
	bool collect_auto; /* they were chosen, not named: no case is refused or failed for them */
	const char *calls;      /* folder for captures of profiled executions; NULL: none */
	const char *calls_step; /* of their times, as run/calls.h wants it */
	const char *range_library;  /* of run/ranges.h; NULL: it is not there */
	const char *profile_reason; /* why nothing is profiled, where there are none */
	struct announce *announce;  /* the agent that is told of all this; NULL: none */
	struct sweep_events events;
};

struct sweep;

/* Everything that can be refused before anything runs. */
int sweep_new(struct sweep **ret, const struct sweep_options *o, struct err *err);
void sweep_free(struct sweep *s);

/* The plan: cases, and for each its command and how many executions. */
size_t sweep_cases(const struct sweep *s);
const struct command *sweep_command(const struct sweep *s, size_t i);
void sweep_counts(const struct sweep *s, size_t i, double *ret_warmups, double *ret_cleans,
		  double *ret_timeout_s);
/* Of how many of the collectors, from the first, it gets a profiled execution. */
size_t sweep_profiled(const struct sweep *s, size_t i);
/* Why of none, where that is the case's own matter; NULL. */
const char *sweep_not_profiled(const struct sweep *s, size_t i);
/* Where the capture of its k-th profiled execution goes; NULL: it makes none. */
const char *sweep_capture(const struct sweep *s, size_t i, size_t k);

/* Runs the plan. 0 also when cases fail: their records tell. -EINTR: it was interrupted.
 * -EHOSTUNREACH: it was done, and the agent could not be told of all of it. Others: it could not go
 * on; the journal, if there is one, has what was done. */
int sweep_run(struct sweep *s, struct runner *r, struct err *err);

#endif
