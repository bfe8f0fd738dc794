/* The time line of one process, folded while it comes: marks, device operations, runtime calls and
 * what its threads did go in, mostly in order; sums come out. Memory is bounded whatever the number
 * of operations; what is allocated after flow_new is for names, devices, and lists up to their ceilings.
 * One engine for live collectors and for files. Pure: it knows no clock, file or thread; calls of one
 * flow must not overlap. All times are ns on one time line (any int64), ranges are half open.
 *
 * Operations wait in a ring that puts them in order of their begin. The oldest leaves it when the ring
 * is full, or when flow_settle says that nothing earlier will come: then its share in the windows, and
 * in the unions, is final. One that comes later than that counts in every sum but not in the unions,
 * and in picture.late. Windows must be known by then: what is open reaches to the end of time.
 *
 * The gap: a call or a stretch of a thread may come later than that, since it is told of when it ends;
 * how many came too late even so is picture.late_calls. Stretches of I/O and MPI wait beside the ring:
 * when there are too many, the smallest gaps between them are closed, and counted there, too. Time that nothing covers is off the CPU if it
 * lies between the first and the last stretch of a thread that was told; if any of the gap lies before
 * or behind them, gap.cpu_ns and off_cpu_ns are null, and the parts do not sum to the total. Without
 * calls (threads) the rest of the gap is nobody's, and null. */
#ifndef CORE_FLOW_H
#define CORE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/category.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "schema/picture.h"

struct flow;

struct flow_options {
	unsigned observes;   /* bit 1u << category */
	size_t slots;        /* of the ring; 0: 16384 */
	size_t max_names;    /* others fall into "(others)" of their category; 0: 4096 */
	size_t max_ranges;   /* of windows, and of busy times of each device, that are kept; 0: 65536.
			      * The smallest gaps are closed first, and their sum is said */
	bool keep_busy;      /* the picture has the busy times: for unions over processes */
	bool calls;          /* runtime calls are recorded: else they are null */
	bool threads;        /* flow_thread is told: else gap.cpu_ns and off_cpu_ns are null */
};

struct flow_op {
	/* end <= begin, or 11 days and more: untimed, counted and nothing else; in the region if begin
	 * lies there, or if nobody knows (begin <= 0) */
	int64_t begin_ns, end_ns;
	double bytes;             /* NAN unknown */
	uint32_t device, name;    /* of flow_device and flow_name */
	uint32_t category;        /* enum category, below CATEGORIES: the caller's duty */
};

enum flow_mark { FLOW_BEGIN, FLOW_END, FLOW_EXCLUDE_BEGIN, FLOW_EXCLUDE_END };

/* -ENOMEM, -EINVAL. */
int flow_new(struct flow **ret, const struct flow_options *o, struct err *err);
void flow_free(struct flow *f);

/* The number of a name or a device, new ones included: the same text, the same number. Copied. Cheap
 * enough to be asked for each operation; whoever has a key of their own keeps the number.
 * flow_device: id NULL: name is the identity. Negative: -ENOMEM. */
int64_t flow_name(struct flow *f, const char *name, size_t n);
int64_t flow_device(struct flow *f, const char *name, const char *id);

/* A range that is known from end to end. In any order, but before the first operation that may touch
 * it is folded, and before marks of its time; what lies earlier is cut off and counted in
 * picture.late_marks. Empty ones are dropped. Each that operations have not reached takes 32 bytes.
 * -ENOMEM. */
int flow_range(struct flow *f, bool exclude, int64_t begin_ns, int64_t end_ns);

/* Marks of a running program, of all its threads, in the order in which they happen. The region is
 * open while any thread has an entry open, and so are excludes. END without BEGIN is ignored; excludes
 * mean nothing outside the region and end with it. Marks earlier than the last one happen with it.
 * Windows that wait for operations have a ceiling of four times max_ranges: then small gaps are closed,
 * and their sum is picture.windows_closed_ns. -ENOMEM. */
int flow_mark(struct flow *f, enum flow_mark what, int64_t at_ns);

/* Is the region open, with excludes left out? */
bool flow_inside(const struct flow *f);

void flow_op(struct flow *f, const struct flow_op *op);
void flow_call(struct flow *f, int64_t begin_ns, int64_t end_ns, bool sync);
/* What the host's threads did, in order of time: on: at least one was on a CPU. */
void flow_thread(struct flow *f, int64_t begin_ns, int64_t end_ns, bool on);
/* What a thread of the host was in, in any order: told of when it ends. flow_host_told: from now on
 * this is told; else gap.io_ns, gap.mpi_ns are null. */
enum flow_host { FLOW_IO, FLOW_MPI };
void flow_host_told(struct flow *f, enum flow_host what);
void flow_host(struct flow *f, enum flow_host what, int64_t begin_ns, int64_t end_ns);
void flow_untimed(struct flow *f, uint64_t n); /* operations without a time: in both scopes */
void flow_dropped(struct flow *f, uint64_t n); /* records that were lost; 0: that none was is known */
void flow_graph(struct flow *f, uint64_t n);   /* graphs that were recorded as a whole */

/* Until then somebody looked, whatever there was: a picture's open region does not end before. */
void flow_told(struct flow *f, int64_t until_ns);

/* Nothing that begins earlier will come. Folds it. */
void flow_settle(struct flow *f, int64_t before_ns);

/* The sums as of now, with what still waits in the ring as if it were settled; the flow goes on. A
 * region that is open ends, in the picture, with the last thing that was told. Sets the fields that are
 * about time lines and sums, and observes; who, where and why are the caller's (ret is picture_clear
 * first). All devices of flow_device are in it, used or not: whole_busy_ns 0 says that it was idle.
 * In the arena. -ENOMEM; -ERANGE where a picture can't hold the times (11 days). */
int flow_picture(struct flow *f, struct arena *a, struct picture *ret, struct err *err);

#endif
