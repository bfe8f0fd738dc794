/* What a collector saw in one process, folded: sums inside the region and in the whole process,
 * for each device and operation, and the times when a device was busy. Its size does not grow with
 * the number of operations. A live collector leaves it in the folder of the marks (files that end in
 * PICTURE_SUFFIX), importers make it out of a file; core/picture.h puts those of all processes
 * together.
 *
 * The same rules as in schema/record.h: append only; NAN, NULL, UNKNOWN and lists without items are
 * null. Lists over the categories have one number for each of enum category (core/category.h), in
 * its order; one that nobody observes is NAN. Times are ns, each a whole number below 10^15. */
#ifndef SCHEMA_PICTURE_H
#define SCHEMA_PICTURE_H

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "schema/field.h"
#include "schema/picture_name.h"

#define PICTURE_SCHEMA "roimeter-picture/1"
#define PICTURE_MAX_BYTES (64u << 20) /* a file that is larger is refused */

/* Sums over one scope: the region, or the whole process. */
#define PICTURE_SUMS_FIELDS(F, B, L)                                                            \
	F(nums, time_ns, "ns", "clipped lengths, by category")                                  \
	F(nums, ops, "1", "operations that touch the scope, by category")                       \
	F(nums, bytes, "B", "moved or filled, pro rata where cut, not rounded, by category")    \
	F(nums, union_ns, "ns", "union within each device, summed over devices, by category")   \
	F(num, op_sum_ns, "ns", "sum of clipped lengths")                                       \
	F(num, busy_ns, "ns", "any device of this process busy")                                \
	F(num, device_busy_ns, "ns", "union within each device, summed over devices")           \
	F(num, calls, "1", "runtime calls: in the region those wholly inside one window")       \
	F(num, calls_ns, "ns", "their time")                                                    \
	F(num, sync_calls, "1", "those that wait for the device")                               \
	F(num, sync_ns, "ns", "their time")                                                     \
	F(num, untimed, "1", "operations without a usable time; by their launch where known")

#define PICTURE_DEVICE_FIELDS(F, B, L)                                                          \
	F(txt, name, "", "as people know it: \"NVIDIA A100\", \"0\"")                           \
	F(txt, id, "", "the same in all processes of the node, and no other's: UUID, PCI place") \
	F(num, busy_ns, "ns", "union of clipped operations of this process")                    \
	F(num, whole_busy_ns, "ns", "union of all operations")                                  \
	F(nums, busy, "ns", "that union: begin, end, begin, end, ... after base")               \
	F(num, closed_ns, "ns", "gaps that were closed so that busy has room: 0 if it is exact")

#define PICTURE_OP_FIELDS(F, B, L)                                                              \
	F(txt, name, "", "kernel or kind of copy")                                              \
	F(num, category, "", "enum category")                                                   \
	F(num, count, "1", "that touch the scope")                                              \
	F(num, total_ns, "ns", "clipped lengths")                                               \
	F(num, min_ns, "ns", "shortest")                                                        \
	F(num, max_ns, "ns", "longest")                                                         \
	F(nums, bins, "1", "histogram of the lengths: bin (schema/bins.h), count, bin, count, ...")

/* The device idle, the region open: what the host did. Disjoint, in this order of precedence. */
#define PICTURE_GAP_FIELDS(F, B, L)                                                             \
	F(num, total_ns, "ns", "windows less busy")                                             \
	F(num, sync_ns, "ns", "in a runtime call that waits for the device")                    \
	F(num, api_ns, "ns", "in another call of the runtime")                                  \
	F(num, cpu_ns, "ns", "on the CPU")                                                      \
	F(num, off_cpu_ns, "ns", "off the CPU")                                                 \
	F(num, io_ns, "ns", "in I/O; comes behind api_ns, where it was looked at")              \
	F(num, mpi_ns, "ns", "in another call of MPI; comes behind io_ns")

#define PICTURE_FIELDS(F, B, L)                                                                 \
	F(txt, schema, "", "roimeter-picture/1")                                                \
	F(txt, collector, "", "cupti, opencl, nsys, kineto, ...")                               \
	F(txt, tool, "", "program and version that made this")                                  \
	F(txt, runtime, "", "cuda13.0, hip6.2, opencl3.0")                                      \
	F(txts, observes, "", "names of the categories that can be seen")                       \
	F(txt, status, "", "ok, idle, no_driver, no_device, busy, refused, failed")             \
	F(txt, why, "", "a sentence, where it is not ok")                                       \
	F(ter, final, "", "the process came to its end, and nothing more will come")            \
	F(txt, run, "", "ROIMETER_RUN")                                                         \
	F(txt, exec, "", "ROIMETER_EXEC")                                                       \
	F(txt, stream, "", "of the process's mark log")                                         \
	F(txt, host, "", "node")                                                                \
	F(txt, boot, "", "boot id")                                                             \
	F(txt, pid, "", "in its own namespace")                                                 \
	F(txt, rank, "", "as its launcher told")                                                \
	F(txt, exe, "", "program")                                                              \
	F(txt, clock, "", "time line: monotonic, or the trace's own")                           \
	F(num, base_s, "s", "all times of lists are after base_s and base_ns")                  \
	F(num, base_ns, "ns", "0 to 999999999")                                                 \
	F(num, clock_offset_ns, "ns", "of the device's clock, at the start; taken out of times") \
	F(num, clock_drift_ns, "ns", "change of that to the last check")                        \
	F(num, clock_error_ns, "ns", "half the largest window in which the clocks were compared") \
	F(ter, found, "", "there was a region")                                                 \
	F(num, entries, "1", "merged ranges of the region")                                     \
	F(num, gross_ns, "ns", "the region with what is excluded")                              \
	F(num, wall_ns, "ns", "the region without")                                             \
	F(nums, windows, "ns", "region less excludes: begin, end, ... after base")              \
	F(num, windows_closed_ns, "ns", "gaps that were closed so that windows has room")       \
	B(picture_sums, roi, "inside the windows")                                              \
	B(picture_sums, whole, "the whole process")                                             \
	L(picture_device, devices, "that the process used")                                     \
	L(picture_op, ops, "operations of the region, largest total first")                     \
	L(picture_op, whole_ops, "the same of the whole process")                               \
	F(num, names_folded, "1", "operations whose names had no room: they are \"(others)\"")  \
	F(num, dropped, "1", "records that the driver or the runtime lost")                     \
	F(num, late, "1", "operations that came too late for the unions; in all sums")          \
	F(num, late_marks, "1", "marks that came after operations of their time were folded")   \
	F(num, graphs, "1", "graph launches recorded as a whole, their operations unseen")      \
	B(picture_gap, gap, "in the region")                                                    \
	F(num, collector_cpu_s, "s", "CPU time that collecting took in this process")           \
	F(txts, notes, "", "sentences for the caveats")                                         \
	F(num, pending, "1", "operations under way when this was written: in no sum")           \
	F(num, collector_roi_cpu_s, "s", "of collector_cpu_s, what was inside the region")      \
	F(num, late_calls, "1", "calls and stretches of threads that came too late for the gap's parts")

#define PICTURE_BLOCKS(X)                          \
	X(picture_sums, PICTURE_SUMS_FIELDS)       \
	X(picture_device, PICTURE_DEVICE_FIELDS)   \
	X(picture_op, PICTURE_OP_FIELDS)           \
	X(picture_gap, PICTURE_GAP_FIELDS)         \
	X(picture, PICTURE_FIELDS)

PICTURE_BLOCKS(DEFINE_STRUCT)

#define DECLARE_PICTURE_BLOCK(kind, FIELDS) extern const struct block kind##_block;
PICTURE_BLOCKS(DECLARE_PICTURE_BLOCK)

/* Everything null, schema set. */
void picture_clear(struct picture *p);

/* The file's bytes: a line that says what it is, a sum, the block. Look at b->failed. */
void picture_put(struct buf *b, const struct picture *p);

/* All copied into the arena. -EBADMSG: damaged, cut, no picture; -EPROTONOSUPPORT: another version.
 * What it returns can be trusted by arithmetic: lists have their lengths, times are in order, numbers
 * are whole, not negative and below 10^15. */
int picture_get(struct picture *ret, struct arena *a, const char *file, const void *bytes, size_t n,
		struct err *err);

/* From the first PICTURE_HEAD bytes of a file, whole or not, and without a look at its sum: whose it
 * is, and whether it is final; the fields up to exe. As picture_get. */
#define PICTURE_HEAD (64u << 10)
int picture_peek(struct picture *ret, struct arena *a, const void *bytes, size_t n,
		 struct err *err);

#endif
