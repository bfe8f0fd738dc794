/* Operations that were begun by one call and are ended by another: POSIX aio, libaio, io_uring. */
#ifndef COLLECTORS_IO_PENDING_H
#define COLLECTORS_IO_PENDING_H

#include "collectors/io_wrap.h"

struct io_pending {
	const void *of; /* a ring, a context, NULL */
	uint64_t id;    /* the first one with it is the first to end */
	uint64_t begin; /* ticks */
	uint16_t call, n_args;
	int64_t arg[IO_ARGS];
	int64_t at;
	struct io_open *own; /* at is this one's place, when it is done */
	uint32_t path;       /* of an open */
	int fd;              /* of a close */
};

/* Copied. There is room for some thousands; what comes past them is dropped when it ends. */
void io_pending_add(const struct io_pending *p);

/* It ended: the event. Nothing when it was not known. */
void io_pending_end(const struct io_span *c, const void *of, uint64_t id, int64_t result);

/* It was not begun after all, or is known to be over without a result. */
void io_pending_drop(const void *of, uint64_t id);

/* All of it. */
void io_pending_forget(const void *of);

#endif
