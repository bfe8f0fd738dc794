/* Processes that did the same up to their rank are stored once: the file of one as it is, of
 * another what differs from it, block by block. */
#ifndef SCHEMA_IOCAP_ALIKE_H
#define SCHEMA_IOCAP_ALIKE_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/iocap_code.h"

/* Appends the file as what differs from base, which is called base_name and lies in the same
 * folder. False: either is no whole capture, or no memory. */
bool iocap_alike_put(struct iocap_bytes *out, const void *file, size_t n, const void *base,
		     size_t n_base, const char *base_name);

/* Is this one, and whose base is it? The name is not terminated; NULL: it is none. */
const char *iocap_alike_base(const void *file, size_t n, size_t *ret_bytes);

/* Appends the file as it was. False: it does not belong to this base, or no memory. */
bool iocap_alike_get(struct iocap_bytes *out, const void *file, size_t n, const void *base,
		     size_t n_base);

/* Does that to all finished files of a folder: of each program the first stays as it is. Best
 * effort: what can't be made smaller, or not be written, stays. Returns how many bytes less there
 * are. */
size_t iocap_alike_folder(const char *folder);

#endif
