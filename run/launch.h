/* What is known of launchers by the name of their program: mpirun and its like, srun, flux. */
#ifndef RUN_LAUNCH_H
#define RUN_LAUNCH_H

#include <stdbool.h>

#include "lib/arena.h"
#include "suite/suite.h"

/* May what this launcher starts come to run on other nodes than this one? argv: its own words;
 * none: there is no launcher. get: the environment. */
bool launch_spreads(const struct txts *argv, char *(*get)(const char *name));

/* On its own node a launcher's processes have its environment. The variable that makes it take
 * these names to other nodes, too; ret->name NULL: it needs none, or takes none. -ENOMEM. */
int launch_carry(struct env_pair *ret, struct arena *a, const struct txts *argv,
		 const struct txts *names);

#endif
