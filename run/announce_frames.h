/* What a runner tells of a case, as frames: no socket, no clock. */
#ifndef RUN_ANNOUNCE_FRAMES_H
#define RUN_ANNOUNCE_FRAMES_H

#include "run/case.h"
#include "schema/batch.h"

struct announce_what {
	bool begin;          /* run_announce */
	size_t from;         /* of the executions that were made: the first to be told */
	const char *running; /* an execution that begins now; NULL: none */
	double order;        /* of that */
	bool end;            /* run_end */

	int64_t real_ns;   /* now */
	uint64_t snapshot; /* a number for the logs: higher than any before, CLOCK_BOOTTIME */
	const char *user, *job, *host; /* NULL: not known */
};

/* Hands the frames out one by one; each is good during its call. put answers 0, or what ends this
 * with the same number. */
int announce_frames(struct case_run *c, const struct fill *f, const struct announce_what *what,
		    int (*put)(void *arg, const struct frame *frame), void *arg, struct err *err);

/* What the suite declares. list: room for it, lent to the frame. -ENOMEM, or what put says. */
int announce_declaration(const struct suite *s, int64_t real_ns, struct buf *list,
			 int (*put)(void *arg, const struct frame *frame), void *arg,
			 struct err *err);

/* "slurm:1234", "pbs:12.host", "flux:f2x" as the environment tells; NULL: no batch job. */
const char *announce_job(struct arena *a, char *(*get)(const char *name));

#endif
