/* Tables for people: columns as wide as their widest cell. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/buf.h"

struct text_column {
	const char *title;
	bool right; /* numbers */
};

/* All-zero but for the columns is a valid empty table. */
struct text_table {
	const struct text_column *columns;
	size_t n_columns;
	bool drop_empty;  /* leave out columns in which every cell is "-" */
	struct buf cells; /* NUL-terminated, one after the other, row by row */
	size_t n_cells;
};

/* The next cell; NULL is printed as "-". Characters that would move the cursor become "?". */
void text_cell(struct text_table *t, const char *text);
void text_cellf(struct text_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Titles and rows, each line after this indent; nothing at all without a row. Empties the table. */
void text_table_print(struct text_table *t, const char *indent, FILE *out);

/* The same to a buffer. */
void text_table_put(struct text_table *t, const char *indent, struct buf *b);

#endif
