/* Inside of the files about stdio: streams of glibc. */
#ifndef COLLECTORS_IO_STREAM_H
#define COLLECTORS_IO_STREAM_H

#include "collectors/io_wrap.h"

/* fileno without a call: negative for streams that are of no descriptor (in memory, the program's
 * own functions), of which nothing is told. */
static inline int stream_fd(const FILE *f)
{
	return f->_fileno;
}

/* What fits without a call of the kernel: that is what takes no time. Another thread may be at the
 * stream, then a call is timed that need not be, or the other way round. */
static inline size_t stream_room(const FILE *f)
{
	return f->_IO_write_end > f->_IO_write_ptr ? (size_t)(f->_IO_write_end - f->_IO_write_ptr)
						   : 0;
}

static inline size_t stream_ready(const FILE *f)
{
	return f->_IO_read_end > f->_IO_read_ptr ? (size_t)(f->_IO_read_end - f->_IO_read_ptr) : 0;
}

/* The place of the stream, which is ahead of the descriptor's or behind it. */
static inline int64_t stream_move(struct io_open *o, int64_t n)
{
	if (!o || o->placeless || !o->place)
		return IO_NO_PLACE;
	int64_t at = GET(*o->place);
	if (n)
		PUT(*o->place, at + n);
	return at;
}

/* getc_unlocked and putc_unlocked are no calls where the header makes them inline, and others move
 * the pointers themselves: what was done so since the last call is told before the next one. That
 * can be known of a stream that one thread uses: of others its bytes can't be told from this one's. */
void stream_caught(struct io_thread *t, const FILE *f, struct io_open *o);

static inline void stream_look(struct io_thread *t, const FILE *f, struct io_open *o)
{
	uint32_t user = GET(o->user);
	if (LIKELY(user == t->number + 1 ? f->_IO_write_ptr == o->put_at &&
						   f->_IO_read_ptr == o->got_at
					 : user == IO_MANY))
		return;
	stream_caught(t, f, o);
}

/* After each call. */
static inline void stream_done(const FILE *f, struct io_open *o)
{
	if (LIKELY(o != NULL)) {
		o->put_at = f->_IO_write_ptr;
		o->got_at = f->_IO_read_ptr;
	}
}

/* The quick way, for what stays in the buffer: NULL, take the other one. */
static inline struct io_thread *stream_quick(const FILE *f, struct io_open **ret)
{
	struct io_thread *t = io_self.thread;
	if (UNLIKELY(!t || io_self.ours | io_self.quiet | io_self.vforked || !io_is_on()))
		return NULL;
	struct io_open **slot = io_slot(stream_fd(f)), *o = slot ? GET_ACQUIRE(*slot) : NULL;
	*ret = o;
	if (UNLIKELY(!(o && o->known && o->forks == io.forks && !o->hidden)))
		return NULL;
	stream_look(t, f, o);
	return t;
}

static inline bool stream_begin(struct io_span *c, const FILE *f, struct io_open **ret)
{
	if (!f || stream_fd(f) < 0 || !io_begin_fd(c, stream_fd(f), ret))
		return false;
	if (LIKELY(*ret != NULL))
		stream_look(c->thread, f, *ret);
	return true;
}

#endif
