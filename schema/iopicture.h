/* What the collector `io` counted in one process. Beside the process's mark log, as the pictures of the
 * device's collectors (schema/picture.h), by the same rules. */
#ifndef SCHEMA_IOPICTURE_H
#define SCHEMA_IOPICTURE_H

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "schema/picture_name.h"
#include "schema/record.h"

#define IOPICTURE_SCHEMA "roimeter-io-picture/1"
#define IOPICTURE_MAX_BYTES (64u << 20)

/* class_ of io.mpi, by enum io_mpi_class (collectors/io_take.h). */
#define IOPICTURE_MPI_CLASSES 6
extern const char *const iopicture_mpi_classes[IOPICTURE_MPI_CLASSES];

#define IOPICTURE_FILE_FIELDS(F, B, L)                                                          \
	F(txt, name, "", "absolute path; stdout and its like as such; (pipes), (sockets)")      \
	F(txt, type, "", "file, directory, pipe, socket, terminal, device, other")              \
	F(txt, interface, "", "the highest one that it was opened with")                        \
	F(txt, filesystem, "", "type of what is mounted there")                                 \
	F(num, device, "", "of its file system; null: not known")                               \
	F(num, inode, "", "its number there")                                                   \
	F(num, size_bytes, "B", "end of the last byte that was seen read or written")           \
	F(num, block_bytes, "B", "of the file system")                                          \
	B(io_sums, roi, "inside the region")                                                    \
	B(io_sums, whole, "in the whole process")                                               \
	B(io_pattern, roi_pattern, "inside the region")                                         \
	B(io_pattern, whole_pattern, "in the whole process")                                    \
	F(txt, hints_set, "", "of MPI-IO as given: lines key=value")                            \
	F(txt, hints_in_force, "", "as MPI tells them afterwards")                              \
	F(num, first_s, "s", "begin of the first access, on the process's clock")               \
	F(num, last_s, "s", "end of the last")                                                  \
	F(num, closed_bytes, "B", "gaps that were taken as written: each read of one is in reread_bytes") \
	F(num, born_us, "us", "when it was made, after 1970, as its file system tells; null: not known")

/* Bins begin at whole multiples of bin_ns of the process's clock. */
#define IOPICTURE_SERIES_FIELDS(F, B, L)                                                        \
	F(txt, source, "", "program, posix, stdio, mpiio, aio, uring")                          \
	F(num, first_bin, "1", "the time when the first one begins, in bins")                   \
	F(num, bin_ns, "ns", "width of a bin")                                                  \
	F(nums, read_bytes, "B", "in each bin")                                                 \
	F(nums, write_bytes, "B", "in each bin")

/* Up to exe as in a device's picture: iopicture_peek. */
#define IOPICTURE_FIELDS(F, B, L)                                                               \
	F(txt, schema, "", "roimeter-io-picture/1")                                             \
	F(txt, collector, "", "io")                                                             \
	F(txt, tool, "", "program and version that made this")                                  \
	F(txt, status, "", "ok, idle, failed")                                                  \
	F(txt, why, "", "a sentence, where it is failed")                                       \
	F(ter, final, "", "the process came to its end, and nothing more will come")            \
	F(txt, run, "", "ROIMETER_RUN")                                                         \
	F(txt, exec, "", "ROIMETER_EXEC")                                                       \
	F(txt, stream, "", "of the process's mark log")                                         \
	F(txt, host, "", "node")                                                                \
	F(txt, boot, "", "boot id")                                                             \
	F(txt, pid, "", "in its own namespace")                                                 \
	F(txt, rank, "", "as its launcher told")                                                \
	F(txt, exe, "", "program")                                                              \
	F(txt, clock, "", "time line: monotonic")                                               \
	F(ter, found, "", "there was a region")                                                 \
	F(num, entries, "1", "merged ranges of the region")                                     \
	F(num, gross_ns, "ns", "the region with what is excluded")                              \
	F(num, wall_ns, "ns", "the region without")                                             \
	B(io_sums, roi, "the program's own calls, inside the region")                           \
	B(io_sums, whole, "in the whole process")                                               \
	F(num, wait_ns, "ns", "any thread in such a call, inside the region")                   \
	F(num, whole_wait_ns, "ns", "in the whole process")                                     \
	F(num, wait_closed_ns, "ns", "gaps that were closed: whole_wait_ns is at most so much too large") \
	L(io_by_interface, interfaces, "each by itself, program's own and within others")          \
	L(iopicture_file, files, "most bytes first")                                            \
	F(num, files_total, "1", "different ones that were opened")                             \
	F(num, files_folded, "1", "of these, in the sums only")                                 \
	L(iopicture_series, series, "bytes over time")                                          \
	L(io_mpi, mpi, "other calls of MPI")                                                    \
	F(num, dropped_ops, "1", "calls that were seen and could not be counted")               \
	F(num, late_ops, "1", "calls that came too late for wait_ns")                           \
	F(num, late_marks, "1", "marks that could not be told of")                              \
	F(num, collector_cpu_s, "s", "CPU time that counting took in this process")             \
	F(num, collector_roi_cpu_s, "s", "of that, inside the region")                          \
	F(txts, notes, "", "sentences for the caveats")                                         \
	F(num, real_s, "s", "since 1970 when the clock was at 0: with real_ns what makes its times comparable") \
	F(num, real_ns, "ns", "0 to 999999999, after real_s")

#define IOPICTURE_BLOCKS(X)                            \
	X(iopicture_file, IOPICTURE_FILE_FIELDS)       \
	X(iopicture_series, IOPICTURE_SERIES_FIELDS)   \
	X(iopicture, IOPICTURE_FIELDS)

IOPICTURE_BLOCKS(DEFINE_STRUCT)

#define DECLARE_IOPICTURE_BLOCK(kind, FIELDS) extern const struct block kind##_block;
IOPICTURE_BLOCKS(DECLARE_IOPICTURE_BLOCK)

/* As of schema/picture.h. What iopicture_get returns can be trusted by arithmetic: numbers are not
 * negative and below 10^18, whole where they count, lists that belong together have one length. */
void iopicture_clear(struct iopicture *p);
void iopicture_put(struct buf *b, const struct iopicture *p);
int iopicture_get(struct iopicture *ret, struct arena *a, const char *file, const void *bytes,
		  size_t n, struct err *err);
int iopicture_peek(struct iopicture *ret, struct arena *a, const void *bytes, size_t n,
		   struct err *err);

/* Whose it is, of either kind of picture: from its first bytes, as picture_peek. */
struct picture_head {
	const char *run, *exec, *stream, *host, *boot, *pid, *rank, *exe;
	signed char final;
};
int picture_head_peek(struct picture_head *ret, struct arena *a, const void *bytes, size_t n,
		      struct err *err);

#endif
