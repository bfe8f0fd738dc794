/* Flows of bytes over time as other tools write them, for roimeter period:
 *   - TMIO's JSON, whole or an object a line: modes (write_sync, read_async_t, ...) with a
 * bandwidth for each I/O phase of a rank;
 *   - lists by name (avg_thruput_mib, start_t_micro, end_t_micro), as JSON or as lines of text;
 *   - CSV: time in seconds, bandwidth in bytes a second that holds until the next time. */
#ifndef IMPORT_FLOW_H
#define IMPORT_FLOW_H

#include <stddef.h>

#include "core/period.h"
#include "lib/err.h"

enum flow_direction { FLOW_READ, FLOW_WRITE, FLOW_EITHER, FLOW_DIRECTIONS };

/* All-zero is a valid empty flow. EITHER: of files that don't tell reads from writes. */
struct flow {
	struct period_piece *pieces[FLOW_DIRECTIONS];
	size_t n[FLOW_DIRECTIONS], room[FLOW_DIRECTIONS];
};

/* Adds. -EINVAL for what is no flow, with its place; -EFBIG past 1 GiB; -ENOMEM. */
int flow_read_file(struct flow *f, const char *path, struct err *err);

int flow_add(struct flow *f, enum flow_direction d, struct period_piece piece);
void flow_done(struct flow *f);

#endif
