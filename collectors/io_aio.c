/* POSIX aio, and libaio. What libc's own threads do for the first can't be seen, nor need be: an
 * operation is one event, from its submission until the program takes its result. */
#include "collectors/io_pending.h"

#include <aio.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>

#define io_event io_event_of_linux /* that name is ours */
#include <linux/aio_abi.h>
#undef io_event

/* ---- POSIX: cb is known by its address ----------------------------------------------------------
 */

static void begun(const struct io_span *c, const struct aiocb *cb, enum io_call call,
		  const struct io_open *o)
{
	struct io_pending p = { .id = (uint64_t)(uintptr_t)cb,
				.begin = c->tick,
				.call = (uint16_t)call };
	p.arg[0] = io_number(o);
	p.at = IO_NO_PLACE;
	p.n_args = 1;
	if (call != IO_aio_fsync) {
		p.arg[1] = (int64_t)cb->aio_nbytes;
		p.arg[2] = cb->aio_offset;
		p.n_args = 3;
		p.at = o && o->placeless ? IO_NO_PLACE : cb->aio_offset;
	}
	io_pending_add(&p);
}

/* Known before it can end, dropped where it did not begin: then the call itself is the event. */
static int begun_or_not(const struct io_span *c, const struct aiocb *cb, enum io_call call,
			const struct io_open *o, int rc)
{
	int64_t result = io_result(rc);
	if (rc == 0)
		return rc;
	io_pending_drop(NULL, (uint64_t)(uintptr_t)cb);
	if (call == IO_aio_fsync)
		io_end(c, call, result, IO_NO_PLACE, ARGS(io_number(o)));
	else
		io_end(c, call, result, IO_NO_PLACE,
		       ARGS(io_number(o), (int64_t)cb->aio_nbytes, cb->aio_offset));
	return rc;
}

#define WRAP_AIO(name, call, params, args)                                                         \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!io_begin_fd(&c, cb->aio_fildes, &o))                                          \
			return NEXT(name) args;                                                    \
		begun(&c, cb, call, o);                                                            \
		return begun_or_not(&c, cb, call, o, NEXT(name) args);                             \
	}

WRAP_AIO(aio_read, IO_aio_read, (struct aiocb * cb), (cb))
ALSO(aio_read64, aio_read);
WRAP_AIO(aio_write, IO_aio_write, (struct aiocb * cb), (cb))
ALSO(aio_write64, aio_write);
WRAP_AIO(aio_fsync, IO_aio_fsync, (int how, struct aiocb *cb), (how, cb))
ALSO(aio_fsync64, aio_fsync);

WRAP(ssize_t, aio_return, struct aiocb *cb)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(aio_return)(cb);
	ssize_t rc = NEXT(aio_return)(cb);
	io_pending_end(&c, NULL, (uint64_t)(uintptr_t)cb, rc < 0 ? -cb->__error_code : rc);
	return rc;
}
ALSO(aio_return64, aio_return);

WRAP(int, aio_suspend, const struct aiocb *const list[], int n, const struct timespec *until)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(aio_suspend)(list, n, until);
	int rc = NEXT(aio_suspend)(list, n, until);
	io_end(&c, IO_aio_suspend, io_result(rc), IO_NO_PLACE, ARGS(n));
	return rc;
}
ALSO(aio_suspend64, aio_suspend);

WRAP(int, aio_cancel, int fd, struct aiocb *cb)
{
	struct io_span c;
	struct io_open *o;
	if (!io_begin_fd(&c, fd, &o))
		return NEXT(aio_cancel)(fd, cb);
	int rc = NEXT(aio_cancel)(fd, cb);
	io_end(&c, IO_aio_cancel, io_result(rc), IO_NO_PLACE, ARGS(io_number(o)));
	return rc;
}
ALSO(aio_cancel64, aio_cancel);

static enum io_call listed(const struct aiocb *cb)
{
	return cb && cb->aio_lio_opcode == LIO_READ    ? IO_aio_read
	       : cb && cb->aio_lio_opcode == LIO_WRITE ? IO_aio_write
						       : IO_CALL_NONE;
}

/* With LIO_WAIT all are over when it returns, and a program need not ask for each result. Else one
 * that did not begin says so when it is asked for. */
WRAP(int, lio_listio, int mode, struct aiocb *const list[], int n, struct sigevent *signal)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(lio_listio)(mode, list, n, signal);
	for (int i = 0; i < n; i++)
		if (listed(list[i]))
			begun(&c, list[i], listed(list[i]), io_open_of(list[i]->aio_fildes));
	int rc = NEXT(lio_listio)(mode, list, n, signal);
	int saved = errno;
	for (int i = 0; mode == LIO_WAIT && i < n; i++)
		if (listed(list[i]))
			io_pending_end(&c, NULL, (uint64_t)(uintptr_t)list[i],
				       list[i]->__error_code ? -list[i]->__error_code
							     : list[i]->__return_value);
	errno = saved;
	return rc;
}
ALSO(lio_listio64, lio_listio);

/* ---- libaio: by the address of the iocb ---------------------------------------------------------
 */

/* The kernel's struct io_event, whose name is ours. */
struct done {
	uint64_t data, obj;
	int64_t res, res2;
};

static bool is_data(const struct iocb *b)
{
	return b->aio_lio_opcode == IOCB_CMD_PREAD || b->aio_lio_opcode == IOCB_CMD_PWRITE ||
	       b->aio_lio_opcode == IOCB_CMD_PREADV || b->aio_lio_opcode == IOCB_CMD_PWRITEV;
}

static int64_t asked_of(const struct iocb *b)
{
	bool parts = b->aio_lio_opcode == IOCB_CMD_PREADV || b->aio_lio_opcode == IOCB_CMD_PWRITEV;
	const struct iovec *part = (const struct iovec *)(uintptr_t)b->aio_buf;
	int64_t bytes = 0;
	for (uint64_t i = 0; parts && i < b->aio_nbytes && i < IOV_MAX; i++)
		bytes += (int64_t)part[i].iov_len;
	return parts ? bytes : (int64_t)b->aio_nbytes;
}

static bool submitted(const struct io_span *c, const void *context, const struct iocb *b)
{
	struct io_pending p = { .of = context,
				.id = (uint64_t)(uintptr_t)b,
				.begin = c->tick,
				.at = IO_NO_PLACE,
				.n_args = 1 };
	bool sync = b->aio_lio_opcode == IOCB_CMD_FSYNC || b->aio_lio_opcode == IOCB_CMD_FDSYNC;
	if (!sync && !is_data(b))
		return false;
	const struct io_open *o = io_open_of((int)b->aio_fildes);
	p.arg[0] = io_number(o);
	p.call = IO_io_submit_sync;
	if (!sync) {
		bool reads =
			b->aio_lio_opcode == IOCB_CMD_PREAD || b->aio_lio_opcode == IOCB_CMD_PREADV;
		p.call = reads ? IO_io_submit_read : IO_io_submit_write;
		p.arg[1] = asked_of(b);
		p.arg[2] = b->aio_offset;
		p.n_args = 3;
		p.at = o && o->placeless ? IO_NO_PLACE : b->aio_offset;
	}
	io_pending_add(&p);
	return true;
}

WRAP_LATE(int, io_submit, void *context, long n, struct iocb *list[])
{
	struct io_span c;
	if (n <= 0 || !list || !io_begin(&c))
		return NEXT(io_submit)(context, n, list);
	for (long i = 0; i < n && list[i]; i++) /* the kernel stops at one that is none */
		(void)submitted(&c, context, list[i]);
	int rc = NEXT(io_submit)(context, n, list);
	for (long i = rc > 0 ? rc : 0; i < n; i++) /* the program comes again with these */
		io_pending_drop(context, (uint64_t)(uintptr_t)list[i]);
	return rc;
}

static int got(const struct io_span *c, const void *context, const struct done *done, int n)
{
	for (int i = 0; i < n; i++)
		io_pending_end(c, context, done[i].obj, done[i].res);
	io_end(c, IO_io_getevents, n, IO_NO_PLACE, ARGS(n));
	return n;
}

WRAP_LATE(int, io_getevents, void *context, long least, long most, struct done *done,
	  struct timespec *until)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(io_getevents)(context, least, most, done, until);
	return got(&c, context, done, NEXT(io_getevents)(context, least, most, done, until));
}

WRAP_LATE(int, io_pgetevents, void *context, long least, long most, struct done *done,
	  struct timespec *until, void *mask)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(io_pgetevents)(context, least, most, done, until, mask);
	return got(&c, context, done, NEXT(io_pgetevents)(context, least, most, done, until, mask));
}

WRAP_LATE(int, io_destroy, void *context)
{
	struct io_span c;
	if (io_begin(&c))
		io_pending_forget(context);
	return NEXT(io_destroy)(context);
}
