/* Thermal throttling by the kernel's counters, energy by RAPL. */
#define _GNU_SOURCE
#include "run/watch_cpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/num.h"
#include "node/sysfile.h"

#define RAPL "/class/powercap/intel-rapl:"

/* ---- energy ---- */

static double read_energy(const struct watch_counters *c, int zone)
{
	char path[128];
	(void)snprintf(path, sizeof path, RAPL "%d/energy_uj", zone);
	return sysfile_number(c->sys, path);
}

static void find_packages(struct watch_counters *c)
{
	for (int zone = 0; zone < 2 * WATCH_PACKAGES && c->n_packages < WATCH_PACKAGES; zone++) {
		char path[128], full[640], name[32];
		(void)snprintf(path, sizeof path, RAPL "%d/name", zone);
		if (!sysfile_read(c->sys, path, name, sizeof name))
			return;
		if (strncmp(name, "package-", 8) != 0)
			continue; /* the whole machine, mostly */
		(void)snprintf(full, sizeof full, "%s" RAPL "%d/energy_uj", c->sys, zone);
		if (access(full, R_OK) && errno == EACCES)
			c->denied = true;
		(void)snprintf(path, sizeof path, RAPL "%d/max_energy_range_uj", zone);
		struct watch_energy *e = &c->packages[c->n_packages++];
		*e = (struct watch_energy){ .zone = zone,
					    .last_uj = read_energy(c, zone),
					    .range_uj = sysfile_number(c->sys, path) };
	}
}

void watch_counters_tick(struct watch_counters *c)
{
	for (int i = 0; i < c->n_packages; i++) {
		struct watch_energy *e = &c->packages[i];
		double now = read_energy(c, e->zone), more = now - e->last_uj;
		if (more < 0) /* it went round, or how far it goes is not known */
			more += e->range_uj;
		e->sum_uj += more; /* NAN stays */
		e->last_uj = now;
	}
}

/* ---- heat ---- */

static double read_throttles(const struct watch_counters *c, int cpu, const char *of)
{
	char path[128];
	(void)snprintf(path, sizeof path, "/devices/system/cpu/cpu%d/thermal_throttle/%s", cpu, of);
	return sysfile_number(c->sys, path);
}

/* A few CPUs stand for all: reading each of some hundreds would take longer than many a program. */
static void find_cpus(struct watch_counters *c)
{
	long n = sysconf(_SC_NPROCESSORS_CONF), step = n > WATCH_CPUS ? n / WATCH_CPUS : 1;
	for (int i = 0; i < WATCH_CPUS && i * step < n; i++) {
		int cpu = (int)(i * step);
		double core = read_throttles(c, cpu, "core_throttle_count");
		if (!known(core))
			return; /* AMD, Arm, a virtual machine */
		c->cpus[c->n_cpus] = cpu;
		c->core_at_start[c->n_cpus] = core;
		c->package_at_start[c->n_cpus++] = read_throttles(c, cpu, "package_throttle_count");
	}
}

/* Cores have their own counts; CPUs of a package have the package's, all the same. */
static double throttles(const struct watch_counters *c)
{
	double cores = c->n_cpus ? 0 : (double)NAN, packages = 0;
	for (int i = 0; i < c->n_cpus; i++) {
		double core = read_throttles(c, c->cpus[i], "core_throttle_count");
		double package = read_throttles(c, c->cpus[i], "package_throttle_count");
		if (core > c->core_at_start[i])
			cores += core - c->core_at_start[i];
		packages = fmax(packages, package - c->package_at_start[i]);
	}
	return cores + packages;
}

void watch_counters_begin(struct watch_counters *c, const char *sys)
{
	*c = (struct watch_counters){ .sys = sys };
	find_packages(c);
	find_cpus(c);
}

void watch_counters_end(struct watch_counters *c, double *ret_throttles, double *ret_energy_j)
{
	double uj = c->n_packages ? 0 : (double)NAN;
	watch_counters_tick(c);
	for (int i = 0; i < c->n_packages; i++)
		uj += c->packages[i].sum_uj;
	*ret_energy_j = num15(uj / 1e6);
	*ret_throttles = throttles(c);
}
