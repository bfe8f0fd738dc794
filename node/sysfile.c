/* Small files, values found by key. */
#define _GNU_SOURCE
#include "node/sysfile.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"

#define TEXT_MAX ((size_t)4 << 20)

char *sysfile_text(struct arena *a, const char *root, const char *path)
{
	struct buf b = { .max = TEXT_MAX };
	char full[PATH_MAX];
	(void)snprintf(full, sizeof full, "%s%s", root, path);
	char *text =
		file_read(&b, full, NULL) == 0 && b.data ? arena_strndup(a, b.data, b.len) : NULL;
	buf_done(&b);
	return text;
}

const char *sysfile_line(struct arena *a, const char *root, const char *path)
{
	char *text = sysfile_text(a, root, path);
	if (text)
		text[strcspn(text, "\n")] = 0;
	return text && *text ? text : NULL;
}

size_t sysfile_read(const char *root, const char *path, char *text, size_t room)
{
	char full[PATH_MAX];
	text[0] = 0;
	(void)snprintf(full, sizeof full, "%s%s", root, path);
	int fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, room - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

double sysfile_number(const char *root, const char *path)
{
	char text[64], *end = NULL;
	if (!sysfile_read(root, path, text, sizeof text))
		return NAN;
	double x = strtod(text, &end);
	return end == text || !isfinite(x) ? (double)NAN : x;
}

const char *sysfile_link(const char *root, const char *path, char *text, size_t room)
{
	char full[PATH_MAX], to[PATH_MAX];
	(void)snprintf(full, sizeof full, "%s%s", root, path);
	ssize_t n = readlink(full, to, sizeof to - 1);
	to[n > 0 ? n : 0] = 0;
	const char *slash = strrchr(to, '/'), *last = slash ? slash + 1 : to;
	(void)snprintf(text, room, "%s", strlen(last) < room ? last : "");
	return text;
}

/* The first line from text on that begins with key, behind it; NULL: none. text begins a line. */
static const char *after_key(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, key, n) == 0)
			return line + n;
	return NULL;
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');
	return end ? end + 1 : NULL;
}

const char *sysfile_value(struct arena *a, const char *text, const char *key)
{
	for (const char *at = after_key(text, key); at; at = after_key(next_line(at), key)) {
		const char *value = at + strspn(at, " \t");
		if (*value != ':' && *value != '=')
			continue;
		value += 1 + strspn(value + 1, " \t\"");
		size_t len = strcspn(value, "\"\n");
		while (len && isspace((unsigned char)value[len - 1]))
			len--;
		return len ? arena_strndup(a, value, len) : NULL;
	}
	return NULL;
}

double sysfile_count(const char *text, const char *key)
{
	for (const char *at = after_key(text, key); at; at = after_key(next_line(at), key)) {
		char *end = NULL;
		double x = *at == ' ' ? strtod(at, &end) : (double)NAN;
		if (*at == ' ' && end != at && isfinite(x))
			return x;
	}
	return NAN;
}
