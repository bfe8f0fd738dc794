/* Hashes by libxxhash. */
#define _GNU_SOURCE
#include "run/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define KEPT 64

struct hash {
	XXH3_state_t *state;
};

static void to_text(XXH128_hash_t h, char ret[HASH_TEXT_BYTES])
{
	(void)snprintf(ret, HASH_TEXT_BYTES, "%016llx%016llx", (unsigned long long)h.high64,
		       (unsigned long long)h.low64);
}

struct hash *hash_new(void)
{
	struct hash *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	h->state = XXH3_createState();
	if (!h->state) {
		free(h);
		return NULL;
	}
	(void)XXH3_128bits_reset(h->state);
	return h;
}

void hash_text(struct hash *h, const char *text)
{
	(void)XXH3_128bits_update(h->state, text, strlen(text) + 1);
}

void hash_end(struct hash *h, char ret[HASH_TEXT_BYTES])
{
	to_text(XXH3_128bits_digest(h->state), ret);
	(void)XXH3_freeState(h->state);
	free(h);
}

/* Many cases share one executable. */
static struct kept {
	struct stat st;
	char text[HASH_TEXT_BYTES];
} kept[KEPT];
static size_t n_kept;

static const char *known_hash(const struct stat *st)
{
	for (size_t i = 0; i < n_kept && i < KEPT; i++) {
		const struct stat *k = &kept[i].st;
		if (k->st_dev == st->st_dev && k->st_ino == st->st_ino &&
		    k->st_size == st->st_size && k->st_mtim.tv_sec == st->st_mtim.tv_sec &&
		    k->st_mtim.tv_nsec == st->st_mtim.tv_nsec &&
		    k->st_ctim.tv_sec == st->st_ctim.tv_sec &&
		    k->st_ctim.tv_nsec == st->st_ctim.tv_nsec)
			return kept[i].text;
	}
	return NULL;
}

static int read_hash(int fd, char ret[HASH_TEXT_BYTES])
{
	size_t bytes = 1 << 18;
	char *chunk = malloc(bytes);
	XXH3_state_t *state = XXH3_createState();
	ssize_t n = chunk && state ? 1 : -1;
	int rc = n < 0 ? -ENOMEM : 0;
	if (state)
		(void)XXH3_128bits_reset(state);
	while (n > 0) {
		n = read(fd, chunk, bytes);
		if (n > 0)
			(void)XXH3_128bits_update(state, chunk, (size_t)n);
		else if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			rc = -errno;
	}
	if (!rc)
		to_text(XXH3_128bits_digest(state), ret);
	(void)XXH3_freeState(state);
	free(chunk);
	return rc;
}

int hash_file(const char *path, char ret[HASH_TEXT_BYTES], struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		int rc = err_set(err, -errno, "open %s: %s", path, strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	const char *text = known_hash(&st);
	int rc = 0;
	if (text) {
		memcpy(ret, text, HASH_TEXT_BYTES);
	} else {
		rc = read_hash(fd, ret);
		if (rc)
			(void)err_set(err, rc, "read %s: %s", path, strerror(-rc));
		else {
			kept[n_kept % KEPT].st = st;
			memcpy(kept[n_kept++ % KEPT].text, ret, HASH_TEXT_BYTES);
		}
	}
	(void)close(fd);
	return rc;
}
