/* From a case to what is started: the launcher before it, the program found, its environment, and
 * the hashes that say what was measured. */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include "lib/arena.h"
#include "lib/err.h"
#include "suite/env.h"
#include "suite/suite.h"

/* How processes are started on this machine. */
struct starter {
	const char *name;    /* "direct" puts nothing before the command */
	struct txts command; /* "{ranks}" and "{threads}" are put in */
	struct txts env;     /* names it needs from the caller's environment; may end in "*" */
	bool multi;          /* the one for several ranks when a case names none */
};

struct command_options {
	const struct starter *launchers;
	size_t n_launchers;
	const char *launcher; /* for cases with several ranks that name none; NULL: the multi one */
	struct txts allow;    /* names to pass on */
	char *const *envp;    /* the caller's */
	bool plan_only;       /* programs and folders need not be there yet */
};

struct command {
	const struct suite_case *c;
	struct txts argv;     /* as started; argv[0] as written */
	const char *cwd;      /* absolute; NULL: each execution gets a folder of its own */
	const char *path;     /* of argv[0], found; absolute, as exe is */
	const char *exe;      /* of the application; NULL for a shell line */
	const char *launcher; /* its name */
	struct txts launcher_argv;
	struct txts allow;    /* names passed on, the launcher's included */
	struct env_pair *set; /* what the case declares */
	size_t n_set;
	struct txts env; /* the same as NAME=value */
	const char *exe_hash, *input_hash;
	struct txts files; /* "name hash" */
};

/* Refuses, by name: a declared input that is set outside but not by the case; a launcher that is
 * not configured; a program that isn't there or may not be started; a missing input file. All in
 * the arena. -EINVAL, -ENOENT, -EACCES. */
int command_make(struct command *ret, struct arena *a, const struct suite_case *c,
		 const struct command_options *o, struct err *err);

/* Hash what will be measured: reads the executable and the input files, once each. */
int command_hash(struct command *cmd, struct arena *a, struct err *err);

/* The file that name stands for: as execvp would, from the absolute folder cwd; NULL if there is
 * none. *ret_errno tells whether it is missing or may not be started. */
const char *command_find(struct arena *a, const char *name, const char *cwd, const char *path,
			 int *ret_errno);

#endif
