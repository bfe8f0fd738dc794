/* A chain of blocks; the newest is first and the only one with room left. */
#include "lib/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16 << 10)
#define DEFAULT_MAX_BYTES ((size_t)1 << 30)

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	max_align_t bytes[];
};

static size_t block_bytes(const struct arena *a)
{
	return a->block_bytes ? a->block_bytes : BLOCK_BYTES;
}

static struct arena_block *block_new(const struct arena *a, size_t bytes)
{
	size_t size = bytes > block_bytes(a) / 4 ? bytes : block_bytes(a);
	struct arena_block *b = calloc(1, sizeof *b + size);
	if (b)
		b->size = size;
	return b;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	size_t max = a->max_bytes ? a->max_bytes : DEFAULT_MAX_BYTES;
	if (bytes > max || a->used_bytes > max - bytes) {
		a->full = true;
		return NULL;
	}
	size_t align = _Alignof(max_align_t);
	size_t need = (bytes + align - 1) / align * align;
	struct arena_block *b = a->blocks;
	if (!b || b->size - b->used < need) {
		b = block_new(a, need);
		if (!b)
			return NULL;
		/* A big block goes behind the current one, whose rest stays usable. */
		if (a->blocks && need > block_bytes(a) / 4) {
			b->next = a->blocks->next;
			a->blocks->next = b;
		} else {
			b->next = a->blocks;
			a->blocks = b;
		}
	}
	void *p = (char *)b->bytes + b->used;
	b->used += need;
	a->used_bytes += need;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t item_bytes)
{
	if (item_bytes && n > SIZE_MAX / item_bytes)
		return NULL;
	return arena_alloc(a, n * item_bytes);
}

char *arena_strndup(struct arena *a, const char *text, size_t bytes)
{
	if (!text)
		return NULL;
	char *copy = arena_alloc(a, bytes + 1);
	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
	return text ? arena_strndup(a, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	(void)vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

void *arena_grow(struct arena *a, void *items, size_t *cap, size_t n, size_t item_bytes)
{
	if (n <= *cap && items)
		return items;
	size_t room = *cap ? *cap : 8;
	while (room < n) {
		if (room > SIZE_MAX / 2)
			return NULL;
		room *= 2;
	}
	void *grown = arena_array(a, room, item_bytes);
	if (!grown)
		return NULL;
	if (items)
		memcpy(grown, items, *cap * item_bytes);
	*cap = room;
	return grown;
}

void arena_join(struct arena *a, struct arena *from)
{
	struct arena_block *last = from->blocks;
	while (last && last->next)
		last = last->next;
	/* Behind the current block, whose rest stays usable. */
	if (last && a->blocks) {
		last->next = a->blocks->next;
		a->blocks->next = from->blocks;
	} else if (last) {
		a->blocks = from->blocks;
	}
	a->used_bytes += from->used_bytes;
	from->blocks = NULL;
	from->used_bytes = 0;
}

void arena_free(struct arena *a)
{
	struct arena_block *b = a->blocks;
	while (b) {
		struct arena_block *next = b->next;
		free(b);
		b = next;
	}
	a->blocks = NULL;
	a->used_bytes = 0;
}
