/* What was dealt with in folders that are not ours to clean, remembered over restarts. A key that
 * is forgotten costs one more delivery of the same, which the daemon knows; so nothing is synced.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folder.h"

#define NAME "taken"
#define KEYS_MAX (1u << 20) /* then all is forgotten, and comes once more */

static size_t slot(const struct taken *t, uint64_t key)
{
	size_t i = key & (t->cap - 1);
	while (t->keys[i] && t->keys[i] != key)
		i = (i + 1) & (t->cap - 1);
	return i;
}

bool taken_has(const struct taken *t, uint64_t key)
{
	return t->cap && t->keys[slot(t, key ? key : 1)];
}

static bool grow(struct taken *t)
{
	struct taken wider = { .cap = t->cap ? 2 * t->cap : 256 };
	wider.keys = calloc(wider.cap, sizeof *wider.keys);
	if (!wider.keys)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->keys[i])
			wider.keys[slot(&wider, t->keys[i])] = t->keys[i];
	free(t->keys);
	t->keys = wider.keys;
	t->cap = wider.cap;
	return true;
}

static bool add(struct taken *t, uint64_t key)
{
	if (2 * (t->n + 1) > t->cap && !grow(t))
		return false;
	size_t i = slot(t, key);
	if (t->keys[i])
		return false;
	t->keys[i] = key;
	t->n++;
	return true;
}

static void forget_all(struct taken *t)
{
	free(t->keys);
	t->keys = NULL;
	t->n = t->cap = 0;
	if (t->fd >= 0)
		(void)!ftruncate(t->fd, 0);
}

void taken_add(struct taken *t, uint64_t key)
{
	key = key ? key : 1;
	if (t->n >= KEYS_MAX)
		forget_all(t);
	if (add(t, key) && t->fd >= 0)
		(void)!write(t->fd, &key, sizeof key);
}

int taken_open(struct taken *t, const char *folder, struct err *err)
{
	char path[4096];
	uint64_t part[512];
	ssize_t n;
	*t = (struct taken){ .fd = -1 };
	if (snprintf(path, sizeof path, "%s/" NAME, folder) >= (int)sizeof path)
		return err_set(err, -ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	t->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (t->fd < 0)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	while ((n = read(t->fd, part, sizeof part)) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof *part; i++)
			(void)add(t, part[i] ? part[i] : 1);
	struct stat st;
	if (!fstat(t->fd, &st) && (st.st_size % (off_t)sizeof *part || t->n > KEYS_MAX))
		forget_all(t); /* cut within a key: what follows would be read askew */
	return 0;
}

void taken_close(struct taken *t)
{
	free(t->keys);
	if (t->fd >= 0)
		(void)close(t->fd);
	*t = (struct taken){ .fd = -1 };
}
