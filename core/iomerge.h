/* What the collector `io` counted in all processes of an execution: one block of a record. */
#ifndef CORE_IOMERGE_H
#define CORE_IOMERGE_H

#include <stdint.h>

#include "lib/err.h"
#include "schema/iopicture.h"
#include "schema/record.h"

#define IOMERGE_FILES 1024 /* of a record; others are in the sums only */
#define IOMERGE_RANKS 64   /* with bytes over time of their own */
#define IOMERGE_BINS 512

/* Files of one name are one, and so are those of one inode on one node. begun_real_ns: when the command
 * started, ROI_UNKNOWN where nobody knows. Sets rec's io but for device_*, cgroup_* and execution, and
 * says its limits as caveats; n 0 leaves all null. -ENOMEM. */
int iomerge_put_record(struct record *rec, const struct iopicture *const *pictures, size_t n,
		       int64_t begun_real_ns);

#endif
