/* Calls of a trace, counted: by interface, by file, over time. All processes into one. */
#ifndef IMPORT_RECORDER_COUNT_H
#define IMPORT_RECORDER_COUNT_H

#include "import/recorder_map.h"
#include "schema/record.h"

struct recorder_count;

int recorder_count_new(struct recorder_count **ret, double tick_s);
void recorder_count_free(struct recorder_count *c);

/* Those of one process after those of another. */
void recorder_count_begin(struct recorder_count *c);
void recorder_count_text(struct recorder_count *c, uint32_t number, const char *text, size_t n);
void recorder_count_handle(struct recorder_count *c, const struct recorder_handle *h);
/* within: the interface of a call around it; IO_INTERFACES: it is the program's own. */
void recorder_count_event(struct recorder_count *c, const struct recorder_event *e, unsigned within);
void recorder_count_mpi(struct recorder_count *c, unsigned class, uint64_t ticks);

/* -ENOMEM, also where something had no room before. */
int recorder_count_put(struct recorder_count *c, struct record *rec);

#endif
