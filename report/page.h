/* The report as one HTML page with the data inside, and as Markdown. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Was the page's script built into this program? Without Node.js at build time it is not. */
bool report_has_page(void);

/* grid: the text of the grid, one line; details: what stands behind it, one line of JSON; hash: of
 * the grid's text. Appended to out. -ENOTSUP without the page. */
int report_page(struct buf *out, const struct buf *grid, const struct buf *details,
		const char *title, const char *hash, struct err *err);

/* The same grid and a section for each measurement. Names from outside stay text. Appended to
 * out; -ENOMEM. */
int report_markdown(struct buf *out, const json_t *grid, const json_t *details, const char *hash);

#endif
