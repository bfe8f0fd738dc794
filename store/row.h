/* A row of the list of runs as JSON and as a line of CSV: the same keys and columns wherever
 * runs are listed. New ones come at the end. */
#ifndef STORE_ROW_H
#define STORE_ROW_H

#include <jansson.h>

#include "lib/buf.h"
#include "store/store.h"

/* All keys, null where it is not known. NULL: out of memory. */
json_t *run_row_json(const struct run_row *r);

/* Lines end with CR LF; null is an empty cell. */
void run_row_csv_head(struct buf *b);
void run_row_csv(struct buf *b, const struct run_row *r);

#endif
