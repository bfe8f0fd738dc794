/* Which job and which container a process belongs to, as the path of its control group tells:
 * Slurm, PBS, Flux; Docker, Podman, containerd, Kubernetes and their like. Paths differ between
 * versions and sites, so this is a hint beside what the process itself says (SLURM_JOB_ID, ...),
 * never the only source. Pure: text in, slices of it out. */
#ifndef NODE_JOBS_H
#define NODE_JOBS_H

#include "lib/str.h"

/* Slices of the text that was given; p NULL: not known, or not there. */
struct cgroup_place {
	struct str path; /* in the unified hierarchy; where only the old ones are used, in the
			  * first of name=systemd, memory, cpuacct, pids. NULL: outside of what can
			  * be seen from here (/..), or no control groups */
	struct str unified, memory, cpu, io; /* for whoever reads their files: v2; v1 of memory,
					      * cpuacct and blkio. NULL: no such hierarchy */
};

/* The text of /proc/PID/cgroup. */
void cgroup_place_read(struct cgroup_place *ret, struct str text);

struct job_place {
	const char *manager;  /* "slurm", "pbs", "flux", ... NULL: none is known */
	struct str job;       /* "1234", "12.host", "f2x" */
	struct str step;      /* "0", "batch", "extern" */
	struct str job_path;  /* that part of the path which is the whole job's; no job, no path */
	struct str container; /* id as its runtime has it, mostly 64 hexadecimal digits */
	const char *runtime;  /* "docker", "podman", "containerd", "crio", ... NULL: no container */
};

/* From one path of a control group. */
void job_place_read(struct job_place *ret, struct str path);

#endif
