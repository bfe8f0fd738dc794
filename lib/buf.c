/* Growing bytes. */
#include "lib/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct buf *b, size_t n)
{
	if (b->failed || n > SIZE_MAX / 4 || (b->max && b->len + n > b->max)) {
		b->failed = true;
		return false;
	}
	size_t need = b->len + n + 1;
	if (need <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap : 256;
	while (cap < need)
		cap *= 2;
	char *data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = 0;
}

void buf_puts(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !reserve(b, (size_t)n)) {
		b->failed = true;
		return;
	}
	va_start(args, format);
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, format, args);
	va_end(args);
	b->len += (size_t)n;
}

void buf_fit(struct buf *b)
{
	char *data = b->data ? realloc(b->data, b->len + 1) : NULL;
	if (!data)
		return;
	b->data = data;
	b->cap = b->len + 1;
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max = b->max };
}
