/* Memory straight from the kernel, in whole pages: for code that may run within any call of a
 * program, malloc and mmap of libc included. Zeroed. errno is kept. */
#ifndef LIB_PAGES_H
#define LIB_PAGES_H

#include <stddef.h>

/* Like realloc, of bytes that the caller remembers; both are rounded up to pages. old NULL with 0:
 * new; bytes 0: freed, and NULL. NULL for lack of memory: the old stays. */
void *pages_resize(void *old, size_t old_bytes, size_t bytes);

#endif
