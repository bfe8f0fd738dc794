/* Calls that make descriptors, and end them. */
#include "collectors/io_wrap.h"

#include <fcntl.h>
#include <unistd.h>

static bool makes(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static mode_t mode_of(int flags, va_list *args)
{
	return makes(flags) ? va_arg(*args, mode_t) : 0;
}

/* After the call. errno is kept. */
static int opened(const struct io_span *c, enum io_call call, int at, const char *path, int flags,
		  mode_t mode, int fd)
{
	uint64_t end = io_now();
	int64_t result = io_result(fd);
	struct io_named named = io_name_after(result, at, path, false);
	if (fd >= 0) {
		/* A file without a name has the folder's, and its bit. */
		bool folder = flags & O_DIRECTORY && (flags & O_TMPFILE) != O_TMPFILE;
		const struct io_opened as = {
			.fd = fd,
			.path = named.text,
			.flags = flags | (call == IO_creat ? O_CREAT | O_WRONLY | O_TRUNC : 0),
			.interface = IO_POSIX,
			.hidden = named.hidden,
			.type = folder ? IO_DIRECTORY : IO_FILE,
		};
		result = io_number(io_opened(&as));
	}
	if (named.hidden)
		return fd;
	if (call == IO_openat)
		io_put(c, c->tick, end, call, result, IO_NO_PLACE,
		       ARGS(at == AT_FDCWD ? 0 : io_handle_of(at), named.text, flags, mode));
	else if (call == IO_open)
		io_put(c, c->tick, end, call, result, IO_NO_PLACE, ARGS(named.text, flags, mode));
	else
		io_put(c, c->tick, end, call, result, IO_NO_PLACE, ARGS(named.text, mode));
	return fd;
}

/* ---- open ---------------------------------------------------------------------------------------
 */

#define OPEN(name)                                                                                 \
	WRAP(int, name, const char *path, int flags, ...)                                          \
	{                                                                                          \
		va_list args;                                                                      \
		va_start(args, flags);                                                             \
		mode_t mode = mode_of(flags, &args);                                               \
		va_end(args);                                                                      \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name)(path, flags, mode);                                      \
		return opened(&c, IO_open, AT_FDCWD, path, flags, mode,                            \
			      NEXT(name)(path, flags, mode));                                      \
	}

#define OPENAT(name)                                                                               \
	WRAP(int, name, int at, const char *path, int flags, ...)                                  \
	{                                                                                          \
		va_list args;                                                                      \
		va_start(args, flags);                                                             \
		mode_t mode = mode_of(flags, &args);                                               \
		va_end(args);                                                                      \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name)(at, path, flags, mode);                                  \
		return opened(&c, IO_openat, at, path, flags, mode,                                \
			      NEXT(name)(at, path, flags, mode));                                  \
	}

OPEN(open)
OPEN(open64)
OPEN(__open)
OPEN(__open64)
OPENAT(openat)
OPENAT(openat64)

#define OPEN_2(name)                                                                               \
	WRAP(int, name, const char *path, int flags)                                               \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name)(path, flags);                                            \
		return opened(&c, IO_open, AT_FDCWD, path, flags, 0, NEXT(name)(path, flags));     \
	}

#define OPENAT_2(name)                                                                             \
	WRAP(int, name, int at, const char *path, int flags)                                       \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name)(at, path, flags);                                        \
		return opened(&c, IO_openat, at, path, flags, 0, NEXT(name)(at, path, flags));     \
	}

OPEN_2(__open_2)
OPEN_2(__open64_2)
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

WRAP(int, creat, const char *path, mode_t mode)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(creat)(path, mode);
	return opened(&c, IO_creat, AT_FDCWD, path, 0, mode, NEXT(creat)(path, mode));
}
ALSO(creat64, creat);

/* ---- files with a name that libc makes: it is in the template afterwards ------------------------
 */

#define WRAP_MKSTEMP(name, params, args, flags)                                                    \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name) args;                                                    \
		return opened(&c, IO_open, AT_FDCWD, path, (flags) | O_RDWR | O_CREAT | O_EXCL,    \
			      0600, NEXT(name) args);                                              \
	}

WRAP_MKSTEMP(mkstemp, (char *path), (path), 0)
WRAP_MKSTEMP(mkstemp64, (char *path), (path), 0)
WRAP_MKSTEMP(mkstemps, (char *path, int n), (path, n), 0)
WRAP_MKSTEMP(mkstemps64, (char *path, int n), (path, n), 0)
WRAP_MKSTEMP(mkostemp, (char *path, int flags), (path, flags), flags)
WRAP_MKSTEMP(mkostemp64, (char *path, int flags), (path, flags), flags)
WRAP_MKSTEMP(mkostemps, (char *path, int n, int flags), (path, n, flags), flags)
WRAP_MKSTEMP(mkostemps64, (char *path, int n, int flags), (path, n, flags), flags)

/* ---- close --------------------------------------------------------------------------------------
 */

WRAP(int, close, int fd)
{
	struct io_span c;
	if (UNLIKELY(io_fd_is_ours(fd))) {
		errno = EBADF;
		return -1;
	}
	if (!io_begin(&c)) {
		if (io_is_on())
			io_close_unseen(fd);
		return NEXT(close)(fd);
	}
	struct io_closing closing;
	io_close_begin(&closing, fd);
	c.tick = io_now();
	int rc = NEXT(close)(fd);
	uint64_t end = io_now();
	if (!closing.hidden)
		io_put(&c, c.tick, end, IO_close, io_result(rc), IO_NO_PLACE, ARGS(closing.number));
	io_close_end(&closing);
	return rc;
}
ALSO(__close, close);
