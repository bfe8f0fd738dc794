/* Sentences about failures. */
#define _GNU_SOURCE
#include "lib/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int rc, const char *format, ...)
{
	if (!err)
		return rc;
	va_list args;
	va_start(args, format);
	(void)vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return rc;
}

int err_wrap(struct err *err, int rc, const char *format, ...)
{
	if (!err)
		return rc;
	char old[ERR_TEXT_BYTES];
	memcpy(old, err->text, sizeof old);
	va_list args;
	va_start(args, format);
	int n = vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	size_t at = n < 0 ? 0 : (size_t)n;
	if (at + 2 >= sizeof err->text)
		return rc;
	memcpy(err->text + at, ": ", 2);
	size_t room = sizeof err->text - at - 3;
	size_t len = strnlen(old, room);
	memcpy(err->text + at + 2, old, len);
	err->text[at + 2 + len] = 0;
	return rc;
}
