/* Darshan's logs as records: what a job did to its files, counted by Darshan. */
#ifndef IMPORT_DARSHAN_H
#define IMPORT_DARSHAN_H

#include <jansson.h>

#include "import/hpcperf.h" /* struct imports */

struct io_options {
	const char *suite, *app, *case_, *platform; /* NULL: as for traces */
	const char *capture; /* folder for the calls themselves; NULL: none is made */
	bool salvage; /* of a damaged one what is whole; the record says what is missing */
};

/* One record for each log. A log has no region: its record is roi_missing, and what it tells is in
 * io.whole and what is called whole_ there. The same log gives the same record. All-or-nothing.
 * -EINVAL: no log, not a known format, damaged; with file and part. */
int import_darshan(struct imports *ret, const char *const *paths, size_t n,
		   const struct io_options *options, struct err *err);

/* The log's own sums under Darshan's own names, for comparing: {"log_version", "endian",
 * "compression", "nprocs", "start_time", "end_time", "run_time", "modules": {NAME: {"ver",
 * "partial"}}, "total", "dxt", "heatmap_sum", "distinct_record_ids", "damaged"}. With -EINVAL ret may
 * be set, too: then it has what could be read, and "damaged" says of which modules nothing is there.
 */
int darshan_totals(json_t **ret, const char *path, struct err *err);

#endif
