/* wrap: malloc calloc realloc */
/* The samplers in a world that does as it likes: files that are cut, huge, missing or no files,
 * devices that come, processes that go, no memory; and this machine's own /proc. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_frames.h"

#define NODE "tests/fixtures/node"
#define S INT64_C(1000000000)
#define T0 (INT64_C(1790000000) * S)

static char root[] = "/tmp/roimeter-sample.XXXXXX";

static int root_make(void **state)
{
	(void)state;
	memcpy(root + sizeof root - 7, "XXXXXX", 6);
	return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state)
{
	(void)state;
	return file_remove_tree(root, NULL);
}

/* In place, as the kernel's files change under a descriptor that is kept. */
static void put_bytes(const char *path, const void *bytes, size_t n)
{
	char full[300];
	(void)snprintf(full, sizeof full, "%s%s", root, path);
	*strrchr(full, '/') = 0;
	assert_int_equal(file_mkdirs(full, NULL), 0);
	full[strlen(full)] = '/';
	int fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	assert_int_equal(ftruncate(fd, (off_t)n), 0); /* not to 0 first: ext4 would sync it */
	(void)close(fd);
}

static void put_file(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static void remove_file(const char *path)
{
	char full[300];
	(void)snprintf(full, sizeof full, "%s%s", root, path);
	assert_int_equal(file_remove_tree(full, NULL), 0);
}

static struct samples *begin(const char *which)
{
	struct samples *s = NULL;
	struct samples_options o = { .root = root, .when_idle = true };
	if (which) {
		o.which = &which;
		o.n_which = 1;
	}
	assert_int_equal(samples_new(&s, &o, NULL), 0);
	return s;
}

static double node_value(struct samples *s, int at_s, const char *name)
{
	struct taken t = taken_at(s, T0 + at_s * S, (uint64_t)(at_s * S), 4);
	double x = taken_value(&t, "node", name);
	free(t.frames);
	return x;
}

/* ---- texts that are not what they should be -------------------------------------------------- */

/* Cut anywhere, a number is the true one or unknown; none is ever made up. Sums of lines count what
 * is there. */
static void a_cut_file_tells_the_truth_or_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *path, *which;
		bool sums;
	} cuts[] = {
		{ "/proc/stat", "stat", false },
		{ "/proc/meminfo", "meminfo", false },
		{ "/proc/vmstat", "vmstat", false },
		{ "/proc/loadavg", "loadavg", false },
		{ "/proc/pressure/io", "pressure", false },
		{ "/proc/net/dev", "net", true },
		{ "/proc/diskstats", "disks", false },
		{ "/proc/self/mountstats", "nfs", true },
	};
	put_file("/sys/block/sda/size", "1\n");
	put_file("/sys/class/net/eth0/device/vendor", "1\n");
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		struct buf whole = { .max = 1 << 20 };
		char path[100];
		(void)snprintf(path, sizeof path, NODE "%s", cuts[i].path);
		assert_int_equal(file_read(&whole, path, NULL), 0);
		put_bytes(cuts[i].path, whole.data, whole.len);
		struct samples *s = begin(cuts[i].which);
		struct taken full = taken_at(s, T0, 0, 1);
		assert_true(full.frames[0].n > 0);
		for (size_t n = 0; n < whole.len; n++) {
			put_bytes(cuts[i].path, whole.data, n);
			struct taken t =
				taken_at(s, T0 + (int64_t)(n + 1) * S, (n + 1) * (uint64_t)S, 1);
			for (size_t k = 0; k < t.frames[0].n; k++) {
				const char *name = t.frames[0].values[k].name;
				double x = t.frames[0].values[k].value;
				double true_x = taken_value(&full, "node", name);
				if (!isnan(x) && x != true_x && !(cuts[i].sums && x < true_x))
					fail_msg("%s cut at %zu: %s is %.15g", cuts[i].path, n,
						 name, x);
			}
			free(t.frames);
		}
		free(full.frames);
		samples_free(s);
		buf_done(&whole);
	}
}

static void nonsense_in_every_file_is_survived(void **state)
{
	(void)state;
	static const char *const paths[] = {
		"/proc/stat",
		"/proc/meminfo",
		"/proc/loadavg",
		"/proc/vmstat",
		"/proc/pressure/cpu",
		"/proc/pressure/io",
		"/proc/diskstats",
		"/proc/net/dev",
		"/proc/self/mountstats",
		"/proc/self/mountinfo",
		"/proc/7/stat",
		"/proc/7/io",
		"/proc/7/cgroup",
		"/proc/fs/lustre/llite/a-0/stats",
	};
	static const char *const texts[] = {
		"",
		"\n",
		"\n\n\n",
		" ",
		"cpu\n",
		"cpu \n",
		"cpu -1 x 99999999999999999999 1e5 0x10\n",
		"MemTotal:\nMemTotal: kB\nMemTotal: -5 kB\nMemTotal: 18446744073709551616 kB\n",
		"some total=\nsome total=x\nfull total=1 total=2\n",
		"a b c d e f g h i j k l m n\n",
		"8 0 sda\n8 0 sda 1\n8 0\n8\n",
		"|||\n| | |\nface |bytes|bytes\neth0:\n:\n:1 2\n",
		"device x mounted on /y with fstype nfs4\nbytes:\nper-op statistics\nREAD:\n:\n",
		"device mounted on fstype nfs4\ndevice\ndevice mounted on\n",
		"7 (x) S\n",
		"7 x) S 1\n)",
		"0::/\n0::\n::\n",
		"0::/a/b\n",
		"snapshot_time\nread_bytes\nread_bytes x samples\n",
		"1 2 3:4 / /m rw - cgroup2 x rw\n1 2 3:4 / /m rw - cgroup\n1 2 3:4 -\n- - -\n",
	};
	char big[70000];
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = 0;
	for (size_t i = 0; i <= sizeof texts / sizeof *texts; i++) {
		for (size_t k = 0; k < sizeof paths / sizeof *paths; k++)
			put_file(paths[k], i < sizeof texts / sizeof *texts ? texts[i] : big);
		struct samples *s = begin(NULL);
		struct sampled *p;
		struct sample_who who = { .stream = "x", .pid = 7 };
		assert_int_equal(samples_add_process(s, &who, &p, NULL), 0);
		struct taken t = taken_at(s, T0, 1, 5);
		for (size_t f = 0; f < t.n; f++)
			for (size_t v = 0; v < t.frames[f].n; v++)
				if (t.frames[f].values[v].value < 0 ||
				    isinf(t.frames[f].values[v].value))
					fail_msg("text %zu: %s", i, t.frames[f].values[v].name);
		free(t.frames);
		samples_free(s);
	}
}

static void bytes_that_are_no_text_are_survived(void **state)
{
	(void)state;
	char bytes[4096];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 31 % 257);
	put_bytes("/proc/self/mountstats", "device \0\377 mounted on /\377\0x with fstype nfs4\n",
		  40);
	put_bytes("/proc/diskstats", "8 0 \377sda\0 1 2 3 4 5 6 7 8 9 10 11\n", 35);
	put_bytes("/proc/meminfo", bytes, sizeof bytes);
	struct samples *s = begin(NULL);
	struct taken t = taken_at(s, T0, 1, 5); /* the names in the frame are UTF-8 */
	assert_int_equal(t.n, 1);
	free(t.frames);
	samples_free(s);
}

/* Past the ceiling a file is cut behind a line. */
static void a_huge_file_is_read_as_far_as_it_goes(void **state)
{
	(void)state;
	size_t room = 3 << 20;
	char *text = malloc(room);
	assert_non_null(text);
	size_t n = (size_t)snprintf(text, room, "pgfault 5\n");
	while (n < room - 100)
		n += (size_t)snprintf(text + n, room - n, "nr_%zu 123456789\n", n);
	n += (size_t)snprintf(text + n, room - n, "oom_kill 3\n");
	put_bytes("/proc/vmstat", text, n);
	struct samples *s = begin("vmstat");
	assert_true(node_value(s, 0, "page_faults") == 5);
	assert_true(isnan(node_value(s, 1, "oom_kills")));
	assert_true(samples_cost_all(s).bytes <= 2.0 * (1 << 20));
	memset(text, '7', n); /* one line without an end */
	put_bytes("/proc/vmstat", text, n);
	assert_true(isnan(node_value(s, 2, "page_faults")));
	free(text);
	samples_free(s);
}

/* ---- change -------------------------------------------------------------------------------- */

static void counters_are_told_as_they_are(void **state)
{
	(void)state;
	struct samples *s = begin("disks");
	put_file("/sys/block/sda/size", "1\n");
	put_file("/proc/diskstats", "8 0 sda 1 0 4294967295 0 0 0 0 0 0 0 0\n");
	assert_true(node_value(s, 0, "disk.sda.read_bytes") == 4294967295.0 * 512);
	put_file("/proc/diskstats", "8 0 sda 2 0 1 0 0 0 0 0 0 0 0\n"); /* 32 bits that wrapped */
	assert_true(node_value(s, 1, "disk.sda.read_bytes") == 512);
	put_file("/proc/diskstats", "8 0 sda 18446744073709551615 0 1 0 0 0 0 0 0 0 0\n");
	assert_true(node_value(s, 2, "disk.sda.reads") == 1.84467440737096e19); /* 15 digits */
	samples_free(s);
}

static void devices_come_and_go(void **state)
{
	(void)state;
	struct samples *s = begin("disks");
	put_file("/sys/block/sda/size", "1\n");
	put_file("/proc/diskstats", "8 0 sda 1 0 2 0 0 0 0 0 0 0 0\n");
	assert_true(node_value(s, 0, "disk.sda.reads") == 1);
	put_file("/sys/block/sdb/size", "1\n");
	put_file("/sys/block/cciss!c0d0/size", "1\n");
	put_file("/proc/diskstats", "8 0 sda 1 0 2 0 0 0 0 0 0 0 0\n"
				    "8 16 sdb 7 0 2 0 0 0 0 0 0 0 0\n"
				    "8 17 sdb1 6 0 2 0 0 0 0 0 0 0 0\n"
				    "9 1 cciss/c0d0 8 0 2 0 0 0 0 0 0 0 0\n");
	assert_true(node_value(s, 1, "disk.sdb.reads") == 7);
	assert_true(node_value(s, 2, "disk.sdb1.reads") == -1);
	assert_true(node_value(s, 3, "disk.cciss/c0d0.reads") == 8);
	put_file("/proc/diskstats", "8 16 sdb 7 0 2 0 0 0 0 0 0 0 0\n");
	assert_true(node_value(s, 4, "disk.sda.reads") == -1);
	assert_true(node_value(s, 5, "disk.sdb.reads") == 7);
	samples_free(s);
}

struct frame_sum {
	size_t n;
	double left_out;
};

static void sum_put(void *arg, const struct frame *f)
{
	struct frame_sum *sum = arg;
	struct str list = f->as.context.values, name;
	double value;
	for (; batch_pair_next(&list, &name, &value); sum->n++)
		if (name.n == 14 && memcmp(name.p, "disks_left_out", 14) == 0)
			sum->left_out = value;
}

static void more_devices_than_there_is_room_for_are_counted(void **state)
{
	(void)state;
	struct buf b = { 0 };
	for (int i = 0; i < 200; i++) {
		char path[60];
		(void)snprintf(path, sizeof path, "/sys/block/d%d/size", i);
		put_file(path, "1\n");
		buf_printf(&b, "8 %d d%d 1 0 2 0 0 0 0 0 0 0 0\n", i, i);
	}
	put_bytes("/proc/diskstats", b.data, b.len);
	buf_done(&b);
	struct samples *s = begin("disks");
	struct frame_sum sum = { .n = 0 };
	(void)samples_take(s, (struct sample_time){ T0, 1 }, sum_put, &sum);
	assert_int_equal(sum.n, 128 * 8 + 1);
	assert_true(sum.left_out == 72);
	samples_free(s);
}

/* ---- what fails ---------------------------------------------------------------------------- */

static char log_path[300];
static int stderr_kept = -1;

static void log_begin(void)
{
	(void)snprintf(log_path, sizeof log_path, "%s/log", root);
	int fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	stderr_kept = dup(STDERR_FILENO);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	(void)close(fd);
}

static void log_end(struct buf *ret)
{
	assert_true(dup2(stderr_kept, STDERR_FILENO) >= 0);
	(void)close(stderr_kept);
	*ret = (struct buf){ .max = 1 << 16 };
	assert_int_equal(file_read(ret, log_path, NULL), 0);
	buf_put(ret, "", 1);
}

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;
	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

static void trouble_seen(void *arg, const char *text)
{
	struct buf *b = arg;
	buf_puts(b, text);
	buf_puts(b, "\n");
}

/* A folder in the place of a file: opened, but never read. Asked at 0, 1, 3, 7, 15, 31 s. */
static void what_fails_is_asked_less_and_less_often(void **state)
{
	(void)state;
	put_file("/proc/vmstat/in-the-way", "x\n");
	put_file("/proc/stat", "ctxt 9\n");
	struct samples *s = begin(NULL);
	struct buf text, troubles = { 0 };
	log_begin();
	for (int i = 0; i < 17; i++) {
		assert_true(isnan(node_value(s, i, "page_faults")));
	}
	samples_each_trouble(s, trouble_seen, &troubles);
	remove_file("/proc/vmstat");
	put_file("/proc/vmstat", "pgfault 5\n");
	for (int i = 17; i < 31; i++)
		assert_true(isnan(node_value(s, i, "page_faults"))); /* not asked */
	for (int i = 31; i < 40; i++)
		assert_true(node_value(s, i, "page_faults") == 5);
	log_end(&text);
	assert_int_equal(
		times(text.data, "warn  sampler vmstat: read /proc/vmstat: Is a directory"), 1);
	assert_int_equal(times(text.data, "info  sampler vmstat: works again after 5 failures"), 1);
	/* meminfo, loadavg, diskstats and net/dev belong to every node; PSI, NFS, Lustre do not. */
	assert_int_equal(times(text.data, "\n"), 6);
	assert_int_equal(times(troubles.data, "vmstat: read /proc/vmstat: Is a directory\n"), 1);
	assert_int_equal(times(troubles.data, "\n"), 5);
	buf_done(&text);
	buf_done(&troubles);
	samples_free(s);
}

static void a_passing_failure_is_not_worth_a_line(void **state)
{
	(void)state;
	struct samples *s = begin("vmstat");
	struct buf text;
	log_begin();
	assert_true(isnan(node_value(s, 0, "page_faults")));
	put_file("/proc/vmstat", "pgfault 5\n");
	assert_true(node_value(s, 1, "page_faults") == 5);
	log_end(&text);
	assert_string_equal(text.data, "");
	buf_done(&text);
	samples_free(s);
}

static void io_of_others_is_one_line_however_many_there_are(void **state)
{
	(void)state;
	struct samples *s = begin("processes");
	struct sampled *p[50];
	struct buf text;
	for (int i = 0; i < 50; i++) {
		char path[60];
		(void)snprintf(path, sizeof path, "/proc/%d/stat", 100 + i);
		put_file(path, "1 (x) S 1 1 1 0 -1 0 1 0 2 0 3 4 0 0 20 0 1 0 77 1 5\n");
		(void)snprintf(path, sizeof path, "/proc/%d/io/no", 100 + i);
		put_file(path, "x\n");
		struct sample_who who = { .stream = "x", .pid = 100 + i };
		assert_int_equal(samples_add_process(s, &who, &p[i], NULL), 0);
	}
	log_begin();
	for (int i = 0; i < 20; i++) {
		struct taken t = taken_at(s, T0 + i * S, (uint64_t)(i * S), 50);
		assert_int_equal(t.n, 50);
		assert_true(taken_value(&t, "process:x", "page_faults_minor") == 1);
		assert_true(isnan(taken_value(&t, "process:x", "read_bytes")));
		free(t.frames);
	}
	for (int i = 0; i < 50; i++)
		samples_remove_process(s, p[i]);
	log_end(&text);
	assert_int_equal(times(text.data, "\n"), 1);
	assert_non_null(strstr(text.data, "warn  sampler processes: read /proc/"));
	buf_done(&text);
	samples_free(s);
}

/* As a user who is nobody, of process 1: 0 as it should be, 1 not, 2 it may be read here. */
static int look_at_init(void)
{
	struct samples *s = NULL;
	struct sampled *p;
	struct buf text = { 0 };
	double cpu_s = 0, io = 0;
	if (!getuid() && (setgid(65534) || setuid(65534)))
		return 2;
	if (access("/proc/1/stat", R_OK))
		return 2;
	int fd = open("/proc/1/io", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &cpu_s, 1) == 1)
		return 2;
	const char *which = "processes";
	struct samples_options o = { .root = "", .which = &which, .n_which = 1 };
	struct sample_who who = { .stream = "init", .pid = 1 };
	if (samples_new(&s, &o, NULL) || samples_add_process(s, &who, &p, NULL))
		return 1;
	for (int i = 0; i < 5; i++) {
		struct taken t = taken_at(s, T0 + i * S, (uint64_t)(i * S), 2);
		cpu_s = taken_value(&t, "process:init", "cpu_s");
		io = taken_value(&t, "process:init", "read_calls");
		free(t.frames);
	}
	samples_each_trouble(s, trouble_seen, &text);
	buf_put(&text, "", 1);
	bool told = strstr(text.data, "needs CAP_SYS_PTRACE") &&
		    strstr(text.data, "/proc/1/io: Permission denied");
	samples_free(s);
	buf_done(&text);
	return cpu_s > 0 && isnan(io) && told ? 0 : 1;
}

static void what_is_not_permitted_is_unknown_and_said(void **state)
{
	(void)state;
	int status;
	struct buf text;
	log_begin();
	pid_t pid = fork();
	if (!pid)
		_exit(look_at_init());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	log_end(&text);
	bool once = times(text.data, "\n") == 1;
	buf_done(&text);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
		print_message("/proc/1/io may be read here, or nothing of it\n");
		skip();
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0 && once);
}

/* ---- processes that end -------------------------------------------------------------------- */

static pid_t sleeper(void)
{
	pid_t pid = fork();
	if (!pid) {
		(void)alarm(60);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	return pid;
}

static struct samples *live(void)
{
	struct samples *s = NULL;
	assert_int_equal(samples_new(&s, &(struct samples_options){ .root = "" }, NULL), 0);
	return s;
}

static void a_process_that_ended_is_told_no_more(void **state)
{
	(void)state;
	struct samples *s = live();
	struct sampled *a, *b;
	pid_t pid = sleeper();
	assert_int_equal(samples_add_process(s,
					     &(struct sample_who){ .stream = "child", .pid = pid },
					     &a, NULL),
			 0);
	assert_int_equal(
		samples_add_process(s, &(struct sample_who){ .stream = "self", .pid = getpid() },
				    &b, NULL),
		0);
	struct taken t = taken_at(s, T0, 1, 8);
	/* The thread sanitizer has one of its own in each process. */
	assert_true(taken_value(&t, "process:child", "threads") >= 1);
	free(t.frames);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	t = taken_at(s, T0 + S, 2, 8);
	assert_null(taken_find(&t, "process:child"));
	assert_non_null(taken_find(&t, "process:self"));
	free(t.frames);
	assert_true(samples_cost(s, a).wakeups == 1); /* half of two */
	struct sample_cost then = samples_cost(s, a);
	t = taken_at(s, T0 + 2 * S, 3, 8);
	free(t.frames);
	assert_true(samples_cost(s, a).cpu_s == then.cpu_s);
	assert_true(samples_cost(s, b).wakeups == 2);
	samples_remove_process(s, a);
	samples_remove_process(s, b);
	assert_int_equal(samples_next(s, T0), SAMPLE_NEVER);
	samples_free(s);
}

/* Reads a known number of bytes each time it is asked to. */
/* Until the kernel has booked CPU time of this process: where the time-stamp counter is not to be
 * trusted its clock may stand still for as short a run as this. */
static void be_seen_running(void)
{
	struct timespec first, now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &first);
	do
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec == first.tv_sec && now.tv_nsec < first.tv_nsec + 50000 &&
	       now.tv_nsec >= first.tv_nsec);
}

static pid_t reader(int ask[2], int answer[2])
{
	assert_int_equal(pipe(ask), 0);
	assert_int_equal(pipe(answer), 0);
	pid_t pid = fork();
	if (!pid) {
		char text[1000];
		(void)alarm(60);
		(void)close(ask[1]);
		int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		while (read(ask[0], text, 1) == 1) {
			be_seen_running();
			if (read(fd, text, sizeof text) != sizeof text ||
			    write(answer[1], text, 1) != 1)
				break;
		}
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* Until it waits for us again; it has answered, and may not have come to that yet. */
static void await_sleep(pid_t pid)
{
	char path[64], text[512] = "";
	(void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	for (int i = 0; i < 30000; i++) {
		FILE *f = fopen(path, "r");
		assert_non_null(f);
		size_t n = fread(text, 1, sizeof text - 1, f);
		(void)fclose(f);
		text[n] = 0;
		const char *end = strrchr(text, ')');
		if (end && end[1] == ' ' && end[2] == 'S')
			return;
		(void)usleep(1000);
	}
	fail_msg("it does not sleep: %s", text);
}

/* Ten times a second: one that sleeps is not read, and is told as it is all the same. */
static void one_that_has_not_run_is_as_it_was(void **state)
{
	(void)state;
	struct samples *s = NULL;
	struct sampled *p;
	static const char *const which[] = { "processes" };
	struct samples_options o = { .root = "", .which = which, .n_which = 1 };
	int ask[2], answer[2];
	char c = 0;
	pid_t pid = reader(ask, answer);
	o.node_period_ns = (uint64_t)S / 10;
	assert_int_equal(samples_new(&s, &o, NULL), 0);
	struct sample_who who = { .stream = "x", .pid = pid };
	assert_int_equal(samples_add_process(s, &who, &p, NULL), 0);
	assert_int_equal(write(ask[1], &c, 1), 1);
	assert_int_equal(read(answer[0], &c, 1), 1);
	await_sleep(pid);
	unsigned unread = 0;
	double read_bytes = 0;
	for (int i = 0; i < 200; i++) {
		double before = samples_cost_all(s).bytes;
		struct taken t = taken_at(s, T0 + i * S / 10, (uint64_t)(i * S / 10), 2);
		double now = taken_value(&t, "process:x", "read_call_bytes");
		assert_true(taken_value(&t, "process:x", "cpu_s") > 0);
		assert_int_equal(t.frames[0].n, i % 10 ? 8 : 14);
		free(t.frames);
		unread += samples_cost_all(s).bytes == before;
		if (i % 4 == 3) { /* it has been asked since: 1 byte of the pipe, 1000 of zeros */
			if (now != read_bytes + 1001)
				fail_msg("%d: %.15g after %.15g", i, now, read_bytes);
		} else if (i) {
			assert_true(now == read_bytes);
		}
		read_bytes = now;
		if (i % 4 == 2) {
			assert_int_equal(write(ask[1], &c, 1), 1);
			assert_int_equal(read(answer[0], &c, 1), 1);
			await_sleep(pid);
		}
	}
	assert_true(unread >= 60); /* of 200: more than half were awake or full */
	(void)close(ask[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	struct taken t = taken_at(s, T0 + 21 * S + S / 10, (uint64_t)(22 * S), 2);
	assert_int_equal(t.n, 0);
	free(t.frames);
	(void)close(ask[0]);
	(void)close(answer[0]);
	(void)close(answer[1]);
	samples_free(s);
}

static void another_process_with_its_number_is_not_it(void **state)
{
	(void)state;
	struct samples *s = NULL;
	assert_int_equal(samples_new(&s, &(struct samples_options){ .root = NODE }, NULL), 0);
	struct sampled *p;
	struct sample_who who = { .stream = "a", .pid = 4711, .start_ticks = 777001 };
	assert_int_equal(samples_add_process(s, &who, &p, NULL), 0);
	struct taken t = taken_at(s, T0, 1, 8);
	assert_null(taken_find(&t, "process:a"));
	free(t.frames);
	who.start_ticks = 777000;
	assert_int_equal(samples_add_process(s, &who, &p, NULL), 0);
	t = taken_at(s, T0 + S, 2, 8);
	assert_non_null(taken_find(&t, "process:a"));
	free(t.frames);
	samples_free(s);
}

/* ---- this machine -------------------------------------------------------------------------- */

static double cpu_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static void burn(double s)
{
	struct timespec from, now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	do
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9 < s);
}

/* Between what getrusage said before and after, within a tick. */
static void this_process_is_as_getrusage_says(void **state)
{
	(void)state;
	struct samples *s = live();
	struct sampled *p;
	struct sample_who who = { .stream = "self", .pid = getpid() };
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	struct taken last = { .n = 0 };
	char text[4096];
	assert_int_equal(samples_add_process(s, &who, &p, NULL), 0);
	for (int i = 0; i < 5; i++) {
		struct rusage before, after;
		burn(0.03);
		int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0 && read(fd, text, sizeof text) > 0);
		(void)close(fd);
		assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
		struct taken t = taken_at(s, T0 + i * S, (uint64_t)(i * S), 8);
		assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
		double user = taken_value(&t, "process:self", "cpu_user_s");
		double sys = taken_value(&t, "process:self", "cpu_system_s");
		/* The sum is exact to a tick each; the kernel splits it anew at every look. */
		assert_true(user + sys >
			    cpu_of(&before.ru_utime) + cpu_of(&before.ru_stime) - 2 * tick);
		assert_true(user + sys <= cpu_of(&after.ru_utime) + cpu_of(&after.ru_stime) + tick);
		double faults = taken_value(&t, "process:self", "page_faults_minor");
		assert_true(faults >= (double)before.ru_minflt &&
			    faults <= (double)after.ru_minflt);
		double rss = taken_value(&t, "process:self", "rss_bytes");
		assert_true(rss > 100e3 && rss <= (double)after.ru_maxrss * 1024 * 1.5);
		assert_true(taken_value(&t, "process:self", "threads") >= 1);
		if (last.n) {
			static const char *const grow[] = { "cpu_user_s", "page_faults_minor",
							    "read_call_bytes", "read_calls" };
			for (size_t k = 0; k < sizeof grow / sizeof *grow; k++)
				assert_true(taken_value(&t, "process:self", grow[k]) >=
					    taken_value(&last, "process:self", grow[k]));
			assert_true(taken_value(&t, "process:self", "read_call_bytes") >
				    taken_value(&last, "process:self", "read_call_bytes"));
		}
		free(last.frames);
		last = t;
	}
	free(last.frames);
	samples_free(s);
}

static void this_node_is_plausible(void **state)
{
	(void)state;
	struct samples *s = NULL;
	struct samples_options o = { .root = "", .when_idle = true };
	assert_int_equal(samples_new(&s, &o, NULL), 0);
	struct taken a = taken_at(s, T0, 1, 1);
	burn(0.05);
	struct taken b = taken_at(s, T0 + S, 2, 1);
	double total = taken_value(&b, "node", "mem_total_bytes");
	assert_true(total > 16e6 && taken_value(&b, "node", "mem_free_bytes") <= total);
	static const char *const grow[] = { "cpu_user_s", "cpu_system_s", "context_switches",
					    "forks", "page_faults" };
	for (size_t i = 0; i < sizeof grow / sizeof *grow; i++)
		assert_true(taken_value(&b, "node", grow[i]) >= taken_value(&a, "node", grow[i]) &&
			    taken_value(&a, "node", grow[i]) > 0);
	assert_true(taken_value(&b, "node", "running") >= 1);
	assert_true(taken_value(&b, "node", "load_1min") >= 0);
	free(a.frames);
	free(b.frames);
	samples_free(s);
}

/* ---- no memory ----------------------------------------------------------------------------- */

static void everything(void)
{
	struct samples *s = NULL;
	struct sampled *p[3] = { NULL };
	struct samples_options o = { .root = NODE, .when_idle = true };
	if (samples_new(&s, &o, NULL))
		return;
	for (int i = 0; i < 3; i++) {
		struct sample_who who = { .stream = "a", .run = "R", .exec = "c", .pid = 4711 + i };
		if (samples_add_process(s, &who, &p[i], NULL))
			assert_null(p[i]);
	}
	(void)samples_set_run(s, true, "R", "clean.0", NULL);
	struct taken none = { .n = 0 };
	for (int i = 0; i < 3; i++)
		(void)samples_take(s, (struct sample_time){ T0 + i * S, (uint64_t)(i * S) },
				   taken_put, &none);
	samples_remove_process(s, p[1]);
	(void)samples_take(s, (struct sample_time){ T0 + 9 * S, 9 * (uint64_t)S }, taken_put,
			   &none);
	samples_free(s);
}

static void no_allocation_that_fails_breaks_anything(void **state)
{
	(void)state;
	int n = 1;
	struct buf text;
	log_begin();
	for (; fail_alloc(n); n++)
		everything();
	alloc_left = 0;
	log_end(&text);
	assert_true(n > 20);
	buf_done(&text);
}

int main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, root_make, root_remove)
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(a_cut_file_tells_the_truth_or_nothing),
		IN_A_FOLDER(nonsense_in_every_file_is_survived),
		IN_A_FOLDER(bytes_that_are_no_text_are_survived),
		IN_A_FOLDER(a_huge_file_is_read_as_far_as_it_goes),
		IN_A_FOLDER(counters_are_told_as_they_are),
		IN_A_FOLDER(devices_come_and_go),
		IN_A_FOLDER(more_devices_than_there_is_room_for_are_counted),
		IN_A_FOLDER(what_fails_is_asked_less_and_less_often),
		IN_A_FOLDER(a_passing_failure_is_not_worth_a_line),
		IN_A_FOLDER(io_of_others_is_one_line_however_many_there_are),
		IN_A_FOLDER(what_is_not_permitted_is_unknown_and_said),
		cmocka_unit_test(a_process_that_ended_is_told_no_more),
		cmocka_unit_test(one_that_has_not_run_is_as_it_was),
		cmocka_unit_test(another_process_with_its_number_is_not_it),
		cmocka_unit_test(this_process_is_as_getrusage_says),
		cmocka_unit_test(this_node_is_plausible),
		IN_A_FOLDER(no_allocation_that_fails_breaks_anything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
