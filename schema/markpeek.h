/* What a few small reads of a live mark log tell, without reading all of it: whose it is, and how
 * far its process has come. Nothing in it is trusted. */
#ifndef SCHEMA_MARKPEEK_H
#define SCHEMA_MARKPEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/str.h"
#include "schema/marklog.h"

#define MARKPEEK_HEAD (128u << 10) /* the first bytes of a log, that hold all that who can tell */

/* Slices of the bytes that were read; p NULL: not told. Texts end before their first NUL. */
struct markpeek_who {
	uint32_t pid, generation;
	struct str host, exe, rank, run, exec, boot_id, stream, job, group, world;

	/* Where its streams are: one begins at header_bytes + i * stream_bytes. */
	uint32_t header_bytes, stream_bytes;
};

/* From the first bytes of the file. -EAGAIN: its process is still making it (or died over it);
 * -EINVAL: no log, or of another version, or one that makes no sense. */
int markpeek_who(struct markpeek_who *ret, const void *head, size_t n);

/* From the first bytes of the file: what changes in the header. */
#define MARKPEEK_STATE offsetof(struct marklog_header, pairs)
struct markpeek_state {
	uint32_t streams;
	bool exited; /* the process came to its exit handlers */
	uint64_t lost;
};
void markpeek_state(struct markpeek_state *ret, const void *head);

/* How far, over all streams. All-zero before the first. */
struct markpeek_far {
	uint64_t entries, open, steps; /* finished; begun and not finished; ended steps */
	uint64_t marks;                /* another number whenever anything was marked */
};
/* From the first MARKLOG_BLOCK_BYTES of a stream. */
void markpeek_far_add(struct markpeek_far *far, const void *block);

#endif
