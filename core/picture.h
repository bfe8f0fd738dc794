/* Pictures of the processes of one execution, put together: into the clipped sums that a record
 * shows. Pure. */
#ifndef CORE_PICTURE_H
#define CORE_PICTURE_H

#include "core/clip.h"
#include "schema/picture.h"

/* Sums over all processes; the unions over processes (each device of a node, the whole job, all
 * windows) from the ranges in the pictures: exact where none of them closed a gap, else an upper bound,
 * and clip.closed_ns says how much it may be too large. Devices are the same if host and id are.
 * Pictures must be on one time line; those of several nodes (other boot) have no union over nodes:
 * then job_busy_ns and window_ns are sums over nodes' unions at most, and clip.nodes says so.
 * What one picture does not observe is null in the sum. Results live in the arena. -ENOMEM, -EINVAL. */
int picture_merge(const struct picture *const *pictures, size_t n, struct arena *a, struct clip *ret,
		  struct err *err);

/* The blocks device, ops, runtime_api, gap and context.whole_process, their caveats, and
 * roi.profiled_wall_s and profiler_inflation where there is a region; roi.wall_s must be set. Pictures
 * without device work say why (status and why) in a caveat, and their fields stay null. 0 or -ENOMEM. */
int picture_put_record(struct record *rec, const struct picture *const *pictures, size_t n,
		       struct err *err);

#endif
