/* What stands behind the report's grid (report/grid.h): the records of its cells and their
 * histories, for the page that needs no daemon and for the Markdown twin. docs/report.md tells the
 * shape. The daemon's page asks for them one by one. */
#ifndef REPORT_DATA_H
#define REPORT_DATA_H

#include <jansson.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "report/grid.h"
#include "store/store.h"

#define REPORT_RANKS_MAX 1024  /* with more rows, those of one execution are kept */
#define REPORT_OPS_MAX 15      /* operations of one record that are shown */
#define REPORT_FILES_MAX 40    /* files of one record */
#define REPORT_SERIES_MAX 65   /* bytes over time: all processes and the first 64 */
#define REPORT_HISTORY_MAX 100 /* newest runs of one cell that are listed */

/* *ret is the caller's, written on success. */
int report_details(json_t **ret, struct store *s, const struct report_options *o, struct err *err);

/* XXH3-128 of some text, in hexadecimal. */
void report_hash(char ret_hash[33], const struct buf *text);

/* One record as the page has it: nulls left out, operations and processes cut. */
json_t *report_record(const struct record *rec);

#endif
