/* The machine's state around one execution, and where its processes ran. Reads /proc and /sys, at
 * the start, a few times in between (four times a second at most, and never more than a hundredth
 * of a CPU), and at the end. What can't be read is NAN or NULL. */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include <stdint.h>

#include "lib/arena.h"
#include "schema/record.h"
#include "node/procs.h"
#include "run/tree.h"
#include "run/watch_cpu.h"

/* A process that was seen. */
struct watched {
	pid_t pid, parent;
	const char *name, *cpus, *mems; /* CPU and memory node sets, as lists */
	double threads;                 /* most that were seen */
	bool leaf;                      /* had no child when last seen */
	double threads_now;             /* in the sample of this number */
	uint64_t sample;
	int64_t looked_real; /* wall clock of the last look, ns; 0 unknown */
};

struct watch_cpu { /* seconds since the machine started, all CPUs together; NAN unknown */
	double busy, steal, total;
};

struct watch {
	const char *proc, *sys; /* "/proc", "/sys", or folders of fixtures */
	struct arena *arena;
	struct watched *seen;
	size_t n_seen, seen_cap;
	struct pids pids;
	double threads_total, khz_min, khz_max, khz_sum, khz_n, temperature_c, load1;
	struct watch_counters counters;
	uint64_t samples, crowded; /* crowded: more running threads than CPUs */
	struct watch_cpu at_start;
	double own_cpu_s, own_wakeups;
};

/* The state before. The storage is the caller's; watch_done frees what is not in the arena. */
void watch_begin(struct watch *w, const char *proc, const char *sys, struct arena *a);
void watch_done(struct watch *w);

/* One look at the processes below root, or in this control group if there is one (NULL: none):
 * then /proc need not be searched. Returns how long to wait for the next, in ns. */
int64_t watch_sample(struct watch *w, pid_t root, const char *group);

/* What was seen, after the tree has ended. */
struct watch_result {
	double steal_frac, temperature_c;
	double runner_cpu_s, wakeups; /* of the runner and the keeper while it ran */
	signed char oversubscribed;
	double sampler_cpu_s; /* of runner_cpu_s, what looking at accelerators took */
	bool energy_denied;   /* the CPU's energy counters are there, and not for us */
};

/* What is told of the sampler is taken for the runner's own. */
void watch_end(struct watch *w, const struct tree_end *end, double sampler_cpu_s,
	       double sampler_wakeups, struct execution *row, struct watch_result *ret);

/* The governor of the first CPU, in the arena; NULL unknown. */
const char *watch_governor(const char *sys, struct arena *a);

/* How many CPUs a list like "0-3,8" names; NAN if it is none. */
double watch_count_cpus(const char *list);

#endif
