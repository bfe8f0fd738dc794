/* A range that the program itself makes, as its region: "region: range:PATTERN". The marks are made
 * inside the program, by libroimeter-range.so; here is how that comes into it, and what can be said
 * where no range fits. */
#ifndef RUN_RANGES_H
#define RUN_RANGES_H

#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "suite/suite.h"

#define RANGES_PATTERN_MAX 512
#define RANGES_VARIABLES 3 /* NVTX_INJECTION64_PATH, ROIMETER_RANGE, LD_PRELOAD */

/* The pattern, or NULL: the region is something else. */
const char *ranges_pattern(const struct suite_case *c);

/* Can it be? library: NULL, it was not found. envp: what the program gets anyway. -EINVAL, with a
 * sentence. */
int ranges_check(const char *pattern, const char *library, char *const *envp, struct err *err);

/* Adds to the n in own what the program gets more. envp as above. -ENOMEM. */
int ranges_variables(const char *pattern, const char *library, struct arena *a, char *const *envp,
		     struct env_pair *own, size_t *n);

/* Why there may be no region: which ranges there were, as the programs left it in the folder of the
 * logs. A sentence without a subject, in the arena. NULL: no memory. */
const char *ranges_seen(const char *folder, struct arena *a);

/* The same of what stands in the file. */
const char *ranges_told(const char *text, size_t n, struct arena *a);

#endif
