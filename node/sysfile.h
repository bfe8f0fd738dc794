/* Small files of /proc and /sys below a root ("" for this machine, else a folder of fixtures). */
#ifndef NODE_SYSFILE_H
#define NODE_SYSFILE_H

#include <stddef.h>

#include "lib/arena.h"

/* The whole file, in the arena; NULL: it can't be read. */
char *sysfile_text(struct arena *a, const char *root, const char *path);

/* The first line, without its end; NULL: none, or empty. */
const char *sysfile_line(struct arena *a, const char *root, const char *path);

/* The number at the beginning; NAN: none. Allocates nothing. */
double sysfile_number(const char *root, const char *path);

/* The first bytes, with a NUL behind them; how many. 0: it can't be read, or is empty. */
size_t sysfile_read(const char *root, const char *path, char *text, size_t room);

/* Where a link leads, its last part: "0000:17:00.0", "i915". "" if there is none. */
const char *sysfile_link(const char *root, const char *path, char *text, size_t room);

/* The value after "key" and a ':' or '=' at the start of a line, without quotes. */
const char *sysfile_value(struct arena *a, const char *text, const char *key);

/* The number after "key " at the start of a line; NAN: none. */
double sysfile_count(const char *text, const char *key);

#endif
