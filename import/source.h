/* A file to read, compressed or not (gzip, zstd, by their first bytes): its plain bytes in order,
 * or as a plain file for libraries that want one. It is read with read(), not mapped: a file that
 * somebody cuts meanwhile is a sentence, not a SIGBUS. */
#ifndef IMPORT_SOURCE_H
#define IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

struct source;

/* -errno; -EINVAL for a folder or anything else that can't be read twice, for a file that is empty,
 * and for compressions that are not read. */
int source_open(struct source **ret, const char *path, struct err *err);
void source_close(struct source *s);

const char *source_path(const struct source *s);
/* The first plain bytes, at most 4096, without moving; NUL after them. */
const char *source_head(const struct source *s, size_t *ret_n);

/* The next plain bytes, lent until the next call; *ret_n 0 at the end. Pieces are as large as is
 * good for the caches. -EINVAL: the compressed data is damaged or cut, or has more behind it;
 * -EFBIG past the ceiling of 64 GiB plain. */
int source_next(struct source *s, const char **ret, size_t *ret_n, struct err *err);
int source_rewind(struct source *s, struct err *err);

/* A plain file with the same bytes: this one, or an unpacked copy without a name in the temporary
 * folder, gone with the source (path under /proc/self/fd). Moves: rewind before the next piece. */
int source_plain_file(struct source *s, const char **ret_path, struct err *err);

/* XXH3-128 of the file as it is, for provenance; in the source. NULL: err says why. */
const char *source_hash(struct source *s, struct err *err);
int64_t source_mtime_ns(const struct source *s);

#endif
