/* From what was observed to a record: which executions are samples, the statuses, the numbers,
 * the caveats. Pure: the runner and the daemon both hand in what they saw. */
#ifndef CORE_ASSEMBLE_H
#define CORE_ASSEMBLE_H

#include <stdint.h>

#include "core/metric.h"
#include "lib/err.h"
#include "schema/iopicture.h"
#include "schema/picture.h"
#include "schema/record.h"
#include "schema/roilog.h"

enum end {
	END_EXITED,      /* row.exit_code or row.signal says how */
	END_TIMEOUT,     /* the tree was ended after the limit */
	END_INTERRUPTED, /* Ctrl-C, or the runner was told to stop */
	END_NOT_STARTED, /* the command could not be started; row.why says it */
};

/* One execution as observed. Borrowed by assemble(); nothing in it is kept. */
struct observed {
	/* Given: name, order, exit_code, signal, utc, process_wall_s, the fields of the machine's
	 * state, output_tail, why. assemble() works out the others. Start from block_clear. */
	struct execution row;
	enum end end;
	int64_t start_real_ns, end_real_ns; /* CLOCK_REALTIME around the command */
	const struct roi_log *const *logs;  /* of its processes */
	size_t n_logs;
	const char *const *rank_cpus;     /* CPU set of each log's process, or NULL */
	const double *rank_threads;       /* most threads seen of it, or NULL */
	const struct timer_result *timer; /* region: timer; else NULL */
	struct metric fom, own_timer;
	/* Sentences about marks that could not be taken (library missing, no room for the log),
	 * about pictures that can't be read (NOTE_PICTURE), and about what ranges there were where
	 * none was the region (NOTE_RANGES), and about programs that nothing can be preloaded into
	 * (NOTE_PROGRAM). */
	struct txts notes;
	const struct picture *const *pictures; /* what a collector saw in its processes */
	size_t n_pictures;
	const struct iopicture *const *iopictures; /* what the collector io saw */
	size_t n_iopictures;
};

#define NOTE_PICTURE "picture " /* how notes about pictures begin */
#define NOTE_RANGES "ranges: "  /* and those about ranges; a sentence without a subject follows */
#define NOTE_PROGRAM "program " /* and those about programs: "program PATH is ..." */

/* Adds to rec, in which identity, measurement (with region), inputs, fom.name/unit/better/
 * pattern, own_timer.pattern, launcher, placement, platform_info and provenance are already
 * set: status, roi, phases, context, fom, own_timer, executions, ranks, caveats, nulls,
 * observer.marks and measurement.cleans_*.
 * A sample is a clean execution that ended with 0 and has a finished region: no open entry, no lost
 * END; where the region is a timer, that was found. A
 * clean execution that does not count is said ("3 made, 2 used"). */
int assemble(struct record *rec, const struct observed *seen, size_t n, struct err *err);

/* Why each number, yes/no or list that is null is null: adds to rec's nulls what is not told there
 * yet, and takes out what is known by now. A block that is null as a whole has one line. assemble()
 * ends with it; whoever sets fields afterwards calls it again. 0 or -ENOMEM. */
int record_explain_nulls(struct record *rec);

/* Every code that a caveat can have and what it means; NULL-terminated, for the documents. */
struct caveat_code {
	const char *code, *meaning;
};
extern const struct caveat_code caveat_codes[];

#endif
