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
#include "lib/log.h"
#include "lib/notify.h"

/* Lines: "+name" for each that came, "-name" for each that went. What a kill cut short at the end
 * is no line, and no name that anybody has. */
#define NAME "held"
#define FILE_MAX ((size_t)64 << 20)
#define RENEW_BYTES ((size_t)1 << 20) /* of lines, of which most are about what went */
#define SETTLED '!'                   /* in the place of its first character: no name begins so */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a + 1, *(char *const *)b + 1);
}

/* The names that came more often than they went, a NUL behind each. */
static int read_names(char *text, size_t n, char **ret, size_t *ret_n)
{
	size_t lines = 0, used = 0;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	char **all = calloc(lines + 1, sizeof *all);
	char *names = malloc(n + 1);
	if (!all || !names) {
		free(all);
		free(names);
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
		memcpy(names + used, all[i] + 1, len + 1);
		used += len + 1;
	}
	free(all);
	*ret = names;
	*ret_n = used;
	return 0;
}

/* The file with the lines that still say something, and nothing else. */
static int renew(struct held *h, char **ret_names, size_t *ret_n, struct err *err)
{
	struct buf b = { .max = FILE_MAX };
	*ret_names = NULL;
	*ret_n = 0;
	int rc = file_read(&b, h->path, err);
	if (rc ==
	    -EFBIG) /* nobody reads it whole: what it knew is given up, and measuring is not */
		log_warn("%s is too large; it is begun anew", h->path);
	else if (!rc && b.len)
		rc = read_names(b.data, b.len, ret_names, ret_n);
	buf_done(&b);
	if (rc && rc != -ENOENT && rc != -EFBIG)
		return err_set(err, rc, "%s: %s", h->path, strerror(-rc));
	b = (struct buf){ .max = FILE_MAX };
	for (size_t at = 0; at < *ret_n; at += strlen(*ret_names + at) + 1)
		buf_printf(&b, "+%s\n", *ret_names + at);
	size_t len = b.len;
	rc = b.failed ? err_set(err, -ENOMEM, "out of memory")
		      : file_write(h->path, b.data ? b.data : "", b.len, err);
	buf_done(&b);
	if (rc)
		return rc;
	int fd = open(h->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %s", h->path, strerror(errno));
	if (h->fd >= 0)
		(void)close(h->fd);
	h->fd = fd;
	h->bytes = len;
	h->renew_at = 2 * len + RENEW_BYTES;
	return 0;
}

int held_open(struct held *h, const char *folder, struct err *err)
{
	*h = (struct held){ .fd = -1 };
	if (snprintf(h->path, sizeof h->path, "%s/" NAME, folder) >= (int)sizeof h->path)
		return err_set(err, -ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	return renew(h, &h->before, &h->n_before, err);
}

void held_close(struct held *h)
{
	if (h->fd >= 0)
		(void)close(h->fd);
	free(h->before);
	*h = (struct held){ .fd = -1 };
}

/* One write: whole, or not at all, for any disk that has room. Whoever passes a million logs does
 * not make the file grow without end. */
static void line(struct held *h, char what, const char *name)
{
	char text[160];
	int n = snprintf(text, sizeof text, "%c%s\n", what, name);
	if (h->fd < 0 || n <= 0 || (size_t)n >= sizeof text)
		return;
	(void)!write(h->fd, text, (size_t)n);
	h->bytes += (size_t)n;
	if (h->bytes < h->renew_at)
		return;
	struct err err = { .text = "" };
	char *names;
	size_t n_names;
	if (renew(h, &names, &n_names, &err)) {
		h->renew_at = h->bytes + RENEW_BYTES;
		log_warn("%s; tried again when it has grown by 1 MiB", err.text);
	}
	free(names);
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
