/* See ranges.h. */
#define _GNU_SOURCE
#include "run/ranges.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/str.h"
#include "run/collector.h"
#include "schema/marklog.h"
#include "schema/utf8.h"

#define PREFIX "range:"
#define INJECTION "NVTX_INJECTION64_PATH"
#define TOLD_MAX 8
#define FILE_MAX 16384 /* what is behind that are names of the tenth process */

const char *ranges_pattern(const struct suite_case *c)
{
	bool is = c->region && strncmp(c->region, PREFIX, strlen(PREFIX)) == 0;
	return is ? c->region + strlen(PREFIX) : NULL;
}

static const char *value_of(char *const *envp, const char *name)
{
	size_t n = strlen(name);
	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

int ranges_check(const char *pattern, const char *library, char *const *envp, struct err *err)
{
	const char *theirs = value_of(envp, INJECTION);
	if (!library)
		return err_set(err, -EINVAL,
			       "region: range:%s needs libroimeter-range.so, which is not there; "
			       "install it together with roimeter, or name its folder in "
			       "ROIMETER_COLLECTORS or [collectors] path",
			       pattern);
	if (strlen(pattern) > RANGES_PATTERN_MAX)
		return err_set(err, -EINVAL,
			       "region: range: the pattern has %zu bytes, and %d are the most; "
			       "use * for a part of it",
			       strlen(pattern), RANGES_PATTERN_MAX);
	if (theirs && *theirs)
		return err_set(err, -EINVAL,
			       "region: range:%s: the program gets " INJECTION
			       " already, which has room for one; leave it out, or use markers or "
			       "a timer",
			       pattern);
	return 0;
}

int ranges_variables(const char *pattern, const char *library, struct arena *a, char *const *envp,
		     struct env_pair *own, size_t *n)
{
	const struct env_pair variables[RANGES_VARIABLES] = {
		{ "ROIMETER_RANGE", pattern },
		{ INJECTION, library },    /* programs with NVTX's header */
		{ "LD_PRELOAD", library }, /* with its older library, or with ROCTX */
	};
	int rc = 0;
	for (size_t i = 0; !rc && i < RANGES_VARIABLES; i++)
		rc = collector_variable(a, envp, variables[i].name, variables[i].value, own, n);
	return rc;
}

/* ---- what there was ---------------------------------------------------------------------------
 */

/* Names come from programs, and go to terminals and into JSON. */
static const char *plain(struct arena *a, struct str name)
{
	char *text = arena_alloc(a, utf8_clean(NULL, name.p, name.n) + 1);
	if (!text)
		return NULL;
	(void)utf8_clean(text, name.p, name.n);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return text;
}

static bool is_there(const struct txts *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->items[i], name) == 0)
			return true;
	return false;
}

static const char *listed(const struct txts *names, bool more, struct arena *a)
{
	struct buf b = { 0 };
	if (!names->n)
		return arena_strdup(a, "it made no NVTX or ROCTX range");
	buf_puts(&b, "its ranges are ");
	for (size_t i = 0; i < names->n; i++)
		buf_printf(&b, "%s\"%s\"",
			   !i                           ? ""
			   : i + 1 == names->n && !more ? " and "
							: ", ",
			   names->items[i]);
	buf_puts(&b, more ? " and others" : "");
	const char *ret = b.failed ? NULL : arena_strdup(a, b.data);
	buf_done(&b);
	return ret;
}

const char *ranges_told(const char *text, size_t n, struct arena *a)
{
	const char *items[TOLD_MAX];
	struct txts names = { .items = items };
	bool more = false;
	for (size_t at = 0; at < n && !more;) {
		const char *end = memchr(text + at, '\n', n - at);
		struct str line = { text + at, end ? (size_t)(end - text) - at : n - at };
		at += line.n + 1;
		if (!line.n)
			continue;
		const char *name = plain(a, line);
		if (!name)
			return NULL;
		if (is_there(&names, name))
			continue;
		if (names.n == TOLD_MAX)
			more = true;
		else
			items[names.n++] = name;
	}
	return listed(&names, more, a);
}

/* Processes that we know nothing of may have put anything there. */
static int open_told(const char *folder)
{
	struct stat st;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_RANGES, folder);
	if (n < 0 || (size_t)n >= sizeof path)
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

const char *ranges_seen(const char *folder, struct arena *a)
{
	char text[FILE_MAX];
	int fd = open_told(folder);
	ssize_t n = fd < 0 ? 0 : file_fill(fd, text, sizeof text);
	if (fd >= 0)
		(void)close(fd);
	return ranges_told(text, n > 0 ? (size_t)n : 0, a);
}
