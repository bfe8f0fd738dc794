/* What may have been meant, when a word is not known. */
#ifndef SUITE_NEAR_H
#define SUITE_NEAR_H

#include <stddef.h>

/* How many single letters must change; at most 255. */
unsigned near_distance(const char *a, const char *b);

/* The nearest of n words that is near enough to be a slip of the pen, or NULL. */
const char *near_word(const char *word, const char *const *words, size_t n);

#endif
