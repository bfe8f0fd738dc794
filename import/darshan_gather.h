/* What a log tells, put together by file and by interface, in bounded memory: files beyond a ceiling
 * are in the sums only. */
#ifndef IMPORT_DARSHAN_GATHER_H
#define IMPORT_DARSHAN_GATHER_H

#include "import/darshan_total.h"

enum { FROM_POSIX, FROM_MPIIO, FROM_STDIO, DARSHAN_SOURCES };

#define DARSHAN_FILES_KEPT ((size_t)1 << 15)
#define DARSHAN_FILES_LISTED 1000
#define DARSHAN_SIZE_POWERS 66
#define DARSHAN_RANKS_APART 64 /* jobs of so many processes have bytes over time of each */

/* The processes that have a record of a file: their number, and a sum over them that is the same for
 * the same set. */
struct darshan_ranks {
	int64_t n;
	uint64_t set;
	bool all;
};

/* Sizes of accesses by powers of two, as the record has them. */
struct darshan_powers {
	uint64_t n[DARSHAN_SIZE_POWERS];
};

struct darshan_file {
	uint64_t id;
	const char *name; /* NULL: not known */
	struct darshan_total *of[DARSHAN_SOURCES]; /* NULL: no record */
	struct darshan_ranks ranks[DARSHAN_SOURCES];
	bool has_stripes;
	struct darshan_stripes stripes;
	struct darshan_powers *seen[2]; /* by DXT, at the highest level: reads, writes; NULL: none */
};

/* Bytes over time. */
struct darshan_series {
	double bin_s;
	size_t bins; /* 0: there is none */
	double *read, *write;
};

struct darshan_gathered {
	struct darshan_log *log;
	struct arena arena;
	struct darshan_ids ids, mpiio_ids;
	struct darshan_file *files; /* in the order of their first records */
	size_t n_files, cap_files;
	uint32_t *slots; /* 1 + file */
	size_t n_slots;
	/* Sums: MPI-IO, STDIO, and POSIX of files that MPI-IO has no record of, and of the others. */
	struct darshan_total mpiio, stdio, posix_own, posix_within;
	uint64_t heat_ids[DARSHAN_SOURCES];
	bool has_heat_id[DARSHAN_SOURCES];
	struct darshan_series series[DARSHAN_SOURCES];
	struct darshan_series *by_rank[DARSHAN_SOURCES]; /* of HEATMAP; NULL: too many processes */
	bool series_from_dxt;
	uint64_t impossible_times;   /* records with a time below 0, or that is no number */
	bool lost[DARSHAN_MODULES];  /* damaged, and left out */
	const char *damage;          /* what was: sentences; NULL */
	size_t n_damaged;
	struct darshan_file **listed; /* most bytes first */
	size_t n_listed;
};

/* All of the log. salvage: what is damaged is left out and told. -EINVAL: something is damaged and that
 * was not wanted, or nothing is left. */
int darshan_gather(struct darshan_gathered *g, struct darshan_log *log, bool salvage,
		   struct err *err);
void darshan_gather_done(struct darshan_gathered *g);

/* darshan_series.c: bytes over time; of DXT where there is no HEATMAP and DXT is whole. The files must be
 * there. m: DARSHAN_DXT_POSIX or DARSHAN_DXT_MPIIO. */
int darshan_gather_heat(struct darshan_gathered *g, struct err *err);
void darshan_series_done(struct darshan_gathered *g);
int darshan_gather_dxt(struct darshan_gathered *g, enum darshan_module m, struct err *err);

struct darshan_file *darshan_file_found(const struct darshan_gathered *g, uint64_t id);

/* The bin of record_io.h: 0 for no byte, k for 2^(k-1) to 2^k - 1. */
size_t darshan_power(int64_t bytes);

/* Bytes that the program itself asked for. */
double darshan_file_bytes(const struct darshan_file *f);

#endif
