/* One call that has to do with files, as it happened. What sees calls (the collector `io`, readers
 * of other tools' traces) makes these; what counts, captures or issues them again takes them.
 * Handles and texts are numbers of the process that they are of, each given once:
 *   - a handle for each time something was opened, in that order: the descriptor 3 that was closed
 * and opened anew is another. 0 is none (AT_FDCWD, an open that failed); 1, 2, 3 are standard
 * input, output and error. One that was open before anybody looked gets its number when it is first
 * used.
 *   - a text for each different one, from 1 in the order of first use; 0 is none. */
#ifndef SCHEMA_IOEVENT_H
#define SCHEMA_IOEVENT_H

#include <stdint.h>

#include "schema/iocall.h"

#define IO_ARGS 6

struct io_event {
	uint16_t call; /* enum io_call */
	uint8_t depth; /* 0: the program's own; 1: made by a library within a call that is seen, too
			*/
	uint8_t spare;
	uint32_t thread;           /* number in its process, in order of first call: 0, 1, ... */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; both 0: not known */
	int64_t result;            /* a handle where the call makes one; -errno when it failed */
	int64_t arg[IO_ARGS];      /* as many as the signature has; others 0 */
	int64_t at;                /* where in the file its bytes are; -1: not known, or no place */
	/* 2 and more: so many calls of this thread, one right after the other, all with these arguments
	 * and this result; where `at` is known, each begins where the one before ended (at + result).
	 * 0 and 1: one. Whoever takes events multiplies. */
	uint32_t count;
	uint32_t spare2;
	/* Of a call whose time is not known (begin_ns and end_ns are 0): about when it was, to tell what is
	 * inside of a region: never on the other side of a mark of its thread. 0: not known. */
	uint64_t when_ns;
};

/* What a handle is of. */
enum io_file_type { IO_FILE, IO_DIRECTORY, IO_PIPE, IO_SOCKET, IO_TERMINAL, IO_DEVICE, IO_OTHER };

#endif
