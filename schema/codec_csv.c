/* Records as rows of a CSV file (RFC 4180). A column's name is the path of its field
 * ("roi.wall_s"). Lists of numbers are joined by ";", lists of texts are JSON, caveats are their
 * codes joined by ";", and of any other list of blocks the number of items is given. */
#include "schema/codec.h"

#include <stdio.h>

#include "lib/num.h"
#include "schema/walk.h"

/* ---- order: new columns only at the end
 * ------------------------------------------------------------
 *
 * A field that is appended to a block in the middle of the record would move every column after
 * it. So the columns go by release: first the fields that the first release had, then those that
 * the second one added, and so on. A block that is not listed was new as a whole. */
#define RELEASES 1

static const struct {
	const char *block;
	size_t fields[RELEASES];
} released[] = {
	{ "record_body", { 32 } },
	{ "measurement", { 20 } },
	{ "inputs", { 9 } },
	{ "roi", { 34 } },
	{ "device", { 38 } },
	{ "runtime_api", { 7 } },
	{ "io", { 5 } },
	{ "gap", { 5 } },
	{ "context", { 21 } },
	{ "whole_process", { 26 } },
	{ "fom", { 7 } },
	{ "own_timer", { 5 } },
	{ "launcher", { 4 } },
	{ "placement", { 7 } },
	{ "platform_info", { 22 } },
	{ "provenance", { 9 } },
	{ "observer", { 7 } },
};

/* The release that brought the field; RELEASES for what no release has yet. */
static int release_of(const struct block *block, size_t field)
{
	for (size_t i = 0; i < sizeof released / sizeof released[0]; i++)
		for (int r = 0; r < RELEASES && !strcmp(released[i].block, block->name); r++)
			if (field < released[i].fields[r])
				return r;
	return RELEASES;
}

/* ---- cells --------------------------------------------------------------------------------- */

static void put_cell(struct buf *b, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		buf_puts(b, text);
		return;
	}
	buf_puts(b, "\"");
	for (const char *p = text; *p; p++) {
		buf_put(b, p, 1);
		if (*p == '"')
			buf_puts(b, "\"");
	}
	buf_puts(b, "\"");
}

static void put_num(struct buf *b, double x)
{
	if (known(x))
		buf_printf(b, "%.15g", x);
}

static void put_txts(struct buf *b, const struct txts *v)
{
	json_t *array = json_array();
	struct buf text = { 0 };
	for (size_t i = 0; array && i < v->n; i++)
		(void)json_array_append_new(array, json_string(v->items[i]));
	if (!array || json_array_size(array) != v->n || json_text(&text, array))
		b->failed = true;
	else
		put_cell(b, text.data);
	json_decref(array);
	buf_done(&text);
}

static void put_list(struct buf *b, const struct block *block, struct list l)
{
	if (block != &caveat_block) {
		buf_printf(b, "%zu", l.n);
		return;
	}
	struct buf codes = { 0 };
	const struct caveat *c = l.items;
	for (size_t i = 0; i < l.n; i++)
		buf_printf(&codes, "%s%s", i ? ";" : "", c[i].code ? c[i].code : "");
	if (codes.failed)
		b->failed = true;
	put_cell(b, codes.data ? codes.data : "");
	buf_done(&codes);
}

static void put_value(struct buf *b, const struct field *f, const void *block)
{
	const void *at = field_at(f, block);
	const struct nums *nums = at;
	if (field_is_null(f, block))
		return;
	switch (f->type) {
	case FIELD_NUM:
		put_num(b, num_at(f, block));
		return;
	case FIELD_TXT:
		put_cell(b, txt_at(f, block));
		return;
	case FIELD_TER:
		buf_puts(b, ter_at(f, block) == YES ? "true" : "false");
		return;
	case FIELD_NUMS:
		for (size_t i = 0; i < nums->n; i++) {
			buf_puts(b, i ? ";" : "");
			put_num(b, nums->items[i]);
		}
		return;
	case FIELD_TXTS:
		put_txts(b, at);
		return;
	case FIELD_LIST:
		put_list(b, f->block, list_get(at));
		return;
	case FIELD_BLOCK:
		return;
	}
}

/* ---- rows ---------------------------------------------------------------------------------- */

struct row {
	struct buf *b;
	bool head, begun;
	int release;
};

/* newest is the release of the block that we are in. at is NULL for the head. */
static void put_fields(struct row *row, const struct block *block, const void *at, const char *path,
		       int newest)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		int release = release_of(block, i);
		char label[FIELD_LABEL_BYTES], name[4 * FIELD_LABEL_BYTES];
		release = release > newest ? release : newest;
		(void)snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "",
			       field_label(f, label));
		if (f->type == FIELD_BLOCK) {
			put_fields(row, f->block, at ? field_at(f, at) : NULL, name, release);
			continue;
		}
		if (release != row->release)
			continue;
		buf_puts(row->b, row->begun ? "," : "");
		row->begun = true;
		if (row->head)
			put_cell(row->b, name);
		else
			put_value(row->b, f, at);
	}
}

static void put_row(struct row *row, const void *body)
{
	for (row->release = 0; row->release <= RELEASES; row->release++)
		put_fields(row, &record_block, body, "", 0);
	buf_puts(row->b, "\r\n");
}

void record_csv_head(struct buf *b)
{
	put_row(&(struct row){ .b = b, .head = true }, NULL);
}

void record_csv_row(struct buf *b, const struct record *rec)
{
	put_row(&(struct row){ .b = b }, &rec->body);
}
