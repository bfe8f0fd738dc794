/* Calls of a program that have to do with files, each once: what counts them, captures them, reads
 * them out of other tools' traces and issues them again speaks of them by these numbers. They stand in
 * files: append only, nothing is moved, renamed or used again.
 *
 * IO_CALL(name, interface, kind, signature)
 *
 * Calls that differ in spelling only (open64, pread64, __xstat, openat with AT_FDCWD) are one. The
 * signature has a letter for each argument that is kept, then ':' and one for the result:
 *   h  handle: descriptor, stream or MPI file, by its number in struct io_event
 *   p  text: a path            t  text: anything else (mode of fopen, hints, a datatype)
 *   o  offset in bytes         n  number of bytes (asked; as a result: moved)
 *   w  whence: 0 set, 1 current, 2 end
 *   f  flags, as on Linux       m  mode bits            i  any other whole number
 *   z  result: 0               v  no result
 * A failed call's result is -errno, with every letter. */
#ifndef SCHEMA_IOCALL_H
#define SCHEMA_IOCALL_H

enum io_interface { IO_POSIX, IO_STDIO, IO_MPIIO, IO_AIO, IO_URING, IO_INTERFACES };
enum io_kind {
	IO_OPEN,  /* makes a handle */
	IO_CLOSE, /* ends one */
	IO_READ,  /* moves bytes out of a file */
	IO_WRITE, /* moves bytes into one */
	IO_COPY,  /* both, without the program seeing them: sendfile, copy_file_range, splice */
	IO_SEEK,
	IO_SYNC, /* waits until bytes are safe: fsync, msync, fflush, MPI_File_sync */
	IO_META, /* names, sizes, attributes */
	IO_MAP,  /* mmap and munmap: what moves behind them can't be seen */
	IO_WAIT, /* ends what was begun without waiting: aio_suspend, MPI_Wait on a file's request */
	IO_KINDS
};

/* open: path, flags, mode. readv: bytes asked of all parts together, number of parts. fallocate: mode,
 * offset, bytes. mmap: handle, offset, bytes, protection, flags. Copies: from, its offset (-1: the
 * handle's own), to, its offset, bytes, flags. */
#define IO_CALLS_POSIX(X)                              \
	X(open, IO_POSIX, IO_OPEN, "pfm:h")            \
	X(openat, IO_POSIX, IO_OPEN, "hpfm:h")         \
	X(creat, IO_POSIX, IO_OPEN, "pm:h")            \
	X(close, IO_POSIX, IO_CLOSE, "h:z")            \
	X(read, IO_POSIX, IO_READ, "hn:n")             \
	X(write, IO_POSIX, IO_WRITE, "hn:n")           \
	X(pread, IO_POSIX, IO_READ, "hno:n")           \
	X(pwrite, IO_POSIX, IO_WRITE, "hno:n")         \
	X(readv, IO_POSIX, IO_READ, "hni:n")           \
	X(writev, IO_POSIX, IO_WRITE, "hni:n")         \
	X(preadv, IO_POSIX, IO_READ, "hnoi:n")         \
	X(pwritev, IO_POSIX, IO_WRITE, "hnoi:n")       \
	X(preadv2, IO_POSIX, IO_READ, "hnoif:n")       \
	X(pwritev2, IO_POSIX, IO_WRITE, "hnoif:n")     \
	X(lseek, IO_POSIX, IO_SEEK, "how:o")           \
	X(truncate, IO_POSIX, IO_META, "po:z")         \
	X(ftruncate, IO_POSIX, IO_META, "ho:z")        \
	X(fsync, IO_POSIX, IO_SYNC, "h:z")             \
	X(fdatasync, IO_POSIX, IO_SYNC, "h:z")         \
	X(sync_file_range, IO_POSIX, IO_SYNC, "honf:z") \
	X(syncfs, IO_POSIX, IO_SYNC, "h:z")            \
	X(fallocate, IO_POSIX, IO_META, "hfon:z")      \
	X(posix_fallocate, IO_POSIX, IO_META, "hon:z") \
	X(posix_fadvise, IO_POSIX, IO_META, "honi:z")  \
	X(readahead, IO_POSIX, IO_META, "hon:z")       \
	X(mmap, IO_POSIX, IO_MAP, "honif:i")           \
	X(munmap, IO_POSIX, IO_MAP, "hn:z")            \
	X(msync, IO_POSIX, IO_SYNC, "hnf:z")           \
	X(sendfile, IO_POSIX, IO_COPY, "hohn:n")       \
	X(copy_file_range, IO_POSIX, IO_COPY, "hohonf:n") \
	X(splice, IO_POSIX, IO_COPY, "hohonf:n")       \
	X(dup, IO_POSIX, IO_OPEN, "h:h")               \
	X(dup2, IO_POSIX, IO_OPEN, "hh:h")             \
	X(fcntl, IO_POSIX, IO_META, "hii:i")           \
	X(ioctl, IO_POSIX, IO_META, "hi:i")            \
	X(flock, IO_POSIX, IO_META, "hi:z")            \
	X(rename, IO_POSIX, IO_META, "pp:z")           \
	X(unlink, IO_POSIX, IO_META, "p:z")            \
	X(link, IO_POSIX, IO_META, "pp:z")             \
	X(symlink, IO_POSIX, IO_META, "pp:z")          \
	X(readlink, IO_POSIX, IO_META, "p:i")          \
	X(mkdir, IO_POSIX, IO_META, "pm:z")            \
	X(rmdir, IO_POSIX, IO_META, "p:z")             \
	X(opendir, IO_POSIX, IO_OPEN, "p:h")           \
	X(readdir, IO_POSIX, IO_META, "h:i")           \
	X(closedir, IO_POSIX, IO_CLOSE, "h:z")         \
	X(stat, IO_POSIX, IO_META, "p:z")              \
	X(lstat, IO_POSIX, IO_META, "p:z")             \
	X(fstat, IO_POSIX, IO_META, "h:z")             \
	X(statx, IO_POSIX, IO_META, "pfi:z")           \
	X(statfs, IO_POSIX, IO_META, "p:z")            \
	X(access, IO_POSIX, IO_META, "pi:z")           \
	X(chmod, IO_POSIX, IO_META, "pm:z")            \
	X(chown, IO_POSIX, IO_META, "p:z")             \
	X(utime, IO_POSIX, IO_META, "p:z")             \
	X(chdir, IO_POSIX, IO_META, "p:z")             \
	X(xattr, IO_POSIX, IO_META, "p:i")             \
	X(sync, IO_POSIX, IO_SYNC, ":v")               \
	X(mknod, IO_POSIX, IO_META, "pm:z")            \
	X(remove, IO_POSIX, IO_META, "p:z")

/* Calls that fill or empty a stream's buffer: what of them comes to the kernel is in the POSIX calls
 * only where those can be seen, which glibc's own can't. fread: bytes asked. fprintf, fputs, fscanf and
 * their like have the bytes that they made or took, where that is known. */
#define IO_CALLS_STDIO(X)                              \
	X(fopen, IO_STDIO, IO_OPEN, "pt:h")            \
	X(fdopen, IO_STDIO, IO_OPEN, "ht:h")           \
	X(freopen, IO_STDIO, IO_OPEN, "hpt:h")         \
	X(fclose, IO_STDIO, IO_CLOSE, "h:z")           \
	X(fread, IO_STDIO, IO_READ, "hn:n")            \
	X(fwrite, IO_STDIO, IO_WRITE, "hn:n")          \
	X(fgetc, IO_STDIO, IO_READ, "h:n")             \
	X(fputc, IO_STDIO, IO_WRITE, "h:n")            \
	X(fgets, IO_STDIO, IO_READ, "hn:n")            \
	X(fputs, IO_STDIO, IO_WRITE, "hn:n")           \
	X(getline, IO_STDIO, IO_READ, "h:n")           \
	X(fprintf, IO_STDIO, IO_WRITE, "h:n")          \
	X(fscanf, IO_STDIO, IO_READ, "h:n")            \
	X(fseek, IO_STDIO, IO_SEEK, "how:o")           \
	X(ftell, IO_STDIO, IO_SEEK, "h:o")             \
	X(fflush, IO_STDIO, IO_SYNC, "h:z")            \
	X(setvbuf, IO_STDIO, IO_META, "hin:z")         \
	X(tmpfile, IO_STDIO, IO_OPEN, ":h")            \
	X(ungetc, IO_STDIO, IO_META, "h:i")

/* aio_return has what the call moved. A batch of lio_listio or of io_uring is one event for each
 * operation: from submission to completion, when somebody has taken it. */
#define IO_CALLS_AIO(X)                                \
	X(aio_read, IO_AIO, IO_READ, "hno:n")          \
	X(aio_write, IO_AIO, IO_WRITE, "hno:n")        \
	X(aio_fsync, IO_AIO, IO_SYNC, "h:z")           \
	X(aio_suspend, IO_AIO, IO_WAIT, "i:z")         \
	X(aio_cancel, IO_AIO, IO_META, "h:i")          \
	X(io_submit_read, IO_AIO, IO_READ, "hno:n")    \
	X(io_submit_write, IO_AIO, IO_WRITE, "hno:n")  \
	X(io_submit_sync, IO_AIO, IO_SYNC, "h:z")      \
	X(io_getevents, IO_AIO, IO_WAIT, "i:i")        \
	X(uring_read, IO_URING, IO_READ, "hno:n")      \
	X(uring_write, IO_URING, IO_WRITE, "hno:n")    \
	X(uring_sync, IO_URING, IO_SYNC, "h:z")        \
	X(uring_open, IO_URING, IO_OPEN, "hpfm:h")     \
	X(uring_close, IO_URING, IO_CLOSE, "h:z")      \
	X(uring_other, IO_URING, IO_META, "hi:i")      \
	X(uring_wait, IO_URING, IO_WAIT, "i:i")

/* open: communicator, path, mode of MPI, hints as set ("key=value" lines), hints in force afterwards.
 * set_view: displacement, etype, filetype, representation, hints. Data: bytes asked (count times the
 * datatype's size), offset in etypes of the view, elements, datatype; at: where the first byte is. An
 * access that two calls make, with a request (its number is the last i) or split, comes when it has
 * ended: from its begin to its end, beside what its thread did. What the program spent in it is in
 * MPI_File_begun, of the call that began it, by the number of its request or split pair, and in
 * MPI_File_wait or MPI_File_end. MPI_File_in_force is no call of the program, is counted nowhere and has no
 * time: the hints in force after set_info, or set_view with hints. */
#define IO_CALLS_MPIIO(X)                                          \
	X(MPI_File_open, IO_MPIIO, IO_OPEN, "tpitt:h")             \
	X(MPI_File_close, IO_MPIIO, IO_CLOSE, "h:z")               \
	X(MPI_File_delete, IO_MPIIO, IO_META, "pt:z")              \
	X(MPI_File_set_view, IO_MPIIO, IO_META, "hotttt:z")        \
	X(MPI_File_set_info, IO_MPIIO, IO_META, "ht:z")            \
	X(MPI_File_set_size, IO_MPIIO, IO_META, "ho:z")            \
	X(MPI_File_preallocate, IO_MPIIO, IO_META, "ho:z")         \
	X(MPI_File_set_atomicity, IO_MPIIO, IO_META, "hi:z")       \
	X(MPI_File_get_size, IO_MPIIO, IO_META, "h:o")             \
	X(MPI_File_seek, IO_MPIIO, IO_SEEK, "how:z")               \
	X(MPI_File_seek_shared, IO_MPIIO, IO_SEEK, "how:z")        \
	X(MPI_File_sync, IO_MPIIO, IO_SYNC, "h:z")                 \
	X(MPI_File_read, IO_MPIIO, IO_READ, "hnit:n")              \
	X(MPI_File_write, IO_MPIIO, IO_WRITE, "hnit:n")            \
	X(MPI_File_read_all, IO_MPIIO, IO_READ, "hnit:n")          \
	X(MPI_File_write_all, IO_MPIIO, IO_WRITE, "hnit:n")        \
	X(MPI_File_read_at, IO_MPIIO, IO_READ, "hnoit:n")          \
	X(MPI_File_write_at, IO_MPIIO, IO_WRITE, "hnoit:n")        \
	X(MPI_File_read_at_all, IO_MPIIO, IO_READ, "hnoit:n")      \
	X(MPI_File_write_at_all, IO_MPIIO, IO_WRITE, "hnoit:n")    \
	X(MPI_File_read_shared, IO_MPIIO, IO_READ, "hnit:n")       \
	X(MPI_File_write_shared, IO_MPIIO, IO_WRITE, "hnit:n")     \
	X(MPI_File_read_ordered, IO_MPIIO, IO_READ, "hnit:n")      \
	X(MPI_File_write_ordered, IO_MPIIO, IO_WRITE, "hnit:n")    \
	X(MPI_File_iread, IO_MPIIO, IO_READ, "hniti:n")            \
	X(MPI_File_iwrite, IO_MPIIO, IO_WRITE, "hniti:n")          \
	X(MPI_File_iread_at, IO_MPIIO, IO_READ, "hnoiti:n")        \
	X(MPI_File_iwrite_at, IO_MPIIO, IO_WRITE, "hnoiti:n")      \
	X(MPI_File_iread_all, IO_MPIIO, IO_READ, "hniti:n")        \
	X(MPI_File_iwrite_all, IO_MPIIO, IO_WRITE, "hniti:n")      \
	X(MPI_File_iread_at_all, IO_MPIIO, IO_READ, "hnoiti:n")    \
	X(MPI_File_iwrite_at_all, IO_MPIIO, IO_WRITE, "hnoiti:n")  \
	X(MPI_File_iread_shared, IO_MPIIO, IO_READ, "hniti:n")     \
	X(MPI_File_iwrite_shared, IO_MPIIO, IO_WRITE, "hniti:n")   \
	X(MPI_File_read_all_begin, IO_MPIIO, IO_READ, "hnit:n")    \
	X(MPI_File_write_all_begin, IO_MPIIO, IO_WRITE, "hnit:n")  \
	X(MPI_File_read_at_all_begin, IO_MPIIO, IO_READ, "hnoit:n") \
	X(MPI_File_write_at_all_begin, IO_MPIIO, IO_WRITE, "hnoit:n") \
	X(MPI_File_read_ordered_begin, IO_MPIIO, IO_READ, "hnit:n") \
	X(MPI_File_write_ordered_begin, IO_MPIIO, IO_WRITE, "hnit:n") \
	X(MPI_File_end, IO_MPIIO, IO_WAIT, "h:n")                  \
	X(MPI_File_wait, IO_MPIIO, IO_WAIT, "i:n")                 \
	X(MPI_File_begun, IO_MPIIO, IO_WAIT, "i:z")                \
	X(MPI_File_in_force, IO_MPIIO, IO_META, "ht:z")

#define IO_CALLS(X)       \
	IO_CALLS_POSIX(X) \
	IO_CALLS_STDIO(X) \
	IO_CALLS_AIO(X)   \
	IO_CALLS_MPIIO(X)

/* The numbers: each list has a range of its own, so that it can grow at its end. */
#define IO_CALL_ENUM(name, interface, kind, signature) IO_##name,
enum io_call {
	IO_CALL_NONE = 0,
	IO_FIRST_POSIX = 0, IO_CALLS_POSIX(IO_CALL_ENUM)
	IO_FIRST_STDIO = 127, IO_CALLS_STDIO(IO_CALL_ENUM)
	IO_FIRST_AIO = 191, IO_CALLS_AIO(IO_CALL_ENUM)
	IO_FIRST_MPIIO = 255, IO_CALLS_MPIIO(IO_CALL_ENUM)
	IO_CALL_LIMIT = 512
};

struct io_call_info {
	const char *name; /* NULL: no such call */
	enum io_interface interface;
	enum io_kind kind;
	const char *signature;
};

/* By number; of one that is unknown an entry without a name. Never NULL. */
const struct io_call_info *io_call_info(unsigned call);

/* By name; IO_CALL_NONE when there is none. */
enum io_call io_call_of(const char *name);

/* "posix", "stdio", "mpiio", "aio", "uring"; "open", "close", ... NULL for others. */
const char *io_interface_name(unsigned interface);
const char *io_kind_name(unsigned kind);

#endif
