/* Calls of a trace, counted as those that the collector `io` sees: by core/iocount.h, one process after
 * the other, and put together by core/iomerge.h. */
#ifndef IMPORT_RECORDER_COUNT_H
#define IMPORT_RECORDER_COUNT_H

#include "import/recorder_map.h"
#include "lib/err.h"
#include "schema/record.h"

struct recorder_count;

/* begin_s: of the run, since 1970. -ENOMEM. */
int recorder_count_new(struct recorder_count **ret, double begin_s, struct err *err);
void recorder_count_free(struct recorder_count *c);

/* A process: begin, its texts, handles and calls, end. Times are ns since the start of the run. */
void recorder_count_begin(struct recorder_count *c);
void recorder_count_text(struct recorder_count *c, uint32_t number, const char *text, size_t n);
void recorder_count_handle(struct recorder_count *c, const struct recorder_handle *h);
void recorder_count_event(struct recorder_count *c, const struct recorder_event *e);
void recorder_count_mpi(struct recorder_count *c, const struct recorder_event *e);
int recorder_count_end(struct recorder_count *c, size_t rank, struct err *err);

/* The record's io, with null for what the trace does not tell. */
int recorder_count_put(struct recorder_count *c, struct record *rec, struct err *err);

#endif
