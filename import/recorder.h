/* Recorder's traces as records. */
#ifndef IMPORT_RECORDER_H
#define IMPORT_RECORDER_H

#include <jansson.h>

#include "import/darshan.h" /* struct io_options */

/* As import_darshan, of folders. */
int import_recorder(struct imports *ret, const char *const *paths, size_t n,
		    const struct io_options *options, struct err *err);

/* {"file", "layout", "nprocs", "time_resolution", "events_per_rank", "functions", "posix_bytes_read",
 * "posix_bytes_written", "first_start", "last_end", "cst_entries", "grammar", "missing"}. */
int recorder_totals(json_t **ret, const char *path, struct err *err);

#endif
