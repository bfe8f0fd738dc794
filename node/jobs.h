/* Which job and which container a process belongs to, as the paths of its control groups tell:
 * Slurm, PBS, Flux, LSF, Grid Engine; Docker, Podman, containerd, CRI-O and their like. Paths
 * differ between versions and sites, so this is a hint beside what the process itself says
 * (SLURM_JOB_ID,
 * ...), never the only source. Pure: text in, slices of it out. */
#ifndef NODE_JOBS_H
#define NODE_JOBS_H

#include "lib/str.h"

/* What one path of a control group tells. p NULL: nothing. */
struct job_place {
	const char *manager;  /* "slurm", "pbs", "flux", "lsf", "sge"; NULL: none is known */
	struct str job;       /* "1234", "12.host", "f2x"; of Slurm 26 also "s5K1KKYAYG5D00" */
	struct str step;      /* of Slurm: "0", "batch", "interactive" */
	struct str job_path;  /* the part of the path that is the whole job's on this node */
	const char *runtime;  /* "docker", "podman", "containerd", ... NULL: in no container */
	struct str container; /* its id as the runtime has it, mostly 64 hexadecimal digits */
};

void job_place_read(struct job_place *ret, struct str path);

/* The text of /proc/PID/cgroup. */
struct cgroup_place {
	struct str path; /* the one that tells most: of a job, else of a container, else the deepest
			  * known, "/" last. NULL: there are none, or none that can be seen from
			  * here */
	struct job_place job; /* what it tells */
	/* For whoever reads their files: the unified hierarchy, and those of the old controllers
	 * memory, cpuacct and blkio. NULL: it isn't there, or its path is outside of what can be
	 * seen from here. */
	struct str unified, memory, cpu, io;
};

void cgroup_place_read(struct cgroup_place *ret, struct str text);

#endif
