/* Whole files in and out. */
#ifndef LIB_FILE_H
#define LIB_FILE_H

#include "lib/buf.h"
#include "lib/err.h"

/* Append a file's bytes to b (b->max is the ceiling). -EFBIG when it is larger. "-" is standard
 * input. The sentence names the path. */
int file_read(struct buf *b, const char *path, struct err *err);

/* Replace path by these bytes, or leave it as it was: written beside it, synced, renamed. */
int file_write(const char *path, const void *bytes, size_t n, struct err *err);

/* Make a folder and those above it, mode 0755 less the umask. */
int file_mkdirs(const char *path, struct err *err);

/* Remove a folder and all in it. Links are removed, not followed. */
int file_remove_tree(const char *path, struct err *err);

#endif
