/* Names of operations, by a hash of their text, and devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow_impl.h"

#define OTHERS "(others)"
#define NAMES_MAX_BYTES (4u << 20) /* names of kernels can be pages long */

int names_init(struct flow_names *n, size_t max)
{
	*n = (struct flow_names){ .arena = { .max_bytes = NAMES_MAX_BYTES }, .max = max };
	n->cap = max < 64 ? max : 64;
	n->n_slots = 128;
	n->items = calloc(n->cap, sizeof *n->items);
	n->slots = calloc(n->n_slots, sizeof *n->slots);
	if (!n->items || !n->slots)
		return -ENOMEM;
	n->items[n->n++] = (struct flow_text){ .text = OTHERS, .n = sizeof OTHERS - 1 };
	return 0;
}

void names_done(struct flow_names *n)
{
	arena_free(&n->arena);
	free(n->items);
	free(n->slots);
}

/* Eight bytes at a time: it is done for each operation. */
static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t hash = n * UINT64_C(0x9e3779b97f4a7c15), word;
	for (; n >= sizeof word; text += sizeof word, n -= sizeof word) {
		memcpy(&word, text, sizeof word);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, n);
	hash = (hash ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 29;
}

static void slot_put(struct flow_names *n, size_t number)
{
	size_t at = n->items[number].hash & (n->n_slots - 1);
	while (n->slots[at])
		at = (at + 1) & (n->n_slots - 1);
	n->slots[at] = (uint32_t)number + 1;
}

static int names_grow(struct flow *f)
{
	struct flow_names *n = &f->names;
	size_t cap = 2 * n->cap < n->max ? 2 * n->cap : n->max;
	void *items = realloc(n->items, cap * sizeof *n->items);
	if (!items)
		return -ENOMEM;
	n->items = items;
	void *stats = realloc(f->stats, cap * CATEGORIES * sizeof *f->stats);
	if (!stats)
		return -ENOMEM;
	f->stats = stats;
	memset(&f->stats[n->cap * CATEGORIES], 0, (cap - n->cap) * CATEGORIES * sizeof *f->stats);
	uint32_t *slots = calloc(2 * n->n_slots, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	free(n->slots);
	n->slots = slots;
	n->n_slots *= 2;
	n->cap = cap;
	for (size_t i = 1; i < n->n; i++)
		slot_put(n, i);
	return 0;
}

int64_t flow_name(struct flow *f, const char *name, size_t n)
{
	struct flow_names *names = &f->names;
	uint64_t hash = hash_of(name, n);
	size_t at = hash & (names->n_slots - 1);
	for (; names->slots[at]; at = (at + 1) & (names->n_slots - 1)) {
		const struct flow_text *t = &names->items[names->slots[at] - 1];
		if (t->hash == hash && t->n == n && memcmp(t->text, name, n) == 0)
			return names->slots[at] - 1;
	}
	if (names->n == names->max || names->arena.used_bytes + n >= NAMES_MAX_BYTES / 2)
		return 0;
	if (names->n == names->cap && names_grow(f))
		return -ENOMEM;
	const char *copy = arena_strndup(&names->arena, name, n);
	if (!copy)
		return -ENOMEM;
	names->items[names->n] = (struct flow_text){ copy, n, hash };
	slot_put(names, names->n);
	return (int64_t)names->n++;
}

/* ---- devices -------------------------------------------------------------------------------- */

static int devices_grow(struct flow *f)
{
	size_t cap = f->cap_devices ? 2 * f->cap_devices : 8;
	void *items = realloc(f->devices, cap * sizeof *f->devices);
	if (!items)
		return -ENOMEM;
	f->devices = items;
	f->cap_devices = cap;
	return 0;
}

int64_t flow_device(struct flow *f, const char *name, const char *id)
{
	const char *key = id ? id : name;
	for (size_t i = 0; i < f->n_devices; i++)
		if (strcmp(f->devices[i].id, key) == 0)
			return (int64_t)i;
	if (f->n_devices > UINT16_MAX || (f->n_devices == f->cap_devices && devices_grow(f)))
		return -ENOMEM;
	struct flow_device *d = &f->devices[f->n_devices];
	*d = (struct flow_device){ .name = arena_strdup(&f->names.arena, name),
				   .id = arena_strdup(&f->names.arena, key),
				   .until = INT64_MIN };
	for (int c = 0; c < CATEGORIES; c++)
		d->category_until[c] = INT64_MIN;
	if (!d->name || !d->id || ranges_init(&d->busy, f->options.max_ranges)) {
		free(d->busy.items);
		return -ENOMEM;
	}
	return (int64_t)f->n_devices++;
}
