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

/* "_v" and digits, or nothing. */
static bool version_suffix(const char *text)
{
	if (!*text)
		return true;
	if (strncmp(text, "_v", 2) != 0 || !text[2])
		return false;
	return strspn(text + 2, "0123456789") == strlen(text + 2);
}

bool sync_api(const char *name)
{
	static const char *const calls[] = {
		"cudaDeviceSynchronize",
		"cudaStreamSynchronize",
		"cudaEventSynchronize",
		"cudaMemcpy",
		"cudaMemset",
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		size_t n = strlen(calls[i]);
		if (strncmp(name, calls[i], n) == 0 && version_suffix(name + n))
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
