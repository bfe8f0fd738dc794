/* Samples of /proc and /sys, values found by key. */
#define _GNU_SOURCE
#include "run/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/num.h"
#include "run/cgroup.h"

#define SEEN_MAX 4096
#define RATE_NS INT64_C(250000000)  /* not more often */
#define SLOW_NS INT64_C(1000000000) /* once it is clear what runs where */
#define QUIET 100                   /* a sample may take 1/QUIET of the time to the next */
#define FREQUENCY_CPUS 8            /* reading a frequency may wake that CPU: only a few */
#define STATES_MAX 512              /* threads whose state is looked at in one sample */

/* A small file, cut at the buffer's end; "" if it can't be read. */
static const char *read_text(const char *path, char *text, size_t bytes)
{
	text[0] = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return text;
	ssize_t n = read(fd, text, bytes - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = 0;
	return text;
}

/* The text after "\nKey:" and blanks up to the end of its line, cut; false if it isn't there. */
static bool value_of(const char *text, const char *key, char *ret, size_t bytes)
{
	size_t n = strlen(key);
	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		const char *at = line + n + 1 + strspn(line + n + 1, " \t");
		size_t len = strcspn(at, "\n");
		if (len >= bytes)
			return false;
		memcpy(ret, at, len);
		ret[len] = 0;
		return true;
	}
	return false;
}

static double number_of(const char *text, const char *key)
{
	char value[64], *end = NULL;
	if (!value_of(text, key, value, sizeof value))
		return NAN;
	double x = strtod(value, &end);
	return end == value ? (double)NAN : x;
}

double watch_count_cpus(const char *list)
{
	double n = 0;
	if (!list || !*list)
		return NAN;
	for (const char *p = list; *p;) {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;
		if (end == p)
			return NAN;
		if (*end == '-') {
			p = end + 1;
			last = strtoul(p, &end, 10);
			if (end == p || last < first)
				return NAN;
		}
		n += (double)(last - first + 1);
		if (*end && *end != ',')
			return NAN;
		p = *end ? end + 1 : end;
	}
	return n;
}

/* ---- the machine ---- */

/* The first line of /proc/stat, in ticks: user nice system idle iowait irq softirq steal. */
static struct watch_cpu read_cpu(const char *proc)
{
	struct watch_cpu none = { NAN, NAN, NAN };
	char path[512], text[512];
	double v[8] = { 0 };
	(void)snprintf(path, sizeof path, "%s/stat", proc);
	if (sscanf(read_text(path, text, sizeof text), "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0],
		   &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
		return none;
	double tick = (double)sysconf(_SC_CLK_TCK), total = 0;
	for (int i = 0; i < 8; i++)
		total += v[i];
	return (struct watch_cpu){ .busy = (v[0] + v[1] + v[2] + v[5] + v[6]) / tick,
				   .steal = v[7] / tick,
				   .total = total / tick };
}

static double read_load(const char *proc)
{
	char path[512], text[128], *end = NULL;
	(void)snprintf(path, sizeof path, "%s/loadavg", proc);
	double x = strtod(read_text(path, text, sizeof text), &end);
	return end == text ? (double)NAN : x;
}

static void read_frequencies(struct watch *w)
{
	for (int cpu = 0, found = 0; cpu < FREQUENCY_CPUS * 8 && found < FREQUENCY_CPUS; cpu++) {
		char path[512], text[64];
		(void)snprintf(path, sizeof path,
			       "%s/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", w->sys, cpu);
		double khz = strtod(read_text(path, text, sizeof text), NULL);
		if (khz <= 0) {
			if (cpu == 0)
				return; /* no such driver: a virtual machine, mostly */
			continue;
		}
		found++;
		w->khz_min = fmin(w->khz_min, khz);
		w->khz_max = fmax(w->khz_max, khz);
		w->khz_sum += khz;
		w->khz_n++;
	}
}

/* Package sensors by name: a disk's or a battery's heat says nothing of the CPU. */
static bool is_cpu_sensor(const char *name)
{
	static const char *const names[] = { "x86_pkg_temp", "cpu-thermal", "cpu_thermal",
					     "coretemp",     "k10temp",     "zenpower",
					     "soc-thermal" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void read_sensors(struct watch *w, const char *folder, const char *name, const char *value)
{
	char path[1024], text[64];
	(void)snprintf(path, sizeof path, "%s/%s", w->sys, folder);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/%s/%.200s/%s", w->sys, folder, e->d_name,
			       name);
		if (!is_cpu_sensor(read_text(path, text, sizeof text)))
			continue;
		(void)snprintf(path, sizeof path, "%s/%s/%.200s/%s", w->sys, folder, e->d_name,
			       value);
		double milli = strtod(read_text(path, text, sizeof text), NULL);
		if (milli > 0)
			w->temperature_c = fmax(w->temperature_c, milli / 1000);
	}
	(void)closedir(dir);
}

static void read_temperature(struct watch *w)
{
	read_sensors(w, "class/thermal", "type", "temp");
	read_sensors(w, "class/hwmon", "name", "temp1_input");
}

const char *watch_governor(const char *sys, struct arena *a)
{
	char path[512], text[64];
	(void)snprintf(path, sizeof path, "%s/devices/system/cpu/cpu0/cpufreq/scaling_governor",
		       sys);
	(void)read_text(path, text, sizeof text);
	text[strcspn(text, "\n")] = 0;
	return text[0] ? arena_strdup(a, text) : NULL;
}

static void read_own(double *ret_cpu_s, double *ret_wakeups)
{
	struct rusage u;
	(void)getrusage(RUSAGE_SELF, &u);
	*ret_cpu_s = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 +
		     (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
	*ret_wakeups = (double)u.ru_nvcsw;
}

void watch_begin(struct watch *w, const char *proc, const char *sys, struct arena *a)
{
	*w = (struct watch){ .proc = proc, .sys = sys, .arena = a };
	w->threads_total = w->khz_min = w->khz_max = w->temperature_c = NAN;
	w->load1 = read_load(proc);
	read_temperature(w);
	watch_counters_begin(&w->counters, sys);
	w->at_start = read_cpu(proc);
	read_own(&w->own_cpu_s, &w->own_wakeups);
}

void watch_done(struct watch *w)
{
	pids_done(&w->pids);
}

/* ---- the processes ---- */

static struct watched *watched_of(struct watch *w, pid_t pid, const char *name)
{
	for (size_t i = 0; i < w->n_seen; i++)
		if (w->seen[i].pid == pid) {
			/* The same number with another name: exec, and what counts is the last. */
			if (strcmp(w->seen[i].name, name) != 0)
				w->seen[i].name = arena_strdup(w->arena, name);
			return w->seen[i].name ? &w->seen[i] : NULL;
		}
	if (w->n_seen >= SEEN_MAX)
		return NULL;
	struct watched *seen =
		arena_grow(w->arena, w->seen, &w->seen_cap, w->n_seen + 1, sizeof *seen);
	char *copy = arena_strdup(w->arena, name);
	if (!seen || !copy)
		return NULL;
	w->seen = seen;
	seen = &w->seen[w->n_seen++];
	*seen = (struct watched){ .pid = pid, .name = copy, .threads = NAN };
	return seen;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static const char *keep_text(struct watch *w, const char *old, const char *text)
{
	return old && strcmp(old, text) == 0 ? old : arena_strdup(w->arena, text);
}

/* Adds its threads to *threads. */
static void look_at(struct watch *w, pid_t pid, double *threads)
{
	char path[512], text[4096], value[1024];
	(void)snprintf(path, sizeof path, "%s/%ld/status", w->proc, (long)pid);
	(void)read_text(path, text, sizeof text);
	if (!value_of(text, "Name", value, sizeof value))
		return; /* it has ended */
	struct watched *p = watched_of(w, pid, value);
	double n = number_of(text, "Threads");
	if (!p || !known(n) || n < 1)
		return;
	p->parent = (pid_t)number_of(text, "PPid");
	p->threads = fmax(p->threads, n);
	p->threads_now = n;
	p->sample = w->samples;
	p->looked_real = now_ns(CLOCK_REALTIME);
	if (value_of(text, "Cpus_allowed_list", value, sizeof value))
		p->cpus = keep_text(w, p->cpus, value);
	if (value_of(text, "Mems_allowed_list", value, sizeof value))
		p->mems = keep_text(w, p->mems, value);
	*threads += n;
}

/* Threads of a process that run or want to. */
static double running_of(struct watch *w, pid_t pid, int *budget)
{
	char path[512], text[512];
	double n = 0;
	(void)snprintf(path, sizeof path, "%s/%ld/task", w->proc, (long)pid);
	DIR *dir = opendir(path);
	if (!dir)
		return 0;
	for (struct dirent *e; *budget > 0 && (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		(*budget)--;
		(void)snprintf(path, sizeof path, "%s/%ld/task/%.20s/stat", w->proc, (long)pid,
			       e->d_name);
		const char *state = strrchr(read_text(path, text, sizeof text), ')');
		n += state && state[1] == ' ' && state[2] == 'R';
	}
	(void)closedir(dir);
	return n;
}

/* Are there more running threads than CPUs, among the processes with this CPU set (NULL: all of
 * them, on the largest set)? The states are looked at only where there could be. */
static bool crowded_on(struct watch *w, const char *set, int *budget)
{
	double cpus = NAN, threads = 0, running = 0;
	for (size_t i = 0; i < w->n_seen; i++) {
		const struct watched *p = &w->seen[i];
		if (p->sample != w->samples || (set && strcmp(p->cpus ? p->cpus : "", set) != 0))
			continue;
		cpus = fmax(cpus, watch_count_cpus(p->cpus));
		threads += p->threads_now;
	}
	if (!known(cpus) || threads <= cpus)
		return false;
	for (size_t i = 0; i < w->n_seen; i++) {
		const struct watched *p = &w->seen[i];
		if (p->sample == w->samples && (!set || strcmp(p->cpus ? p->cpus : "", set) == 0))
			running += running_of(w, p->pid, budget);
	}
	return running > cpus;
}

/* Each set by itself too: two ranks that a launcher pinned to one CPU are not helped by others
 * that are idle. */
static bool is_crowded(struct watch *w)
{
	int budget = STATES_MAX;
	if (crowded_on(w, NULL, &budget))
		return true;
	for (size_t i = 0; i < w->n_seen; i++) {
		const struct watched *p = &w->seen[i];
		bool first = p->sample == w->samples && p->cpus;
		for (size_t k = 0; first && k < i; k++)
			first = w->seen[k].sample != w->samples || !w->seen[k].cpus ||
				strcmp(w->seen[k].cpus, p->cpus) != 0;
		if (first && crowded_on(w, p->cpus, &budget))
			return true;
	}
	return false;
}

static void find_leaves(struct watch *w)
{
	for (size_t i = 0; i < w->n_seen; i++) {
		w->seen[i].leaf = true;
		for (size_t k = 0; k < w->n_seen; k++)
			if (w->seen[k].parent == w->seen[i].pid)
				w->seen[i].leaf = false;
	}
}

int64_t watch_sample(struct watch *w, pid_t root, const char *group)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC);
	double threads = 0;
	int rc = group ? cgroup_pids(group, &w->pids) : -ENOENT;
	if (rc)
		rc = procs_below(w->proc, root, &w->pids);
	if (!rc && w->pids.n) {
		w->samples++;
		for (size_t i = 0; i < w->pids.n; i++)
			look_at(w, w->pids.items[i], &threads);
		if (threads > 0) {
			w->threads_total = fmax(w->threads_total, threads);
			w->crowded += is_crowded(w);
		} else {
			w->samples--; /* all had ended */
		}
	}
	read_frequencies(w);
	watch_counters_tick(&w->counters);
	int64_t quiet = (now_ns(CLOCK_MONOTONIC) - begin) * QUIET;
	int64_t rate = w->samples < 8 ? RATE_NS : SLOW_NS;
	return quiet > rate ? quiet : rate;
}

/* ---- afterwards ---- */

static double others(const struct watch *w, const struct watch_cpu *now, const struct tree_end *end,
		     double runner_cpu_s)
{
	double mine = end->user_s + end->system_s + runner_cpu_s +
		      (known(end->keeper_cpu_s) ? end->keeper_cpu_s : 0);
	double rest = now->busy - w->at_start.busy - mine;
	if (!known(rest))
		return NAN;
	/* The kernel counts all in ticks, ours finer: a small negative rest is none. */
	return rest > 0 ? rest : 0;
}

static void fill_row(const struct watch *w, const struct tree_end *end, struct execution *row)
{
	row->load1 = num15(w->load1);
	row->user_s = num15(end->user_s);
	row->system_s = num15(end->system_s);
	row->voluntary_switches = end->voluntary;
	row->involuntary_switches = end->involuntary;
	row->minor_faults = end->minor;
	row->major_faults = end->major;
	row->device_read_bytes = end->device_read_bytes;
	row->device_write_bytes = end->device_write_bytes;
	row->cgroup_read_bytes = end->group_read_bytes;
	row->cgroup_write_bytes = end->group_write_bytes;
	row->max_rss_bytes = end->max_rss_bytes > 0 ? end->max_rss_bytes : (double)NAN;
	row->cpu_khz_min = w->khz_min;
	row->cpu_khz_max = w->khz_max;
	row->cpu_khz_mean = w->khz_n > 0 ? num15(w->khz_sum / w->khz_n) : (double)NAN;
	row->threads_total = w->threads_total;
}

void watch_end(struct watch *w, const struct tree_end *end, double sampler_cpu_s,
	       double sampler_wakeups, struct execution *row, struct watch_result *ret)
{
	double own_cpu_s, own_wakeups;
	struct watch_cpu now = read_cpu(w->proc);
	watch_counters_end(&w->counters, &row->cpu_throttles, &row->cpu_energy_j);
	read_own(&own_cpu_s, &own_wakeups);
	own_cpu_s += sampler_cpu_s - w->own_cpu_s;
	own_wakeups += sampler_wakeups - w->own_wakeups;
	ret->sampler_cpu_s = sampler_cpu_s;
	ret->energy_denied = w->counters.denied;
	read_temperature(w);
	find_leaves(w);
	fill_row(w, end, row);
	row->others_cpu_s = num15(others(w, &now, end, own_cpu_s));

	double span = now.total - w->at_start.total, steal = now.steal - w->at_start.steal;
	ret->steal_frac = span > 0 ? num15(steal / span) : (double)NAN;
	ret->temperature_c = w->temperature_c;
	ret->runner_cpu_s = own_cpu_s + (known(end->keeper_cpu_s) ? end->keeper_cpu_s : 0);
	ret->wakeups = own_wakeups + (known(end->keeper_wakeups) ? end->keeper_wakeups : 0);
	ret->oversubscribed = w->samples == 0 ? UNKNOWN : w->crowded * 2 > w->samples ? YES : NO;
}
