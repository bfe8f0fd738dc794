/* One table for [store], [run], [collectors], [agent], [env], [platform] and [launcher NAME]. */
#define _GNU_SOURCE
#include "cli/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run_collect.h"

#define TOP(member) offsetof(struct config, member)
#define OF_LAUNCHER(member) offsetof(struct config_launcher, member)

static const struct conf_key keys[] = {
	{ "store", "db", CONF_TEXT, TOP(db), NULL, 0, 0, NULL,
	  "database file; empty: roimeter/roimeter.db in $XDG_DATA_HOME or ~/.local/share" },
	{ "run", "warmup", CONF_COUNT, TOP(warmup), "1", 0, 999, NULL,
	  "warm-up executions where the case says nothing" },
	{ "run", "clean", CONF_COUNT, TOP(clean), "5", 1, 999, NULL,
	  "clean executions where the case says nothing" },
	{ "run", "timeout", CONF_NUMBER, TOP(timeout_s), "3600", 0.001, 1e8, NULL,
	  "seconds for one execution where the case says nothing" },
	{ "run", "grace", CONF_NUMBER, TOP(grace_s), "2", 0, 3600, NULL,
	  "seconds between SIGTERM and SIGKILL when an execution is ended" },
	{ "run", "order", CONF_CHOICE, TOP(order), "sequential", 0, 0, "sequential|interleaved",
	  "case after case, or one execution of each in turn" },
	{ "run", "scratch", CONF_TEXT, TOP(scratch), NULL, 0, 0, NULL,
	  "folder for logs and output while an execution runs; empty: /dev/shm or the like" },
	{ "run", "library", CONF_TEXT, TOP(library), NULL, 0, 0, NULL,
	  "libroimeter.so for marked programs; empty: the one beside roimeter" },
	{ "run", "timers", CONF_TEXT, TOP(timers), NULL, 0, 0, NULL,
	  "folders of timer definitions, colon-separated, searched first" },
	{ "run", "journal", CONF_FLAG, TOP(journal), "yes", 0, 0, NULL,
	  "keep what was measured on disk until it is stored, for --resume" },
	{ "run", "server", CONF_TEXT, TOP(server), NULL, 0, 0, NULL,
	  "address of the daemon that gets the results, by way of this node's agent; empty: the "
	  "database" },
	{ "run", "collect", CONF_WORDS, TOP(collect), "auto", 0, 0, NULL,
	  "collectors for profiled executions where the call names none: auto (what works here), "
	  "names, or none" },
	{ "run", "device_samples", CONF_NUMBER, TOP(device_samples), "10", 0, 10, NULL,
	  "looks at each accelerator a second, at most, while an execution runs; 0: none" },
	{ "collectors", "path", CONF_TEXT, TOP(collectors), NULL, 0, 0, NULL,
	  "folders of libroimeter-NAME.so, colon-separated, searched before roimeter's own" },
	{ "agent", "socket", CONF_TEXT, TOP(agent_socket), NULL, 0, 0, NULL,
	  "of this node's agent; empty: /run/roimeter-agent/agent.sock" },
	{ "env", "allow", CONF_WORDS, TOP(env_allow), NULL, 0, 0, NULL,
	  "names to pass on from the caller's environment; a name may end in *" },
	{ "platform", "id", CONF_TEXT, TOP(platform), NULL, 0, 0, NULL,
	  "name of this machine in place of the one found out, as in cpu-amd-epyc-7763.linux6.1" },
	{ "launcher", "command", CONF_ARGV, OF_LAUNCHER(command), NULL, 0, 0, NULL,
	  "what stands before the application's command; {ranks} and {threads} are put in" },
	{ "launcher", "env", CONF_WORDS, OF_LAUNCHER(env), NULL, 0, 0, NULL,
	  "names that it needs from the caller's environment; a name may end in *" },
	{ "launcher", "default", CONF_FLAG, OF_LAUNCHER(multi), "no", 0, 0, NULL,
	  "takes the cases with several ranks that name no launcher" },
};

static const struct conf_group groups[] = {
	{ "launcher", TOP(launchers), sizeof(struct config_launcher) },
};

const struct conf_table config_table = {
	.keys = keys,
	.n_keys = sizeof keys / sizeof *keys,
	.groups = groups,
	.n_groups = sizeof groups / sizeof *groups,
};

/* The launchers that are everywhere the same; a file may change them. */
static const char built_in[] = "[launcher mpirun]\n"
			       "command = mpirun -n {ranks}\n"
			       "env = OMPI_* PMIX_* PRTE_* I_MPI_* MPICH_* FI_* UCX_*\n"
			       "default = yes\n"
			       "[launcher srun]\n"
			       "command = srun -n {ranks}\n"
			       "env = SLURM_*\n"
			       "[launcher flux]\n"
			       "command = flux run -n {ranks}\n"
			       "env = FLUX_*\n";

int config_init(struct config *ret, struct err *err)
{
	*ret = (struct config){ .db = NULL };
	int rc = conf_defaults(&config_table, ret, &ret->arena);
	if (rc)
		return err_set(err, rc, "out of memory");
	return conf_parse(&config_table, ret, &ret->arena, "(built in)", built_in, strlen(built_in),
			  err);
}

void config_done(struct config *c)
{
	arena_free(&c->arena);
	*c = (struct config){ .db = NULL };
}

/* What the table can't say. Two defaults can't be; one launcher that is named twice in a row of
 * files can. */
static int check(const struct config *c, const char *file, struct err *err)
{
	const struct config_launcher *l = c->launchers.items, *first = NULL;
	for (size_t i = 0; i < c->launchers.n; i++) {
		if (l[i].command.n == 0)
			return err_set(err, -EINVAL,
				       "%s: [launcher %s] has no command; write command = ...",
				       file, l[i].name);
		if (l[i].multi && first)
			return err_set(err, -EINVAL,
				       "%s: both launcher %s and launcher %s have default = yes; "
				       "set one to no",
				       file, first->name, l[i].name);
		if (l[i].multi)
			first = &l[i];
	}
	char where[4200];
	(void)snprintf(where, sizeof where, "%s: [run] collect", file);
	return run_collect_check_names(where, c->collect.items, c->collect.n, err);
}

static int load(struct config *c, const char *file, struct err *err)
{
	int rc = conf_load(&config_table, c, &c->arena, file, err);
	return rc ? rc : check(c, file, err);
}

static int load_if_there(struct config *c, const char *file, struct err *err)
{
	return access(file, F_OK) ? 0 : load(c, file, err);
}

int config_load(struct config *ret, const char *file, struct err *err)
{
	const char *home = getenv("HOME"), *base = getenv("XDG_CONFIG_HOME");
	char path[4096];
	int rc = config_init(ret, err);
	if (rc || file)
		return rc ? rc : load(ret, file, err);
	rc = load_if_there(ret, "/etc/roimeter/roimeter.ini", err);
	if (base && base[0] == '/')
		(void)snprintf(path, sizeof path, "%s/roimeter/roimeter.ini", base);
	else if (home && home[0])
		(void)snprintf(path, sizeof path, "%s/.config/roimeter/roimeter.ini", home);
	else
		return rc;
	return rc ? rc : load_if_there(ret, path, err);
}
