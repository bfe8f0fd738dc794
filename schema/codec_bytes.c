/* The record without its operations as bytes.
 *
 *   body   = version (1) block
 *   block  = number of fields, up to the last that is not null; if any: length of what follows
 *            in bytes (4, least significant first), then the fields in the order of the table
 *   num    as in schema/wire.h · ter = 0 null, 1 no, 2 yes
 *   txt    = 0 null, or its length + 1 and its bytes · nums, txts, list = 0 null, or the number
 *            of items + 1 and the items
 *
 * The length lets a reader of an older table step over fields it does not know; cutting at the
 * last that is not null means that a field appended to a table changes no byte of old records. */
#include "schema/codec.h"

#include <errno.h>
#include <math.h>

#include "lib/num.h"
#include "schema/codec_ops.h"
#include "schema/utf8.h"
#include "schema/walk.h"
#include "schema/wire.h"

#define BODY_VERSION 1
#define LENGTH_BYTES 4

/* ---- out ----------------------------------------------------------------------------------- */

static void put_block(struct wire_out *w, const struct block *block, const void *at);

static void put_txt(struct wire_out *w, const char *text)
{
	if (!text) {
		wire_put_byte(w, 0);
		return;
	}
	size_t n = strlen(text);
	wire_put_varint(w, (uint64_t)n + 1);
	wire_put_bytes(w, text, n);
}

static void put_field(struct wire_out *w, const struct field *f, const void *block)
{
	const void *at = field_at(f, block);
	const struct nums *nums = at;
	const struct txts *txts = at;
	struct list l;
	switch (f->type) {
	case FIELD_NUM:
		wire_put_num(w, num_at(f, block));
		return;
	case FIELD_TXT:
		put_txt(w, txt_at(f, block));
		return;
	case FIELD_TER:
		wire_put_byte(w, (unsigned char)(ter_at(f, block) + 1));
		return;
	case FIELD_NUMS:
		wire_put_varint(w, nums->items ? (uint64_t)nums->n + 1 : 0);
		for (size_t i = 0; nums->items && i < nums->n; i++)
			wire_put_num(w, nums->items[i]);
		return;
	case FIELD_TXTS:
		wire_put_varint(w, txts->items ? (uint64_t)txts->n + 1 : 0);
		for (size_t i = 0; txts->items && i < txts->n; i++)
			put_txt(w, txts->items[i]);
		return;
	case FIELD_BLOCK:
		put_block(w, f->block, at);
		return;
	case FIELD_LIST:
		if (f->block == &op_block) { /* in a column of its own */
			wire_put_byte(w, 0);
			return;
		}
		l = list_get(at);
		wire_put_varint(w, l.items ? (uint64_t)l.n + 1 : 0);
		for (size_t i = 0; l.items && i < l.n; i++)
			put_block(w, f->block, list_item(l, f->block, i));
		return;
	}
}

static void put_block(struct wire_out *w, const struct block *block, const void *at)
{
	size_t n = block->count;
	while (n && field_is_null(&block->fields[n - 1], at))
		n--;
	wire_put_varint(w, n);
	if (!n)
		return;
	static const char no_length[LENGTH_BYTES];
	wire_flush(w);
	size_t length_at = w->b->len;
	buf_put(w->b, no_length, sizeof no_length);
	for (size_t i = 0; i < n; i++)
		put_field(w, &block->fields[i], at);
	wire_flush(w);
	size_t length = w->b->len - length_at - LENGTH_BYTES;
	if (length > UINT32_MAX)
		w->b->failed = true;
	if (w->b->failed)
		return;
	for (int i = 0; i < LENGTH_BYTES; i++)
		w->b->data[length_at + (size_t)i] = (char)(unsigned char)(length >> 8 * i);
}

void record_put(struct buf *b, const struct record *rec)
{
	struct wire_out w = { .b = b };
	wire_put_byte(&w, BODY_VERSION);
	put_block(&w, &record_block, &rec->body);
	wire_flush(&w);
}

void block_put(struct buf *b, const struct block *block, const void *at)
{
	struct wire_out w = { .b = b };
	put_block(&w, block, at);
	wire_flush(&w);
}

/* ---- in ------------------------------------------------------------------------------------ */

struct reader {
	struct wire_in in;
	struct arena *arena;
	bool no_memory;
};

static void get_block(struct reader *r, const struct block *block, void *at);

static void *items(struct reader *r, size_t n, size_t item_bytes)
{
	void *p = r->in.bad ? NULL : arena_array(r->arena, n ? n : 1, item_bytes);
	if (!p) {
		r->no_memory |= !r->in.bad;
		r->in.bad = true;
	}
	return p;
}

static const char *get_txt(struct reader *r)
{
	uint64_t n = wire_varint(&r->in);
	if (!n)
		return NULL;
	const char *bytes = wire_bytes(&r->in, n - 1 > SIZE_MAX ? SIZE_MAX : (size_t)(n - 1));
	if (!bytes || !utf8_valid(bytes, (size_t)(n - 1))) {
		r->in.bad = true;
		return NULL;
	}
	char *text = items(r, (size_t)n, 1);
	if (text)
		memcpy(text, bytes, (size_t)(n - 1));
	return text;
}

/* The number of items, and whether there is a list at all. Each item has a byte at least: a
 * count that the bytes cannot hold is bad before memory is asked for. */
static bool get_count(struct reader *r, size_t *ret_n)
{
	uint64_t n = wire_varint(&r->in);
	if (n && n - 1 > (size_t)(r->in.end - r->in.at))
		r->in.bad = true;
	if (!n || r->in.bad)
		return false;
	*ret_n = (size_t)(n - 1);
	return true;
}

static void get_nums(struct reader *r, struct nums *to)
{
	size_t n;
	if (!get_count(r, &n))
		return;
	double *p = items(r, n, sizeof *p);
	for (size_t i = 0; p && i < n; i++)
		p[i] = wire_num(&r->in, NULL);
	*to = (struct nums){ .items = p, .n = p ? n : 0 };
}

static void get_txts(struct reader *r, struct txts *to)
{
	size_t n;
	if (!get_count(r, &n))
		return;
	const char **p = items(r, n, sizeof *p);
	for (size_t i = 0; p && i < n; i++)
		p[i] = get_txt(r);
	*to = (struct txts){ .items = p, .n = p ? n : 0 };
}

static void get_list(struct reader *r, const struct block *block, void *to)
{
	size_t n;
	if (!get_count(r, &n))
		return;
	struct list l = { .items = items(r, n, block->size), .n = n };
	if (!l.items)
		return;
	for (size_t i = 0; i < n; i++)
		block_clear(block, list_item(l, block, i));
	for (size_t i = 0; i < n && !r->in.bad; i++)
		get_block(r, block, list_item(l, block, i));
	list_set(to, l);
}

static void get_field(struct reader *r, const struct field *f, void *block)
{
	void *to = field_in(f, block);
	unsigned char byte;
	switch (f->type) {
	case FIELD_NUM:
		*(double *)to = wire_num(&r->in, NULL);
		return;
	case FIELD_TXT:
		*(const char **)to = get_txt(r);
		return;
	case FIELD_TER:
		byte = wire_byte(&r->in);
		if (byte > 2)
			r->in.bad = true;
		else
			*(signed char *)to = (signed char)(byte - 1);
		return;
	case FIELD_NUMS:
		get_nums(r, to);
		return;
	case FIELD_TXTS:
		get_txts(r, to);
		return;
	case FIELD_BLOCK:
		get_block(r, f->block, to);
		return;
	case FIELD_LIST:
		get_list(r, f->block, to);
		return;
	}
}

/* The block is clear already, so fields that are not there are null. */
static void get_block(struct reader *r, const struct block *block, void *at)
{
	uint64_t n = wire_varint(&r->in);
	if (!n || r->in.bad)
		return;
	size_t length = 0;
	for (int i = 0; i < LENGTH_BYTES; i++)
		length |= (size_t)wire_byte(&r->in) << 8 * i;
	const unsigned char *begin = (const unsigned char *)wire_bytes(&r->in, length);
	if (!begin)
		return;
	struct wire_in outer = r->in;
	r->in = (struct wire_in){ .at = begin, .end = begin + length };
	for (size_t i = 0; i < n && i < block->count && !r->in.bad; i++)
		get_field(r, &block->fields[i], at);
	/* Bytes are left over only where a newer program wrote fields that we do not know. */
	if (n <= block->count && r->in.at != r->in.end)
		r->in.bad = true;
	outer.bad = r->in.bad;
	r->in = outer;
}

int record_get(struct record *rec, const void *body, size_t n, const void *ops, size_t ops_n,
	       struct err *err)
{
	record_init(rec);
	struct reader r = { .arena = &rec->arena,
			    .in = { .at = body, .end = (const unsigned char *)body + n } };
	unsigned char version = wire_byte(&r.in);
	if (!r.in.bad && version != BODY_VERSION)
		return err_set(err, -EBADMSG,
			       "the record's bytes are of version %u, this program knows %u",
			       version, BODY_VERSION);
	rec->body.schema = NULL;
	get_block(&r, &record_block, &rec->body);
	if (r.no_memory)
		return err_set(err, -ENOMEM, "out of memory, or the record is too large");
	if (r.in.bad || r.in.at != r.in.end)
		return err_set(err, -EBADMSG, "the record's bytes are damaged");
	return ops ? ops_get(rec, ops, ops_n, err) : 0;
}

int block_get(struct arena *arena, const struct block *block, void *at, const void *bytes, size_t n,
	      struct err *err)
{
	struct reader r = { .arena = arena,
			    .in = { .at = bytes, .end = (const unsigned char *)bytes + n } };
	block_clear(block, at);
	get_block(&r, block, at);
	if (r.no_memory)
		return err_set(err, -ENOMEM, "out of memory, or the %s is too large", block->name);
	if (r.in.bad || r.in.at != r.in.end)
		return err_set(err, -EBADMSG, "the bytes of the %s are damaged", block->name);
	return 0;
}

int block_peek(struct arena *arena, const struct block *block, size_t fields, void *at,
	       const void *bytes, size_t n, struct err *err)
{
	struct reader r = { .arena = arena,
			    .in = { .at = bytes, .end = (const unsigned char *)bytes + n } };
	block_clear(block, at);
	uint64_t count = wire_varint(&r.in);
	if (count)
		(void)wire_bytes(&r.in, LENGTH_BYTES);
	for (size_t i = 0; i < count && i < fields && i < block->count && !r.in.bad; i++)
		get_field(&r, &block->fields[i], at);
	if (r.no_memory)
		return err_set(err, -ENOMEM, "out of memory");
	return r.in.bad ? err_set(err, -EBADMSG, "the bytes of the %s are damaged", block->name)
			: 0;
}

static int clean_text(struct arena *arena, const char **text)
{
	size_t n = *text ? strlen(*text) : 0;
	if (!*text || utf8_valid(*text, n))
		return 0;
	char *copy = arena_alloc(arena, utf8_clean(NULL, *text, n) + 1);
	if (!copy)
		return -ENOMEM;
	(void)utf8_clean(copy, *text, n);
	*text = copy;
	return 0;
}

int block_clean(struct arena *arena, const struct block *block, void *at)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < block->count; i++) {
		const struct field *f = &block->fields[i];
		if (f->type == FIELD_NUM)
			*(double *)field_in(f, at) = num15(num_at(f, at));
		else if (f->type == FIELD_TXT)
			rc = clean_text(arena, field_in(f, at));
		else if (f->type == FIELD_BLOCK)
			rc = block_clean(arena, f->block, field_in(f, at));
	}
	return rc;
}
