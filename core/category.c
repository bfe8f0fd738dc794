/* Categories and names. */
#include "core/category.h"

#include <stddef.h>
#include <string.h>

static const char *const names[CATEGORIES] = {
	[COMPUTE] = "compute",       [COPY_H2D] = "copy_h2d",     [COPY_D2H] = "copy_d2h",
	[COPY_D2D] = "copy_d2d",     [COPY_OTHER] = "copy_other", [FILL] = "fill",
	[COLLECTIVE] = "collective", [OTHER] = "other",
};

const char *category_name(enum category c)
{
	return names[c];
}

int category_of(const char *name)
{
	for (int c = 0; c < CATEGORIES; c++)
		if (strcmp(names[c], name) == 0)
			return c;
	return -1;
}

enum category copy_kind_category(unsigned kind)
{
	switch (kind) {
	case 1:  /* host to device */
	case 3:  /* host to array */
	case 11: /* unified memory, host to device */
		return COPY_H2D;
	case 2:  /* device to host */
	case 4:  /* array to host */
	case 12: /* unified memory, device to host */
		return COPY_D2H;
	case 5:  /* array to array */
	case 6:  /* array to device */
	case 7:  /* device to array */
	case 8:  /* device to device */
	case 13: /* unified memory, device to device */
		return COPY_D2D;
	default: /* 0 unknown, 9 host to host, 10 peer to peer, and what is not known yet */
		return COPY_OTHER;
	}
}

static const struct {
	unsigned interface;
	const char *name;
} waiting[] = {
	{ CALL_CUDA, "cudaDeviceSynchronize" },
	{ CALL_CUDA, "cudaStreamSynchronize" },
	{ CALL_CUDA, "cudaEventSynchronize" },
	{ CALL_CUDA, "cudaMemcpy" },
	{ CALL_CUDA, "cudaMemset" },
	{ CALL_CUDA_DRIVER, "cuCtxSynchronize" },
	{ CALL_CUDA_DRIVER, "cuStreamSynchronize" },
	{ CALL_CUDA_DRIVER, "cuEventSynchronize" },
	{ CALL_CUDA_DRIVER, "cuMemcpy" },
	{ CALL_CUDA_DRIVER, "cuMemcpyHtoD" },
	{ CALL_CUDA_DRIVER, "cuMemcpyDtoH" },
	{ CALL_CUDA_DRIVER, "cuMemcpyDtoD" },
	{ CALL_CUDA_DRIVER, "cuMemsetD8" },
	{ CALL_CUDA_DRIVER, "cuMemsetD16" },
	{ CALL_CUDA_DRIVER, "cuMemsetD32" },
	{ CALL_HIP, "hipDeviceSynchronize" },
	{ CALL_HIP, "hipStreamSynchronize" },
	{ CALL_HIP, "hipEventSynchronize" },
	{ CALL_HIP, "hipMemcpy" },
	{ CALL_HIP, "hipMemcpyWithStream" },
	{ CALL_HIP, "hipMemcpyHtoD" },
	{ CALL_HIP, "hipMemcpyDtoH" },
	{ CALL_HIP, "hipMemcpyDtoD" },
	{ CALL_HIP, "hipMemset" },
};

static bool skip(struct str *text, const char *word)
{
	size_t n = strlen(word);
	if (text->n < n || memcmp(text->p, word, n) != 0)
		return false;
	text->p += n;
	text->n -= n;
	return true;
}

/* "_ptsz" or "_ptds" and "_v" with digits, each of which may be missing; of HIP "_spt". */
static bool is_suffix(unsigned interface, struct str rest)
{
	if (interface == CALL_HIP)
		return rest.n == 0 || (skip(&rest, "_spt") && rest.n == 0);
	if (!skip(&rest, "_ptsz"))
		(void)skip(&rest, "_ptds");
	if (rest.n == 0)
		return true;
	if (!skip(&rest, "_v") || rest.n == 0)
		return false;
	for (size_t i = 0; i < rest.n; i++)
		if (rest.p[i] < '0' || rest.p[i] > '9')
			return false;
	return true;
}

bool sync_call(unsigned interfaces, struct str name)
{
	for (size_t i = 0; name.p && i < sizeof waiting / sizeof *waiting; i++) {
		struct str rest = name;
		if (waiting[i].interface & interfaces && skip(&rest, waiting[i].name) &&
		    is_suffix(waiting[i].interface, rest))
			return true;
	}
	return false;
}

/* A word of lower-case letters in a text of any case. */
static bool has_word(struct str text, const char *word)
{
	size_t n = strlen(word), k = 0;
	for (const char *at = text.p; at + n <= text.p + text.n; at++) {
		for (k = 0; k < n && (at[k] | 0x20) == word[k]; k++)
			;
		if (k == n)
			return true;
	}
	return false;
}

enum category kernel_category(struct str name)
{
	static const char *const libraries[] = { "nccl", "rccl", "msccl", "oneccl" };
	for (size_t i = 0; name.p && i < sizeof libraries / sizeof *libraries; i++)
		if (has_word(name, libraries[i]))
			return COLLECTIVE;
	return COMPUTE;
}
