/* XXH3-128 as 32 hexadecimal digits: of files, and of several texts together. */
#ifndef RUN_HASH_H
#define RUN_HASH_H

#include "lib/err.h"

#define HASH_TEXT_BYTES 33

struct hash;

struct hash *hash_new(void);                      /* NULL: out of memory */
void hash_text(struct hash *h, const char *text); /* its end counts too: "ab","c" is not "a","bc" */
void hash_end(struct hash *h, char ret[HASH_TEXT_BYTES]); /* frees h */

/* The same file (by device, number, size and times) is read once a process. */
int hash_file(const char *path, char ret[HASH_TEXT_BYTES], struct err *err);

#endif
