/* How accelerators run while an execution does. A process of its own looks at them, at most ten
 * times a second and a hundredth of a CPU, since a driver may take its time, hang or crash: the
 * runner only ever writes a message to it, and reads what is in memory that both share. It starts
 * no device's runtime, and holds nothing of the runner's but that memory. */
#ifndef RUN_SAMPLER_H
#define RUN_SAMPLER_H

#include "node/device.h"

struct sampler;

struct sampler_options {
	struct device_options devices;
	const struct platform_info *info; /* whose accelerators it looks at; must stay */
	double per_s;                     /* at most, 10 at the most; 0: never */
};

/* *ret is NULL where there is nothing to look at: no accelerator whose driver can be asked. The
 * caller is single-threaded. -errno. */
int sampler_start(struct sampler **ret, const struct sampler_options *o);
void sampler_stop(struct sampler *s); /* All of these take NULL. */

/* An execution begins, and is over. Processes below root, and those with this ROIMETER_RUN, are its
 * own. */
void sampler_begin(struct sampler *s, pid_t root, const char *run_id);
void sampler_end(struct sampler *s);

/* What was seen between two times of the wall clock, as row->devices; the list is null where there
 * is nothing to look at. -ENOMEM. */
int sampler_take(struct sampler *s, int64_t from_real_ns, int64_t to_real_ns, const char *within,
		 struct arena *a, struct execution *row);

/* What it has cost since it was started. */
void sampler_cost(const struct sampler *s, double *ret_cpu_s, double *ret_wakeups);

#endif
