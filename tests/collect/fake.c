/* A collector for tests: it watches nothing, and leaves a picture of a device that was busy from
 * 10 ms to 40 ms of a region of 100 ms. In the runner FAKE_CHECK is why it can't work; in a program
 * FAKE says what goes wrong, and FAKE_SEEN names a file that gets a line from each process that has
 * it loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "core/category.h"
#include "lib/num.h"
#include "schema/picture.h"
#include "schema/record.h"

#define PUBLIC __attribute__((visibility("default")))
#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif
#ifndef FAKE_ABI
#define FAKE_ABI COLLECTOR_ABI
#endif

static const char *told(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

static bool is_told(const char *what)
{
	return strcmp(told("FAKE"), what) == 0;
}

static bool is_mine(void)
{
	return strcmp(told("ROIMETER_COLLECT"), FAKE_NAME) == 0;
}

__attribute__((constructor)) static void come(void)
{
	char line[256];
	int fd = *told("FAKE_SEEN")
			 ? open(told("FAKE_SEEN"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
			 : -1;
	int n = snprintf(line, sizeof line, "%s %s\n", told("ROIMETER_EXEC"),
			 told("ROIMETER_COLLECT"));
	if (fd >= 0 && n > 0 && write(fd, line, (size_t)n) < 0)
		_exit(99);
	if (fd >= 0)
		(void)close(fd);
	if (is_mine() && is_told("unmarked"))
		(void)unsetenv("ROIMETER_LOG");
}

static void set(struct nums *list, double *room, double first)
{
	for (int c = 0; c < CATEGORIES; c++)
		room[c] = 0;
	room[COMPUTE] = first;
	*list = (struct nums){ .items = room, .n = CATEGORIES };
}

static void put_sums(struct picture_sums *s, double scale)
{
	static double room[2][4][CATEGORIES];
	double(*r)[CATEGORIES] = room[scale > 1];
	set(&s->time_ns, r[0], 30e6 * scale);
	set(&s->ops, r[1], 3 * scale);
	set(&s->bytes, r[2], 0);
	set(&s->union_ns, r[3], 30e6 * scale);
	s->op_sum_ns = s->busy_ns = s->device_busy_ns = 30e6 * scale;
	s->calls = 10 * scale;
	s->calls_ns = 5e6 * scale;
	s->sync_calls = scale;
	s->sync_ns = 2e6 * scale;
	s->untimed = 0;
}

static void put_who(struct picture *p, char pid[16], char host[65])
{
	(void)snprintf(pid, 16, "%d", (int)getpid());
	(void)gethostname(host, 64);
	p->collector = FAKE_NAME;
	p->tool = "the tests of roimeter";
	p->runtime = "fake1";
	p->status = "ok";
	p->final = YES;
	p->run = told("ROIMETER_RUN");
	p->exec = told("ROIMETER_EXEC");
	p->host = host;
	p->boot = "a boot";
	p->pid = pid;
	p->rank = getenv("OMPI_COMM_WORLD_RANK");
	p->clock = "monotonic";
}

static void put_picture(struct buf *b)
{
	static const char *observes[] = { "compute",    "copy_h2d", "copy_d2h",   "copy_d2d",
					  "copy_other", "fill",     "collective", "other" };
	char pid[16], host[65] = "";
	double busy[] = { 10e6, 40e6 }, windows[] = { 0, 100e6 }, bins[] = { 190, 3 };
	struct picture p;
	struct picture_device device;
	struct picture_op op;
	picture_clear(&p);
	block_clear(&picture_device_block, &device);
	block_clear(&picture_op_block, &op);
	put_who(&p, pid, host);
	p.observes = (struct txts){ .items = observes, .n = CATEGORIES };
	p.base_s = 1000;
	p.base_ns = p.clock_offset_ns = p.clock_drift_ns = p.clock_error_ns = 0;
	p.found = YES;
	p.entries = 1;
	p.gross_ns = p.wall_ns = 100e6;
	p.windows = (struct nums){ .items = windows, .n = 2 };
	p.windows_closed_ns = 0;
	put_sums(&p.roi, 1);
	put_sums(&p.whole, 2);
	device.name = "Fake 1";
	device.id = "fake-0";
	device.busy_ns = 30e6;
	device.whole_busy_ns = 60e6;
	device.busy = (struct nums){ .items = busy, .n = 2 };
	device.closed_ns = 0;
	op.name = "a_kernel";
	op.category = COMPUTE;
	op.count = 3;
	op.total_ns = 30e6;
	op.min_ns = op.max_ns = 10e6;
	op.bins = (struct nums){ .items = bins, .n = 2 };
	p.devices.items = &device;
	p.ops.items = p.whole_ops.items = &op;
	p.devices.n = p.ops.n = p.whole_ops.n = 1;
	p.names_folded = p.dropped = p.late = p.late_marks = p.graphs = p.pending = 0;
	p.gap = (struct picture_gap){ 70e6, 2e6, 3e6, 60e6, 5e6, NAN, NAN };
	p.collector_cpu_s = 0.25;
	p.collector_roi_cpu_s = 0.125;
	picture_put(b, &p);
}

/* Only processes that mark are of interest: those that have the marker library. */
__attribute__((destructor)) static void leave(void)
{
	char path[4096];
	struct buf b = { 0 };
	const char *library = told("ROIMETER_LIBRARY");
	void *marks = *library ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!marks || !is_mine() || !*told("ROIMETER_LOG"))
		return;
	if (is_told("crash"))
		abort();
	if (is_told("hang"))
		(void)sleep(600);
	(void)snprintf(path, sizeof path, "%s/%d." FAKE_NAME PICTURE_SUFFIX, told("ROIMETER_LOG"),
		       (int)getpid());
	put_picture(&b);
	FILE *f = fopen(path, "w");
	if (f && !b.failed) {
		(void)fwrite(b.data, 1, is_told("damaged") ? b.len / 2 : b.len, f);
		(void)fclose(f);
	}
	buf_done(&b);
}

static int check(char *why, size_t room)
{
	(void)snprintf(why, room, "%s", told("FAKE_CHECK"));
	return *why ? -ENOENT : 0;
}

static const char *const environment[] = { "LD_PRELOAD", "{library}", "FAKE_ONE", "{library}",
					   NULL };

PUBLIC const struct collector collector = {
	.abi = FAKE_ABI,
	.name = FAKE_NAME,
	.version = "1",
	.observes = (1u << CATEGORIES) - 1,
	.runtime = "fake",
	.environment = environment,
	.check = check,
};
