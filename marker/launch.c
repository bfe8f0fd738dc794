/* Which batch job and which launch this process belongs to, as its environment tells. Of that only
 * ids and numbers are kept, bounded and in plain characters; a value that may say more about a
 * site (an address) goes in as a hash. */
#define _GNU_SOURCE
#include "marker/guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 0xfffffff0u /* Slurm's numbers for batch scripts and their like begin here */
#define ANCESTORS 8

static const char *value_of(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* FNV-1a. The ids need not stand against anyone: who forges one forges a group of its own user. */
static uint32_t hash(uint32_t h, const char *text)
{
	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return (h ^ '\n') * 16777619u;
}

#define HASH_START 2166136261u

static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._-+:@[]{}()~", c));
}

/* "kind:value". A longer one than fits ends in the hash of all of it. */
static void id_put(char id[LAUNCH_ID_BYTES], const char *kind, const char *value)
{
	const size_t cut = LAUNCH_ID_BYTES - sizeof "-01234567";
	int n = snprintf(id, LAUNCH_ID_BYTES, "%s:", kind);
	size_t at = (size_t)n;
	const char *p = value;
	while (*p && at < cut) {
		if (!strncmp(p, "\xc6\x92",
			     2)) { /* Flux writes its ids with a hooked f, or a plain one */
			id[at++] = 'f';
			p += 2;
		} else {
			id[at++] = plain(*p) ? *p : '_';
			p++;
		}
	}
	id[at] = 0;
	if (*p)
		(void)snprintf(id + at, LAUNCH_ID_BYTES - at, "-%08x", hash(HASH_START, value));
}

static void number_put(char to[LAUNCH_NUMBER_BYTES], const char *value)
{
	size_t n = value ? strspn(value, "0123456789") : 0;
	if (n && !value[n] && n < LAUNCH_NUMBER_BYTES)
		memcpy(to, value, n + 1);
}

/* ---- the job --------------------------------------------------------------------------------- */

/* Flux comes last: it also runs inside the jobs of the others. */
static void job_find(char job[LAUNCH_ID_BYTES])
{
	char both[256];
	const char *id, *task;
	if ((id = value_of("SLURM_ARRAY_JOB_ID")) && (task = value_of("SLURM_ARRAY_TASK_ID"))) {
		(void)snprintf(both, sizeof both, "%s_%s", id, task);
		id_put(job, "slurm", both);
	} else if ((id = value_of("SLURM_JOB_ID"))) {
		id_put(job, "slurm", id);
	} else if ((id = value_of("PBS_JOBID"))) {
		id_put(job, "pbs", id);
	} else if ((id = value_of("LSB_JOBID"))) {
		task = value_of("LSB_JOBINDEX");
		if (task && strcmp(task, "0") != 0) {
			(void)snprintf(both, sizeof both, "%s[%s]", id, task);
			id = both;
		}
		id_put(job, "lsf", id);
	} else if ((id = value_of("OAR_JOB_ID"))) {
		id_put(job, "oar", id);
	} else if ((id = value_of("JOB_ID")) && (task = value_of("SGE_TASK_ID"))) {
		if (strcmp(task, "undefined") != 0) {
			(void)snprintf(both, sizeof both, "%s.%s", id, task);
			id = both;
		}
		id_put(job, "sge", id);
	} else if ((id = value_of("FLUX_JOB_ID"))) {
		id_put(job, "flux", id);
	}
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* A batch script's own processes have a job and a rank (0), and are no step. */
static bool in_step(void)
{
	const char *job = value_of("SLURM_JOB_ID"), *step = value_of("SLURM_STEP_ID");
	return job && step && strtoul(step, NULL, 10) < STEPS_MAX;
}

static bool group_step(char group[LAUNCH_ID_BYTES])
{
	char both[256];
	if (!in_step())
		return false;
	(void)snprintf(both, sizeof both, "%s.%s", value_of("SLURM_JOB_ID"),
		       value_of("SLURM_STEP_ID"));
	id_put(group, "slurm", both);
	return true;
}

static bool group_id(char group[LAUNCH_ID_BYTES], const char *kind, const char *name)
{
	const char *id = value_of(name);
	if (id)
		id_put(group, kind, id);
	return id != NULL;
}

static bool group_flux(char group[LAUNCH_ID_BYTES])
{
	return group_id(group, "flux", "FLUX_JOB_ID");
}

static bool group_pmix(char group[LAUNCH_ID_BYTES])
{
	return group_id(group, "pmix", "PMIX_NAMESPACE");
}

/* Open MPI 5 names its launches; before, they have a number of which half is a hash of 16 bits.
 * What makes it one of a kind is the key for its transports, drawn at random and the same for all
 * ranks. */
static bool group_ompi(char group[LAUNCH_ID_BYTES])
{
	char both[256];
	const char *id = value_of("PMIX_NAMESPACE");
	const char *key = value_of("OMPI_MCA_orte_precondition_transports");
	if (!id)
		id = value_of("OMPI_MCA_ess_base_jobid");
	if (!key)
		key = value_of("OMPI_MCA_orte_hnp_uri");
	if (!id)
		return false;
	(void)snprintf(both, sizeof both, "%s-%08x", id, hash(HASH_START, key));
	id_put(group, "ompi", key ? both : id);
	return true;
}

/* Hydra tells its ranks nothing that only this launch has, but on each node they all come from one
 * proxy. Wrappers may stand between. */
static bool group_hydra(char group[LAUNCH_ID_BYTES])
{
	char path[64] = "/proc/self/stat", text[1024], pid[16], parent[16], start[24], boot[48];
	size_t n;
	for (int i = 0; i < ANCESTORS; i++) {
		const char *name, *end;
		if (file_slurp(path, text, sizeof text, &n) || !(name = strchr(text, '(')) ||
		    !(end = strrchr(text, ')')) || end[1] != ' ' ||
		    sscanf(text, "%15[0-9]", pid) != 1 ||
		    sscanf(end + 2,
			   "%*c %15[0-9] %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			   "%*s %*s %*s %*s %23[0-9]",
			   parent, start) != 2)
			return false;
		if (!strncmp(name, "(hydra_pmi_prox", 15) || !strncmp(name, "(pmi_proxy)", 11)) {
			if (file_slurp("/proc/sys/kernel/random/boot_id", boot, sizeof boot, &n))
				return false;
			(void)snprintf(text, sizeof text, "%.8s-%s-%s", boot, pid, start);
			id_put(group, "hydra", text);
			return true;
		}
		(void)snprintf(path, sizeof path, "/proc/%s/stat", parent);
	}
	return false;
}

/* PMI is spoken by many: MPICH's and Intel's Hydra, Cray's PALS, Flux, Slurm. */
static bool group_pmi(char group[LAUNCH_ID_BYTES])
{
	if (group_id(group, "pals", "PALS_APID"))
		return true;
	if (value_of("FLUX_TASK_RANK") && group_flux(group))
		return true;
	const char *here = value_of("MPI_LOCALNRANKS"), *all = value_of("PMI_SIZE");
	if (here && all && !strcmp(here, all) && group_hydra(group))
		return true; /* several such launches may stand in one step */
	return group_step(group) || group_id(group, "pmi", "PMI_JOBID") || group_hydra(group);
}

static bool group_hashed(char group[LAUNCH_ID_BYTES], const char *kind, const char *const names[])
{
	char text[16];
	uint32_t h = HASH_START;
	if (!value_of(names[0]))
		return false;
	for (; *names; names++)
		h = hash(h, value_of(*names));
	(void)snprintf(text, sizeof text, "%08x", h);
	id_put(group, kind, text);
	return true;
}

static bool group_jax(char group[LAUNCH_ID_BYTES])
{
	static const char *const names[] = { "JAX_COORDINATOR_ADDRESS", NULL };
	return group_hashed(group, "jax", names);
}

static bool group_torch(char group[LAUNCH_ID_BYTES])
{
	static const char *const names[] = { "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
					     NULL };
	return group_hashed(group, "torch", names);
}

/* The innermost launcher counts, so those come first that are started inside others. */
static const struct launcher {
	const char *rank, *world;
	bool (*group)(char group[LAUNCH_ID_BYTES]);
} launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", group_ompi },
	{ "PMIX_RANK", NULL, group_pmix },
	{ "PMI_RANK", "PMI_SIZE", group_pmi },
	{ "SLURM_PROCID", NULL, group_step },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", group_step },
	{ "FLUX_TASK_RANK", "FLUX_JOB_SIZE", group_flux },
	{ "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", group_jax },
	{ "RANK", "WORLD_SIZE", group_torch },
};

/* Where the launcher itself says no number: that of what it was started by. */
static const char *world_around(void)
{
	const char *world = NULL;
	if (in_step()) {
		world = value_of("SLURM_STEP_NUM_TASKS");
		return world ? world : value_of("SLURM_NTASKS");
	}
	return value_of("FLUX_TASK_RANK") ? value_of("FLUX_JOB_SIZE") : NULL;
}

void launch_find(struct launch *l)
{
	job_find(l->job);
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		const struct launcher *one = &launchers[i];
		const char *rank = value_of(one->rank);
		if (!rank)
			continue;
		number_put(l->rank, rank);
		number_put(l->world, one->world ? value_of(one->world) : world_around());
		(void)one->group(l->group);
		return;
	}
}
