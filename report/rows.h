/* What the grid is made of, read from the store and put in its order: platforms across, suites,
 * applications and inputs down. Declared inputs come first, as they were declared; what was only
 * ever measured follows, numbers in names by their value. */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "report/data.h"
#include "store/store.h"

struct report_row {
	const char *suite, *app, *case_, *title; /* title may be NULL */
	bool declared;
	size_t order; /* place among the declared ones of all suites */
};

struct report_rows {
	struct arena arena;
	struct cell *cells; /* by suite, app, case, platform (bytes) */
	size_t n_cells;
	const char **platforms; /* by bytes */
	size_t n_platforms;
	struct report_row *rows; /* by suite, then as above; those of one application together */
	size_t n_rows;
};

/* ret is initialised by this call, also when it fails. -ENOENT: a suite that nothing was stored
 * for. */
int report_rows_read(struct report_rows *ret, struct store *s, const struct report_options *o,
		     struct err *err);
void report_rows_done(struct report_rows *r);

/* The cell of a row on a platform; NULL: never run. */
const struct cell *report_rows_cell(const struct report_rows *r, const struct report_row *row,
				    const char *platform);

/* "n9" before "n10". */
int report_natural(const char *a, const char *b);

#endif
