/* What an agent posts to the daemon's /api/v1/ingest: batches, one or more back to back in a body.
 * A batch is a head in the clear that says who numbered it, and frames, compressed as one block.
 * docs/wire.md has the bytes.
 *
 * What a batch may ask of its reader is bounded before a byte is unpacked. A damaged batch is
 * refused as a whole; a frame of a kind that is not known here, and what a newer writer appended
 * to a frame that is, are stepped over and counted.
 *
 * A batch is known by (agent, spool, seq), and its sum: the same key with the same sum is the same
 * batch, sent twice; with another sum it is a fault (a spool that was copied or put back), and
 * never stored over the first. Numbers go on over boots, so that a ledger of (agent, spool) has no
 * holes but those that gap frames tell of. */
#ifndef SCHEMA_BATCH_H
#define SCHEMA_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/str.h"
#include "schema/record.h"

#define BATCH_MAGIC "roibatch"
#define BATCH_VERSION 1
#define BATCH_TYPE "application/vnd.roimeter.batch" /* Content-Type of a body of batches */

#define BATCH_HEAD_BYTES 32u        /* before the sender */
#define BATCH_MAX_SENDER 4096u      /* bytes */
#define BATCH_MAX_PACKED (8u << 20) /* as sent */
#define BATCH_MAX_PLAIN (32u << 20) /* unpacked; a reader may ask for less */
#define BATCH_MAX_FRAMES 65536u
#define BATCH_MAX_ITEMS 65536u /* of a list in a frame */
#define BATCH_CHUNK (1u << 20) /* a log that is longer goes in pieces of this size */

/* Every list: F(type, name, unit, meaning), append only, nothing is moved or used again.
 *   u64    a number that is always known. Only in version 1: what is appended can be null
 *   i64    a time or a number that may be unknown: ROI_UNKNOWN (INT64_MIN)
 *   num    a double with 15 digits, NAN unknown
 *   ter    enum ternary
 *   txt    struct str, UTF-8; p NULL unknown. What is not UTF-8 is written with U+FFFD
 *   bin    struct str, any bytes
 *   txts   struct str: packed texts, see batch_text_put and batch_text_next
 *   pairs  struct str: packed names with numbers, see batch_pair_put and batch_pair_next
 * Times called real are CLOCK_REALTIME, mono are CLOCK_MONOTONIC of the sender's node. */

#define BATCH_SENDER_FIELDS(F)                                                                     \
	F(txt, agent, "", "id of the agent: stays the same over restarts")                         \
	F(txt, spool, "", "whose numbering seq is: spool_id(), new for a new spool folder")        \
	F(u64, seq, "1", "this batch: 1, 2, 3, ... without holes, over restarts and boots")        \
	F(i64, from_real_ns, "ns", "the earliest time that a frame speaks of")                     \
	F(i64, to_real_ns, "ns", "the latest")                                                     \
	F(txt, boot, "", "boot id of the node: where its monotonic clock began")                   \
	F(txt, host, "", "node")                                                                   \
	F(txt, tool, "", "program and version")

/* A run is announced by its runner, to the agent of its node. */
#define FRAME_RUN_ANNOUNCE_FIELDS(F)                                                               \
	F(txt, run, "", "run id")                                                                  \
	F(txt, suite, "", "as in the record")                                                      \
	F(txt, app, "", "as in the record")                                                        \
	F(txt, case_, "", "as in the record")                                                      \
	F(txt, platform, "", "as in the record")                                                   \
	F(txt, kind, "", "measured or ambient")                                                    \
	F(i64, real_ns, "ns", "when it was announced")                                             \
	F(txts, executions, "", "names, in the order they are to run: warmup.0, clean.0")          \
	F(num, ranks, "1", "processes expected in each execution")                                 \
	F(num, expected_s, "s", "duration of one execution, from earlier runs")                    \
	F(num, timeout_s, "s", "limit of one execution")                                           \
	F(txt, user, "", "who runs it")                                                            \
	F(txt, job, "", "slurm:1234, pbs:12.host, flux:f2x")                                       \
	F(bin, record, "",                                                                         \
	  "record_put: identity, measurement, inputs and all that assemble() wants set")           \
	F(num, steps, "1", "of one execution, from earlier runs: how far one is")                  \
	F(i64, uid, "", "who announced it, as the agent's socket says: the run is theirs")

#define FRAME_EXECUTION_START_FIELDS(F)                                                            \
	F(txt, run, "", "run id")                                                                  \
	F(txt, exec, "", "clean.0")                                                                \
	F(u64, order, "1", "place in the order of all of them")                                    \
	F(i64, real_ns, "ns", "when")                                                              \
	F(i64, uid, "", "who says so, as the agent's socket tells")

/* struct observed (core/assemble.h) but for the logs, which come in process frames. */
#define FRAME_EXECUTION_END_FIELDS(F)                                                              \
	F(txt, run, "", "run id")                                                                  \
	F(txt, exec, "", "clean.0")                                                                \
	F(u64, end, "", "enum end")                                                                \
	F(i64, start_real_ns, "ns", "around the command")                                          \
	F(i64, end_real_ns, "ns", "around the command")                                            \
	F(bin, row, "", "struct execution: block_put, block_get (schema/codec.h)")                 \
	F(u64, fom_status, "", "enum metric_status")                                               \
	F(num, fom, "", "figure of merit")                                                         \
	F(u64, own_timer_status, "", "enum metric_status")                                         \
	F(num, own_timer_s, "s", "the application's own timer")                                    \
	F(ter, timer, "", "yes: the region is a timer, and what follows is its result")            \
	F(i64, timer_rc, "", "0, or a negative errno of Linux")                                    \
	F(txt, timer_why, "", "where rc is not 0")                                                 \
	F(num, timer_wall_s, "s", "struct timer_result")                                           \
	F(num, timer_steps, "1", "struct timer_result")                                            \
	F(num, timer_excluded_s, "s", "struct timer_result")                                       \
	F(num, timer_setup_s, "s", "struct timer_result")                                          \
	F(pairs, timer_parts, "s", "struct timer_result")                                          \
	F(txts, notes, "", "sentences about marks that could not be taken")                        \
	F(num, processes, "1", "that left a log, as far as the runner knows")                      \
	F(i64, uid, "", "who says so, as the agent's socket tells")

/* The mark log of one process, as of one moment, whole or in pieces. A higher snapshot of the same
 * stream takes the place of a lower one once all its pieces are there (data covers 0..size). */
#define FRAME_PROCESS_FIELDS(F)                                                                    \
	F(txt, stream, "", "boot-pid-start.generation: names the process for ever")                \
	F(txt, run, "", "run id; null: none that is known")                                        \
	F(txt, exec, "", "clean.0")                                                                \
	F(txt, file, "", "name of the log, without its folder")                                    \
	F(u64, snapshot, "1", "counts up for each look at the log")                                \
	F(u64, size, "B", "of the log at that look")                                               \
	F(u64, offset, "B", "where data belongs")                                                  \
	F(bin, data, "", "the log's own bytes")                                                    \
	F(ter, final, "", "the process is gone: nothing will follow")                              \
	F(i64, real_ns, "ns", "when it was looked at")                                             \
	F(txt, host, "", "node")                                                                   \
	F(i64, pid, "", "on the node")                                                             \
	F(i64, uid, "", "of its user")                                                             \
	F(txt, rank, "", "among those of the execution")                                           \
	F(txt, cpus, "", "CPU set, for struct observed")                                           \
	F(num, threads, "1", "most seen, for struct observed")                                     \
	F(ter, killed, "", "it left without coming to its exit handlers")                          \
	F(txt, job, "", "as in run_announce")                                                      \
	F(txt, cgroup, "", "path in the unified hierarchy")                                        \
	F(txt, container, "", "id")                                                                \
	F(num, agent_cpu_s, "s", "CPU time of the agent for this process")                         \
	F(num, wakeups, "1", "of the agent for this process")                                      \
	F(num, bytes, "B", "read for this process")                                                \
	F(txt, group, "",                                                                          \
	  "processes of one launch have the same: job step, or id of the launcher; null: alone")   \
	F(num, world, "1", "processes of that launch, as its launcher said")

/* Closes a run: what is not there by now was not seen by its runner. */
#define FRAME_RUN_END_FIELDS(F)                                                                    \
	F(txt, run, "", "run id")                                                                  \
	F(ter, complete, "", "no: it was interrupted")                                             \
	F(i64, real_ns, "ns", "when")                                                              \
	F(num, runner_cpu_s, "s", "CPU time of the runner while executions ran")                   \
	F(num, log_bytes, "B", "size of the region logs")                                          \
	F(num, wakeups, "1", "of the runner")                                                      \
	F(bin, record, "", "record_put, in the place of that of run_announce; null: the same")     \
	F(i64, uid, "", "who says so, as the agent's socket tells")

/* Counters of the node, or of one cgroup or process on it. */
#define FRAME_CONTEXT_FIELDS(F)                                                                    \
	F(i64, real_ns, "ns", "when")                                                              \
	F(i64, mono_ns, "ns", "when")                                                              \
	F(txt, scope, "", "node, cgroup:PATH, process:STREAM, job:ID")                             \
	F(txt, run, "", "the run that it is about, where one was open")                            \
	F(txt, exec, "", "clean.0")                                                                \
	F(pairs, values, "",                                                                       \
	  "name with its unit at the end, and value; unknown where it can't be seen")

/* Something was lost that never had a sequence number: it is nowhere. */
#define FRAME_LOSS_FIELDS(F)                                                                       \
	F(txt, what, "", "marks, context, process, run, agent, picture")                                    \
	F(u64, count, "1", "how many, all together since the agent's spool began")                 \
	F(u64, bytes, "B", "likewise")                                                             \
	F(txt, why, "", "spool_full, disk_full, disk_fault, unreadable, no_memory, refused")       \
	F(i64, from_real_ns, "ns", "the first of them")                                            \
	F(i64, to_real_ns, "ns", "the last of them")                                               \
	F(txt, run, "", "where it is known")                                                       \
	F(txt, exec, "", "where it is known")                                                      \
	F(txt, text, "", "a sentence")

/* Batches that had a number and will never come. Travels in a batch whose seq is last_seq, so that
 * it is acknowledged like any other. What has come all the same is not lost. */
#define FRAME_GAP_FIELDS(F)                                                                        \
	F(u64, first_seq, "1", "the first that is missing")                                        \
	F(u64, last_seq, "1", "the last")                                                          \
	F(txt, what, "", "context, marks, or null where it is not known")                          \
	F(txt, why, "", "spool_full, damaged, refused")                                            \
	F(i64, from_real_ns, "ns", "of the last batch before")                                     \
	F(i64, to_real_ns, "ns", "of the first batch after")

/* The agent about itself, now and then. */
#define FRAME_AGENT_FIELDS(F)                                                                      \
	F(i64, real_ns, "ns", "when")                                                              \
	F(num, cpu_s, "s", "since its start")                                                      \
	F(num, wakeups, "1", "since its start")                                                    \
	F(num, rss_bytes, "B", "memory")                                                           \
	F(num, spool_bytes, "B", "held on disk")                                                   \
	F(num, spool_max_bytes, "B", "at most")                                                    \
	F(u64, next_seq, "1", "the number after the newest batch")                                 \
	F(u64, processes, "1", "followed now")                                                     \
	F(i64, start_real_ns, "ns", "of the agent")                                                \
	F(pairs, more, "", "other numbers about itself")

/* The machine that the sender is on; once after each start, and when something is another. */
#define FRAME_NODE_FIELDS(F)                                                                       \
	F(i64, real_ns, "ns", "when")                                                              \
	F(txt, host, "", "node")                                                                   \
	F(txt, boot, "", "boot id")                                                                \
	F(txt, platform, "", "vendor-product.runtime")                                             \
	F(bin, info, "", "struct platform_info: block_put (schema/codec.h)")

/* The inputs that a suite declares, so that a report shows also those that were never measured. Of
 * a suite the list that is newer counts; cases holds app, case and title (or null) of each. */
#define FRAME_DECLARE_FIELDS(F)                                                                    \
	F(txt, suite, "", "as in the record")                                                      \
	F(i64, real_ns, "ns", "when; not later than the agent's clock")                            \
	F(i64, uid, "", "who says so, as the agent's socket tells")                                \
	F(txts, cases, "", "app, case, title; app, case, title; in the suite's order")
#define DECLARE_MAX_TITLE 1024u /* bytes; a longer one is left out */
#define DECLARE_MAX_CASES (BATCH_MAX_ITEMS / 3)

/* The picture that a collector left of one process (schema/picture.h), as of one moment, whole or
 * in pieces, as logs are. Known by run, execution and file. */
#define FRAME_PICTURE_FIELDS(F)                                                                    \
	F(txt, run, "", "run id")                                                                  \
	F(txt, exec, "", "profiled.cupti")                                                         \
	F(txt, stream, "", "of the process's mark log; null: not known")                           \
	F(txt, file, "", "name of the picture, without its folder")                                \
	F(u64, snapshot, "1", "counts up for each look at it")                                     \
	F(u64, size, "B", "of the picture at that look")                                           \
	F(u64, offset, "B", "where data belongs")                                                  \
	F(bin, data, "", "the picture's own bytes")                                                \
	F(ter, final, "", "the process is gone: nothing will follow")                              \
	F(i64, real_ns, "ns", "when it was looked at")                                             \
	F(txt, host, "", "node")                                                                   \
	F(i64, pid, "", "on the node")                                                             \
	F(i64, uid, "", "of its user, as the agent's socket tells")

/* What a conformance test found. Known by platform, collector and time of the result. */
#define FRAME_CONFORMANCE_FIELDS(F)                                                                \
	F(i64, real_ns, "ns", "when; not later than the agent's clock")                            \
	F(txt, host, "", "node")                                                                   \
	F(i64, uid, "", "who says so, as the agent's socket tells")                                \
	F(bin, result, "", "struct conformance: conformance_put (schema/conformance.h)")

/* The number of a kind is for ever. */
#define BATCH_FRAMES(X)                                                                            \
	X(1, run_announce, RUN_ANNOUNCE)                                                           \
	X(2, execution_start, EXECUTION_START)                                                     \
	X(3, execution_end, EXECUTION_END)                                                         \
	X(4, process, PROCESS)                                                                     \
	X(5, run_end, RUN_END)                                                                     \
	X(6, context, CONTEXT)                                                                     \
	X(7, loss, LOSS)                                                                           \
	X(8, gap, GAP)                                                                             \
	X(9, agent, AGENT)                                                                         \
	X(10, node, NODE)                                                                          \
	X(11, declare, DECLARE)                                                                    \
	X(12, picture, PICTURE)                                                                    \
	X(13, conformance, CONFORMANCE)

#define BATCH_CTYPE_u64 uint64_t
#define BATCH_CTYPE_i64 int64_t
#define BATCH_CTYPE_num double
#define BATCH_CTYPE_ter signed char
#define BATCH_CTYPE_txt struct str
#define BATCH_CTYPE_bin struct str
#define BATCH_CTYPE_txts struct str
#define BATCH_CTYPE_pairs struct str
#define BATCH_MEMBER(type, name, unit, meaning) BATCH_CTYPE_##type name;

struct batch_sender {
	BATCH_SENDER_FIELDS(BATCH_MEMBER)
};

/* struct frame_process, ... and FRAME_PROCESS, ... */
#define BATCH_STRUCT(number, kind, KIND)                                                           \
	struct frame_##kind {                                                                      \
		FRAME_##KIND##_FIELDS(BATCH_MEMBER)                                                \
	};
BATCH_FRAMES(BATCH_STRUCT)

#define BATCH_NUMBER(number, kind, KIND) FRAME_##KIND = number,
enum frame_type { BATCH_FRAMES(BATCH_NUMBER) FRAME_TYPES };

#define BATCH_UNION(number, kind, KIND) struct frame_##kind kind;
struct frame {
	enum frame_type type;
	union {
		BATCH_FRAMES(BATCH_UNION)
	} as;
};

/* Everything unknown (u64: 0). What is not set is not known. */
void batch_sender_clear(struct batch_sender *s);
void frame_clear(struct frame *f, enum frame_type type);
const char *frame_name(enum frame_type type); /* "process"; NULL: no such type */

/* ---- lists in frames ------------------------------------------------------------------------ */

/* Packed lists are built in a buf, and lent to the frame as batch_list(buf). */
void batch_text_put(struct buf *b, struct str text);
void batch_pair_put(struct buf *b, struct str name, double value);
static inline struct str batch_list(const struct buf *b)
{
	return (struct str){ .p = b->data, .n = b->len };
}

/* Take the next item off; false at the end. A list of a frame that was read is whole. */
bool batch_text_next(struct str *list, struct str *ret_text);
bool batch_pair_next(struct str *list, struct str *ret_name, double *ret_value);

/* ---- out ------------------------------------------------------------------------------------ */

struct ZSTD_CCtx_s;

/* All-zero is valid and empty. Kept from batch to batch, so that its memory is made once. */
struct batch_out {
	struct buf body;
	size_t frames;
	struct ZSTD_CCtx_s *zstd;
};

/* Copied. -E2BIG: the batch would be past its limits; it is as before, and a new one takes it. */
int batch_put(struct batch_out *o, const struct frame *f);

/* Append the batch to ret; o is empty afterwards, also when it fails (-ENOMEM, -E2BIG). */
int batch_end(struct batch_out *o, const struct batch_sender *sender, struct buf *ret,
	      struct err *err);
void batch_out_done(struct batch_out *o);

/* ---- in ------------------------------------------------------------------------------------- */

/* The head and the sender, lent from the bytes. */
struct batch_head {
	size_t bytes;       /* of this batch, all in all: the next one begins there */
	size_t plain_bytes; /* of its frames, unpacked */
	uint32_t frames;
	uint64_t sum; /* XXH3 over the whole batch */
	struct batch_sender sender;
	bool longer; /* the sender has fields that are not known here */
};

/* Is there a whole batch at the start of these bytes? Nothing is unpacked. -EBADMSG: damaged, cut,
 * or no batch; -EPROTONOSUPPORT: another version; -E2BIG: past the limits. */
int batch_look(struct batch_head *ret, const void *bytes, size_t n, struct err *err);

struct ZSTD_DCtx_s;

/* All-zero is valid. Kept from batch to batch. */
struct batch_in {
	struct batch_head head;
	size_t max_plain; /* 0: BATCH_MAX_PLAIN */
	uint64_t unknown; /* frames stepped over, in all batches so far */
	uint64_t longer;  /* frames with fields that are not known here */

	struct str frame; /* the bytes of the frame that was read last, for frame_get */

	struct ZSTD_DCtx_s *zstd;
	struct buf plain;
	const unsigned char *at, *end;
	uint32_t left;
};

/* batch_look, and unpack. The bytes must stay while the batch is read. */
int batch_open(struct batch_in *in, const void *bytes, size_t n, struct err *err);

/* 1: a frame, lent until the next batch_open; 0: that was the last; -EBADMSG. */
int batch_next(struct batch_in *in, struct frame *ret, struct err *err);

/* One frame by itself, from the bytes that it had in its batch. Lent from them. -EBADMSG. */
int frame_get(struct frame *ret, struct str bytes, struct err *err);

/* Back to the first frame: to look at all of them before acting on one. */
void batch_rewind(struct batch_in *in);
void batch_in_done(struct batch_in *in);

#endif
