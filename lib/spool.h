/* A folder in which an agent keeps records (batches) until they are acknowledged: append-only
 * segments of checksummed records, numbered 1, 2, 3, ... for as long as the folder lives.
 *
 * What spool_sync returned 0 for is never lost by a kill, a power cut or a full disk, and is read
 * back until it is acknowledged. Only such records are read, so a number that was seen outside
 * stands for the same bytes for ever. A number that was given out and whose record is gone (dropped
 * to make room, unreadable) is told as a gap when reading comes to it.
 *
 * Bounded: when max_bytes are used, or the disk is full, the oldest segment of context records is
 * dropped; marks never are. When nothing can be dropped the new record is refused. Both are
 * counted, and the counts survive a restart. Memory does not grow with what is held. One process at
 * a time; not for several threads. */
#ifndef LIB_SPOOL_H
#define LIB_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define SPOOL_MAX_RECORD (9u << 20) /* bytes */
#define SPOOL_MIN_BYTES (64u << 10)
#define SPOOL_NO_TIME INT64_MIN

enum spool_class { SPOOL_MARK, SPOOL_CONTEXT, SPOOL_CLASSES };

struct spool_loss {
	uint64_t records, bytes;
	int64_t from_real_ns, to_real_ns; /* of the records; SPOOL_NO_TIME: none */
};

struct spool_stats {
	uint64_t bytes, max_bytes; /* on disk */
	uint64_t next_seq, synced_seq, acked_seq, read_seq;
	/* Since the folder was made. Dropped: had a number. Refused: never had one. */
	struct spool_loss dropped, refused[SPOOL_CLASSES]; /* only context is ever dropped */
	uint64_t damaged; /* numbers whose record could not be read back */
};

struct spool_item {
	uint64_t seq;
	enum spool_class class;
	int64_t real_ns;
	const void *bytes; /* lent until the next call */
	size_t n;

	bool gap;     /* no record: first_seq to seq are gone, and all above is null */
	bool damaged; /* ... maybe since they could not be read; else dropped to make room */
	uint64_t first_seq;
	int64_t from_real_ns, to_real_ns; /* times of the records before and after, if known */
};

struct spool;

/* Opens or makes the folder; what is in it is looked through and made durable. segment_bytes 0:
 * a sixteenth of max_bytes, within 64 KiB and 16 MiB. -EBUSY: another agent has it. */
int spool_open(struct spool **ret, const char *folder, uint64_t max_bytes, uint32_t segment_bytes,
	       struct err *err);
void spool_close(struct spool *s); /* syncs nothing; NULL is fine */

/* Random, made with the folder: whose numbering this is. 16 hexadecimal digits. */
const char *spool_id(const struct spool *s);

/* The number that the next record will get: a batch has it inside. */
uint64_t spool_next_seq(const struct spool *s);

/* At the end of the spool, not yet durable. -ENOSPC: refused and counted, no number was used; other
 * failures likewise, and those may be failures to sync: then see spool_sync. -E2BIG: 0 bytes, or
 * more than SPOOL_MAX_RECORD or max_bytes; not counted. */
int spool_append(struct spool *s, enum spool_class class, int64_t real_ns, const void *bytes,
		 size_t n, struct err *err);

/* Everything appended so far is durable. When it fails, what was appended since the last one is
 * taken back (spool_next_seq goes back too): append it again, or count it. */
int spool_sync(struct spool *s, struct err *err);

/* The next durable record, or gap, past the last one read: 1, 0 when there is none (yet), or a
 * failure to read. Begins past what is acknowledged. */
int spool_read(struct spool *s, struct spool_item *ret, struct err *err);

/* Read again from past what is acknowledged. */
void spool_rewind(struct spool *s);

/* All up to seq has arrived, gaps too; segments of which nothing is left are deleted. A number that
 * was never durable is -EINVAL. Survives a kill at once and a power cut from the next spool_sync
 * on. */
int spool_ack(struct spool *s, uint64_t seq, struct err *err);

void spool_stats(const struct spool *s, struct spool_stats *ret);

#endif
