/* Device traces, clipped to the region: marks and operations in, sums out. Pure; all times are ns
 * on one time line. Ranges are half open; those without a length are dropped and counted. */
#ifndef CORE_CLIP_H
#define CORE_CLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/category.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "schema/record.h"

struct trace_mark {
	int64_t begin_ns, end_ns;
	uint32_t process;
	bool exclude; /* else a region */
};

struct trace_op {
	int64_t begin_ns, end_ns;
	double bytes;     /* NAN unknown */
	uint32_t process; /* the same numbers as in the marks */
	uint32_t device;  /* index into trace.devices, if there are any */
	uint32_t name;    /* index into trace.names */
	uint32_t category;
};

struct trace_call {
	int64_t begin_ns, end_ns;
	uint32_t process;
	bool sync; /* it waits for the device */
};

/* Borrowed. Any order. */
struct trace {
	const struct trace_mark *marks;
	size_t n_marks;
	const struct trace_op *ops;
	size_t n_ops;
	const char *const *names;   /* of operations */
	const char *const *devices; /* NULL: the trace does not tell them apart */
	size_t n_devices;
	const struct trace_call *calls; /* NULL: not recorded */
	size_t n_calls;
	const char *runtime; /* "cuda"; NULL unknown */
	unsigned observes;   /* bit 1u << category; what is not in it is null, not 0 */
	double dropped_ops;  /* NAN unknown */
	bool ops_of_whole; /* without a region the table of operations is of the whole processes */
};

/* A category that nobody observes is NAN in all three. */
struct clip_sums {
	double time_ns[CATEGORIES], ops[CATEGORIES], bytes[CATEGORIES];
	uint64_t busy_ns;   /* union within each process, summed over processes */
	uint64_t op_sum_ns; /* so op_sum_ns - busy_ns overlaps */
	size_t processes;   /* region: that have one; whole: that have an operation */
	/* NAN in these: not known. */
	double union_ns[CATEGORIES]; /* within each (process, device), summed */
	double device_busy_ns;       /* the same over all categories */
	double untimed;              /* operations without a usable time, by their launch */
};

struct clip_device {
	uint32_t device;
	uint64_t busy_ns; /* union over all processes */
	size_t processes; /* that used it inside the region */
	const char *name, *host, *id;   /* NULL unknown; name: else trace.devices */
	double process_busy_ns;         /* union within each process, summed; NAN unknown */
	double window_ns;               /* union of its node's windows; NAN: clip.window_ns */
	double whole_ns, whole_sum_ns;  /* all operations: union, NAN unknown; sum of unions */
	size_t whole_processes;         /* that used it at all */
};

struct clip_op {
	const char *name;
	enum category category;
	uint64_t count, total_ns, min_ns, max_ns; /* clipped lengths */
	double share;                             /* of the total of all operations */
	struct nums bins;                         /* bin, count, ... of the lengths; or null */
};

struct clip_calls {
	uint64_t calls, time_ns, sync_calls, sync_ns;
};

/* Region less busy, summed over processes, and its parts. NAN: not known. */
struct clip_gap {
	double total_ns, sync_ns, api_ns, cpu_ns, off_cpu_ns, io_ns, mpi_ns;
};

struct clip {
	bool observed;    /* false: the trace sees no category at all, and roi and whole are null */
	bool found;       /* a region; without one, roi is null */
	size_t processes; /* that have one */
	uint64_t entries; /* merged ranges of one process, the largest */
	uint64_t wall_ns, excluded_ns; /* net region and what is left out, the largest each */
	uint64_t window_ns;            /* union of the windows of all processes */
	struct clip_sums roi, whole;
	uint64_t job_busy_ns;        /* any device of the job busy inside the region */
	struct clip_device *devices; /* that the job used at all; NULL unknown */
	size_t n_devices;
	double busy_frac_mean; /* mean over devices of busy_ns / window_ns; NAN unknown */
	double idle_ns;        /* sum over devices of window_ns - busy_ns; NAN unknown */
	size_t processes_with_device_work;
	uint64_t untimed_ops; /* without a length */
	struct clip_op *ops;  /* largest total first */
	size_t n_ops;
	bool has_calls;
	struct clip_calls calls_roi, calls_whole; /* roi: only those wholly inside one window */
	const char *runtime; /* "cuda13.0"; NULL unknown */
	bool ops_of_whole;   /* ops are those of the whole processes: there is no region */
	size_t nodes;        /* whose times can't be compared; 0: nobody tells them apart */
	/* Unions over processes may be too large by this, each: gaps were closed for want of room. */
	uint64_t closed_ns;
	/* NAN: not known. */
	double dropped, late, graphs, pending, names_folded;
	struct clip_gap gap;
	double collector_cpu_s, collector_roi_cpu_s;
};

/* Results live in the arena. -ENOMEM; -EINVAL for an operation whose category, name or device does
 * not exist. */
int clip_trace(struct arena *arena, const struct trace *trace, struct clip *ret, struct err *err);

/* What a clean region and a profiled execution say together. NAN where one of them is not known. */
struct derived {
	double host_gap_s, host_gap_frac;      /* clean region - busy per process; its share */
	double busy_frac_of_roi;               /* busy per process / clean region */
	double busy_frac_of_profiled_roi;      /* ... / region under the collector */
	double inflation;                      /* profiled / clean */
	bool busy_exceeds, inflated, deflated; /* each is a caveat */
};

void derive(double roi_wall_s, double busy_s, double processes, double profiled_wall_s,
	    struct derived *ret);

/* The blocks device, ops, runtime_api, gap and context.whole_process, their caveats, and where there
 * is a region roi.profiled_wall_s, if it is not set, and profiler_inflation. roi.wall_s must be set.
 * 0 or -ENOMEM. */
int clip_put_sums(struct record *rec, const struct clip *clip);

/* The same; what only the trace tells is taken from there. */
int clip_put(struct record *rec, const struct trace *trace, const struct clip *clip);

/* Everything that may be unknown is, nothing was seen. */
void clip_clear(struct clip *clip);

#endif
