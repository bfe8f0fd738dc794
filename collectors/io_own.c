/* What the collector's own parts call of libc, past its wrappers: the linker gives them these
 * (--wrap, part_io.mk). A function that is missing here is a call of ours counted as the program's.
 */
#include "collectors/io_wrap.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Looked up before main, as those behind wrappers are: who has one of our locks must not wait for
 * the loader's, which a thread may have that waits for ours. */
#define OWN_NEXT(name)                                                                             \
	static void *own_##name = NULL;                                                            \
	static struct io_next own_entry_##name                                                     \
		__attribute__((section("io_nexts"), used)) = { #name, &own_##name };

/* A line each: part_io.mk reads the names. */
#define OWN(type, name, params, args)                                                              \
	OWN_NEXT(name)                                                                             \
	type __wrap_##name params __attribute__((visibility("hidden")));                           \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		return ((type(*) params)io_next(&own_##name, #name))args;                          \
	}

/* The same of those that make a descriptor, or end one: io_fds.c. */
#define OWN_OPENS(type, name, params, args, fd)                                                    \
	OWN_NEXT(name)                                                                             \
	type __wrap_##name params __attribute__((visibility("hidden")));                           \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		io_fd_opening();                                                                   \
		type made = ((type(*) params)io_next(&own_##name, #name))args;                     \
		io_fd_opened(fd);                                                                  \
		return made;                                                                       \
	}
#define OWN_CLOSES(type, name, params, args, fd)                                                   \
	OWN_NEXT(name)                                                                             \
	type __wrap_##name params __attribute__((visibility("hidden")));                           \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		io_fd_closing(fd);                                                                 \
		type rc = ((type(*) params)io_next(&own_##name, #name))args;                       \
		io_fd_closed();                                                                    \
		return rc;                                                                         \
	}

/* clang-format off */
OWN_OPENS(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), made)
OWN_OPENS(int, __open_2, (const char *path, int flags), (path, flags), made)
OWN_OPENS(int, openat, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode), made)
OWN_CLOSES(int, close, (int fd), (fd), fd)
OWN(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
OWN(ssize_t, __read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room))
OWN(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
OWN(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
OWN(ssize_t, __pread_chk, (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room))
OWN(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
OWN(off_t, lseek, (int fd, off_t by, int whence), (fd, by, whence))
OWN(int, access, (const char *path, int mode), (path, mode))
OWN(int, unlink, (const char *path), (path))
OWN(int, rename, (const char *from, const char *to), (from, to))
OWN(int, mkdir, (const char *path, mode_t mode), (path, mode))
OWN(int, symlink, (const char *says, const char *path), (says, path))
OWN(ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n))
OWN(ssize_t, __readlink_chk, (const char *p, char *to, size_t n, size_t room), (p, to, n, room))
OWN(int, fstat, (int fd, struct stat *s), (fd, s))
OWN(int, stat, (const char *path, struct stat *s), (path, s))
OWN(int, lstat, (const char *path, struct stat *s), (path, s))
OWN(int, fchmod, (int fd, mode_t mode), (fd, mode))
OWN(int, chmod, (const char *path, mode_t mode), (path, mode))
OWN(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g))
OWN(int, ftruncate, (int fd, off_t n), (fd, n))
OWN(int, fsync, (int fd), (fd))
OWN(int, posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n))
OWN(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
OWN(int, flock, (int fd, int how), (fd, how))
OWN(void *, mmap, (void *at, size_t n, int p, int f, int fd, off_t o), (at, n, p, f, fd, o))
OWN(int, munmap, (void *at, size_t n), (at, n))
OWN(int, msync, (void *at, size_t n, int flags), (at, n, flags))
OWN_OPENS(DIR *, opendir, (const char *path), (path), made ? dirfd(made) : -1)
OWN(struct dirent *, readdir, (DIR *d), (d))
OWN_CLOSES(int, closedir, (DIR *d), (d), dirfd(d))
OWN(int, statfs, (const char *path, struct statfs *s), (path, s))
OWN(int, fstatfs, (int fd, struct statfs *s), (fd, s))
OWN(int, fcntl, (int fd, int what, void *with), (fd, what, with))
OWN(int, ioctl, (int fd, unsigned long what, void *with), (fd, what, with))
OWN(int, dup, (int fd), (fd))
OWN(int, rmdir, (const char *path), (path))
OWN(int, socket, (int a, int b, int c), (a, b, c))
OWN(int, fstatvfs, (int fd, struct statvfs *s), (fd, s))
OWN_OPENS(FILE *, fopen, (const char *path, const char *mode), (path, mode), made ? fileno(made) : -1)
OWN_CLOSES(int, fclose, (FILE *f), (f), fileno(f))
OWN(size_t, fread, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f))
OWN(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f))
OWN(char *, fgets, (char *to, int n, FILE *f), (to, n, f))
OWN(int, fputs, (const char *text, FILE *f), (text, f))
OWN(int, fputc, (int c, FILE *f), (c, f))
OWN(int, fflush, (FILE *f), (f))
OWN(int, sigaction, (int n, const struct sigaction *to, struct sigaction *was), (n, to, was))
OWN(sighandler_t, signal, (int n, sighandler_t to), (n, to))
OWN(ssize_t, getline, (char **line, size_t *room, FILE *f), (line, room, f))
