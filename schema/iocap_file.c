#define _GNU_SOURCE
#include "schema/iocap_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "schema/iocap.h"
#include "schema/iocap_code.h"

/* Out of the way of programs that count on low numbers. */
#define FD_MIN 400

static int high(int fd)
{
	int up = fd < 0 ? fd : (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_MIN);
	if (up < 0)
		return fd;
	(void)syscall(SYS_close, fd);
	return up;
}

static int open_at(struct iocap_file *f, unsigned i, const char *path, int flags)
{
	struct stat st;
	int fd = high((int)syscall(SYS_openat, AT_FDCWD, path,
				   O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | flags, 0644));
	if (fd < 0)
		return -errno;
	if (syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) != 0) {
		(void)syscall(SYS_close, fd);
		return -EIO;
	}
	f->at[i].fd = fd;
	f->at[i].device = st.st_dev;
	f->at[i].inode = st.st_ino;
	return 0;
}

static bool is_ours(const struct iocap_file *f, unsigned i)
{
	struct stat st;
	return f->at[i].fd >= 0 &&
	       syscall(SYS_newfstatat, f->at[i].fd, "", &st, AT_EMPTY_PATH) == 0 &&
	       st.st_dev == f->at[i].device && st.st_ino == f->at[i].inode;
}

int iocap_file_open(struct iocap_file *f, const char *folder, const char *name)
{
	int keep = errno;
	*f = (struct iocap_file){ .at = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 } } };
	int n = snprintf(f->path, sizeof f->path, "%s/%s%s", folder, name, IOCAP_SUFFIX);
	int rc = n < 0 || (size_t)n >= sizeof f->path ? -ENAMETOOLONG
						      : open_at(f, 0, f->path, O_EXCL);
	errno = keep;
	return rc;
}

/* Past its limit for files the kernel would end the program with SIGXFSZ. */
static int within_limit(uint64_t end)
{
	struct rlimit limit;
	bool past = syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
		    limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
	return past ? -EFBIG : 0;
}

static int put_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;
	while (n) {
		long put = syscall(SYS_write, fd, p, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

int iocap_file_append(void *file, const void *bytes, size_t n)
{
	struct iocap_file *f = file;
	int keep = errno;
	int rc = within_limit(f->bytes + n);
	if (!rc && !is_ours(f, 0))
		rc = open_at(f, 0, f->path, 0);
	if (!rc)
		rc = put_all(f->at[0].fd, bytes, n);
	f->bytes += rc ? 0 : n;
	errno = keep;
	return rc;
}

static void open_path(struct iocap_file *f, unsigned which)
{
	(void)snprintf(f->open_path, sizeof f->open_path, "%s-open%u", f->path, which);
}

static void shut(struct iocap_file *f, unsigned i)
{
	if (is_ours(f, i))
		(void)syscall(SYS_close, f->at[i].fd);
	f->at[i].fd = -1;
}

/* The whole of one of the two, while the other has what was so before. */
static int replace(struct iocap_file *f, const void *bytes, size_t n)
{
	unsigned which = ++f->turn & 1, i = 1 + which;
	uint8_t head[IOCAP_OPEN_HEAD];
	int rc = within_limit(sizeof head + n);
	if (rc)
		return rc;
	iocap_open_head(head, f->turn, bytes, n);
	if (!is_ours(f, i)) {
		open_path(f, which);
		rc = open_at(f, i, f->open_path, 0);
		if (rc)
			return rc;
	}
	if (syscall(SYS_ftruncate, f->at[i].fd, 0L) != 0)
		return -errno;
	rc = put_all(f->at[i].fd, head, sizeof head);
	return rc ? rc : put_all(f->at[i].fd, bytes, n);
}

int iocap_file_replace(void *file, const void *bytes, size_t n)
{
	struct iocap_file *f = file;
	int keep = errno, rc = 0;
	for (unsigned which = 0; !n && which < 2; which++) {
		open_path(f, which);
		if (f->at[1 + which].fd >= 0)
			(void)syscall(SYS_unlinkat, AT_FDCWD, f->open_path, 0);
		shut(f, 1 + which);
	}
	if (n)
		rc = replace(f, bytes, n);
	errno = keep;
	return rc;
}

void iocap_file_close(struct iocap_file *f)
{
	int keep = errno;
	for (unsigned i = 0; i < 3; i++)
		shut(f, i);
	errno = keep;
}

void iocap_file_forget(struct iocap_file *f)
{
	iocap_file_close(f);
}
