/* What the agent has to say, on its way: frames are collected into batches, one open for each
 * class, and batches go to the spool, from which agent/post.h sends them.
 *
 * Nothing is kept before outbox_sync said so; a batch is ended when it is large, when it is old
 * (outbox_tick), and by every sync. What the spool can't take (full, the disk full) waits in memory
 * within a bound and is tried again; past that, and context at once, it is lost: counted, and told
 * by loss frames as soon as there is room. The counts survive a kill. For one thread. */
#ifndef AGENT_OUTBOX_H
#define AGENT_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/spool.h"
#include "schema/batch.h"
#include "schema/roilog.h" /* ROI_UNKNOWN */

#define OUTBOX_BATCH_BYTES (256u << 10)
#define OUTBOX_WAIT_BYTES (4u << 20) /* of batches that wait for room; a smaller spool: its size   \
				      */
#define OUTBOX_AGENT_ID 64           /* room for the id of an agent */

struct outbox_options {
	const char
		*folder; /* of the spool; the agent's id and the counts of losses are in it, too */
	uint64_t max_bytes;
	const char *agent;              /* id; NULL: the one kept, made at random the first time */
	const char *host, *boot, *tool; /* lent; NULL: unknown */
	size_t batch_bytes;             /* of frames, unpacked; 0: OUTBOX_BATCH_BYTES */
	uint64_t age_ns;                /* of a frame that is not yet durable, at most; 0: 1 s */
	uint64_t context_age_ns;        /* the same of context frames; 0: as age_ns */
	uint64_t (*clock_ns)(void);     /* NULL: CLOCK_MONOTONIC */
};

struct outbox;

int outbox_open(struct outbox **ret, const struct outbox_options *o, struct err *err);
void outbox_close(struct outbox *o); /* syncs nothing; NULL is fine */

/* Copied. Context frames go to SPOOL_CONTEXT, all others to SPOOL_MARK. -ENOSPC: there is no room
 * for it on disk or in memory: it is lost, and counted; -E2BIG: larger than a batch can be,
 * likewise; -ENOMEM likewise. */
int outbox_put(struct outbox *o, const struct frame *f, struct err *err);

/* 0: all that was put is durable on this node, and ret_seq (may be NULL) is the number of the last
 * batch of it. Else some of it is not: it waits, and is tried again by the next sync or tick. */
int outbox_sync(struct outbox *o, uint64_t *ret_seq, struct err *err);

/* Numbers up to this one are durable; all up to that one were delivered (or told as lost). */
uint64_t outbox_durable(const struct outbox *o);
uint64_t outbox_delivered(const struct outbox *o);

/* Something was lost that was never put: counted and told like what the outbox itself loses. */
struct outbox_loss {
	const char *what; /* marks, context, process, run */
	const char *why;  /* spool_full, disk_full, unreadable, no_memory, refused */
	uint64_t count, bytes;
	int64_t from_real_ns, to_real_ns; /* ROI_UNKNOWN */
	struct str run, exec;             /* where they are known */
	const char *text;                 /* a sentence, or NULL */
};
void outbox_lose(struct outbox *o, const struct outbox_loss *loss);

/* Does what is due: old batches, what waits for room, losses to be told. When to call again, on its
 * clock; UINT64_MAX: nothing is due until something is put. post does this for the whole agent. */
uint64_t outbox_tick(struct outbox *o);

/* Called from within put (something is due again) and sync (more is durable): the two moments after
 * which a timer may have to be set anew. It must not call the outbox. */
void outbox_on_change(struct outbox *o, void (*changed)(void *arg), void *arg);

struct outbox_stats {
	struct spool_stats spool;
	uint64_t waiting_bytes;   /* of batches that wait for room */
	uint64_t lost;            /* frames, since the spool began */
	uint64_t batches, frames; /* put since the start */
	bool full;                /* the last attempt to keep something was refused */
};
void outbox_stats(const struct outbox *o, struct outbox_stats *ret);
/* What was lost since the spool began, one after the other; *at is 0 at first. Lent until the next
 * call on o. */
bool outbox_each_loss(const struct outbox *o, size_t *at, struct frame *ret);
const char *outbox_agent(const struct outbox *o); /* the id */
const char *outbox_spool(const struct outbox *o);

/* ---- for the sender ------------------------------------------------------------------------- */

/* The next batch to send, in the order of numbers: 1, 0 when there is none, or a failure to read. A
 * gap comes as a batch that tells of it. bytes are lent until the next call. */
int outbox_read(struct outbox *o, struct spool_item *ret, struct err *err);
void outbox_rewind(struct outbox *o); /* to the first that was not delivered */
int outbox_ack(struct outbox *o, uint64_t seq, struct err *err);

/* The daemon will not take this batch (lent bytes). Its frames are counted as lost, with the
 * sentence; ret is a batch of the same number that tells of the gap. */
int outbox_refused(struct outbox *o, const struct spool_item *item, const char *why_text,
		   struct spool_item *ret, struct err *err);

/* The daemon has another batch of this number (the spool was copied, or put back): the same frames
 * once more, durable, under a new number; then the old one may be acknowledged. */
int outbox_renumber(struct outbox *o, const struct spool_item *item, struct err *err);

#endif
