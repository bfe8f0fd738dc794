/* Whole files in and out, and bytes of open ones. */
#ifndef LIB_FILE_H
#define LIB_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Append a file's bytes to b (b->max is the ceiling). -EFBIG when it is larger. "-" is standard
 * input. The sentence names the path. */
int file_read(struct buf *b, const char *path, struct err *err);

/* The same of an open descriptor, from where it stands; it stays the caller's. path is for the
 * sentence. b->max 0: no ceiling. What came before a failure is in b. */
int file_read_fd(struct buf *b, int fd, const char *path, struct err *err);

/* n bytes into the caller's memory: from where the descriptor stands, or from the byte `at`, which
 * leaves it standing. Goes on after interruptions and short reads. How many there were, fewer than
 * n only at the end; or a negative errno, and what is in memory then is not told. */
ssize_t file_fill(int fd, void *to, size_t n);
ssize_t file_fill_at(int fd, void *to, size_t n, uint64_t at);

/* Replace path by these bytes, or leave it as it was: written beside it, synced, renamed. */
int file_write(const char *path, const void *bytes, size_t n, struct err *err);

/* Make a folder and those above it, mode 0755 less the umask. */
int file_mkdirs(const char *path, struct err *err);

/* Remove a folder and all in it. Links are removed, not followed. */
int file_remove_tree(const char *path, struct err *err);

#endif
