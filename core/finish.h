/* A run from its parts: what the runner does at the end of a run, and the daemon when it has
 * everything of one. Both call this with the same things, so both have the same record, byte for
 * byte. */
#ifndef CORE_FINISH_H
#define CORE_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/assemble.h"

/* How the run as a whole went. */
struct run_close {
	bool complete;  /* nothing ended it before its time: run_end.complete is yes */
	double planned; /* executions that were to be made: those of run_announce; NAN unknown */
	int64_t begun_real_ns; /* when it was announced: the record's time where no execution was
				  made */
};

/* rec: as assemble() wants it, and with the caveats of whoever measured; these come behind those
 * that assemble() finds. seen: the executions that ended, in the order of row.order. After it:
 * assemble(), and "interrupted" where that is the truth. 0, -ENOMEM. */
int record_finish(struct record *rec, const struct observed *seen, size_t n,
		  const struct run_close *close, struct err *err);

/* The log of one process, as its frames brought it. */
struct carried_log {
	const char *file; /* without its folder; NULL: not known */
	const void *bytes;
	size_t n;
	const char *cpus; /* of the frame; NULL: what the log tells counts */
	double threads;   /* NAN unknown */
	/* Where so many logs are not held at once: asked for the bytes when their turn comes, good
	 * until the next one's. NULL: they are there. 0, or what went wrong. */
	int (*load)(const struct carried_log *l, const void **ret_bytes, size_t *ret_n,
		    struct err *err);
	void *arg;
};

/* Sets logs, rank_cpus and rank_threads of seen, in the runner's order (by file, in bytes). What is
 * no log leaves a note, unless the same note is there. logs: empty, and the caller's: what seen
 * borrows lives there and in the arena. Texts and bytes may go afterwards. 0, -ENOMEM, or what load
 * answers. */
int observed_logs(struct observed *seen, struct roi_logs *logs, struct arena *a,
		  const struct carried_log *list, size_t n, struct err *err);

/* What a collector left of one process: the bytes of its file. */
struct carried_picture {
	const char *file; /* without its folder; NULL: not known */
	const void *bytes;
	size_t n;
	int (*load)(const struct carried_picture *p, const void **ret_bytes, size_t *ret_n,
		    struct err *err); /* as of carried_log */
	void *arg;
};

/* The pictures of one arena: past it, those that have no room are left out, with a note. */
#define FINISH_PICTURES_BYTES ((size_t)512 << 20)

/* Sets pictures of seen, by file as logs are; each lives in the arena. What is none leaves a note,
 * unless the same note is there. Bytes may go afterwards. 0, -ENOMEM, or what load answers. */
int observed_pictures(struct observed *seen, struct arena *a, const struct carried_picture *list,
		      size_t n, struct err *err);

#endif
