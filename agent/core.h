/* What the agent does about the processes and runs of its node. It is told what happened and what
 * time it is (CLOCK_BOOTTIME), and answers with what to do; it knows no file, no process, no
 * clock. A test plays a day in a millisecond.
 *
 * A log is followed from core_add until CORE_FORGET. Each log gets exactly one final, whatever
 * ended its process, unless the runner of its run brought that itself.
 *
 * Quiet: while an entry of a clean execution is open here, nothing is done but what an end asks for
 * and the look that tells progress. */
#ifndef AGENT_CORE_H
#define AGENT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define CORE_NEVER INT64_MAX

struct core_config {
	int64_t progress_ns; /* between two looks at a process of a run; 0: none */
	int64_t first_ns;    /* after which a process outside of runs is sent for the first time */
	int64_t slowest_ns;  /* the pause between snapshots doubles up to this */
	int64_t silence_ns;  /* after which a process that nobody can watch counts as ended */
	int64_t orphan_ns;   /* how long processes may outlive their runner before its run ends */
	int64_t self_ns;     /* between two words of the agent about itself; 0: none */
	size_t max_logs, max_runs;
	/* One user holds at most this part of what the others leave of them; 0, 1: all. But not
	 * these users. */
	double share;
	uid_t unshared[2];
};

/* One log. The storage is the caller's and stays until CORE_FORGET was taken. */
struct core_log {
	/* Set by the caller, for good. */
	const char *stream; /* its name */
	const char *run;    /* or NULL */
	const char *exec;   /* "clean.0" or NULL */
	uid_t uid;          /* of its owner */
	bool gone;          /* the process has ended already */
	bool unwatched;     /* nobody will say when it ends: exited and silence tell */

	/* For the caller to see: its owner may speak for that run. Else it is sent without. */
	bool mine;

	/* The core's own. */
	struct core_log *next, *prev;       /* of all */
	struct core_log *next_todo;         /* of those with something to do */
	uint64_t name;                      /* hash of stream */
	uint64_t seen, sent;                /* state as of the last look, and the last snapshot */
	int64_t look_ns, send_ns, pause_ns; /* when next */
	int64_t news_ns;                    /* when it was seen to change */
	unsigned todo;
	unsigned char phase;
	bool queued, open, send, brought, lost;
};

/* What a cheap look saw. */
struct core_look {
	uint64_t state; /* another number whenever something was marked */
	bool open;      /* an entry is */
	bool exited;    /* the process came to its exit handlers */
};

enum core_do {
	CORE_LOOK,     /* look at the log; answer: core_looked */
	CORE_PROGRESS, /* tell what the last look saw */
	CORE_SNAPSHOT, /* send the whole log as it is now; answer: core_sent */
	CORE_FINAL,    /* send it for the last time; answer: core_sent */
	CORE_FORGET,   /* let go of it: the core has */
	CORE_RUN_END,  /* the runner is gone: end its run as not complete; answer: core_run_ended */
	CORE_SELF,     /* tell about the agent itself */
};

struct core_action {
	enum core_do what;
	struct core_log *log; /* of the first five */
	const char *run;      /* of CORE_RUN_END, lent until its answer; and who announced it */
	uid_t uid;
	bool durable; /* CORE_FORGET: all that the log tells is on disk, here or with a runner */
};

struct core;

struct core *core_new(const struct core_config *config, int64_t now_ns); /* NULL: no memory */
void core_free(struct core *c);                                          /* logs are the caller's */
void core_reconfigure(struct core *c, const struct core_config *config, int64_t now_ns);

/* The next thing to do; false: nothing before core_next. */
bool core_todo(struct core *c, struct core_action *ret);
/* When to call core_tick; CORE_NEVER: when something happens. */
int64_t core_next(const struct core *c);
void core_tick(struct core *c, int64_t now_ns);

/* ---- logs ----------------------------------------------------------------------------------- */

/* Is there room for a log of this user? -ENOSPC: as many as max_logs are followed; -EDQUOT: as
 * many of this user as its share allows. */
int core_room(const struct core *c, uid_t uid);
/* The same of anything of which there are `all`, `mine` of them this user's, and at most `most`. */
bool core_may_hold(const struct core *c, uid_t uid, size_t most, size_t all, size_t mine);
/* Follow this log, all-zero but for what the caller sets. -ENOSPC, -EDQUOT: no room for it. */
int core_add(struct core *c, struct core_log *log, int64_t now_ns);
void core_ended(struct core *c, struct core_log *log, int64_t now_ns);
/* look NULL: it could not be read now. */
void core_looked(struct core *c, struct core_log *log, const struct core_look *look,
		 int64_t now_ns);
/* How sending went. 0: it is written, and durable after the next core_synced. -EBADMSG: it can
 * never be sent, and its loss is written likewise. Everything else: try again later. */
void core_sent(struct core *c, struct core_log *log, int rc, int64_t now_ns);
/* All that was written so far is durable; or, not ok, it may not be, and is sent again. */
void core_synced(struct core *c, bool ok, int64_t now_ns);

/* ---- runs ----------------------------------------------------------------------------------- */

/* May this user speak for the run? 0, or -EPERM: it is another one's. Root may. */
int core_owns(const struct core *c, const char *run, uid_t uid);
/* The same, and is there room for it if it is new? -EPERM, -ENOSPC, -EDQUOT. */
int core_admits(const struct core *c, const char *run, uid_t uid);
/* A runner spoke of a run over this connection (any pointer that names it). -EPERM; -ENOSPC,
 * -EDQUOT: too many runs. */
int core_announced(struct core *c, const char *run, uid_t uid, const void *connection,
		   int64_t now_ns);
/* The runner brought the final of this stream of its run. */
void core_brought(struct core *c, const char *run, const char *stream);
/* The runner has said all. */
void core_run_over(struct core *c, const char *run, int64_t now_ns);
/* The connection is gone. */
void core_hangup(struct core *c, const void *connection, int64_t now_ns);
/* Answer to CORE_RUN_END, as core_sent. */
void core_run_ended(struct core *c, const char *run, int rc, int64_t now_ns);
/* An execution of the run begins; exec NULL: it has ended. exec is copied. */
void core_execution(struct core *c, const char *run, const char *exec);

/* ---- state ---------------------------------------------------------------------------------- */

bool core_quiet(const struct core *c);
bool core_live(const struct core_log *log); /* its process has not ended, as far as is known */
/* Is anything on this node that is measured? run and exec, lent until the next call: those of the
 * only one, or NULL. */
bool core_busy(const struct core *c, const char **ret_run, const char **ret_exec);

struct core_counts {
	size_t logs, live, waiting; /* waiting: ended, and not durable yet */
	size_t runs, orphans;
};
void core_counts(const struct core *c, struct core_counts *ret);

#endif
