/* Processes that did the same up to their rank are stored once: the file of one as it is, of
 * another what differs from it, block by block. */
#ifndef SCHEMA_IOCAP_ALIKE_H
#define SCHEMA_IOCAP_ALIKE_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/iocap_code.h"

#define IOCAP_ALIKE_MAGIC "roicapa\n"

/* Of a capture's file, its blocks. */
struct iocap_blocks {
	struct iocap_block_in *items;
	size_t n, cap, max; /* max 0: any number */
};

/* Lists them; the bytes stay the caller's, and must stay. False: it is no whole file that begins
 * with magic (8 bytes), has more than max (then n is max), or no memory; what was found is freed by
 * _done either way. */
bool iocap_blocks_list(struct iocap_blocks *b, const void *file, size_t n, const char *magic);
void iocap_blocks_done(struct iocap_blocks *b);

/* Appends the file as what differs from base, which is called base_name and lies in the same
 * folder. False: the file is no whole capture, or no memory. */
bool iocap_alike_put(struct iocap_bytes *out, const void *file, size_t n,
		     const struct iocap_blocks *base, const char *base_name);

/* Is this one, and whose base is it? The name is not terminated; NULL: it is none. */
const char *iocap_alike_base(const void *file, size_t n, size_t *ret_bytes);

/* A block of such a file, as it was: *b becomes that, its payload in `payload` where it is made of
 * the base's; false: it does not belong to this base. */
bool iocap_alike_block(struct iocap_block_in *b, const struct iocap_blocks *base,
		       struct iocap_bytes *payload);

/* Appends the whole file as it was. */
bool iocap_alike_get(struct iocap_bytes *out, const void *file, size_t n,
		     const struct iocap_blocks *base);

/* Does that to all finished files of a folder: of each program the first stays as it is. Best
 * effort: what can't be made smaller by a sixteenth, is large (then it is times, which are never
 * the same), or can't be written, stays. Returns how many bytes less there are. */
size_t iocap_alike_folder(const char *folder);

#endif
