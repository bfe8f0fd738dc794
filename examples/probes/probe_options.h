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
	int kill_at;       /* 0: not; else after this launch of the region, 1 to 20 */
	const char *plant; /* NULL, "launch", "copy", "exclude" */
	double kernel_us;  /* 0: as long as the work takes */
	size_t elements;   /* floats */
	unsigned repeat;   /* rounds of x = x / 2 + 1 for each element in each launch */
	int child;         /* which process this is, from 0 */
	int first_device;  /* the first of the devices to use */
	/* The array has elements, then PROBE_COUNTERS for each queue. */
	size_t floats;
};

static const char *probe_name = "probe"; /* of the program, for what it says */

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
	"  --kill-at STEP    SIGKILL after launch STEP of the region, 1 to 20\n"
	"  --kernel-us U     each launch takes about U microseconds, and changes no element\n"
	"  --elements N      floats on each device (default 33554432, less where a processor does "
	"it)\n"
	"  --repeat N        rounds for each element in a launch (default 256)\n"
	"  --plant FAULT     launch: one too many in the region. copy: the region's is missing.\n"
	"                    exclude: one check launch is outside of it\n"
	"Prints a line of JSON for each process. Exit code 0: done, 2: wrong, 4: no such device "
	"here.\n";

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
		{ "help", 0, NULL, 'h' },         { NULL, 0, NULL, 0 }
	};
	int c, at = 0;

	while ((c = getopt_long(argc, argv, "", list, &at)) >= 0) {
		double v = 0;
		double high = strchr("n", c)    ? 1e10
			      : strchr("tu", c) ? 1e7
			      : c == 'k'        ? 20
						: PROBE_MOST;
		if (c == 'h') {
			printf("usage: %s %s", probe_name, probe_help);
			exit(0);
		}
		if (c == '?')
			return 2;
		if (strchr("qpdrkuntcD", c) &&
		    probe_number(list[at].name, optarg, strchr("ucD", c) ? 0 : 1, high, &v))
			return 2;
		switch (c) {
		case 'q':
			o->queues = (int)v;
			break;
		case 'p':
			o->processes = (int)v;
			break;
		case 'd':
			o->devices = (int)v;
			break;
		case 'r':
			o->regions = (int)v;
			break;
		case 'k':
			o->kill_at = (int)v;
			break;
		case 'c':
			o->child = (int)v;
			break;
		case 'D':
			o->first_device = (int)v;
			break;
		case 'u':
			o->kernel_us = v;
			break;
		case 'n':
			o->elements = (size_t)v;
			break;
		case 't':
			o->repeat = (unsigned)v;
			break;
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
		default:
			break;
		}
	}
	if (optind < argc)
		return probe_fail("%s: not an option; see --help", argv[optind]), 2;
	if (o->plant && strcmp(o->plant, "launch") && strcmp(o->plant, "copy") &&
	    strcmp(o->plant, "exclude"))
		return probe_fail("--plant %s: must be launch, copy or exclude", o->plant), 2;
	if (o->elements < (size_t)o->queues)
		return probe_fail("--elements %zu: fewer than queues", o->elements), 2;
	o->floats = o->elements + (size_t)o->queues * PROBE_COUNTERS;
	return 0;
}

#endif
