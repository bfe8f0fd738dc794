/* A region's bytes, unpacked piece by piece. It may be several streams one after the other: each
 * process of a job may have packed its own part. */
#define _GNU_SOURCE
#include <bzlib.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "import/darshan_log.h"

#define PIECE_BYTES ((size_t)128 << 10)
#define REGION_BYTES_MAX ((uint64_t)1 << 40) /* unpacked: somebody's bomb, not a log */
#define NAME_BYTES_MAX ((size_t)64 << 10)

struct darshan_stream {
	struct darshan_log *log;
	const char *what;
	uint64_t at, left;  /* packed bytes that were not read yet */
	uint64_t given;     /* plain bytes that were handed out */
	bool inside, ended; /* inside: a packed stream has begun and not ended */
	bool made;
	unsigned char *in, *out; /* PIECE_BYTES each */
	size_t in_at, in_n, out_at, out_n;
	z_stream z;
	bz_stream bz;
};

int darshan_stream_fault(struct darshan_stream *s, struct err *err, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return err_set(err, -EINVAL, "%s: module region %s, after %llu unpacked bytes: %s", s->log->path,
		       s->what, (unsigned long long)s->given, text);
}

static int damaged(struct darshan_stream *s, struct err *err)
{
	return darshan_stream_fault(s, err, "the packed data is damaged; copy the file again");
}

int darshan_stream_open(struct darshan_stream **ret, struct darshan_log *log,
			const struct darshan_region *region, const char *what, struct err *err)
{
	if (region->at > log->bytes || region->bytes > log->bytes - region->at)
		return err_set(err, -EINVAL,
			       "%s: module region %s: %llu bytes from byte %llu on, but the file ends at "
			       "%llu: it is cut or damaged; copy the file again",
			       log->path, what, (unsigned long long)region->bytes,
			       (unsigned long long)region->at, (unsigned long long)log->bytes);
	struct darshan_stream *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	*s = (struct darshan_stream){
		.log = log, .what = what, .at = region->at, .left = region->bytes
	};
	s->in = malloc(PIECE_BYTES);
	s->out = malloc(PIECE_BYTES);
	bool ok = s->in && s->out;
	if (ok && log->packing == DARSHAN_ZLIB)
		ok = s->made = inflateInit2(&s->z, 32 + MAX_WBITS) == Z_OK;
	if (!ok) {
		darshan_stream_close(s);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = s;
	return 0;
}

void darshan_stream_close(struct darshan_stream *s)
{
	if (!s)
		return;
	if (s->made && s->log->packing == DARSHAN_ZLIB)
		(void)inflateEnd(&s->z);
	if (s->made && s->log->packing == DARSHAN_BZIP2)
		(void)BZ2_bzDecompressEnd(&s->bz);
	free(s->in);
	free(s->out);
	free(s);
}

/* ---- unpacking ----------------------------------------------------------------------------------
 */

static int more_packed(struct darshan_stream *s, struct err *err)
{
	if (s->in_at < s->in_n || !s->left)
		return 0;
	size_t want = s->left < PIECE_BYTES ? (size_t)s->left : PIECE_BYTES;
	ssize_t k;
	do
		k = pread(s->log->fd, s->in, want, (off_t)s->at);
	while (k < 0 && errno == EINTR);
	if (k < 0) {
		int e = errno;
		return err_set(err, -e, "read %s: %s", s->log->path, strerror(e));
	}
	if (!k)
		return darshan_stream_fault(s, err, "the file became shorter while it was read");
	s->at += (uint64_t)k;
	s->left -= (uint64_t)k;
	s->in_at = 0;
	s->in_n = (size_t)k;
	return 0;
}

static int begin_zlib(struct darshan_stream *s)
{
	return inflateReset(&s->z) == Z_OK ? 0 : -ENOMEM;
}

static int begin_bzip2(struct darshan_stream *s)
{
	if (s->made)
		(void)BZ2_bzDecompressEnd(&s->bz);
	s->made = false;
	memset(&s->bz, 0, sizeof s->bz);
	if (BZ2_bzDecompressInit(&s->bz, 0, 0) != BZ_OK)
		return -ENOMEM;
	s->made = true;
	return 0;
}

static int step_zlib(struct darshan_stream *s, struct err *err)
{
	s->z.next_in = s->in + s->in_at;
	s->z.avail_in = (uInt)(s->in_n - s->in_at);
	s->z.next_out = s->out + s->out_n;
	s->z.avail_out = (uInt)(PIECE_BYTES - s->out_n);
	int z = inflate(&s->z, Z_NO_FLUSH);
	s->in_at = s->in_n - s->z.avail_in;
	s->out_n = PIECE_BYTES - s->z.avail_out;
	if (z == Z_STREAM_END)
		s->inside = false;
	else if (z == Z_MEM_ERROR)
		return err_set(err, -ENOMEM, "out of memory");
	else if (z != Z_OK && z != Z_BUF_ERROR)
		return damaged(s, err);
	return 0;
}

static int step_bzip2(struct darshan_stream *s, struct err *err)
{
	s->bz.next_in = (char *)s->in + s->in_at;
	s->bz.avail_in = (unsigned)(s->in_n - s->in_at);
	s->bz.next_out = (char *)s->out + s->out_n;
	s->bz.avail_out = (unsigned)(PIECE_BYTES - s->out_n);
	int z = BZ2_bzDecompress(&s->bz);
	s->in_at = s->in_n - s->bz.avail_in;
	s->out_n = PIECE_BYTES - s->bz.avail_out;
	if (z == BZ_STREAM_END)
		s->inside = false;
	else if (z == BZ_MEM_ERROR)
		return err_set(err, -ENOMEM, "out of memory");
	else if (z != BZ_OK)
		return damaged(s, err);
	return 0;
}

static void step_plain(struct darshan_stream *s)
{
	size_t n = s->in_n - s->in_at, room = PIECE_BYTES - s->out_n;
	n = n < room ? n : room;
	memcpy(s->out + s->out_n, s->in + s->in_at, n);
	s->in_at += n;
	s->out_n += n;
	s->inside = false;
}

/* Something new in out, or the end. */
static int unpack(struct darshan_stream *s, struct err *err)
{
	s->out_at = s->out_n = 0;
	while (!s->out_n && !s->ended) {
		int rc = more_packed(s, err);
		if (rc)
			return rc;
		bool last = s->in_at == s->in_n;
		if (last && !s->inside) {
			s->ended = true;
			break;
		}
		if (!s->inside && s->log->packing != DARSHAN_PLAIN) {
			rc = s->log->packing == DARSHAN_ZLIB ? begin_zlib(s) : begin_bzip2(s);
			if (rc)
				return err_set(err, rc, "out of memory");
		}
		s->inside = true;
		if (s->log->packing == DARSHAN_ZLIB)
			rc = step_zlib(s, err);
		else if (s->log->packing == DARSHAN_BZIP2)
			rc = step_bzip2(s, err);
		else
			step_plain(s);
		if (rc)
			return rc;
		if (last && s->inside && !s->out_n)
			return darshan_stream_fault(s, err,
						    "the packed data ends in the middle; copy the file "
						    "again");
	}
	return 0;
}

int64_t darshan_stream_some(struct darshan_stream *s, void *to, size_t room, struct err *err)
{
	size_t got = 0;
	while (got < room) {
		if (s->out_at == s->out_n) {
			int rc = unpack(s, err);
			if (rc)
				return rc;
			if (s->ended)
				break;
		}
		size_t n = s->out_n - s->out_at < room - got ? s->out_n - s->out_at : room - got;
		if (to)
			memcpy((char *)to + got, s->out + s->out_at, n);
		s->out_at += n;
		got += n;
		s->given += n;
		if (s->given > REGION_BYTES_MAX)
			return darshan_stream_fault(s, err, "more than 1 TiB when it is unpacked");
	}
	return (int64_t)got;
}

int darshan_stream_take(struct darshan_stream *s, void *to, uint64_t n, struct err *err)
{
	for (uint64_t done = 0; done < n;) {
		size_t want = n - done < PIECE_BYTES ? (size_t)(n - done) : PIECE_BYTES;
		int64_t k = darshan_stream_some(s, to ? (char *)to + done : NULL, want, err);
		if (k < 0)
			return (int)k;
		if (!k && !done)
			return 0;
		if ((size_t)k < want)
			return darshan_stream_fault(s, err,
						    "it ends in the middle of something; the log is "
						    "damaged");
		done += (uint64_t)k;
	}
	return 1;
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* Up to the NUL, which the region's end may stand for no more than for any other byte. */
static int take_text(struct darshan_stream *s, char *to, size_t *ret_n, struct err *err)
{
	for (size_t n = 0; n < NAME_BYTES_MAX; n++) {
		int rc = darshan_stream_take(s, to + n, 1, err);
		if (rc < 0)
			return rc;
		if (!rc)
			return darshan_stream_fault(s, err, "it ends within a name; the log is damaged");
		if (!to[n]) {
			*ret_n = n;
			return 0;
		}
	}
	return darshan_stream_fault(s, err, "a name of more than %zu bytes; the log is damaged",
				    NAME_BYTES_MAX);
}

static int take_counted(struct darshan_stream *s, char *to, size_t *ret_n, struct err *err)
{
	unsigned char length[4];
	int rc = darshan_stream_take(s, length, sizeof length, err);
	uint32_t n = rc == 1 ? darshan_u32(s->log, length) : 0;
	if (rc == 1 && n >= NAME_BYTES_MAX)
		return darshan_stream_fault(s, err, "a name of %u bytes; the log is damaged", n);
	if (rc == 1 && n)
		rc = darshan_stream_take(s, to, n, err);
	if (rc < 0)
		return rc;
	if (!rc)
		return darshan_stream_fault(s, err, "it ends within a name; the log is damaged");
	to[n] = '\0';
	*ret_n = n;
	return 0;
}

int darshan_names(struct darshan_log *log,
		  int (*each)(void *self, uint64_t id, const char *name, size_t n), void *self,
		  struct err *err)
{
	bool counted = strcmp(log->version, "3.00") == 0;
	struct darshan_stream *s;
	if (!log->names.bytes)
		return 0;
	int rc = darshan_stream_open(&s, log, &log->names, "of names", err);
	if (rc)
		return rc;
	char *name = malloc(NAME_BYTES_MAX);
	if (!name)
		rc = err_set(err, -ENOMEM, "out of memory");
	while (!rc) {
		unsigned char id[8];
		size_t n = 0;
		int more = darshan_stream_take(s, id, sizeof id, err);
		if (more <= 0) {
			rc = more;
			break;
		}
		rc = counted ? take_counted(s, name, &n, err) : take_text(s, name, &n, err);
		if (!rc)
			rc = each(self, darshan_u64(log, id), name, n);
	}
	free(name);
	darshan_stream_close(s);
	return rc;
}
