/* A control group of our own for the processes of an execution: the kernel then knows all of
 * them, whatever they do, and ends them at once. Not everybody may make one. */
#ifndef RUN_CGROUP_H
#define RUN_CGROUP_H

#include "lib/err.h"
#include "node/procs.h"

#define CGROUP_PATH_BYTES 1024

/* The folder of our own group in the cgroup2 hierarchy, out of the texts of /proc/self/mountinfo
 * and /proc/self/cgroup. -ENOENT: there is no such hierarchy here. */
int cgroup_own(const char *mountinfo, const char *self, char ret[CGROUP_PATH_BYTES]);

/* Make a group below our own, called after this process; those that killed runs left are removed. -ENOENT, -EACCES, -EROFS and so on: not here; err says why. */
int cgroup_make(char ret[CGROUP_PATH_BYTES], struct err *err);

/* End all processes in it and in groups below. -ENOENT before Linux 5.14. */
int cgroup_kill(const char *path);

/* Its processes; the list is emptied first. Those in groups that they made below are not in it. */
int cgroup_pids(const char *path, struct pids *ret);

/* CPU time of all that ever ran in it, in seconds; NAN if unknown. */
void cgroup_cpu(const char *path, double *ret_user_s, double *ret_system_s);

/* Bytes that it read from block devices and wrote to them; NAN: the kernel does not count that here. */
void cgroup_io(const char *path, double *ret_read_bytes, double *ret_write_bytes);

/* Remove it and groups below that its processes made; they must be empty. */
void cgroup_remove(const char *path);

#endif
