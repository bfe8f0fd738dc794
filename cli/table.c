/* Widths are counted in characters, not bytes: UTF-8 continues with bytes 10xxxxxx. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static size_t width(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void text_cell(struct text_table *t, const char *text)
{
	text = text && *text ? text : "-";
	for (const char *at = text; *at; at++) {
		unsigned char c = (unsigned char)*at;
		buf_put(&t->cells, c < ' ' || c == 127 ? "?" : at, 1);
	}
	buf_put(&t->cells, "", 1);
	t->n_cells++;
}

void text_cellf(struct text_table *t, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	text_cell(t, text);
}

static void put_row(const struct text_table *t, const char **cells, const size_t *widths,
		    const char *indent, struct buf *b)
{
	buf_puts(b, indent);
	size_t blanks = 0; /* held back, so that no line ends with them */
	for (size_t i = 0; i < t->n_columns; i++) {
		if (!widths[i])
			continue;
		size_t pad = widths[i] - width(cells[i]);
		if (t->columns[i].right)
			blanks += pad;
		buf_printf(b, "%*s%s", (int)blanks, "", cells[i]);
		blanks = 2 + (t->columns[i].right ? 0 : pad);
	}
	buf_puts(b, "\n");
}

void text_table_put(struct text_table *t, const char *indent, struct buf *b)
{
	size_t n = t->n_columns, rows = n ? t->n_cells / n : 0;
	size_t *widths = calloc(n + 1, sizeof *widths);
	const char **cells = calloc((rows + 1) * (n + 1), sizeof *cells);
	if (!widths || !cells || t->cells.failed)
		b->failed = true;
	const char *at = t->cells.data;
	for (size_t i = 0; i < n && !b->failed; i++) {
		cells[i] = t->columns[i].title;
		widths[i] = width(cells[i]);
	}
	for (size_t i = n; i < (rows + 1) * n && !b->failed; i++) {
		cells[i] = at;
		at += strlen(at) + 1;
		if (width(cells[i]) > widths[i % n])
			widths[i % n] = width(cells[i]);
	}
	for (size_t i = 0; t->drop_empty && i < n && !b->failed; i++) {
		bool empty = true;
		for (size_t k = 1; k <= rows && empty; k++)
			empty = strcmp(cells[k * n + i], "-") == 0;
		if (empty)
			widths[i] = 0; /* put_row passes over it */
	}
	for (size_t i = 0; rows && i <= rows && !b->failed; i++)
		put_row(t, cells + i * n, widths, indent, b);
	free(widths);
	free(cells);
	buf_done(&t->cells);
	t->cells = (struct buf){ 0 };
	t->n_cells = 0;
}

void text_table_print(struct text_table *t, const char *indent, FILE *out)
{
	struct buf b = { 0 };
	text_table_put(t, indent, &b);
	if (b.len)
		(void)fwrite(b.data, 1, b.len, out);
	buf_done(&b);
}
