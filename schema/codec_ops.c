/* A record's operations as bytes: by column, since one column's numbers are alike.
 *
 *   ops    = version (1), 0 null or the number of operations + 1, number of columns, columns
 *   column = length in bytes (varint), then one value for each operation
 *   txt    = 0 null, 1 a new text: length and bytes, or 2 + the number of an earlier new text
 *            of these operations
 *   num    as in schema/wire.h; NUM_COMPUTED where the mean or the share is what total and
 *            count say, which it is in all records that we make
 *   nums   0 null, or 1 + how many, and each as in schema/wire.h
 *
 * The columns are the fields of OP_FIELDS in their order, so appended ones are skipped by older
 * readers and null in older bytes, as in the body. */
#include "schema/codec_ops.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#include "lib/num.h"
#include "schema/codec.h"
#include "schema/utf8.h"
#include "schema/walk.h"
#include "schema/wire.h"

#define OPS_VERSION 1

static double sum_of_totals(const struct op *ops, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		if (known(ops[i].total_s))
			sum += num15(ops[i].total_s);
	return sum;
}

/* What a column would be if it were left out; NAN where it cannot be told. */
static double computed(size_t offset, const struct op *op, double sum)
{
	if (offset == offsetof(struct op, avg_s) && op->count > 0)
		return num15(num15(op->total_s) / op->count);
	if (offset == offsetof(struct op, share) && sum > 0)
		return num15(num15(op->total_s) / sum);
	return (double)NAN;
}

/* ---- out ----------------------------------------------------------------------------------- */

/* Texts already written, by hash; open addressing, at most half full. */
struct interned {
	const char **texts;
	uint32_t *numbers;
	size_t mask;
	uint32_t n;
};

static bool interned_init(struct interned *t, size_t texts)
{
	size_t slots = 16;
	while (slots < 2 * texts)
		slots *= 2;
	*t = (struct interned){ .texts = calloc(slots, sizeof *t->texts),
				.numbers = calloc(slots, sizeof *t->numbers),
				.mask = slots - 1 };
	return t->texts && t->numbers;
}

static void interned_done(struct interned *t)
{
	free(t->texts);
	free(t->numbers);
}

static void put_text(struct wire_out *w, struct interned *t, const char *text)
{
	if (!text) {
		wire_put_byte(w, 0);
		return;
	}
	size_t n = strlen(text);
	size_t slot = (size_t)XXH3_64bits(text, n) & t->mask;
	while (t->texts[slot] && strcmp(t->texts[slot], text) != 0)
		slot = (slot + 1) & t->mask;
	if (t->texts[slot]) {
		wire_put_varint(w, 2 + (uint64_t)t->numbers[slot]);
		return;
	}
	t->texts[slot] = text;
	t->numbers[slot] = t->n++;
	wire_put_byte(w, 1);
	wire_put_varint(w, n);
	wire_put_bytes(w, text, n);
}

static void put_numbers(struct wire_out *w, const struct nums *numbers)
{
	wire_put_varint(w, numbers->items ? (uint64_t)numbers->n + 1 : 0);
	for (size_t i = 0; numbers->items && i < numbers->n; i++)
		wire_put_num(w, numbers->items[i]);
}

static void put_column(struct wire_out *w, struct interned *t, const struct field *f,
		       const struct op *ops, size_t n, double sum)
{
	for (size_t i = 0; i < n; i++) {
		if (f->type == FIELD_NUMS) {
			put_numbers(w, field_at(f, &ops[i]));
			continue;
		}
		if (f->type == FIELD_TXT) {
			put_text(w, t, txt_at(f, &ops[i]));
			continue;
		}
		double x = num_at(f, &ops[i]);
		double y = computed(f->offset, &ops[i], sum);
		if (known(x) && (x == y || num15(x) == y) && !signbit(x) == !signbit(y))
			wire_put_byte(w, NUM_COMPUTED);
		else
			wire_put_num(w, x);
	}
	wire_flush(w);
}

static void put_columns(struct wire_out *w, struct interned *t, const struct op *ops, size_t n)
{
	struct buf column = { 0 };
	struct wire_out to_column = { .b = &column };
	double sum = sum_of_totals(ops, n);
	for (size_t c = 0; c < op_block.count; c++) {
		column.len = 0;
		put_column(&to_column, t, &op_block.fields[c], ops, n, sum);
		if (column.failed)
			w->b->failed = true;
		wire_put_varint(w, column.len);
		wire_put_bytes(w, column.len ? column.data : "", column.len);
	}
	buf_done(&column);
}

void record_put_ops(struct buf *b, const struct record *rec)
{
	struct wire_out w = { .b = b };
	const struct op *ops = rec->body.ops.items;
	size_t n = rec->body.ops.n;
	struct interned texts = { 0 };

	wire_put_byte(&w, OPS_VERSION);
	wire_put_varint(&w, ops ? (uint64_t)n + 1 : 0);
	if (ops) {
		wire_put_varint(&w, op_block.count);
		if (n < UINT32_MAX / 4 && interned_init(&texts, 2 * n))
			put_columns(&w, &texts, ops, n);
		else
			b->failed = true;
		interned_done(&texts);
	}
	wire_flush(&w);
}

/* ---- in ------------------------------------------------------------------------------------ */

struct reader {
	struct wire_in in;
	struct arena *arena;
	const char **texts;
	size_t n_texts, room;
	bool no_memory;
};

static const char *new_text(struct reader *r)
{
	size_t n = wire_count(&r->in);
	const char *bytes = wire_bytes(&r->in, n);
	if (!bytes || !utf8_valid(bytes, n)) {
		r->in.bad = true;
		return NULL;
	}
	char *text = arena_strndup(r->arena, bytes, n);
	const char **texts =
		arena_grow(r->arena, r->texts, &r->room, r->n_texts + 1, sizeof *texts);
	if (!text || !texts) {
		r->no_memory = r->in.bad = true;
		return NULL;
	}
	r->texts = texts;
	r->texts[r->n_texts++] = text;
	return text;
}

static const char *get_text(struct reader *r)
{
	uint64_t tag = wire_varint(&r->in);
	if (tag == 0)
		return NULL;
	if (tag == 1)
		return new_text(r);
	if (tag - 2 >= r->n_texts) {
		r->in.bad = true;
		return NULL;
	}
	return r->texts[tag - 2];
}

static struct nums get_numbers(struct reader *r)
{
	struct nums ret = { 0 };
	uint64_t n = wire_varint(&r->in);
	if (!n || r->in.bad)
		return ret;
	if (n - 1 > (size_t)(r->in.end - r->in.at)) { /* each has a byte at least */
		r->in.bad = true;
		return ret;
	}
	ret.items = arena_array(r->arena, (size_t)n, sizeof *ret.items);
	if (!ret.items) {
		r->no_memory = r->in.bad = true;
		return ret;
	}
	for (; ret.n < n - 1 && !r->in.bad; ret.n++)
		ret.items[ret.n] = wire_num(&r->in, NULL);
	return ret;
}

/* A number to be computed is marked, since the totals come in a later column than the mean. */
#define TO_COMPUTE ((double)-INFINITY)

static void get_column(struct reader *r, const struct field *f, struct op *ops, size_t n)
{
	for (size_t i = 0; i < n && !r->in.bad; i++) {
		void *to = field_in(f, &ops[i]);
		if (f->type == FIELD_TXT) {
			*(const char **)to = get_text(r);
			continue;
		}
		if (f->type == FIELD_NUMS) {
			*(struct nums *)to = get_numbers(r);
			continue;
		}
		bool later;
		double x = wire_num(&r->in, &later);
		*(double *)to = later ? TO_COMPUTE : x;
	}
}

static void compute(struct reader *r, struct op *ops, size_t n)
{
	double sum = sum_of_totals(ops, n);
	for (size_t c = 0; c < op_block.count; c++) {
		const struct field *f = &op_block.fields[c];
		if (f->type != FIELD_NUM)
			continue;
		for (size_t i = 0; i < n; i++) {
			double *x = field_in(f, &ops[i]);
			if (*x != TO_COMPUTE)
				continue;
			*x = computed(f->offset, &ops[i], sum);
			if (!known(*x))
				r->in.bad = true; /* only what can be computed is left out */
		}
	}
}

static void get_columns(struct reader *r, struct op *ops, size_t n)
{
	size_t columns = wire_count(&r->in);
	for (size_t c = 0; c < columns && !r->in.bad; c++) {
		size_t length = wire_count(&r->in);
		const unsigned char *begin = (const unsigned char *)wire_bytes(&r->in, length);
		if (!begin || c >= op_block.count)
			continue; /* of a newer program */
		struct wire_in outer = r->in;
		r->in = (struct wire_in){ .at = begin, .end = begin + length };
		get_column(r, &op_block.fields[c], ops, n);
		outer.bad = r->in.bad || r->in.at != r->in.end;
		r->in = outer;
	}
}

int ops_get(struct record *rec, const void *bytes, size_t n_bytes, struct err *err)
{
	struct reader r = { .arena = &rec->arena,
			    .in = { .at = bytes, .end = (const unsigned char *)bytes + n_bytes } };
	unsigned char version = wire_byte(&r.in);
	if (!r.in.bad && version != OPS_VERSION)
		return err_set(err, -EBADMSG,
			       "the operations' bytes are of version %u, this program knows %u",
			       version, OPS_VERSION);
	uint64_t n = wire_varint(&r.in);
	if (n && !r.in.bad) {
		/* Each operation has at least its name's byte. */
		if (n - 1 > n_bytes)
			return err_set(err, -EBADMSG, "the operations' bytes are damaged");
		struct op *ops = arena_array(&rec->arena, n > 1 ? (size_t)(n - 1) : 1, sizeof *ops);
		if (!ops)
			return err_set(err, -ENOMEM, "out of memory, or too many operations");
		for (size_t i = 0; i < n - 1; i++)
			block_clear(&op_block, &ops[i]);
		get_columns(&r, ops, (size_t)(n - 1));
		if (!r.in.bad)
			compute(&r, ops, (size_t)(n - 1));
		rec->body.ops.items = ops;
		rec->body.ops.n = (size_t)(n - 1);
	}
	if (r.no_memory)
		return err_set(err, -ENOMEM, "out of memory, or too many operations");
	if (r.in.bad || r.in.at != r.in.end)
		return err_set(err, -EBADMSG, "the operations' bytes are damaged");
	return 0;
}
