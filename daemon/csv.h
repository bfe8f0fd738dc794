/* Blocks of the record as tables: RFC 4180, lines end with CR LF, null is an empty cell. */
#ifndef DAEMON_CSV_H
#define DAEMON_CSV_H

#include "lib/buf.h"
#include "schema/field.h"

void csv_head(struct buf *b, const struct block *block);
void csv_row(struct buf *b, const struct block *block, const void *item);

/* With the blocks within: "roi.read_bytes". Lists of numbers and of texts are joined by ";". */
void csv_flat_head(struct buf *b, const struct block *block);
void csv_flat_row(struct buf *b, const struct block *block, const void *item);

/* One cell after the other, quoted where it must be; csv_end closes the line. */
void csv_text(struct buf *b, const char *text);
void csv_number(struct buf *b, double x);
void csv_end(struct buf *b);

#endif
