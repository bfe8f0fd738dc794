/* Streams: opened, closed, moved, flushed. */
#include "collectors/io_stream.h"

#include <fcntl.h>
#include <string.h>

/* As open has them. */
static int64_t flags_of(const char *mode)
{
	int64_t flags = O_RDONLY;
	if (mode[0] == 'w')
		flags = O_WRONLY | O_CREAT | O_TRUNC;
	else if (mode[0] == 'a')
		flags = O_WRONLY | O_CREAT | O_APPEND;
	for (const char *m = mode + 1; mode[0] && *m && *m != ','; m++) {
		if (*m == '+')
			flags = (flags & ~(int64_t)O_ACCMODE) | O_RDWR;
		else if (*m == 'e')
			flags |= O_CLOEXEC;
		else if (*m == 'x')
			flags |= O_EXCL;
	}
	return flags;
}

/* ---- opening ------------------------------------------------------------------------------------
 */

/* was: of freopen. Without a path it opens the same file once more. */
static FILE *end_fopen(const struct io_span *c, enum io_call call, FILE *f, const char *path,
		       const char *mode, const struct io_closing *was)
{
	uint64_t end = io_now();
	int saved = errno;
	int64_t result = f ? 0 : -saved, before = was ? was->number : 0;
	struct io_named named = io_name_after(result, AT_FDCWD, path, false);
	if (!path && was && was->open)
		named = (struct io_named){ was->open->path, was->hidden };
	uint32_t text = io_text(mode);
	if (f && stream_fd(f) >= 0) {
		const struct io_opened as = { .fd = stream_fd(f),
					      .path = named.text,
					      .flags = mode ? flags_of(mode) : O_RDWR,
					      .interface = IO_STDIO,
					      .hidden = named.hidden };
		result = io_number(io_opened(&as));
	}
	if (call == IO_freopen)
		io_put(c, c->tick, end, call, result, IO_NO_PLACE, ARGS(before, named.text, text));
	else if (call == IO_tmpfile)
		io_put(c, c->tick, end, call, result, IO_NO_PLACE, 0, NULL);
	else if (!named.hidden)
		io_put(c, c->tick, end, call, result, IO_NO_PLACE, ARGS(named.text, text));
	errno = saved;
	return f;
}

#define WRAP_FOPEN(name)                                                                           \
	WRAP(FILE *, name, const char *path, const char *mode)                                     \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name)(path, mode);                                             \
		return end_fopen(&c, IO_fopen, NEXT(name)(path, mode), path, mode, NULL);          \
	}

WRAP_FOPEN(fopen)
WRAP_FOPEN(fopen64)

#define WRAP_TMPFILE(name)                                                                         \
	WRAP(FILE *, name, void)                                                                   \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name)();                                                       \
		return end_fopen(&c, IO_tmpfile, NEXT(name)(), NULL, NULL, NULL);                  \
	}

WRAP_TMPFILE(tmpfile)
WRAP_TMPFILE(tmpfile64)

WRAP(FILE *, fdopen, int fd, const char *mode)
{
	struct io_span c;
	struct io_open *o;
	if (!io_begin_fd(&c, fd, &o))
		return NEXT(fdopen)(fd, mode);
	FILE *f = NEXT(fdopen)(fd, mode);
	uint64_t end = io_now();
	int saved = errno;
	int64_t result = f ? 0 : -saved, before = io_number(o);
	uint32_t text = f ? io_text(mode) : 0;
	if (f && o) {
		bool appends = mode[0] == 'a'; /* it makes the descriptor so */
		struct io_opened as = { .fd = fd,
					.path = o->path,
					.flags = o->flags | (appends ? O_APPEND : 0),
					.interface = IO_STDIO,
					.placeless = appends,
					.with = o };
		result = io_number(io_opened(&as));
	}
	io_put(&c, c.tick, end, IO_fdopen, result, IO_NO_PLACE, ARGS(before, text));
	errno = saved;
	return f;
}

/* Before it is closed. */
static void stream_last(const struct io_span *c, const FILE *f)
{
	struct io_open *o = io_open_of(stream_fd(f));
	if (o && !o->hidden)
		stream_look(c->thread, f, o);
}

/* Whatever it was is closed, even where the new one can't be opened. */
#define WRAP_FREOPEN(name)                                                                         \
	WRAP(FILE *, name, const char *path, const char *mode, FILE *f)                            \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_closing closing = { 0 };                                                 \
		if (!io_begin(&c)) {                                                               \
			if (stream_fd(f) >= 0 && io_is_on())                                       \
				io_close_unseen(stream_fd(f));                                     \
			return NEXT(name)(path, mode, f);                                          \
		}                                                                                  \
		if (stream_fd(f) >= 0) {                                                           \
			stream_last(&c, f);                                                        \
			io_close_begin(&closing, stream_fd(f));                                    \
		}                                                                                  \
		c.tick = io_now();                                                                 \
		FILE *made = NEXT(name)(path, mode, f);                                            \
		(void)end_fopen(&c, IO_freopen, made, path, mode, &closing);                       \
		io_close_end(&closing);                                                            \
		return made;                                                                       \
	}

WRAP_FREOPEN(freopen)
WRAP_FREOPEN(freopen64)

WRAP(FILE *, popen, const char *command, const char *mode)
{
	struct io_span c;
	bool on = io_begin(&c);
	FILE *f = NEXT(popen)(command, mode);
	if (on && f) {
		const struct io_opened as = { .fd = stream_fd(f),
					      .flags = -1,
					      .interface = IO_STDIO,
					      .placeless = true,
					      .type = IO_PIPE,
					      .known = true };
		(void)io_opened(&as);
	}
	return f;
}

/* ---- closing ------------------------------------------------------------------------------------
 */

static int end_fclose(const struct io_span *c, const struct io_closing *closing, int rc)
{
	uint64_t end = io_now();
	int64_t result = io_result(rc);
	if (!closing->hidden)
		io_put(c, c->tick, end, IO_fclose, result, IO_NO_PLACE, ARGS(closing->number));
	io_close_end(closing);
	return rc;
}

WRAP(int, fclose, FILE *f)
{
	struct io_span c;
	if (!f || stream_fd(f) < 0)
		return NEXT(fclose)(f);
	if (!io_begin(&c)) {
		if (io_is_on())
			io_close_unseen(stream_fd(f));
		return NEXT(fclose)(f);
	}
	struct io_closing closing;
	stream_last(&c, f);
	io_close_begin(&closing, stream_fd(f));
	c.tick = io_now();
	return end_fclose(&c, &closing, NEXT(fclose)(f));
}

/* It waits for the program that it is of: that time is no I/O. */
WRAP(int, pclose, FILE *f)
{
	struct io_span c;
	if (!f || !io_begin(&c)) {
		if (f && io_is_on())
			io_close_unseen(stream_fd(f));
		return NEXT(pclose)(f);
	}
	struct io_closing closing;
	stream_last(&c, f);
	io_close_begin(&closing, stream_fd(f));
	if (!closing.hidden)
		io_put(&c, 0, 0, IO_fclose, 0, IO_NO_PLACE, ARGS(closing.number));
	io_close_end(&closing);
	return NEXT(pclose)(f);
}

/* ---- where --------------------------------------------------------------------------------------
 */

static off_t tell(FILE *f);

/* The place afterwards; asked for only where we don't know. */
static void end_seek(const struct io_span *c, struct io_open *o, FILE *f, off_t by, int whence,
		     int rc)
{
	uint64_t end = io_now();
	int saved = errno;
	int64_t result = rc ? -saved : by;
	if (!rc && whence == SEEK_CUR && o && o->place && !o->placeless)
		result = GET(*o->place) + by;
	else if (!rc && whence != SEEK_SET)
		result = tell(f);
	if (!rc)
		io_place_set(o, result);
	stream_done(f, o);
	io_put(c, c->tick, end, IO_fseek, result, IO_NO_PLACE, ARGS(io_number(o), by, whence));
	errno = saved;
}

#define WRAP_FSEEK(name, type)                                                                     \
	WRAP(int, name, FILE *f, type by, int whence)                                              \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name)(f, by, whence);                                          \
		int rc = NEXT(name)(f, by, whence);                                                \
		end_seek(&c, o, f, by, whence, rc);                                                \
		return rc;                                                                         \
	}

WRAP_FSEEK(fseek, long)
WRAP_FSEEK(fseeko, off_t)
WRAP_FSEEK(fseeko64, off64_t)

WRAP(void, rewind, FILE *f)
{
	struct io_span c;
	struct io_open *o;
	bool on = stream_begin(&c, f, &o);
	NEXT(rewind)(f);
	if (on)
		end_seek(&c, o, f, 0, SEEK_SET, 0);
}

static int64_t end_tell(const struct io_span *c, struct io_open *o, int64_t at)
{
	uint64_t end = io_now();
	int64_t result = io_result(at);
	if (at >= 0)
		io_place_set(o, at);
	io_put(c, c->tick, end, IO_ftell, result, IO_NO_PLACE, ARGS(io_number(o)));
	return at;
}

#define WRAP_FTELL(name, type)                                                                     \
	WRAP(type, name, FILE *f)                                                                  \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name)(f);                                                      \
		return (type)end_tell(&c, o, NEXT(name)(f));                                       \
	}

WRAP_FTELL(ftell, long)
WRAP_FTELL(ftello, off_t)
WRAP_FTELL(ftello64, off64_t)

static off_t tell(FILE *f)
{
	return NEXT(ftello)(f);
}

/* The first member of glibc's fpos_t is the offset. */
static int64_t offset_of(const fpos_t *at)
{
	int64_t offset;
	memcpy(&offset, at, sizeof offset);
	return offset;
}

#define WRAP_FPOS(get, set)                                                                        \
	WRAP(int, get, FILE *f, fpos_t *at)                                                        \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(get)(f, at);                                                   \
		int rc = NEXT(get)(f, at);                                                         \
		(void)end_tell(&c, o, rc ? -1 : offset_of(at));                                    \
		return rc;                                                                         \
	}                                                                                          \
	WRAP(int, set, FILE *f, const fpos_t *at)                                                  \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(set)(f, at);                                                   \
		int rc = NEXT(set)(f, at);                                                         \
		end_seek(&c, o, f, offset_of(at), SEEK_SET, rc);                                   \
		return rc;                                                                         \
	}

WRAP_FPOS(fgetpos, fsetpos)
WRAP_FPOS(fgetpos64, fsetpos64)

/* ---- buffers ------------------------------------------------------------------------------------
 */

#define WRAP_FLUSH(name)                                                                           \
	WRAP(int, name, FILE *f)                                                                   \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o = NULL;                                                          \
		if (f ? !stream_begin(&c, f, &o) : !io_begin(&c))                                  \
			return NEXT(name)(f);                                                      \
		if (!f)                                                                            \
			io_streams_catch_up();                                                     \
		int rc = NEXT(name)(f);                                                            \
		if (!f)                                                                            \
			io_streams_catch_up();                                                     \
		stream_done(f, o);                                                                 \
		io_end(&c, IO_fflush, io_result(rc), IO_NO_PLACE, ARGS(io_number(o)));             \
		return rc;                                                                         \
	}

WRAP_FLUSH(fflush)
WRAP_FLUSH(fflush_unlocked)

WRAP(int, setvbuf, FILE *f, char *at, int mode, size_t n)
{
	struct io_span c;
	struct io_open *o;
	if (!stream_begin(&c, f, &o))
		return NEXT(setvbuf)(f, at, mode, n);
	int rc = NEXT(setvbuf)(f, at, mode, n);
	stream_done(f, o);
	io_end(&c, IO_setvbuf, rc ? -errno : 0, IO_NO_PLACE, ARGS(io_number(o), mode, (int64_t)n));
	return rc;
}

static void end_setbuf(const struct io_span *c, struct io_open *o, int mode, size_t n)
{
	io_end(c, IO_setvbuf, 0, IO_NO_PLACE, ARGS(io_number(o), mode, (int64_t)n));
}

WRAP(void, setbuf, FILE *f, char *at)
{
	struct io_span c;
	struct io_open *o;
	bool on = stream_begin(&c, f, &o);
	NEXT(setbuf)(f, at);
	if (on)
		end_setbuf(&c, o, at ? _IOFBF : _IONBF, at ? BUFSIZ : 0);
}

WRAP(void, setbuffer, FILE *f, char *at, size_t n)
{
	struct io_span c;
	struct io_open *o;
	bool on = stream_begin(&c, f, &o);
	NEXT(setbuffer)(f, at, n);
	if (on)
		end_setbuf(&c, o, at ? _IOFBF : _IONBF, n);
}

WRAP(void, setlinebuf, FILE *f)
{
	struct io_span c;
	struct io_open *o;
	bool on = stream_begin(&c, f, &o);
	NEXT(setlinebuf)(f);
	if (on)
		end_setbuf(&c, o, _IOLBF, 0);
}
