/* The native mark log, one mapped file per process: layout, and its reader.
 *
 * A header, then streams of equal size, one for each thread that marks at the same time. A stream
 * is a block of counters, a ring of entry records, a ring of exclude records. All numbers are
 * little endian. Nothing is ever half true: whatever is written is published by one store that
 * comes last (ready, streams, head, fold, steps, ...), so a process may be killed at any
 * instruction. Sizes stand in the header; a reader skips what a newer writer appended. */
#ifndef SCHEMA_MARKLOG_H
#define SCHEMA_MARKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "schema/field.h"
#include "schema/roilog.h"

#define MARKLOG_MAGIC "roimeter-mark-log 1\n"
#define MARKLOG_SUFFIX ".roilog"

#define MARKLOG_RECORDS 4096 /* of one stream */
#define MARKLOG_KEPT 1024    /* of these, the first ones, kept for ever; the rest is a ring */
#define MARKLOG_EXCLUDES 1024
#define MARKLOG_FOLD 256 /* records that leave the ring at once */
#define MARKLOG_PAIRS 128
#define MARKLOG_PHASES 64
#define MARKLOG_NAME_BYTES 48 /* of a phase, with its NUL */

enum marklog_text {
	MARKLOG_HOST,
	MARKLOG_EXE,
	MARKLOG_CWD,
	MARKLOG_ARGV, /* NUL between arguments */
	MARKLOG_RANK,
	MARKLOG_RUN,
	MARKLOG_EXEC,
	MARKLOG_BOOT_ID,
	MARKLOG_STREAM, /* name of this log: boot-pid-start.generation */
	MARKLOG_PARENT, /* that of the process it was forked from, or was before exec */
	MARKLOG_CPUS,   /* list of the CPUs it may run on, at its first mark */
	MARKLOG_MEMS,   /* and of the memory nodes it may use */
	MARKLOG_JOB,    /* slurm:1234, pbs:12.host, flux:f2x */
	MARKLOG_GROUP,  /* the same for all processes of one launch */
	MARKLOG_WORLD,  /* how many processes that launch has, as its launcher says */
	MARKLOG_TEXTS = 16,
};

enum marklog_clock { MARKLOG_MONOTONIC, MARKLOG_TSC, MARKLOG_CNTVCT };

/* What the tick counter and the kernel's clocks said at one moment. */
struct marklog_pair {
	uint64_t tick;
	int64_t mono_ns, real_ns;
	uint64_t window; /* ticks within which the kernel was asked: twice the doubt */
};

struct marklog_span {
	uint32_t offset, bytes; /* from the start of the file; 0, 0: not known */
};

struct marklog_header {
	char magic[24];
	uint32_t header_bytes; /* the first stream begins here */
	uint32_t stream_bytes;
	uint32_t block_bytes; /* of a stream; its entry records follow, then its excludes */
	uint32_t record_bytes, records, kept;
	uint32_t exclude_bytes, excludes;
	uint32_t phase_count, name_bytes;
	uint32_t pair_count;
	uint32_t clock;
	uint32_t pid, ppid;
	uint32_t generation; /* how often this process went through exec before */
	uint32_t argv_cut;
	struct marklog_span texts[MARKLOG_TEXTS];

	uint32_t ready;          /* 1 when all above is written */
	uint32_t streams;        /* how many follow */
	uint32_t exited;         /* 1 when the process came to its exit handlers */
	uint32_t overflow_errno; /* why entries were lost */
	uint64_t api;            /* in the process itself: where its marker library is */
	uint64_t mark_ticks;     /* cost of 16 marks, measured at the start */
	uint64_t overflow;       /* entries lost */
	uint64_t unmatched_end, unmatched_exclude, unmatched_phase, unmatched_step;
	uint64_t syncs, syncs_missing, syncs_failed;

	uint32_t pairs;  /* in use */
	uint32_t latest; /* 0: none, else last[latest - 1] */
	struct marklog_pair last[2];
	struct marklog_pair pair[MARKLOG_PAIRS];

	uint32_t phases; /* names in use */
	uint32_t unused;
	char phase[MARKLOG_PHASES][MARKLOG_NAME_BYTES];
};

struct marklog_record {
	uint64_t begin, end, excluded; /* ticks */
	uint32_t excludes;
	uint32_t check; /* low bits of its index, plus 1 */
};

struct marklog_exclude {
	uint64_t begin, end;
};

struct marklog_fold {
	uint64_t count, gross, excluded, excludes;
	uint64_t min, max;       /* net ticks */
	uint64_t first, last;    /* tick of the first begin and the last end */
	uint64_t bins[ROI_BINS]; /* net ns */
};

struct marklog_sum {
	uint64_t total, min, max; /* ticks */
};

struct marklog_phase {
	uint64_t count; /* the sum is side[count % 2] */
	struct marklog_sum side[2];
};

struct marklog_stream {
	uint64_t begun;      /* outermost BEGINs */
	uint64_t head;       /* of these, finished and recorded; begun = head + 1 is an open one */
	uint64_t open_begin; /* of the open one */
	uint64_t exclude_begin; /* of an open exclude in it, else 0 */
	uint64_t exclude_head;
	uint64_t tenants; /* threads that wrote here one after the other */
	uint32_t shared;  /* 1: for all threads of the process, since END came on another thread */
	uint32_t fold;    /* folds[fold] is true */
	uint64_t unused;
	struct marklog_fold folds[2];
	uint64_t steps; /* the sum is step[steps % 2] */
	struct marklog_sum step[2];
	uint64_t step_bins[ROI_BINS]; /* may be one ahead of steps */
	struct marklog_phase phases[MARKLOG_PHASES];
};

#define MARKLOG_BLOCK_BYTES 8192
#define MARKLOG_FIXED_BYTES 8192 /* of the header, before its texts */
#define MARKLOG_STREAM_BYTES                                                                       \
	(MARKLOG_BLOCK_BYTES + MARKLOG_RECORDS * sizeof(struct marklog_record) +                   \
	 MARKLOG_EXCLUDES * sizeof(struct marklog_exclude))

/* Do these bytes begin like one of these logs, of whatever version? */
bool marklog_is(const void *bytes, size_t n);

/* Add the process whose log this is. A log that is cut is read as far as it goes and says so in
 * damage. -EINVAL: another version, or no log. */
int marklog_parse(struct roi_logs *logs, const char *file, const void *bytes, size_t n,
		  struct err *err);

/* ---- losses: what processes say that could not make their log ------------------------------- */

#define MARKLOG_LOSSES "losses"         /* file in the folder of the logs, made by the runner */
#define MARKLOG_UNATTACHED "unattached" /* text: lines of processes without a marker library */
#define MARKLOG_RANGES "ranges"         /* text: names of ranges that are not the region */
#define MARKLOG_LOSSES_MAGIC "roimeter-losses 1\n"
#define MARKLOG_LOSS_SLOTS 255
#define MARKLOG_LOSS_LINK ".loss." /* and a process id: a link whose target is the sentence */

enum { MARKLOG_LOSS_SAID = 1, MARKLOG_LOSS_WITHDRAWN = 2 };
#define MARKLOG_ENTRIES_UNKNOWN UINT64_MAX

/* 256 bytes each. The first slot's place is the header's. */
struct marklog_loss {
	uint32_t used; /* MARKLOG_LOSS_SAID when the rest is written; entries goes on growing */
	uint32_t pid;
	int32_t error; /* errno */
	uint32_t unused;
	uint64_t entries; /* lost so far, or MARKLOG_ENTRIES_UNKNOWN */
	char what[232];   /* "make the log /x/y", NUL at the end */
};

struct marklog_losses {
	char magic[24];
	uint64_t next; /* slots asked for; may be more than there are */
	char unused[224];
	struct marklog_loss slots[MARKLOG_LOSS_SLOTS];
};

/* Make the file in the folder, with all its bytes reserved, before the first process starts. */
int marklog_losses_create(const char *folder, struct err *err);

/* What stands in "losses", "unattached" and the links ".loss.PID", one sentence each. A file that
 * is not there says nothing; what can't be read is a failure. The sentences live in the arena. */
int marklog_losses_read(const char *folder, struct arena *a, struct txts *ret_sentences,
			struct err *err);

#endif
