/* The marks of one process, as read back from its log: ours (schema/marklog.h) or the text of
 * hpcperf-roi-log 2. Only what stands in the log; what it adds up to is core/roi.h. */
#ifndef SCHEMA_ROILOG_H
#define SCHEMA_ROILOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "schema/bins.h"
#include "schema/field.h"

#define ROI_UNKNOWN INT64_MIN /* a time that is not known */

/* One finished entry: outermost BEGIN to outermost END. Nanoseconds. */
struct roi_entry {
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC of the node */
	uint64_t excluded_ns;
	uint64_t excludes;
	uint32_t thread; /* stream in which it was taken; entries of one thread never overlap */
};

/* An exclude by itself: kept only when several threads mark. */
struct roi_exclude {
	int64_t begin_ns, end_ns;
	uint32_t thread;
};

struct roi_phase {
	const char *name;
	uint64_t count, total_ns, min_ns, max_ns;
};

struct roi_log {
	const char *format;                        /* "roimeter-mark-log 1", "hpcperf-roi-log 2" */
	const char *file;                          /* where it was read from */
	const char *pid, *rank, *host, *exe, *cwd; /* NULL: the log does not tell */
	const char *boot_id, *stream, *parent; /* identity of the stream; NULL in foreign logs */
	const char *run, *exec;                /* ROIMETER_RUN and ROIMETER_EXEC, or NULL */
	struct txts argv;
	bool argv_cut;
	const char *clock; /* tsc, monotonic */

	/* Finished ones that were kept, and excludes: each in order of their end. */
	struct roi_entry *entries;
	size_t n_entries;
	struct roi_exclude *excludes;
	size_t n_excludes;

	/* Entries that were folded into counters, per log (all threads together). */
	uint64_t folded, folded_gross_ns, folded_excluded_ns, folded_excludes;
	uint64_t folded_min_ns, folded_max_ns; /* net; 0 when folded is 0 */
	uint64_t folded_bins[ROI_BINS];        /* net durations, see roi_bin() */
	uint64_t folded_largest_thread_ns;     /* net of the thread with most folded time */
	uint32_t folded_threads;               /* threads that folded */

	uint64_t begun;     /* outermost BEGINs, finished or not, less lost_ends */
	uint64_t open;      /* begun and never ended */
	uint64_t lost_ends; /* a BEGIN stands where an END had to be: neither entry nor time */
	uint64_t overflow;  /* entries lost: no room */
	const char *overflow_cause; /* sentence, or NULL */
	uint64_t unmatched_end;
	uint64_t unmatched_exclude, unmatched_phase;
	bool exclude_open; /* an exclude was open when the log ended, inside an open entry */

	int64_t first_begin_ns, last_end_ns;     /* monotonic; ROI_UNKNOWN when there is none */
	int64_t first_begin_real, last_end_real; /* CLOCK_REALTIME */

	bool has_steps; /* the log can tell steps */
	uint64_t steps, step_sum_ns, step_min_ns, step_max_ns;
	uint64_t step_bins[ROI_BINS];

	struct roi_phase *phases;
	size_t n_phases;

	uint32_t threads;      /* that marked */
	uint64_t marks;        /* BEGIN, END, EXCLUDE, STEP, PHASE calls that were recorded */
	double mark_cost_ns;   /* of one, from a calibration; NAN unknown */
	double clock_error_ns; /* largest distance of the clock from the kernel's at its checks */
	const char *damage;    /* sentence when a part of the file could not be used, or NULL */

	uint64_t unmatched_step; /* STEPs outside an entry */
	/* Waits for the device that marks asked for; of these, where no device library was loaded,
	 * and where its answer was a failure. 0 in foreign logs. */
	uint64_t syncs, syncs_missing, syncs_failed;
	/* CPUs and memory nodes that the process might use at its first mark, as lists ("0-3,8"). */
	const char *cpus, *mems; /* NULL: the log does not tell */
	const char *job, *group, *world; /* of its batch job and launch; NULL: none, or not told */
};

/* Logs of one or more processes. All-zero is a valid empty list. */
struct roi_logs {
	struct arena arena;
	struct roi_log **items;
	size_t n, cap; /* cap: room in items */
};

/* A new log at the end of the list, its file name copied, every time ROI_UNKNOWN and every real
 * number NAN. NULL when out of memory. Readers that fail set logs->n back to what it was. */
struct roi_log *roilogs_add(struct roi_logs *logs, const char *file);

/* Add the processes that stand in these bytes; the format is known by its first bytes. Foreign
 * text may hold several processes one after the other. A file that is cut is read as far as it
 * goes (damage says so) if it is ours. -EINVAL: not a log, another version, not a number,
 * lines of two writers mixed; the sentence has file:line. Nothing is added on failure. */
int roilog_parse(struct roi_logs *logs, const char *file, const void *bytes, size_t n,
		 struct err *err);

/* The same for a file, "-" (standard input), or every log in a folder (in order of name; what is no
 * log is left alone). A log in a folder that can't be read is the answer, after the others were
 * read and added. */
int roilog_read(struct roi_logs *logs, const char *path, struct err *err);

void roilogs_done(struct roi_logs *logs);

#endif
