/* What the records of a Darshan log hold: one for each file and process, or for all processes
 * together (rank -1). Whatever the log's release, they are handed out as the newest has them; what an
 * older one did not count is -1, as Darshan itself has it where it does not know. */
#ifndef IMPORT_DARSHAN_COUNTER_H
#define IMPORT_DARSHAN_COUNTER_H

#include "core/layout.h"
#include "import/darshan_log.h"

/* How a counter of several records becomes one:
 *   SUM     added                      LAST   of the record that comes last
 *   MAX     the largest                FIRST  the earliest time above 0
 *   SIZE    that goes with the MAX of a time
 *   COMMON  the four most frequent values, their counts behind them
 *   RANK    of the process that was fastest or slowest, and VARIANCE: of one record only */
#define DARSHAN_SIZES(X, p)                                                                     \
	X(p##_0_100, SUM) X(p##_100_1K, SUM) X(p##_1K_10K, SUM) X(p##_10K_100K, SUM)            \
	X(p##_100K_1M, SUM) X(p##_1M_4M, SUM) X(p##_4M_10M, SUM) X(p##_10M_100M, SUM)           \
	X(p##_100M_1G, SUM) X(p##_1G_PLUS, SUM)

#define DARSHAN_POSIX_COUNTERS(X)                                                               \
	X(POSIX_OPENS, SUM) X(POSIX_FILENOS, SUM) X(POSIX_DUPS, SUM) X(POSIX_READS, SUM)        \
	X(POSIX_WRITES, SUM) X(POSIX_SEEKS, SUM) X(POSIX_STATS, SUM) X(POSIX_MMAPS, SUM)        \
	X(POSIX_FSYNCS, SUM) X(POSIX_FDSYNCS, SUM) X(POSIX_RENAME_SOURCES, SUM)                 \
	X(POSIX_RENAME_TARGETS, SUM) X(POSIX_RENAMED_FROM, LAST) X(POSIX_MODE, LAST)            \
	X(POSIX_BYTES_READ, SUM) X(POSIX_BYTES_WRITTEN, SUM) X(POSIX_MAX_BYTE_READ, MAX)        \
	X(POSIX_MAX_BYTE_WRITTEN, MAX) X(POSIX_CONSEC_READS, SUM) X(POSIX_CONSEC_WRITES, SUM)   \
	X(POSIX_SEQ_READS, SUM) X(POSIX_SEQ_WRITES, SUM) X(POSIX_RW_SWITCHES, SUM)              \
	X(POSIX_MEM_NOT_ALIGNED, SUM) X(POSIX_MEM_ALIGNMENT, LAST)                              \
	X(POSIX_FILE_NOT_ALIGNED, SUM) X(POSIX_FILE_ALIGNMENT, LAST)                            \
	X(POSIX_MAX_READ_TIME_SIZE, SIZE) X(POSIX_MAX_WRITE_TIME_SIZE, SIZE)                    \
	DARSHAN_SIZES(X, POSIX_SIZE_READ)                                                       \
	DARSHAN_SIZES(X, POSIX_SIZE_WRITE)                                                      \
	X(POSIX_STRIDE1_STRIDE, COMMON) X(POSIX_STRIDE2_STRIDE, COMMON)                         \
	X(POSIX_STRIDE3_STRIDE, COMMON) X(POSIX_STRIDE4_STRIDE, COMMON)                         \
	X(POSIX_STRIDE1_COUNT, COMMON) X(POSIX_STRIDE2_COUNT, COMMON)                           \
	X(POSIX_STRIDE3_COUNT, COMMON) X(POSIX_STRIDE4_COUNT, COMMON)                           \
	X(POSIX_ACCESS1_ACCESS, COMMON) X(POSIX_ACCESS2_ACCESS, COMMON)                         \
	X(POSIX_ACCESS3_ACCESS, COMMON) X(POSIX_ACCESS4_ACCESS, COMMON)                         \
	X(POSIX_ACCESS1_COUNT, COMMON) X(POSIX_ACCESS2_COUNT, COMMON)                           \
	X(POSIX_ACCESS3_COUNT, COMMON) X(POSIX_ACCESS4_COUNT, COMMON)                           \
	X(POSIX_FASTEST_RANK, RANK) X(POSIX_FASTEST_RANK_BYTES, RANK)                           \
	X(POSIX_SLOWEST_RANK, RANK) X(POSIX_SLOWEST_RANK_BYTES, RANK)

#define DARSHAN_TIMES(X, p)                                                                     \
	X(p##_F_OPEN_START_TIMESTAMP, FIRST) X(p##_F_READ_START_TIMESTAMP, FIRST)               \
	X(p##_F_WRITE_START_TIMESTAMP, FIRST) X(p##_F_CLOSE_START_TIMESTAMP, FIRST)             \
	X(p##_F_OPEN_END_TIMESTAMP, MAX) X(p##_F_READ_END_TIMESTAMP, MAX)                       \
	X(p##_F_WRITE_END_TIMESTAMP, MAX) X(p##_F_CLOSE_END_TIMESTAMP, MAX)                     \
	X(p##_F_READ_TIME, SUM) X(p##_F_WRITE_TIME, SUM) X(p##_F_META_TIME, SUM)                \
	X(p##_F_MAX_READ_TIME, MAX) X(p##_F_MAX_WRITE_TIME, MAX)                                \
	X(p##_F_FASTEST_RANK_TIME, RANK) X(p##_F_SLOWEST_RANK_TIME, RANK)                       \
	X(p##_F_VARIANCE_RANK_TIME, VARIANCE) X(p##_F_VARIANCE_RANK_BYTES, VARIANCE)

#define DARSHAN_MPIIO_COUNTERS(X)                                                               \
	X(MPIIO_INDEP_OPENS, SUM) X(MPIIO_COLL_OPENS, SUM) X(MPIIO_INDEP_READS, SUM)            \
	X(MPIIO_INDEP_WRITES, SUM) X(MPIIO_COLL_READS, SUM) X(MPIIO_COLL_WRITES, SUM)           \
	X(MPIIO_SPLIT_READS, SUM) X(MPIIO_SPLIT_WRITES, SUM) X(MPIIO_NB_READS, SUM)             \
	X(MPIIO_NB_WRITES, SUM) X(MPIIO_SYNCS, SUM) X(MPIIO_HINTS, SUM) X(MPIIO_VIEWS, SUM)     \
	X(MPIIO_MODE, LAST) X(MPIIO_BYTES_READ, SUM) X(MPIIO_BYTES_WRITTEN, SUM)                \
	X(MPIIO_RW_SWITCHES, SUM) X(MPIIO_MAX_READ_TIME_SIZE, SIZE)                             \
	X(MPIIO_MAX_WRITE_TIME_SIZE, SIZE)                                                      \
	DARSHAN_SIZES(X, MPIIO_SIZE_READ_AGG)                                                   \
	DARSHAN_SIZES(X, MPIIO_SIZE_WRITE_AGG)                                                  \
	X(MPIIO_ACCESS1_ACCESS, COMMON) X(MPIIO_ACCESS2_ACCESS, COMMON)                         \
	X(MPIIO_ACCESS3_ACCESS, COMMON) X(MPIIO_ACCESS4_ACCESS, COMMON)                         \
	X(MPIIO_ACCESS1_COUNT, COMMON) X(MPIIO_ACCESS2_COUNT, COMMON)                           \
	X(MPIIO_ACCESS3_COUNT, COMMON) X(MPIIO_ACCESS4_COUNT, COMMON)                           \
	X(MPIIO_FASTEST_RANK, RANK) X(MPIIO_FASTEST_RANK_BYTES, RANK)                           \
	X(MPIIO_SLOWEST_RANK, RANK) X(MPIIO_SLOWEST_RANK_BYTES, RANK)

#define DARSHAN_STDIO_COUNTERS(X)                                                               \
	X(STDIO_OPENS, SUM) X(STDIO_FDOPENS, SUM) X(STDIO_READS, SUM) X(STDIO_WRITES, SUM)      \
	X(STDIO_SEEKS, SUM) X(STDIO_FLUSHES, SUM) X(STDIO_BYTES_WRITTEN, SUM)                   \
	X(STDIO_BYTES_READ, SUM) X(STDIO_MAX_BYTE_READ, MAX) X(STDIO_MAX_BYTE_WRITTEN, MAX)     \
	X(STDIO_FASTEST_RANK, RANK) X(STDIO_FASTEST_RANK_BYTES, RANK)                           \
	X(STDIO_SLOWEST_RANK, RANK) X(STDIO_SLOWEST_RANK_BYTES, RANK)

#define DARSHAN_STDIO_TIMES(X)                                                                  \
	X(STDIO_F_META_TIME, SUM) X(STDIO_F_WRITE_TIME, SUM) X(STDIO_F_READ_TIME, SUM)          \
	X(STDIO_F_OPEN_START_TIMESTAMP, FIRST) X(STDIO_F_CLOSE_START_TIMESTAMP, FIRST)          \
	X(STDIO_F_WRITE_START_TIMESTAMP, FIRST) X(STDIO_F_READ_START_TIMESTAMP, FIRST)          \
	X(STDIO_F_OPEN_END_TIMESTAMP, MAX) X(STDIO_F_CLOSE_END_TIMESTAMP, MAX)                  \
	X(STDIO_F_WRITE_END_TIMESTAMP, MAX) X(STDIO_F_READ_END_TIMESTAMP, MAX)                  \
	X(STDIO_F_FASTEST_RANK_TIME, RANK) X(STDIO_F_SLOWEST_RANK_TIME, RANK)                   \
	X(STDIO_F_VARIANCE_RANK_TIME, VARIANCE) X(STDIO_F_VARIANCE_RANK_BYTES, VARIANCE)

#define DARSHAN_COUNTER_ENUM(name, rule) name,
enum darshan_posix_counter { DARSHAN_POSIX_COUNTERS(DARSHAN_COUNTER_ENUM) POSIX_COUNTERS };
enum darshan_posix_time { DARSHAN_TIMES(DARSHAN_COUNTER_ENUM, POSIX) POSIX_TIMES };
enum darshan_mpiio_counter { DARSHAN_MPIIO_COUNTERS(DARSHAN_COUNTER_ENUM) MPIIO_COUNTERS };
enum darshan_mpiio_time { DARSHAN_TIMES(DARSHAN_COUNTER_ENUM, MPIIO) MPIIO_TIMES };
enum darshan_stdio_counter { DARSHAN_STDIO_COUNTERS(DARSHAN_COUNTER_ENUM) STDIO_COUNTERS };
enum darshan_stdio_time { DARSHAN_STDIO_TIMES(DARSHAN_COUNTER_ENUM) STDIO_TIMES };

#define DARSHAN_COUNTERS_MAX 69
#define DARSHAN_TIMES_MAX 17
#define DARSHAN_SIZE_BINS 10

enum darshan_rule { SUM, MAX, LAST, FIRST, SIZE, COMMON, RANK, VARIANCE };

struct darshan_counter {
	const char *name;
	enum darshan_rule rule;
};

/* Of one of the three modules that have counters: POSIX, MPI-IO, STDIO. */
struct darshan_counters {
	const struct darshan_counter *whole, *times;
	size_t n_whole, n_times;
};
const struct darshan_counters *darshan_counters_of(enum darshan_module m); /* NULL: none */

struct darshan_record {
	uint64_t id; /* of the file's name */
	int64_t rank; /* -1: all processes together */
	int64_t whole[DARSHAN_COUNTERS_MAX];
	double times[DARSHAN_TIMES_MAX];
};

struct darshan_records;
/* -EINVAL also for a version of the module that is not known. */
int darshan_records_open(struct darshan_records **ret, struct darshan_log *log,
			 enum darshan_module m, struct err *err);
int darshan_records_next(struct darshan_records *r, struct darshan_record *ret,
			 struct err *err); /* 1; 0: no more */
void darshan_records_close(struct darshan_records *r);

/* ---- DXT: each access by itself ---------------------------------------------------------------- */

struct darshan_dxt_file {
	uint64_t id;
	int64_t rank;
	char host[65];
	uint64_t writes, reads; /* segments that follow: all writes, then all reads */
};

struct darshan_segment {
	bool write;
	int64_t offset; /* -1: the log has none */
	int64_t bytes;
	double begin_s, end_s; /* since the start of the job */
	uint64_t thread;       /* 0: the log has none */
};

struct darshan_dxt;
int darshan_dxt_open(struct darshan_dxt **ret, struct darshan_log *log, enum darshan_module m,
		     struct err *err);
/* 1; 0: no more. Segments of the last one that were not taken are left out. */
int darshan_dxt_file(struct darshan_dxt *d, struct darshan_dxt_file *ret, struct err *err);
int darshan_dxt_segment(struct darshan_dxt *d, struct darshan_segment *ret, struct err *err);
void darshan_dxt_close(struct darshan_dxt *d);

/* ---- HEATMAP: bytes over time, of each interface and process ------------------------------------ */

struct darshan_heat {
	uint64_t id; /* of a name: heatmap:POSIX, ... */
	int64_t rank;
	double bin_s;
	size_t bins;
	const int64_t *write, *read; /* bytes in each bin; lent until the next */
};

struct darshan_heats;
int darshan_heats_open(struct darshan_heats **ret, struct darshan_log *log, struct err *err);
int darshan_heats_next(struct darshan_heats *h, struct darshan_heat *ret, struct err *err);
void darshan_heats_close(struct darshan_heats *h);

/* ---- LUSTRE: how files lie ---------------------------------------------------------------------- */

struct darshan_stripes {
	uint64_t id;
	struct layout layout;
};

struct darshan_lustre;
int darshan_lustre_open(struct darshan_lustre **ret, struct darshan_log *log, struct err *err);
int darshan_lustre_next(struct darshan_lustre *l, struct darshan_stripes *ret, struct err *err);
void darshan_lustre_close(struct darshan_lustre *l);

#endif
