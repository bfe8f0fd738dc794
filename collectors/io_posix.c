/* Calls that move bytes by a descriptor. */
#define IO_ALL_HOT
#include "collectors/io_wrap.h"

#include <limits.h>
#include <sys/uio.h>

struct moved {
	struct io_span c;
	int64_t *place; /* NULL: none, or not known */
	uint32_t number;
};

/* Not the descriptor that this thread used last. */
static bool moved_begin_other(struct moved *m, int fd)
{
	struct io_open *o;
	uint32_t changed =
		__atomic_load_n(&io.changed, __ATOMIC_ACQUIRE); /* before it's looked up */
	if (!io_begin_fd(&m->c, fd, &o))
		return false;
	m->number = io_number(o);
	m->place = o && !o->placeless ? o->place : NULL;
	if (o && o->known) {
		struct io_thread *t = m->c.thread;
		t->last_fd = fd;
		t->last_changed = changed;
		t->last_number = m->number;
		t->last_place = m->place;
	}
	return true;
}

/* What is needed afterwards is looked up before: memory that the call has made slow is touched
 * less. False: go on, and do nothing else. */
IO_HOT static inline bool moved_begin(struct moved *m, int fd)
{
	const struct io_self *s = &io_self;
	const struct io_thread *t = s->thread;
	if (UNLIKELY(!t || s->ours | s->quiet | s->vforked || !io_is_on() || t->last_fd != fd ||
		     t->last_changed != GET(io.changed)))
		return moved_begin_other(m, fd);
	m->c.thread = s->thread;
	m->number = t->last_number;
	m->place = t->last_place;
	m->c.tick = io_now();
	return true;
}

static int64_t moved_place(const struct moved *m, int64_t n)
{
	if (!m->place)
		return IO_NO_PLACE;
	return n > 0 ? __atomic_fetch_add(m->place, n, __ATOMIC_RELAXED) : GET(*m->place);
}

/* Of the descriptor's own place. */
IO_HOT static ssize_t moved_end(const struct moved *m, enum io_call call, ssize_t rc, size_t asked)
{
	int64_t result = io_result(rc);
	io_end(&m->c, call, result, moved_place(m, rc), ARGS(m->number, (int64_t)asked));
	return rc;
}

WRAP(ssize_t, read, int fd, void *to, size_t n)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(read)(fd, to, n);
	return moved_end(&m, IO_read, NEXT(read)(fd, to, n), n);
}
ALSO(__read, read);

WRAP(ssize_t, __read_chk, int fd, void *to, size_t n, size_t room)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(__read_chk)(fd, to, n, room);
	return moved_end(&m, IO_read, NEXT(__read_chk)(fd, to, n, room), n);
}

WRAP(ssize_t, write, int fd, const void *from, size_t n)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(write)(fd, from, n);
	return moved_end(&m, IO_write, NEXT(write)(fd, from, n), n);
}
ALSO(__write, write);

/* ---- at a place of the caller's -----------------------------------------------------------------
 */

IO_HOT static ssize_t moved_at(const struct moved *m, enum io_call call, ssize_t rc, size_t asked,
			       off_t at)
{
	bool nowhere = m->number && !m->place && call == IO_pwrite; /* Linux appends */
	io_end(&m->c, call, io_result(rc), nowhere ? IO_NO_PLACE : at,
	       ARGS(m->number, (int64_t)asked, at));
	return rc;
}

WRAP(ssize_t, pread, int fd, void *to, size_t n, off_t at)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(pread)(fd, to, n, at);
	return moved_at(&m, IO_pread, NEXT(pread)(fd, to, n, at), n, at);
}
ALSO(pread64, pread);
ALSO(__pread64, pread);

WRAP(ssize_t, __pread_chk, int fd, void *to, size_t n, off_t at, size_t room)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(__pread_chk)(fd, to, n, at, room);
	return moved_at(&m, IO_pread, NEXT(__pread_chk)(fd, to, n, at, room), n, at);
}
ALSO(__pread64_chk, __pread_chk);

WRAP(ssize_t, pwrite, int fd, const void *from, size_t n, off_t at)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(pwrite)(fd, from, n, at);
	return moved_at(&m, IO_pwrite, NEXT(pwrite)(fd, from, n, at), n, at);
}
ALSO(pwrite64, pwrite);
ALSO(__pwrite64, pwrite);

/* ---- in parts -----------------------------------------------------------------------------------
 */

/* After the call: where it has read them they are there. */
static bool parts_were_read(ssize_t rc)
{
	switch (rc < 0 ? errno : 0) {
	case 0:
	case EAGAIN:
	case EINTR:
	case EIO:
	case ENOSPC:
	case EFBIG:
	case EDQUOT:
	case EPIPE:
		return true;
	default:
		return false;
	}
}

static int64_t bytes_of(const struct iovec *parts, int n, ssize_t rc)
{
	int64_t bytes = 0;
	if (!parts_were_read(rc))
		return 0;
	for (int i = 0; i < n && i < IOV_MAX; i++)
		bytes += (int64_t)parts[i].iov_len;
	return bytes;
}

static ssize_t moved_parts(const struct moved *m, enum io_call call, ssize_t rc,
			   const struct iovec *parts, int n)
{
	int64_t result = io_result(rc);
	io_end(&m->c, call, result, moved_place(m, rc), ARGS(m->number, bytes_of(parts, n, rc), n));
	return rc;
}

WRAP(ssize_t, readv, int fd, const struct iovec *parts, int n)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(readv)(fd, parts, n);
	return moved_parts(&m, IO_readv, NEXT(readv)(fd, parts, n), parts, n);
}

WRAP(ssize_t, writev, int fd, const struct iovec *parts, int n)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(writev)(fd, parts, n);
	return moved_parts(&m, IO_writev, NEXT(writev)(fd, parts, n), parts, n);
}

static ssize_t moved_parts_at(const struct moved *m, enum io_call call, ssize_t rc,
			      const struct iovec *parts, int n, off_t at, int flags)
{
	int64_t result = io_result(rc), place = at;
	bool own = at == -1 && (call == IO_preadv2 || call == IO_pwritev2);
	if (own)
		place = moved_place(m, rc);
	else if (m->number && !m->place && (call == IO_pwritev || call == IO_pwritev2))
		place = IO_NO_PLACE;
	if (call == IO_pwritev2 && flags & RWF_APPEND)
		place = IO_NO_PLACE; /* whatever was asked for */
	io_end(&m->c, call, result, place, ARGS(m->number, bytes_of(parts, n, rc), at, n, flags));
	return rc;
}

WRAP(ssize_t, preadv, int fd, const struct iovec *parts, int n, off_t at)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(preadv)(fd, parts, n, at);
	return moved_parts_at(&m, IO_preadv, NEXT(preadv)(fd, parts, n, at), parts, n, at, 0);
}
ALSO(preadv64, preadv);

WRAP(ssize_t, pwritev, int fd, const struct iovec *parts, int n, off_t at)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(pwritev)(fd, parts, n, at);
	return moved_parts_at(&m, IO_pwritev, NEXT(pwritev)(fd, parts, n, at), parts, n, at, 0);
}
ALSO(pwritev64, pwritev);

WRAP(ssize_t, preadv2, int fd, const struct iovec *parts, int n, off_t at, int flags)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(preadv2)(fd, parts, n, at, flags);
	return moved_parts_at(&m, IO_preadv2, NEXT(preadv2)(fd, parts, n, at, flags), parts, n, at,
			      flags);
}
ALSO(preadv64v2, preadv2);

WRAP(ssize_t, pwritev2, int fd, const struct iovec *parts, int n, off_t at, int flags)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(pwritev2)(fd, parts, n, at, flags);
	return moved_parts_at(&m, IO_pwritev2, NEXT(pwritev2)(fd, parts, n, at, flags), parts, n,
			      at, flags);
}
ALSO(pwritev64v2, pwritev2);

/* ---- where --------------------------------------------------------------------------------------
 */

WRAP(off_t, lseek, int fd, off_t by, int whence)
{
	struct moved m;
	if (!moved_begin(&m, fd))
		return NEXT(lseek)(fd, by, whence);
	off_t rc = NEXT(lseek)(fd, by, whence);
	int64_t result = io_result(rc);
	if (rc >= 0 && m.place)
		PUT(*m.place, rc);
	io_end(&m.c, IO_lseek, result, IO_NO_PLACE, ARGS(m.number, by, whence));
	return rc;
}
ALSO(lseek64, lseek);
ALSO(__lseek, lseek);
ALSO(llseek, lseek);
