/* What the collector's own parts call of libc, past its wrappers: the linker gives them these
 * (--wrap, part_io.mk). A function that is missing here is a call of ours counted as the program's.
 */
#include "collectors/io_wrap.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line each: part_io.mk reads the names. */
#define OWN(type, name, params, args)                                                              \
	type __wrap_##name params __attribute__((visibility("hidden")));                           \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		static void *next;                                                                 \
		return ((type(*) params)io_next(&next, #name))args;                                \
	}

/* clang-format off */
OWN(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
OWN(int, __open_2, (const char *path, int flags), (path, flags))
OWN(int, openat, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode))
OWN(int, close, (int fd), (fd))
OWN(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
OWN(ssize_t, __read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room))
OWN(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
OWN(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
OWN(ssize_t, __pread_chk, (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room))
OWN(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
OWN(off_t, lseek, (int fd, off_t by, int whence), (fd, by, whence))
