/* What one execution left behind, before anything is worked out: how it ended, what the machine
 * did, and the bytes that it wrote. It is what the journal keeps, so a resumed run works out the
 * same numbers from it. */
#ifndef RUN_CAPTURE_H
#define RUN_CAPTURE_H

#include "core/assemble.h"
#include "lib/arena.h"
#include "run/watch.h"
#include "timer/timer.h"

enum blob_kind {
	BLOB_LOG = 'L',     /* region log of a process */
	BLOB_OUTPUT = 'O',  /* standard output and error, "run.log" */
	BLOB_FILE = 'F',    /* of the case's folder, for its timer */
	BLOB_PICTURE = 'P', /* what a collector left of a process */
};

struct blob {
	enum blob_kind kind;
	const char *name;
	char *data; /* in the arena */
	size_t n;
};

struct capture {
	struct arena arena;
	struct execution row; /* as core/assemble.h wants it */
	enum end end;
	int64_t start_real_ns, end_real_ns;
	struct watched *seen;
	size_t n_seen;
	struct watch_result state;
	double others_running, log_bytes, outlived, immortal;
	bool output_cut; /* the middle of a very long output is missing */
	bool grouped;
	struct blob *blobs;
	size_t n_blobs;
	struct txts notes; /* about marks that could not be taken */
};

void capture_init(struct capture *c);
void capture_done(struct capture *c);

/* Sentences of notes are copied. */
int capture_note(struct capture *c, const char *text);

/* The region logs and pictures of a folder, and what processes say there that could not make
 * theirs. */
int capture_logs(struct capture *c, const char *folder, struct err *err);

/* The output; of more than 32 MiB the first and the last 16. */
int capture_output(struct capture *c, const char *path, struct err *err);

/* The state of the files that a timer reads, so that those written before are told apart from
 * those of this execution. */
struct stamps {
	struct stamp *items;
	size_t n, cap;
};
int stamps_take(struct stamps *s, struct arena *a, const char *folder, const struct txts *globs);

/* Files that are new or changed since. */
int capture_files(struct capture *c, const char *folder, const struct txts *globs,
		  const struct stamps *before, struct err *err);

/* The last lines of the output, at most 4 KiB, in the capture's arena; NULL without output. */
const char *capture_tail(struct capture *c);

/* What is worked out of it. Borrowed from a capture and from here until worked_done. */
struct worked {
	struct roi_logs logs;
	const char **rank_cpus;
	double *rank_threads;
	struct metric fom, own_timer;
	struct timer_result timer;
	const char *audit;
	signed char audit_ok;
	struct observed observed;
};

/* timer may be NULL. */
int capture_work_out(struct worked *ret, struct capture *c, const struct suite_case *suite_case,
		     const struct timer_def *timer, struct err *err);
void worked_done(struct worked *w);

#endif
