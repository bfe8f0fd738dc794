#define _GNU_SOURCE
#include "lib/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

static size_t whole(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

void *pages_resize(void *old, size_t old_bytes, size_t bytes)
{
	int keep = errno;
	long at = -1;
	size_t have = whole(old_bytes), want = whole(bytes);
	if (want < bytes)
		return NULL;
	if (old && !want)
		(void)syscall(SYS_munmap, old, have);
	else if (old && have != want)
		at = syscall(SYS_mremap, old, have, want, MREMAP_MAYMOVE);
	else if (old)
		at = (long)old;
	else if (want)
		at = syscall(SYS_mmap, NULL, want, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	errno = keep;
	return at == -1 ? NULL : (void *)at;
}
