/* What an import prints for people. */
#ifndef CLI_IMPORT_TEXT_H
#define CLI_IMPORT_TEXT_H

#include "import/hpcperf.h"
#include "lib/buf.h"

/* Appended: a line for each suite. -ENOMEM. */
int import_text_suites(struct buf *b, const struct imports *in);

/* Appended: what the device did, of each record of a trace. */
void import_text_trace(struct buf *b, const struct record *rec);

/* Appended: what was done to files. */
void import_text_io(struct buf *b, const struct record *rec);

#endif
