/* Numbers of a file, with what we know them by: a table from a pair of whole numbers to one more.
 * All-zero is empty. */
#ifndef IMPORT_TRACE_MAP_H
#define IMPORT_TRACE_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct trace_map_slot {
	int64_t a, b;
	uint64_t value; /* 0: free */
};

struct trace_map {
	struct trace_map_slot *slots;
	size_t n, cap; /* cap: a power of two, never more than half full */
};

static inline size_t trace_map_place(const struct trace_map *m, int64_t a, int64_t b)
{
	uint64_t h = ((uint64_t)a * 0x9e3779b97f4a7c15u) ^ ((uint64_t)b * 0xc2b2ae3d27d4eb4fu);
	size_t i = (size_t)((h ^ h >> 32) * 0x9e3779b97f4a7c15u >> 20) & (m->cap - 1);
	while (m->slots[i].value && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return i;
}

/* 0: not there. */
static inline uint64_t trace_map_get(const struct trace_map *m, int64_t a, int64_t b)
{
	return m->cap ? m->slots[trace_map_place(m, a, b)].value : 0;
}

/* value is not 0. -ENOMEM. */
int trace_map_put(struct trace_map *m, int64_t a, int64_t b, uint64_t value);

static inline void trace_map_done(struct trace_map *m)
{
	free(m->slots);
	*m = (struct trace_map){ 0 };
}

#endif
