/* Streams: printf and scanf, whose bytes are known afterwards. */
#include "collectors/io_stream.h"

/* ---- printf -------------------------------------------------------------------------------------
 */

static int end_print(const struct io_span *c, const FILE *f, struct io_open *o, int rc)
{
	uint64_t end = io_now();
	if (f)
		stream_done(f, o);
	int64_t result = io_result(rc);
	io_put(c, c->tick, end, IO_fprintf, result, stream_move(o, rc > 0 ? rc : 0),
	       ARGS(io_number(o)));
	return rc;
}

#define WRAP_VPRINT(name, params, args, stream)                                                    \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		FILE *of = stream;                                                                 \
		if (!stream_begin(&c, of, &o))                                                     \
			return NEXT(name) args;                                                    \
		return end_print(&c, of, o, NEXT(name) args);                                      \
	}

WRAP_VPRINT(vfprintf, (FILE * f, const char *format, va_list list), (f, format, list), f)
WRAP_VPRINT(vprintf, (const char *format, va_list list), (format, list), stdout)
WRAP_VPRINT(__vfprintf_chk, (FILE * f, int flag, const char *format, va_list list),
	    (f, flag, format, list), f)
WRAP_VPRINT(__vprintf_chk, (int flag, const char *format, va_list list), (flag, format, list),
	    stdout)

/* Those with a list of arguments go by those that take one. */
#define WRAP_PRINT(name, params, last, by)                                                         \
	WRAP_BY(int, name, UNPACK params)                                                          \
	{                                                                                          \
		va_list list;                                                                      \
		va_start(list, last);                                                              \
		int rc = by;                                                                       \
		va_end(list);                                                                      \
		return rc;                                                                         \
	}

WRAP_PRINT(fprintf, (FILE * f, const char *format, ...), format, ours_vfprintf(f, format, list))
WRAP_PRINT(printf, (const char *format, ...), format, ours_vprintf(format, list))
WRAP_PRINT(__fprintf_chk, (FILE * f, int flag, const char *format, ...), format,
	   ours___vfprintf_chk(f, flag, format, list))
WRAP_PRINT(__printf_chk, (int flag, const char *format, ...), format,
	   ours___vprintf_chk(flag, format, list))

/* To a descriptor, without a stream. */
#define WRAP_VDPRINT(name, params, args)                                                           \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!io_begin_fd(&c, fd, &o))                                                      \
			return NEXT(name) args;                                                    \
		return end_print(&c, NULL, o, NEXT(name) args);                                    \
	}

WRAP_VDPRINT(vdprintf, (int fd, const char *format, va_list list), (fd, format, list))
WRAP_VDPRINT(__vdprintf_chk, (int fd, int flag, const char *format, va_list list),
	     (fd, flag, format, list))
WRAP_PRINT(dprintf, (int fd, const char *format, ...), format, ours_vdprintf(fd, format, list))
WRAP_PRINT(__dprintf_chk, (int fd, int flag, const char *format, ...), format,
	   ours___vdprintf_chk(fd, flag, format, list))

/* ---- scanf --------------------------------------------------------------------------------------
 */

/* What it took is what its buffer has less, where that was filled once at most meanwhile. */
struct scanning {
	struct io_span c;
	struct io_open *o;
	const char *at, *end;
};

static bool scan_begin(struct scanning *s, FILE *f)
{
	if (!stream_begin(&s->c, f, &s->o))
		return false;
	s->at = f->_IO_read_ptr;
	s->end = f->_IO_read_end;
	return true;
}

static int scan_end(const struct scanning *s, FILE *f, int rc)
{
	uint64_t end = io_now();
	int saved = errno;
	int64_t took = f->_IO_read_end == s->end && f->_IO_read_ptr >= s->at
			       ? f->_IO_read_ptr - s->at
			       : (s->end - s->at) + (f->_IO_read_ptr - f->_IO_read_base);
	int64_t result = rc == EOF && f->_flags & 0x20 ? -saved : took;
	stream_done(f, s->o);
	io_put(&s->c, s->c.tick, end, IO_fscanf, result, stream_move(s->o, took),
	       ARGS(io_number(s->o)));
	errno = saved;
	return rc;
}

#define WRAP_VSCAN(name, params, args, stream)                                                     \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct scanning s;                                                                 \
		if (!scan_begin(&s, stream))                                                       \
			return NEXT(name) args;                                                    \
		return scan_end(&s, stream, NEXT(name) args);                                      \
	}

WRAP_VSCAN(vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
WRAP_VSCAN(vscanf, (const char *format, va_list list), (format, list), stdin)
WRAP_VSCAN(__isoc99_vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
WRAP_VSCAN(__isoc99_vscanf, (const char *format, va_list list), (format, list), stdin)
WRAP_VSCAN(__isoc23_vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
WRAP_VSCAN(__isoc23_vscanf, (const char *format, va_list list), (format, list), stdin)
WRAP_PRINT(fscanf, (FILE * f, const char *format, ...), format, ours_vfscanf(f, format, list))
WRAP_PRINT(scanf, (const char *format, ...), format, ours_vscanf(format, list))
WRAP_PRINT(__isoc99_fscanf, (FILE * f, const char *format, ...), format,
	   ours___isoc99_vfscanf(f, format, list))
WRAP_PRINT(__isoc99_scanf, (const char *format, ...), format, ours___isoc99_vscanf(format, list))
WRAP_PRINT(__isoc23_fscanf, (FILE * f, const char *format, ...), format,
	   ours___isoc23_vfscanf(f, format, list))
WRAP_PRINT(__isoc23_scanf, (const char *format, ...), format, ours___isoc23_vscanf(format, list))
