#define _DEFAULT_SOURCE
#include "schema/iocap_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"

#define READ_MAX ((size_t)4 << 20)

static int view_fd(struct iocap_view *v, int fd, size_t read_max, size_t max)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	size_t n = (size_t)st.st_size;
	if (n > max)
		return -EFBIG;
	if (n > read_max) {
		void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			return -errno;
		(void)madvise(p, n, MADV_SEQUENTIAL);
		*v = (struct iocap_view){ p, n, true };
		return 0;
	}
	v->p = malloc(n ? n : 1);
	if (!v->p)
		return -ENOMEM;
	ssize_t got = file_fill(fd, v->p, n);
	if (got >= 0)
		v->n = (size_t)got;
	return got < 0 ? (int)got : 0;
}

static int view(struct iocap_view *v, const char *path, size_t read_max, size_t max,
		struct err *err)
{
	*v = (struct iocap_view){ 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = fd < 0 ? -errno : view_fd(v, fd, read_max, max);
	if (fd >= 0)
		(void)close(fd);
	if (!rc)
		return 0;
	iocap_view_close(v);
	return rc == -EINVAL ? err_set(err, rc, "read %s: it is no regular file", path)
			     : err_set(err, rc, "read %s: %s", path, strerror(-rc));
}

int iocap_view_open(struct iocap_view *v, const char *path, struct err *err)
{
	return view(v, path, READ_MAX, SIZE_MAX, err);
}

int iocap_view_read(struct iocap_view *v, const char *path, size_t max, struct err *err)
{
	return view(v, path, SIZE_MAX, max, err);
}

void iocap_view_close(struct iocap_view *v)
{
	if (v->mapped)
		(void)munmap(v->p, v->n);
	else
		free(v->p);
	*v = (struct iocap_view){ 0 };
}

void iocap_view_past(const struct iocap_view *v, const uint8_t *from, const uint8_t *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), a = (uintptr_t)from, b = (uintptr_t)to;
	uintptr_t begin = (uintptr_t)v->p;
	if (!v->mapped || a < begin || b > begin + v->n || a >= b)
		return;
	a &= ~(page - 1);
	(void)madvise(v->p + (a - begin), b - a, MADV_DONTNEED);
}
