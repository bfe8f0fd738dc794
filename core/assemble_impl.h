/* Between the files of assemble(): what was worked out about each execution. */
#ifndef CORE_ASSEMBLE_IMPL_H
#define CORE_ASSEMBLE_IMPL_H

#include <stdbool.h>

#include "core/assemble.h"
#include "core/roi.h"
#include "core/stats.h"

enum stage { WARMUP, CLEAN, PROFILED };

struct worked {
	const struct observed *seen;
	enum stage stage;
	bool ended_well;               /* by itself, with exit code 0 */
	bool used;                     /* its region is a sample */
	struct roi_process *processes; /* one for each log */
	struct roi_job job;
	bool entered;   /* job is true */
	size_t n_ranks; /* rows of its processes */
	double roi_s;   /* net region, also where it is no sample; NAN unknown */
	double pre_s, post_s, between_s;
	const char *status, *why; /* of the row; why NULL when there is nothing to say */
};

struct assembly {
	struct record *rec;
	struct worked *all;
	size_t n;
	bool by_timer;              /* the region is the application's own timer */
	const struct worked *lead;  /* first clean execution that ended well and entered, or NULL */
	const struct worked *first; /* first sample, or NULL */
	struct stats stats;         /* of the samples */
	double *scratch;            /* room for n numbers */
};

/* Each answers 0 or -ENOMEM. */
int work_out(struct assembly *a, struct worked *w);
int put_executions(struct assembly *a);
int put_region(struct assembly *a);
int put_context(struct assembly *a);
int put_metrics(struct assembly *a);
int put_caveats(struct assembly *a);
int put_device_states(struct assembly *a); /* how accelerators ran meanwhile */
int put_device_state_caveats(struct assembly *a);
int put_machine_caveats(struct assembly *a);
int put_device_parts(struct assembly *a); /* after put_caveats */
int put_io_parts(struct assembly *a);     /* likewise */

/* A profiled execution whose pictures are used. One under what auto chose that went wrong is not:
 * the record is ok, and what is in it is of executions that were. */
bool is_picture(const struct assembly *a, const struct worked *w);

/* The profiled execution that the device's numbers are of; NULL: there was none. */
const struct worked *device_execution(const struct assembly *a);

const char *plural(double n); /* "" or "s" */

double seconds(uint64_t ns); /* with 15 digits */

/* The median of a number over the samples; f tells it, NAN where it does not know. */
double over_samples(const struct assembly *a, double (*f)(const struct worked *w));

#endif
