/* Each cell is followed by a comma; the end of the line takes the place of the last one. */
#include "daemon/csv.h"

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
