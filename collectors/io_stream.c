/* Streams: what moves bytes. Calls that stay in a stream's buffer are not timed. */
#define IO_ALL_HOT
#include "collectors/io_stream.h"

#include <string.h>

struct stream_at {
	const char *put, *base, *got;
	bool wide;
};

/* ---- what is no call ----------------------------------------------------------------------------
 */

static void tell_bytes(struct io_thread *t, enum io_call call, struct io_open *o, ptrdiff_t n)
{
	if (n > 0 && n < UINT32_MAX)
		io_run_many(t, call, o->number, 1, stream_move(o, n), (uint32_t)n);
}

/* A buffer that somebody else emptied in between (error(3) does so with standard output) begins
 * again. Of wide characters the pointers say nothing. */
static void catch_up(struct io_thread *t, const struct stream_at *now, struct io_open *o)
{
	const char *from = now->put < o->put_at ? now->base : o->put_at;
	if (o->put_at && from && !now->wide)
		tell_bytes(t, IO_fputc, o, now->put - from);
	if (o->got_at && now->got > o->got_at && !now->wide)
		tell_bytes(t, IO_fgetc, o, now->got - o->got_at);
	o->put_at = now->put;
	o->got_at = now->got;
}

/* A second thread says that it is there before it moves anything: who sees its bytes sees that. */
void stream_caught(struct io_thread *t, const FILE *f, struct io_open *o)
{
	const struct stream_at now = { f->_IO_write_ptr, f->_IO_write_base, f->_IO_read_ptr,
				       f->_mode > 0 };
	uint32_t user = 0, me = t->number + 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&o->user, &user, me, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST)) { /* its first */
		o->stream = f;
		stream_done(f, o);
	} else if (user == me) {
		catch_up(t, &now, o);
	} else {
		__atomic_store_n(&o->user, IO_MANY, __ATOMIC_SEQ_CST);
	}
}

/* Of those of this thread. */
void io_streams_catch_up(void)
{
	struct io_thread *t = io_self.thread;
	if (!t || io_self.ours | io_self.quiet | io_self.vforked)
		return;
	for (int fd = 0; fd < IO_TABLE * IO_TABLES; fd++) {
		struct io_open **slot = io_slot(fd), *o = slot ? GET_ACQUIRE(*slot) : NULL;
		if (!slot)
			fd |= IO_TABLE - 1; /* so is all of this part */
		else if (o && o->stream && o->forks == io.forks && GET(o->user) == t->number + 1)
			stream_caught(t, o->stream, o);
	}
}

/* ---- blocks -------------------------------------------------------------------------------------
 */

static void end_block(const struct io_span *c, enum io_call call, const FILE *f,
		      struct io_open *o, size_t asked, size_t done, bool failed)
{
	uint64_t end = io_now();
	stream_done(f, o);
	int64_t result = failed && !done ? -errno : (int64_t)done;
	io_put(c, c->tick, end, call, result, stream_move(o, (int64_t)done),
	       ARGS(io_number(o), (int64_t)asked));
}

/* Of a call that may have been at the end of the file: an error says so. */
static bool failed(FILE *f)
{
	return f->_flags & 0x20; /* ferror_unlocked: _IO_ERR_SEEN */
}

#define WRAP_FWRITE(name)                                                                          \
	WRAP(size_t, name, const void *from, size_t size, size_t n, FILE *f)                       \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		size_t bytes = size * n;                                                           \
		if (LIKELY(bytes && bytes < stream_room(f)) && (c.thread = stream_quick(f, &o))) { \
			size_t done = NEXT(name)(from, size, n, f);                                \
			int64_t moved = (int64_t)(done * size);                                    \
			stream_done(f, o);                                                         \
			io_run(c.thread, IO_fwrite, o->number, (int64_t)bytes, moved,              \
			       stream_move(o, moved));                                             \
			return done;                                                               \
		}                                                                                  \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name)(from, size, n, f);                                       \
		size_t done = NEXT(name)(from, size, n, f);                                        \
		end_block(&c, IO_fwrite, f, o, bytes, done *size, bytes &&done < n);                  \
		return done;                                                                       \
	}

WRAP_FWRITE(fwrite)
WRAP_FWRITE(fwrite_unlocked)

#define WRAP_FREAD(name, params, args)                                                             \
	WRAP(size_t, name, UNPACK params)                                                          \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		size_t bytes = size * n;                                                           \
		if (LIKELY(bytes && bytes <= stream_ready(f)) &&                                   \
		    (c.thread = stream_quick(f, &o))) {                                            \
			size_t done = NEXT(name) args;                                             \
			int64_t moved = (int64_t)(done * size);                                    \
			stream_done(f, o);                                                         \
			io_run(c.thread, IO_fread, o->number, (int64_t)bytes, moved,               \
			       stream_move(o, moved));                                             \
			return done;                                                               \
		}                                                                                  \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name) args;                                                    \
		size_t done = NEXT(name) args;                                                     \
		end_block(&c, IO_fread, f, o, bytes, done *size, bytes &&failed(f));                  \
		return done;                                                                       \
	}

WRAP_FREAD(fread, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f))
WRAP_FREAD(fread_unlocked, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f))
WRAP_FREAD(__fread_chk, (void *to, size_t room, size_t size, size_t n, FILE *f),
	   (to, room, size, n, f))
WRAP_FREAD(__fread_unlocked_chk, (void *to, size_t room, size_t size, size_t n, FILE *f),
	   (to, room, size, n, f))

/* Words of System V: blocks of four bytes. */
WRAP(int, getw, FILE *f)
{
	struct io_span c;
	struct io_open *o;
	if (!stream_begin(&c, f, &o))
		return NEXT(getw)(f);
	int word = NEXT(getw)(f);
	bool none = word == EOF && f->_flags & 0x30; /* at the end, or failed */
	end_block(&c, IO_fread, f, o, sizeof word, none ? 0 : sizeof word, none && failed(f));
	return word;
}

WRAP(int, putw, int word, FILE *f)
{
	struct io_span c;
	struct io_open *o;
	if (!stream_begin(&c, f, &o))
		return NEXT(putw)(word, f);
	int rc = NEXT(putw)(word, f);
	end_block(&c, IO_fwrite, f, o, sizeof word, rc ? 0 : sizeof word, rc != 0);
	return rc;
}

/* ---- single bytes -------------------------------------------------------------------------------
 */

static void end_byte(const struct io_span *c, enum io_call call, const FILE *f, struct io_open *o,
		     int rc, bool bad)
{
	uint64_t end = io_now();
	stream_done(f, o);
	int64_t result = rc != EOF ? 1 : bad ? -errno : 0;
	io_put(c, c->tick, end, call, result, stream_move(o, rc != EOF), ARGS(io_number(o)));
}

#define WRAP_GETC(name, params, args, stream)                                                      \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		FILE *f = stream;                                                                  \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (LIKELY(stream_ready(f)) && (c.thread = stream_quick(f, &o))) {                 \
			int rc = NEXT(name) args;                                                  \
			stream_done(f, o);                                                         \
			io_run(c.thread, IO_fgetc, o->number, 0, rc != EOF,                        \
			       stream_move(o, rc != EOF));                                         \
			return rc;                                                                 \
		}                                                                                  \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name) args;                                                    \
		int rc = NEXT(name) args;                                                          \
		end_byte(&c, IO_fgetc, f, o, rc, failed(f));                                          \
		return rc;                                                                         \
	}

WRAP_GETC(fgetc, (FILE * f_), (f_), f_)
WRAP_GETC(getc, (FILE * f_), (f_), f_)
WRAP_GETC(_IO_getc, (FILE * f_), (f_), f_)
WRAP_GETC(fgetc_unlocked, (FILE * f_), (f_), f_)
WRAP_GETC(getc_unlocked, (FILE * f_), (f_), f_)
WRAP_GETC(__uflow, (FILE * f_), (f_), f_) /* of an inline getc_unlocked, for what is not there */
WRAP_GETC(getchar, (void), (), stdin)
WRAP_GETC(getchar_unlocked, (void), (), stdin)

#define WRAP_PUTC(name, params, args, stream)                                                      \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		FILE *f = stream;                                                                  \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (LIKELY(stream_room(f) > 1) && (c.thread = stream_quick(f, &o))) {              \
			int rc = NEXT(name) args;                                                  \
			stream_done(f, o);                                                         \
			io_run(c.thread, IO_fputc, o->number, 0, rc != EOF,                        \
			       stream_move(o, rc != EOF));                                         \
			return rc;                                                                 \
		}                                                                                  \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name) args;                                                    \
		int rc = NEXT(name) args;                                                          \
		end_byte(&c, IO_fputc, f, o, rc, true);                                               \
		return rc;                                                                         \
	}

WRAP_PUTC(fputc, (int ch, FILE *f_), (ch, f_), f_)
WRAP_PUTC(putc, (int ch, FILE *f_), (ch, f_), f_)
WRAP_PUTC(_IO_putc, (int ch, FILE *f_), (ch, f_), f_)
WRAP_PUTC(fputc_unlocked, (int ch, FILE *f_), (ch, f_), f_)
WRAP_PUTC(putc_unlocked, (int ch, FILE *f_), (ch, f_), f_)
WRAP_PUTC(putchar, (int ch), (ch), stdout)
WRAP_PUTC(putchar_unlocked, (int ch), (ch), stdout)

/* Of an inline putc_unlocked, where there is no room. */
WRAP(int, __overflow, FILE *f, int ch)
{
	struct io_span c;
	struct io_open *o;
	if (ch == EOF || !stream_begin(&c, f, &o))
		return NEXT(__overflow)(f, ch);
	int rc = NEXT(__overflow)(f, ch);
	end_byte(&c, IO_fputc, f, o, rc, true);
	return rc;
}

WRAP(int, ungetc, int ch, FILE *f)
{
	struct io_span c;
	struct io_open *o;
	if (!stream_begin(&c, f, &o))
		return NEXT(ungetc)(ch, f);
	int rc = NEXT(ungetc)(ch, f);
	stream_done(f, o);
	if (rc != EOF)
		(void)stream_move(o, -1);
	io_put(&c, 0, 0, IO_ungetc, rc, IO_NO_PLACE, ARGS(io_number(o)));
	return rc;
}

/* ---- lines --------------------------------------------------------------------------------------
 */

/* A zero byte within a line hides what is behind it: that is not counted. */
static char *end_gets(const struct io_span *c, const FILE *f, struct io_open *o, char *got,
		      int asked, bool bad)
{
	uint64_t end = io_now();
	stream_done(f, o);
	int64_t result = got ? (int64_t)strlen(got) : bad ? -errno : 0;
	io_put(c, c->tick, end, IO_fgets, result, stream_move(o, got ? result : 0),
	       ARGS(io_number(o), asked));
	return got;
}

#define WRAP_GETS(name, params, args)                                                              \
	WRAP(char *, name, UNPACK params)                                                          \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name) args;                                                    \
		char *got = NEXT(name) args;                                                       \
		return end_gets(&c, f, o, got, n, failed(f));                                         \
	}

WRAP_GETS(fgets, (char *to, int n, FILE *f), (to, n, f))
WRAP_GETS(fgets_unlocked, (char *to, int n, FILE *f), (to, n, f))
WRAP_GETS(__fgets_chk, (char *to, size_t room, int n, FILE *f), (to, room, n, f))
WRAP_GETS(__fgets_unlocked_chk, (char *to, size_t room, int n, FILE *f), (to, room, n, f))

/* Of standard input, and without the end of its line, which was there unless the file ended. */
#define WRAP_OLD_GETS(name, params, args)                                                          \
	WRAP(char *, name, UNPACK params)                                                          \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		FILE *f = stdin;                                                                   \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name) args;                                                    \
		char *got = NEXT(name) args;                                                       \
		uint64_t end = io_now();                                                           \
		stream_done(f, o);                                                                 \
		int64_t n = got ? (int64_t)strlen(got) + !(f->_flags & 0x10) : 0;                  \
		io_put(&c, c.tick, end, IO_fgets, got || !failed(f) ? n : -errno,                  \
		       stream_move(o, n), ARGS(io_number(o), 0));                                  \
		return got;                                                                        \
	}

/* cppcheck-suppress CastIntegerToAddressAtReturn */
WRAP_OLD_GETS(gets, (char *to), (to))
/* cppcheck-suppress CastIntegerToAddressAtReturn */
WRAP_OLD_GETS(__gets_chk, (char *to, size_t room), (to, room))

#define WRAP_PUTS(name, params, args, stream, more)                                                \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		FILE *f = stream;                                                                  \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		size_t bytes = strlen(text) + (more);                                              \
		if (LIKELY(bytes && bytes < stream_room(f)) && (c.thread = stream_quick(f, &o))) { \
			int rc = NEXT(name) args;                                                  \
			int64_t moved = rc == EOF ? 0 : (int64_t)bytes;                            \
			stream_done(f, o);                                                         \
			io_run(c.thread, IO_fputs, o->number, (int64_t)bytes, moved,               \
			       stream_move(o, moved));                                             \
			return rc;                                                                 \
		}                                                                                  \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name) args;                                                    \
		int rc = NEXT(name) args;                                                          \
		end_block(&c, IO_fputs, f, o, bytes, rc == EOF ? 0 : bytes, rc == EOF);               \
		return rc;                                                                         \
	}

WRAP_PUTS(fputs, (const char *text, FILE *f_), (text, f_), f_, 0)
WRAP_PUTS(fputs_unlocked, (const char *text, FILE *f_), (text, f_), f_, 0)
WRAP_PUTS(puts, (const char *text), (text), stdout, 1)

#define WRAP_GETLINE(name, params, args)                                                           \
	WRAP(ssize_t, name, UNPACK params)                                                         \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!stream_begin(&c, f, &o))                                                      \
			return NEXT(name) args;                                                    \
		ssize_t n = NEXT(name) args;                                                       \
		uint64_t end = io_now();                                                           \
		stream_done(f, o);                                                                 \
		int64_t result = n >= 0 ? n : failed(f) ? -errno : 0;                              \
		io_put(&c, c.tick, end, IO_getline, result, stream_move(o, n > 0 ? n : 0),         \
		       ARGS(io_number(o)));                                                        \
		return n;                                                                          \
	}

WRAP_GETLINE(getline, (char **line, size_t *room, FILE *f), (line, room, f))
WRAP_GETLINE(getdelim, (char **line, size_t *room, int end_, FILE *f), (line, room, end_, f))
WRAP_GETLINE(__getdelim, (char **line, size_t *room, int end_, FILE *f), (line, room, end_, f))
