/* What is stored about a record's platform goes into the record. */
#ifndef STORE_VERDICT_H
#define STORE_VERDICT_H

#include "store/store.h"

/* record_put_verdicts (core/verdict.h) with the newest result of each collector that is not later
 * than the record, so that a record that is made anew says the same. s NULL: nothing is known. */
int store_put_verdicts(struct store *s, struct record *rec, struct err *err);

#endif
