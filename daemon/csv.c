/* Each cell is followed by a comma; the end of the line takes the place of the last one. */
#include "daemon/csv.h"

#include <stdio.h>
#include <string.h>

#include "lib/num.h"

static void put_quoted(struct buf *b, const char *text)
{
	buf_puts(b, "\"");
	for (; *text; text++)
		buf_put(b, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	buf_puts(b, "\"");
}

void csv_text(struct buf *b, const char *text)
{
	if (text && strpbrk(text, "\",\r\n"))
		put_quoted(b, text);
	else if (text)
		buf_puts(b, text);
	buf_puts(b, ",");
}

void csv_number(struct buf *b, double x)
{
	if (known(x))
		buf_printf(b, "%.15g", x);
	buf_puts(b, ",");
}

void csv_end(struct buf *b)
{
	if (!b->failed && b->len)
		b->len--;
	buf_puts(b, "\r\n");
}

void csv_head(struct buf *b, const struct block *block)
{
	char text[FIELD_LABEL_BYTES];
	for (size_t i = 0; i < block->count; i++)
		csv_text(b, field_label(&block->fields[i], text));
	csv_end(b);
}

static void flat_head(struct buf *b, const struct block *block, const char *path)
{
	char label[FIELD_LABEL_BYTES], whole[128];
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		(void)snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "." : "",
			       field_label(f, label));
		if (f->type == FIELD_BLOCK)
			flat_head(b, f->block, whole);
		else
			csv_text(b, whole);
	}
}

void csv_flat_head(struct buf *b, const struct block *block)
{
	flat_head(b, block, "");
	csv_end(b);
}

static void csv_numbers(struct buf *b, const struct nums *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (known(v->items[i]))
			buf_printf(b, "%.15g", v->items[i]);
		if (i + 1 < v->n)
			buf_puts(b, ";");
	}
	buf_puts(b, ",");
}

static void csv_texts(struct buf *b, const struct txts *v)
{
	struct buf all = { .max = 1 << 20 };
	for (size_t i = 0; i < v->n; i++)
		buf_printf(&all, "%s%s", i ? ";" : "", v->items[i]);
	csv_text(b, all.len ? all.data : NULL);
	b->failed = b->failed || all.failed;
	buf_done(&all);
}

static void flat_row(struct buf *b, const struct block *block, const void *item)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		const void *at = (const char *)item + f->offset;
		signed char yes = f->type == FIELD_TER ? *(const signed char *)at : UNKNOWN;
		switch (f->type) {
		case FIELD_NUM:
			csv_number(b, *(const double *)at);
			break;
		case FIELD_TXT:
			csv_text(b, *(const char *const *)at);
			break;
		case FIELD_TER:
			csv_text(b, yes == YES ? "true" : yes == NO ? "false" : NULL);
			break;
		case FIELD_NUMS:
			csv_numbers(b, at);
			break;
		case FIELD_TXTS:
			csv_texts(b, at);
			break;
		case FIELD_BLOCK:
			flat_row(b, f->block, at);
			break;
		case FIELD_LIST:
			csv_text(b, NULL);
			break;
		}
	}
}

void csv_flat_row(struct buf *b, const struct block *block, const void *item)
{
	flat_row(b, block, item);
	csv_end(b);
}

void csv_row(struct buf *b, const struct block *block, const void *item)
{
	for (size_t i = 0; i < block->count; i++) {
		const void *at = (const char *)item + block->fields[i].offset;
		if (block->fields[i].type == FIELD_NUM)
			csv_number(b, *(const double *)at);
		else if (block->fields[i].type == FIELD_TXT)
			csv_text(b, *(const char *const *)at);
		else
			csv_text(b, NULL);
	}
	csv_end(b);
}
