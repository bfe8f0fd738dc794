/* Counters of this node, of the control groups on it and of the processes that are followed: read
 * from /proc and /sys at aligned instants, handed out as context frames (docs/samples.md lists the
 * values). What is told are the kernel's own running totals; nothing is subtracted here.
 *
 * Who owns it says what time it is and when to look: samples_next tells the next instant, a
 * multiple of the period of CLOCK_REALTIME, so that all nodes look at once, however late the last
 * look was and wherever the clock was set. While it is quiet nothing is read, not even once; the
 * first frames afterwards have quiet_s, the seconds that nobody looked.
 *
 * What can't be read is unknown in the frame, never 0. A sampler that fails is asked less and less
 * often; the log has a line when that begins and one when it ends. What this kernel or machine does
 * not have (PSI, NFS, Lustre) is no trouble.
 *
 * Memory is a constant for each process and group. One thread, no event loop. */
#ifndef AGENT_SAMPLE_H
#define AGENT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "schema/batch.h"

#define SAMPLE_SECOND_NS UINT64_C(1000000000)
#define SAMPLE_MIN_PERIOD_NS (SAMPLE_SECOND_NS / 10)
#define SAMPLE_MAX_PERIOD_NS (3600 * SAMPLE_SECOND_NS)
#define SAMPLE_NEVER INT64_MAX

struct samples_options {
	const char *root; /* "" for this machine, else a folder with proc and sys in it */
	/* 0: a second. Of the processes, and of the node with its groups. Within the limits above.
	 */
	uint64_t process_period_ns, node_period_ns;
	bool when_idle;           /* sample the node also while nothing is on it; else only then */
	unsigned max_descriptors; /* kept open at most; 0: half of what this process may have */
	const char *const *which; /* names of samplers, the only ones to be used; n_which 0: all */
	size_t n_which;
};

/* "processes", "cgroups", "stat", ... NULL past the last. */
const char *samples_name(size_t i);

struct samples;

/* The strings of o are copied. Nothing is read yet. -EINVAL: a period, or a name; -ENOMEM. */
int samples_new(struct samples **ret, const struct samples_options *o, struct err *err);
void samples_free(struct samples *s); /* NULL is fine */

/* ---- what is on the node ------------------------------------------------------------------- */

struct sample_who {
	const char *stream;     /* names it for ever: scope "process:STREAM" */
	const char *run, *exec; /* NULL: none */
	pid_t pid;
	uint64_t start_ticks; /* field 22 of its stat, as in its stream: another process with this
			       * number is then never taken for it. 0: not known */
};

struct sampled;

/* Follow a process, and the control group that it is in at the next sample. Nothing is read now.
 * Copied. -ENOMEM. When the process ends its frames end; the handle stays good until it is removed.
 */
int samples_add_process(struct samples *s, const struct sample_who *who, struct sampled **ret,
			struct err *err);
void samples_remove_process(struct samples *s, struct sampled *p); /* NULL is fine */

/* A run is on the node, with or without processes that are followed: frames of the node carry its
 * name. run NULL with busy: several, or one without a name. Copied. -ENOMEM. */
int samples_set_run(struct samples *s, bool busy, const char *run, const char *exec,
		    struct err *err);

/* From now on nothing is read; or it is again. Twice the same changes nothing. */
void samples_quiet(struct samples *s, bool quiet, uint64_t mono_ns);

/* ---- sampling ------------------------------------------------------------------------------ */

struct sample_time {
	int64_t real_ns;  /* CLOCK_REALTIME */
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
};

/* The next instant at which something is due, in CLOCK_REALTIME: SAMPLE_NEVER while it is quiet or
 * nothing is to be sampled. Ask again after each samples_take and each change above; a timer of
 * absolute real time (timerfd, TFD_TIMER_ABSTIME, TFD_TIMER_CANCEL_ON_SET) does it justice. */
int64_t samples_next(const struct samples *s, int64_t real_ns);

/* A context frame, lent for the call. */
typedef void samples_put(void *arg, const struct frame *f);

/* Read what is due, if anything is, and hand out a frame for each thing that was read. How many. */
unsigned samples_take(struct samples *s, struct sample_time now, samples_put *put, void *arg);

/* ---- what it costs ------------------------------------------------------------------------- */

struct sample_cost {
	double cpu_s, wakeups, bytes;
};

/* The share of one process in the cost of all samples since it was added: each pass is divided
 * among those that were followed then, so that the shares of all add up to the whole. Only grows:
 * belongs into agent_cpu_s, wakeups and bytes of its process frames. */
struct sample_cost samples_cost(const struct samples *s, const struct sampled *p);

/* All of it since samples_new, also what nobody was followed for. */
struct sample_cost samples_cost_all(const struct samples *s);

/* For the status: what has troubles now, a sentence each ("lustre: open ...: Permission denied").
 */
void samples_each_trouble(const struct samples *s, void (*each)(void *arg, const char *text),
			  void *arg);

#endif
