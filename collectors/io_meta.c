/* Calls about names, sizes and attributes, and those that wait until bytes are safe. */
#include "collectors/io_wrap.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utime.h>

int64_t io_end_path(const struct io_span *c, enum io_call call, int64_t rc, int at,
		    const char *path, unsigned n, const int64_t *more)
{
	uint64_t end = io_now();
	int64_t result = io_result(rc);
	const char *of = path || at == AT_FDCWD ? path : ""; /* none: what `at` is of */
	struct io_named named = io_name_after(result, at, of, false);
	int64_t arg[IO_ARGS] = { 0 };
	arg[0] = named.text;
	for (unsigned i = 0; i < n && i + 1 < IO_ARGS; i++)
		arg[i + 1] = more[i];
	if (!named.hidden)
		io_put(c, c->tick, end, call, result, IO_NO_PLACE, n + 1, arg);
	return rc;
}

/* ---- two names ----------------------------------------------------------------------------------
 */

static int end_two(const struct io_span *c, enum io_call call, int rc, int at, const char *path,
		   int to_at, const char *to)
{
	uint64_t end = io_now();
	int64_t result = io_result(rc);
	struct io_named one = io_name_after(result, at, path, false);
	struct io_named two = io_name_after(result, to_at, to, true);
	if (!one.hidden && !two.hidden)
		io_put(c, c->tick, end, call, result, IO_NO_PLACE, ARGS(one.text, two.text));
	return rc;
}

#define WRAP_TWO(name, call, params, args, at, path, to_at, to)                                    \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name) args;                                                    \
		return end_two(&c, call, NEXT(name) args, at, path, to_at, to);                    \
	}

WRAP_TWO(rename, IO_rename, (const char *from, const char *to), (from, to), AT_FDCWD, from,
	 AT_FDCWD, to)
WRAP_TWO(renameat, IO_rename, (int a, const char *from, int b, const char *to), (a, from, b, to), a,
	 from, b, to)
WRAP_TWO(renameat2, IO_rename, (int a, const char *from, int b, const char *to, unsigned flags),
	 (a, from, b, to, flags), a, from, b, to)
WRAP_TWO(link, IO_link, (const char *from, const char *to), (from, to), AT_FDCWD, from, AT_FDCWD,
	 to)
WRAP_TWO(linkat, IO_link, (int a, const char *from, int b, const char *to, int flags),
	 (a, from, b, to, flags), a, from, b, to)

/* What a symbolic link says is no path of the program's: it is kept as it is. */
static int end_symlink(const struct io_span *c, int rc, const char *says, int at, const char *path)
{
	uint64_t end = io_now();
	int64_t result = io_result(rc);
	struct io_named named = io_name_after(result, at, path, true);
	uint32_t text = result >= 0 ? io_text(says) : 0;
	if (!named.hidden)
		io_put(c, c->tick, end, IO_symlink, result, IO_NO_PLACE, ARGS(text, named.text));
	return rc;
}

WRAP(int, symlink, const char *says, const char *path)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(symlink)(says, path);
	return end_symlink(&c, NEXT(symlink)(says, path), says, AT_FDCWD, path);
}

WRAP(int, symlinkat, const char *says, int at, const char *path)
{
	struct io_span c;
	if (!io_begin(&c))
		return NEXT(symlinkat)(says, at, path);
	return end_symlink(&c, NEXT(symlinkat)(says, at, path), says, at, path);
}

/* ---- one name -----------------------------------------------------------------------------------
 */

WRAP_PATH(int, unlink, IO_unlink, (const char *p), (p), AT_FDCWD, p, 0)
WRAP_PATH(int, remove, IO_remove, (const char *p), (p), AT_FDCWD, p, 0)
WRAP_PATH(int, rmdir, IO_rmdir, (const char *p), (p), AT_FDCWD, p, 0)
WRAP_PATH(int, unlinkat, flags &AT_REMOVEDIR ? IO_rmdir : IO_unlink,
	  (int at, const char *p, int flags), (at, p, flags), at, p, 0)
WRAP_PATH(int, mkdir, IO_mkdir, (const char *p, mode_t mode), (p, mode), AT_FDCWD, p, mode)
WRAP_PATH(int, mkdirat, IO_mkdir, (int at, const char *p, mode_t mode), (at, p, mode), at, p, mode)
WRAP_PATH(int, mkfifo, IO_mknod, (const char *p, mode_t mode), (p, mode), AT_FDCWD, p,
	  mode | S_IFIFO)
WRAP_PATH(int, mkfifoat, IO_mknod, (int at, const char *p, mode_t mode), (at, p, mode), at, p,
	  mode | S_IFIFO)
WRAP_PATH(int, mknod, IO_mknod, (const char *p, mode_t mode, dev_t device), (p, mode, device),
	  AT_FDCWD, p, mode)
WRAP_PATH(int, mknodat, IO_mknod, (int at, const char *p, mode_t mode, dev_t device),
	  (at, p, mode, device), at, p, mode)
WRAP_PATH(int, __xmknod, IO_mknod, (int version, const char *p, mode_t mode, dev_t *device),
	  (version, p, mode, device), AT_FDCWD, p, mode)
WRAP_PATH(int, __xmknodat, IO_mknod,
	  (int version, int at, const char *p, mode_t mode, dev_t *device),
	  (version, at, p, mode, device), at, p, mode)
WRAP_PATH(ssize_t, readlink, IO_readlink, (const char *p, char *to, size_t n), (p, to, n), AT_FDCWD,
	  p, 0)
WRAP_PATH(ssize_t, __readlink_chk, IO_readlink, (const char *p, char *to, size_t n, size_t room),
	  (p, to, n, room), AT_FDCWD, p, 0)
WRAP_PATH(ssize_t, readlinkat, IO_readlink, (int at, const char *p, char *to, size_t n),
	  (at, p, to, n), at, p, 0)
WRAP_PATH(ssize_t, __readlinkat_chk, IO_readlink,
	  (int at, const char *p, char *to, size_t n, size_t room), (at, p, to, n, room), at, p, 0)
WRAP_PATH(int, truncate, IO_truncate, (const char *p, off_t n), (p, n), AT_FDCWD, p, n)
ALSO(truncate64, truncate);
WRAP_PATH(int, access, IO_access, (const char *p, int mode), (p, mode), AT_FDCWD, p, mode)
WRAP_PATH(int, euidaccess, IO_access, (const char *p, int mode), (p, mode), AT_FDCWD, p, mode)
ALSO(eaccess, euidaccess);
WRAP_PATH(int, faccessat, IO_access, (int at, const char *p, int mode, int flags),
	  (at, p, mode, flags), at, p, mode)
WRAP_PATH(int, chmod, IO_chmod, (const char *p, mode_t mode), (p, mode), AT_FDCWD, p, mode)
WRAP_PATH(int, lchmod, IO_chmod, (const char *p, mode_t mode), (p, mode), AT_FDCWD, p, mode)
WRAP_PATH(int, fchmodat, IO_chmod, (int at, const char *p, mode_t mode, int flags),
	  (at, p, mode, flags), at, p, mode)
WRAP_PATH(int, chown, IO_chown, (const char *p, uid_t u, gid_t g), (p, u, g), AT_FDCWD, p, 0)
WRAP_PATH(int, lchown, IO_chown, (const char *p, uid_t u, gid_t g), (p, u, g), AT_FDCWD, p, 0)
WRAP_PATH(int, fchownat, IO_chown, (int at, const char *p, uid_t u, gid_t g, int flags),
	  (at, p, u, g, flags), at, p, 0)
WRAP_PATH(int, utime, IO_utime, (const char *p, const struct utimbuf *t), (p, t), AT_FDCWD, p, 0)
WRAP_PATH(int, utimes, IO_utime, (const char *p, const struct timeval *t), (p, t), AT_FDCWD, p, 0)
WRAP_PATH(int, lutimes, IO_utime, (const char *p, const struct timeval *t), (p, t), AT_FDCWD, p, 0)
WRAP_PATH(int, futimesat, IO_utime, (int at, const char *p, const struct timeval *t), (at, p, t),
	  at, p, 0)
WRAP_PATH(int, utimensat, IO_utime, (int at, const char *p, const struct timespec *t, int flags),
	  (at, p, t, flags), at, p, 0)

/* With a name that libc makes. */
WRAP(char *, mkdtemp, char *path)
{
	struct io_span c;
	if (!io_begin(&c))
		/* cppcheck-suppress CastIntegerToAddressAtReturn */
		return NEXT(mkdtemp)(path);
	char *made = NEXT(mkdtemp)(path);
	(void)io_end_path(&c, IO_mkdir, made ? 0 : -1, AT_FDCWD, path, ARGS(0700));
	return made;
}

/* ---- stat: by its name since glibc 2.33, by __xstat in older programs
 * ------------------------------ */

struct stat;
WRAP_PATH(int, stat, IO_stat, (const char *p, struct stat *s), (p, s), AT_FDCWD, p, 0)
WRAP_PATH(int, stat64, IO_stat, (const char *p, struct stat64 *s), (p, s), AT_FDCWD, p, 0)
WRAP_PATH(int, lstat, IO_lstat, (const char *p, struct stat *s), (p, s), AT_FDCWD, p, 0)
WRAP_PATH(int, lstat64, IO_lstat, (const char *p, struct stat64 *s), (p, s), AT_FDCWD, p, 0)
WRAP_PATH(int, fstatat, IO_stat, (int at, const char *p, struct stat *s, int flags),
	  (at, p, s, flags), at, p, 0)
WRAP_PATH(int, fstatat64, IO_stat, (int at, const char *p, struct stat64 *s, int flags),
	  (at, p, s, flags), at, p, 0)
WRAP_PATH(int, __xstat, IO_stat, (int v, const char *p, struct stat *s), (v, p, s), AT_FDCWD, p, 0)
WRAP_PATH(int, __xstat64, IO_stat, (int v, const char *p, struct stat64 *s), (v, p, s), AT_FDCWD, p,
	  0)
WRAP_PATH(int, __lxstat, IO_lstat, (int v, const char *p, struct stat *s), (v, p, s), AT_FDCWD, p,
	  0)
WRAP_PATH(int, __lxstat64, IO_lstat, (int v, const char *p, struct stat64 *s), (v, p, s), AT_FDCWD,
	  p, 0)
WRAP_PATH(int, __fxstatat, IO_stat, (int v, int at, const char *p, struct stat *s, int flags),
	  (v, at, p, s, flags), at, p, 0)
WRAP_PATH(int, __fxstatat64, IO_stat, (int v, int at, const char *p, struct stat64 *s, int flags),
	  (v, at, p, s, flags), at, p, 0)
WRAP_PATH(int, statx, IO_statx, (int at, const char *p, int flags, unsigned mask, struct statx *s),
	  (at, p, flags, mask, s), at, p, flags, mask)
WRAP_FD(int, fstat, IO_fstat, (int fd, struct stat *s), (fd, s), fd, 0)
WRAP_FD(int, fstat64, IO_fstat, (int fd, struct stat64 *s), (fd, s), fd, 0)
WRAP_FD(int, __fxstat, IO_fstat, (int v, int fd, struct stat *s), (v, fd, s), fd, 0)
WRAP_FD(int, __fxstat64, IO_fstat, (int v, int fd, struct stat64 *s), (v, fd, s), fd, 0)
WRAP_PATH(int, statfs, IO_statfs, (const char *p, struct statfs *s), (p, s), AT_FDCWD, p, 0)
ALSO(__statfs, statfs);
WRAP_PATH(int, statfs64, IO_statfs, (const char *p, struct statfs64 *s), (p, s), AT_FDCWD, p, 0)
WRAP_PATH(int, statvfs, IO_statfs, (const char *p, struct statvfs *s), (p, s), AT_FDCWD, p, 0)
WRAP_PATH(int, statvfs64, IO_statfs, (const char *p, struct statvfs64 *s), (p, s), AT_FDCWD, p, 0)

/* By descriptor, of calls that have a path in their events: the path of the descriptor. */
static int64_t end_of_fd(const struct io_span *c, enum io_call call, int64_t rc,
			 const struct io_open *o, unsigned n, const int64_t *more)
{
	int64_t arg[IO_ARGS] = { o ? o->path : 0 };
	for (unsigned i = 0; i < n && i + 1 < IO_ARGS; i++)
		arg[i + 1] = more[i];
	io_end(c, call, io_result(rc), IO_NO_PLACE, n + 1, arg);
	return rc;
}

#define WRAP_FD_PATH(type, name, call, params, args, fd, ...)                                      \
	WRAP(type, name, UNPACK params)                                                            \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!io_begin_fd(&c, fd, &o))                                                      \
			return NEXT(name) args;                                                    \
		return (type)end_of_fd(&c, call, NEXT(name) args, o, ARGS(__VA_ARGS__));           \
	}

WRAP_FD_PATH(int, fstatfs, IO_statfs, (int fd, struct statfs *s), (fd, s), fd, 0)
WRAP_FD_PATH(int, fstatfs64, IO_statfs, (int fd, struct statfs64 *s), (fd, s), fd, 0)
WRAP_FD_PATH(int, fstatvfs, IO_statfs, (int fd, struct statvfs *s), (fd, s), fd, 0)
WRAP_FD_PATH(int, fstatvfs64, IO_statfs, (int fd, struct statvfs64 *s), (fd, s), fd, 0)
WRAP_FD_PATH(int, fchmod, IO_chmod, (int fd, mode_t mode), (fd, mode), fd, mode)
WRAP_FD_PATH(int, fchown, IO_chown, (int fd, uid_t u, gid_t g), (fd, u, g), fd, 0)
WRAP_FD_PATH(int, futimes, IO_utime, (int fd, const struct timeval *t), (fd, t), fd, 0)
WRAP_FD_PATH(int, futimens, IO_utime, (int fd, const struct timespec *t), (fd, t), fd, 0)

/* ---- attributes ---------------------------------------------------------------------------------
 */

#define XATTR_PATH(type, name, params, args)                                                       \
	WRAP_PATH(type, name, IO_xattr, params, args, AT_FDCWD, p, 0)
#define XATTR_FD(type, name, params, args) WRAP_FD_PATH(type, name, IO_xattr, params, args, fd, 0)

XATTR_PATH(ssize_t, getxattr, (const char *p, const char *k, void *v, size_t n), (p, k, v, n))
XATTR_PATH(ssize_t, lgetxattr, (const char *p, const char *k, void *v, size_t n), (p, k, v, n))
XATTR_PATH(ssize_t, listxattr, (const char *p, char *to, size_t n), (p, to, n))
XATTR_PATH(ssize_t, llistxattr, (const char *p, char *to, size_t n), (p, to, n))
XATTR_PATH(int, setxattr, (const char *p, const char *k, const void *v, size_t n, int f),
	   (p, k, v, n, f))
XATTR_PATH(int, lsetxattr, (const char *p, const char *k, const void *v, size_t n, int f),
	   (p, k, v, n, f))
XATTR_PATH(int, removexattr, (const char *p, const char *k), (p, k))
XATTR_PATH(int, lremovexattr, (const char *p, const char *k), (p, k))
XATTR_FD(ssize_t, fgetxattr, (int fd, const char *k, void *v, size_t n), (fd, k, v, n))
XATTR_FD(ssize_t, flistxattr, (int fd, char *to, size_t n), (fd, to, n))
XATTR_FD(int, fsetxattr, (int fd, const char *k, const void *v, size_t n, int f), (fd, k, v, n, f))
XATTR_FD(int, fremovexattr, (int fd, const char *k), (fd, k))

/* ---- where the process is -----------------------------------------------------------------------
 */

WRAP(int, chdir, const char *path)
{
	struct io_span c;
	if (!io_begin(&c)) {
		io_cwd_changed();
		return NEXT(chdir)(path);
	}
	io_cwd_keep();
	c.tick = io_now();
	int rc = NEXT(chdir)(path);
	int64_t done = io_end_path(&c, IO_chdir, rc, AT_FDCWD, path, ARGS(0));
	io_cwd_changed(); /* the event has the path as it was */
	return (int)done;
}

WRAP(int, fchdir, int fd)
{
	struct io_span c;
	struct io_open *o;
	if (!io_begin_fd(&c, fd, &o)) {
		io_cwd_changed();
		return NEXT(fchdir)(fd);
	}
	int rc = (int)end_of_fd(&c, IO_chdir, NEXT(fchdir)(fd), o, ARGS(0));
	io_cwd_changed();
	return rc;
}

WRAP(int, chroot, const char *path)
{
	io_cwd_changed();
	return NEXT(chroot)(path);
}

/* ---- by descriptor ------------------------------------------------------------------------------
 */

WRAP_FD(int, ftruncate, IO_ftruncate, (int fd, off_t n), (fd, n), fd, n)
ALSO(ftruncate64, ftruncate);
WRAP_FD(int, fsync, IO_fsync, (int fd), (fd), fd, 0)
WRAP_FD(int, fdatasync, IO_fdatasync, (int fd), (fd), fd, 0)
WRAP_FD(int, syncfs, IO_syncfs, (int fd), (fd), fd, 0)
WRAP_FD(int, sync_file_range, IO_sync_file_range, (int fd, off_t at, off_t n, unsigned flags),
	(fd, at, n, flags), fd, at, n, flags)
WRAP_FD(int, fallocate, IO_fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), fd,
	mode, at, n)
ALSO(fallocate64, fallocate);
WRAP_FD(ssize_t, readahead, IO_readahead, (int fd, off_t at, size_t n), (fd, at, n), fd, at,
	(int64_t)n)
WRAP_FD(int, flock, IO_flock, (int fd, int how), (fd, how), fd, how)
WRAP_FD(int, lockf, IO_fcntl, (int fd, int how, off_t n), (fd, how, n), fd, how, 0)
ALSO(lockf64, lockf);

/* These answer an errno, and don't set it. */
#define WRAP_ANSWERS(name, call, params, args, fd, ...)                                            \
	WRAP(int, name, UNPACK params)                                                             \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!io_begin_fd(&c, fd, &o))                                                      \
			return NEXT(name) args;                                                    \
		int rc = NEXT(name) args;                                                          \
		io_end(&c, call, -rc, IO_NO_PLACE, ARGS(io_number(o), __VA_ARGS__));               \
		return rc;                                                                         \
	}

WRAP_ANSWERS(posix_fallocate, IO_posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n), fd, at,
	     n)
ALSO(posix_fallocate64, posix_fallocate);
WRAP_ANSWERS(posix_fadvise, IO_posix_fadvise, (int fd, off_t at, off_t n, int how),
	     (fd, at, n, how), fd, at, n, how)
ALSO(posix_fadvise64, posix_fadvise);

WRAP(void, sync, void)
{
	struct io_span c;
	bool on = io_begin(&c);
	NEXT(sync)();
	if (on)
		io_end(&c, IO_sync, 0, IO_NO_PLACE, 0, NULL);
}

WRAP(int, ioctl, int fd, unsigned long what, ...)
{
	va_list args;
	struct io_span c;
	struct io_open *o;
	va_start(args, what);
	void *with = va_arg(args, void *);
	va_end(args);
	if (!io_begin_fd(&c, fd, &o))
		return NEXT(ioctl)(fd, what, with);
	int rc = NEXT(ioctl)(fd, what, with);
	io_end(&c, IO_ioctl, io_result(rc), IO_NO_PLACE, ARGS(io_number(o), (int64_t)what));
	return rc;
}

/* ---- folders ------------------------------------------------------------------------------------
 */

static DIR *dir_opened(const struct io_span *c, DIR *d, const char *path)
{
	uint64_t end = io_now();
	int64_t result = d ? 0 : -errno;
	struct io_named named = io_name_after(result, AT_FDCWD, path, false);
	if (d) {
		const struct io_opened as = { .fd = dirfd(d),
					      .path = named.text,
					      .flags = O_DIRECTORY,
					      .interface = IO_POSIX,
					      .hidden = named.hidden,
					      .placeless = true,
					      .type = IO_DIRECTORY };
		result = io_number(io_opened(&as));
	}
	if (!named.hidden)
		io_put(c, c->tick, end, IO_opendir, result, IO_NO_PLACE, ARGS(named.text));
	return d;
}

WRAP(DIR *, opendir, const char *path)
{
	struct io_span c;
	if (!io_begin(&c))
		/* cppcheck-suppress CastIntegerToAddressAtReturn */
		return NEXT(opendir)(path);
	return dir_opened(&c, NEXT(opendir)(path), path);
}

static void end_readdir(const struct io_span *c, const struct io_open *o, const void *entry)
{
	int saved = errno;
	io_end(c, IO_readdir, entry ? 1 : 0, IO_NO_PLACE, ARGS(io_number(o)));
	errno = saved;
}

#define WRAP_READDIR(name, type)                                                                   \
	WRAP(struct type *, name, DIR *d)                                                          \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!io_begin_fd(&c, dirfd(d), &o))                                                \
			return NEXT(name)(d);                                                      \
		struct type *entry = NEXT(name)(d);                                                \
		end_readdir(&c, o, entry);                                                         \
		return entry;                                                                      \
	}

/* cppcheck-suppress CastIntegerToAddressAtReturn */
WRAP_READDIR(readdir, dirent)
/* cppcheck-suppress CastIntegerToAddressAtReturn */
WRAP_READDIR(readdir64, dirent64)

#define WRAP_READDIR_R(name, type)                                                                 \
	WRAP(int, name, DIR *d, struct type *to, struct type **got)                                \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!io_begin_fd(&c, dirfd(d), &o))                                                \
			return NEXT(name)(d, to, got);                                             \
		int rc = NEXT(name)(d, to, got);                                                   \
		end_readdir(&c, o, rc ? NULL : *got);                                              \
		return rc;                                                                         \
	}

WRAP_READDIR_R(readdir_r, dirent)
WRAP_READDIR_R(readdir64_r, dirent64)

WRAP(int, closedir, DIR *d)
{
	struct io_span c;
	if (!d || !io_begin(&c)) {
		if (d && io_is_on())
			io_close_unseen(dirfd(d));
		return NEXT(closedir)(d);
	}
	struct io_closing closing;
	io_close_begin(&closing, dirfd(d));
	c.tick = io_now();
	int rc = NEXT(closedir)(d);
	uint64_t end = io_now();
	if (!closing.hidden)
		io_put(&c, c.tick, end, IO_closedir, io_result(rc), IO_NO_PLACE,
		       ARGS(closing.number));
	io_close_end(&closing);
	return rc;
}
