/* What the inbox has of one run: its frames and logs, side by side, and whether that is all. */
#ifndef DAEMON_PARTS_H
#define DAEMON_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/finish.h"
#include "store/inbox.h"

#define PARTS_EXECS 4096     /* of one run; of more no record is made */
#define PARTS_LOGS (1 << 17) /* likewise; and so many pictures */

struct part_log {
	struct inbox_log row;
	struct frame_process said; /* its fields, data apart */
};

/* An execution that something is known of. Its logs stand together. */
struct part_exec {
	const char *name; /* "" of logs that do not tell theirs */
	bool started, ended;
	bool failed; /* ended, and not well */
	struct frame_execution_start start;
	struct frame_execution_end end;
	struct part_log *logs;
	size_t n_logs;
	struct inbox_picture *pictures; /* likewise */
	size_t n_pictures;
};

struct parts {
	struct arena arena;
	const char *run;
	bool announced, ended;
	struct frame_run_announce announce;
	struct frame_run_end end;
	struct part_exec *execs; /* by name */
	size_t n_execs, cap_execs;
	struct part_log *logs;
	size_t n_logs;
	struct inbox_picture *pictures;
	size_t n_pictures;
	int64_t spool;          /* one of those that told of it; 0: none */
	int64_t from_ns, to_ns; /* times of what is known; ROI_UNKNOWN */
};

/* parts is initialised by this call, also when it fails. -E2BIG: more than a run can have. */
int parts_load(struct parts *p, struct store *s, const struct inbox_run *run, struct err *err);
void parts_done(struct parts *p);

/* Executions that are to be made; NAN: not known. */
double parts_planned(const struct parts *p);

/* Processes that this execution should have, and those whose last look is here. */
double parts_expected(const struct parts *p, const struct part_exec *e);
double parts_here(const struct part_exec *e);

/* Is everything here? */
bool parts_complete(const struct parts *p);

/* Reads logs and pictures one after the other; all-zero but for the store is valid. */
struct part_loader {
	struct store *s;
	struct buf bytes;
};
struct part_load {
	struct part_loader *loader;
	int64_t id; /* of the log, or the picture */
};
/* list[n] for observed_logs, of those logs of which a whole look is here: how many, or -ENOMEM. In
 * the arena. */
int parts_carry(struct arena *a, struct part_loader *loader, const struct part_log *logs, size_t n,
		struct carried_log **ret, size_t *ret_n, struct err *err);

/* The same for observed_pictures. */
int parts_carry_pictures(struct arena *a, struct part_loader *loader,
			 const struct inbox_picture *pictures, size_t n,
			 struct carried_picture **ret, size_t *ret_n, struct err *err);

/* What following its processes cost, into the record. log_bytes: where the runner does not tell. */
void parts_cost(const struct parts *p, struct observer *o);

/* Caveats about what the agents lost of this run, about logs that end before their process, and
 * pictures of which only a part is here. */
int parts_losses(const struct parts *p, struct store *s, struct record *rec, struct err *err);

/* The record of a run that was announced. rec is initialised by this call, also when it fails.
 * -EBADMSG: no record can be made of it. */
int parts_record(const struct parts *p, struct store *s, struct record *rec, struct err *err);

#endif
