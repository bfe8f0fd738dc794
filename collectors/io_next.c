/* The functions behind ours. */
#include "collectors/io_wrap.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The linker's own: all that WRAP names. */
extern struct io_next __start_io_nexts[] __attribute__((visibility("hidden")));
extern struct io_next __stop_io_nexts[] __attribute__((visibility("hidden")));

static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* dlsym may allocate, and the program's own allocator may read files as it begins: for those few
 * calls the kernel itself. */
static int raw_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, -100, path, flags, mode);
}

static int raw_openat(int at, const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, at, path, flags, mode);
}

static ssize_t raw_read(int fd, void *to, size_t n)
{
	return syscall(SYS_read, fd, to, n);
}

static ssize_t raw_write(int fd, const void *from, size_t n)
{
	return syscall(SYS_write, fd, from, n);
}

static int raw_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static void *raw_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

static int raw_munmap(void *at, size_t n)
{
	return (int)syscall(SYS_munmap, at, n);
}

static const struct {
	const char *name;
	void *f;
} raws[] = {
	{ "open", (void *)raw_open },     { "open64", (void *)raw_open },
	{ "openat", (void *)raw_openat }, { "openat64", (void *)raw_openat },
	{ "read", (void *)raw_read },     { "write", (void *)raw_write },
	{ "close", (void *)raw_close },   { "mmap", (void *)raw_mmap },
	{ "mmap64", (void *)raw_mmap },   { "munmap", (void *)raw_munmap },
};

void *io_find(void **place, const char *name)
{
	if (io_self.finding)
		for (size_t i = 0; i < sizeof raws / sizeof *raws; i++)
			if (strcmp(raws[i].name, name) == 0)
				return raws[i].f;
	int saved = errno;
	io_self.finding++;
	void *f = dlsym(RTLD_NEXT, name);
	io_self.finding--;
	errno = saved;
	if (!f)
		f = (void *)missing;
	__atomic_store_n(place, f, __ATOMIC_RELAXED);
	return f;
}

void io_find_all(void)
{
	/* cppcheck-suppress comparePointers */
	for (struct io_next *n = __start_io_nexts; n < __stop_io_nexts; n++)
		(void)io_next(n->place, n->name);
}
