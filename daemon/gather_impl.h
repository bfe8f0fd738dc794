/* Between the files of daemon/gather.h. */
#ifndef DAEMON_GATHER_IMPL_H
#define DAEMON_GATHER_IMPL_H

#include "daemon/gather.h"
#include "schema/runid.h"

#define GATHER_RUNS 64       /* runs that one body may speak of before they are written */
#define GATHER_CHANGES 4096  /* names of runs with news that nobody asked for yet */
#define GATHER_MAX_NAME 1024 /* bytes of a name that is kept: of an agent, a stream, a group */

/* A run of which the body speaks. */
struct touched {
	char name[GATHER_MAX_NAME + 64];
	struct inbox_run run;
	bool news;  /* something was said of it */
	bool count; /* ... that belongs into its record */
	bool due;   /* ... and that may complete it */
};

/* What is in the batch that is open. */
struct contents {
	uint64_t frames, kept, acting; /* kept as they are; with more to do about them */
	bool only_gap;   /* they say of numbers up to its own that they will not come, and nothing
			    else */
	struct str self; /* the agent about itself, the last time */
	int64_t self_ns;
};

struct gather {
	struct gather_config config;
	int64_t base_ns;      /* age less mono */
	int64_t saved_age_ns; /* as in the table */
	int64_t fold_age_ns;  /* when the ledger was kept last */

	struct batch_in in;
	struct batch_out out; /* what is kept of a batch that holds more than context */
	struct buf kept;
	struct contents contents;

	/* While a body is taken. */
	struct store *s;
	struct gather_now now;
	int64_t age_ns, spool;
	struct gather_result *result;
	struct touched *touched;
	size_t n_touched;
	char not_open[RUNID_BYTES]; /* the run that context spoke of last, if that is over */

	char **changed;
	size_t n_changed;
};

int64_t gather_age(const struct gather *g, const struct gather_now *now);
void gather_note_change(struct gather *g, const char *run);

/* ---- frames ---------------------------------------------------------------------------------- */

/* One frame of a new batch; bytes: its own. */
int gather_frame(struct gather *g, const struct batch_sender *from, const struct frame *f,
		 struct str bytes, struct err *err);
/* The list of what a suite declares. ret_why: it was refused, and nothing is stored. */
int gather_declare(struct gather *g, const struct frame_declare *d, const char **ret_why,
		   struct err *err);
/* The result of a conformance test, likewise. */
int gather_conformance(struct gather *g, const struct frame_conformance *f, const char **ret_why,
		       struct err *err);
/* Write what is known of the runs that were touched. */
int gather_settle(struct gather *g, struct err *err);

#endif
