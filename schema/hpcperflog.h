/* hpcperf-roi-log 2, the text that the published suite's markers write. Used by
 * schema/roilog.h; the rules are in docs/statistics.md. */
#ifndef SCHEMA_HPCPERFLOG_H
#define SCHEMA_HPCPERFLOG_H

#include "schema/roilog.h"

/* Of any version: the parser says which one it can't read. */
bool hpcperflog_is(const void *bytes, size_t n);

int hpcperflog_parse(struct roi_logs *logs, const char *file, const void *bytes, size_t n,
		     struct err *err);

#endif
