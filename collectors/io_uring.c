/* io_uring by way of liburing. A program takes completions mostly by inline functions of its
 * header, out of memory that it shares with the kernel; so they are looked at in each of liburing's
 * calls: whatever has come since the last one. A completion that the program had before is seen a
 * little late, and none is lost while the ring does not go round in between. A program that makes
 * the system calls itself, or has liburing linked in, is not seen. */
#include "collectors/io_pending.h"

#include <limits.h>
#include <linux/io_uring.h>
#include <sys/uio.h>

/* liburing's struct io_uring, as far as we read it: the same in all its versions up to 2.9. */
struct ring {
	struct {
		unsigned *khead, *ktail, *mask, *entries, *flags, *dropped, *array;
		struct io_uring_sqe *sqes;
		unsigned head, tail;
		size_t bytes;
		void *at;
		unsigned spare[4];
	} sq;
	struct {
		unsigned *khead, *ktail, *mask, *entries, *flags, *overflow;
		struct io_uring_cqe *cqes;
		size_t bytes;
		void *at;
		unsigned spare[4];
	} cq;
	unsigned flags;
	int fd;
};

#define RINGS 64
#define WIDE_SQE (1u << 10) /* IORING_SETUP_SQE128 */
#define WIDE_CQE (1u << 11)
#define NO_ANSWER (1u << 6) /* IOSQE_CQE_SKIP_SUCCESS */

/* How far the completions of each were looked at; with the lock. */
static struct seen {
	const struct ring *ring;
	unsigned head;
} rings[RINGS];

static struct seen *seen_of(const struct ring *r)
{
	struct seen *unused = NULL;
	for (size_t i = 0; i < RINGS; i++) {
		if (rings[i].ring == r)
			return &rings[i];
		if (!rings[i].ring && !unused)
			unused = &rings[i];
	}
	if (unused)
		*unused = (struct seen){ r, GET_ACQUIRE(*r->cq.khead) };
	return unused;
}

/* ---- submissions --------------------------------------------------------------------------------
 */

static int64_t parts_of(const struct io_uring_sqe *s)
{
	const struct iovec *part = (const struct iovec *)(uintptr_t)s->addr;
	int64_t bytes = 0;
	for (unsigned i = 0; i < s->len && i < IOV_MAX; i++)
		bytes += (int64_t)part[i].iov_len;
	return bytes;
}

static void data(struct io_pending *p, const struct io_uring_sqe *s, struct io_open *o)
{
	bool parts = s->opcode == IORING_OP_READV || s->opcode == IORING_OP_WRITEV;
	bool reads = s->opcode == IORING_OP_READV || s->opcode == IORING_OP_READ ||
		     s->opcode == IORING_OP_READ_FIXED;
	p->call = reads ? IO_uring_read : IO_uring_write;
	p->arg[1] = parts ? parts_of(s) : s->len;
	p->arg[2] = (int64_t)s->off;
	p->n_args = 3;
	if ((int64_t)s->off == -1)
		p->own = o;
	else if (!o || !o->placeless)
		p->at = (int64_t)s->off;
}

static void open_at(struct io_pending *p, const struct io_uring_sqe *s)
{
	struct io_named named = io_name(s->fd, (const char *)(uintptr_t)s->addr);
	p->call = IO_uring_open;
	p->path = named.text;
	p->arg[1] = named.text;
	p->arg[2] = s->open_flags;
	p->arg[3] = s->len;
	p->n_args = 4;
}

static void submitted(const struct io_span *c, const struct ring *r, const struct io_uring_sqe *s)
{
	struct io_pending p = {
		.of = r, .id = s->user_data, .begin = c->tick, .at = IO_NO_PLACE, .n_args = 1
	};
	bool by_number = s->flags & IOSQE_FIXED_FILE || s->fd < 0;
	struct io_open *o = by_number ? NULL : io_open_of(s->fd);
	if (s->opcode == IORING_OP_NOP || s->opcode == IORING_OP_TIMEOUT ||
	    s->opcode == IORING_OP_LINK_TIMEOUT || s->flags & NO_ANSWER)
		return;
	p.arg[0] = io_number(o);
	switch (s->opcode) {
	case IORING_OP_READV:
	case IORING_OP_WRITEV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_READ:
	case IORING_OP_WRITE:
		data(&p, s, o);
		break;
	case IORING_OP_FSYNC:
	case IORING_OP_SYNC_FILE_RANGE:
		p.call = IO_uring_sync;
		break;
	case IORING_OP_OPENAT:
		open_at(&p, s);
		break;
	case IORING_OP_CLOSE:
		p.call = IO_uring_close;
		if (!by_number) {
			struct io_closing closing;
			io_close_begin(&closing, s->fd);
			p.arg[0] = closing.number;
			io_close_end(&closing);
		}
		break;
	default:
		p.call = IO_uring_other;
		p.arg[1] = s->opcode;
		p.n_args = 2;
	}
	io_pending_add(&p);
}

static void submissions(const struct io_span *c, const struct ring *r)
{
	unsigned wide = r->flags & WIDE_SQE ? 1 : 0, mask = *r->sq.mask;
	for (unsigned i = r->sq.head; i != r->sq.tail; i++)
		submitted(c, r, &r->sq.sqes[(i & mask) << wide]);
}

/* ---- completions --------------------------------------------------------------------------------
 */

/* Some of them are taken out with the lock, and told without. False: that was all. */
static bool some_completions(const struct io_span *c, const struct ring *r)
{
	struct {
		uint64_t id;
		int64_t result;
	} some[32];
	unsigned n = 0, wide = r->flags & WIDE_CQE ? 1 : 0;
	if (io_lock())
		return false;
	struct seen *seen = seen_of(r);
	unsigned tail = GET_ACQUIRE(*r->cq.ktail), entries = *r->cq.entries;
	if (seen && tail - seen->head > entries) { /* it went round */
		ADD(io.dropped, tail - seen->head - entries);
		seen->head = tail - entries;
	}
	while (seen && seen->head != tail && n < sizeof some / sizeof *some) {
		const struct io_uring_cqe *q = &r->cq.cqes[(seen->head++ & *r->cq.mask) << wide];
		some[n].id = q->user_data;
		some[n++].result = q->res;
	}
	io_unlock();
	for (unsigned i = 0; i < n; i++)
		io_pending_end(c, r, some[i].id, some[i].result);
	return n == sizeof some / sizeof *some;
}

static void completions(const struct io_span *c, const struct ring *r)
{
	int saved = errno;
	while (some_completions(c, r))
		;
	errno = saved;
}

/* ---- its calls ----------------------------------------------------------------------------------
 */

/* submits: operations that wait in the ring go to the kernel. waits: an event of its own. */
#define WRAP_RING(type, name, submits, waits, params, args)                                        \
	WRAP_LATE(type, name, UNPACK params)                                                       \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name) args;                                                    \
		completions(&c, r);                                                                \
		if (submits)                                                                       \
			submissions(&c, r);                                                        \
		struct io_span waited = { c.thread, io_now() };                                    \
		type rc = NEXT(name) args;                                                         \
		if (waits)                                                                         \
			io_end(&waited, IO_uring_wait, (int64_t)(int)rc, IO_NO_PLACE,              \
			       ARGS(waits));                                                       \
		completions(&c, r);                                                                \
		return rc;                                                                         \
	}

struct __kernel_timespec;
WRAP_RING(int, io_uring_submit, true, 0, (struct ring * r), (r))
WRAP_RING(int, io_uring_submit_and_wait, true, n, (struct ring * r, unsigned n), (r, n))
WRAP_RING(int, io_uring_submit_and_wait_timeout, true, n,
	  (struct ring * r, void **got, unsigned n, struct __kernel_timespec *t, void *mask),
	  (r, got, n, t, mask))
WRAP_RING(int, io_uring_submit_and_get_events, true, 0, (struct ring * r), (r))
WRAP_RING(int, io_uring_get_events, false, 0, (struct ring * r), (r))
WRAP_RING(int, io_uring_wait_cqes, true, n,
	  (struct ring * r, void **got, unsigned n, struct __kernel_timespec *t, void *mask),
	  (r, got, n, t, mask))
WRAP_RING(int, io_uring_wait_cqe_timeout, true, 1,
	  (struct ring * r, void **got, struct __kernel_timespec *t), (r, got, t))
WRAP_RING(int, __io_uring_get_cqe, submit > 0, n,
	  (struct ring * r, void **got, unsigned submit, unsigned n, void *mask),
	  (r, got, submit, n, mask))
WRAP_RING(unsigned, io_uring_peek_batch_cqe, false, 0, (struct ring * r, void **got, unsigned n),
	  (r, got, n))

WRAP_LATE(void, io_uring_queue_exit, struct ring *r)
{
	struct io_span c;
	if (io_begin(&c)) {
		completions(&c, r);
		io_pending_forget(r);
		if (io_lock() == 0) {
			struct seen *seen = seen_of(r);
			if (seen)
				seen->ring = NULL;
			io_unlock();
		}
	}
	NEXT(io_uring_queue_exit)(r);
}
