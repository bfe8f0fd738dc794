/* Blobs that are kept compressed where that is worth it. What is packed says so itself. */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "lib/buf.h"

struct pack; /* memory that is used again */

struct pack *pack_new(void);
void pack_free(struct pack *p);

/* The bytes as they should be stored: plain's own, or compressed in p until the next call.
 * plain must not begin as a zstd frame does: ours begin with a small version number. */
void pack_put(struct pack *p, const struct buf *plain, const void **ret_bytes, size_t *ret_n);

/* The plain bytes: those given, or unpacked in b. -EBADMSG, -ENOMEM. */
int pack_get(const void *bytes, size_t n, struct buf *b, const void **ret_plain, size_t *ret_n);

#endif
