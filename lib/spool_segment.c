/* Segments: their names, their heads, the records in them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/file.h"
#include "lib/spool_impl.h"

static const char letters[SPOOL_CLASSES] = { 'm', 'c' };
static const unsigned char record_magic[4] = { 'R', 'S', 'P', '1' };

static void put_le(unsigned char *to, uint64_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(x >> 8 * i);
}

static uint64_t get_le(const unsigned char *from, int bytes)
{
	uint64_t x = 0;
	for (int i = 0; i < bytes; i++)
		x |= (uint64_t)from[i] << 8 * i;
	return x;
}

void segment_name(char name[SEGMENT_NAME_BYTES], enum spool_class class, uint64_t first)
{
	(void)snprintf(name, SEGMENT_NAME_BYTES, "%c-%020" PRIu64 ".seg", letters[class], first);
}

/* 0: the name of something else. */
static uint64_t segment_number(const char *name, enum spool_class class)
{
	char again[SEGMENT_NAME_BYTES];
	if (name[0] != letters[class] || name[1] != '-')
		return 0;
	uint64_t first = strtoull(name + 2, NULL, 10);
	segment_name(again, class, first);
	return strcmp(name, again) == 0 ? first : 0;
}

static void take_in(struct found *f, uint64_t first, uint64_t seq)
{
	f->count++;
	if (!f->lowest || first < f->lowest)
		f->lowest = first;
	if (first > f->highest)
		f->highest = first;
	if (first <= seq && first > f->from)
		f->from = first;
	if (first > seq && (!f->above || first < f->above))
		f->above = first;
}

int segment_find(struct spool *s, enum spool_class class, uint64_t seq, struct found *ret)
{
	*ret = (struct found){ .count = 0 };
	int fd = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		int rc = -errno;
		(void)close(fd);
		return rc;
	}
	errno = 0;
	for (struct dirent *e; (e = readdir(dir)); errno = 0) {
		struct stat st;
		uint64_t first = segment_number(e->d_name, class);
		if (!first)
			continue;
		take_in(ret, first, seq);
		if (!fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			ret->bytes += (uint64_t)st.st_size;
	}
	int rc = -errno;
	(void)closedir(dir);
	return rc;
}

int segment_open(struct spool *s, enum spool_class class, uint64_t first, int flags)
{
	char name[SEGMENT_NAME_BYTES];
	segment_name(name, class, first);
	int fd = openat(s->folder, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

void segment_head_make(unsigned char out[SEGMENT_HEAD_BYTES], enum spool_class class)
{
	memset(out, 0, SEGMENT_HEAD_BYTES);
	memcpy(out, "roispool", 8);
	out[8] = 1;
	out[9] = (unsigned char)class;
}

/* 0 magic (4) · 4 class (1), 0 (3) · 8 length (4) · 12 sum of the head (4) · 16 number (8) · 24
 * time (8) · 32 sum of the bytes (8). The head has a sum of its own, so that a record whose bytes
 * are damaged can be stepped over. */
static uint32_t head_sum(const unsigned char p[RECORD_HEAD_BYTES])
{
	return (uint32_t)XXH3_64bits_withSeed(p + 16, RECORD_HEAD_BYTES - 16, XXH3_64bits(p, 12));
}

void record_head_make(unsigned char out[RECORD_HEAD_BYTES], const struct record_head *h)
{
	memset(out, 0, RECORD_HEAD_BYTES);
	memcpy(out, record_magic, 4);
	out[4] = (unsigned char)h->class;
	put_le(out + 8, h->n, 4);
	put_le(out + 16, h->seq, 8);
	put_le(out + 24, (uint64_t)h->real_ns, 8);
	put_le(out + 32, h->sum, 8);
	put_le(out + 12, head_sum(out), 4);
}

int record_head_read(int fd, uint64_t at, enum spool_class class, uint64_t after,
		     struct record_head *ret)
{
	unsigned char p[RECORD_HEAD_BYTES];
	ssize_t n = pread(fd, p, sizeof p, (off_t)at);
	if (n < 0)
		return -errno;
	if (n != (ssize_t)sizeof p || memcmp(p, record_magic, 4) != 0 ||
	    get_le(p + 12, 4) != head_sum(p))
		return 0;
	*ret = (struct record_head){ .class = class,
				     .n = (uint32_t)get_le(p + 8, 4),
				     .seq = get_le(p + 16, 8),
				     .real_ns = (int64_t)get_le(p + 24, 8),
				     .sum = get_le(p + 32, 8) };
	return p[4] == (unsigned char)class && ret->n && ret->n <= SPOOL_MAX_RECORD &&
	       ret->seq > after;
}

int record_bytes_read(int fd, uint64_t at, const struct record_head *h, char **data, size_t *cap)
{
	if (*cap < h->n) {
		char *more = realloc(*data, h->n);
		if (!more)
			return -ENOMEM;
		*data = more;
		*cap = h->n;
	}
	ssize_t got = file_fill_at(fd, *data, h->n, at + RECORD_HEAD_BYTES);
	if (got < 0)
		return (int)got;
	return (size_t)got == h->n && XXH3_64bits(*data, h->n) == h->sum;
}

void segment_leave(struct spool *s, enum spool_class class, uint64_t first)
{
	struct tail *t = &s->tails[class];
	struct cursor *c = &s->cursors[class];
	if (t->fd >= 0 && t->first == first) {
		(void)close(t->fd);
		*t = (struct tail){ .fd = -1 };
	}
	if (c->fd >= 0 && c->first == first)
		cursor_reset(c);
}

int segment_remove(struct spool *s, enum spool_class class, uint64_t first)
{
	char name[SEGMENT_NAME_BYTES];
	struct stat st;
	segment_name(name, class, first);
	segment_leave(s, class, first);
	s->alone[class] = 0;
	if (fstatat(s->folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (unlinkat(s->folder, name, 0))
		return -errno;
	s->bytes -= (uint64_t)st.st_size < s->bytes ? (uint64_t)st.st_size : s->bytes;
	s->folder_dirty = true;
	return 0;
}
