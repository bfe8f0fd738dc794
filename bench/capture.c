/* What it costs to capture a call, by the period of the pattern, and how many bytes a call becomes.
 * The times of the calls are those of real ones, measured here: noise is what a capture's size is
 * made of.
 *
 * Lines: name ratio [min max] goal G ok|missed (bench/ratio.h). "ns" is CPU time in the writer
 * alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "core/iocap_write.h"

#define CALLS 1000000u
#define BATCH 64u

struct sizes {
	uint64_t bytes;
};

static int count(void *self, const void *bytes, size_t n)
{
	(void)bytes;
	((struct sizes *)self)->bytes += n;
	return 0;
}

static uint32_t *gaps, *lengths; /* of real calls */

static uint64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int measure_calls(void)
{
	int fd = memfd_create("bench", 0);
	char bytes[64] = "";
	gaps = calloc(CALLS, sizeof *gaps);
	lengths = calloc(CALLS, sizeof *lengths);
	if (fd < 0 || !gaps || !lengths)
		return -1;
	uint64_t before = now_ns();
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t begin = now_ns();
		if (pwrite(fd, bytes, sizeof bytes, (off_t)(i % 4096) * 64) < 0)
			return -1;
		uint64_t end = now_ns();
		gaps[i] = (uint32_t)(begin - before);
		lengths[i] = (uint32_t)(end - begin);
		before = end;
	}
	return close(fd);
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Bits that each number has at least, for a coder that looks at each by itself. */
static double entropy(const uint32_t *x)
{
	uint32_t *sorted = malloc(CALLS * sizeof *sorted);
	double bits = 0;
	if (!sorted)
		return NAN;
	memcpy(sorted, x, CALLS * sizeof *sorted);
	qsort(sorted, CALLS, sizeof *sorted, by_value);
	for (uint32_t i = 0, k; i < CALLS; i = k) {
		for (k = i + 1; k < CALLS && sorted[k] == sorted[i]; k++) {
		}
		bits -= (double)(k - i) / CALLS * log2((double)(k - i) / CALLS);
	}
	free(sorted);
	return bits;
}

static uint64_t state;
static uint64_t dice(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 24) % n;
}

enum pattern { APPEND, SESSIONS, STRIDE, IRREGULAR, PERIOD, PERIOD_RANDOM };

struct run {
	enum pattern pattern;
	uint32_t period;
	uint32_t handle, opened;
	int64_t position;
	uint64_t now;
};

static void call(struct run *r, uint32_t i, struct io_event *e)
{
	*e = (struct io_event){ .call = IO_pwrite, .result = 64, .arg = { r->handle, 64 } };
	switch (r->pattern) {
	case APPEND:
		e->call = IO_write;
		e->at = r->position;
		r->position += 64;
		break;
	case SESSIONS:
		if (i % 1000 == 0) {
			r->handle = ++r->opened + 3;
			*e = (struct io_event){ .call = IO_open,
						.result = r->handle,
						.arg = { 1, 0102, 0644 },
						.at = -1 };
		} else if (i % 1000 == 999) {
			*e = (struct io_event){ .call = IO_close, .arg = { r->handle }, .at = -1 };
		} else {
			e->arg[2] = e->at = (int64_t)(i % 1000) * 8192;
		}
		break;
	case STRIDE:
		e->arg[2] = e->at = (int64_t)i * 12345;
		break;
	case IRREGULAR:
		e->call = dice(2) ? IO_pread : IO_pwrite;
		e->arg[0] = 4 + (int64_t)dice(4);
		e->arg[1] = e->result = (int64_t)dice(1024);
		e->arg[2] = e->at = (int64_t)dice(1 << 24);
		break;
	case PERIOD:
		e->arg[2] = e->at = (int64_t)(i % r->period) * 4096;
		break;
	case PERIOD_RANDOM:
		e->arg[2] = e->at =
			(int64_t)((i % r->period + 1) * UINT64_C(2654435761) % 1000003) * 512;
		break;
	}
	r->now += gaps[i % CALLS];
	e->begin_ns = r->now;
	r->now += lengths[i % CALLS];
	e->end_ns = r->now;
}

struct result {
	double ns, bytes, finish_s;
};

static struct result capture(enum pattern pattern, uint32_t period, uint32_t calls, bool timed,
			     uint64_t step)
{
	struct sizes sizes = { 0 };
	struct iocap_sink sink = { count, NULL, &sizes };
	struct iocap_process facts = { .timed = timed, .step_ns = step };
	struct iocap_writer *w;
	struct run r = { .pattern = pattern, .period = period, .handle = 4, .now = 1 };
	struct io_event batch[BATCH];
	double spent = 0;
	if (iocap_writer_new(&w, &facts, &sink))
		exit(1);
	iocap_put_text(w, 1, "/data/run/checkpoint.dat", 24);
	for (uint32_t i = 0; i < calls; i += BATCH) {
		for (uint32_t k = 0; k < BATCH; k++) {
			call(&r, i + k, &batch[k]);
			if (batch[k].call == IO_open) {
				struct iocap_handle h = { .number = r.handle,
							  .path = 1,
							  .flags = 0102 };
				iocap_put_handle(w, &h);
			}
		}
		double before = cpu_s();
		iocap_put_events(w, batch, BATCH);
		spent += cpu_s() - before;
	}
	double before = cpu_s();
	(void)iocap_finish(w);
	struct result result = { spent / calls * 1e9, (double)sizes.bytes, cpu_s() - before };
	iocap_writer_free(w);
	return result;
}

/* ---- in a real program, with the wrappers before it -------------------------------------------
 */

#define LIVE_CALLS 100000u

static void live_call(const char *pattern, int fd, uint32_t period, uint32_t i)
{
	static char bytes[64];
	off_t at = 0;
	if (strcmp(pattern, "even") == 0)
		at = (off_t)(i % period) * 64;
	else if (strcmp(pattern, "odd") == 0)
		at = (off_t)((i % period + 1) * UINT64_C(2654435761) % 100003) * 8;
	else
		at = (off_t)dice(1 << 20);
	if (pwrite(fd, bytes, sizeof bytes, at) < 0)
		exit(1);
}

/* Run by the bench itself, with and without capture: CPU nanoseconds a call on standard output. */
static int live(const char *pattern, uint32_t period)
{
	int fd = open("/dev/shm/roimeter-bench", O_RDWR | O_CREAT | O_TRUNC, 0600);
	double best = 1e9;
	if (fd < 0)
		return 1;
	for (int round = 0; round < 8; round++) {
		double before = cpu_s();
		for (uint32_t i = 0; i < LIVE_CALLS; i++)
			live_call(pattern, fd, period, i);
		double ns = (cpu_s() - before) / LIVE_CALLS * 1e9;
		best = ns < best ? ns : best;
	}
	(void)unlink("/dev/shm/roimeter-bench");
	return printf("%.1f\n", best) < 0;
}

static double run_live(const char *prefix, const char *self, const char *pattern, uint32_t period)
{
	char line[4096], text[64] = "";
	(void)snprintf(line, sizeof line, "%s %s %s %u 2>/dev/null", prefix, self, pattern, period);
	FILE *out = popen(line, "r");
	if (!out || !fgets(text, sizeof text, out))
		text[0] = 0;
	if (out)
		(void)pclose(out);
	return strtod(text, NULL);
}

static int compare_live(const char *self, const char *pattern, uint32_t period, double goal)
{
	char folder[] = "/tmp/roimeter-bench-XXXXXX", prefix[4096], name[64];
	const char *b = getenv("B");
	struct ratio added = { .n = 0 }, ratio = { .n = 0 };
	if (!mkdtemp(folder))
		return 0;
	for (int round = 0; round < 3; round++) {
		(void)snprintf(prefix, sizeof prefix, "%s/roimeter capture -o %s/%d --", b, folder,
			       round);
		double plain = run_live("env", self, pattern, period);
		double with = run_live(prefix, self, pattern, period);
		if (plain <= 0 || with <= 0)
			continue;
		ratio_add(&ratio, with, plain);
		ratio_add(&added, with - plain, 1);
	}
	(void)snprintf(prefix, sizeof prefix, "rm -rf %s", folder);
	if (system(prefix) != 0 || !added.n)
		return 0;
	(void)snprintf(name, sizeof name, "live_%s_period_%u_to_no_tool", pattern, period);
	(void)ratio_print(&ratio, name, 10);
	(void)snprintf(name, sizeof name, "live_%s_period_%u_added_ns", pattern, period);
	return ratio_print(&added, name, goal);
}

static int compare_all_live(const char *self)
{
	int good = 1;
	if (!getenv("B")) {
		(void)printf("# live: left out, B does not name the build folder\n");
		return 1;
	}
	for (uint32_t period = 1; period <= 4096; period *= 8) {
		good &= compare_live(self, "even", period, 250);
		good &= compare_live(self, "odd", period, 250);
	}
	return good & compare_live(self, "random", 1, 600);
}

static double clock_cost_ns(void)
{
	double before = cpu_s();
	for (int i = 0; i < 100000; i++)
		(void)cpu_s();
	return (cpu_s() - before) / 100000 * 1e9 / BATCH;
}

/* ---- the writer alone -------------------------------------------------------------------------
 */

static int writer_costs(double clock)
{
	int good = 1;
	for (uint32_t period = 1; period <= 4096; period *= 8)
		for (int odd = 0; odd < 2; odd++) {
			struct ratio ns = { .n = 0 };
			char name[64];
			for (int round = 0; round < 3; round++)
				ratio_add(&ns,
					  capture(odd ? PERIOD_RANDOM : PERIOD, period, CALLS / 2,
						  true, 1)
							  .ns -
						  clock,
					  1);
			(void)snprintf(name, sizeof name, "%s_period_%u_ns", odd ? "odd" : "even",
				       period);
			good &= ratio_print(&ns, name, 150);
		}
	return good;
}

static int bytes_of(const char *pattern_name, enum pattern pattern, double goal, double clock)
{
	static const char *const ways[] = { "exact", "100ns", "1us", "untimed" };
	static const uint64_t steps[] = { 1, 100, 1000, 1 };
	int good = 1;
	for (int way = 0; way < 4; way++) {
		struct result r = capture(pattern, 1, CALLS, way < 3, steps[way]);
		struct ratio x = { .n = 0 };
		char name[64];
		ratio_add(&x, r.bytes, CALLS);
		(void)snprintf(name, sizeof name, "%s_%s_bytes_per_call", pattern_name, ways[way]);
		good &= ratio_print(&x, name, goal);
		if (way == 0)
			(void)printf("# %s: %.0f ns a call, finish %.4f s\n", pattern_name,
				     r.ns - clock, r.finish_s);
		if (way == 3)
			(void)printf("# %s: %.0f bytes\n", pattern_name, r.bytes);
	}
	return good;
}

static void print_entropy(void)
{
	double of_gaps = entropy(gaps), of_lengths = entropy(lengths);
	(void)printf("# times of real calls: entropy %.2f bits between calls, %.2f of durations: "
		     "%.2f bytes a call\n",
		     of_gaps, of_lengths, (of_gaps + of_lengths) / 8);
}

int main(int argc, char **argv)
{
	struct rusage usage;
	if (argc == 3)
		return live(argv[1], (uint32_t)strtoul(argv[2], NULL, 10));
	int good = compare_all_live(argv[0]);
	if (measure_calls())
		return 1;
	print_entropy();
	double clock = clock_cost_ns();
	good &= writer_costs(clock);
	good &= bytes_of("append", APPEND, 0.5, clock);
	good &= bytes_of("sessions", SESSIONS, 0.5, clock);
	good &= bytes_of("stride", STRIDE, 1, clock);
	good &= bytes_of("irregular", IRREGULAR, 9, clock);
	(void)getrusage(RUSAGE_SELF, &usage);
	(void)printf("# peak memory %ld KiB, of which 7813 KiB the bench's own times\n",
		     usage.ru_maxrss);
	return good ? 0 : 1;
}
