/* What a run did to its files: sums with the time they took, each interface, the files, patterns in
 * words, and everything that is known to be missing first. */
#define _GNU_SOURCE
#include "cli/show_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/words.h"
#include "lib/num.h"

#define FILES_SHOWN 15

/* ---- values -------------------------------------------------------------------------------------
 */

static const char *size_text(char text[32], double bytes)
{
	char number[32];
	(void)num_si(number, bytes); /* "1.31 G", "245" */
	(void)snprintf(text, 32, "%.20s%s", number, strchr(number, ' ') ? "B" : " B");
	return text;
}

static void put_size(struct text_table *t, double bytes)
{
	char text[32];
	text_cell(t, known(bytes) ? size_text(text, bytes) : NULL);
}

static void put_count(struct text_table *t, double x)
{
	if (known(x))
		text_cellf(t, "%.15g", x);
	else
		text_cell(t, NULL);
}

static void put_time(struct text_table *t, double s)
{
	if (known(s))
		show_cell_seconds(t, s);
	else
		text_cell(t, NULL);
}

/* What is missing stands before the numbers that lack it. */
static void loud(struct page *p, const struct io *io)
{
	char text[160];
	for (size_t i = 0; i < io->partial.n; i++) {
		(void)snprintf(text, sizeof text, "PARTIAL: %.60s had no room for everything",
			       io->partial.items[i]);
		show_line(p, "what is missing", text);
	}
	if (io->dropped_ops > 0) {
		(void)snprintf(text, sizeof text, "%.15g calls were seen and could not be counted",
			       io->dropped_ops);
		show_line(p, "what is missing", text);
	}
	if (io->incomplete == YES && !io->partial.n && !(io->dropped_ops > 0))
		show_line(p, "what is missing", "INCOMPLETE: the caveats say what");
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

static bool any(const struct io_sums *s)
{
	return known(s->read_bytes) || known(s->write_bytes) || known(s->read_ops) ||
	       known(s->write_ops) || known(s->open_ops) || known(s->meta_ops);
}

static const struct {
	const char *label;
	size_t bytes, ops,
		time; /* offsets in struct io_sums; the first two have bytes, 0: none of others */
} lines[] = {
	{ "read", offsetof(struct io_sums, read_bytes), offsetof(struct io_sums, read_ops),
	  offsetof(struct io_sums, read_s) },
	{ "written", offsetof(struct io_sums, write_bytes), offsetof(struct io_sums, write_ops),
	  offsetof(struct io_sums, write_s) },
	{ "open, close", 0, offsetof(struct io_sums, open_ops), 0 },
	{ "seek", 0, offsetof(struct io_sums, seek_ops), 0 },
	{ "sync", 0, offsetof(struct io_sums, sync_ops), 0 },
	{ "names, sizes, attributes", 0, offsetof(struct io_sums, meta_ops), 0 },
	{ "  all but read and write", 0, 0, offsetof(struct io_sums, meta_s) },
	{ "failed", 0, offsetof(struct io_sums, failed_ops), 0 },
	{ "of unknown time", 0, offsetof(struct io_sums, untimed_ops), 0 },
};

static double at(const struct io_sums *s, size_t offset)
{
	double x;
	memcpy(&x, (const char *)s + offset, sizeof x);
	return x;
}

/* Lines without the blanks that a last cell of nothing leaves. */
static void put_trimmed(struct buf *b, struct text_table *t)
{
	struct buf all = { 0 };
	text_table_put(t, "  ", &all);
	for (size_t i = 0, from = 0; i < all.len; i++) {
		if (all.data[i] != '\n')
			continue;
		size_t to = i;
		while (to > from && all.data[to - 1] == ' ')
			to--;
		buf_put(b, all.data + from, to - from);
		buf_puts(b, "\n");
		from = i + 1;
	}
	b->failed = b->failed || all.failed;
	buf_done(&all);
}

/* n sums side by side, of the region and the whole process. A cell that a line has no number for is
 * blank, what is not known is "-". */
static void put_sums(struct page *p, const struct io_sums *const *sums, size_t n)
{
	static const struct text_column columns[] = {
		{ "", false },     { "bytes", true }, { "calls", true }, { "time", true },
		{ "bytes", true }, { "calls", true }, { "time", true },
	};
	struct text_table t = { .columns = columns, .n_columns = 1 + 3 * n };
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		bool worth = i < 2;
		for (size_t k = 0; k < n; k++)
			worth = worth || (lines[i].ops && at(sums[k], lines[i].ops) > 0) ||
				(!lines[i].ops && at(sums[k], lines[i].time) > 0);
		if (!worth)
			continue;
		text_cell(&t, lines[i].label);
		for (size_t k = 0; k < n; k++) {
			if (i < 2)
				put_size(&t, at(sums[k], lines[i].bytes));
			else
				text_cell(&t, " ");
			if (lines[i].ops)
				put_count(&t, at(sums[k], lines[i].ops));
			else
				text_cell(&t, " ");
			if (lines[i].time)
				put_time(&t, at(sums[k], lines[i].time));
			else
				text_cell(&t, " ");
		}
	}
	put_trimmed(p->b, &t);
}

/* Where a table can't say why there is a dash. */
static void reasons(struct page *p, const char *block, const struct io_sums *s)
{
	char field[64];
	if (!known(s->read_bytes)) {
		(void)snprintf(field, sizeof field, "%s.read_bytes", block);
		show_null(p, "not known", "bytes read", field);
	}
	if (!known(s->write_bytes)) {
		(void)snprintf(field, sizeof field, "%s.write_bytes", block);
		show_null(p, "not known", "bytes written", field);
	}
}

/* Bytes over the time in the calls, which is of all threads: what one thread got on average. */
static void bandwidth(struct page *p, const char *label, double bytes, double s)
{
	char rate[32], size[32], time[32], text[160];
	if (!(bytes > 0) || !(s > 0))
		return;
	(void)snprintf(text, sizeof text, "%s/s = %s / %s in these calls, all threads' time added",
		       size_text(rate, bytes / s), size_text(size, bytes), num_duration(time, s));
	show_line(p, label, text);
}

static void both_sums(struct page *p, const struct io *io)
{
	const struct io_sums *sums[2];
	size_t n = 0;
	if (any(&io->roi))
		sums[n++] = &io->roi;
	if (any(&io->whole))
		sums[n++] = &io->whole;
	if (n == 2)
		buf_puts(p->b, "  inside the region, and in whole processes:\n");
	else if (n == 1)
		buf_printf(p->b, "  %s:\n",
			   sums[0] == &io->roi ? "inside the region" : "in whole processes");
	if (n)
		put_sums(p, sums, n);
	if (!any(&io->roi))
		show_null(p, "not known", "inside the region", "io.roi");
	else
		reasons(p, "io.roi", &io->roi);
	const struct io_sums *told = any(&io->roi) ? &io->roi : &io->whole;
	bandwidth(p, "bandwidth, reading", told->read_bytes, told->read_s);
	bandwidth(p, "bandwidth, writing", told->write_bytes, told->write_s);
	show_maybe_seconds(p, "waited for it, region", io->wait_s);
	show_maybe_seconds(p, "waited for it, whole", io->whole_wait_s);
}

static void device_line(struct page *p, const char *label, const char *field, double read,
			double write)
{
	char a[32], b[32], text[96];
	if (!known(read) && !known(write)) {
		if (show_why(p, field))
			show_null(p, "not known", label, field);
		return;
	}
	(void)snprintf(text, sizeof text, "%s read, %s written",
		       known(read) ? size_text(a, read) : "unknown",
		       known(write) ? size_text(b, write) : "unknown");
	show_line(p, label, text);
}

/* ---- interfaces, files --------------------------------------------------------------------------
 */

static void interfaces(struct page *p, const struct io *io)
{
	static const struct text_column columns[] = {
		{ "interface", false }, { "read", true },        { "calls", true },
		{ "time", true },       { "written", true },     { "calls", true },
		{ "time", true },       { "other calls", true },
	};
	struct text_table t = { .columns = columns, .n_columns = sizeof columns / sizeof *columns };
	for (size_t i = 0; i < io->interfaces.n; i++) {
		const struct io_by_interface *f = &io->interfaces.items[i];
		const struct io_sums *s = any(&f->roi) ? &f->roi : &f->whole;
		if (f->within)
			text_cellf(&t, "%s within %s", f->name ? f->name : "-", f->within);
		else
			text_cell(&t, f->name);
		put_size(&t, s->read_bytes);
		put_count(&t, s->read_ops);
		put_time(&t, s->read_s);
		put_size(&t, s->write_bytes);
		put_count(&t, s->write_ops);
		put_time(&t, s->write_s);
		put_count(&t, s->open_ops + s->seek_ops + s->sync_ops + s->meta_ops);
	}
	if (io->interfaces.n)
		buf_puts(p->b, "\n  Each interface\n");
	text_table_put(&t, "  ", p->b);
}

/* "64 KiB to 128 KiB": the bin that most of them fall into. Empty where nothing is known. */
static void put_sizes(struct buf *b, const struct nums *bins)
{
	double all = 0, most = 0, bin = 0;
	for (size_t i = 0; i + 1 < bins->n; i += 2) {
		all += bins->items[i + 1];
		if (bins->items[i + 1] > most) {
			most = bins->items[i + 1];
			bin = bins->items[i];
		}
	}
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	if (!(most > 0) || bin > 50)
		return;
	if (bin == 0) {
		buf_puts(b, ", of no byte");
		return;
	}
	int low = (int)bin - 1, high = (int)bin;
	buf_printf(b, ", %s%d %s to %d %s", most < all ? "mostly " : "", 1 << low % 10,
		   units[low / 10], 1 << high % 10, units[high / 10]);
}

static void put_order(struct buf *b, const char *what, double ops, double consecutive,
		      double sequential, const struct nums *bins)
{
	if (!(ops > 0) || !known(consecutive))
		return;
	buf_printf(b, "%s%s ", b->len ? "; " : "", what);
	if (consecutive >= 0.9 * (ops - 1))
		buf_puts(b, "one after the other");
	else if (sequential >= 0.9 * (ops - 1))
		buf_puts(b, "forward with gaps");
	else if (sequential <= 0.65 * ops)
		buf_puts(b, "at random");
	else
		buf_printf(b, "%.0f %% forward", 100 * sequential / ops);
	put_sizes(b, bins);
}

static void put_pattern(struct buf *b, const struct io_pattern *at, const struct io_sums *s)
{
	char text[32];
	put_order(b, "reads", s->read_ops, at->consecutive_reads, at->sequential_reads,
		  &at->read_bins);
	put_order(b, "writes", s->write_ops, at->consecutive_writes, at->sequential_writes,
		  &at->write_bins);
	if (at->unaligned_ops > 0)
		buf_printf(b, "; %.3g %% unaligned",
			   100 * at->unaligned_ops / (s->read_ops + s->write_ops));
	if (at->reread_bytes > 0)
		buf_printf(b, "; %s read back", size_text(text, at->reread_bytes));
}

/* Values that were asked for and are not what came. */
static void hints(struct buf *b, const struct io_file *f)
{
	for (size_t i = 0; i < f->hints_set.n; i++) {
		const char *set = f->hints_set.items[i], *eq = strchr(set, '=');
		const char *force = NULL;
		size_t n = eq ? (size_t)(eq - set) + 1 : 0;
		for (size_t k = 0; k < f->hints_in_force.n && n; k++)
			if (strncmp(f->hints_in_force.items[k], set, n) == 0)
				force = f->hints_in_force.items[k] + n;
		if (n && f->hints_in_force.n && (!force || strcmp(force, set + n) != 0))
			buf_printf(b, "%s%s asked for, %s in force", b->len ? "; " : "", set,
				   force ? force : "nothing");
	}
}

static void put_file(struct text_table *t, const struct io_file *f)
{
	const struct io_sums *s = any(&f->roi) ? &f->roi : &f->whole;
	const struct io_pattern *at = any(&f->roi) ? &f->roi_pattern : &f->whole_pattern;
	struct buf words = { .max = 1024 };
	text_cell(t, f->name);
	put_size(t, s->read_bytes);
	put_size(t, s->write_bytes);
	put_count(t, s->read_ops + s->write_ops);
	if (f->shared == YES)
		text_cellf(t, "%.0f share it", f->processes);
	else
		put_count(t, f->processes);
	text_cell(t, f->interface);
	text_cell(t, f->filesystem);
	put_pattern(&words, at, s);
	text_cell(t, words.len && !words.failed ? words.data : NULL);
	buf_done(&words);
}

static void ignored_hints(struct page *p, const struct io_file *f)
{
	struct buf words = { .max = 4096 };
	hints(&words, f);
	if (words.len && !words.failed) {
		buf_puts(p->b, "  HINTS of ");
		words_plain(p->b, f->name ? f->name : "-", f->name ? strlen(f->name) : 1);
		buf_puts(p->b, ": ");
		words_plain(p->b, words.data, words.len);
		buf_puts(p->b, "\n");
	}
	buf_done(&words);
}

static void files(struct page *p, const struct io *io)
{
	static const struct text_column columns[] = {
		{ "file", false }, { "read", true },      { "written", true },
		{ "calls", true }, { "processes", true }, { "interface", false },
		{ "on", false },   { "pattern", false },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	size_t shown = io->files.n < FILES_SHOWN ? io->files.n : FILES_SHOWN;
	char rest[96];
	for (size_t i = 0; i < shown; i++)
		put_file(&t, &io->files.items[i]);
	if (shown && known(io->files_total))
		buf_printf(p->b, "\n  Files: %.15g\n", io->files_total);
	else if (shown)
		buf_puts(p->b, "\n  Files\n");
	text_table_put(&t, "  ", p->b);
	for (size_t i = 0; i < shown; i++)
		ignored_hints(p, &io->files.items[i]);
	if (io->files.n > shown)
		buf_printf(p->b, "  and %zu more: --format json has them\n", io->files.n - shown);
	if (io->files_folded > 0) {
		(void)snprintf(rest, sizeof rest,
			       "%.15g files are in the sums only: there was no room for more",
			       io->files_folded);
		buf_printf(p->b, "  %s\n", rest);
	}
}

static void mpi(struct page *p, const struct io *io)
{
	static const struct text_column columns[] = {
		{ "MPI", false },         { "calls", true }, { "time", true },
		{ "whole: calls", true }, { "time", true },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	for (size_t i = 0; i < io->mpi.n; i++) {
		const struct io_mpi *m = &io->mpi.items[i];
		text_cell(&t, m->class_);
		put_count(&t, m->calls);
		put_time(&t, m->time_s);
		put_count(&t, m->whole_calls);
		put_time(&t, m->whole_time_s);
	}
	if (io->mpi.n)
		buf_puts(p->b, "\n");
	text_table_put(&t, "  ", p->b);
}

/* Is all in it? Captures of imports do not say. */
static void capture_state(struct page *p, const struct io *io)
{
	char text[160];
	if (io->capture_complete == UNKNOWN)
		return;
	(void)snprintf(text, sizeof text, "%s, %.15g process%s",
		       io->capture_complete == YES ? "complete" : "INCOMPLETE (see the caveats)",
		       io->capture_processes, io->capture_processes == 1 ? "" : "es");
	show_line(p, "  it is", text);
}

static void capture(struct page *p, const struct io *io)
{
	char size[32], each[48] = "", text[200];
	double calls = known(io->capture_calls) ? io->capture_calls : io->capture_events;
	if (!io->capture)
		return;
	show_line(p, "capture", io->capture);
	if (known(io->capture_bytes) && calls > 0)
		(void)snprintf(each, sizeof each, "; %.3g B a call", io->capture_bytes / calls);
	(void)snprintf(text, sizeof text, "%s, %.15g calls, %.15g rules%s",
		       known(io->capture_bytes) ? size_text(size, io->capture_bytes)
						: "size unknown",
		       calls, io->capture_rules, each);
	if (known(calls) && known(io->capture_rules))
		show_line(p, "  it has", text);
	else if (io->capture_complete == NO)
		show_line(p, "  it has", "what is not known (see the caveats)");
	if (known(io->capture_processes))
		capture_state(p, io);
}

/* Imported records may have the first five numbers only. */
static void few(struct page *p, const struct io *io)
{
	char a[32], text[96];
	(void)snprintf(text, sizeof text, "%s in %.15g calls", size_text(a, io->read_bytes),
		       io->read_ops);
	if (known(io->read_bytes) && known(io->read_ops))
		show_line(p, "read in the region", text);
	(void)snprintf(text, sizeof text, "%s in %.15g calls", size_text(a, io->write_bytes),
		       io->write_ops);
	if (known(io->write_bytes) && known(io->write_ops))
		show_line(p, "written in the region", text);
	show_maybe_seconds(p, "time in these calls", io->time_s);
}

void show_io(struct page *p)
{
	const struct io *io = &p->r->io;
	char title[96];
	bool detailed = any(&io->roi) || any(&io->whole) || io->files.n || io->interfaces.n;
	if (!detailed && !known(io->read_bytes) && !known(io->write_bytes) && !io->capture)
		return;
	(void)snprintf(title, sizeof title, "What it did to its files%s%.60s",
		       io->execution ? ", in " : "", io->execution ? io->execution : "");
	show_heading(p, title);
	loud(p, io);
	if (detailed)
		both_sums(p, io);
	else
		few(p, io);
	device_line(p, "block devices", "io.device_read_bytes", io->device_read_bytes,
		    io->device_write_bytes);
	device_line(p, "its control group", "io.cgroup_read_bytes", io->cgroup_read_bytes,
		    io->cgroup_write_bytes);
	show_maybe_count(p, "processes", io->processes);
	capture(p, io);
	if (io->series.n)
		show_line(p, "over time",
			  "roimeter period tells its phases; the report's page draws it");
	interfaces(p, io);
	files(p, io);
	mpi(p, io);
}
