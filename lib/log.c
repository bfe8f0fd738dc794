/* One write a line, so that lines of several threads never mix. */
#include "lib/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static void put(const char *level, const char *format, va_list args)
{
	char line[2048];
	int n = snprintf(line, sizeof line - 1, "%s ", level);
	int more = vsnprintf(line + n, sizeof line - 1 - (size_t)n, format, args);
	n += more < 0 ? 0 : more;
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	line[n++] = '\n';
	ssize_t written = write(STDERR_FILENO, line, (size_t)n);
	(void)written; /* there is nobody to tell */
}

void log_info(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	put("info ", format, args);
	va_end(args);
}

void log_warn(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	put("warn ", format, args);
	va_end(args);
}

void log_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	put("error", format, args);
	va_end(args);
}
