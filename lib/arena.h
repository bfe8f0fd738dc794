/* Memory that is freed all at once. A record, a suite, a log and all they point to live in
 * one arena each. All-zero is a valid empty arena. Not thread-safe. */
#ifndef LIB_ARENA_H
#define LIB_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used_bytes;  /* handed out so far, all blocks together */
	size_t max_bytes;   /* ceiling; 0 means 1 GiB. Past it arena_alloc answers NULL */
	size_t block_bytes; /* asked of malloc at once; 0 means 16 KiB */
	bool full;          /* something was refused because of the ceiling */
};

/* Zeroed memory, aligned for any type, good until arena_free. NULL when out of memory or past
 * the ceiling. */
void *arena_alloc(struct arena *a, size_t bytes);

/* Room for n items of the given size; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t n, size_t item_bytes);

/* Copies; NULL stays NULL. */
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t bytes);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Grow an array that lives in the arena to hold at least n items: doubles, copies, and leaves
 * the old one to the arena. *cap is the number of items there is room for. */
void *arena_grow(struct arena *a, void *items, size_t *cap, size_t n, size_t item_bytes);

/* All that is in from belongs to a from now on, also past its ceiling; from is empty. */
void arena_join(struct arena *a, struct arena *from);

void arena_free(struct arena *a);

#endif
