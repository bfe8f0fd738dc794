/* A folder for what an execution writes, in memory where possible: a log on a disk that is just
 * being written back would cost the program time. Held by a lock, so that the next run can remove
 * what a killed one left. */
#ifndef RUN_SCRATCH_H
#define RUN_SCRATCH_H

#include "lib/err.h"

#define SCRATCH_PATH_BYTES 512

struct scratch {
	char path[SCRATCH_PATH_BYTES];
	int lock;
};

/* base: the folder to make it in; NULL: the first usable one of /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR
 * and /tmp. */
int scratch_open(struct scratch *s, const char *base, struct err *err);

/* Removes it; a scratch that was never opened (all-zero) is fine. */
void scratch_close(struct scratch *s);

/* Remove those below base that no living run holds. Ours alone. */
void scratch_sweep(const char *base);

#endif
