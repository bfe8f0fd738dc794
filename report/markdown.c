/* The report as Markdown: for merge requests, mail and whoever has no browser at hand. Every
 * name comes from outside and is escaped, so that it stays the text that it is. */
#include "report/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/num.h"
#include "lib/shell.h"
#include "report/format.h"

/* ---- text that stays text ----------------------------------------------------------------------
 */

static void put_text(struct buf *b, const char *text)
{
	for (const char *p = text ? text : "null"; *p; p++) {
		if ((unsigned char)*p < ' ')
			buf_put(b, " ", 1);
		else if (*p == '<')
			buf_puts(b, "&lt;");
		else if (*p == '&')
			buf_puts(b, "&amp;");
		else if (strchr("\\`*_[]|~$", *p))
			buf_printf(b, "\\%c", *p);
		else
			buf_put(b, p, 1);
	}
}

/* In code marks, longer than any run of them inside. A pipe would end the cell of a table. */
static void put_code(struct buf *b, const char *text)
{
	size_t longest = 0;
	for (const char *p = text; *p; p++) {
		size_t n = strspn(p, "`");
		longest = n > longest ? n : longest;
		p += n ? n - 1 : 0;
	}
	for (size_t i = 0; i <= longest; i++)
		buf_put(b, "`", 1);
	buf_puts(b, longest ? " " : "");
	for (const char *p = text; *p; p++) {
		if (*p == '|')
			buf_puts(b, "\\|");
		else
			buf_put(b, (unsigned char)*p < ' ' ? " " : p, 1);
	}
	buf_puts(b, longest ? " " : "");
	for (size_t i = 0; i <= longest; i++)
		buf_put(b, "`", 1);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* ---- records
 * ------------------------------------------------------------------------------------- */

struct source {
	const json_t *grid, *details;
	json_t *records; /* run id -> its record */
};

static int find_records(struct source *w)
{
	const json_t *all = json_object_get(w->details, "records");
	w->records = json_object();
	int rc = w->records ? 0 : -ENOMEM;
	for (size_t i = 0; i < json_array_size(all) && !rc; i++) {
		json_t *rec = json_array_get(all, i);
		const char *id = text_of(rec, "run_id");
		rc = id ? json_object_set(w->records, id, rec) : 0;
	}
	return rc ? -ENOMEM : 0;
}

/* A block of a record, taken back from the dictionary where it lies there. */
static const json_t *block_of(const struct source *w, const json_t *rec, const char *name)
{
	const json_t *value = json_object_get(rec, name);
	if (!json_is_integer(value))
		return value;
	return json_array_get(json_object_get(json_object_get(w->details, "dict"), name),
			      (size_t)json_integer_value(value));
}

/* which: ok or last */
static const json_t *record_of(const struct source *w, const json_t *cell, const char *which)
{
	const char *id = text_of(json_object_get(cell, which), "run_id");
	return id ? json_object_get(w->records, id) : NULL;
}

static void put_seconds(struct buf *b, const char *before, double s, const char *after)
{
	char text[FORMAT_BYTES];
	buf_printf(b, "%s%s%s", before, format_seconds(text, s), after);
}

static void put_list_of_seconds(struct buf *b, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		put_seconds(b, i ? ", " : "", json_number_value(json_array_get(list, i)), "");
}

/* ---- grid
 * ------------------------------------------------------------------------------------------ */

static void put_cell(struct buf *b, const struct source *w, const json_t *cell)
{
	char text[FORMAT_BYTES];
	if (!json_is_object(cell)) {
		buf_puts(b, " null |");
		return;
	}
	const json_t *ok = json_object_get(cell, "ok"), *last = json_object_get(cell, "last");
	if (!json_is_object(ok)) {
		buf_printf(b, " _%s_ |", format_status(text_of(last, "status")));
		return;
	}
	const json_t *roi = json_object_get(record_of(w, cell, "ok"), "roi");
	double spread = format_number(roi, "spread");
	put_seconds(b, " **", format_number(ok, "wall_s"), "**");
	if (known(spread))
		buf_printf(b, " %s", format_percent(text, spread));
	else if (format_number(ok, "samples") == 1)
		buf_puts(b, " n=1");
	if (format_number(ok, "caveats") > 0)
		buf_printf(b, " (%.0f caveat%s)", format_number(ok, "caveats"),
			   format_number(ok, "caveats") == 1 ? "" : "s");
	if (last)
		buf_printf(b, " later: _%s_", format_status(text_of(last, "status")));
	buf_puts(b, " |");
}

static void put_row(struct buf *b, const struct source *w, const json_t *app, const json_t *item)
{
	const json_t *cells = json_object_get(item, "cells");
	buf_puts(b, "| ");
	put_text(b, text_of(app, "name"));
	buf_puts(b, " | ");
	put_text(b, text_of(item, "name"));
	buf_puts(b, " |");
	for (size_t i = 0; i < json_array_size(cells); i++)
		put_cell(b, w, json_array_get(cells, i));
	buf_puts(b, "\n");
}

/* "cupti: pass; opencl: **fail** (compute_ops)" */
static void put_verdicts(struct buf *b, const json_t *platform)
{
	const json_t *all = json_object_get(platform, "conformance");
	const char *told = text_of(json_object_get(platform, "info"), "conformance");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i), *fails = json_object_get(one, "fails");
		const char *verdict = text_of(one, "verdict");
		bool bad = verdict && strcmp(verdict, "fail") == 0;
		buf_puts(b, i ? "; " : "");
		put_text(b, text_of(one, "collector"));
		buf_puts(b, bad ? ": **" : ": ");
		put_text(b, verdict);
		buf_puts(b, bad ? "**" : "");
		for (size_t k = 0; k < json_array_size(fails); k++) {
			buf_puts(b, k ? ", " : " (");
			put_text(b, json_string_value(json_array_get(fails, k)));
		}
		buf_puts(b, json_array_size(fails) ? ")" : "");
	}
	if (json_array_size(all))
		return;
	put_text(b, told ? told : "not tested");
	buf_puts(b, told ? " as its newest run says" : "");
}

static void put_conformance(struct buf *b, const json_t *platforms)
{
	buf_puts(b, "| _conformance_ | |");
	for (size_t i = 0; i < json_array_size(platforms); i++) {
		buf_puts(b, " ");
		put_verdicts(b, json_array_get(platforms, i));
		buf_puts(b, " |");
	}
	buf_puts(b, "\n");
}

static void put_grid(struct buf *b, const struct source *w, const json_t *suite)
{
	const json_t *platforms = json_object_get(w->grid, "platforms");
	const json_t *apps = json_object_get(suite, "apps");
	buf_puts(b, "| application | input |");
	for (size_t i = 0; i < json_array_size(platforms); i++) {
		buf_puts(b, " ");
		put_text(b, text_of(json_array_get(platforms, i), "id"));
		buf_puts(b, " |");
	}
	buf_puts(b, "\n|---|---|");
	for (size_t i = 0; i < json_array_size(platforms); i++)
		buf_puts(b, "---:|");
	buf_puts(b, "\n");
	put_conformance(b, platforms);
	for (size_t i = 0; i < json_array_size(apps); i++) {
		const json_t *app = json_array_get(apps, i), *cases = json_object_get(app, "cases");
		for (size_t j = 0; j < json_array_size(cases); j++)
			put_row(b, w, app, json_array_get(cases, j));
	}
	buf_puts(b, "\n");
}

/* ---- one measurement
 * ------------------------------------------------------------------------------- */

static void put_headline(struct buf *b, const struct source *w, const json_t *rec)
{
	char text[FORMAT_BYTES];
	const json_t *roi = json_object_get(rec, "roi"), *runs = json_object_get(roi, "runs_s");
	const json_t *ci = json_object_get(roi, "ci95_s"),
		     *context = json_object_get(rec, "context");
	double wall = format_number(roi, "wall_s"),
	       process = format_number(context, "process_wall_s");
	double n = format_number(block_of(w, rec, "measurement"), "cleans_used");
	put_seconds(b, "- Region: **", wall, "**, median over ");
	if (known(n))
		buf_printf(b, "%.0f clean execution%s", n, n == 1 ? "" : "s");
	else
		buf_puts(b, "null executions");
	if (json_array_size(ci) == 2) {
		put_seconds(b, "; interval ", json_number_value(json_array_get(ci, 0)), "");
		put_seconds(b, " to ", json_number_value(json_array_get(ci, 1)), "");
		buf_printf(b, ", covers the median with %s",
			   format_percent(text, format_number(roi, "ci95_coverage")));
	} else {
		buf_puts(b, "; interval null");
	}
	buf_printf(b, "; range %s\n", format_percent(text, format_number(roi, "spread")));
	if (json_array_size(runs)) {
		buf_puts(b, "- Executions: ");
		put_list_of_seconds(b, runs);
		buf_puts(b, "\n");
	}
	put_seconds(b, "- Process: ", process, "");
	buf_printf(b, ", of which the region is %s", format_percent(text, wall / process));
	put_seconds(b, "; before ", format_number(context, "pre_roi_s"), "");
	put_seconds(b, ", excluded ", format_number(roi, "excluded_s"), "");
	put_seconds(b, ", after ", format_number(context, "post_roi_s"), "\n");
}

/* One line about files, where anybody looked; with what is missing in it. */
static void put_files(struct buf *b, const json_t *rec)
{
	char size[FORMAT_BYTES], calls[FORMAT_BYTES];
	const json_t *io = json_object_get(rec, "io"), *roi = json_object_get(io, "roi"),
		     *whole = json_object_get(io, "whole");
	const json_t *sums = json_object_get(io, "read_bytes") || json_object_get(io, "write_bytes")
				     ? io
			     : roi ? roi
				   : whole;
	if (!sums)
		return;
	buf_printf(b, "- Files: read %s in %s calls, ",
		   format_bytes(size, format_number(sums, "read_bytes")),
		   format_count(calls, format_number(sums, "read_ops")));
	buf_printf(b, "written %s in %s calls",
		   format_bytes(size, format_number(sums, "write_bytes")),
		   format_count(calls, format_number(sums, "write_ops")));
	bool all = sums == whole;
	put_seconds(b, ", ",
		    all ? format_number(whole, "read_s") + format_number(whole, "write_s") +
				    format_number(whole, "meta_s")
			: format_number(io, "time_s"),
		    " in them");
	if (all)
		buf_puts(b, ", in whole processes");
	if (known(format_number(io, "files_total")))
		buf_printf(b, "; %s files", format_count(calls, format_number(io, "files_total")));
	if (json_is_true(json_object_get(io, "incomplete")) ||
	    json_array_size(json_object_get(io, "partial")))
		buf_puts(b, "; **INCOMPLETE**");
	buf_puts(b, "\n");
}

static void put_numbers(struct buf *b, const json_t *rec)
{
	char text[FORMAT_BYTES];
	const json_t *roi = json_object_get(rec, "roi"), *fom = json_object_get(rec, "fom");
	const json_t *own = json_object_get(rec, "own_timer"),
		     *device = json_object_get(rec, "device");
	buf_printf(b, "- Entries %s", format_count(text, format_number(roi, "entries")));
	buf_printf(b, ", processes %s", format_count(text, format_number(roi, "processes")));
	put_seconds(b, ", imbalance ", format_number(roi, "imbalance_s"), "");
	buf_printf(b, ", steps %s\n", format_count(text, format_number(roi, "steps")));
	if (json_object_get(fom, "name")) {
		buf_puts(b, "- ");
		put_text(b, text_of(fom, "name"));
		buf_printf(b, ": %s ", format_significant(text, format_number(fom, "value")));
		put_text(b, text_of(fom, "unit"));
		buf_printf(b, " (%s is better)\n",
			   text_of(fom, "better") ? text_of(fom, "better") : "null");
	}
	if (known(format_number(own, "value_s"))) {
		put_seconds(b, "- Own timer: ", format_number(own, "value_s"), "");
		buf_printf(b, "; the region differs from it by %s\n",
			   format_percent(text, fabs(format_number(own, "roi_diff_frac"))));
	}
	put_files(b, rec);
	if (!device) {
		buf_puts(b, "- Device: null\n");
		return;
	}
	put_seconds(b, "- Device: busy ", format_number(device, "busy_s"), "");
	buf_printf(b, " (%s of the region)",
		   format_percent(text, format_number(device, "busy_frac_of_roi")));
	put_seconds(b, ", host gap ", format_number(device, "host_gap_s"), "\n");
}

/* A value of a table (report/shrink.h). */
static const json_t *table_at(const json_t *table, const json_t *row, const char *name)
{
	const json_t *columns = json_object_get(table, "columns");
	for (size_t i = 0; i < json_array_size(columns); i++)
		if (strcmp(json_string_value(json_array_get(columns, i)), name) == 0)
			return json_array_get(row, i);
	return json_object_get(json_object_get(table, "same"), name);
}

static double number_or_nan(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void put_ops(struct buf *b, const json_t *rec)
{
	char text[FORMAT_BYTES];
	const json_t *ops = json_object_get(rec, "ops"), *rows = json_object_get(ops, "rows");
	if (json_array_size(rows) == 0)
		return;
	buf_puts(b, "\n| operation | total | share |\n|---|---:|---:|\n");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name = json_string_value(table_at(ops, row, "name"));
		buf_puts(b, "| ");
		put_code(b, name && *name ? name : "null");
		put_seconds(b, " | ", number_or_nan(table_at(ops, row, "total_s")), "");
		buf_printf(b, " | %s |\n",
			   format_percent(text, number_or_nan(table_at(ops, row, "share"))));
	}
}

static void put_shell_words(struct buf *line, const json_t *words)
{
	for (size_t i = 0; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));
		buf_puts(line, line->len ? " " : "");
		shell_word(line, word ? word : "");
	}
}

/* As one would type it. */
static void put_command(struct buf *b, const struct source *w, const json_t *rec)
{
	const json_t *inputs = json_object_get(rec, "inputs"),
		     *env = json_object_get(inputs, "env");
	struct buf line = { 0 };
	for (size_t i = 0; i < json_array_size(env); i++) {
		const char *assignment = json_string_value(json_array_get(env, i));
		buf_puts(&line, i ? " " : "");
		shell_assignment(&line, assignment ? assignment : "");
	}
	put_shell_words(&line, json_object_get(block_of(w, rec, "launcher"), "argv"));
	put_shell_words(&line, json_object_get(inputs, "argv"));
	buf_puts(b, "- Command: ");
	if (line.len)
		put_code(b, line.data);
	else
		buf_puts(b, "null");
	buf_puts(b, "\n");
	b->failed |= line.failed;
	buf_done(&line);
}

static void put_words(struct buf *b, const struct source *w, const json_t *rec)
{
	const json_t *caveats = block_of(w, rec, "caveats");
	put_command(b, w, rec);
	buf_puts(b, "- Run ");
	put_code(b, text_of(rec, "run_id") ? text_of(rec, "run_id") : "");
	buf_printf(b, " (%s)\n", text_of(rec, "kind") ? text_of(rec, "kind") : "null");
	for (size_t i = 0; i < json_array_size(caveats); i++) {
		const json_t *caveat = json_array_get(caveats, i);
		buf_puts(b, "- Caveat ");
		put_code(b, text_of(caveat, "code") ? text_of(caveat, "code") : "");
		buf_puts(b, ": ");
		put_text(b, text_of(caveat, "text"));
		buf_puts(b, "\n");
	}
}

static void put_status(struct buf *b, const json_t *rec, const char *what)
{
	buf_printf(b, "- %s: **%s** (", what, format_status(text_of(rec, "status")));
	put_code(b, text_of(rec, "status") ? text_of(rec, "status") : "");
	buf_puts(b, ") ");
	put_text(b, text_of(rec, "status_text") ? text_of(rec, "status_text") : "");
	buf_puts(b, "\n");
}

static void put_measurement(struct buf *b, const struct source *w, const json_t *cell)
{
	const json_t *ok = record_of(w, cell, "ok"), *last = record_of(w, cell, "last");
	const json_t *rec = ok ? ok : last;
	if (!rec)
		return;
	buf_puts(b, "### ");
	put_text(b, text_of(rec, "app"));
	buf_puts(b, " ");
	put_text(b, text_of(rec, "case"));
	buf_puts(b, " on ");
	put_text(b, text_of(rec, "platform"));
	buf_puts(b, "\n\n");
	if (ok && last)
		put_status(b, last, "A later run");
	if (ok) {
		put_headline(b, w, rec);
		put_numbers(b, rec);
	} else {
		put_status(b, rec, "No result");
		put_files(b, rec); /* of imported logs without a region it is all there is */
	}
	put_words(b, w, rec);
	put_ops(b, rec);
	buf_puts(b, "\n");
}

static void put_app(struct buf *b, const struct source *w, const json_t *app)
{
	const json_t *cases = json_object_get(app, "cases");
	for (size_t i = 0; i < json_array_size(cases); i++) {
		const json_t *cells = json_object_get(json_array_get(cases, i), "cells");
		for (size_t j = 0; j < json_array_size(cells); j++)
			if (json_is_object(json_array_get(cells, j)))
				put_measurement(b, w, json_array_get(cells, j));
	}
}

static void put_suite(struct buf *b, const struct source *w, const json_t *suite)
{
	const json_t *apps = json_object_get(suite, "apps");
	buf_puts(b, "## ");
	put_text(b, text_of(suite, "name"));
	buf_puts(b, "\n\n");
	put_grid(b, w, suite);
	for (size_t i = 0; i < json_array_size(apps); i++)
		put_app(b, w, json_array_get(apps, i));
}

int report_markdown(struct buf *out, const json_t *grid, const json_t *details, const char *hash)
{
	struct source w = { .grid = grid, .details = details };
	const json_t *suites = json_object_get(grid, "suites");
	int rc = find_records(&w);
	buf_puts(out, "# ");
	put_text(out, text_of(grid, "title"));
	buf_puts(out,
		 "\n\nMedian of the region of interest over the clean executions, and their range "
		 "as a share of it. null: never measured, or not known; it is never 0.\n\n");
	for (size_t i = 0; i < json_array_size(suites) && !rc; i++)
		put_suite(out, &w, json_array_get(suites, i));
	buf_printf(out, "---\n%s, report@%s\n", text_of(grid, "tool"), hash);
	json_decref(w.records);
	return rc || out->failed ? -ENOMEM : 0;
}
