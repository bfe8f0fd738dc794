/* An execution as its runner saw it, as a frame and back: what the daemon hands to assemble() is
 * what the runner would have. The logs of its processes travel as process frames of their own. */
#ifndef CORE_CARRY_H
#define CORE_CARRY_H

#include "core/assemble.h"
#include "lib/arena.h"
#include "schema/batch.h"

/* What a frame lends its bytes from. All-zero is valid; used again from frame to frame. */
struct carry {
	struct buf row, parts, notes;
	struct arena texts;
};

/* The frame borrows from c, seen and run until batch_put. logs, rank_cpus and rank_threads are not
 * in it. 0 or -ENOMEM. */
int observed_put(struct frame *ret, struct carry *c, const char *run, const struct observed *seen);
void carry_done(struct carry *c);

/* Everything copied into the arena; without logs, rank_cpus and rank_threads. -EBADMSG, -ENOMEM. */
int observed_get(struct observed *ret, struct arena *a, const struct frame_execution_end *f,
		 struct err *err);

/* A copy with a NUL; NULL stays NULL, NULs within are cut at. */
char *arena_str(struct arena *a, struct str text);

#endif
