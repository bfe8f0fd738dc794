/* A gzip file put together out of pieces that were deflated each by itself, so that only what has
 * changed is deflated again. The pieces begin and end at whole bytes and refer to nothing before
 * them; what comes out is one ordinary member (RFC 1952), and the same for the same pieces. */
#ifndef REPORT_PACK_H
#define REPORT_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "lib/buf.h"

/* All-zero is a valid empty one. */
struct packer {
	z_stream z;
	int is_open;
};
void packer_done(struct packer *p);

/* Append text as a piece. -ENOMEM. */
int packer_put(struct packer *p, struct buf *to, const void *text, size_t n);

/* A few bytes (at most 65535) as a piece, as they are. */
void pack_plain(struct buf *to, const void *text, size_t n);

/* Before the first piece, and behind the last: crc and n are those of the whole text. */
void pack_begin(struct buf *to);
void pack_end(struct buf *to, uint32_t crc, uint64_t n);

#endif
