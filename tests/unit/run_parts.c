/* The runner's smaller parts: commands, journals, the watch, scratch folders. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "lib/num.h"
#include "run/command.h"
#include "run/hash.h"
#include "run/journal_text.h"
#include "run/peers.h"
#include "run/scratch.h"
#include "run/watch.h"

static struct arena arena;
static char folder[] = "/tmp/roimeter-parts-XXXXXX";

/* ---- commands ---- */

static const char *mpirun_words[] = { "env", "-n{ranks}", "-t", "{threads}" };
static const char *mpirun_env[] = { "OMPI_*" };
static const struct starter starters[] = {
	{ .name = "mpirun",
	  .command = { mpirun_words, 4 },
	  .env = { mpirun_env, 1 },
	  .multi = true },
};

static int make(struct suite_case *c, const char *launcher, char *const *envp, struct command *ret,
		struct err *err)
{
	static char path[] = "PATH=/usr/bin:/bin";
	static char *none[] = { path, NULL };
	const struct command_options o = { .launchers = starters,
					   .n_launchers = 1,
					   .launcher = launcher,
					   .envp = envp ? envp : none };
	return command_make(ret, &arena, c, &o, err);
}

static void a_launcher_is_put_before_the_command(void **state)
{
	(void)state;
	const char *argv[] = { "true", "{ranks}" };
	struct suite_case c = { .app = "a",
				.name = "b",
				.command = { argv, 2 },
				.cwd = "/tmp",
				.ranks = 3,
				.threads = 2 };
	struct command cmd;
	assert_int_equal(make(&c, NULL, NULL, &cmd, NULL), 0);
	assert_int_equal(cmd.argv.n, 6);
	assert_string_equal(cmd.argv.items[1], "-n3");
	assert_string_equal(cmd.argv.items[3], "2");
	assert_string_equal(cmd.argv.items[5],
			    "{ranks}"); /* the application's own words are left alone */
	assert_string_equal(cmd.launcher, "mpirun");
	assert_string_equal(cmd.allow.items[0], "OMPI_*");
	assert_string_equal(cmd.env.items[0], "OMP_NUM_THREADS=2");
	assert_true(cmd.path[0] == '/' && cmd.exe[0] == '/');

	c.launcher = "direct";
	assert_int_equal(make(&c, NULL, NULL, &cmd, NULL), 0);
	assert_int_equal(cmd.argv.n, 2);
	c.launcher = NULL;
	c.ranks = 0;
	assert_int_equal(make(&c, NULL, NULL, &cmd, NULL), 0);
	assert_string_equal(cmd.launcher, "direct");
}

static void what_can_not_be_started_is_refused_by_name(void **state)
{
	(void)state;
	const char *argv[] = { "nowhere-such" };
	struct suite_case c = { .app = "a", .name = "b", .command = { argv, 1 }, .cwd = "/tmp" };
	struct command cmd;
	struct err err = { 0 };
	assert_int_equal(make(&c, NULL, NULL, &cmd, &err), -ENOENT);
	assert_non_null(strstr(err.text, "a/b: there is no program \"nowhere-such\" on PATH"));
	argv[0] = "./nowhere";
	assert_int_equal(make(&c, NULL, NULL, &cmd, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no file ./nowhere from folder /tmp"));
	argv[0] = "/etc/passwd";
	assert_int_equal(make(&c, NULL, NULL, &cmd, &err), -EACCES);
	assert_non_null(strstr(err.text, "not an executable file"));
	argv[0] = "true";
	c.cwd = "/nowhere";
	assert_int_equal(make(&c, NULL, NULL, &cmd, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no folder /nowhere"));
	c.cwd = "/tmp";
	c.launcher = "srun";
	assert_int_equal(make(&c, NULL, NULL, &cmd, &err), -EINVAL);
	assert_non_null(
		strstr(err.text, "launcher \"srun\" is not configured; there are direct, mpirun"));
}

static void an_input_set_outside_is_refused(void **state)
{
	(void)state;
	static char knob[] = "KNOB=1", path[] = "PATH=/usr/bin:/bin";
	char *envp[] = { path, knob, NULL };
	const char *argv[] = { "true" }, *inputs[] = { "KNOB" };
	struct suite_case c = {
		.app = "a", .name = "b", .command = { argv, 1 }, .inputs = { inputs, 1 }
	};
	struct command cmd;
	struct err err = { 0 };
	assert_int_equal(make(&c, NULL, envp, &cmd, &err), -EINVAL);
	assert_non_null(strstr(err.text, "KNOB"));
	struct env_pair pair = { "KNOB", "2" };
	c.env = &pair;
	c.n_env = 1;
	assert_int_equal(make(&c, NULL, envp, &cmd, NULL), 0);
}

static void hashes_are_of_the_content(void **state)
{
	(void)state;
	char one[HASH_TEXT_BYTES], two[HASH_TEXT_BYTES], path[128];
	(void)snprintf(path, sizeof path, "%s/hashed", folder);
	assert_int_equal(file_write(path, "abc", 3, NULL), 0);
	assert_int_equal(hash_file(path, one, NULL), 0);
	assert_int_equal(hash_file(path, two, NULL), 0);
	assert_string_equal(one, two);
	assert_string_equal(one, "06b05ab6733a618578af5f94892f3950"); /* xxhsum -H128 */
	assert_int_equal(file_write(path, "abd", 3, NULL), 0);
	assert_int_equal(hash_file(path, two, NULL), 0);
	assert_string_not_equal(one, two);
}

/* ---- the journal ---- */

static size_t got_n;
static struct capture got[8];

static int keep(void *arg, size_t i, struct capture *c)
{
	(void)arg;
	(void)i;
	if (got_n < 8)
		got[got_n++] = *c;
	else
		capture_done(c);
	return 0;
}

static void drop_all(void)
{
	for (size_t i = 0; i < got_n; i++)
		capture_done(&got[i]);
	got_n = 0;
}

static void fill_capture(struct capture *c, const char *name, enum end end)
{
	static struct watched seen = { .pid = 42,
				       .name = "x",
				       .cpus = "0-3",
				       .threads = 2,
				       .leaf = true,
				       .looked_real = INT64_C(1790000000143456789) };
	static struct blob blobs[] = { { BLOB_LOG, "a.roilog", NULL, 5 },
				       { BLOB_OUTPUT, "run.log", NULL, 0 } };
	static char log[] = "a\0b\nc", out[] = "";
	blobs[0].data = log;
	blobs[1].data = out;
	capture_init(c);
	c->row.name = arena_strdup(&c->arena, name);
	c->row.exit_code = 0;
	c->row.process_wall_s = 1.25;
	c->row.output_tail = "tail\n";
	static const char *reasons[] = { "power_cap" };
	static struct device_state device;
	block_clear(&device_state_block, &device);
	device.name = "GPU";
	device.clock_mean_hz = 1.5e9;
	device.throttle_reasons = (struct txts){ reasons, 1 };
	c->row.devices.items = &device;
	c->row.devices.n = 1;
	c->state.energy_denied = true;
	c->state.sampler_cpu_s = 0.125;
	c->end = end;
	c->start_real_ns = INT64_C(1790000000123456789);
	c->end_real_ns = INT64_C(1790000001123456789);
	c->seen = &seen;
	c->n_seen = 1;
	c->blobs = blobs;
	c->n_blobs = 2;
	c->state.oversubscribed = NO;
	assert_int_equal(capture_note(c, "a note"), 0);
}

static void a_journal_gives_back_what_it_took(void **state)
{
	(void)state;
	struct journal_case cases[] = { { "a", "one", "f1", "id-1", false, false, false },
					{ "a", "two", "f2", "", false, false, false } };
	struct buf b = { 0 };
	struct capture c;
	size_t good = 0;
	journal_put_head(&b, cases, 2);
	fill_capture(&c, "clean.0", END_EXITED);
	c.row.output_tail = "tail\xff\n"; /* programs print anything */
	assert_int_equal(journal_put_execution(&b, 1, &c), 0);
	capture_done(&c);
	fill_capture(&c, "clean.1", END_INTERRUPTED);
	assert_int_equal(journal_put_execution(&b, 1, &c), 0);
	capture_done(&c);
	buf_puts(&b, "{\"begin\":1,\"run_id\":\"id-2\",\"resumed\":true}\n"
		     "{\"stored\":0,\"interrupted\":false}\n");
	assert_int_equal(journal_count(b.data, b.len), 2);

	struct journal_case back[] = { { "a", "two", "f2", "", false, false, false },
				       { "a", "one", "f1", "", false, false, false } };
	assert_int_equal(journal_get(b.data, b.len, back, 2, keep, NULL, &good, NULL), 0);
	assert_int_equal(good, b.len);
	assert_int_equal(got_n, 1); /* the interrupted one is made again */
	assert_string_equal(got[0].row.name, "clean.0");
	assert_string_equal(got[0].row.output_tail, "tail\xef\xbf\xbd\n");
	assert_true(got[0].row.process_wall_s == 1.25 && isnan(got[0].row.load1) &&
		    isnan(got[0].others_running));
	assert_int_equal(got[0].row.devices.n, 1);
	assert_string_equal(got[0].row.devices.items[0].name, "GPU");
	assert_true(got[0].row.devices.items[0].clock_mean_hz == 1.5e9);
	assert_string_equal(got[0].row.devices.items[0].throttle_reasons.items[0], "power_cap");
	assert_true(got[0].state.energy_denied && got[0].state.sampler_cpu_s == 0.125);
	assert_true(got[0].start_real_ns == INT64_C(1790000000123456789));
	assert_int_equal(got[0].n_blobs, 2);
	assert_int_equal(got[0].blobs[0].n, 5);
	assert_memory_equal(got[0].blobs[0].data, "a\0b\nc", 5);
	assert_int_equal(got[0].seen[0].pid, 42);
	assert_string_equal(got[0].seen[0].cpus, "0-3");
	assert_null(got[0].seen[0].mems);
	assert_true(got[0].seen[0].looked_real == INT64_C(1790000000143456789));
	assert_string_equal(got[0].notes.items[0], "a note");
	assert_string_equal(back[0].run_id, "id-2");
	assert_string_equal(back[1].run_id, "id-1");
	assert_true(back[1].stored && !back[0].stored);
	assert_true(back[0].resumed && !back[1].resumed);
	drop_all();
	buf_done(&b);
}

/* Wherever the writer was killed, what was whole is read, and what follows is cut off. */
static void a_cut_journal_is_read_up_to_the_cut(void **state)
{
	(void)state;
	struct journal_case cases[] = { { "a", "one", "f1", "id-1", false, false, false } };
	struct buf b = { 0 };
	struct capture c;
	journal_put_head(&b, cases, 1);
	size_t head = b.len;
	for (int i = 0; i < 2; i++) {
		char name[16];
		(void)snprintf(name, sizeof name, "clean.%d", i);
		fill_capture(&c, name, END_EXITED);
		assert_int_equal(journal_put_execution(&b, 0, &c), 0);
		capture_done(&c);
	}
	size_t last = 0;
	for (size_t n = 0; n <= b.len; n++) {
		size_t good = 99;
		char *copy = malloc(n + 1); /* of this size, so that reading past it is seen */
		assert_non_null(copy);
		memcpy(copy, b.data, n);
		assert_int_equal(journal_get(copy, n, cases, 1, keep, NULL, &good, NULL), 0);
		assert_true(good <= n);
		assert_true(got_n >= last && got_n <= 2);
		last = got_n;
		if (n < head)
			assert_int_equal(got_n, 0);
		drop_all();
		free(copy);
	}
	assert_int_equal(last, 2);
	buf_done(&b);
}

static void another_fingerprint_starts_from_nothing(void **state)
{
	(void)state;
	struct journal_case then = { "a", "one", "f1", "id-1", false, false, false },
			    now = { "a", "one", "f9", "", false, false, false };
	struct buf b = { 0 };
	struct capture c;
	size_t good;
	journal_put_head(&b, &then, 1);
	fill_capture(&c, "clean.0", END_EXITED);
	assert_int_equal(journal_put_execution(&b, 0, &c), 0);
	capture_done(&c);
	assert_int_equal(journal_get(b.data, b.len, &now, 1, keep, NULL, &good, NULL), 0);
	assert_int_equal(got_n, 0);
	assert_string_equal(now.run_id, "");
	buf_done(&b);
}

/* ---- the watch ---- */

static void cpu_lists_are_counted(void **state)
{
	(void)state;
	assert_true(watch_count_cpus("0-3,8") == 5);
	assert_true(watch_count_cpus("7") == 1);
	assert_true(isnan(watch_count_cpus("")));
	assert_true(isnan(watch_count_cpus(NULL)));
	assert_true(isnan(watch_count_cpus("3-1")));
	assert_true(isnan(watch_count_cpus("x")));
}

static void put(const char *path, const char *text)
{
	char full[256];
	(void)snprintf(full, sizeof full, "%s/%s", folder, path);
	char *slash = strrchr(full, '/');
	*slash = 0;
	assert_int_equal(file_mkdirs(full, NULL), 0);
	*slash = '/';
	assert_int_equal(file_write(full, text, strlen(text), NULL), 0);
}

static void a_watch_tells_what_the_machine_did(void **state)
{
	(void)state;
	char proc[128], sys[128];
	struct watch w;
	struct watch_result result;
	struct execution row;
	struct tree_end end = {
		.user_s = 1, .system_s = 0.5, .keeper_cpu_s = NAN, .keeper_wakeups = NAN
	};
	(void)snprintf(proc, sizeof proc, "%s/proc", folder);
	(void)snprintf(sys, sizeof sys, "%s/sys", folder);
	put("proc/stat", "cpu  1000 0 0 9000 0 0 0 0 0 0\n");
	put("proc/loadavg", "1.50 1 1 2/300 999\n");
	put("proc/100/stat", "100 (keeper) S 1 100 100 0\n");
	put("proc/101/stat", "101 (a) b (x) R 100 101 101 0\n");
	put("proc/101/status",
	    "Name:\ta) b "
	    "(x\nPPid:\t100\nThreads:\t4\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n");
	put("proc/101/task/101/stat", "101 (a) b (x) R 100\n");
	put("proc/101/task/102/stat", "102 (a) R 100\n");
	put("proc/101/task/103/stat", "103 (a) R 100\n");
	put("proc/101/task/104/stat", "104 (a) S 100\n");
	put("proc/200/stat", "200 (other) R 1 200 200 0\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
	put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3600000\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
	put("sys/class/thermal/thermal_zone0/type", "acpitz\n");
	put("sys/class/thermal/thermal_zone0/temp", "99000\n");
	put("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
	put("sys/class/thermal/thermal_zone1/temp", "61500\n");

	block_clear(&execution_block, &row);
	watch_begin(&w, proc, sys, &arena);
	assert_true(watch_sample(&w, 100, NULL) >= 250000000);
	put("proc/stat", "cpu  1600 0 0 9200 0 0 0 200 0 0\n"); /* 6 s busy, 2 s stolen of 10 s */
	watch_end(&w, &end, 0, 0, &row, &result);

	assert_true(row.load1 == 1.5);
	assert_true(row.others_cpu_s > 4.3 && row.others_cpu_s <= 4.5);
	assert_true(fabs(result.steal_frac - 0.2) < 1e-9);
	assert_true(row.cpu_khz_min == 2400000 && row.cpu_khz_max == 3600000);
	assert_true(result.temperature_c == 61.5);
	assert_int_equal(w.n_seen, 1);
	assert_string_equal(w.seen[0].cpus, "0-1");
	assert_true(w.seen[0].threads == 4 && w.seen[0].leaf);
	assert_int_equal(result.oversubscribed, YES); /* three run on two CPUs */
	assert_string_equal(watch_governor(sys, &arena), "performance");
	watch_done(&w);
}

/* Two ranks on one CPU each want it, and the other CPUs do not help. */
static void ranks_pinned_to_one_cpu_are_a_crowd(void **state)
{
	(void)state;
	char proc[128];
	struct watch w;
	struct watch_result result;
	struct execution row;
	struct tree_end end = { .keeper_cpu_s = NAN, .keeper_wakeups = NAN };
	(void)snprintf(proc, sizeof proc, "%s/pinned", folder);
	put("pinned/301/stat", "301 (mpirun) S 300 1 1 0\n");
	put("pinned/301/status",
	    "Name:\tmpirun\nPPid:\t300\nThreads:\t3\nCpus_allowed_list:\t0-7\n");
	for (int rank = 302; rank < 304; rank++) {
		char path[64], text[128];
		(void)snprintf(path, sizeof path, "pinned/%d/stat", rank);
		(void)snprintf(text, sizeof text, "%d (x) R 301 1 1 0\n", rank);
		put(path, text);
		(void)snprintf(path, sizeof path, "pinned/%d/task/%d/stat", rank, rank);
		put(path, text);
		(void)snprintf(path, sizeof path, "pinned/%d/status", rank);
		put(path, "Name:\tx\nPPid:\t301\nThreads:\t1\nCpus_allowed_list:\t0\n");
	}
	block_clear(&execution_block, &row);
	watch_begin(&w, proc, "/nowhere", &arena);
	(void)watch_sample(&w, 300, NULL);
	watch_end(&w, &end, 0, 0, &row, &result);
	assert_int_equal(result.oversubscribed, YES);
	assert_true(row.threads_total == 5);
	assert_int_equal(w.n_seen, 3);
	assert_false(w.seen[0].leaf);
	watch_done(&w);

	put("pinned/303/status", "Name:\tx\nPPid:\t301\nThreads:\t1\nCpus_allowed_list:\t1\n");
	watch_begin(&w, proc, "/nowhere", &arena);
	(void)watch_sample(&w, 300, NULL);
	watch_end(&w, &end, 0, 0, &row, &result);
	assert_int_equal(result.oversubscribed, NO);
	watch_done(&w);
}

static void what_can_not_be_read_is_not_zero(void **state)
{
	(void)state;
	struct watch w;
	struct watch_result result;
	struct execution row;
	struct tree_end end = {
		.user_s = NAN, .system_s = NAN, .keeper_cpu_s = NAN, .keeper_wakeups = NAN
	};
	block_clear(&execution_block, &row);
	watch_begin(&w, "/nowhere", "/nowhere", &arena);
	(void)watch_sample(&w, 100, NULL);
	watch_end(&w, &end, 0, 0, &row, &result);
	assert_true(isnan(row.load1) && isnan(row.others_cpu_s) && isnan(row.cpu_khz_min) &&
		    isnan(row.threads_total));
	assert_true(isnan(result.steal_frac) && isnan(result.temperature_c));
	assert_int_equal(result.oversubscribed, UNKNOWN);
	assert_null(watch_governor("/nowhere", &arena));
	watch_done(&w);
}

/* ---- scratch, peers, files of timers ---- */

static void a_dead_scratch_is_swept_a_living_one_is_not(void **state)
{
	(void)state;
	struct scratch living, dead;
	assert_int_equal(scratch_open(&living, folder, NULL), 0);
	assert_int_equal(scratch_open(&dead, folder, NULL), 0);
	(void)close(dead.lock); /* as the kernel does for a killed run */
	scratch_sweep(folder);
	assert_int_equal(access(living.path, F_OK), 0);
	assert_int_not_equal(access(dead.path, F_OK), 0);
	scratch_close(&living);
	assert_int_not_equal(access(dead.path, F_OK), 0);
	struct err err = { 0 };
	assert_int_not_equal(scratch_open(&living, "/nowhere", &err), 0);
	assert_non_null(strstr(err.text, "/nowhere"));
	scratch_close(&living);
}

static void another_run_is_noticed(void **state)
{
	(void)state;
	struct peers one, two;
	peers_join(&one);
	double before = peers_count(&one);
	peers_join(&two);
	assert_true(peers_count(&one) >= before + 1 || peers_count(&two) >= 1);
	assert_true(one.slot != two.slot);
	peers_leave(&two);
	peers_leave(&one);
}

static void only_files_of_this_execution_are_taken(void **state)
{
	(void)state;
	char work[128];
	const char *globs[] = { "run.log", "out*.txt" };
	const struct txts patterns = { globs, 2 };
	struct stamps before;
	struct capture c;
	(void)snprintf(work, sizeof work, "%s/work", folder);
	put("work/out_old.txt", "old");
	put("work/deep/out_changed.txt", "old");
	assert_int_equal(stamps_take(&before, &arena, work, &patterns), 0);
	put("work/deep/out_changed.txt", "new!");
	put("work/out_new.txt", "new");
	put("work/other", "x");
	put("work/run.log", "the program's own file of this name");
	capture_init(&c);
	assert_int_equal(capture_files(&c, work, &patterns, &before, NULL), 0);
	assert_int_equal(c.n_blobs, 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(strcmp(c.blobs[i].name, "deep/out_changed.txt") == 0 ||
			    strcmp(c.blobs[i].name, "out_new.txt") == 0);
	capture_done(&c);
}

static void a_long_output_keeps_both_ends(void **state)
{
	(void)state;
	char path[128];
	struct capture c;
	(void)snprintf(path, sizeof path, "%s/long", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "first\n", 6), 6);
	assert_int_equal(pwrite(fd, "\nlast line\n", 11, (off_t)40 << 20), 11);
	(void)close(fd);
	capture_init(&c);
	assert_int_equal(capture_output(&c, path, NULL), 0);
	assert_true(c.output_cut);
	assert_int_equal(c.blobs[0].n, (size_t)32 << 20);
	assert_memory_equal(c.blobs[0].data, "first\n", 6);
	assert_memory_equal(c.blobs[0].data + c.blobs[0].n - 11, "\nlast line\n", 11);
	capture_done(&c);
	(void)unlink(path);
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : 1;
}

static int finish(void **state)
{
	(void)state;
	arena_free(&arena);
	return file_remove_tree(folder, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launcher_is_put_before_the_command),
		cmocka_unit_test(what_can_not_be_started_is_refused_by_name),
		cmocka_unit_test(an_input_set_outside_is_refused),
		cmocka_unit_test(hashes_are_of_the_content),
		cmocka_unit_test(a_journal_gives_back_what_it_took),
		cmocka_unit_test(a_cut_journal_is_read_up_to_the_cut),
		cmocka_unit_test(another_fingerprint_starts_from_nothing),
		cmocka_unit_test(cpu_lists_are_counted),
		cmocka_unit_test(a_watch_tells_what_the_machine_did),
		cmocka_unit_test(ranks_pinned_to_one_cpu_are_a_crowd),
		cmocka_unit_test(what_can_not_be_read_is_not_zero),
		cmocka_unit_test(a_dead_scratch_is_swept_a_living_one_is_not),
		cmocka_unit_test(another_run_is_noticed),
		cmocka_unit_test(only_files_of_this_execution_are_taken),
		cmocka_unit_test(a_long_output_keeps_both_ends),
	};
	return cmocka_run_group_tests(tests, begin, finish);
}
