#define _GNU_SOURCE
#include "agent/held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/notify.h"

/* Lines: "+name" for each that came, "-name" for each that went. What a kill cut short at the end
 * is no line, and no name that anybody has. */
#define NAME "held"
#define FILE_MAX ((size_t)64 << 20)
#define SETTLED '!' /* in the place of its first character: no name begins so */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a + 1, *(char *const *)b + 1);
}

/* The names that came more often than they went. */
static int read_before(struct held *h, char *text, size_t n)
{
	size_t lines = 0, used = 0;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	char **all = calloc(lines + 1, sizeof *all);
	h->before = malloc(n + 1);
	if (!all || !h->before) {
		free(all);
		return -ENOMEM;
	}
	char *at = text;
	for (size_t i = 0; i < lines; i++) {
		char *end = strchr(at, '\n');
		if (!end) { /* a NUL stands in it: it was damaged from here on */
			lines = i;
			break;
		}
		*end = 0;
		all[i] = at;
		at = end + 1;
	}
	qsort(all, lines, sizeof *all, compare);
	for (size_t i = 0, next; i < lines; i = next) {
		int count = 0;
		for (next = i; next < lines && !strcmp(all[next] + 1, all[i] + 1); next++)
			count += all[next][0] == '+' ? 1 : -1;
		size_t len = *all[i] ? strlen(all[i] + 1) : 0;
		if (count <= 0 || !len || all[i][1] == SETTLED)
			continue;
		memcpy(h->before + used, all[i] + 1, len + 1);
		used += len + 1;
	}
	h->n_before = used;
	free(all);
	return 0;
}

int held_open(struct held *h, const char *folder, struct err *err)
{
	char path[4096];
	struct buf b = { .max = FILE_MAX };
	*h = (struct held){ .fd = -1 };
	if (snprintf(path, sizeof path, "%s/" NAME, folder) >= (int)sizeof path)
		return err_set(err, -ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	int rc = file_read(&b, path, err);
	if (!rc && b.len)
		rc = read_before(h, b.data, b.len);
	buf_done(&b);
	if (rc && rc != -ENOENT)
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	const char *name;
	b = (struct buf){ .max = FILE_MAX };
	for (size_t at = 0; (name = held_before(h, &at));)
		buf_printf(&b, "+%s\n", name);
	rc = b.failed ? err_set(err, -ENOMEM, "out of memory")
		      : file_write(path, b.data ? b.data : "", b.len, err);
	buf_done(&b);
	if (rc)
		return rc;
	h->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	return h->fd < 0 ? err_set(err, -errno, "open %s: %s", path, strerror(errno)) : 0;
}

void held_close(struct held *h)
{
	if (h->fd >= 0)
		(void)close(h->fd);
	free(h->before);
	*h = (struct held){ .fd = -1 };
}

/* One write: whole, or not at all, for any disk that has room. */
static void line(const struct held *h, char what, const char *name)
{
	char text[160];
	int n = snprintf(text, sizeof text, "%c%s\n", what, name);
	if (h->fd >= 0 && n > 0 && (size_t)n < sizeof text)
		(void)!write(h->fd, text, (size_t)n);
}

void held_add(struct held *h, const char *name, int fd, bool told)
{
	bool known = held_settle(h, name); /* then it stands in the file */
	if (!told && !known)
		line(h, '+', name);
	notify_keep(name, fd);
}

void held_remove(struct held *h, const char *name)
{
	line(h, '-', name);
	notify_unkeep(name);
}

const char *held_before(const struct held *h, size_t *at)
{
	while (*at < h->n_before) {
		const char *name = h->before + *at;
		*at += strlen(name) + 1;
		if (*name != SETTLED)
			return name;
	}
	return NULL;
}

bool held_settle(struct held *h, const char *name)
{
	const char *one;
	for (size_t at = 0; (one = held_before(h, &at));)
		if (!strcmp(one, name)) {
			h->before[one - h->before] = SETTLED;
			return true;
		}
	return false;
}
