/* What all probes have in common. A probe does an exactly known amount of work, so that what a
 * collector says about it can be checked to the last launch:
 *
 *     set-up   1 copy to the device, 1 fill, 10 warm-up launches
 *     region   20 launches, 1 copy within the device; amid them an exclude of 5 launches
 *     after    1 copy from the device, 1 launch
 *
 * probe_main() does it; a probe adds the calls of its runtime, as a table of functions. Include
 * this first. It prints one line of JSON for each process: what should have been seen ("expected"),
 * what was done ("did"; more or less than that when a fault was planted), and a check of the
 * results. C11, C++11. */
#ifndef PROBE_H
#define PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe_options.h"
#include "roimeter.h"

/* One launch on a queue: rounds of x = x / 2 + 1 on elements [first, first + count), and +1 on
 * PROBE_COUNTERS floats from counter on. */
struct probe_slice {
	size_t first, count, counter;
};

struct probe_did;

/* The calls of a runtime. All but finish may return before the work is done, those on memory not
 * before `from` and `to` may be used again. 0, or anything else after probe_fail(). Devices are 0
 * to devices - 1, each with two arrays a and b of o->floats. */
struct probe_backend {
	const char *name; /* "cuda" */
	/* -1: there is no such device here, or it can't do that. Puts the name of the first device
	 * in probe_device. */
	int (*open)(const struct probe_options *o);
	int (*upload)(int device, const float *from);        /* all of a: one copy */
	int (*fill)(int device, size_t first, size_t count); /* zeros in a: one fill */
	int (*launch)(int device, int queue, const struct probe_slice *s); /* on a: one kernel */
	int (*copy)(int device);                                           /* a to b: one copy */
	int (*download)(int device, bool b, size_t first, size_t count, float *to); /* one copy */
	/* PROBE_GRAPH_NODES launches, one after the other, as one graph on the first queue. NULL:
	 * can't. */
	int (*graph)(int device, const struct probe_slice *s);
	int (*finish)(void); /* waits for everything */
	void (*close)(void);
	size_t elements; /* without --elements; 0: 33554432, for hardware that is quick */
	/* More that a collector should have seen, after want: members of the line of JSON, each
	 * with a comma behind it, by probe_put(). NULL: nothing. */
	void (*expect)(const struct probe_options *o, const struct probe_did *want);
};

/* "Host, device, ...": what the functions of this file count. */
struct probe_counts {
	long compute, copy_h2d, copy_d2h, copy_d2d, fill;
};

struct probe_did {
	struct probe_counts inside, whole, excluded;
	long entries, excludes, graphs, steps;
	double region_s, excluded_s;
	bool in_region, in_exclude;
	long next_queue;
	long launches[PROBE_MOST];         /* by queue, on each device */
	long launches_at_copy[PROBE_MOST]; /* those that b has seen */
	bool copied;
};

static char probe_device[128] = "";

static double probe_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void probe_count(struct probe_did *did, long *whole, long *inside, long *excluded, long n)
{
	*whole += n;
	if (did->in_exclude)
		*excluded += n;
	else if (did->in_region)
		*inside += n;
}
#define PROBE_COUNT(did, what, n)                                                                  \
	probe_count(did, &(did)->whole.what, &(did)->inside.what, &(did)->excluded.what, n)

/* The part of the elements that a queue works on; the last one takes the rest. */
static struct probe_slice probe_slice_of(const struct probe_options *o, int queue)
{
	size_t each = o->elements / (size_t)o->queues;
	struct probe_slice s;

	s.first = each * (size_t)queue;
	s.count = queue == o->queues - 1 ? o->elements - s.first : each;
	s.counter = o->elements + (size_t)queue * PROBE_COUNTERS;
	return s;
}

/* Is this fault planted here? */
static bool probe_planted(const struct probe_options *o, const struct probe_did *did,
			  const char *fault)
{
	return o->plant && strcmp(o->plant, fault) == 0 &&
	       (o->plant_process < 0 || o->plant_process == o->child) &&
	       (o->plant_region < 0 || o->plant_region == did->entries);
}

/* One launch on each device. */
static int probe_launch_on(const struct probe_backend *b, const struct probe_options *o,
			   struct probe_did *did, int queue)
{
	struct probe_slice s = probe_slice_of(o, queue);

	for (int d = 0; d < o->devices; d++)
		if (b->launch(d, queue, &s))
			return 1;
	did->launches[queue]++;
	PROBE_COUNT(did, compute, o->devices);
	return 0;
}

/* The same on the queue whose turn it is. */
static int probe_launch(const struct probe_backend *b, const struct probe_options *o,
			struct probe_did *did)
{
	return probe_launch_on(b, o, did, (int)(did->next_queue++ % o->queues));
}

static int probe_launch_graph(const struct probe_backend *b, const struct probe_options *o,
			      struct probe_did *did)
{
	struct probe_slice s = probe_slice_of(o, 0);

	for (int d = 0; d < o->devices; d++)
		if (b->graph(d, &s))
			return 1;
	did->launches[0] += PROBE_GRAPH_NODES;
	did->graphs += o->devices;
	PROBE_COUNT(did, compute, (long)o->devices * PROBE_GRAPH_NODES);
	return 0;
}

static int probe_copy(const struct probe_backend *b, const struct probe_options *o,
		      struct probe_did *did)
{
	if (b->finish()) /* the copy has its own queue or the first one: order it behind all */
		return 1;
	for (int d = 0; d < o->devices; d++)
		if (b->copy(d))
			return 1;
	memcpy(did->launches_at_copy, did->launches, sizeof did->launches);
	did->copied = true;
	PROBE_COUNT(did, copy_d2d, o->devices);
	return b->finish();
}

/* Check launches, which do not count. */
static int probe_exclude(const struct probe_backend *b, const struct probe_options *o,
			 struct probe_did *did)
{
	int checks = PROBE_CHECKS;
	bool copy = o->exclude_copy;

	if (probe_planted(o, did, "exclude")) {
		if (probe_launch(b, o, did))
			return 1;
		checks--;
	}
	if (copy && probe_planted(o, did, "exclude-copy")) {
		if (probe_copy(b, o, did))
			return 1;
		copy = false;
	}
	if (b->finish())
		return 1;
	double begin_s = probe_now_s();
	ROIMETER_EXCLUDE_BEGIN_SYNC();
	did->in_exclude = true;
	did->excludes++;
	for (int i = 0; i < checks; i++)
		if (probe_launch(b, o, did))
			return 1;
	if (copy && probe_copy(b, o, did))
		return 1;
	if (b->finish())
		return 1;
	ROIMETER_EXCLUDE_END_SYNC();
	did->in_exclude = false;
	did->excluded_s += probe_now_s() - begin_s;
	return 0;
}

static struct probe_counts probe_times(struct probe_counts c, long n)
{
	c.compute *= n, c.copy_h2d *= n, c.copy_d2h *= n, c.copy_d2d *= n, c.fill *= n;
	return c;
}

/* What a right collector sees of a probe without a planted fault. One that is killed is so in its
 * first region, after whole steps. */
static void probe_expect(const struct probe_options *o, struct probe_did *want)
{
	int each = o->graph ? PROBE_GRAPH_NODES : 1, half = PROBE_LAUNCHES / 2 / each * each;
	bool inside = o->kill_at > 0 && o->kill_at <= PROBE_LAUNCHES; /* killed there */
	long regions = o->kill_at > 0 ? 1 : o->regions;
	long steps = inside ? (o->kill_at + each - 1) / each : PROBE_LAUNCHES / each;
	long excludes = inside && o->kill_at <= half ? 0 : 1;
	long after = o->kill_at > 0 ? 0 : 1; /* what comes then */
	struct probe_counts in = { steps * each, 0, 0, !inside, 0 };
	struct probe_counts out = { excludes * PROBE_CHECKS, 0, 0, excludes * o->exclude_copy, 0 };
	struct probe_counts whole = { PROBE_WARM_UP + after + regions - 1, 1, after, 0, 1 };

	memset(want, 0, sizeof *want);
	want->inside = probe_times(in, regions * o->devices);
	want->excluded = probe_times(out, regions * o->devices);
	whole = probe_times(whole, o->devices);
	whole.compute += want->inside.compute + want->excluded.compute;
	whole.copy_d2d += want->inside.copy_d2d + want->excluded.copy_d2d;
	want->whole = whole;
	want->entries = regions;
	want->excludes = regions * excludes;
	want->steps = regions * steps;
	want->graphs = o->graph ? want->steps * o->devices : 0;
}

/* The line that is said goes out at once, as one system call that no collector of calls sees. */
static char probe_line[1 << 14];
static size_t probe_line_bytes;

static void probe_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void probe_put(const char *format, ...)
{
	size_t left = sizeof probe_line - probe_line_bytes;
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(probe_line + probe_line_bytes, left, format, ap);
	va_end(ap);
	if (n > 0)
		probe_line_bytes += (size_t)n < left ? (size_t)n : left - 1;
}

static void probe_put_out(void)
{
	size_t done = 0;

	while (done < probe_line_bytes) {
		long n = syscall(SYS_write, STDOUT_FILENO, probe_line + done,
				 probe_line_bytes - done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	probe_line_bytes = 0;
}

static void probe_put_counts(const char *name, const struct probe_counts *c)
{
	probe_put("\"%s\": {\"compute\": %ld, \"copy_h2d\": %ld, \"copy_d2h\": %ld, \"copy_d2d\": "
		  "%ld, "
		  "\"fill\": %ld}",
		  name, c->compute, c->copy_h2d, c->copy_d2h, c->copy_d2d, c->fill);
}

static void probe_put_did(const char *name, const struct probe_did *did)
{
	probe_put("\"%s\": {", name);
	probe_put_counts("inside", &did->inside);
	probe_put(", ");
	probe_put_counts("excluded", &did->excluded);
	probe_put(", ");
	probe_put_counts("whole", &did->whole);
	probe_put(", \"entries\": %ld, \"excludes\": %ld, \"graphs\": %ld, \"steps\": %ld}, ",
		  did->entries, did->excludes, did->graphs, did->steps);
}

/* A device's name has no control characters; quotes would end the text. */
static void probe_put_text(const char *name, const char *text)
{
	probe_put("\"%s\": \"", name);
	for (; *text; text++)
		if ((unsigned char)*text >= ' ')
			probe_put(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	probe_put("\", ");
}

/* results: 1 right, 0 wrong, -1 not looked at. */
static void probe_say(const struct probe_backend *b, const struct probe_options *o,
		      const struct probe_did *did, int killed_at, int results)
{
	struct probe_did want;

	probe_expect(o, &want);
	probe_put(
		"{\"probe\": \"%s\", \"version\": 1, \"process\": %d, \"processes\": %d, \"pid\": "
		"%ld, "
		"\"devices\": %d, \"queues\": %d, \"regions\": %d, \"graph\": %s, ",
		b->name, o->child, o->processes, (long)getpid(), o->devices, o->queues, o->regions,
		o->graph ? "true" : "false");
	probe_put_text("device", probe_device);
	probe_put_text("plant", o->plant ? o->plant : "");
	probe_put("\"elements\": %zu, \"repeat\": %u, \"kernel_us\": %.9g, \"copy_bytes\": %zu, "
		  "\"killed_at\": %d, ",
		  o->elements, o->repeat, o->kernel_us, o->floats * sizeof(float), killed_at);
	probe_put_did("expected", &want);
	probe_put_did("did", did);
	if (b->expect)
		b->expect(o, &want);
	probe_put("\"region_s\": %.9f, \"excluded_s\": %.9f, \"results\": \"%s\"}\n", did->region_s,
		  did->excluded_s,
		  results < 0 ? "not looked at"
		  : results   ? "right"
			      : "wrong");
	probe_put_out();
}

/* Time for a collector to write down what it has. Counted in naps, each as long as it should be: a
 * machine that was away, or busy with others, for a while was so for the collector, too. */
static void probe_nap(double s)
{
	for (; s > 0; s -= 0.1) {
		struct timespec left;
		left.tv_sec = 0;
		left.tv_nsec = s < 0.1 ? (long)(1e9 * s) + 1 : 100000000;
		while (nanosleep(&left, &left) && errno == EINTR) {
		}
	}
}

/* Never comes back. Everything that was launched has ended, so that "did" is exact. */
static int probe_kill(const struct probe_backend *b, const struct probe_options *o,
		      const struct probe_did *did)
{
	if (b->finish())
		return 1;
	probe_nap(o->kill_wait_s);
	probe_say(b, o, did, o->kill_at, -1);
	raise(SIGKILL);
	return 1;
}

/* One too many: early, so that it is there where the process is killed later. */
static int probe_plant_in_region(const struct probe_backend *b, const struct probe_options *o,
				 struct probe_did *did)
{
	if (probe_planted(o, did, "graph"))
		return probe_launch_graph(b, o, did);
	if (!probe_planted(o, did, "launch"))
		return 0;
	return o->plant_queue < 0 ? probe_launch(b, o, did)
				  : probe_launch_on(b, o, did, o->plant_queue);
}

static int probe_region(const struct probe_backend *b, const struct probe_options *o,
			struct probe_did *did)
{
	int each = o->graph ? PROBE_GRAPH_NODES : 1, half = PROBE_LAUNCHES / 2 / each * each;

	if (b->finish())
		return 1;
	ROIMETER_BEGIN_SYNC();
	double begin_s = probe_now_s(), excluded_s = did->excluded_s;
	did->in_region = true;
	did->entries++;
	for (int i = 0; i < PROBE_LAUNCHES; i += each) {
		if (i == half && probe_exclude(b, o, did))
			return 1;
		if (o->graph ? probe_launch_graph(b, o, did) : probe_launch(b, o, did))
			return 1;
		ROIMETER_STEP();
		did->steps++;
		if (i == 0 && probe_plant_in_region(b, o, did))
			return 1;
		if (o->kill_at > i && o->kill_at <= i + each)
			return probe_kill(b, o, did);
	}
	if (!probe_planted(o, did, "copy") && probe_copy(b, o, did))
		return 1;
	if (b->finish())
		return 1;
	did->region_s += probe_now_s() - begin_s - (did->excluded_s - excluded_s);
	ROIMETER_END_SYNC();
	did->in_region = false;
	return o->kill_at > PROBE_LAUNCHES ? probe_kill(b, o, did) : 0;
}

/* The first element that is looked at in the end. */
static size_t probe_tail(const struct probe_options *o)
{
	return o->elements > PROBE_TAIL ? o->elements - PROBE_TAIL : 0;
}

static float probe_start(size_t i)
{
	return (float)(i % 7);
}

/* Every result can be told exactly: x / 2 + 1 is one rounding on any hardware, and ends at 2. */
static int probe_right(const struct probe_options *o, const long *launches, const float *tail,
		       size_t first)
{
	size_t n = o->floats - first;

	for (size_t i = 0; i < n; i++) {
		size_t at = first + i;
		if (at >= o->elements) {
			if (!(tail[i] == (float)launches[(at - o->elements) / PROBE_COUNTERS]))
				return 0;
			continue;
		}
		int queue = 0;
		while (queue + 1 < o->queues && at >= probe_slice_of(o, queue + 1).first)
			queue++;
		uint64_t rounds = o->kernel_us > 0 ? 0 : (uint64_t)launches[queue] * o->repeat;
		float x = probe_start(at);
		for (uint64_t r = 0; r < rounds && r < 64; r++)
			x = x * 0.5F + 1.0F;
		if (!(tail[i] == x))
			return 0;
	}
	return 1;
}

static int probe_after(const struct probe_backend *b, const struct probe_options *o,
		       struct probe_did *did, float *room, int *ret_right)
{
	size_t first = probe_tail(o);

	*ret_right = 1;
	for (int d = 0; d < o->devices; d++) {
		if (b->download(d, did->copied, first, o->floats - first, room))
			return 1;
		if (!probe_right(o, did->copied ? did->launches_at_copy : did->launches, room,
				 first))
			*ret_right = 0;
	}
	PROBE_COUNT(did, copy_d2h, o->devices);
	return probe_launch(b, o, did) || b->finish();
}

static int probe_work(const struct probe_backend *b, const struct probe_options *o,
		      struct probe_did *did, float *room)
{
	int right;

	for (size_t i = 0; i < o->floats; i++)
		room[i] = probe_start(i);
	for (int d = 0; d < o->devices; d++)
		if (b->upload(d, room) ||
		    b->fill(d, o->elements, (size_t)o->queues * PROBE_COUNTERS))
			return 1;
	PROBE_COUNT(did, copy_h2d, o->devices);
	PROBE_COUNT(did, fill, o->devices);
	if (b->finish())
		return 1;
	for (int i = 0; i < PROBE_WARM_UP; i++)
		if (probe_launch(b, o, did))
			return 1;
	for (int r = 0; r < o->regions; r++)
		if ((r > 0 && probe_launch(b, o, did)) || probe_region(b, o, did))
			return 1;
	if (probe_after(b, o, did, room, &right))
		return 1;
	probe_say(b, o, did, 0, right);
	return right ? 0 : probe_fail("the results are wrong");
}

static int probe_one(const struct probe_backend *b, const struct probe_options *o)
{
	struct probe_did did;
	float *room = (float *)malloc(o->floats * sizeof *room);
	int rc = 1;

	memset(&did, 0, sizeof did);
	if (!room)
		probe_fail("no memory for %zu floats", o->floats);
	else if (o->graph && !b->graph)
		rc = -probe_fail("--graph: there are no graphs with %s", b->name);
	else
		rc = b->open(o);
	if (!rc)
		rc = probe_work(b, o, &did, room);
	b->close();
	free(room);
	return rc < 0 ? 4 : rc ? 2 : 0;
}

/* The other processes: before this one touches the device, which does not survive a fork. */
static int probe_spawn(const struct probe_options *o, char **argv, int argc, int child)
{
	char number[16], self[] = "/proc/self/exe", option[] = "--child";
	pid_t pid = fork();

	if (pid || o->fork_only)
		return (int)pid;
	char **args = (char **)calloc((size_t)argc + 3, sizeof *args);
	if (!args)
		_exit(2);
	memcpy(args, argv, (size_t)argc * sizeof *args);
	snprintf(number, sizeof number, "%d", child);
	args[argc] = option;
	args[argc + 1] = number;
	execv(self, args);
	_exit(2);
}

static int probe_main(int, char **, const struct probe_backend *) __attribute__((unused));
static int probe_main(int argc, char **argv, const struct probe_backend *b)
{
	struct probe_options o;
	pid_t children[PROBE_MOST];
	int started = 0, rc;

	probe_name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	memset(&o, 0, sizeof o);
	o.queues = o.processes = o.regions = o.devices = 1;
	o.elements = b->elements ? b->elements : (size_t)1 << 25;
	o.repeat = 256;
	o.child = -1;
	rc = probe_parse(argc, argv, &o);
	if (rc)
		return rc;
	for (int k = 1; o.child < 0 && k < o.processes; k++) {
		pid_t pid = probe_spawn(&o, argv, argc, k);
		if (pid == 0) {
			o.child = k;
			started = 0;
		} else if (pid > 0) {
			children[started++] = pid;
		} else {
			rc = probe_fail("fork failed");
		}
	}
	if (o.child < 0)
		o.child = 0;
	if (!rc)
		rc = probe_one(b, &o);
	for (int k = 0; k < started; k++) {
		int status = 0;
		if (waitpid(children[k], &status, 0) < 0 || status)
			rc = rc ? rc : WIFEXITED(status) ? WEXITSTATUS(status) : 2;
	}
	return rc;
}

#endif
