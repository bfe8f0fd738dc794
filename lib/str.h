/* Bytes that somebody else owns. p NULL: null, which is not the empty text. */
#ifndef LIB_STR_H
#define LIB_STR_H

#include <stddef.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

static inline struct str str_of(const char *text)
{
	return (struct str){ .p = text, .n = text ? strlen(text) : 0 };
}

#endif
