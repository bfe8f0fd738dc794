/* Collectors as the runner has them: found by name (libroimeter-NAME.so), opened, looked at, and
 * the variables that bring one into a program. */
#ifndef RUN_COLLECTOR_H
#define RUN_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/collector.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "suite/suite.h"

#define COLLECTOR_VARIABLES_MAX 22 /* of two that ride together, ten each, and two */

/* Texts live in the arena of collector_open, the table in the library. */
struct collector_lib {
	const char *name;
	const char *path; /* of the library, absolute */
	const char *exit; /* what is preloaded so that _exit loses nothing; NULL: it is not there */
	const struct collector *table;
	struct env_pair *env; /* the table's, "{library}" replaced */
	size_t n_env;
	void *handle;
	const struct collector_lib *with; /* rides along in the same execution, or NULL; another's */
};

/* In these folders (colon-separated, may be NULL), then beside this program and where it was
 * installed. What the library says of itself is checked, and nothing in it is called. -ENOENT,
 * -EINVAL. ret is empty after a failure. */
int collector_open(struct collector_lib *ret, struct arena *a, const char *name,
		   const char *folders, struct err *err);
void collector_close(struct collector_lib *c); /* an empty one is fine */

/* Can it work on this machine? Else its own sentence. */
int collector_check(const struct collector_lib *c, struct err *err);

/* A variable that the program has already, and that can hold one value only; NULL: there is none.
 * envp: what a clean execution gets. */
const char *collector_conflict(const struct collector_lib *c, char *const *envp);

/* Is it this one, or does this one ride along? */
bool collector_has(const struct collector_lib *c, const char *name);

/* "cupti", or "cupti,io" where another rides along. NULL: no memory. */
const char *collector_names(struct arena *a, const struct collector_lib *c);

/* What a profiled execution gets more: ret has room for COLLECTOR_VARIABLES_MAX. Lists (LD_PRELOAD,
 * OPENCL_LAYERS) keep what the program has already. -ENOMEM. */
int collector_variables(const struct collector_lib *c, struct arena *a, char *const *envp,
			struct env_pair *ret, size_t *ret_n);

/* One of them, more: in a list it comes behind what the program, or one of the n, has there
 * already. */
int collector_variable(struct arena *a, char *const *envp, const char *name, const char *value,
		       struct env_pair *ret, size_t *n);

/* libroimeter-range.so of the same folders (run/ranges.h). NULL: it is not there, or no memory. */
const char *collector_range_library(struct arena *a, const char *folders);

#endif
