/* The options of all probes. */
#ifndef PROBE_OPTIONS_H
#define PROBE_OPTIONS_H

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROBE_WARM_UP = 10,
	PROBE_LAUNCHES = 20,
	PROBE_CHECKS = 5,
	PROBE_GRAPH_NODES = 4, /* with --graph the 20 launches are 5 graphs of 4 kernels */
	PROBE_COUNTERS = 64,   /* floats behind the elements for each queue: +1 by each launch */
	PROBE_TAIL = 1024,     /* elements that are looked at in the end, the last ones */
	PROBE_MOST = 16        /* devices, queues, processes */
};

struct probe_options {
	int queues, processes, regions, devices;
	bool graph, exclude_copy, fork_only;
	int kill_at; /* 0: not; else after this launch of the region; 21: after its end */
	double kill_wait_s;
	const char *kill_in; /* only where ROIMETER_EXEC begins like this; NULL: everywhere */
	const char *plant;   /* NULL, or one of probe_faults */
	/* Where it is planted: processes and queues from 0, regions from 1; -1: not told, which is
	 * in all processes and regions, on the queue whose turn it is. */
	int plant_process, plant_region, plant_queue;
	double kernel_us;   /* 0: as long as the work takes */
	size_t elements;    /* floats */
	unsigned repeat;    /* rounds of x = x / 2 + 1 for each element in each launch */
	int child;          /* which process this is, from 0 */
	int first_device;   /* the first of the devices to use */
	const char *folder; /* for files, of the probe that makes some; NULL: $TMPDIR, or /tmp */
	/* The array has elements, then PROBE_COUNTERS for each queue. */
	size_t floats;
};

static const char *probe_name = "probe"; /* of the program, for what it says */

static const char *const probe_faults[] = { "launch", "copy",         "exclude",
					    "graph",  "exclude-copy", NULL };

static int probe_fail(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static int probe_fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "%s: ", probe_name);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	return 1;
}

static const char *const probe_help =
	"[OPTION]...  Work of an exactly known amount, for the test of a collector.\n"
	"  --queues N        spread the launches over N queues\n"
	"  --processes N     N processes do it, each all of it (fork and exec; with --fork without "
	"exec)\n"
	"  --devices N       on N devices, each all of it; --first-device K: from the K-th, from "
	"0\n"
	"  --regions N       enter the region N times, with one launch between\n"
	"  --graph           the 20 launches of the region are 5 graphs of 4\n"
	"  --exclude-copy    a copy within the device in the exclude, too\n"
	"  --kill-at STEP    SIGKILL after launch STEP of the region, 1 to 20; 21: after its end\n"
	"  --kill-wait S     with all work done, S seconds later\n"
	"  --kill-in NAME    only in executions of that name, as in profiled.cupti, or its "
	"beginning\n"
	"  --kernel-us U     each launch takes about U microseconds, and changes no element\n"
	"  --elements N      floats on each device (default 33554432, less where a processor does "
	"it)\n"
	"  --repeat N        rounds for each element in a launch (default 256)\n"
	"  --folder DIR      where probe_io has its files (default: $TMPDIR, or /tmp)\n"
	"  --plant FAULT     launch: one too many in the region. copy: the region's is missing.\n"
	"                    exclude: one check launch is outside of it. graph: one too many.\n"
	"                    exclude-copy: that copy is outside of it\n"
	"  --plant-process K only in the K-th process, from 0; --plant-region R: only in the R-th\n"
	"                    region, from 1; --plant-queue Q: the launch goes to the Q-th, from 0\n"
	"Prints a line of JSON for each process. Exit code 0: done, 2: wrong, 4: no such device "
	"here,\n"
	"or it can't do that.\n";

static int probe_number(const char *option, const char *text, double low, double high, double *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= low && v <= high)) {
		probe_fail("--%s %s: must be a number from %.0f to %.0f", option, text, low, high);
		return 2;
	}
	*ret = v;
	return 0;
}

/* Options with a number: where it goes, and what it may be. */
struct probe_range {
	char letter;
	int *into;
	double low, high;
};

static int probe_take_number(const char *name, int c, struct probe_options *o)
{
	const struct probe_range ranges[] = {
		{ 'q', &o->queues, 1, PROBE_MOST },
		{ 'p', &o->processes, 1, PROBE_MOST },
		{ 'd', &o->devices, 1, PROBE_MOST },
		{ 'r', &o->regions, 1, PROBE_MOST },
		{ 'k', &o->kill_at, 1, PROBE_LAUNCHES + 1 },
		{ 'c', &o->child, 0, PROBE_MOST },
		{ 'D', &o->first_device, 0, PROBE_MOST },
		{ 'P', &o->plant_process, 0, PROBE_MOST - 1 },
		{ 'R', &o->plant_region, 1, PROBE_MOST },
		{ 'Q', &o->plant_queue, 0, PROBE_MOST - 1 },
	};
	double v = 0;

	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (ranges[i].letter == c) {
			int rc = probe_number(name, optarg, ranges[i].low, ranges[i].high, &v);
			*ranges[i].into = (int)v;
			return rc;
		}
	if (c == 'u')
		return probe_number(name, optarg, 0, 1e7, &o->kernel_us);
	if (c == 'w')
		return probe_number(name, optarg, 0, 1e7, &o->kill_wait_s);
	int rc = probe_number(name, optarg, 1, c == 'n' ? 1e10 : 1e7, &v);
	if (c == 'n')
		o->elements = (size_t)v;
	else
		o->repeat = (unsigned)v;
	return rc;
}

static int probe_check_options(struct probe_options *o)
{
	const char *execution = getenv("ROIMETER_EXEC");
	bool good = !o->plant;

	for (int i = 0; probe_faults[i] && !good; i++)
		good = strcmp(o->plant, probe_faults[i]) == 0;
	if (!good)
		return probe_fail("--plant %s: must be launch, copy, exclude, graph or "
				  "exclude-copy",
				  o->plant),
		       2;
	if (o->plant && ((strcmp(o->plant, "graph") == 0 && !o->graph) ||
			 (strcmp(o->plant, "exclude-copy") == 0 && !o->exclude_copy)))
		return probe_fail("--plant %s: needs --%s", o->plant, o->plant), 2;
	if (o->plant_queue >= o->queues || o->plant_region > o->regions)
		return probe_fail("--plant-queue, --plant-region: there are not so many"), 2;
	if (o->elements < (size_t)o->queues)
		return probe_fail("--elements %zu: fewer than queues", o->elements), 2;
	if (o->kill_in && (!execution || strncmp(execution, o->kill_in, strlen(o->kill_in)) != 0))
		o->kill_at = 0;
	o->floats = o->elements + (size_t)o->queues * PROBE_COUNTERS;
	return 0;
}

static int probe_parse(int argc, char **argv, struct probe_options *o)
{
	static const struct option list[] = {
		{ "queues", 1, NULL, 'q' },       { "processes", 1, NULL, 'p' },
		{ "devices", 1, NULL, 'd' },      { "regions", 1, NULL, 'r' },
		{ "graph", 0, NULL, 'g' },        { "exclude-copy", 0, NULL, 'x' },
		{ "kill-at", 1, NULL, 'k' },      { "kernel-us", 1, NULL, 'u' },
		{ "elements", 1, NULL, 'n' },     { "repeat", 1, NULL, 't' },
		{ "plant", 1, NULL, 'f' },        { "child", 1, NULL, 'c' },
		{ "first-device", 1, NULL, 'D' }, { "fork", 0, NULL, 'F' },
		{ "kill-wait", 1, NULL, 'w' },    { "kill-in", 1, NULL, 'i' },
		{ "folder", 1, NULL, 'o' },       { "plant-process", 1, NULL, 'P' },
		{ "plant-region", 1, NULL, 'R' }, { "plant-queue", 1, NULL, 'Q' },
		{ "help", 0, NULL, 'h' },         { NULL, 0, NULL, 0 }
	};
	int c, at = 0;

	o->plant_process = o->plant_region = o->plant_queue = -1;
	while ((c = getopt_long(argc, argv, "", list, &at)) >= 0) {
		switch (c) {
		case 'h':
			printf("usage: %s %s", probe_name, probe_help);
			exit(0);
		case '?':
			return 2;
		case 'g':
			o->graph = true;
			break;
		case 'x':
			o->exclude_copy = true;
			break;
		case 'F':
			o->fork_only = true;
			break;
		case 'f':
			o->plant = optarg;
			break;
		case 'i':
			o->kill_in = optarg;
			break;
		case 'o':
			o->folder = optarg;
			break;
		default:
			if (probe_take_number(list[at].name, c, o))
				return 2;
			break;
		}
	}
	if (optind < argc)
		return probe_fail("%s: not an option; see --help", argv[optind]), 2;
	return probe_check_options(o);
}

#endif
