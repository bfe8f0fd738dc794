/* The result of a measurement as a person reads it: one block a case. */
#ifndef CLI_RUN_TEXT_H
#define CLI_RUN_TEXT_H

#include "lib/buf.h"
#include "schema/record.h"

void run_text(struct buf *b, const struct record *rec);

#endif
