/* Giving pages back to the kernel. */
#define _GNU_SOURCE
#include "agent/slim.h"

#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments that were never writable have nothing in them that is not in their file. Those that are
 * read-only since they were relocated do: to forget these would be the end. */
static int forget(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t page = *(const uintptr_t *)arg;
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) { /* relocated code: leave it all */
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + h->p_vaddr);
		for (; h->p_type == PT_DYNAMIC && d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_TEXTREL ||
			    (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
				return 0;
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = (info->dlpi_addr + h->p_vaddr + page - 1) & ~(page - 1);
		uintptr_t to = (info->dlpi_addr + h->p_vaddr + h->p_filesz) & ~(page - 1);
		bool file_only = h->p_type == PT_LOAD && !(h->p_flags & PF_W);
		if (file_only && to > from && *info->dlpi_name)
			(void)madvise((void *)from, to - from, MADV_DONTNEED);
	}
	return 0;
}

void slim(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)malloc_trim(0);
	(void)dl_iterate_phdr(forget, &page);
}
