/* The data of the report: what the page shows, what the Markdown twin prints, and what
 * GET report answers. Made from the store alone, without clock and path: the same records give
 * the same bytes. docs/report.md tells the shape. */
#ifndef REPORT_DATA_H
#define REPORT_DATA_H

#include <jansson.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "store/store.h"

#define REPORT_SCHEMA "roimeter-report/1"

struct report_options {
	const char *const *suites; /* only these; all where n_suites is 0 */
	size_t n_suites;
	const char *title; /* NULL: "Roimeter report" */
};

#define REPORT_RANKS_MAX 1024  /* with more rows, those of one execution are kept */
#define REPORT_OPS_MAX 15      /* operations of one record that are shown */
#define REPORT_HISTORY_MAX 100 /* newest runs of one cell that are listed */

/* -ENOENT: a suite that nothing was stored for. *ret is the caller's, written on success. */
int report_build(json_t **ret, struct store *s, const struct report_options *o, struct err *err);

/* XXH3-128 of the text of the data, in hexadecimal: by it a report can be cited. */
void report_hash(char ret_hash[33], const struct buf *text);

/* One record as the report has it: nulls left out, operations cut. Used by tests and by the
 * daemon's page; the whole record is in the store. */
json_t *report_record(const struct record *rec);

#endif
