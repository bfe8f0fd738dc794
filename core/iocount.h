/* The calls of one process that have to do with files, counted while they come: sums of the region and
 * of the whole process, by interface and by file, how files were used, bytes over time, how long any
 * thread waited. Memory is of one size from the start on, whatever the number of calls and files: files
 * beyond max_files are in the sums only. Pure: it knows no clock, file or thread; calls of one counter
 * must not overlap. docs/io.md says what each number is.
 *
 * Where the region is a flow says (core/flow.h), which is told of the marks. Calls come later than the
 * marks of their time, in batches, those of one thread in order: what is inside is right as long as the
 * flow has its windows. One that a window cuts counts once, its bytes and time pro rata.
 *
 * Sums are of files and directories; what went through pipes, sockets, terminals and devices stands in
 * their lines in the list of files only, one line for all pipes, one for all sockets. */
#ifndef CORE_IOCOUNT_H
#define CORE_IOCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/flow.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "schema/ioevent.h"
#include "schema/iopicture.h"

struct iocount;

struct iocount_options {
	size_t max_files; /* 0: 1024 */
	size_t handles;   /* open at the same time, about; 0: 8192 */
};

/* -ENOMEM. */
int iocount_new(struct iocount **ret, const struct iocount_options *o, struct err *err);
void iocount_free(struct iocount *c);
void iocount_clear(struct iocount *c); /* as new */

struct iocount_handle {
	uint32_t number;
	uint32_t path; /* text; 0: not known */
	enum io_file_type type;
	enum io_interface interface;
	uint64_t device, inode; /* 0, 0: not known */
};

/* Before the first event that names it. True: of a file that has just got its line: then whoever knows
 * more may tell it with iocount_detail. */
void iocount_text(struct iocount *c, uint32_t number, const char *text, size_t bytes);
bool iocount_handle(struct iocount *c, const struct iocount_handle *h);

struct iocount_detail {
	const char *filesystem; /* a static text, or NULL */
	uint64_t block_bytes;   /* 0: not known */
	uint64_t born_us;       /* when it was made, after 1970; 0: not known */
};

/* Of the file of a handle. */
void iocount_detail(struct iocount *c, uint32_t handle, const struct iocount_detail *detail);

/* Of one thread, in the order of their return. */
void iocount_events(struct iocount *c, struct flow *f, const struct io_event *e, size_t n);

/* Calls of MPI that are in no event: call is below IO_MPI_CLASSES (schema/iopicture.h). */
void iocount_mpi(struct iocount *c, struct flow *f, const struct io_event *e, size_t n);

void iocount_dropped(struct iocount *c, uint64_t calls);

/* All calls that returned before this time were told. */
void iocount_flushed(struct iocount *c, int64_t at_ns);

/* Was its thread in I/O to files from its begin to its end? Not of what goes on beside it, nor within
 * another call. */
bool iocount_waits(struct iocount *c, const struct io_event *e);

/* Of a handle's file; NULL: not known. */
const char *iocount_name(struct iocount *c, uint32_t handle);

/* As of now: what is counted, and the region's fields; who, where and why are the caller's (ret is
 * iopicture_clear first). In the arena. -ENOMEM, -ERANGE as flow_picture. */
int iocount_picture(struct iocount *c, struct flow *f, struct arena *a, struct iopicture *ret,
		    struct err *err);

#endif
