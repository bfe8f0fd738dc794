/* Launchers: where their processes run, and what they take there. */
#define _GNU_SOURCE
#include "run/launch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/file.h"

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

/* A wrapper before it ("numactl -l mpirun") hides it: the first word decides. */
static const char *program_of(const struct txts *argv)
{
	const char *slash = argv->n ? strrchr(argv->items[0], '/') : NULL;
	return !argv->n ? "" : slash ? slash + 1 : argv->items[0];
}

/* One host a line; the same line is the same host. */
static bool several_hosts(const char *path)
{
	struct buf b = { .max = 1 << 20 };
	bool several = false;
	if (path && *path && file_read(&b, path, NULL) == 0) {
		size_t first = strcspn(b.data ? b.data : "", "\n");
		for (const char *at = b.data; at && *at && !several; at += strspn(at, "\n")) {
			size_t n = strcspn(at, "\n");
			several = n != first || strncmp(at, b.data, n) != 0;
			at += n;
		}
	}
	buf_done(&b);
	return several;
}

static bool names_hosts(const struct txts *argv)
{
	static const char *const options[] = {
		"-H", "-host",      "--host",       "-hosts",        "--hosts", "-hostfile", "-f",
		"-w", "--hostfile", "-machinefile", "--machinefile", "-N",      "--nodes",   NULL
	};
	for (size_t i = 1; i < argv->n; i++) {
		char word[32];
		(void)snprintf(word, sizeof word, "%.*s", (int)strcspn(argv->items[i], "="),
			       argv->items[i]);
		if (is_one_of(word, options))
			return true;
	}
	return false;
}

bool launch_spreads(const struct txts *argv, char *(*get)(const char *name))
{
	static const char *const hosts_told[] = { "OMPI_MCA_orte_default_hostfile",
						  "PRTE_MCA_prte_default_hostfile",
						  "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE",
						  NULL };
	static const char *const choosers[] = { "srun", "flux", "aprun", "jsrun", NULL };
	const char *nodes = get("SLURM_JOB_NUM_NODES");
	if (!argv->n)
		return false;
	if (nodes && *nodes)
		return strcmp(nodes, "1") != 0;
	for (size_t i = 0; hosts_told[i]; i++)
		if (get(hosts_told[i]))
			return true;
	return names_hosts(argv) || several_hosts(get("PBS_NODEFILE")) ||
	       is_one_of(program_of(argv), choosers);
}

/* Open MPI and PRRTE take names from a variable; they refuse it beside -x. Launchers of the MPICH
 * family take the whole environment and do not know this one. Slurm's takes it all, too, unless the
 * batch job was told not to, which its steps inherit. */
int launch_carry(struct env_pair *ret, struct arena *a, const struct txts *argv,
		 const struct txts *names)
{
	static const char *const open_mpi[] = { "mpirun", "mpiexec", "orterun", "prterun", NULL };
	const char *program = program_of(argv);
	*ret = (struct env_pair){ NULL, NULL };
	if (strcmp(program, "srun") == 0)
		*ret = (struct env_pair){ "SLURM_EXPORT_ENV", "ALL" };
	if (!is_one_of(program, open_mpi))
		return 0;
	for (size_t i = 1; i < argv->n; i++)
		if (strcmp(argv->items[i], "-x") == 0)
			return 0;
	struct buf b = { 0 };
	for (size_t i = 0; i < names->n; i++) {
		buf_puts(&b, i ? ";" : "");
		buf_puts(&b, names->items[i]);
	}
	ret->name = "OMPI_MCA_mca_base_env_list";
	ret->value = arena_strdup(a, b.data ? b.data : "");
	bool bad = b.failed || !ret->value;
	buf_done(&b);
	return bad ? -ENOMEM : 0;
}
