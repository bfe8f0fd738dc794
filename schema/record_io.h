/* The record's block about files: what schema/record.h lists as io, by the same rules. */
#ifndef SCHEMA_RECORD_IO_H
#define SCHEMA_RECORD_IO_H

/* Calls that have to do with files, summed: times are from call to return, of all threads and processes
 * together. A call that the scope cuts counts once, its bytes and time pro rata. */
#define IO_SUMS_FIELDS(F, B, L)                                                           \
	F(num, read_bytes, "B", "that calls took out of files")                           \
	F(num, write_bytes, "B", "that calls put into files")                             \
	F(num, read_ops, "1", "calls that read; one that copies is here and in write_ops") \
	F(num, write_ops, "1", "calls that write")                                        \
	F(num, open_ops, "1", "calls that open or close")                                 \
	F(num, seek_ops, "1", "calls that move the position")                             \
	F(num, sync_ops, "1", "calls that wait until bytes are safe")                     \
	F(num, meta_ops, "1", "calls about names, sizes, attributes")                     \
	F(num, failed_ops, "1", "calls that failed; in no other number but the times")    \
	F(num, read_s, "s", "in calls that read")                                         \
	F(num, write_s, "s", "in calls that write")                                       \
	F(num, meta_s, "s", "in all others")                                              \
	F(num, untimed_ops, "1", "calls whose time is not known: in no time here")

/* How a file was used. Sizes by powers of two: bin 0 is no byte, bin k 2^(k-1) to 2^k - 1. */
#define IO_PATTERN_FIELDS(F, B, L)                                                          \
	F(num, consecutive_reads, "1", "that begin where the handle's access before ended") \
	F(num, consecutive_writes, "1", "same of writes")                                   \
	F(num, sequential_reads, "1", "that begin there or behind: consecutive ones, too")  \
	F(num, sequential_writes, "1", "same of writes")                                    \
	F(num, turns, "1", "accesses of the other direction than the one before")           \
	F(num, unaligned_ops, "1", "that begin or end off the file system's block, the file's end aside") \
	F(num, reread_bytes, "B", "read of what this process had written before")           \
	F(nums, read_bins, "1", "sizes of reads: bin, count, bin, count, ...")              \
	F(nums, write_bins, "1", "sizes of writes")

#define IO_INTERFACE_FIELDS(F, B, L)                                             \
	F(txt, name, "", "posix, stdio, mpiio, aio, uring")                      \
	F(txt, within, "", "in calls of this interface; null: the program's own") \
	B(io_sums, roi, "inside the region")                                     \
	B(io_sums, whole, "in whole processes")

#define IO_FILE_FIELDS(F, B, L)                                                        \
	F(txt, name, "", "as opened, made absolute; stdout and its like as such")      \
	F(txt, type, "", "file, directory, pipe, socket, terminal, device")            \
	F(txt, interface, "", "the highest one that it was opened with")               \
	F(txt, filesystem, "", "type of what is mounted there: ext4, lustre, tmpfs")   \
	F(num, processes, "1", "that used it")                                         \
	F(ter, shared, "", "more than one process used it")                            \
	F(num, size_bytes, "B", "end of the last byte that was seen read or written")  \
	F(num, block_bytes, "B", "of the file system, that unaligned_ops refers to")   \
	B(io_sums, roi, "inside the region")                                           \
	B(io_sums, whole, "in whole processes")                                        \
	B(io_pattern, roi_pattern, "inside the region")                                \
	B(io_pattern, whole_pattern, "in whole processes")                             \
	F(txts, hints_set, "", "hints of MPI-IO as given: key=value")                  \
	F(txts, hints_in_force, "", "as MPI tells them afterwards")                    \
	F(txts, layout, "", "of the file system: stripe_size=1048576, stripe_count=4") \
	F(num, first_s, "s", "first access, after the start of the command")           \
	F(num, last_s, "s", "end of the last")

/* Bytes over time: what was moved between begin_s + i * bin_s and the next, by the time of the calls. */
#define IO_SERIES_FIELDS(F, B, L)                                                     \
	F(txt, source, "", "program (depth 0 of all interfaces), posix, stdio, mpiio, aio, uring") \
	F(num, rank, "", "null: all processes together")                              \
	F(num, begin_s, "s", "of the first bin, after the start of the command")      \
	F(num, bin_s, "s", "width of a bin")                                          \
	F(nums, read_bytes, "B", "in each bin")                                       \
	F(nums, write_bytes, "B", "in each bin")

/* Calls of MPI, by what they are for; I/O of MPI is in io. */
#define IO_MPI_FIELDS(F, B, L)                                                  \
	F(txt, class_, "", "point_to_point, collective, wait, one_sided, start, other") \
	F(num, calls, "1", "inside the region")                                 \
	F(num, time_s, "s", "their time, clipped, of all threads and processes") \
	F(num, whole_calls, "1", "in whole processes")                          \
	F(num, whole_time_s, "s", "their time")

/* Calls about files kept whole (docs/capture.md): what one execution left. */
#define IO_KEPT_FIELDS(F, B, L)                                                        \
	F(txt, folder, "", "of the capture, absolute")                                 \
	F(num, bytes, "B", "its size")                                                 \
	F(num, processes, "1", "that have a file in it")                               \
	F(num, calls, "1", "that are in it")                                           \
	F(num, events, "1", "that these are: one may stand for several calls")         \
	F(num, rules, "1", "of its grammars")                                          \
	F(num, symbols, "1", "items of these rules")                                   \
	F(num, dropped_ops, "1", "calls that were seen and could not be kept")         \
	F(num, unfinished, "1", "of the processes, those whose end is not in it")      \
	F(txt, why, "", "it could not be made, or not be read: what its numbers lack")

/* The first five, and bytes everywhere but in `interfaces` and `device_*`, are what the program itself
 * asked for, each byte once: calls that a library makes within a call that is seen are not in them. */
#define IO_FIELDS(F, B, L)                                      \
	F(num, read_bytes, "B", "read inside the region")       \
	F(num, write_bytes, "B", "written inside the region")   \
	F(num, read_ops, "1", "read calls")                     \
	F(num, write_ops, "1", "write calls")                   \
	F(num, time_s, "s", "time inside these calls")          \
	B(io_sums, roi, "inside the region")                    \
	B(io_sums, whole, "in whole processes")                 \
	F(num, wait_s, "s", "any thread of a process in such a call, inside the region, summed over processes") \
	F(num, whole_wait_s, "s", "the same of whole processes") \
	L(io_by_interface, interfaces, "each interface by itself, the program's own calls and those within others") \
	L(io_file, files, "most bytes first")                   \
	F(num, files_total, "1", "different files that were used") \
	F(num, files_folded, "1", "of these, without a line of their own: in the sums only") \
	L(io_series, series, "bytes over time")                 \
	L(io_mpi, mpi, "other calls of MPI")                    \
	F(num, device_read_bytes, "B", "fetched from block devices for these processes, whole, by the kernel") \
	F(num, device_write_bytes, "B", "caused to be written to block devices, whole, by the kernel") \
	F(num, cgroup_read_bytes, "B", "read from block devices by the control group, whole") \
	F(num, cgroup_write_bytes, "B", "written to block devices by the control group, whole") \
	F(num, processes, "1", "that were seen")                \
	F(num, dropped_ops, "1", "calls that were seen and could not be counted") \
	F(ter, incomplete, "", "something is known to be missing; the caveats say what") \
	F(txts, partial, "", "modules whose log had no room for everything: darshan POSIX, ...") \
	F(txt, execution, "", "that all this was seen in")      \
	F(txt, capture, "", "folder of the capture, where there is one") \
	F(num, capture_bytes, "B", "its size")                  \
	F(num, capture_events, "1", "events in it: calls, like ones in turn counted once")              \
	F(num, capture_rules, "1", "rules of its grammars")     \
	F(num, capture_calls, "1", "calls that its events stand for") \
	F(num, capture_processes, "1", "that have a file in it") \
	F(num, capture_dropped_ops, "1", "calls that were seen and could not be kept") \
	F(ter, capture_complete, "", "every call of every process that was seen is in it")

#endif
