/* What the samplers make of a node in a folder, and when they look at it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/sample_frames.h"

#define NODE "tests/fixtures/node"
#define S INT64_C(1000000000)
#define T0 (INT64_C(1790000000) * S)

#define TASK "cgroup:/system.slice/slurmstepd.scope/job_77/step_0/user/task_0"
#define OLD_TASK "cgroup:/slurm/uid_7/job_88/step_1/task_2"

struct expected {
	const char *scope, *name;
	double value; /* NAN: it must be unknown */
};

static void expect_values(const struct taken *t, const struct expected *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double got = taken_value(t, e[i].scope, e[i].name);
		if (isnan(e[i].value) ? !isnan(got) : got != e[i].value)
			fail_msg("%s %s is %.15g, expected %.15g", e[i].scope, e[i].name, got,
				 e[i].value);
	}
}

#define EXPECT(taken, ...)                                                                         \
	expect_values(&(taken), (const struct expected[]){ __VA_ARGS__ },                          \
		      sizeof((const struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

static struct samples *begin(const struct samples_options *o)
{
	struct samples *s = NULL;
	struct err err = { .text = "" };
	if (samples_new(&s, o, &err))
		fail_msg("samples_new: %s", err.text);
	return s;
}

static struct samples *node_begin(void)
{
	return begin(&(struct samples_options){ .root = NODE });
}

static struct sampled *add(struct samples *s, const char *stream, pid_t pid, const char *run,
			   const char *exec)
{
	struct sampled *p = NULL;
	struct sample_who who = { .stream = stream, .run = run, .exec = exec, .pid = pid };
	assert_int_equal(samples_add_process(s, &who, &p, NULL), 0);
	return p;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void the_node_is_what_its_files_say(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	assert_int_equal(samples_set_run(s, true, "R", "clean.0", NULL), 0);
	struct taken t = taken_at(s, T0, 5, 8);
	assert_int_equal(t.n, 1);
	assert_string_equal(t.frames[0].scope, "node");
	assert_string_equal(t.frames[0].run, "R");
	assert_string_equal(t.frames[0].exec, "clean.0");
	assert_int_equal(t.frames[0].real_ns, T0);
	assert_int_equal(t.frames[0].mono_ns, 5);
	double hz = (double)sysconf(_SC_CLK_TCK);
	EXPECT(t, { "node", "cpu_user_s", 1000 / hz }, { "node", "cpu_nice_s", 200 / hz },
	       { "node", "cpu_system_s", 300 / hz }, { "node", "cpu_idle_s", 40000 / hz },
	       { "node", "cpu_iowait_s", 50 / hz }, { "node", "cpu_irq_s", 6 / hz },
	       { "node", "cpu_softirq_s", 70 / hz }, { "node", "cpu_steal_s", 8 / hz },
	       { "node", "context_switches", 987654321 }, { "node", "forks", 4242 },
	       { "node", "running", 3 }, { "node", "blocked", 1 },
	       { "node", "mem_total_bytes", 65536000.0 * 1024 },
	       { "node", "mem_available_bytes", 32768000.0 * 1024 },
	       { "node", "mem_cached_bytes", 20480000.0 * 1024 },
	       { "node", "swap_free_bytes", 4194300.0 * 1024 },
	       { "node", "mem_slab_bytes", 512000.0 * 1024 }, { "node", "load_1min", 12.34 },
	       { "node", "page_faults", 7e9 }, { "node", "page_faults_major", 88 },
	       { "node", "swap_in_pages", 5 }, { "node", "swap_out_pages", 6 },
	       { "node", "oom_kills", 2 }, { "node", "numa_misses", 17 },
	       { "node", "numa_migrated_pages", 19 }, { "node", "huge_page_fallbacks", 4 },
	       { "node", "cpu_some_s", 1.5 }, { "node", "cpu_full_s", -1 },
	       { "node", "memory_some_s", 0.25 }, { "node", "memory_full_s", 0.125 },
	       { "node", "io_some_s", 9.000001 }, { "node", "io_full_s", 8.000002 });
	free(t.frames);
	samples_free(s);
}

static void devices_are_told_by_their_names(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	(void)add(s, "x", 4711, NULL, NULL);
	struct taken t = taken_at(s, T0, 5, 8);
	EXPECT(t, { "node", "disk.nvme0n1.reads", 1000 },
	       { "node", "disk.nvme0n1.read_bytes", 80000 * 512.0 },
	       { "node", "disk.nvme0n1.read_s", 1.5 }, { "node", "disk.nvme0n1.writes", 2000 },
	       { "node", "disk.nvme0n1.write_bytes", 160000 * 512.0 },
	       { "node", "disk.nvme0n1.write_s", 2.5 }, { "node", "disk.nvme0n1.busy_s", 3.5 },
	       { "node", "disk.nvme0n1.waiting_s", 4 }, { "node", "disk.sda.busy_s", 0.05 },
	       { "node", "disk.dm-0.writes", 8 }, { "node", "disk.sda1.reads", -1 },
	       { "node", "disk.nvme0n1p1.reads", -1 }, { "node", "disk.loop0.reads", -1 },
	       { "node", "disk.ram0.reads", -1 }, { "node", "disks_left_out", -1 },
	       /* eth0 and eth1; what came over the bridge came over them */
	       { "node", "net_rx_bytes", 1000010 }, { "node", "net_rx_packets", 2020 },
	       { "node", "net_rx_errors", 33 }, { "node", "net_rx_dropped", 44 },
	       { "node", "net_tx_bytes", 5000050 }, { "node", "net_tx_packets", 6060 },
	       { "node", "net_tx_errors", 77 }, { "node", "net_tx_dropped", 88 });
	EXPECT(t, { "node", "nfs./home.read_bytes", 5555 },
	       { "node", "nfs./home.write_bytes", 6666 }, { "node", "nfs./home.reads", 10 },
	       { "node", "nfs./home.read_s", 1.5 }, { "node", "nfs./home.writes", 20 },
	       { "node", "nfs./home.write_s", 2.5 }, { "node", "nfs./home.calls", 61 },
	       { "node", "nfs./opt/soft\\040ware.reads", 1 },
	       { "node", "nfs./opt/soft\\040ware.writes", NAN }, /* not in the file */
	       { "node", "lustre.scratch.reads", 13 },           /* two mounts */
	       { "node", "lustre.scratch.read_bytes", 7340132 },
	       { "node", "lustre.scratch.writes", 34 },
	       { "node", "lustre.scratch.write_bytes", 55555 },
	       { "node", "lustre.scratch.opens", 112 },
	       { "node", "lustre.home.reads", 0 }, /* mounted, and nothing was read */
	       { "node", "lustre.home.read_bytes", 0 });
	free(t.frames);
	samples_free(s);
}

static void a_process_is_what_its_files_say(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	(void)add(s, "boot-4711-777000.0", 4711, "R", "clean.1");
	struct taken t = taken_at(s, T0, 5, 8);
	const char *p = "process:boot-4711-777000.0";
	double hz = (double)sysconf(_SC_CLK_TCK);
	assert_non_null(taken_find(&t, p));
	assert_string_equal(taken_find(&t, p)->run, "R");
	assert_string_equal(taken_find(&t, p)->exec, "clean.1");
	assert_int_equal(taken_find(&t, p)->n, 14);
	EXPECT(t, { p, "cpu_s", 4000 / hz }, { p, "cpu_user_s", 2500 / hz },
	       { p, "cpu_system_s", 1500 / hz }, { p, "page_faults_minor", 1234 },
	       { p, "page_faults_major", 6 },
	       { p, "rss_bytes", 2560.0 * (double)sysconf(_SC_PAGESIZE) }, { p, "threads", 16 },
	       { p, "read_call_bytes", 1000001 }, { p, "write_call_bytes", 2000002 },
	       { p, "read_calls", 301 }, { p, "write_calls", 402 }, { p, "read_bytes", 4096 },
	       { p, "write_bytes", 8192 }, { p, "cancelled_write_bytes", 512 });
	free(t.frames);
	samples_free(s);
}

static void what_cant_be_read_is_unknown(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	(void)add(s, "a", 4713, NULL, NULL);
	struct taken t = taken_at(s, T0, 5, 8);
	double hz = (double)sysconf(_SC_CLK_TCK);
	assert_int_equal(t.n, 2); /* the root group is the node */
	EXPECT(t, { "process:a", "cpu_user_s", 2500 / hz }, { "process:a", "read_bytes", NAN },
	       { "process:a", "write_calls", NAN });
	free(t.frames);
	samples_free(s);

	s = begin(&(struct samples_options){ .root = "/nonexistent", .when_idle = true });
	(void)add(s, "a", 1, NULL, NULL);
	t = taken_at(s, T0, 5, 8);
	assert_int_equal(t.n, 1); /* no process is there; the node is */
	assert_string_equal(t.frames[0].scope, "node");
	assert_true(t.frames[0].n > 30);
	for (size_t i = 0; i < t.frames[0].n; i++)
		assert_true(isnan(t.frames[0].values[i].value));
	free(t.frames);
	samples_free(s);
}

static void groups_and_jobs_are_told(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	(void)add(s, "new", 4711, "R", "clean.0");
	(void)add(s, "old", 4712, "Q", "clean.0");
	struct taken t = taken_at(s, T0, 5, 8);
	assert_int_equal(t.n, 7);
	EXPECT(t, { TASK, "cpu_s", 5.000001 }, { TASK, "cpu_user_s", 3 },
	       { TASK, "cpu_system_s", 2.000001 }, { TASK, "cpu_throttled", 4 },
	       { TASK, "cpu_throttled_s", 0.75 }, { TASK, "memory_bytes", NAN },
	       { TASK, "io_read_bytes", NAN }, { TASK, "cpu_some_s", 1e-5 },
	       { TASK, "cpu_full_s", 9e-6 }, { TASK, "memory_some_s", 2e-5 },
	       { TASK, "memory_full_s", 19e-6 }, { TASK, "io_some_s", 3e-5 },
	       { TASK, "io_full_s", 29e-6 }, { "job:slurm:77", "cpu_s", 9 },
	       { "job:slurm:77", "memory_bytes", 777777 },
	       { "job:slurm:77", "memory_peak_bytes", NAN });
	EXPECT(t, { OLD_TASK, "cpu_s", 1.5 },
	       { OLD_TASK, "cpu_user_s", 100 / (double)sysconf(_SC_CLK_TCK) },
	       { OLD_TASK, "memory_bytes", 123456 }, { OLD_TASK, "memory_peak_bytes", 654321 },
	       /* its blkio group is the job's: what others did is in it */
	       { OLD_TASK, "io_read_bytes", NAN }, { OLD_TASK, "io_writes", NAN },
	       { OLD_TASK, "cpu_some_s", NAN }, { "job:slurm:88", "cpu_s", 2.5 },
	       { "job:slurm:88", "memory_bytes", 200000 },
	       { "job:slurm:88", "io_read_bytes", 1001 },
	       { "job:slurm:88", "io_write_bytes", 2002 }, { "job:slurm:88", "io_reads", 11 },
	       { "job:slurm:88", "io_writes", 22 });
	assert_string_equal(taken_find(&t, TASK)->run, "R");
	assert_string_equal(taken_find(&t, "job:slurm:88")->run, "Q");
	free(t.frames);
	samples_free(s);
}

static void a_group_of_two_runs_is_of_none(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	(void)add(s, "a", 4711, "R", "clean.0");
	struct sampled *b = add(s, "b", 4711, "R", "clean.0");
	struct sampled *c = add(s, "c", 4711, "R", "clean.1");
	struct taken t = taken_at(s, T0, 5, 8);
	assert_int_equal(t.n, 6); /* one group, one job, for all three */
	assert_string_equal(taken_find(&t, TASK)->run, "");
	assert_string_equal(taken_find(&t, "job:slurm:77")->exec, "");
	free(t.frames);
	samples_remove_process(s, c);
	t = taken_at(s, T0 + S, 6, 8);
	assert_string_equal(taken_find(&t, TASK)->run, "R");
	assert_string_equal(taken_find(&t, TASK)->exec, "clean.0");
	free(t.frames);
	samples_remove_process(s, b);
	samples_free(s);
}

static void only_what_is_asked_for(void **state)
{
	(void)state;
	static const char *const two[] = { "loadavg", "processes" };
	struct samples *s =
		begin(&(struct samples_options){ .root = NODE, .which = two, .n_which = 2 });
	(void)add(s, "a", 4711, NULL, NULL);
	struct taken t = taken_at(s, T0, 5, 8);
	assert_int_equal(t.n, 2);
	assert_int_equal(taken_find(&t, "node")->n, 1);
	EXPECT(t, { "node", "load_1min", 12.34 }, { "process:a", "threads", 16 });
	free(t.frames);
	samples_free(s);

	static const char *const groups[] = { "cgroups" };
	s = begin(&(struct samples_options){
		.root = NODE, .which = groups, .n_which = 1, .when_idle = true });
	assert_int_equal(samples_next(s, T0), SAMPLE_NEVER); /* nothing to read */
	(void)add(s, "a", 4711, NULL, NULL);
	t = taken_at(s, T0, 5, 8);
	assert_int_equal(t.n, 2);
	EXPECT(t, { TASK, "cpu_s", 5.000001 }, { "job:slurm:77", "cpu_s", 9 });
	free(t.frames);
	samples_free(s);

	static const char *const wrong[] = { "stat", "gpu" };
	struct err err = { .text = "" };
	assert_int_equal(
		samples_new(&s,
			    &(struct samples_options){ .root = NODE, .which = wrong, .n_which = 2 },
			    &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "'gpu'"));
	for (size_t i = 0; samples_name(i); i++)
		assert_non_null(strstr(err.text, samples_name(i))); /* the sentence has them all */
	assert_int_equal(
		samples_new(&s,
			    &(struct samples_options){ .root = NODE, .node_period_ns = 99999999 },
			    &err),
		-EINVAL);
}

/* ---- when ---------------------------------------------------------------------------------- */

static void instants_are_multiples_of_the_period(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	assert_int_equal(samples_next(s, T0), SAMPLE_NEVER); /* nothing is on the node */
	struct sampled *p = add(s, "a", 4711, NULL, NULL);
	assert_int_equal(samples_next(s, T0), T0 + S);
	assert_int_equal(samples_next(s, T0 + 1), T0 + S);
	assert_int_equal(samples_next(s, T0 + S - 1), T0 + S);
	assert_int_equal(samples_next(s, T0 + S + S / 2), T0 + 2 * S);

	/* Late by as much as may be, an hour of them: every instant once, no drift. */
	unsigned long random = 1;
	size_t frames = 0;
	int64_t now = T0;
	for (int i = 0; i < 3600; i++) {
		random = random * 1103515245 + 12345;
		int64_t late = (int64_t)(random >> 16) % (S * 9 / 10);
		struct taken t = taken_at(s, now + late, (uint64_t)(now - T0 + late), 1);
		frames += t.all > 0;
		free(t.frames);
		assert_int_equal(
			samples_take(s, (struct sample_time){ now + late + 1, 0 }, taken_put, &t),
			0); /* and no instant twice */
		now = samples_next(s, now + late);
		assert_int_equal(now, T0 + (i + 1) * S);
	}
	assert_int_equal(frames, 3600);
	samples_remove_process(s, p);
	assert_int_equal(samples_next(s, now), SAMPLE_NEVER);
	samples_free(s);
}

static void a_clock_that_was_set_stops_nothing(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	(void)add(s, "a", 4711, NULL, NULL);
	const int64_t steps[] = { T0, T0 - 3600 * S, T0 - 3599 * S, T0 + 86400 * S, 5 * S, 0 };
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct taken t = taken_at(s, steps[i], i, 8);
		assert_int_equal(t.n, 4);
		free(t.frames);
		assert_int_equal(samples_next(s, steps[i]), steps[i] + S);
	}
	samples_free(s);
}

static void processes_may_have_a_period_of_their_own(void **state)
{
	(void)state;
	struct samples *s = begin(
		&(struct samples_options){ .root = NODE, .process_period_ns = (uint64_t)S / 10 });
	(void)add(s, "a", 4711, NULL, NULL);
	unsigned process = 0, node = 0;
	for (int64_t now = T0; now < T0 + 3 * S; now = samples_next(s, now)) {
		struct taken t = taken_at(s, now, (uint64_t)(now - T0), 8);
		process += taken_find(&t, "process:a") != NULL;
		node += taken_find(&t, "node") != NULL;
		assert_true(now % (S / 10) == 0);
		free(t.frames);
	}
	assert_int_equal(process, 30);
	assert_int_equal(node, 3);
	samples_free(s);
}

static void while_it_is_quiet_nothing_is_read(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	(void)add(s, "a", 4711, NULL, NULL);
	free(taken_at(s, T0, 100, 8).frames);
	struct sample_cost before = samples_cost_all(s);
	samples_quiet(s, true, (uint64_t)(2 * S));
	samples_quiet(s, true, (uint64_t)(3 * S)); /* the same again */
	assert_int_equal(samples_next(s, T0), SAMPLE_NEVER);
	(void)add(s, "b", 4711, NULL, NULL); /* comes while it is quiet */
	for (int i = 1; i < 10; i++) {
		struct taken t = taken_at(s, T0 + i * S, (uint64_t)(2 * S + i * S), 8);
		assert_int_equal(t.n, 0);
		free(t.frames);
	}
	struct sample_cost during = samples_cost_all(s);
	assert_true(during.bytes == before.bytes && during.cpu_s == before.cpu_s &&
		    during.wakeups == before.wakeups);
	samples_quiet(s, false, (uint64_t)(2 * S + 15 * S / 2));
	samples_quiet(s, false, (uint64_t)(90 * S));
	assert_int_equal(samples_next(s, T0 + 9 * S + 1), T0 + 10 * S);
	struct taken t = taken_at(s, T0 + 10 * S, (uint64_t)(12 * S), 8);
	EXPECT(t, { "node", "quiet_s", 7.5 }, { "process:a", "quiet_s", 7.5 },
	       { TASK, "quiet_s", 7.5 }, { "job:slurm:77", "quiet_s", 7.5 });
	free(t.frames);
	t = taken_at(s, T0 + 11 * S, (uint64_t)(13 * S), 8);
	EXPECT(t, { "node", "quiet_s", -1 }, { "process:a", "quiet_s", -1 },
	       { TASK, "quiet_s", -1 });
	free(t.frames);
	(void)add(s, "late", 4711, NULL, NULL); /* was not there when it was quiet */
	t = taken_at(s, T0 + 12 * S, (uint64_t)(14 * S), 8);
	EXPECT(t, { "process:late", "quiet_s", -1 }, { "process:late", "threads", 16 });
	free(t.frames);
	samples_free(s);
}

static void an_idle_node_is_sampled_if_asked(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	free(taken_at(s, T0, 1, 1).frames);
	assert_true(samples_cost_all(s).wakeups == 0);
	assert_int_equal(samples_set_run(s, true, NULL, NULL, NULL), 0);
	assert_int_equal(samples_next(s, T0), T0 + S);
	assert_int_equal(samples_set_run(s, false, NULL, NULL, NULL), 0);
	assert_int_equal(samples_next(s, T0), SAMPLE_NEVER);
	samples_free(s);
	s = begin(&(struct samples_options){ .root = NODE, .when_idle = true });
	assert_int_equal(samples_next(s, T0), T0 + S);
	struct taken t = taken_at(s, T0, 1, 2);
	assert_int_equal(t.n, 1);
	free(t.frames);
	samples_free(s);
}

/* ---- what it costs ------------------------------------------------------------------------- */

static void shares_add_up_to_the_whole(void **state)
{
	(void)state;
	struct samples *s = node_begin();
	struct sampled *p[20] = { NULL };
	double cpu_s = 0, wakeups = 0, bytes = 0;
	unsigned long random = 7;
	p[0] = add(s, "first", 4711, NULL, NULL); /* somebody is always there */
	for (int i = 0; i < 200; i++) {
		random = random * 1103515245 + 12345;
		size_t k = 1 + (random >> 16) % 19;
		if (p[k]) {
			struct sample_cost c = samples_cost(s, p[k]);
			cpu_s += c.cpu_s;
			wakeups += c.wakeups;
			bytes += c.bytes;
			samples_remove_process(s, p[k]);
			p[k] = NULL;
		} else { /* some are gone at the first look */
			p[k] = add(s, "x", k % 5 ? 4711 : 99, NULL, NULL);
		}
		free(taken_at(s, T0 + i * S, (uint64_t)(i * S), 1).frames);
	}
	for (size_t k = 0; k < 20; k++) {
		struct sample_cost c = { 0 };
		if (p[k])
			c = samples_cost(s, p[k]);
		cpu_s += c.cpu_s;
		wakeups += c.wakeups;
		bytes += c.bytes;
	}
	struct sample_cost all = samples_cost_all(s);
	assert_true(all.wakeups == 200 && all.cpu_s > 0 && all.bytes > 200 * 1000.0);
	assert_true(fabs(wakeups - all.wakeups) < 1e-6);
	assert_true(fabs(cpu_s / all.cpu_s - 1) < 1e-9);
	assert_true(fabs(bytes / all.bytes - 1) < 1e-9);
	samples_free(s);
}

static unsigned open_descriptors(void)
{
	unsigned n = 0;
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

static void descriptors_are_bounded_and_given_back(void **state)
{
	(void)state;
	unsigned before = open_descriptors();
	struct samples *s = begin(&(struct samples_options){ .root = NODE, .max_descriptors = 7 });
	struct sampled *p[1000];
	for (size_t i = 0; i < 1000; i++)
		p[i] = add(s, "a", i % 2 ? 4711 : 4712, NULL, NULL);
	for (int i = 0; i < 3; i++) {
		struct taken t = taken_at(s, T0 + i * S, (uint64_t)(i * S), 1010);
		assert_int_equal(t.n, 1000 + 4 + 1);
		for (size_t k = 0; k < t.n; k++)
			if (t.frames[k].scope[0] == 'p')
				assert_true(t.frames[k].values[7].value == 512);
		free(t.frames);
	}
	assert_true(open_descriptors() <= before + 7 + 1); /* and one that tells of mounts */
	for (size_t i = 0; i < 1000; i += 3)
		samples_remove_process(s, p[i]);
	free(taken_at(s, T0 + 9 * S, (uint64_t)(9 * S), 1).frames);
	samples_free(s);
	assert_int_equal(open_descriptors(), before);
	samples_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_is_what_its_files_say),
		cmocka_unit_test(devices_are_told_by_their_names),
		cmocka_unit_test(a_process_is_what_its_files_say),
		cmocka_unit_test(what_cant_be_read_is_unknown),
		cmocka_unit_test(groups_and_jobs_are_told),
		cmocka_unit_test(a_group_of_two_runs_is_of_none),
		cmocka_unit_test(only_what_is_asked_for),
		cmocka_unit_test(instants_are_multiples_of_the_period),
		cmocka_unit_test(a_clock_that_was_set_stops_nothing),
		cmocka_unit_test(processes_may_have_a_period_of_their_own),
		cmocka_unit_test(while_it_is_quiet_nothing_is_read),
		cmocka_unit_test(an_idle_node_is_sampled_if_asked),
		cmocka_unit_test(shares_add_up_to_the_whole),
		cmocka_unit_test(descriptors_are_bounded_and_given_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
