/* See layout.h. */
#include "core/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/buf.h"

/* ---- as texts -----------------------------------------------------------------------------------
 */

static int add(struct record *rec, struct txts *to, const char *text)
{
	char *one = text ? record_text(rec, text, strlen(text)) : NULL;
	if (!one)
		return -ENOMEM;
	to->items[to->n++] = one;
	return 0;
}

static int add_number(struct record *rec, struct txts *to, const char *key, int64_t x)
{
	return add(rec, to, arena_printf(&rec->arena, "%s=%lld", key, (long long)x));
}

static int add_targets(struct record *rec, struct txts *to, const struct layout *l)
{
	struct buf text = { 0 };
	for (size_t i = 0; i < l->n_targets && i < LAYOUT_TARGETS; i++)
		buf_printf(&text, "%s%lld", i ? "," : "osts=", (long long)l->targets[i]);
	buf_puts(&text, l->n_targets > LAYOUT_TARGETS ? ",..." : "");
	int rc = text.failed ? -ENOMEM : add(rec, to, text.data);
	buf_done(&text);
	return rc;
}

int layout_put(struct record *rec, struct txts *to, const struct layout *l)
{
	int rc = 0;
	to->n = 0;
	to->items = arena_array(&rec->arena, 8, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	if (l->size_bytes >= 0)
		rc = add_number(rec, to, "stripe_size", l->size_bytes);
	if (!rc && l->count >= 0)
		rc = add_number(rec, to, "stripe_count", l->count);
	if (!rc && l->pool[0])
		rc = add(rec, to, arena_printf(&rec->arena, "pool=%s", l->pool));
	if (!rc && l->components > 1)
		rc = add_number(rec, to, "components", l->components);
	if (!rc && l->mirrors > 1)
		rc = add_number(rec, to, "mirrors", l->mirrors);
	if (!rc && l->mdt_bytes >= 0)
		rc = add_number(rec, to, "mdt", l->mdt_bytes);
	if (!rc && l->n_targets)
		rc = add_targets(rec, to, l);
	return rc;
}

/* ---- Lustre -------------------------------------------------------------------------------------
 */

#define MAGIC_V1 0x0BD10BD0u
#define MAGIC_V3 0x0BD30BD0u
#define MAGIC_COMPOSITE 0x0BD60BD0u
#define PATTERN_MDT 0x100u
#define PATTERN_RELEASED 0x80000000u /* its bytes are in an archive */
#define COMPONENT_MADE 0x10u         /* others have no place yet */
#define ALL_TARGETS 0xffffu          /* of a count: as many as there are */
#define HEAD_V1 32
#define HEAD_V3 48 /* and a pool's name */
#define HEAD_COMPOSITE 32
#define ENTRY 48  /* of a composite's table */
#define OBJECT 24 /* for each stripe */

struct view {
	const unsigned char *p;
	size_t n;
	bool swapped;
};

static uint64_t number(const struct view *v, size_t at, size_t bytes)
{
	uint64_t x = 0;
	for (size_t i = 0; i < bytes; i++)
		x |= (uint64_t)v->p[at + i] << 8 * (v->swapped ? bytes - 1 - i : i);
	return x;
}

static uint32_t u32(const struct view *v, size_t at)
{
	return (uint32_t)number(v, at, 4);
}

/* One that is not composite. end: of what it holds, if it is a component; else 0. */
static int plain(struct layout *l, const struct view *v, uint64_t end)
{
	uint32_t magic = v->n >= HEAD_V1 ? u32(v, 0) : 0;
	size_t head = magic == MAGIC_V3 ? HEAD_V3 : HEAD_V1;
	if ((magic != MAGIC_V1 && magic != MAGIC_V3) || v->n < head)
		return -EINVAL;
	uint32_t pattern = u32(v, 4);
	uint64_t count = number(v, 28, 2);
	size_t objects = pattern & (PATTERN_RELEASED | PATTERN_MDT) || count == ALL_TARGETS ? 0 : count;
	if (objects > (v->n - head) / OBJECT)
		return -EINVAL;
	l->components++;
	if (pattern & PATTERN_MDT) {
		l->mdt_bytes = end <= INT64_MAX ? (int64_t)end : INT64_MAX;
		return 0;
	}
	if (l->size_bytes < 0) {
		l->size_bytes = u32(v, 24);
		l->count = count == ALL_TARGETS ? -1 : (int64_t)count;
		if (head == HEAD_V3)
			memcpy(l->pool, v->p + HEAD_V1, LAYOUT_POOL_BYTES - 1);
	}
	for (size_t i = 0; i < objects; i++, l->n_targets++)
		if (l->n_targets < LAYOUT_TARGETS)
			l->targets[l->n_targets] = u32(v, head + i * OBJECT + 20);
	return 0;
}

static int composite(struct layout *l, const struct view *v)
{
	uint64_t n = v->n >= HEAD_COMPOSITE ? number(v, 14, 2) : 0;
	if (!n || n > (v->n - HEAD_COMPOSITE) / ENTRY)
		return -EINVAL;
	l->mirrors = 1 + (int64_t)number(v, 16, 2);
	for (size_t i = 0; i < n; i++) {
		size_t at = HEAD_COMPOSITE + i * ENTRY;
		uint32_t from = u32(v, at + 24), size = u32(v, at + 28);
		if (!(u32(v, at + 4) & COMPONENT_MADE))
			continue;
		if (from > v->n || size > v->n - from)
			return -EINVAL;
		struct view part = { v->p + from, size, v->swapped };
		int rc = plain(l, &part, number(v, at + 16, 8));
		if (rc)
			return rc;
	}
	return 0;
}

int layout_of_lustre(struct layout *ret, const void *bytes, size_t n)
{
	static const uint32_t magics[] = { MAGIC_V1, MAGIC_V3, MAGIC_COMPOSITE };
	struct view v = { .p = bytes, .n = n };
	bool known = false;
	*ret = LAYOUT_UNKNOWN;
	for (int swapped = 0; swapped < 2 && n >= 4 && !known; swapped++) {
		v.swapped = swapped;
		for (size_t i = 0; i < 3; i++)
			known = known || u32(&v, 0) == magics[i];
	}
	if (!known)
		return -EINVAL;
	return u32(&v, 0) == MAGIC_COMPOSITE ? composite(ret, &v) : plain(ret, &v, 0);
}
