/* One execution: a command and every process that comes out of it, started, watched and ended as
 * a whole.
 *
 * Between the runner and the command stands a keeper, a fork of the runner in a session of its
 * own. It is the reaper of all orphans below it, so nothing that daemonises gets away; it sees the
 * end of the runner (a pipe closes), also by SIGKILL, and then ends the tree. If the keeper itself
 * is killed, the orphans come to the runner, which ends them. Where a control group can be made,
 * the tree lives in one. One tree at a time; the caller must be single-threaded. */
#ifndef RUN_TREE_H
#define RUN_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/assemble.h"
#include "lib/err.h"

struct tree_spec {
	const char *path; /* of the program, absolute; not searched for */
	char *const *argv;
	char *const *envp;
	const char *cwd;    /* NULL: the caller's */
	const char *output; /* file for standard output and error, made anew */
	double timeout_s;   /* NAN: none */
	double grace_s;     /* between SIGTERM and SIGKILL */
	const char *cgroup; /* parent group, from cgroup_make; NULL: none */
};

/* How it ended. */
struct tree_end {
	enum end end;
	int start_errno;        /* END_NOT_STARTED */
	const char *start_what; /* "start", "enter folder", "create output" */
	int status;             /* of the command, as wait has it */
	int64_t start_real_ns, end_real_ns, start_ns, end_ns; /* CLOCK_REALTIME, CLOCK_MONOTONIC */
	bool grouped;                                         /* in a control group of its own */
	uint32_t outlived; /* processes that were still there after the command */
	uint32_t immortal; /* that even SIGKILL did not end in time */
	bool keeper_lost;  /* the keeper was killed: times are the runner's, resources unknown */
	/* Of the whole tree; NAN when unknown. */
	double user_s, system_s, voluntary, involuntary, minor, major, max_rss_bytes;
	double device_read_bytes, device_write_bytes; /* of all that ended, by the kernel */
	double group_read_bytes, group_write_bytes;   /* of the control group; NAN: there is none */
	double keeper_cpu_s, keeper_wakeups;
};

struct tree;

int tree_start(struct tree **ret, const struct tree_spec *spec, struct err *err);

/* Becomes readable when all is over. */
int tree_fd(const struct tree *t);

/* The process all others are below; and the group they are in, or NULL. */
pid_t tree_root(const struct tree *t);
const char *tree_group(const struct tree *t);

/* End it now: SIGTERM, the grace, SIGKILL. Returns at once. */
void tree_interrupt(struct tree *t);

/* Waits for the end and frees t. Nothing of the tree is left afterwards (but see immortal). */
void tree_finish(struct tree *t, struct tree_end *ret);

#endif
