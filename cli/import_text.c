/* Imported results as text: a table of suites, or for traces a page each. */
#define _GNU_SOURCE
#include "cli/import_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "cli/words.h"
#include "lib/num.h"

#define OPS_SHOWN 10
#define NAME_SHOWN 60

/* ---- suites
 * --------------------------------------------------------------------------------------- */

struct tally {
	const char *suite;
	size_t runs, ok, cases;
	double samples;
};

static struct tally *tally_of(struct tally *tallies, size_t *n, const char *suite)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(tallies[i].suite, suite) == 0)
			return &tallies[i];
	tallies[*n] = (struct tally){ .suite = suite };
	return &tallies[(*n)++];
}

int import_text_suites(struct buf *b, const struct imports *in)
{
	static const struct text_column columns[] = {
		{ "SUITE", false }, { "INPUTS", true },  { "RUNS", true },
		{ "OK", true },     { "SAMPLES", true },
	};
	struct tally *tallies = calloc(in->n_records + in->n_cases + 1, sizeof *tallies);
	if (!tallies)
		return -ENOMEM;
	size_t n = 0;
	for (size_t i = 0; i < in->n_cases; i++)
		tally_of(tallies, &n, in->cases[i].suite)->cases++;
	for (size_t i = 0; i < in->n_records; i++) {
		const struct record_body *r = &in->records[i]->body;
		struct tally *t = tally_of(tallies, &n, r->suite);
		t->runs++;
		t->ok += strcmp(r->status, "ok") == 0;
		if (r->measurement.cleans_used > 0)
			t->samples += r->measurement.cleans_used;
	}
	struct text_table table = { .columns = columns, .n_columns = 5 };
	for (size_t i = 0; i < n; i++) {
		text_cell(&table, tallies[i].suite);
		if (tallies[i].cases)
			text_cellf(&table, "%zu", tallies[i].cases);
		else
			text_cell(&table, NULL); /* records by themselves declare nothing */
		text_cellf(&table, "%zu", tallies[i].runs);
		text_cellf(&table, "%zu", tallies[i].ok);
		text_cellf(&table, "%.0f", tallies[i].samples);
	}
	text_table_put(&table, "", b);
	free(tallies);
	return 0;
}

/* ---- a trace
 * ---------------------------------------------------------------------------------------- */

static void percent_of(struct buf *b, double part, double of, const char *what)
{
	char text[32];
	if (known(part) && of > 0)
		buf_printf(b, ", %s %% of %s", words_percent(text, part / of), what);
}

static void put_region(struct buf *b, const struct record_body *r)
{
	char a[32], c[32];
	const struct roi *roi = &r->roi;
	if (!known(roi->profiled_wall_s)) {
		buf_puts(b,
			 "  region     none in the trace: these are numbers of the whole of it\n");
		return;
	}
	buf_puts(b, "  region     ");
	const char *name = strchr(r->measurement.region, ':');
	words_plain(b, name ? name + 1 : "roimeter:roi", strlen(name ? name + 1 : "roimeter:roi"));
	buf_printf(b, ": %s in %.15g %s", num_duration(a, roi->profiled_wall_s), roi->entries,
		   roi->entries == 1 ? "range" : "ranges");
	if (roi->excluded_s > 0)
		buf_printf(b, ", %s more excluded", num_duration(c, roi->excluded_s));
	if (roi->processes > 1)
		buf_printf(b, ", of the longest of %.15g processes", roi->processes);
	buf_puts(b, "\n");
}

/* What device and whole_process have in common, by the names of the fields. */
struct sums {
	double busy_s, op_sum_s, overlap_s, window_s;
	double time_s[8], union_s[8], ops[8], bytes[8];
	const struct per_device *devices;
	size_t n_devices;
	bool roi;
};

static const char *const category_labels[] = { "compute",    "copy_h2d", "copy_d2h",   "copy_d2d",
					       "copy_other", "fill",     "collective", "other" };

#define TAKE(to, from, i, c)                                                                       \
	do {                                                                                       \
		(to)->time_s[i] = (from)->c##_s;                                                   \
		(to)->union_s[i] = (from)->c##_busy_s;                                             \
		(to)->ops[i] = (from)->c##_ops;                                                    \
		(to)->bytes[i] = (from)->c##_bytes;                                                \
	} while (0)

#define TAKE_ALL(to, from)                                                                         \
	do {                                                                                       \
		(to)->busy_s = (from)->process_device_busy_s;                                      \
		(to)->op_sum_s = (from)->op_time_sum_s;                                            \
		(to)->overlap_s = (from)->device_overlap_s;                                        \
		(to)->devices = (from)->per_device.items;                                          \
		(to)->n_devices = (from)->per_device.n;                                            \
		TAKE(to, from, 0, compute);                                                        \
		TAKE(to, from, 1, copy_h2d);                                                       \
		TAKE(to, from, 2, copy_d2h);                                                       \
		TAKE(to, from, 3, copy_d2d);                                                       \
		TAKE(to, from, 4, copy_other);                                                     \
		TAKE(to, from, 5, fill);                                                           \
		TAKE(to, from, 6, collective);                                                     \
		TAKE(to, from, 7, other);                                                          \
	} while (0)

static void take_sums(struct sums *to, const struct record_body *r)
{
	*to = (struct sums){ .roi = known(r->roi.profiled_wall_s),
			     .window_s = r->roi.profiled_wall_s };
	if (to->roi)
		TAKE_ALL(to, &r->device);
	else
		TAKE_ALL(to, &r->context.whole_process);
}

static void put_busy(struct buf *b, const struct sums *s, const struct record_body *r)
{
	char a[32];
	if (!known(s->busy_s)) {
		buf_puts(b, "  device     not observed\n");
		return;
	}
	buf_printf(b, "  busy       %s", num_duration(a, s->busy_s));
	percent_of(b, r->device.busy_frac_of_profiled_roi, 1, "the region, each process by itself");
	if (s->overlap_s > 0)
		buf_printf(b, "; operations at the same time hide %s more",
			   num_duration(a, s->overlap_s));
	buf_puts(b, "\n");
	size_t idle = 0;
	for (size_t i = 0; i < s->n_devices; i++) {
		const struct per_device *d = &s->devices[i];
		double busy = known(d->busy_s) ? d->busy_s : d->process_busy_s;
		if (!(busy > 0)) {
			idle++;
			continue;
		}
		buf_printf(b, "  device     %s: %s", d->device, num_duration(a, busy));
		percent_of(b, d->busy_frac, 1, "the region");
		buf_puts(b, "\n");
	}
	if (idle)
		buf_printf(b, "  device     %zu more did nothing\n", idle);
}

static void put_gap(struct buf *b, const struct record_body *r)
{
	const struct gap *g = &r->gap;
	char a[32];
	if (!(g->device_idle_s > 0))
		return;
	buf_printf(b, "  idle       %s", num_duration(a, g->device_idle_s));
	if (known(g->sync_s)) {
		double rest = g->device_idle_s - g->sync_s - g->api_s;
		buf_printf(b, ": %s in calls that wait for the device", num_duration(a, g->sync_s));
		buf_printf(b, ", %s in other calls of the runtime", num_duration(a, g->api_s));
		buf_printf(b, ", %s in none", num_duration(a, rest));
	}
	buf_puts(b, "\n");
}

static void cell_time(struct text_table *t, double s)
{
	char a[32];
	text_cell(t, known(s) ? num_duration(a, s) : NULL);
}

static void cell_share(struct text_table *t, double part, double of)
{
	char a[32];
	if (known(part) && of > 0)
		text_cellf(t, "%s %%", words_percent(a, part / of));
	else
		text_cell(t, NULL);
}

static void put_categories(struct buf *b, const struct sums *s)
{
	static const struct text_column columns[] = {
		{ "CATEGORY", false }, { "OPERATIONS", true }, { "TIME", true },
		{ "BUSY", true },      { "OF REGION", true },  { "BYTES", true },
	};
	struct text_table t = { .columns = columns, .n_columns = 6, .drop_empty = true };
	char a[32];
	for (size_t i = 0; i < 8; i++) {
		if (!known(s->ops[i]))
			continue;
		text_cell(&t, category_labels[i]);
		text_cellf(&t, "%.15g", s->ops[i]);
		cell_time(&t, s->time_s[i]);
		cell_time(&t, s->union_s[i]);
		cell_share(&t, s->union_s[i], s->window_s);
		if (known(s->bytes[i]) && s->bytes[i] > 0)
			text_cellf(&t, "%s%s", num_si(a, s->bytes[i]),
				   s->bytes[i] >= 999.5 ? "B" : " B");
		else
			text_cell(&t, NULL);
	}
	text_table_put(&t, "  ", b);
}

static void put_operations(struct buf *b, const struct record_body *r)
{
	static const struct text_column columns[] = {
		{ "OPERATION", false }, { "CATEGORY", false }, { "TIMES", true },
		{ "TOTAL", true },      { "MEAN", true },      { "SHARE", true },
	};
	struct text_table t = { .columns = columns, .n_columns = 6 };
	size_t n = r->ops.n < OPS_SHOWN ? r->ops.n : OPS_SHOWN;
	for (size_t i = 0; i < n; i++) {
		const struct op *o = &r->ops.items[i];
		bool cut = strlen(o->name) > NAME_SHOWN;
		text_cellf(&t, "%.*s%s", cut ? NAME_SHOWN - 3 : NAME_SHOWN, o->name,
			   cut ? "..." : "");
		text_cell(&t, o->category);
		text_cellf(&t, "%.15g", o->count);
		cell_time(&t, o->total_s);
		cell_time(&t, o->avg_s);
		cell_share(&t, o->share, 1);
	}
	text_table_put(&t, "  ", b);
	if (r->ops.n > n)
		buf_printf(b, "  and %zu more: --format json has all\n", r->ops.n - n);
}

void import_text_trace(struct buf *b, const struct record *rec)
{
	const struct record_body *r = &rec->body;
	struct sums s;
	take_sums(&s, r);
	buf_printf(b, "%s/%s on %s, %s\n", r->app, r->case_, r->platform,
		   r->provenance.imported_from);
	put_region(b, r);
	put_busy(b, &s, r);
	if (s.roi)
		put_gap(b, r);
	put_categories(b, &s);
	put_operations(b, r);
	for (size_t i = 0; i < r->caveats.n; i++)
		words_wrapped(b, "  note: ", "    ", r->caveats.items[i].text);
	buf_puts(b, "\n");
}
