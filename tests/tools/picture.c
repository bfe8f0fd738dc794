/* picture FILE...: what a collector left of each process, in lines of a key and its values. */
#include <math.h>
#include <stdio.h>

#include "core/category.h"
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "schema/picture.h"

static void print_nums(const char *key, const struct nums *n)
{
	(void)printf("%s", key);
	for (size_t i = 0; i < n->n; i++)
		isnan(n->items[i]) ? printf(" null") : printf(" %.17g", n->items[i]);
	(void)printf("%s\n", n->items ? "" : " null");
}

static void print_num(const char *scope, const char *key, double v)
{
	(void)printf("%s%s ", scope, key);
	(void)(isnan(v) ? printf("null\n") : printf("%.17g\n", v));
}

static void print_sums(const char *scope, const struct picture_sums *s)
{
	char key[64];
	const struct {
		const char *name;
		const struct nums *of;
	} lists[] = { { "ops", &s->ops },
		      { "time_ns", &s->time_ns },
		      { "bytes", &s->bytes },
		      { "union_ns", &s->union_ns } };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		(void)snprintf(key, sizeof key, "%s%s", scope, lists[i].name);
		print_nums(key, lists[i].of);
	}
	print_num(scope, "op_sum_ns", s->op_sum_ns);
	print_num(scope, "busy_ns", s->busy_ns);
	print_num(scope, "device_busy_ns", s->device_busy_ns);
	print_num(scope, "calls", s->calls);
	print_num(scope, "sync_calls", s->sync_calls);
	print_num(scope, "untimed", s->untimed);
}

static void print_ops(const char *key, const struct picture_op *o, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)printf("%s %.17g %.17g %s\n", key, o[i].count, o[i].total_ns, o[i].name);
}

static void print(const struct picture *p)
{
	const struct picture_device *d = p->devices.items;
	(void)printf("collector %s\nruntime %s\nstatus %s\nwhy %s\nfinal %d\nexe %s\npid %s\n",
		     p->collector, p->runtime ? p->runtime : "null", p->status ? p->status : "null",
		     p->why ? p->why : "", p->final, p->exe ? p->exe : "null",
		     p->pid ? p->pid : "null");
	(void)printf("observes");
	for (size_t i = 0; i < p->observes.n; i++)
		(void)printf(" %s", p->observes.items[i]);
	(void)printf("\nfound %d\n", p->found);
	print_num("", "entries", p->entries);
	print_num("", "wall_ns", p->wall_ns);
	print_num("", "gross_ns", p->gross_ns);
	print_nums("windows", &p->windows);
	print_sums("roi.", &p->roi);
	print_sums("whole.", &p->whole);
	print_num("", "dropped", p->dropped);
	print_num("", "late", p->late);
	print_num("", "late_marks", p->late_marks);
	print_num("", "graphs", p->graphs);
	print_num("", "pending", p->pending);
	print_num("", "clock_offset_ns", p->clock_offset_ns);
	print_num("", "clock_drift_ns", p->clock_drift_ns);
	print_num("", "collector_cpu_s", p->collector_cpu_s);
	print_num("gap.", "total_ns", p->gap.total_ns);
	print_num("gap.", "sync_ns", p->gap.sync_ns);
	for (size_t i = 0; i < p->devices.n; i++)
		(void)printf("device %.17g %.17g %s %s\n", d[i].busy_ns, d[i].whole_busy_ns,
			     d[i].id ? d[i].id : "null", d[i].name);
	print_ops("op", p->ops.items, p->ops.n);
	print_ops("whole_op", p->whole_ops.items, p->whole_ops.n);
	for (size_t i = 0; i < p->notes.n; i++)
		(void)printf("note %s\n", p->notes.items[i]);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct arena a = { .max_bytes = 0 };
		struct buf b = { .max = PICTURE_MAX_BYTES };
		struct picture p;
		struct err err;
		if (file_read(&b, argv[i], &err) ||
		    picture_get(&p, &a, argv[i], b.data, b.len, &err)) {
			(void)fprintf(stderr, "picture: %s\n", err.text);
			return 2;
		}
		print(&p);
		arena_free(&a);
		buf_done(&b);
	}
	return 0;
}
