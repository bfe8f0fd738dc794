/* The record as JSON, both ways, and JSON as text. */
#include "schema/codec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/num.h"
#include "schema/utf8.h"
#include "schema/walk.h"

#define MAX_BYTES ((size_t)256 << 20)
#define MAX_DEPTH 64

/* ---- out ----------------------------------------------------------------------------------- */

static json_t *block_json(const struct block *block, const void *at);

static json_t *num_json(double x)
{
	if (!isfinite(x)) /* JSON has no infinity; record_check refuses it */
		return json_null();
	/* Whole numbers without a point; -0.0 keeps its sign as a real. */
	if (x == floor(x) && fabs(x) < 9007199254740992.0 && !(x == 0 && signbit(x)))
		return json_integer((json_int_t)x);
	return json_real(x);
}

static json_t *txt_json(const char *text)
{
	if (!text)
		return json_null();
	json_t *json = json_string(text);
	if (json)
		return json;
	/* Not UTF-8: record_check refuses it, and what is only shown is shown as well as can be. */
	size_t n = strlen(text);
	char *clean = malloc(utf8_clean(NULL, text, n) + 1);
	if (!clean)
		return NULL;
	(void)utf8_clean(clean, text, n);
	json = json_string(clean);
	free(clean);
	return json;
}

static json_t *nums_json(const struct nums *v)
{
	json_t *array = json_array();
	for (size_t i = 0; array && i < v->n; i++)
		if (json_array_append_new(array, num_json(v->items[i])))
			goto fail;
	return array;
fail:
	json_decref(array);
	return NULL;
}

static json_t *txts_json(const struct txts *v)
{
	json_t *array = json_array();
	for (size_t i = 0; array && i < v->n; i++)
		if (json_array_append_new(array, txt_json(v->items[i])))
			goto fail;
	return array;
fail:
	json_decref(array);
	return NULL;
}

static json_t *list_json(const struct block *block, struct list l)
{
	json_t *array = json_array();
	for (size_t i = 0; array && i < l.n; i++)
		if (json_array_append_new(array, block_json(block, list_item(l, block, i))))
			goto fail;
	return array;
fail:
	json_decref(array);
	return NULL;
}

static json_t *field_json(const struct field *f, const void *block)
{
	const void *at = field_at(f, block);
	if (field_is_null(f, block))
		return json_null();
	switch (f->type) {
	case FIELD_NUM:
		return num_json(num_at(f, block));
	case FIELD_TXT:
		return txt_json(txt_at(f, block));
	case FIELD_TER:
		return json_boolean(ter_at(f, block) == YES);
	case FIELD_NUMS:
		return nums_json(at);
	case FIELD_TXTS:
		return txts_json(at);
	case FIELD_BLOCK:
		return block_json(f->block, at);
	case FIELD_LIST:
		return list_json(f->block, list_get(at));
	}
	return NULL;
}

static json_t *block_json(const struct block *block, const void *at)
{
	json_t *object = json_object();
	for (size_t i = 0; object && i < block->count; i++) {
		char label[FIELD_LABEL_BYTES];
		const struct field *f = &block->fields[i];
		if (json_object_set_new(object, field_label(f, label), field_json(f, at))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

json_t *block_to_json(const struct block *block, const void *at)
{
	return block_json(block, at);
}

json_t *record_to_json(const struct record *rec)
{
	return block_json(&record_block, &rec->body);
}

/* ---- in ------------------------------------------------------------------------------------ */

/* Where in the tree we are; written out only when something is wrong. */
struct place {
	const struct place *up;
	const char *name; /* NULL: an item of the list above */
	size_t index;
};

struct reader {
	struct arena *arena;
	const char *schema;
	struct err *err;
};

static void place_text(struct buf *b, const struct place *p)
{
	if (p->up)
		place_text(b, p->up);
	if (p->name)
		buf_printf(b, "%s%s", b->len ? "." : "", p->name);
	else if (p->up)
		buf_printf(b, "[%zu]", p->index);
}

static int wrong(struct reader *r, const struct place *p, const char *what)
{
	struct buf b = { .max = 512 };
	place_text(&b, p);
	int rc = err_set(r->err, -EINVAL, "%s%s%s", b.len ? b.data : "", b.len ? ": " : "", what);
	buf_done(&b);
	return rc;
}

static int unknown_key(struct reader *r, const struct place *p)
{
	char text[128];
	(void)snprintf(text, sizeof text, "this key is not known in %s", r->schema);
	return wrong(r, p, text);
}

static int out_of_memory(struct reader *r)
{
	return err_set(r->err, -ENOMEM, "out of memory, or the record is too large");
}

static int read_block(struct reader *r, const struct block *block, void *at, const json_t *json,
		      const struct place *p);

static int read_num(struct reader *r, double *to, const json_t *json, const struct place *p)
{
	if (!json_is_number(json))
		return wrong(r, p, "expected a number or null");
	*to = num15(json_number_value(json));
	return 0;
}

/* A string with a NUL in it would be cut short; jansson refuses it in text, programs may not. */
static int read_txt(struct reader *r, const char **to, const json_t *json, const struct place *p)
{
	if (!json_is_string(json))
		return wrong(r, p, "expected a text");
	size_t n = json_string_length(json);
	if (memchr(json_string_value(json), 0, n))
		return wrong(r, p, "a text with a zero byte in it");
	*to = arena_strndup(r->arena, json_string_value(json), n);
	return *to ? 0 : out_of_memory(r);
}

static int read_nums(struct reader *r, struct nums *to, const json_t *json, const struct place *p)
{
	size_t n = json_array_size(json);
	to->items = arena_array(r->arena, n ? n : 1, sizeof *to->items);
	if (!to->items)
		return out_of_memory(r);
	for (size_t i = 0; i < n; i++) {
		const struct place item = { .up = p, .index = i };
		const json_t *j = json_array_get(json, i);
		to->items[i] = (double)NAN;
		int rc = json_is_null(j) ? 0 : read_num(r, &to->items[i], j, &item);
		if (rc)
			return rc;
	}
	to->n = n;
	return 0;
}

static int read_txts(struct reader *r, struct txts *to, const json_t *json, const struct place *p)
{
	size_t n = json_array_size(json);
	to->items = arena_array(r->arena, n ? n : 1, sizeof *to->items);
	if (!to->items)
		return out_of_memory(r);
	for (size_t i = 0; i < n; i++) {
		const struct place item = { .up = p, .index = i };
		int rc = read_txt(r, &to->items[i], json_array_get(json, i), &item);
		if (rc)
			return rc;
	}
	to->n = n;
	return 0;
}

static int read_list(struct reader *r, const struct block *block, void *to, const json_t *json,
		     const struct place *p)
{
	size_t n = json_array_size(json);
	struct list l = { .items = arena_array(r->arena, n ? n : 1, block->size) };
	if (!l.items)
		return out_of_memory(r);
	for (size_t i = 0; i < n; i++) {
		const struct place item = { .up = p, .index = i };
		void *at = list_item(l, block, i);
		block_clear(block, at);
		int rc = read_block(r, block, at, json_array_get(json, i), &item);
		if (rc)
			return rc;
	}
	l.n = n;
	list_set(to, l);
	return 0;
}

static int read_field(struct reader *r, const struct field *f, void *block, const json_t *json,
		      const struct place *p)
{
	void *to = field_in(f, block);
	if (json_is_null(json))
		return 0; /* cleared before */
	switch (f->type) {
	case FIELD_NUM:
		return read_num(r, to, json, p);
	case FIELD_TXT:
		return read_txt(r, to, json, p);
	case FIELD_TER:
		if (!json_is_boolean(json))
			return wrong(r, p, "expected true, false or null");
		*(signed char *)to = json_is_true(json) ? YES : NO;
		return 0;
	case FIELD_BLOCK:
		return read_block(r, f->block, to, json, p);
	case FIELD_NUMS:
	case FIELD_TXTS:
	case FIELD_LIST:
		break;
	}
	if (!json_is_array(json))
		return wrong(r, p, "expected a list or null");
	if (f->type == FIELD_NUMS)
		return read_nums(r, to, json, p);
	if (f->type == FIELD_TXTS)
		return read_txts(r, to, json, p);
	return read_list(r, f->block, to, json, p);
}

static const struct field *find_field(const struct block *block, const char *key, size_t guess)
{
	char label[FIELD_LABEL_BYTES];
	/* Our own records come in the order of the table. */
	if (guess < block->count && !strcmp(field_label(&block->fields[guess], label), key))
		return &block->fields[guess];
	for (size_t i = 0; i < block->count; i++)
		if (!strcmp(field_label(&block->fields[i], label), key))
			return &block->fields[i];
	return NULL;
}

static int read_block(struct reader *r, const struct block *block, void *at, const json_t *json,
		      const struct place *p)
{
	if (!json_is_object(json))
		return wrong(r, p, "expected an object");
	size_t guess = 0;
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)json, key, value)
	{
		const struct place below = { .up = p, .name = key };
		const struct field *f = find_field(block, key, guess);
		if (!f)
			return unknown_key(r, &below);
		int rc = read_field(r, f, at, value, &below);
		if (rc)
			return rc;
		guess = (size_t)(f - block->fields) + 1;
	}
	return 0;
}

int record_from_json(struct record *rec, const json_t *json, struct err *err)
{
	struct reader r = { .arena = &rec->arena, .schema = RECORD_SCHEMA, .err = err };
	const struct place top = { 0 };
	record_init(rec);
	if (!json_is_object(json))
		return wrong(&r, &top, "a record is a JSON object");
	/* First, so that another version is not blamed for an unknown key. */
	const json_t *schema = json_object_get(json, "schema");
	if (!json_is_string(schema))
		return err_set(err, -EINVAL, "schema: expected \"%s\"", RECORD_SCHEMA);
	if (strcmp(json_string_value(schema), RECORD_SCHEMA))
		return err_set(err, -EINVAL, "schema: \"%.64s\" is not known, only \"%s\"",
			       json_string_value(schema), RECORD_SCHEMA);
	return read_block(&r, &record_block, &rec->body, json, &top);
}

int block_from_json(const struct block *block, void *at, struct arena *arena, const json_t *json,
		    const char *schema, struct err *err)
{
	struct reader r = { .arena = arena, .schema = schema, .err = err };
	const struct place top = { 0 };
	return read_block(&r, block, at, json, &top);
}

/* ---- text ---------------------------------------------------------------------------------- */

static int put_text(const char *bytes, size_t n, void *arg)
{
	struct buf *b = arg;
	buf_put(b, bytes, n);
	return b->failed ? -1 : 0;
}

int json_text(struct buf *b, const json_t *json)
{
	if (!json || json_dump_callback(json, put_text, b,
					JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)))
		return -ENOMEM;
	return b->failed ? -ENOMEM : 0;
}

/* Deeper than this nothing of ours is, and whoever walks the tree recurses. jansson's own limit
 * of 2048 bounds this walk itself. */
static bool too_deep(const json_t *json, int left)
{
	if (left == 0)
		return true;
	size_t i;
	const char *key;
	json_t *value, *array = (json_t *)(uintptr_t)json;
	if (json_is_array(json))
		json_array_foreach(array, i,
				   value) if ((json_is_array(value) || json_is_object(value)) &&
					      too_deep(value, left - 1)) return true;
	if (json_is_object(json))
		json_object_foreach(array, key,
				    value) if ((json_is_array(value) || json_is_object(value)) &&
					       too_deep(value, left - 1)) return true;
	return false;
}

int json_parse(json_t **ret, const void *bytes, size_t n, const char *name, struct err *err)
{
	if (n > MAX_BYTES)
		return err_set(err, -EFBIG, "%s: %zu bytes of JSON, the limit is %zu", name, n,
			       MAX_BYTES);
	json_error_t e;
	json_t *json = json_loadb(n ? bytes : "", n, JSON_REJECT_DUPLICATES, &e);
	if (!json && json_error_code(&e) == json_error_out_of_memory)
		return err_set(err, -ENOMEM, "%s: out of memory", name);
	if (!json)
		return err_set(err, -EINVAL, "%s:%d:%d: %s", name, e.line,
			       e.column > 0 ? e.column : 1, e.text);
	if (too_deep(json, MAX_DEPTH)) {
		json_decref(json);
		return err_set(err, -EINVAL, "%s:1:1: nested deeper than %d levels", name,
			       MAX_DEPTH);
	}
	*ret = json;
	return 0;
}
