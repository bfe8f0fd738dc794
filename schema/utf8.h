/* Is it UTF-8, and if not, make it so. Records are JSON, and programs print anything. */
#ifndef SCHEMA_UTF8_H
#define SCHEMA_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* No overlong forms, no surrogates, nothing past U+10FFFF, no NUL. */
bool utf8_valid(const char *text, size_t bytes);

/* Write the text with each bad byte as U+FFFD, and a NUL, to out; returns its length without
 * the NUL. out NULL: only the length. */
size_t utf8_clean(char *out, const char *text, size_t bytes);

#endif
