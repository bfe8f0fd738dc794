/* What an agent has lost since its spool began, and how much of that it has told: a small file in
 * memory, so that a count outlives a kill the moment it is made. One line for each (what, why, run,
 * execution); when there are too many, those of more runs share the line without a run. */
#ifndef AGENT_LOSSES_H
#define AGENT_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/outbox.h"
#include "lib/err.h"
#include "schema/batch.h"
#include "schema/roilog.h"

struct losses;

/* Opens or makes the file, at its full size: counting needs no room on a full disk. What can't be
 * one is put aside, and begun anew. */
int losses_open(struct losses **ret, const char *path, struct err *err);
void losses_close(struct losses *l);
int losses_sync(struct losses *l, struct err *err);

void losses_add(struct losses *l, const struct outbox_loss *loss);
uint64_t losses_count(const struct losses *l); /* all lines together */

/* The next line that was not told, from *at (0 at first): lent until the next losses_add. */
bool losses_next(struct losses *l, size_t *at, struct frame *ret);

/* Every line, told or not, likewise. */
bool losses_each(const struct losses *l, size_t *at, struct frame *ret);

/* All that losses_next gave since the last of these two calls: it is durable, or was lost again. */
void losses_told(struct losses *l);
void losses_untold(struct losses *l);

bool losses_waiting(const struct losses *l); /* is there something that losses_next would give? */

#endif
