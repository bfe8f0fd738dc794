/* Device traces of other tools, made into records. A reader knows one format; it is asked twice:
 * first for the ranges, then for the operations, so that whatever its size nothing but the ranges
 * that were asked for is kept. What it finds it hands to the trace. */
#ifndef IMPORT_TRACE_H
#define IMPORT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/category.h"
#include "import/hpcperf.h" /* struct imports */
#include "import/source.h"
#include "lib/err.h"
#include "lib/str.h"

struct trace_sink;

/* TRACE_ORDERED: the operations once more, from the earliest begin to the latest. Asked for where
 * some came too late in TRACE_OPERATIONS (picture.late). A reader that can't put them in order
 * within little memory answers -ENOTSUP at once; the trace may then collect and sort them by
 * itself. */
enum trace_pass { TRACE_RANGES, TRACE_OPERATIONS, TRACE_ORDERED };

/* What a reader calls. Processes are the trace's own numbers (a pid; 0 where there are none). Times
 * are ns of the trace's clock. Each answers 0, or -ENOMEM: then the reader stops. */

/* In either pass, before what needs it. Texts are copied; NULL is not known. */
int trace_process(struct trace_sink *t, int64_t process, const char *host, const char *pid,
		  const char *rank, const char *exe);
/* Call for every device that the trace knows, used or not: an idle one is 0, not null. ret: its
 * number for operations. id: the same for all processes, NULL: name. */
int trace_device(struct trace_sink *t, const char *name, const char *id, uint32_t *ret);
int trace_observes(struct trace_sink *t,
		   unsigned categories);                      /* bits; what is never said is null */
int trace_runtime(struct trace_sink *t, const char *runtime); /* "cuda" */
/* What has to be added to times of the trace so that they are ns since 1970. Not told: not known.
 */
int trace_epoch(struct trace_sink *t, int64_t add_ns);
int trace_note(struct trace_sink *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Pass TRACE_RANGES. Every host range: the trace keeps those that are asked for (roimeter:roi,
 * roimeter:exclude, or --range and --exclude). */
int trace_range(struct trace_sink *t, int64_t process, struct str name, int64_t begin_ns,
		int64_t end_ns);
/* What is no annotation, but has a name and a time: it is the region where no annotation has that
 * name, and nothing of a level before it. */
enum trace_level {
	TRACE_ANNOTATION, /* what trace_range tells */
	TRACE_OPERATOR,   /* of a framework; older ones keep their annotations there */
	TRACE_FUNCTION,
	TRACE_ON_DEVICE, /* an annotation as its work lay on the device */
	TRACE_LEVELS
};
int trace_range_level(struct trace_sink *t, int64_t process, enum trace_level level,
		      struct str name, int64_t begin_ns, int64_t end_ns);
/* Is it one that is asked for? For all levels, and fast. */
bool trace_asked(const struct trace_sink *t, struct str name);
/* Does anybody want ranges of this name? For readers that can ask before they look at times. */
bool trace_wants(const struct trace_sink *t, struct str name);

/* Pass TRACE_OPERATIONS. name: number of trace_name(). bytes: NAN unknown. */
int trace_name(struct trace_sink *t, struct str name, uint32_t *ret);
int trace_op(struct trace_sink *t, int64_t process, uint32_t device, enum category category,
	     uint32_t name, int64_t begin_ns, int64_t end_ns, double bytes);
int trace_call(struct trace_sink *t, int64_t process, int64_t begin_ns, int64_t end_ns, bool sync);
int trace_calls_seen(
	struct trace_sink *t); /* runtime calls were recorded, also when there is none */
int trace_untimed(struct trace_sink *t, int64_t process, uint64_t n);
int trace_dropped(struct trace_sink *t, int64_t process,
		  uint64_t n); /* 0: that none was is known */
int trace_graph(struct trace_sink *t, int64_t process, uint64_t n);

/* A kernel's category: collective where the name says so (nccl, rccl, msccl, oneccl), else compute.
 */
enum category trace_kernel_category(struct str name);

struct trace_reader {
	const char *name; /* "kineto" */
	bool unordered; /* its operations come in no order: they are put in order before they count
			 */
	bool (*knows)(const struct source *s); /* by its first bytes and name */
	int (*read)(struct source *s, enum trace_pass pass, struct trace_sink *t, struct err *err);
	/* Are they files of one trace, by their names? NULL: each is one of its own. */
	bool (*same)(const char *path, const char *other);
};

extern const struct trace_reader kineto_reader, nsys_reader, rocprof_reader, xplane_reader;

struct trace_options {
	const char *suite, *app, *case_,
		*platform;           /* NULL: "imported", the file's name, "trace", unknown */
	const char *range, *exclude; /* globs; NULL: roimeter:roi, roimeter:exclude */
	const char *utc;             /* NULL: as the trace tells, else the file's time */
};

/* One record for each trace: mostly a file. A trace has no clean execution: its record is roi_missing, also with a
 * region; what the device did in that is there, with roi.profiled_wall_s, and the whole trace in
 * context.whole_process. The same file gives the same record. All-or-nothing. -EINVAL (not this
 * format, cut, damaged, --range that matches nothing) with file and place. */
int import_traces(struct imports *ret, const struct trace_reader *reader, const char *const *paths,
		  size_t n, const struct trace_options *options, struct err *err);

#endif
