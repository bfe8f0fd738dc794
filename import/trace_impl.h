/* Shared by the files behind import/trace.h: what a trace gathers while a reader reads. */
#ifndef IMPORT_TRACE_IMPL_H
#define IMPORT_TRACE_IMPL_H

#include "core/flow.h"
#include "import/trace.h"
#include "import/trace_map.h"

/* A range that somebody asked for. */
struct trace_kept {
	int64_t begin_ns, end_ns;
	bool exclude;
	uint8_t level; /* enum trace_level */
};

struct trace_member {
	int64_t number; /* the trace's own */
	const char *host, *pid, *rank, *exe;
	struct trace_kept *kept;
	size_t n_kept, cap_kept;
	struct flow *flow;         /* NULL until it is needed */
	uint32_t *devices, *names; /* our numbers to the flow's; UNMAPPED */
	size_t n_devices, n_names;
};

/* Texts with their numbers, in the order of their first use. */
struct trace_texts {
	struct str *items;
	size_t n, cap;
	uint32_t *slots; /* 1 + number; 0: free */
	size_t n_slots;  /* a power of two */
};

/* Every range's name, for who asked for one that is not there. */
struct trace_seen {
	uint64_t count;
	double total_ns;
};

/* An operation or a call that waits to be put in order. */
struct trace_entry {
	int64_t begin, end;
	double bytes;
	uint32_t member, name;
	uint16_t device, kind; /* kind: enum category, then TRACE_CALL, TRACE_SYNC */
};
enum { TRACE_CALL = CATEGORIES, TRACE_SYNC };

struct trace_sink {
	struct arena arena;
	const struct trace_options *options;
	struct trace_member *members;
	size_t n_members, cap_members, last_member;
	struct trace_map numbers; /* process -> 1 + member */
	const char **device_names, **device_ids;
	size_t n_devices, cap_devices, cap_ids;
	struct trace_texts names, ranges;
	struct trace_seen *seen; /* of each of ranges */
	size_t cap_seen;
	uint64_t matched[TRACE_LEVELS], excluded[TRACE_LEVELS]; /* ranges that were asked for */
	uint64_t too_many; /* names of ranges that had no room */
	unsigned observes;
	bool calls_seen, has_epoch;
	int64_t epoch_ns, first_ns; /* first_ns: INT64_MAX */
	const char *runtime;
	const char **notes;
	size_t n_notes, cap_notes;
	struct trace_entry *window; /* NULL: operations go on at once */
	size_t n_window, cap_window;
	bool unsorted; /* the window is */
};

/* trace_sink.c. options: borrowed. */
void trace_begin(struct trace_sink *t, const struct trace_options *options);
void trace_end(struct trace_sink *t);
/* Before the operations are read once more: all sums are forgotten. order: how many of them wait to
 * be put in order; 0: none, the reader does it. -ENOMEM. */
int trace_again(struct trace_sink *t, size_t order);
/* What still waits goes on. -ENOMEM. */
int trace_flush(struct trace_sink *t);
/* The number of a text, a new one if it has none; max if there is no room for more. -ENOMEM. */
int trace_text_number(struct trace_sink *t, struct trace_texts *x, struct str text, size_t max,
		      uint32_t *ret);
/* Which of the members, a new one for a new process. -ENOMEM. */
int trace_member_of(struct trace_sink *t, int64_t process, size_t *ret);
/* One picture for each process, in the arena. -ENOMEM, -EINVAL. */
int trace_pictures(struct trace_sink *t, const char *collector, const struct picture *const **ret,
		   size_t *ret_n, struct err *err);

/* trace_ranges.c: how many ranges are the region. */
uint64_t trace_matched(const struct trace_sink *t);
/* The region of a process, into its flow. -ENOMEM. */
int trace_ranges_into(struct trace_sink *t, struct trace_member *m);

/* trace.c: after the ranges, the operations, as often as they have to be read; one picture for each
 * process. */
int trace_operations(struct trace_sink *t, const struct trace_reader *reader,
		     struct source *const *sources, size_t n, const struct picture *const **ret,
		     size_t *ret_n, struct err *err);

/* trace_record.c */
struct trace_file {
	const char *path, *hash, *format;
	size_t more; /* files that are one trace with it */
	int64_t mtime_ns;
};
int trace_make_record(const struct trace_sink *t, const struct trace_file *file,
		      const struct picture *const *pictures, size_t n, struct record *ret,
		      struct err *err);

#endif
