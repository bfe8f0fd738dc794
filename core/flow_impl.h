/* The inside of a flow. flow_ranges.c: lists that have a ceiling; flow_windows.c: marks into
 * windows; flow_names.c: names and devices; flow_gap.c: the host while the device was idle; flow.c:
 * the ring and what folding does; flow_picture.c: the result. */
#ifndef CORE_FLOW_IMPL_H
#define CORE_FLOW_IMPL_H

#include "core/flow.h"
#include "schema/bins.h"

struct range {
	int64_t begin, end;
};

static inline uint64_t range_ns(int64_t begin, int64_t end)
{
	return (uint64_t)end - (uint64_t)begin;
}

static inline int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- lists of ranges ------------------------------------------------------------------------ */

/* Disjoint, in order. When there are max of them half are closed up, where the gaps are smallest;
 * gaps like those are then closed at once, so that the work for each range stays constant. */
struct ranges {
	struct range *items;
	size_t n, cap, max;
	uint64_t closed_ns; /* sum of the gaps that were closed */
	uint64_t least_ns;  /* a gap up to this is closed at once */
};

int ranges_init(struct ranges *r, size_t max);
int ranges_copy(struct ranges *to, const struct ranges *from);
void ranges_full(struct ranges *r); /* makes room for one more */

/* Of the first n ranges leaves at most want, closing the smallest gaps between them. */
void ranges_reduce(struct ranges *r, size_t n, size_t want);

/* Room for one more however many there are. -ENOMEM. */
int ranges_grow(struct ranges *r);

/* It does not begin before the last one ends. */
static inline void ranges_add(struct ranges *r, int64_t begin, int64_t end)
{
	if (r->n) {
		struct range *last = &r->items[r->n - 1];
		uint64_t gap = range_ns(last->end, begin);
		if (gap <= r->least_ns) {
			r->closed_ns += gap;
			last->end = end;
			return;
		}
	}
	if (r->n == r->cap)
		ranges_full(r);
	r->items[r->n++] = (struct range){ begin, end };
}

/* ---- windows -------------------------------------------------------------------------------- */

struct windows {
	struct ranges list;         /* the windows; one that is open ends at INT64_MAX */
	struct ranges roi, exclude; /* what they are made of, as far as more may come */
	bool unsorted;              /* roi or exclude: in no order, not merged */
	bool stale;                 /* the list, behind the frontier, must be made anew */
	int64_t known_end;          /* no range of roi or exclude ends later */
	int64_t fixed;              /* ranges that begin earlier are too late whatever was folded */
	uint64_t entries, gross_ns; /* of ranges that left roi */
	size_t op_at, gap_at;       /* cursors: no window before them ends later than what comes */
	size_t max;
	/* Marks of a running program. */
	unsigned regions, excludes; /* open ones */
	int64_t since;              /* begin of the open stretch */
	int64_t last_mark;
	uint64_t late_marks;
};

int windows_init(struct windows *w, size_t max);
void windows_done(struct windows *w);

/* Ranges told since the last call take effect from the frontier on: before it windows are final. */
int windows_ready_slow(struct flow *f);

/* Puts what waits for a list of windows in order. */
void windows_sort(struct flow *f);

/* The first window from at on that ends after the time. */
static inline size_t windows_from(const struct ranges *w, size_t at, int64_t time)
{
	while (at < w->n && w->items[at].end <= time)
		at++;
	return at;
}

/* The same from any place. */
size_t windows_find(const struct ranges *w, int64_t time);

/* How long [begin, end) is inside, from window at on; adds the pieces to a list, if there is one.
 */
uint64_t windows_clip(const struct ranges *w, size_t at, int64_t begin, int64_t end,
		      struct ranges *pieces);

/* Is a call wholly inside one window? at: the first one that ends after begin. */
bool windows_hold(const struct ranges *w, size_t at, int64_t begin, int64_t end);

/* ---- names and devices ---------------------------------------------------------------------- */

struct flow_scope {
	uint64_t count, total_ns, min_ns, max_ns;
	uint64_t bins[ROI_BINS];
};

struct flow_stat {
	struct flow_scope roi, whole;
};

struct flow_text {
	const char *text;
	size_t n;
	uint64_t hash;
};

struct flow_names {
	struct arena arena;
	struct flow_text *items; /* 0 is "(others)" */
	size_t n, cap, max;
	uint32_t *slots; /* of a hash table: number + 1, or 0 */
	size_t n_slots;  /* a power of two, at least twice cap */
};

struct flow_device {
	const char *name, *id;
	int64_t until, category_until[CATEGORIES]; /* the largest end so far */
	uint64_t busy_ns, whole_busy_ns;
	struct ranges busy; /* inside the windows */
};

int names_init(struct flow_names *n, size_t max);
void names_done(struct flow_names *n);

/* ---- the gap -------------------------------------------------------------------------------- */

enum lane {
	LANE_BUSY,
	LANE_SYNC,
	LANE_API,
	LANE_IO,
	LANE_MPI,
	LANE_ON,
	LANE_OFF,
	LANES,
	LANE_NONE = LANES
};

/* Stretches of one kind, disjoint, in order, waiting to be looked at together with the others. */
struct lane_queue {
	struct range *items;
	size_t head, n;    /* [head, n) are there */
	uint64_t least_ns; /* a gap up to this is closed at once */
};

/* In order of precedence. What no thread's stretch covers between the first and the last of them is
 * off the CPU; before and after nobody knows. */
struct flow_gap {
	struct lane_queue lanes[LANES];
	size_t cap;    /* of each queue; 0: nobody asks for the gap's parts */
	int64_t swept; /* all before is in the sums */
	uint64_t ns[LANES];
	uint64_t unknown_ns; /* covered by nothing, before the first stretch of a thread */
	uint64_t waiting_ns; /* covered by nothing, behind the last one: the next one decides */
	int64_t threads_from, threads_to; /* begin of the first, end of the last */
	bool threads_seen;
	uint64_t late_calls; /* calls and stretches whose begin came too late */
	unsigned told;       /* bit 1u << enum flow_host: somebody tells */
};

int gap_init(struct flow_gap *g, size_t cap);
int gap_copy(struct flow_gap *to, const struct flow_gap *from);
void gap_done(struct flow_gap *g);

/* In order of begin. */
void gap_add(struct flow *f, enum lane lane, int64_t begin, int64_t end);
/* One that begins before what was folded. */
void gap_add_late(struct flow *f, enum lane lane, int64_t begin, int64_t end);
void gap_sweep(struct flow *f, int64_t until);

/* ---- the flow ------------------------------------------------------------------------------- */

/* What waits in the ring. Small, since the ring is kept in order by moving entries. */
struct flow_entry {
	int64_t begin, end;
	double bytes;
	uint32_t name;
	uint16_t device;
	uint16_t kind; /* enum category, or one of these */
};

enum { KIND_CALL = CATEGORIES, KIND_SYNC, KIND_ON, KIND_OFF };

struct flow_sums {
	uint64_t time_ns[CATEGORIES], ops[CATEGORIES], union_ns[CATEGORIES];
	double bytes[CATEGORIES];
	uint64_t op_sum_ns, busy_ns, calls, calls_ns, sync_calls, sync_ns, untimed;
};

struct flow {
	struct flow_options options;
	struct flow_entry *ring; /* in order of begin from head on */
	size_t head, tail, mask; /* head and tail only grow; mask: slots - 1 */
	int64_t folded;          /* nothing before it can be in unions any more */
	int64_t until;           /* the largest end of an operation in the unions */
	int64_t seen;            /* the largest end of anything else that was folded */
	struct windows windows;
	struct flow_sums roi, whole;
	struct flow_names names;
	struct flow_stat *
		*stats; /* [name * CATEGORIES + category], made when they are first needed */
	size_t n_stats;
	const struct flow *original; /* this is the copy that a picture is made of */
	struct flow_device *devices;
	size_t n_devices, cap_devices;
	struct flow_gap gap;
	uint64_t names_folded, late, graphs;
	double dropped;
	bool no_memory; /* a picture's copy could not be completed */
};

/* No window before this can change any more without being late. */
static inline int64_t flow_frontier(const struct flow *f)
{
	return later(later(f->folded, f->until), f->windows.fixed);
}

static inline int windows_ready(struct flow *f)
{
	return f->windows.stale ? windows_ready_slow(f) : 0;
}

/* Its share in everything. */
void flow_fold(struct flow *f, const struct flow_entry *e);

#endif
