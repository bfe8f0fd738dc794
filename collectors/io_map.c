/* Files mapped into memory: what moves behind a mapping can't be seen, only that it is there. And
 * calls that move bytes from file to file in the kernel. */
#include "collectors/io_wrap.h"

#include <sys/mman.h>

#define MAPPINGS 4096 /* of files, at a time; those past it are told by mmap alone */

/* ---- mappings -----------------------------------------------------------------------------------
 */

static struct mapping {
	uintptr_t at, end;
	uint32_t handle, forks;
} mappings[MAPPINGS]; /* the first n_mappings; with the lock */
static size_t n_mappings;

static void keep(const void *at, size_t n, uint32_t handle)
{
	if (io_lock())
		return;
	if (n_mappings < MAPPINGS) {
		mappings[n_mappings].at = (uintptr_t)at;
		mappings[n_mappings].end = (uintptr_t)at + n;
		mappings[n_mappings].handle = handle;
		mappings[n_mappings].forks = io.forks;
		PUT(n_mappings, n_mappings + 1);
	}
	io_unlock();
}

/* The handle of the mapping that this is in; 0: none of a file. gone: it is unmapped from its begin
 * on. */
static uint32_t mapped(const void *at, size_t n, bool gone)
{
	uintptr_t a = (uintptr_t)at;
	uint32_t handle = 0;
	int saved = errno;
	if (!GET(n_mappings) || io_lock()) {
		errno = saved;
		return 0;
	}
	for (size_t i = 0; i < n_mappings; i++) {
		struct mapping *m = &mappings[i];
		if (a < m->at || a >= m->end || m->forks != io.forks)
			continue;
		handle = m->handle;
		if (gone && a == m->at && a + n < m->end)
			m->at = a + ((n + 4095) & ~(size_t)4095);
		else if (gone && a == m->at)
			*m = mappings[--n_mappings];
		else if (gone)
			m->end = a;
		break;
	}
	io_unlock();
	errno = saved;
	return handle;
}

WRAP(void *, mmap, void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	struct io_span c;
	struct io_open *o;
	if (fd < 0 || flags & MAP_ANONYMOUS || !io_begin_fd(&c, fd, &o))
		return NEXT(mmap)(at, n, protection, flags, fd, offset);
	void *got = NEXT(mmap)(at, n, protection, flags, fd, offset);
	int saved = errno;
	bool failed = got == MAP_FAILED;
	io_end(&c, IO_mmap, failed ? -saved : 0, IO_NO_PLACE,
	       ARGS(io_number(o), offset, (int64_t)n, protection, flags));
	if (!failed)
		keep(got, n, io_number(o));
	errno = saved;
	return got;
}
ALSO(mmap64, mmap);

/* One that is moved or made longer is of the same file. */
static void moved(const void *at, const void *to, size_t n)
{
	if (io_lock())
		return;
	for (size_t i = 0; i < n_mappings; i++) {
		struct mapping *m = &mappings[i];
		if ((uintptr_t)at != m->at || m->forks != io.forks)
			continue;
		m->at = (uintptr_t)to;
		m->end = m->at + n;
		break;
	}
	io_unlock();
}

WRAP(void *, mremap, void *at, size_t n, size_t to_n, int flags, ...)
{
	va_list args;
	struct io_span c;
	va_start(args, flags);
	void *to = va_arg(args, void *);
	va_end(args);
	bool on = GET(n_mappings) && io_begin(&c);
	void *got = NEXT(mremap)(at, n, to_n, flags, to);
	int saved = errno;
	if (on && n && got != MAP_FAILED)
		moved(at, got, to_n);
	errno = saved;
	return got;
}

WRAP(int, munmap, void *at, size_t n)
{
	struct io_span c;
	if (!GET(n_mappings) || !io_begin(&c))
		return NEXT(munmap)(at, n);
	uint32_t handle = mapped(at, n, true); /* before another thread may have the same place */
	int rc = NEXT(munmap)(at, n);
	if (handle)
		io_end(&c, IO_munmap, io_result(rc), IO_NO_PLACE, ARGS(handle, (int64_t)n));
	return rc;
}

WRAP(int, msync, void *at, size_t n, int flags)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(msync)(at, n, flags);
	uint32_t handle = mapped(at, n, false);
	c.tick = io_now();
	int rc = NEXT(msync)(at, n, flags);
	io_end(&c, IO_msync, io_result(rc), IO_NO_PLACE, ARGS(handle, (int64_t)n, flags));
	return rc;
}

/* ---- from file to file --------------------------------------------------------------------------
 */

struct copying {
	struct io_span c;
	struct io_open *from, *to;
	int64_t from_at, to_at; /* as they were asked for; -1: the handle's own */
	const off_t *from_given, *to_given;
};

static bool copy_begin(struct copying *y, int from, int to)
{
	return io_begin_fd(&y->c, from, &y->from) && io_begin_fd(&y->c, to, &y->to);
}

/* Where it read, which its event has; where it wrote moves on, too. The offsets that were given
 * have moved by what was copied. */
static int64_t copied(struct copying *y, int64_t rc)
{
	int64_t moved = rc > 0 ? rc : 0;
	bool readable = rc >= 0;
	y->from_at = y->from_given && readable ? *y->from_given - moved : -1;
	y->to_at = y->to_given && readable ? *y->to_given - moved : -1;
	if (!y->to_given)
		(void)io_place_move(y->to, moved);
	return y->from_given ? y->from_at : io_place_move(y->from, moved);
}

#define WRAP_SENDFILE(name)                                                                        \
	WRAP(ssize_t, name, int to, int from, off_t *at, size_t n)                                 \
	{                                                                                          \
		struct copying y = { .from_given = at };                                           \
		if (!copy_begin(&y, from, to))                                                     \
			return NEXT(name)(to, from, at, n);                                        \
		ssize_t rc = NEXT(name)(to, from, at, n);                                          \
		int64_t result = io_result(rc), place = copied(&y, rc);                            \
		io_end(&y.c, IO_sendfile, result, place,                                           \
		       ARGS(io_number(y.from), y.from_at, io_number(y.to), (int64_t)n));           \
		return rc;                                                                         \
	}

WRAP_SENDFILE(sendfile)
WRAP_SENDFILE(sendfile64)

#define WRAP_COPY(name, call)                                                                      \
	WRAP(ssize_t, name, int from, off_t *from_at, int to, off_t *to_at, size_t n,              \
	     unsigned flags)                                                                       \
	{                                                                                          \
		struct copying y = { .from_given = from_at, .to_given = to_at };                   \
		if (!copy_begin(&y, from, to))                                                     \
			return NEXT(name)(from, from_at, to, to_at, n, flags);                     \
		ssize_t rc = NEXT(name)(from, from_at, to, to_at, n, flags);                       \
		int64_t result = io_result(rc), place = copied(&y, rc);                            \
		io_end(&y.c, call, result, place,                                                  \
		       ARGS(io_number(y.from), y.from_at, io_number(y.to), y.to_at, (int64_t)n,    \
			    (int64_t)flags));                                                      \
		return rc;                                                                         \
	}

WRAP_COPY(copy_file_range, IO_copy_file_range)
WRAP_COPY(splice, IO_splice)
