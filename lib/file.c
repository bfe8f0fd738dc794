/* Whole files in and out, and bytes of open ones. */
#define _GNU_SOURCE
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read_fd(struct buf *b, int fd, const char *path, struct err *err)
{
	char chunk[65536];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "read %s: %s", path, strerror(errno));
		if (n == 0)
			return 0;
		if (b->max && b->len + (size_t)n > b->max)
			return err_set(
				err, -EFBIG,
				"%s is larger than %zu bytes, the limit for this kind of file",
				path, b->max);
		buf_put(b, chunk, (size_t)n);
		if (b->failed)
			return err_set(err, -ENOMEM, "read %s: out of memory", path);
	}
}

int file_read(struct buf *b, const char *path, struct err *err)
{
	if (strcmp(path, "-") == 0)
		return file_read_fd(b, STDIN_FILENO, "standard input", err);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	int rc = file_read_fd(b, fd, path, err);
	(void)close(fd);
	return rc;
}

ssize_t file_fill(int fd, void *to, size_t n)
{
	size_t got = 0;
	while (got < n) {
		ssize_t k = read(fd, (char *)to + got, n - got);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

ssize_t file_fill_at(int fd, void *to, size_t n, uint64_t at)
{
	size_t got = 0;
	while (got < n) {
		ssize_t k = pread(fd, (char *)to + got, n - got, (off_t)(at + got));
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		bytes += done;
		n -= (size_t)done;
	}
	return fsync(fd) ? -errno : 0;
}

int file_write(const char *path, const void *bytes, size_t n, struct err *err)
{
	char *beside = NULL;
	if (asprintf(&beside, "%s.new-%ld", path, (long)getpid()) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = 0;
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		rc = err_set(err, -errno, "create %s: %s", beside, strerror(errno));
		goto out;
	}
	rc = write_all(fd, bytes, n);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(beside, path))
		rc = -errno;
	if (rc) {
		(void)unlink(beside);
		(void)err_set(err, rc, "write %s: %s", path, strerror(-rc));
	}
out:
	free(beside);
	return rc;
}

int file_mkdirs(const char *path, struct err *err)
{
	char *copy = strdup(path);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = 0;
	for (char *p = copy + 1; !rc; p++) {
		if (*p != '/' && *p)
			continue;
		char end = *p;
		*p = 0;
		if (mkdir(copy, 0755) && errno != EEXIST)
			rc = err_set(err, -errno, "create folder %s: %s", copy, strerror(errno));
		*p = end;
		if (!end)
			break;
	}
	free(copy);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int file_remove_tree(const char *path, struct err *err)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
		return err_set(err, -errno, "remove %s: %s", path, strerror(errno));
	return 0;
}
