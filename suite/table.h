/* Cells of a table of cases (tab-separated, "-" for empty), as other tools keep them:
 * "A=1;B=x y" declares variables, "N=128|192" with the case name "n{}" is a sweep. */
#ifndef SUITE_TABLE_H
#define SUITE_TABLE_H

#include "lib/arena.h"
#include "lib/err.h"
#include "suite/suite.h"

/* The variables of one cell, in its order. -EINVAL: err says which, and why: "bad name",
 * "credential name", "reserved", "set twice", "no value" or "bad value". */
int case_env_parse(struct arena *a, const char *cell, struct env_pair **ret, size_t *ret_n,
		   struct err *err);

struct swept_case {
	const char *name, *env; /* env as a cell again */
};

/* The cases that a row means. -EINVAL: "{} without a sweep", "two sweeps", "sweep without {}",
 * "bad value", or what case_env_parse refuses. */
int sweep_expand(struct arena *a, const char *case_name, const char *env_cell,
		 struct swept_case **ret, size_t *ret_n, struct err *err);

#endif
