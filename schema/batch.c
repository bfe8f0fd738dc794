/* The bytes of frames and lists, both ways, from the lists of schema/batch.h. */
#include "schema/batch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "schema/batch_impl.h"
#include "schema/roilog.h"
#include "schema/utf8.h"

/* ---- unknown -------------------------------------------------------------------------------- */

#define NULL_u64 0
#define NULL_i64 ROI_UNKNOWN
#define NULL_num (double)NAN
#define NULL_ter UNKNOWN
#define NULL_txt ((struct str){ .p = NULL })
#define NULL_bin NULL_txt
#define NULL_txts NULL_txt
#define NULL_pairs NULL_txt
#define CLEAR(type, name, unit, meaning) to->name = NULL_##type;

void batch_sender_clear(struct batch_sender *to){ BATCH_SENDER_FIELDS(CLEAR) }

#define CLEAR_FRAME(number, kind, KIND)                                                            \
	static void clear_##kind(struct frame_##kind *to)                                          \
	{                                                                                          \
		FRAME_##KIND##_FIELDS(CLEAR)                                                       \
	}
BATCH_FRAMES(CLEAR_FRAME)

	void frame_clear(struct frame *f, enum frame_type type)
{
	memset(f, 0, sizeof *f);
	f->type = type;
	switch (type) {
#define CLEAR_CASE(number, kind, KIND)                                                             \
	case FRAME_##KIND:                                                                         \
		clear_##kind(&f->as.kind);                                                         \
		return;
		BATCH_FRAMES(CLEAR_CASE)
	case FRAME_TYPES:
		return;
	}
}

const char *frame_name(enum frame_type type)
{
	switch (type) {
#define NAME_CASE(number, kind, KIND)                                                              \
	case FRAME_##KIND:                                                                         \
		return #kind;
		BATCH_FRAMES(NAME_CASE)
	case FRAME_TYPES:
		break;
	}
	return NULL;
}

/* ---- out ------------------------------------------------------------------------------------ */

static void put_u64(struct wire_out *w, uint64_t x)
{
	wire_put_varint(w, x);
}

static void put_i64(struct wire_out *w, int64_t x)
{
	wire_put_signed(w, x);
}

static void put_num(struct wire_out *w, double x)
{
	wire_put_num(w, x);
}

static void put_ter(struct wire_out *w, signed char x)
{
	wire_put_byte(w, (unsigned char)(x + 1));
}

static void put_bin(struct wire_out *w, struct str s)
{
	if (!s.p) {
		wire_put_byte(w, 0);
		return;
	}
	wire_put_varint(w, (uint64_t)s.n + 1);
	wire_put_bytes(w, s.p, s.n);
}

static void put_txt(struct wire_out *w, struct str s)
{
	if (!s.p || utf8_valid(s.p, s.n)) {
		put_bin(w, s);
		return;
	}
	size_t n = utf8_clean(NULL, s.p, s.n);
	char *clean = malloc(n + 1);
	if (!clean) {
		w->b->failed = true;
		return;
	}
	(void)utf8_clean(clean, s.p, s.n);
	put_bin(w, (struct str){ .p = clean, .n = n });
	free(clean);
}

static void put_txts(struct wire_out *w, struct str s)
{
	put_bin(w, s);
}

static void put_pairs(struct wire_out *w, struct str s)
{
	put_bin(w, s);
}

#define PUT(type, name, unit, meaning) put_##type(w, from->name);

void batch_put_sender(struct wire_out *w,
		      const struct batch_sender *from){ BATCH_SENDER_FIELDS(PUT) }

#define PUT_FRAME(number, kind, KIND)                                                              \
	static void put_##kind(struct wire_out *w, const struct frame_##kind *from)                \
	{                                                                                          \
		FRAME_##KIND##_FIELDS(PUT)                                                         \
	}
BATCH_FRAMES(PUT_FRAME)

	void batch_put_fields(struct wire_out *w, const struct frame *f)
{
	switch (f->type) {
#define PUT_CASE(number, kind, KIND)                                                               \
	case FRAME_##KIND:                                                                         \
		put_##kind(w, &f->as.kind);                                                        \
		return;
		BATCH_FRAMES(PUT_CASE)
	case FRAME_TYPES:
		return;
	}
}

void batch_text_put(struct buf *b, struct str text)
{
	struct wire_out w = { .b = b };
	put_txt(&w, text);
	wire_flush(&w);
}

void batch_pair_put(struct buf *b, struct str name, double value)
{
	struct wire_out w; /* its window is not cleared for each of the many */
	w.b = b;
	w.n = 0;
	put_txt(&w, name);
	put_num(&w, value);
	wire_flush(&w);
}

/* ---- in ------------------------------------------------------------------------------------- */

static uint64_t get_u64(struct wire_in *r)
{
	return wire_varint(r);
}

static int64_t get_i64(struct wire_in *r)
{
	return wire_signed(r);
}

static double get_num(struct wire_in *r)
{
	return wire_num(r, NULL);
}

static signed char get_ter(struct wire_in *r)
{
	unsigned char byte = wire_byte(r);
	r->bad |= byte > 2;
	return (signed char)(r->bad ? UNKNOWN : byte - 1);
}

static struct str get_bin(struct wire_in *r)
{
	uint64_t n = wire_varint(r);
	if (!n || r->bad)
		return NULL_bin;
	const char *p = wire_bytes(r, n - 1 > SIZE_MAX ? SIZE_MAX : (size_t)(n - 1));
	return p ? (struct str){ .p = p, .n = (size_t)(n - 1) } : NULL_bin;
}

static struct str get_txt(struct wire_in *r)
{
	struct str s = get_bin(r);
	if (s.p && !utf8_valid(s.p, s.n)) {
		r->bad = true;
		return NULL_txt;
	}
	return s;
}

static struct wire_in list_in(struct str list)
{
	const unsigned char *p = (const unsigned char *)list.p;
	return (struct wire_in){ .at = p, .end = p ? p + list.n : p };
}

/* A list that ends within an item is damage, and so is one that is too long. */
static struct str get_list(struct wire_in *r, bool numbers)
{
	struct str list = get_bin(r);
	struct wire_in in = list_in(list);
	for (size_t n = 0; in.at != in.end && !in.bad; n++) {
		(void)get_txt(&in);
		if (numbers)
			(void)get_num(&in);
		in.bad |= n == BATCH_MAX_ITEMS;
	}
	r->bad |= in.bad;
	return list;
}

static struct str get_txts(struct wire_in *r)
{
	return get_list(r, false);
}

static struct str get_pairs(struct wire_in *r)
{
	return get_list(r, true);
}

/* What was written before a field was known ends before it: the field stays unknown. */
#define GET(type, name, unit, meaning)                                                             \
	if (r->bad || r->at == r->end)                                                             \
		return;                                                                            \
	to->name = get_##type(r);

void batch_get_sender(struct wire_in *r, struct batch_sender *to)
{
	batch_sender_clear(to);
	BATCH_SENDER_FIELDS(GET)
}

#define GET_FRAME(number, kind, KIND)                                                              \
	static void get_##kind(struct wire_in *r, struct frame_##kind *to)                         \
	{                                                                                          \
		FRAME_##KIND##_FIELDS(GET)                                                         \
	}
BATCH_FRAMES(GET_FRAME)

void batch_get_fields(struct wire_in *r, struct frame *f)
{
	switch (f->type) {
#define GET_CASE(number, kind, KIND)                                                               \
	case FRAME_##KIND:                                                                         \
		get_##kind(r, &f->as.kind);                                                        \
		return;
		BATCH_FRAMES(GET_CASE)
	case FRAME_TYPES:
		return;
	}
}

static bool next(struct str *list, struct str *ret_text, double *ret_value)
{
	struct wire_in in = list_in(*list);
	if (in.at == in.end)
		return false;
	*ret_text = get_txt(&in);
	if (ret_value)
		*ret_value = get_num(&in);
	*list = (struct str){ .p = (const char *)in.at, .n = (size_t)(in.end - in.at) };
	return !in.bad;
}

bool batch_text_next(struct str *list, struct str *ret_text)
{
	return next(list, ret_text, NULL);
}

bool batch_pair_next(struct str *list, struct str *ret_name, double *ret_value)
{
	return next(list, ret_name, ret_value);
}
