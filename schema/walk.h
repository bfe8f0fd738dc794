/* For what walks the tables of schema/field.h: where a field is, and lists of whatever. */
#ifndef SCHEMA_WALK_H
#define SCHEMA_WALK_H

#include <stdbool.h>
#include <string.h>

#include "schema/field.h"

/* A list as every MEMBER_L lays it out: a pointer and a number. */
struct list {
	void *items;
	size_t n;
};

/* Copied, not cast: each list has a struct type of its own. */
static inline struct list list_get(const void *at)
{
	struct list l;
	memcpy(&l.items, at, sizeof l.items);
	memcpy(&l.n, (const char *)at + sizeof l.items, sizeof l.n);
	return l;
}

static inline void list_set(void *at, struct list l)
{
	memcpy(at, &l.items, sizeof l.items);
	memcpy((char *)at + sizeof l.items, &l.n, sizeof l.n);
}

static inline void *list_item(struct list l, const struct block *block, size_t i)
{
	return (char *)l.items + i * block->size;
}

static inline const void *field_at(const struct field *f, const void *block)
{
	return (const char *)block + f->offset;
}

static inline void *field_in(const struct field *f, void *block)
{
	return (char *)block + f->offset;
}

static inline double num_at(const struct field *f, const void *block)
{
	return *(const double *)field_at(f, block);
}

static inline const char *txt_at(const struct field *f, const void *block)
{
	return *(const char *const *)field_at(f, block);
}

static inline int ter_at(const struct field *f, const void *block)
{
	return *(const signed char *)field_at(f, block);
}

/* Is the field null? A block is when everything in it is. */
bool field_is_null(const struct field *f, const void *block);

#endif
