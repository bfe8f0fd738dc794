/* Which process wrote a log, and is it still there? A process id alone is no identity: it is used
 * again, and other pid namespaces have the same ones. The start time in the name of the log is
 * what decides. */
#ifndef AGENT_PROCESS_H
#define AGENT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/str.h"

/* What can be seen of others' processes from here. */
struct process_view {
	const char *proc; /* "/proc" */
	char boot[9];     /* first characters of the boot id */
	bool hidden;      /* others' processes are not shown: hidepid */
};

void process_view_open(struct process_view *v, const char *boot_id);

/* "boot-pid-start.generation", taken apart. */
struct process_name {
	char boot[9];
	pid_t pid;
	uint64_t start; /* clock ticks after boot; 0: its /proc was not there */
};
/* -EINVAL: no such name. */
int process_name_read(struct process_name *ret, const char *stream);

enum process_state {
	PROCESS_HERE,      /* pidfd is open */
	PROCESS_GONE,      /* of this boot, and ended */
	PROCESS_BEFORE,    /* of another boot, of this or another machine */
	PROCESS_UNCERTAIN, /* can't be seen from here */
	PROCESS_OTHERS,    /* it is here, and another user's: the name is not the log's own */
};

/* Find it. peer_pid: who passed the log, 0: nobody did; peer_fd: over which connection, or -1.
 * exited: the log says that it came to its exit handlers. uid is the owner of the log: a process
 * of another one is not the one that wrote it, unless it is root's. PROCESS_HERE: ret_pidfd is the
 * caller's, ret_pid as it is known here. */
enum process_state process_find(const struct process_view *v, const struct process_name *name,
				uid_t uid, pid_t peer_pid, int peer_fd, bool exited, pid_t *ret_pid,
				int *ret_pidfd);

/* The text of /proc/PID/cgroup, with a NUL; its length, 0: not there. */
size_t process_cgroup(const struct process_view *v, pid_t pid, char *text, size_t room);

/* Start time, field 22 of stat. 0 or -errno. */
int process_start(const struct process_view *v, pid_t pid, uint64_t *ret_start);

/* Is it this user's? By any of its user ids: which one made its log is not known. */
bool process_of(const struct process_view *v, pid_t pid, uid_t uid);

#endif
