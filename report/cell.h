/* What the grid shows of one cell, as JSON (docs/report.md). */
#ifndef REPORT_CELL_H
#define REPORT_CELL_H

#include <stdbool.h>

#include "lib/buf.h"
#include "schema/record.h"
#include "store/store.h"

/* The run that a cell stands for: its latest ok one, else its latest. */
const struct run_row *report_cell_shown(const struct cell *c);

/* {"runs":..,"ok":..,"last":..  with the brace left open: behind it goes what only the record of
 * the shown run tells. */
void report_cell_put(struct buf *b, const struct cell *c);

/* ,"spread":..,"notable":..  and the closing brace. dots: with the distance of each execution, for
 * a page that has room to draw them. */
void report_cell_put_facts(struct buf *b, const struct record *rec, bool dots);

#endif
