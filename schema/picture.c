/* Pictures as bytes (schema/framed.h). */
#include "schema/picture.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/num.h"
#include "schema/codec.h"
#include "schema/framed.h"
#include "schema/table.h"
#include "schema/walk.h"

#define MAX_WHOLE 0x1p53 /* what a double counts exactly: 104 days of all devices together */
#define MAX_BYTES 1e18
#define MAX_OFFSET 0x1p63 /* of a clock since 1970 from one since the last boot: 50 years */
#define CATEGORY_COUNT 8  /* enum category; core stands above this layer */

#define SELF picture_sums
TABLE(picture_sums, PICTURE_SUMS_FIELDS)
#undef SELF
#define SELF picture_device
TABLE(picture_device, PICTURE_DEVICE_FIELDS)
#undef SELF
#define SELF picture_op
TABLE(picture_op, PICTURE_OP_FIELDS)
#undef SELF
#define SELF picture_gap
TABLE(picture_gap, PICTURE_GAP_FIELDS)
#undef SELF
#define SELF picture
TABLE(picture, PICTURE_FIELDS)
#undef SELF

PICTURE_BLOCKS(DEFINE_BLOCK)

void picture_clear(struct picture *p)
{
	block_clear(&picture_block, p);
	p->schema = PICTURE_SCHEMA;
}

static const struct framed picture_framed = { "roimeter-picture 1\n",
					      "picture of a device collector", PICTURE_MAX_BYTES,
					      &picture_block };

void picture_put(struct buf *b, const struct picture *p)
{
	framed_put(b, &picture_framed, p);
}

/* ---- in ------------------------------------------------------------------------------------- */

static bool is_whole(double x)
{
	return x >= 0 && x < MAX_WHOLE && x == floor(x);
}

static bool sums_good(const struct picture_sums *s)
{
	const struct nums *const lists[] = { &s->time_ns, &s->ops, &s->bytes, &s->union_ns };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (lists[i]->items && lists[i]->n != CATEGORY_COUNT)
			return false;
		for (size_t c = 0; lists[i]->items && c < CATEGORY_COUNT; c++) {
			double x = lists[i]->items[c];
			bool bytes = lists[i] == &s->bytes;
			if (known(x) && (bytes ? !(x >= 0 && x < MAX_BYTES) : !is_whole(x)))
				return false;
		}
	}
	return true;
}

/* Begin before end, and each range after the last. */
static bool ranges_good(const struct nums *ranges)
{
	double last = -1;
	if (ranges->n % 2)
		return false;
	for (size_t i = 0; i < ranges->n; i++) {
		if (!is_whole(ranges->items[i]) || !(ranges->items[i] > last))
			return false;
		last = ranges->items[i];
	}
	return true;
}

static bool bins_good(const struct nums *bins)
{
	for (size_t i = 0; i < bins->n; i++)
		if (!is_whole(bins->items[i]))
			return false;
	return bins->n % 2 == 0;
}

static bool ops_good(const struct picture_op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!ops[i].name || !(ops[i].category >= 0 && ops[i].category < CATEGORY_COUNT) ||
		    !is_whole(ops[i].category) || !is_whole(ops[i].count) || !(ops[i].count > 0) ||
		    !is_whole(ops[i].total_ns) || !is_whole(ops[i].min_ns) ||
		    !is_whole(ops[i].max_ns) || !bins_good(&ops[i].bins))
			return false;
	return true;
}

/* Every number of a block that stands by itself. */
static bool numbers_good(const struct block *block, const void *at)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		bool offset = strcmp(f->name, "clock_offset_ns") == 0;
		if (f->type == FIELD_NUM && strcmp(f->unit, "s") != 0 && known(num_at(f, at)) &&
		    !(fabs(num_at(f, at)) < (offset ? MAX_OFFSET : MAX_WHOLE)))
			return false;
	}
	return true;
}

static const char *fault_of(const struct picture *p)
{
	if (!p->schema || strcmp(p->schema, PICTURE_SCHEMA) != 0)
		return "it has another schema";
	if (!p->collector || !p->status)
		return "it does not say what made it";
	if (!sums_good(&p->roi) || !sums_good(&p->whole))
		return "its sums are not numbers of ns, operations and bytes for 8 categories";
	if (!ranges_good(&p->windows))
		return "its windows are not in order";
	for (size_t i = 0; i < p->devices.n; i++)
		if (!ranges_good(&p->devices.items[i].busy) ||
		    !numbers_good(&picture_device_block, &p->devices.items[i]))
			return "the busy times of a device are not in order";
	if (!ops_good(p->ops.items, p->ops.n) || !ops_good(p->whole_ops.items, p->whole_ops.n))
		return "an operation in it has no name, or numbers that can't be";
	if (!numbers_good(&picture_block, p) || !numbers_good(&picture_sums_block, &p->roi) ||
	    !numbers_good(&picture_sums_block, &p->whole) ||
	    !numbers_good(&picture_gap_block, &p->gap))
		return "it has a number that can't be";
	return NULL;
}

int picture_peek(struct picture *ret, struct arena *a, const void *bytes, size_t n, struct err *err)
{
	picture_clear(ret);
	return framed_peek(ret, a, &picture_framed, "exe", bytes, n, err);
}

int picture_get(struct picture *ret, struct arena *a, const char *file, const void *bytes, size_t n,
		struct err *err)
{
	picture_clear(ret);
	int rc = framed_get(ret, a, &picture_framed, file, bytes, n, err);
	const char *fault = rc ? NULL : fault_of(ret);
	return fault ? err_set(err, -EBADMSG, "%s: the picture can't be used: %s", file, fault)
		     : rc;
}
