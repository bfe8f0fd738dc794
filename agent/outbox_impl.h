/* The insides of agent/outbox.c (in: frames to the spool) and outbox_send.c (out: to the sender).
 */
#ifndef AGENT_OUTBOX_IMPL_H
#define AGENT_OUTBOX_IMPL_H

#include "agent/losses.h"
#include "agent/outbox.h"
#include "lib/pace.h"

/* A batch that was ended and is not known to be durable. Its bytes are kept until it is: after a
 * failed sync it has to be appended once more, maybe under another number. */
struct waiting {
	enum spool_class class;
	struct buf bytes;
	uint64_t coded_seq; /* the number in the bytes */
	bool appended;
	int64_t from_real_ns, to_real_ns;
};

struct open_batch {
	struct batch_out out;
	int64_t from_real_ns, to_real_ns;
	uint64_t since_ns; /* when the first frame was put; of no meaning without frames */
};

struct outbox {
	struct spool *spool;
	struct losses *losses;
	struct batch_sender sender;
	char agent[OUTBOX_AGENT_ID];
	char *host, *boot, *tool;
	size_t batch_bytes;
	uint64_t wait_bytes; /* of batches that wait for room, at most */
	uint64_t age_ns[SPOOL_CLASSES];
	uint64_t (*clock_ns)(void);

	struct open_batch open[SPOOL_CLASSES];
	struct waiting *list; /* oldest first */
	size_t n, cap;
	uint64_t waiting_bytes; /* of those that are not appended */
	uint64_t kept_bytes;    /* of all */
	bool full;              /* the last attempt was refused */
	bool dirty;             /* the spool holds something that is not durable */
	bool losses_dirty;
	int last_rc;            /* of the last attempt that failed */
	uint64_t last_need;     /* bytes it needed */
	uint64_t list_since_ns; /* when the oldest of the list was put there, or before */
	struct pace pace;
	uint64_t retry_ns, tell_ns; /* not before */

	void (*changed)(void *arg);
	void *changed_arg;

	struct ZSTD_CCtx_s *zstd;
	struct batch_in in;     /* for reading our own */
	struct batch_out again; /* for writing it once more */
	struct buf gap;
	int64_t read_real_ns; /* of the batch read last */
	uint64_t batches, frames;
};

/* Number, times and all else; to ret, which is emptied before. */
int outbox_code(struct outbox *o, struct batch_out *out, uint64_t seq, int64_t from_real_ns,
		int64_t to_real_ns, struct buf *ret, struct err *err);

/* Every frame of it is counted as lost. */
void outbox_lose_batch(struct outbox *o, const void *bytes, size_t n, const char *why,
		       const char *text);
void outbox_lose_frame(struct outbox *o, const struct frame *f, const char *why, const char *text);

/* The times that a frame speaks of; ROI_UNKNOWN. */
void outbox_frame_times(const struct frame *f, int64_t *ret_from, int64_t *ret_to);

#endif
