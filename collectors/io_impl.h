/* What the files of the collector `io` share: io.c (start and ends), io_ring.c (events on their way
 * to the takers), io_handle.c (what a descriptor is of), io_text.c (texts, absolute paths),
 * io_next.c (the functions behind ours), io_clock.c, io_apart.c (where takers work; handlers that jump),
 * io_fds.c (descriptors of our own), io_box.c (sandboxes); and one file for each family of calls.
 *
 * How a call is wrapped:
 *
 *	WRAP(int, fsync, int fd)
 *	{
 *		struct io_span c;
 *		if (!io_begin(&c))
 *			return NEXT(fsync)(fd);
 *		uint32_t h = io_handle_of(fd);
 *		int rc = NEXT(fsync)(fd);
 *		io_end(&c, IO_fsync, rc < 0 ? -errno : 0, -1, 1, (int64_t[]){ h });
 *		return rc;
 *	}
 *
 * io_begin is false while nobody measures and in our own code; errno is what the call left. All but
 * io_end and what is marked so may be called between the two only. What we call ourselves never
 * comes by way of our own wrappers: the linker leads it past them (part_io.mk, io_own.c). */
#ifndef COLLECTORS_IO_IMPL_H
#define COLLECTORS_IO_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/io_take.h"
#include "schema/ioevent.h"

#define IO_PUBLIC __attribute__((visibility("default")))

/* ---- calls ------------------------------------------------------------------------------------
 */

struct io_thread; /* of the program, with its events */

struct io_span {
	struct io_thread *thread;
	uint64_t tick; /* when it began */
};

/* The next of `this` call: it begins now. False: go on, and do nothing else. */
bool io_begin(struct io_span *c);

/* It has returned. errno is kept. n arguments, in the order of the signature (schema/iocall.h). */
void io_end(const struct io_span *c, enum io_call call, int64_t result, int64_t at, unsigned n,
	    const int64_t *arg);

/* The same where its time is known (ticks of io_now), or not (begin 0). */
void io_put(const struct io_span *c, uint64_t begin_tick, uint64_t end_tick, enum io_call call,
	    int64_t result, int64_t at, unsigned n, const int64_t *arg);

/* The end of a call of MPI that has nothing to do with files: for the takers' mpi. */
void io_end_mpi(const struct io_span *c, enum io_mpi_class what);

/* The clock of these ticks. */
uint64_t io_now(void);

/* Around a call of a library that makes calls that are seen, too (MPI): those in between have
 * depth 1. On the same thread; they nest. Between io_begin and io_end. */
void io_deeper(const struct io_span *c);
void io_higher(const struct io_span *c);

/* ---- texts and handles --------------------------------------------------------------------------
 */

/* The number of a text; 0: of NULL, or there is no room for more of them (said as dropped texts).
 */
uint32_t io_text(const char *text);
uint32_t io_text_n(const char *text, size_t bytes);

/* The same of a path, made absolute; at is AT_FDCWD or a descriptor. */
uint32_t io_path(int at, const char *path);

/* A new handle that is no descriptor (an MPI file): its number, or 0 when there is no room. number
 * of info is ignored. The takers are told. */
uint32_t io_handle_new(const struct io_handle_info *info);

/* The handle of a descriptor; one that nobody has seen opened gets its number now. 0: there is no
 * such descriptor (or it is one of ours). */
uint32_t io_handle_of(int fd);

#endif
