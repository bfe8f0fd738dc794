/* A record as a page of text. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "lib/buf.h"
#include "schema/record.h"

/* Appended to b. What is null is "-", with the reason where the record gives one. */
void show_record(struct buf *b, const struct record *rec);

#endif
