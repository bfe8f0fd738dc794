/* What marks add up to: pure functions from logs to nanoseconds. */
#ifndef CORE_ROI_H
#define CORE_ROI_H

#include "schema/roilog.h"

/* One process. Threads: the region opens with the first BEGIN and closes with the last END, so
 * entries of different threads that overlap are one. */
struct roi_process {
	uint64_t entries;                                  /* begun, also those that never ended */
	uint64_t finished;                                 /* of these, ended ones */
	uint64_t gross_ns, excluded_ns, excludes, wall_ns; /* wall = gross - excluded */
	int64_t first_begin_real, last_end_real;           /* ROI_UNKNOWN when there is none */
	bool unterminated;
	bool approximate; /* several threads folded entries: wall_ns is a lower bound */
	uint64_t overflow, unmatched_end, lost_ends;
	uint64_t entry_min_ns, entry_max_ns; /* net; 0 without a finished entry */
	uint64_t folded;
};

void roi_process_sum(const struct roi_log *log, struct roi_process *ret);

/* One job: its processes. Those without an entry do not count. */
struct roi_job {
	uint64_t processes;  /* that entered the region */
	uint64_t unfinished; /* of these, without one finished entry, or with an open one */
	uint64_t entries, excluded_ns, excludes; /* largest over processes */
	uint64_t wall_ns;      /* net time of the slowest; what an unfinished one finished counts */
	uint64_t imbalance_ns; /* slowest - fastest over those with a finished entry */
	size_t slowest;        /* index of that process */
	int64_t first_begin_real, last_end_real;
	bool unterminated, approximate;
	uint64_t overflow, unmatched_end, lost_ends, folded;
};

/* 0, or -ENOENT when nobody entered the region: then there is no ROI. */
int roi_job_sum(const struct roi_process *processes, size_t n, struct roi_job *ret);

#endif
