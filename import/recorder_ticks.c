/* Times of one process: pairs of 32 bits, maybe packed with zlib. Read piece by piece. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "import/recorder_trace.h"

#define PIECE_BYTES ((size_t)64 << 10)

struct recorder_ticks {
	char *path;
	int fd;
	uint64_t at, left; /* bytes of the file */
	uint64_t pairs;    /* in all */
	bool packed, ended;
	z_stream z;
	size_t in_n, out_at, out_n;
	unsigned char in[PIECE_BYTES], out[PIECE_BYTES + 8];
};

static uint64_t number(const unsigned char *b, size_t n)
{
	uint64_t x = 0;
	for (size_t i = n; i-- > 0;)
		x = x << 8 | b[i];
	return x;
}

static ssize_t read_some(struct recorder_ticks *t, void *to, size_t room, struct err *err)
{
	size_t want = t->left < room ? (size_t)t->left : room;
	ssize_t k;
	do
		k = want ? pread(t->fd, to, want, (off_t)t->at) : 0;
	while (k < 0 && errno == EINTR);
	if (k < 0) {
		int e = errno;
		return err_set(err, -e, "read %s: %s", t->path, strerror(e));
	}
	t->at += (uint64_t)k;
	t->left -= (uint64_t)k;
	return k;
}

/* Is it u64 packed bytes, u64 plain bytes, a zlib stream that goes on to the end? */
static int look(struct recorder_ticks *t, struct err *err)
{
	unsigned char b[18];
	uint64_t at = t->at, left = t->left;
	ssize_t n = left >= sizeof b ? read_some(t, b, sizeof b, err) : 0;
	if (n < 0)
		return (int)n;
	unsigned head = n == sizeof b ? (unsigned)b[16] << 8 | b[17] : 1;
	t->at = at;
	t->left = left;
	t->pairs = left / 8;
	if (n != sizeof b || (head >> 8 & 15) != 8 || head % 31 || number(b, 8) != left - 16 ||
	    number(b + 8, 8) % 8)
		return 0;
	t->packed = true;
	t->pairs = number(b + 8, 8) / 8;
	t->at += 16;
	t->left -= 16;
	return inflateInit(&t->z) == Z_OK ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int recorder_ticks_open(struct recorder_ticks **ret, const char *path, uint64_t at, uint64_t bytes,
			struct err *err)
{
	struct stat st;
	struct recorder_ticks *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->path = strdup(path);
	t->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = 0;
	if (!t->path)
		rc = err_set(err, -ENOMEM, "out of memory");
	else if (t->fd < 0 || fstat(t->fd, &st)) {
		int e = errno;
		rc = err_set(err, -e, "open %s: %s", path, strerror(e));
	} else if (!S_ISREG(st.st_mode)) {
		rc = err_set(err, -EINVAL, "%s is not a plain file", path);
	} else {
		uint64_t size = (uint64_t)st.st_size;
		t->at = at < size ? at : size;
		t->left = bytes < size - t->at ? bytes : size - t->at;
		rc = look(t, err);
	}
	if (rc) {
		recorder_ticks_close(t);
		return rc;
	}
	*ret = t;
	return 0;
}

void recorder_ticks_close(struct recorder_ticks *t)
{
	if (!t)
		return;
	if (t->packed)
		(void)inflateEnd(&t->z);
	if (t->fd >= 0)
		(void)close(t->fd);
	free(t->path);
	free(t);
}

uint64_t recorder_ticks_count(const struct recorder_ticks *t)
{
	return t->pairs;
}

static int more(struct recorder_ticks *t, struct err *err)
{
	size_t rest = t->out_n - t->out_at;
	memmove(t->out, t->out + t->out_at, rest);
	t->out_at = 0;
	t->out_n = rest;
	if (!t->packed) {
		ssize_t n = read_some(t, t->out + rest, PIECE_BYTES, err);
		if (n < 0)
			return (int)n;
		t->out_n += (size_t)n;
		t->ended = n == 0;
		return 0;
	}
	while (t->out_n < 8 && !t->ended) {
		if (!t->z.avail_in) {
			ssize_t n = read_some(t, t->in, PIECE_BYTES, err);
			if (n < 0)
				return (int)n;
			t->z.next_in = t->in;
			t->z.avail_in = (uInt)n;
		}
		bool last = !t->z.avail_in;
		t->z.next_out = t->out + t->out_n;
		t->z.avail_out = (uInt)(sizeof t->out - t->out_n);
		int z = inflate(&t->z, Z_NO_FLUSH);
		t->out_n = sizeof t->out - t->z.avail_out;
		if (z == Z_STREAM_END || (last && z == Z_BUF_ERROR))
			t->ended = true;
		else if (z != Z_OK && z != Z_BUF_ERROR)
			return err_set(err, -EINVAL, "%s: the packed times are damaged; copy the trace again",
				       t->path);
	}
	return 0;
}

int recorder_ticks_next(struct recorder_ticks *t, uint32_t *begin, uint32_t *end, struct err *err)
{
	while (t->out_n - t->out_at < 8) {
		if (t->ended)
			return 0;
		int rc = more(t, err);
		if (rc)
			return rc;
	}
	*begin = (uint32_t)number(t->out + t->out_at, 4);
	*end = (uint32_t)number(t->out + t->out_at + 4, 4);
	t->out_at += 8;
	return 1;
}
