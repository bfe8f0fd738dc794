/* Bytes that grow up to a ceiling. All-zero is a valid empty buffer without a ceiling.
 * A buffer that failed once (no memory, past max) stays failed: one look at the end is enough. */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* always followed by a NUL once anything was put */
	size_t len, cap, max; /* bytes; max 0 means no ceiling */
	bool failed;
};

void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_fit(struct buf *b); /* give back what is not used */
void buf_done(struct buf *b);

#endif
