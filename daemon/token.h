/* The tokens that are known, read from files that only their owner can read. Tokens are never
 * logged, and compared in a time that does not depend on what they are. */
#ifndef DAEMON_TOKEN_H
#define DAEMON_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

#define TOKEN_BYTES 128 /* the longest */
#define TOKENS_MAX 64

/* All-zero is a valid empty set. */
struct tokens {
	char items[TOKENS_MAX][TOKEN_BYTES]; /* filled up with zeros */
	size_t n;
};

/* One token a line, 16 to 128 printable characters; empty lines and those that begin with # are
 * passed over. path NULL: none. -EACCES: others may read the file. -EINVAL, with file:line. */
int tokens_read(struct tokens *ret, const char *path, struct err *err);

/* Is this Authorization header ("Bearer ..") one of them? NULL: no. */
bool tokens_match(const struct tokens *t, const char *authorization);

#endif
