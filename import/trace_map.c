/* Open addressing, doubled when half full. */
#include "import/trace_map.h"

#include <errno.h>

static int grow(struct trace_map *m)
{
	struct trace_map larger = { .cap = m->cap ? 2 * m->cap : 64 };
	larger.slots = calloc(larger.cap, sizeof *larger.slots);
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].value)
			larger.slots[trace_map_place(&larger, m->slots[i].a, m->slots[i].b)] =
				m->slots[i];
	larger.n = m->n;
	free(m->slots);
	*m = larger;
	return 0;
}

int trace_map_put(struct trace_map *m, int64_t a, int64_t b, uint64_t value)
{
	if (2 * (m->n + 1) > m->cap && grow(m))
		return -ENOMEM;
	struct trace_map_slot *slot = &m->slots[trace_map_place(m, a, b)];
	m->n += !slot->value;
	*slot = (struct trace_map_slot){ .a = a, .b = b, .value = value };
	return 0;
}
