/* Captures of what a program does to its files (docs/capture.md), as the runner has them: the
 * folder, the variables that ask the collector io for one, and what is in it afterwards. */
#ifndef RUN_CALLS_H
#define RUN_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "schema/record.h"
#include "suite/suite.h"

#define CALLS_VARIABLES 2

bool calls_are_there(const char *folder);

/* -EEXIST with a sentence: there is one already, and two would be one afterwards. */
int calls_check(const char *folder, struct err *err);

/* With those above it; something can be written into it. */
int calls_make_folder(const char *folder, struct err *err);

/* folder: absolute. step: nanoseconds that times are rounded to, "1" for exact ones; "none" for no
 * times. Both are borrowed. */
void calls_variables(const char *folder, const char *step, struct env_pair *own, size_t *n);

/* After the processes ended: those that are alike are stored once, and all are counted. What can't
 * be read, or is not there, leaves its numbers null and says why. Texts live in the arena.
 * -ENOMEM. */
int calls_sum_up(struct io_kept *ret, struct arena *a, const char *folder);

#endif
