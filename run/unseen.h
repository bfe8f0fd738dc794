/* Processes of a profiled execution that the collector io could not see, and why, where their
 * programs' files tell (node/program.h). */
#ifndef RUN_UNSEEN_H
#define RUN_UNSEEN_H

#include "run/capture.h"
#include "run/command.h"

/* A note (NOTE_PROGRAM) for each such program: of the command where no process told of its files,
 * else of those that marked and did not. -ENOMEM. */
int unseen_note(struct capture *c, const struct command *command);

#endif
