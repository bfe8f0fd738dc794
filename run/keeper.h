/* The keeper's side of a tree: see run/tree.h. */
#ifndef RUN_KEEPER_H
#define RUN_KEEPER_H

#include "run/cgroup.h"
#include "run/tree.h"

/* What keeper and runner share: memory that both have mapped. */
struct keeper_page {
	struct tree_end end;
	volatile bool done;             /* end is complete */
	char cgroup[CGROUP_PATH_BYTES]; /* of this execution; empty: none */
};

/* Never returns. control: becomes readable for "end it", and ends when the runner does. */
_Noreturn void keeper_main(const struct tree_spec *spec, struct keeper_page *page, int control);

#endif
