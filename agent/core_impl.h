/* Shared by core.c (logs) and core_run.c (runs). */
#ifndef AGENT_CORE_IMPL_H
#define AGENT_CORE_IMPL_H

#include "agent/core.h"

enum phase {
	PHASE_LIVE,
	PHASE_HELD,    /* ended; its runner brings the final, or is lost */
	PHASE_ENDED,   /* the final is to be sent */
	PHASE_WRITTEN, /* it is, and not durable yet */
	PHASE_OVER,    /* to be forgotten */
};

struct core_run {
	struct core_run *next;
	uint64_t hash;
	uid_t uid;
	const void *connection; /* NULL: its runner is gone */
	int64_t end_ns;         /* with its runner gone: when to end it at the latest */
	bool over;              /* its runner said all */
	bool todo, ending;      /* CORE_RUN_END is to be handed out; was, and is not answered */
	bool failed;            /* it could not be written: end_ns is when to try again */
	char *exec;             /* that is going on, or NULL */
	char name[];
};

struct core {
	struct core_config config;
	struct core_log *logs;
	struct core_log *todo, **todo_tail;
	struct core_run *runs;
	size_t n_logs, n_runs, n_written, n_open; /* open: entries of clean executions */
	int64_t next_ns, self_ns;
	bool self;
	bool refused; /* some log waits for room */
};

/* Call core_tick at this time, or before. */
static inline void due(struct core *c, int64_t when_ns)
{
	if (when_ns < c->next_ns)
		c->next_ns = when_ns;
}

static inline int64_t later(int64_t now_ns, int64_t pause_ns)
{
	return pause_ns > CORE_NEVER - now_ns ? CORE_NEVER : now_ns + pause_ns;
}

uint64_t core_hash(const char *text);
struct core_run *run_find(const struct core *c, const char *run);
/* May the owner of the log speak for its run? */
bool run_mine(const struct core *c, const struct core_log *log);
/* Does a runner that is there answer for this log? */
bool run_holds(const struct core *c, const struct core_log *log);
bool run_has_logs(const struct core *c, const struct core_run *run);
/* Runs whose runner is gone and that have waited long enough, or wait for nothing. */
void runs_tick(struct core *c, int64_t now_ns);
bool runs_todo(struct core *c, struct core_action *ret);
void runs_free(struct core *c);

/* Its process has ended: what now? */
void log_settle(struct core *c, struct core_log *log, int64_t now_ns);
bool log_of(const struct core_log *log, const struct core_run *run);
void log_owner(struct core *c, struct core_log *log); /* sets mine */

#endif
