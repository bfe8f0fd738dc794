/* Which commit a folder is at. Asks git itself, if it is installed, for two seconds at most. */
#ifndef RUN_GIT_H
#define RUN_GIT_H

#include "lib/arena.h"

/* *ret_commit is NULL and *ret_dirty UNKNOWN when it can't be told: no git, no repository. */
void git_ask(struct arena *a, const char *folder, const char **ret_commit, signed char *ret_dirty);

#endif
