/* What takes the calls that the collector `io` sees, within the measured process: the counter, the
 * capture. Guest rules (live.h). One call at a time for a process, so a taker needs no lock of its
 * own; it must not call what the collector interposes, nor wait. */
#ifndef COLLECTORS_IO_TAKE_H
#define COLLECTORS_IO_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/live.h"
#include "schema/ioevent.h"

struct io_handle_info {
	uint32_t number;
	uint32_t path; /* text, absolute; 0: not known */
	enum io_file_type type;
	enum io_interface interface; /* of the call that made it */
	int64_t flags;               /* of open, as on Linux; -1: not known */
	uint64_t device, inode;      /* 0, 0: not known */
	bool was_open;               /* before anybody looked */
};

/* What a call of MPI is for that has nothing to do with files: class_ of the record's io.mpi. */
enum io_mpi_class {
	IO_MPI_POINT_TO_POINT,
	IO_MPI_COLLECTIVE,
	IO_MPI_WAIT, /* and test, probe: for what was begun before */
	IO_MPI_ONE_SIDED,
	IO_MPI_START, /* init, finalize, abort, spawn; what makes and frees communicators */
	IO_MPI_OTHER,
	IO_MPI_CLASSES
};

struct io_taker {
	/* Once, before all else. Not 0: it takes no part. */
	int (*start)(void);
	/* Each text and each handle before the first event that names it. */
	void (*text)(uint32_t number, const char *text, size_t bytes);
	void (*handle)(const struct io_handle_info *h);
	/* Calls of one thread, in the order in which they returned. Batches of several threads come
	 * in no order. Those of a thread that ended come with its end. */
	void (*events)(const struct io_event *e, size_t n);
	/* All threads' batches have just been handed over. */
	void (*flush)(enum live_flush how);
	/* Calls that could not be kept (no memory, too many threads). */
	void (*dropped)(uint64_t calls);
	/* In a forked child: forget all; handles and texts come anew when they are used. */
	void (*child)(void);
	/* Calls of MPI that are in no event, since they are not about files; each once, the
	 * outermost only, in batches as above. call is enum io_mpi_class; depth, thread, begin_ns
	 * and end_ns are as in events, all else is 0. They are within no call of an event (what
	 * events they have within them has depth 1 and more), so time in them and in events of
	 * depth 0 of one thread is disjoint. */
	void (*mpi)(const struct io_event *e, size_t n);
};

/* Calls that are not told as dropped yet: of who could take no more. */
uint64_t io_untold(void);

/* Those that there are; any may be NULL members but events. */
extern const struct io_taker io_counter, io_capture;

#endif
