/* What the processor's own counters tell of a stretch of time: how often heat slowed it down, and
 * what it took. A few small files of /sys; on machines that have none, one look each. */
#ifndef RUN_WATCH_CPU_H
#define RUN_WATCH_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_PACKAGES 8
#define WATCH_CPUS 8

struct watch_energy {
	int zone; /* of intel-rapl, which AMD's has the name of, too */
	double last_uj, range_uj, sum_uj;
};

struct watch_counters {
	const char *sys;
	struct watch_energy packages[WATCH_PACKAGES];
	int n_packages;
	bool denied; /* the counters are there, and not for us */
	int cpus[WATCH_CPUS];
	double core_at_start[WATCH_CPUS], package_at_start[WATCH_CPUS];
	int n_cpus;
};

void watch_counters_begin(struct watch_counters *c, const char *sys);

/* Now and then, so that no counter goes round unseen: a package's does in minutes. */
void watch_counters_tick(struct watch_counters *c);

/* Since the beginning; NAN unknown. */
void watch_counters_end(struct watch_counters *c, double *ret_throttles, double *ret_energy_j);

#endif
