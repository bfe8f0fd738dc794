/* Descriptors that are made of others, or that are of no file: these have no event of their own,
 * but what they are of need not be asked for later. */
#include "collectors/io_wrap.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- of others ----------------------------------------------------------------------------------
 */

/* The new one has a handle of its own, and shares the place. */
static struct io_open *copied(const struct io_open *o, int fd)
{
	struct io_opened as = { .fd = fd, .flags = -1, .with = (struct io_open *)(uintptr_t)o };
	if (o) {
		as.path = o->path;
		as.flags = o->flags;
		as.interface = (enum io_interface)o->interface;
		as.hidden = o->hidden;
		as.cookie = o->cookie;
	}
	return o ? io_opened(&as) : NULL;
}

static int end_dup(const struct io_span *c, const struct io_open *o, int fd)
{
	uint64_t end = io_now();
	int64_t result = io_result(fd), from = io_number(o);
	if (fd >= 0)
		result = io_number(copied(o, fd));
	io_put(c, c->tick, end, IO_dup, result, IO_NO_PLACE, ARGS(from));
	return fd;
}

WRAP(int, dup, int fd)
{
	struct io_span c;
	struct io_open *o;
	if (!io_begin_fd(&c, fd, &o))
		return NEXT(dup)(fd);
	return end_dup(&c, o, NEXT(dup)(fd));
}

/* What it was before is closed, whether somebody looks or not. */
static int unseen_dup2(int to, int rc)
{
	if (rc >= 0 && io_is_on())
		io_close_unseen(to);
	return rc;
}

/* `to` is never free in between, so what it was is forgotten afterwards. */
static int end_dup2(const struct io_span *c, const struct io_open *o, int to, int rc)
{
	uint64_t end = io_now();
	int64_t result = io_result(rc), from = io_number(o);
	struct io_open **slot = io_slot(to), *was = slot ? GET_ACQUIRE(*slot) : NULL;
	int64_t before = was && was->forks == io.forks ? was->number : 0;
	if (rc >= 0)
		result = was == o ? before : io_number(copied(o, rc));
	io_put(c, c->tick, end, IO_dup2, result, IO_NO_PLACE, ARGS(from, before));
	return rc;
}

WRAP(int, dup2, int fd, int to)
{
	struct io_span c;
	struct io_open *o;
	bool on = io_begin_fd(&c, fd, &o), taken = io_fd_take_begin(to);
	int rc = NEXT(dup2)(fd, to);
	io_fd_take_end(taken);
	return on ? end_dup2(&c, o, to, rc) : fd == to ? rc : unseen_dup2(to, rc);
}
ALSO(__dup2, dup2);

WRAP(int, dup3, int fd, int to, int flags)
{
	struct io_span c;
	struct io_open *o;
	bool on = io_begin_fd(&c, fd, &o), taken = io_fd_take_begin(to);
	int rc = NEXT(dup3)(fd, to, flags);
	io_fd_take_end(taken);
	return on ? end_dup2(&c, o, to, rc) : unseen_dup2(to, rc);
}

/* Of the others the third argument is a pointer, or there is none. */
static bool takes_number(int what)
{
	switch (what) {
	case F_SETFD:
	case F_SETFL:
	case F_SETOWN:
	case F_SETSIG:
	case F_SETLEASE:
	case F_NOTIFY:
	case F_SETPIPE_SZ:
	case F_ADD_SEALS:
		return true;
	default:
		return false;
	}
}

static int end_fcntl(const struct io_span *c, struct io_open *o, int what, void *with, int rc)
{
	if (what == F_DUPFD || what == F_DUPFD_CLOEXEC)
		return end_dup(c, o, rc);
	if (what == F_SETFL && rc == 0 && o && o->type == IO_FILE) {
		o->placeless = o->number <= 3 || ((intptr_t)with & O_APPEND);
		io_changed();
	}
	io_end(c, IO_fcntl, io_result(rc), IO_NO_PLACE,
	       ARGS(io_number(o), what, takes_number(what) ? (int)(intptr_t)with : 0));
	return rc;
}

/* libc hands the third one on as it is, whatever it is. */
#define WRAP_FCNTL(name)                                                                           \
	WRAP(int, name, int fd, int what, ...)                                                     \
	{                                                                                          \
		va_list args;                                                                      \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		va_start(args, what);                                                              \
		void *with = va_arg(args, void *);                                                 \
		va_end(args);                                                                      \
		if (!io_begin_fd(&c, fd, &o))                                                      \
			return NEXT(name)(fd, what, with);                                         \
		return end_fcntl(&c, o, what, with, NEXT(name)(fd, what, with));                   \
	}

WRAP_FCNTL(fcntl)
ALSO(__fcntl, fcntl);
WRAP_FCNTL(fcntl64)

/* ---- of no file ---------------------------------------------------------------------------------
 */

static int made(int fd, enum io_file_type type)
{
	const struct io_opened as = {
		.fd = fd, .flags = -1, .placeless = true, .type = type, .known = true
	};
	if (fd >= 0)
		(void)io_opened(&as);
	return fd;
}

#define WRAP_MAKES(name, type, params, args)                                                       \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		bool on = io_begin(&c);                                                            \
		int fd = NEXT(name) args;                                                          \
		return on ? made(fd, type) : fd;                                                   \
	}

struct sockaddr;
WRAP_MAKES(socket, IO_SOCKET, (int a, int b, int c_), (a, b, c_))
WRAP_MAKES(accept, IO_SOCKET, (int fd_, struct sockaddr *a, socklen_t *n), (fd_, a, n))
WRAP_MAKES(accept4, IO_SOCKET, (int fd_, struct sockaddr *a, socklen_t *n, int f), (fd_, a, n, f))
WRAP_MAKES(eventfd, IO_OTHER, (unsigned n, int f), (n, f))
WRAP_MAKES(epoll_create, IO_OTHER, (int n), (n))
WRAP_MAKES(epoll_create1, IO_OTHER, (int f), (f))
WRAP_MAKES(timerfd_create, IO_OTHER, (int k, int f), (k, f))
WRAP_MAKES(inotify_init, IO_OTHER, (void), ())
WRAP_MAKES(inotify_init1, IO_OTHER, (int f), (f))

#define WRAP_MAKES_TWO(name, type, params, args, two)                                              \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		bool on = io_begin(&c);                                                            \
		int rc = NEXT(name) args;                                                          \
		if (on && rc == 0) {                                                               \
			(void)made((two)[0], type);                                                \
			(void)made((two)[1], type);                                                \
		}                                                                                  \
		return rc;                                                                         \
	}

WRAP_MAKES_TWO(pipe, IO_PIPE, (int two[2]), (two), two)
ALSO(__pipe, pipe);
WRAP_MAKES_TWO(pipe2, IO_PIPE, (int two[2], int f), (two, f), two)
WRAP_MAKES_TWO(socketpair, IO_SOCKET, (int a, int b, int c_, int two[2]), (a, b, c_, two), two)

/* ---- many at once -------------------------------------------------------------------------------
 */

/* Each that was open is an event; only the first has the time. */
static void closed_range(const struct io_span *c, unsigned first, unsigned last)
{
	uint64_t begin = c->tick, end = io_now();
	for (unsigned fd = first; fd <= last && fd < IO_TABLE * IO_TABLES; fd++) {
		struct io_open **slot = io_slot((int)fd), *o = slot ? GET_ACQUIRE(*slot) : NULL;
		if (!slot)
			fd |= IO_TABLE - 1; /* a part that nobody has used */
		if (!o || o->forks != io.forks)
			continue;
		struct io_closing closing;
		io_close_begin(&closing, (int)fd);
		if (!closing.hidden)
			io_put(c, begin, end, IO_close, 0, IO_NO_PLACE, ARGS(closing.number));
		io_close_end(&closing);
		begin = end;
	}
}

WRAP(int, close_range, unsigned first, unsigned last, int flags)
{
	struct io_span c;
	bool on = io_begin(&c);
	int rc = io_fd_close_range(NEXT(close_range), first, last, flags);
	int saved = errno;
	if (on && rc == 0 && !(flags & 4 /* CLOSE_RANGE_CLOEXEC */))
		closed_range(&c, first, last);
	errno = saved;
	return rc;
}

static int range_next(unsigned first, unsigned last, int flags)
{
	return NEXT(close_range)(first, last, flags);
}

WRAP(void, closefrom, int first)
{
	struct io_span c;
	bool on = io_begin(&c);
	unsigned from = first < 0 ? 0 : (unsigned)first;
	if (io_fd_close_range(range_next, from, ~0u, 0)) /* an older kernel */
		NEXT(closefrom)(first);
	if (on)
		closed_range(&c, first < 0 ? 0 : (unsigned)first, ~0u);
}
