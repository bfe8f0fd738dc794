/* What the device did inside the region, what the host did while it did nothing, and the operations
 * that took longest. */
#define _GNU_SOURCE
#include "cli/show_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/words.h"
#include "lib/num.h"
#include "schema/bins.h"
#include "schema/walk.h"

#define OPS_SHOWN 15
#define DEVICES_SHOWN 32
#define OP_COLUMNS_BYTES 74 /* of a line, before an operation's name */

/* ---- values ---------------------------------------------------------------------------------- */

/* A device is watched or not, so a dash would say too little. */
static void unseen(struct page *p, const char *label, const char *field)
{
	show_null(p, "not observed", label, field);
}

static void seconds(struct page *p, const char *label, const char *field, double x)
{
	show_seconds(p, "not observed", label, field, x);
}

static void percent(struct page *p, const char *label, const char *field, double x)
{
	char number[32], text[40];
	(void)snprintf(text, sizeof text, "%s %%", words_percent(number, x));
	if (known(x))
		show_line(p, label, text);
	else
		unseen(p, label, field);
}

static void sum_of_lengths(struct page *p, double sum, double overlap)
{
	char a[32], b[32], text[96];
	if (!known(sum))
		return;
	(void)snprintf(text, sizeof text, "%s", num_duration(a, sum));
	if (known(overlap))
		(void)snprintf(text, sizeof text, "%s, %s of it beside others", a,
			       overlap > 0 ? num_duration(b, overlap) : "none");
	show_line(p, "operations add up to", text);
}

/* ---- categories ------------------------------------------------------------------------------ */

struct category {
	const char *label, *field; /* of its time, below device */
	double s, busy_s, ops, bytes;
};

#define CATEGORIES(X)                                                                              \
	X(compute, "kernels")                                                                      \
	X(copy_h2d, "copies host to device")                                                       \
	X(copy_d2h, "copies device to host")                                                       \
	X(copy_d2d, "copies on the device")                                                        \
	X(copy_other, "other copies")                                                              \
	X(fill, "fills")                                                                           \
	X(collective, "collectives")                                                               \
	X(other, "other")

#define TAKE(c, text) { text, #c "_s", d->c##_s, d->c##_busy_s, d->c##_ops, d->c##_bytes },
#define N_CATEGORIES 8

static void put_si(struct text_table *t, double x, const char *unit)
{
	char text[32];
	if (known(x))
		text_cellf(t, "%s%s%s", num_si(text, x), fabs(x) >= 999.5 ? "" : " ", unit);
	else
		text_cell(t, NULL);
}

static void put_count(struct text_table *t, double x)
{
	if (known(x))
		text_cellf(t, "%.15g", x);
	else
		text_cell(t, NULL);
}

/* One digit behind the point, so that they stand below each other; more for what is hardly
 * anything. */
static const char *share_text(char text[32], double x)
{
	if (x != 0 && fabs(x) < 0.001)
		return words_percent(text, x);
	(void)snprintf(text, 32, "%.1f", x * 100);
	return text;
}

static void put_share(struct text_table *t, double x)
{
	char text[32];
	if (known(x))
		text_cellf(t, "%s %%", share_text(text, x));
	else
		text_cell(t, NULL);
}

/* Rates are those while the category was at work: bytes over its union. */
static void put_category(struct text_table *t, const struct category *c)
{
	text_cell(t, c->label);
	show_cell_seconds(t, c->busy_s);
	show_cell_seconds(t, c->s);
	put_count(t, c->ops);
	show_cell_seconds(t, c->ops > 0 ? c->s / c->ops : (double)NAN);
	put_si(t, c->bytes, "B");
	put_si(t, c->bytes > 0 && c->busy_s > 0 ? c->bytes / c->busy_s : (double)NAN, "B/s");
}

static void add_label(struct buf *b, const char *label)
{
	buf_printf(b, "%s%s", b->len ? ", " : "", label);
}

static void put_labels(struct page *p, const char *title, struct buf *labels, const char *why)
{
	char first[64];
	(void)snprintf(first, sizeof first, "  %-24s ", title);
	if (labels->len && why) {
		buf_printf(labels, " (%s)", why);
		for (char *at = labels->data; !labels->failed && *at; at++)
			*at = *at == '_' ? ' ' : *at;
	}
	if (labels->len && !labels->failed)
		words_wrapped(p->b, first, "                           ", labels->data);
	buf_done(labels);
}

/* What did something as a table; what did nothing, and what nobody could see, each in a line. */
static void categories(struct page *p, const struct category *all, const char *block)
{
	static const struct text_column columns[] = {
		{ "kind of work", false }, { "busy", true },  { "time", true }, { "times", true },
		{ "mean", true },          { "bytes", true }, { "rate", true },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	struct buf none = { .max = 4096 }, not_seen = { .max = 4096 };
	const char *why = NULL;
	for (size_t i = 0; i < N_CATEGORIES; i++) {
		const struct category *c = &all[i];
		char field[64];
		(void)snprintf(field, sizeof field, "%s.%s", block, c->field);
		if (!known(c->s) && !known(c->ops)) {
			add_label(&not_seen, c->label);
			why = why ? why : show_why(p, field);
		} else if (c->ops > 0 || c->s > 0) {
			put_category(&t, c);
		} else {
			add_label(&none, c->label);
		}
	}
	bool some = t.n_cells > 0;
	buf_puts(p->b, some ? "\n" : "");
	text_table_put(&t, "  ", p->b);
	if (none.len || not_seen.len)
		buf_puts(p->b, some ? "\n" : "");
	put_labels(p, "watched, and none of", &none, NULL);
	put_labels(p, "not observed", &not_seen, why);
}

/* ---- the device -------------------------------------------------------------------------------
 */

static void per_device(struct page *p, const struct per_device *items, size_t n)
{
	static const struct text_column columns[] = {
		{ "device", false }, { "host", false }, { "busy", true },
		{ "share", true },   { "idle", true },  { "processes", true },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	for (size_t i = 0; i < n && i < DEVICES_SHOWN; i++) {
		const struct per_device *d = &items[i];
		text_cell(&t, d->device ? d->device : d->id);
		text_cell(&t, n > 1 ? d->host : NULL);
		show_cell_seconds(&t, d->busy_s);
		put_share(&t, d->busy_frac);
		show_cell_seconds(&t, d->idle_s);
		put_count(&t, d->processes);
	}
	if (n)
		buf_puts(p->b, "\n");
	text_table_put(&t, "  ", p->b);
	if (n > DEVICES_SHOWN)
		buf_printf(p->b, "  and %zu more: --format json has all\n", n - DEVICES_SHOWN);
}

/* Only where it says more than what stands above it: one process with one device has one union. */
static void unions(struct page *p, const struct device *d)
{
	char a[32], text[128];
	if (d->processes > 1 && known(d->processes_with_device_work)) {
		(void)snprintf(text, sizeof text, "%.0f, of them %.0f with work for a device",
			       d->processes, d->processes_with_device_work);
		show_line(p, "processes", text);
	}
	if (known(d->job_busy_s) && d->job_busy_s != d->busy_s)
		show_line(p, "any device of the job", num_duration(a, d->job_busy_s));
	if (known(d->process_device_busy_s) && d->process_device_busy_s != d->busy_s)
		show_line(p, "each device by itself", num_duration(a, d->process_device_busy_s));
	sum_of_lengths(p, d->op_time_sum_s, d->overlap_s);
}

static void incomplete(struct page *p, const struct device *d)
{
	if (d->incomplete == YES)
		show_line(p, "INCOMPLETE",
			  "something is missing in these numbers; see the caveats");
	const struct {
		const char *label;
		double n;
	} counts[] = {
		{ "without a time", d->untimed_ops },
		{ "lost by the collector", d->dropped_ops },
		{ "too late for unions", d->late_ops },
		{ "never seen to end", d->pending_ops },
		{ "graphs seen as a whole", d->graphs },
	};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (counts[i].n > 0)
			show_maybe_count(p, counts[i].label, counts[i].n);
	if (d->union_error_s > 0)
		show_maybe_seconds(p, "unions at most too large", d->union_error_s);
}

static void collector(struct page *p)
{
	const struct observer *o = &p->r->observer;
	const char *name = p->r->measurement.collector, *in = p->r->device.execution;
	char a[32], b[32], text[160];
	if (!name || strcmp(name, "none") == 0)
		return;
	(void)snprintf(text, sizeof text, "%.60s%s%.60s", name, in ? ", in " : "", in ? in : "");
	show_line(p, "seen by", text);
	if (!known(o->collector_cpu_s))
		return;
	(void)snprintf(text, sizeof text, "%s of CPU time", num_duration(a, o->collector_cpu_s));
	if (known(o->collector_roi_cpu_s))
		(void)snprintf(text, sizeof text, "%s of CPU time, %s of it in the region", a,
			       num_duration(b, o->collector_roi_cpu_s));
	show_line(p, "which took", text);
}

static bool nothing_in(const struct block *block, const void *at)
{
	for (size_t i = 0; i < block->count; i++)
		if (!field_is_null(&block->fields[i], at))
			return false;
	return true;
}

static void in_region(struct page *p)
{
	const struct device *d = &p->r->device;
	const struct category all[N_CATEGORIES] = { CATEGORIES(TAKE) };
	show_heading(p, "Device, in the region");
	if (nothing_in(&device_block, d)) {
		unseen(p, "all of it", "device");
		return;
	}
	collector(p);
	seconds(p, "busy", "device.busy_s", d->busy_s);
	percent(p, "of the clean region", "device.busy_frac_of_roi", d->busy_frac_of_roi);
	percent(p, "of the profiled region", "device.busy_frac_of_profiled_roi",
		d->busy_frac_of_profiled_roi);
	seconds(p, "idle in the clean region", "device.host_gap_s", d->host_gap_s);
	unions(p, d);
	incomplete(p, d);
	categories(p, all, "device");
	per_device(p, d->per_device.items, d->per_device.n);
}

/* Of a trace without a region it is all there is; else it tells what the region leaves out. */
static void in_process(struct page *p)
{
	const struct whole_process *d = &p->r->context.whole_process;
	const struct category all[N_CATEGORIES] = { CATEGORIES(TAKE) };
	if (nothing_in(&whole_process_block, d))
		return;
	show_heading(p, "Device, in the whole process");
	seconds(p, "busy", "context.whole_process.busy_s", d->busy_s);
	sum_of_lengths(p, d->op_time_sum_s, num15(d->op_time_sum_s - d->busy_s));
	if (d->untimed_ops > 0)
		show_maybe_count(p, "without a time", d->untimed_ops);
	if (known(p->r->device.busy_s)) /* the kinds of work stand above */
		return;
	categories(p, all, "context.whole_process");
	per_device(p, d->per_device.items, d->per_device.n);
}

/* ---- the host ----------------------------------------------------------------------------------
 */

static void calls(struct page *p)
{
	const struct runtime_api *a = &p->r->runtime_api;
	char t[32], text[128];
	if (!known(a->calls) && !known(a->whole_calls))
		return;
	bool inside = known(a->calls);
	(void)snprintf(text, sizeof text, "%.15g, %s", inside ? a->calls : a->whole_calls,
		       num_duration(t, inside ? a->time_s : a->whole_time_s));
	show_line(p, inside ? "calls of the runtime" : "calls, whole process", text);
	double n = inside ? a->sync_calls : a->whole_sync_calls;
	(void)snprintf(text, sizeof text, "%.15g, %s", n,
		       num_duration(t, inside ? a->sync_s : a->whole_sync_s));
	if (known(n))
		show_line(p, "of them waiting", text);
}

struct part {
	const char *label, *field;
	double s;
};

static void host(struct page *p)
{
	const struct gap *g = &p->r->gap;
	const struct part parts[] = {
		{ "waiting for the device", "gap.sync_s", g->sync_s },
		{ "in other runtime calls", "gap.api_s", g->api_s },
		{ "on the CPU", "gap.cpu_s", g->cpu_s },
		{ "off the CPU", "gap.off_cpu_s", g->off_cpu_s },
		{ "in I/O", "gap.io_s", g->io_s },
		{ "in MPI", "gap.mpi_s", g->mpi_s },
	};
	char a[32], share[32], text[96];
	if (nothing_in(&gap_block, g) && !known(p->r->runtime_api.calls) &&
	    !known(p->r->runtime_api.whole_calls))
		return;
	show_heading(p, "Host, while the device did nothing");
	if (nothing_in(&gap_block, g)) {
		unseen(p, "all of it", "gap");
		calls(p);
		return;
	}
	seconds(p, "under the collector", "gap.device_idle_s", g->device_idle_s);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!known(parts[i].s)) {
			unseen(p, parts[i].label, parts[i].field);
			continue;
		}
		(void)snprintf(text, sizeof text, "%s", num_duration(a, parts[i].s));
		if (g->device_idle_s > 0)
			(void)snprintf(text, sizeof text, "%-9s %5s %%", a,
				       share_text(share, parts[i].s / g->device_idle_s));
		show_line(p, parts[i].label, text);
	}
	calls(p);
}

/* ---- operations ---------------------------------------------------------------------------------
 */

/* The upper end of the bin in which this share of them lies, but no more than the longest. */
static double quantile(const struct op *o, double share)
{
	double all = 0, below = 0;
	for (size_t i = 0; i + 1 < o->bins.n; i += 2)
		all += o->bins.items[i + 1];
	for (size_t i = 0; all > 0 && i + 1 < o->bins.n; i += 2) {
		double bin = o->bins.items[i];
		below += o->bins.items[i + 1];
		if (below < share * all)
			continue;
		if (!(bin >= 0 && bin < ROI_BINS))
			return NAN;
		double top = (double)roi_bin_top((unsigned)bin) / 1e9;
		return known(o->max_s) && top > o->max_s ? o->max_s : top;
	}
	return NAN;
}

/* Names of kernels are long: as much of one as the line has room for. */
static size_t name_room(void)
{
	struct winsize size = { 0 };
	const char *told = getenv("COLUMNS");
	size_t width = told && atoi(told) > 0 ? (size_t)atoi(told) : 120;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		width = size.ws_col;
	return width < OP_COLUMNS_BYTES + 24 ? 24 : width - OP_COLUMNS_BYTES;
}

static void put_op(struct text_table *t, const struct op *o, size_t room)
{
	show_cell_seconds(t, o->total_s);
	put_share(t, o->share);
	put_count(t, o->count);
	show_cell_seconds(t, o->avg_s);
	show_cell_seconds(t, quantile(o, 0.5));
	show_cell_seconds(t, quantile(o, 0.95));
	show_cell_seconds(t, o->max_s);
	text_cell(t, o->category);
	const char *name = o->name ? o->name : "-";
	name += strncmp(name, "void ", 5) == 0 ? 5 : 0; /* as all kernels are */
	size_t n = strlen(name), shown = n > room ? room - 3 : n;
	while (shown < n && shown && ((unsigned char)name[shown] & 0xc0) == 0x80)
		shown--; /* no half letter of UTF-8 */
	text_cellf(t, "%.*s%s", (int)shown, name, shown < n ? "..." : "");
}

static void operations(struct page *p)
{
	static const struct text_column columns[] = {
		{ "total", true },   { "share", true }, { "times", true },
		{ "mean", true },    { "50 %", true },  { "95 %", true },
		{ "longest", true }, { "kind", false }, { "operation", false },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	size_t n = p->r->ops.n;
	for (size_t i = 0; i < n && i < OPS_SHOWN; i++)
		put_op(&t, &p->r->ops.items[i], name_room());
	if (n)
		show_heading(p, p->r->ops_scope && strcmp(p->r->ops_scope, "whole_process") == 0
					? "Device operations of the whole process"
					: "Device operations in the region");
	text_table_put(&t, "  ", p->b);
	if (n > OPS_SHOWN)
		buf_printf(p->b, "  and %zu more: --format json has all\n", n - OPS_SHOWN);
}

void show_device(struct page *p)
{
	in_region(p);
	host(p);
	in_process(p);
	operations(p);
}
