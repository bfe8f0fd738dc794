/* What importers that make records of files have in common. */
#ifndef IMPORT_MADE_H
#define IMPORT_MADE_H

#include "import/hpcperf.h"

/* "out/My trace.json.gz": "My-trace"; fallback where nothing is left. In the arena; NULL: -ENOMEM. */
char *made_app(struct arena *a, const char *path, const char *fallback);

/* The run id: of its time and all that is in it. -ENOMEM. */
int made_id(struct record *rec);

/* ns since 1970, in the record's arena; times that can't be are 1970. NULL: -ENOMEM. */
const char *made_utc(struct record *rec, int64_t real_ns);

/* Identity, status and provenance of what has no region but whole processes. what: "a Darshan log".
 * -EINVAL for a name that is none. */
struct made_from {
	const char *suite, *app, *case_, *platform; /* NULL: imported, the file's name, trace, unknown */
	const char *format, *what, *path, *hash;
};
int made_whole(struct record *rec, const struct made_from *from, struct err *err);

/* Into the list; one with the same run id is there already: freed. rec belongs to it from now on. */
int made_take(struct imports *in, struct record *rec_taken, struct err *err);

#endif
