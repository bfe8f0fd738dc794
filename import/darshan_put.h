/* Parts of a log's record. All: 0 or -ENOMEM. */
#ifndef IMPORT_DARSHAN_PUT_H
#define IMPORT_DARSHAN_PUT_H

#include "import/darshan_gather.h"
#include "schema/record.h"

int darshan_put_sums(struct record *rec, const struct darshan_gathered *g);
int darshan_put_files(struct record *rec, const struct darshan_gathered *g);
int darshan_put_series(struct record *rec, const struct darshan_gathered *g);

#endif
