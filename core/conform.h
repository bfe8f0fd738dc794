/* Is a collector to be believed? A probe does an exactly known amount of work; here the record that
 * came of it is held against that amount, part by part: the split of the region, and harder ones.
 * Pure: nothing is started, read or written. */
#ifndef CORE_CONFORM_H
#define CORE_CONFORM_H

#include <stdbool.h>

#include "schema/conformance.h"
#include "schema/record.h"

enum {
	CONFORM_CATEGORIES = 5,
	CONFORM_SUMS = 9,        /* about files */
	CONFORM_ACCESSES = 4,    /* the first of these: what is told of a single file */
	CONFORM_GRAPH_NODES = 4, /* launches in a graph of the probes */
};

/* What the probe says that it did, in the order compute, copy_d2d, copy_h2d, copy_d2h, fill. */
extern const char *const conform_categories[CONFORM_CATEGORIES];

/* And of its calls about files: read_bytes, write_bytes, read_ops, write_ops, open_ops, ... */
extern const char *const conform_sums[CONFORM_SUMS];

struct conform_file_want {
	const char *name, *interface; /* as the record has them; "": not told */
	double inside[CONFORM_ACCESSES], whole[CONFORM_ACCESSES];
};

/* What must be seen, as the probe's processes say it. NAN: not told, and what is held against it
 * fails. */
struct conform_want {
	double inside[CONFORM_CATEGORIES], whole[CONFORM_CATEGORIES]; /* all processes together */
	double graphs;                                                /* likewise */
	double entries, excludes, steps; /* of each process; they are the same */
	double processes;
	double files_inside[CONFORM_SUMS], files_whole[CONFORM_SUMS]; /* all processes together */
	struct conform_file_want *files;
	size_t n_files;
};

void conform_want_clear(struct conform_want *w); /* all NAN */

/* How the probe's processes end in a part. */
enum conform_end {
	CONFORM_ENDS,           /* by themselves */
	CONFORM_KILLED,         /* SIGKILL in the region, some time after all work was done */
	CONFORM_KILLED_AT_ONCE, /* SIGKILL in the region: there was no time to write things down */
	CONFORM_KILLED_AFTER,   /* SIGKILL after the region, some time later */
};

struct conform_seen {
	const char *part;
	const struct record_body *record; /* of one run: clean executions and a profiled one */
	const char *collector;            /* of the profiled one; "none": there is none */
	enum conform_end end;
	bool times; /* hold the region's times against each other, too */
	/* The shortest and the longest region of all clean executions, and the shortest of all
	 * under the collector, where it was measured more than once. NAN: those of the record. */
	double clean_s, clean_most_s, profiled_s;
};

/* The checks that were made, in order; they live in the arena, with copies of what they say. */
struct conform {
	struct arena *arena;
	struct check *items;
	size_t n, cap;
	bool failed; /* out of memory */
};

/* The checks of one part. A number that is null where one must be fails. Without a collector what
 * only one can see is skipped. */
void conform_part(struct conform *c, const struct conform_seen *seen,
		  const struct conform_want *want);

/* The part's region has two times, and they differ: worth measuring again, since a busy machine
 * does that, too. */
bool conform_times_failed(const struct conform *c, const char *part);

/* A whole part was left out. */
void conform_skip(struct conform *c, const char *part, const char *why);

/* in: where the sentinel was found; NULL: nowhere. searched: in all that was written. */
void conform_sentinel(struct conform *c, bool searched, const char *in);

/* What is left of one process: its log of marks, or a collector's picture. */
struct conform_file {
	const char *name;
	const void *bytes;
	size_t n;
	bool picture;
};

/* Cuts each file of an execution at many places. What is cut must be refused, or said to be cut and
 * be a true part of the whole; a record of it must have no number of the device. 0 or -ENOMEM. */
int conform_cut(struct conform *c, const struct conform_file *files, size_t n,
		const char *collector, struct err *err);

/* Sets the checks, their counts, verdict and why. */
void conform_judge(struct conformance *ret, struct conform *c, const char *collector);

/* ---- for the files of this module ---- */

struct check *conform_add(struct conform *c, const char *part, const char *name,
			  const char *detail);
void conform_verdict(struct check *k, bool good);
/* value must be expected, +- tolerance; either unknown: fails. */
void conform_near(struct conform *c, const struct conform_seen *seen, const char *name,
		  const char *unit, double value, double expected, double tolerance,
		  const char *detail);
/* The same for n numbers that were seen, by name; of who was killed at once not more than there
 * were. */
void conform_counts(struct conform *c, const struct conform_seen *seen, const double *got,
		    const double *want, const char *const *names, size_t n, const char *detail);
void conform_skipped(struct conform *c, const struct conform_seen *seen, const char *name);
bool conform_is(const struct conform_seen *seen, const char *collector);
void conform_operations(struct conform *c, const struct conform_seen *seen,
			const struct conform_want *want);
void conform_files(struct conform *c, const struct conform_seen *seen,
		   const struct conform_want *want);
void conform_killed(struct conform *c, const struct conform_seen *seen,
		    const struct conform_want *want);
/* The execution that the part is about: the one under the collector, or the last clean one. */
const struct execution *conform_execution(const struct conform_seen *seen);
bool conform_said(const struct record_body *r, const char *code); /* has it this caveat? */

#endif
