/* Files as they are: one piece of the file in, one plain piece out. */
#define _GNU_SOURCE
#include "import/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "lib/file.h"

#define PIECE_BYTES ((size_t)256 << 10) /* in the second-level cache, and few system calls */
#define HEAD_BYTES 4096
#define PLAIN_BYTES_MAX ((uint64_t)64 << 30)

enum packing { PLAIN, GZIP, ZSTD };

struct source {
	char *path;
	int fd, plain_fd; /* plain_fd: the unpacked copy; -1 */
	enum packing packing;
	int64_t mtime_ns;
	uint64_t given; /* plain bytes so far */
	bool inside;    /* a member or frame has begun and not ended */
	bool ended;
	const char *in, *in_end; /* not unpacked yet */
	char *raw, *plain;       /* PIECE_BYTES each; raw NULL for a plain file */
	z_stream z;
	bool z_made;
	ZSTD_DStream *zstd;
	char head[HEAD_BYTES + 1];
	size_t head_n;
	char plain_path[40], hash[33];
	XXH3_state_t *hasher; /* of what was read since the start of the file; NULL: none */
};

/* ---- the file as it is --------------------------------------------------------------------------
 */

static int read_failed(struct source *s, int rc, struct err *err)
{
	return err_set(err, rc, "read %s: %s", s->path, strerror(-rc));
}

/* What is read from begin to end anyway need not be read once more for its hash. */
static void hash_begin(struct source *s)
{
	if (s->hash[0])
		return;
	if (!s->hasher)
		s->hasher = XXH3_createState();
	if (s->hasher)
		(void)XXH3_128bits_reset(s->hasher);
}

static void hash_end(struct source *s)
{
	XXH128_hash_t h = XXH3_128bits_digest(s->hasher);
	(void)snprintf(s->hash, sizeof s->hash, "%016llx%016llx", (unsigned long long)h.high64,
		       (unsigned long long)h.low64);
	(void)XXH3_freeState(s->hasher);
	s->hasher = NULL;
}

/* Up to n bytes; fewer only at the end. Negative: -errno. */
static ssize_t read_piece(struct source *s, char *to, size_t n, struct err *err)
{
	ssize_t got = file_fill(s->fd, to, n);
	if (got < 0)
		return read_failed(s, (int)got, err);
	if (s->hasher) {
		(void)XXH3_128bits_update(s->hasher, to, (size_t)got);
		if ((size_t)got < n)
			hash_end(s);
	}
	return got;
}

static int more_raw(struct source *s, struct err *err)
{
	if (s->in < s->in_end)
		return 0;
	ssize_t n = read_piece(s, s->raw, PIECE_BYTES, err);
	if (n < 0)
		return (int)n;
	s->in = s->raw;
	s->in_end = s->raw + n;
	return 0;
}

/* ---- unpacking
 * ----------------------------------------------------------------------------------- */

static int damaged(struct source *s, const char *what, struct err *err)
{
	return err_set(
		err, -EINVAL,
		"%s: the %s data is damaged%s%s, after %llu unpacked bytes; copy the file again",
		s->path, s->packing == GZIP ? "gzip" : "zstd", what ? ": " : "", what ? what : "",
		(unsigned long long)s->given);
}

static int cut(struct source *s, struct err *err)
{
	return err_set(err, -EINVAL,
		       "%s: the compressed file is cut: it ends after %llu unpacked bytes, in the "
		       "middle; copy "
		       "the file again",
		       s->path, (unsigned long long)s->given);
}

/* Behind a member: the next one, zeroes that fill a block, or the end. */
static int gzip_begins(struct source *s, struct err *err)
{
	while (s->in < s->in_end && !*s->in && s->given)
		if (++s->in == s->in_end) {
			int rc = more_raw(s, err);
			if (rc)
				return rc;
		}
	if (s->in == s->in_end) {
		s->ended = true;
		return 0;
	}
	if (inflateReset(&s->z) != Z_OK)
		return damaged(s, NULL, err);
	s->inside = true;
	return 0;
}

static int gzip_step(struct source *s, size_t *n, struct err *err)
{
	int rc = s->inside ? 0 : gzip_begins(s, err);
	if (rc || s->ended)
		return rc;
	/* At the end of the file too: what it holds back for want of room comes now. */
	bool last = s->in == s->in_end;
	size_t before = *n;
	s->z.next_in = (Bytef *)(uintptr_t)s->in;
	s->z.avail_in = (uInt)(s->in_end - s->in);
	s->z.next_out = (Bytef *)s->plain + *n;
	s->z.avail_out = (uInt)(PIECE_BYTES - *n);
	int z = inflate(&s->z, Z_NO_FLUSH);
	s->in = (const char *)s->z.next_in;
	*n = PIECE_BYTES - s->z.avail_out;
	if (z == Z_STREAM_END)
		s->inside = false;
	else if (z == Z_MEM_ERROR)
		return err_set(err, -ENOMEM, "out of memory");
	else if (z != Z_OK && z != Z_BUF_ERROR)
		return damaged(s, s->z.msg, err);
	return last && s->inside && *n == before ? cut(s, err) : 0;
}

static int zstd_step(struct source *s, size_t *n, struct err *err)
{
	bool last = s->in == s->in_end;
	size_t before = *n;
	if (last && !s->inside) {
		s->ended = true;
		return 0;
	}
	ZSTD_inBuffer in = { s->in, (size_t)(s->in_end - s->in), 0 };
	ZSTD_outBuffer out = { s->plain, PIECE_BYTES, *n };
	size_t left = ZSTD_decompressStream(s->zstd, &out, &in);
	if (ZSTD_isError(left))
		return damaged(s, ZSTD_getErrorName(left), err);
	s->in += in.pos;
	*n = out.pos;
	s->inside = left != 0;
	return last && s->inside && *n == before ? cut(s, err) : 0;
}

static int unpack(struct source *s, size_t *n, struct err *err)
{
	while (*n < PIECE_BYTES && !s->ended) {
		int rc = more_raw(s, err);
		if (!rc)
			rc = s->packing == GZIP ? gzip_step(s, n, err) : zstd_step(s, n, err);
		if (rc)
			return rc;
	}
	return 0;
}

int source_next(struct source *s, const char **ret, size_t *ret_n, struct err *err)
{
	size_t n = 0;
	*ret = s->plain;
	*ret_n = 0;
	if (s->packing == PLAIN) {
		ssize_t got = read_piece(s, s->plain, PIECE_BYTES, err);
		if (got < 0)
			return (int)got;
		n = (size_t)got;
	} else {
		int rc = unpack(s, &n, err);
		if (rc)
			return rc;
	}
	s->given += n;
	if (s->given > PLAIN_BYTES_MAX)
		return err_set(err, -EFBIG, "%s: more than 64 GiB when it is unpacked", s->path);
	*ret_n = n;
	return 0;
}

int source_rewind(struct source *s, struct err *err)
{
	if (lseek(s->fd, 0, SEEK_SET) < 0)
		return read_failed(s, -errno, err);
	s->in = s->in_end = NULL;
	s->given = 0;
	s->inside = s->ended = false;
	hash_begin(s);
	if (s->zstd)
		(void)ZSTD_DCtx_reset(s->zstd, ZSTD_reset_session_only);
	return 0;
}

/* ---- open
 * ------------------------------------------------------------------------------------------ */

static int other_packing(struct source *s, const char *bytes, size_t n, struct err *err)
{
	static const struct {
		const char *magic, *name;
		size_t n;
	} others[] = {
		{ "\xfd"
		  "7zXZ",
		  "xz", 5 },
		{ "BZh", "bzip2", 3 },
		{ "PK\3\4", "zip", 4 },
		{ "7z\xbc\xaf", "7z", 4 },
		{ "\x04\x22\x4d\x18", "lz4", 4 },
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (n >= others[i].n && memcmp(bytes, others[i].magic, others[i].n) == 0)
			return err_set(err, -EINVAL,
				       "%s: compressed with %s, which is not read here; unpack it "
				       "first (gzip "
				       "and zstd are read as they are)",
				       s->path, others[i].name);
	return 0;
}

static int know_packing(struct source *s, struct err *err)
{
	unsigned char b[8];
	ssize_t got = read_piece(s, (char *)b, sizeof b, err);
	if (got < 0)
		return (int)got;
	size_t n = (size_t)got;
	if (!n)
		return err_set(err, -EINVAL, "%s is empty", s->path);
	if (n >= 2 && b[0] == 0x1f && b[1] == 0x8b)
		s->packing = GZIP;
	else if (n >= 4 &&
		 ((b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd) ||
		  ((b[0] & 0xf0) == 0x50 && b[1] == 0x2a && b[2] == 0x4d && b[3] == 0x18)))
		s->packing = ZSTD; /* a frame, or one that is to be skipped */
	return other_packing(s, (const char *)b, n, err);
}

static int make_unpacker(struct source *s, struct err *err)
{
	s->plain = malloc(PIECE_BYTES);
	if (s->packing != PLAIN)
		s->raw = malloc(PIECE_BYTES);
	bool ok = s->plain && (s->packing == PLAIN || s->raw);
	if (ok && s->packing == GZIP)
		ok = s->z_made = inflateInit2(&s->z, 16 + MAX_WBITS) == Z_OK;
	if (ok && s->packing == ZSTD)
		ok = (s->zstd = ZSTD_createDStream()) != NULL;
	return ok ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int take_head(struct source *s, struct err *err)
{
	const char *piece;
	size_t n;
	int rc = source_rewind(s, err);
	if (!rc)
		rc = source_next(s, &piece, &n, err);
	if (rc)
		return rc;
	if (!n)
		return err_set(err, -EINVAL, "%s: nothing is packed in it", s->path);
	s->head_n = n < HEAD_BYTES ? n : HEAD_BYTES;
	memcpy(s->head, piece, s->head_n);
	return source_rewind(s, err);
}

static int open_file(struct source *s, struct err *err)
{
	struct stat st;
	/* Without O_NONBLOCK a pipe without a writer would keep us waiting. */
	s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0 || fstat(s->fd, &st)) {
		int e = errno;
		return err_set(err, -e, "open %s: %s", s->path, strerror(e));
	}
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EINVAL, "%s is a folder: name the trace in it", s->path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL,
			       "%s is not a plain file: a trace is read twice, so save it first",
			       s->path);
	s->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return 0;
}

int source_open(struct source **ret, const char *path, struct err *err)
{
	struct source *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->fd = s->plain_fd = -1;
	s->path = strdup(path);
	int rc = s->path ? open_file(s, err) : err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = know_packing(s, err);
	if (!rc)
		rc = make_unpacker(s, err);
	if (!rc)
		rc = take_head(s, err);
	if (rc) {
		source_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->z_made)
		(void)inflateEnd(&s->z);
	(void)ZSTD_freeDStream(s->zstd);
	if (s->fd >= 0)
		(void)close(s->fd);
	if (s->plain_fd >= 0)
		(void)close(s->plain_fd);
	(void)XXH3_freeState(s->hasher);
	free(s->raw);
	free(s->plain);
	free(s->path);
	free(s);
}

const char *source_path(const struct source *s)
{
	return s->path;
}

const char *source_head(const struct source *s, size_t *ret_n)
{
	*ret_n = s->head_n;
	return s->head;
}

int64_t source_mtime_ns(const struct source *s)
{
	return s->mtime_ns;
}

/* ---- an unpacked copy
 * -------------------------------------------------------------------------------- */

/* Without a name from the start where the file system can, so that a kill leaves nothing. */
static int unnamed_file(struct err *err)
{
	const char *folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = "/tmp";
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/roimeter-XXXXXX", folder);
	fd = n > 0 && (size_t)n < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
	int e = errno;
	if (fd < 0)
		return err_set(err, -e, "make a file in %s to unpack into: %s; set TMPDIR", folder,
			       strerror(e));
	(void)unlink(path);
	return fd;
}

static int write_all(struct source *s, const char *bytes, size_t n, struct err *err)
{
	while (n) {
		ssize_t k = write(s->plain_fd, bytes, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			int e = errno;
			return err_set(
				err, -e,
				"unpack %s into the temporary folder: %s; set TMPDIR to where "
				"there is room",
				s->path, strerror(e));
		}
		bytes += k;
		n -= (size_t)k;
	}
	return 0;
}

static int unpack_all(struct source *s, struct err *err)
{
	const char *piece = NULL;
	size_t n = 0;
	int rc = source_rewind(s, err);
	do {
		if (!rc)
			rc = source_next(s, &piece, &n, err);
		if (!rc)
			rc = write_all(s, piece, n, err);
	} while (!rc && n);
	return rc;
}

int source_plain_file(struct source *s, const char **ret_path, struct err *err)
{
	*ret_path = s->path;
	if (s->packing == PLAIN)
		return 0;
	if (s->plain_fd < 0) {
		int fd = unnamed_file(err);
		if (fd < 0)
			return fd;
		s->plain_fd = fd;
		int rc = unpack_all(s, err);
		if (rc) {
			(void)close(s->plain_fd);
			s->plain_fd = -1;
			return rc;
		}
		(void)snprintf(s->plain_path, sizeof s->plain_path, "/proc/self/fd/%d", fd);
	}
	*ret_path = s->plain_path;
	return 0;
}

/* ---- its hash
 * ------------------------------------------------------------------------------------------ */

const char *source_hash(struct source *s, struct err *err)
{
	if (s->hash[0])
		return s->hash;
	char *piece = malloc(PIECE_BYTES);
	ssize_t n = 0;
	off_t at = 0;
	hash_begin(s);
	int rc = s->hasher && piece ? 0 : err_set(err, -ENOMEM, "out of memory");
	/* At its own place, so that whoever reads pieces is not moved. */
	while (!rc && (n = pread(s->fd, piece, PIECE_BYTES, at)) != 0) {
		if (n < 0 && errno != EINTR)
			rc = read_failed(s, -errno, err);
		if (n > 0) {
			(void)XXH3_128bits_update(s->hasher, piece, (size_t)n);
			at += n;
		}
	}
	if (!rc)
		hash_end(s);
	free(piece);
	return rc ? NULL : s->hash;
}
