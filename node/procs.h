/* Which processes are below another one, as /proc has it. */
#ifndef NODE_PROCS_H
#define NODE_PROCS_H

#include <stddef.h>
#include <sys/types.h>

struct pids {
	pid_t *items; /* freed by pids_done */
	size_t n, cap;
};

/* All descendants of root, without root itself; the list is emptied first. A process that starts
 * or ends meanwhile may be missed or be gone: who kills looks again. -ENOMEM, -errno of /proc. */
int procs_below(const char *proc, pid_t root, struct pids *ret);
int pids_add(struct pids *p, pid_t pid);
void pids_done(struct pids *p);

/* Send a signal to all descendants of root; how many there were. */
size_t procs_signal(pid_t root, int sig);

/* SIGKILL for all descendants of root. They are stopped first, until no new one appears, so that
 * none can fork away between the look and the kill. How many there were. */
size_t procs_kill(pid_t root);

#endif
