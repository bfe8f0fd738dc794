/* Flows of bytes over time as other tools write them, for roimeter period:
 *   - TMIO's JSON, whole or an object a line: modes (write_sync, read_async_t, ...) with a
 * bandwidth for each I/O phase of a rank;
 *   - lists by name (avg_thruput_mib, start_t_micro, end_t_micro), as JSON or as lines of text;
 *   - CSV: time in seconds, bandwidth in bytes a second that holds until the next time. */
#ifndef IMPORT_FLOW_H
#define IMPORT_FLOW_H

#include "core/period_flow.h"
#include "lib/err.h"

/* Adds. -EINVAL for what is no flow, with its place; -EFBIG past 1 GiB; -ENOMEM. */
int flow_read_file(struct flow *f, const char *path, struct err *err);

#endif
