/* clip_cases: random cases of tests/tools/clip_model.py on standard input, a line of JSON for each
 * on standard output: what core/flow.h and core/picture.h make of them.
 *
 *   process NODE SLOTS    begins one; its flow is made with so many slots
 *   device NAME ID        its next device
 *   range X B E           X: 1 an exclude
 *   mark WHAT T           enum flow_mark
 *   op B E BYTES DEVICE NAME CATEGORY    BYTES: negative: unknown
 *   call B E SYNC
 *   settle T
 *   merge                 all of the processes since the last one */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/flow.h"
#include "core/picture.h"
#include "lib/num.h"

#define PROCESSES 8

static struct arena arena;
static struct flow *flow;
static struct picture pictures[PROCESSES];
static size_t n;
static char node[64];

static void must(int rc)
{
	if (rc) {
		(void)fprintf(stderr, "clip_cases: error %d\n", rc);
		exit(1);
	}
}

/* As bytes and back, as it is in life. */
static void process_end(void)
{
	struct picture p;
	struct buf b = { .max = PICTURE_MAX_BYTES };
	struct err err = { "" };
	char pid[16];
	if (!flow)
		return;
	picture_clear(&p);
	must(flow_picture(flow, &arena, &p, NULL));
	(void)snprintf(pid, sizeof pid, "%zu", n);
	p.collector = "test";
	p.status = "ok";
	p.host = p.boot = node;
	p.clock = "monotonic";
	p.pid = pid;
	picture_put(&b, &p);
	if (picture_get(&pictures[n++], &arena, "case", b.data, b.len, &err)) {
		(void)fprintf(stderr, "clip_cases: %s\n", err.text);
		exit(1);
	}
	buf_done(&b);
	flow_free(flow);
	flow = NULL;
}

static void process_begin(const char *on, size_t slots)
{
	struct flow_options o = {
		.observes = (1u << CATEGORIES) - 1, .slots = slots, .keep_busy = true, .calls = true
	};
	process_end();
	if (n == PROCESSES)
		must(-E2BIG);
	(void)snprintf(node, sizeof node, "%s", on);
	must(flow_new(&flow, &o, NULL));
}

/* ---- out ----------------------------------------------------------------------------------------
 */

static const char *comma = "";

static void put_num(const char *key, double x)
{
	(void)printf("%s\"%s\":", comma, key);
	(void)(isnan(x) ? printf("null") : printf("%.17g", x));
	comma = ",";
}

static void put_list(const char *key, const double x[CATEGORIES])
{
	(void)printf("%s\"%s\":[", comma, key);
	for (int c = 0; c < CATEGORIES; c++) {
		(void)printf("%s", c ? "," : "");
		(void)(isnan(x[c]) ? printf("null") : printf("%.17g", x[c]));
	}
	(void)printf("]");
	comma = ",";
}

static void put_sums(const char *key, const struct clip_sums *s)
{
	(void)printf("%s\"%s\":{", comma, key);
	comma = "";
	put_list("time", s->time_ns);
	put_list("ops", s->ops);
	put_list("bytes", s->bytes);
	put_list("union", s->union_ns);
	put_num("busy", (double)s->busy_ns);
	put_num("op_sum", (double)s->op_sum_ns);
	put_num("device_busy", s->device_busy_ns);
	put_num("untimed", s->untimed);
	(void)printf("}");
}

static void put_devices(const struct clip *c)
{
	(void)printf("%s\"devices\":[", comma);
	for (size_t i = 0; i < c->n_devices; i++) {
		const struct clip_device *d = &c->devices[i];
		(void)printf("%s{\"id\":\"%s %s\"", i ? "," : "", d->host, d->id);
		comma = ",";
		put_num("busy", (double)d->busy_ns);
		put_num("processes", (double)d->processes);
		put_num("process_busy", d->process_busy_ns);
		put_num("window", d->window_ns);
		put_num("whole", d->whole_ns);
		put_num("whole_sum", d->whole_sum_ns);
		put_num("whole_processes", (double)d->whole_processes);
		(void)printf("}");
	}
	(void)printf("]");
	comma = ",";
}

static void put_ops(const struct clip *c)
{
	(void)printf("%s\"table\":[", comma);
	for (size_t i = 0; i < c->n_ops; i++) {
		const struct clip_op *o = &c->ops[i];
		(void)printf("%s{\"name\":\"%s %d\"", i ? "," : "", o->name, (int)o->category);
		comma = ",";
		put_num("count", (double)o->count);
		put_num("total", (double)o->total_ns);
		put_num("min", (double)o->min_ns);
		put_num("max", (double)o->max_ns);
		(void)printf("}");
	}
	(void)printf("]");
	comma = ",";
}

static void put_calls(const char *key, const struct clip_calls *s)
{
	(void)printf("%s\"%s\":[%llu,%llu,%llu,%llu]", comma, key, (unsigned long long)s->calls,
		     (unsigned long long)s->time_ns, (unsigned long long)s->sync_calls,
		     (unsigned long long)s->sync_ns);
}

static void merge(void)
{
	const struct picture *list[PROCESSES];
	struct clip c;
	process_end();
	for (size_t i = 0; i < n; i++)
		list[i] = &pictures[i];
	must(picture_merge(list, n, &arena, &c, NULL));
	comma = "";
	(void)printf("{");
	put_num("found", c.found);
	put_num("processes", (double)c.processes);
	put_num("entries", (double)c.entries);
	put_num("wall", (double)c.wall_ns);
	put_num("excluded", (double)c.excluded_ns);
	put_num("window", (double)c.window_ns);
	put_num("job_busy", (double)c.job_busy_ns);
	put_num("busy_frac_mean", c.busy_frac_mean);
	put_num("idle", c.idle_ns);
	put_num("with_work", (double)c.processes_with_device_work);
	put_num("nodes", (double)c.nodes);
	put_num("late", c.late);
	put_num("closed", (double)c.closed_ns);
	put_num("gap", c.gap.total_ns);
	put_num("gap_sync", c.gap.sync_ns);
	put_num("gap_api", c.gap.api_ns);
	put_sums("roi", &c.roi);
	put_sums("whole", &c.whole);
	put_devices(&c);
	put_ops(&c);
	put_calls("calls", &c.calls_roi);
	put_calls("whole_calls", &c.calls_whole);
	(void)printf("}\n");
	arena_free(&arena);
	arena = (struct arena){ .max_bytes = 0 };
	n = 0;
}

/* ---- in -----------------------------------------------------------------------------------------
 */

static void line(const char *text)
{
	char a[64], b[64];
	long long x, y;
	double bytes;
	unsigned u, v;
	struct flow_op op;
	if (sscanf(text, "process %63s %u", a, &u) == 2)
		process_begin(a, u);
	else if (strcmp(text, "merge\n") == 0)
		merge();
	else if (!flow)
		must(-EINVAL);
	else if (sscanf(text, "device %63s %63s", a, b) == 2)
		must(flow_device(flow, a, b) < 0);
	else if (sscanf(text, "range %u %lld %lld", &u, &x, &y) == 3)
		must(flow_range(flow, u, x, y));
	else if (sscanf(text, "mark %u %lld", &u, &x) == 2)
		must(flow_mark(flow, (enum flow_mark)u, x));
	else if (sscanf(text, "call %lld %lld %u", &x, &y, &u) == 3)
		flow_call(flow, x, y, u);
	else if (sscanf(text, "settle %lld", &x) == 1)
		flow_settle(flow, x);
	else if (sscanf(text, "op %lld %lld %lf %u %63s %u", &x, &y, &bytes, &u, a, &v) == 6) {
		op = (struct flow_op){ .begin_ns = x,
				       .end_ns = y,
				       .bytes = bytes < 0 ? (double)NAN : bytes,
				       .device = u,
				       .name = (uint32_t)flow_name(flow, a, strlen(a)),
				       .category = v };
		flow_op(flow, &op);
	} else
		must(-EINVAL);
}

int main(void)
{
	char text[512];
	while (fgets(text, sizeof text, stdin))
		line(text);
	return 0;
}
