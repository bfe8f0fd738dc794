/* Tab separated tables: the first line starts with "#" and names the columns, "-" is an empty
 * cell. Cutting them up, and the result tables. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/hpcperf_impl.h"

/* Rows are compared with each other, so their number has a ceiling. */
#define ROWS_MAX 20000

/* ---- cutting -------------------------------------------------------------------------------- */

int table_column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->n_names; i++)
		if (strcmp(t->names[i], name) == 0)
			return (int)i;
	return -1;
}

const char *table_cell(const struct table *t, size_t row, const char *name)
{
	int column = table_column(t, name);
	return column < 0 ? NULL : t->rows[row][column];
}

int table_fault(const struct table *t, size_t row, int column, struct err *err, const char *format,
		...)
{
	char why[512];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(why, sizeof why, format, args);
	va_end(args);
	size_t at = 1; /* counted in bytes, as compilers do */
	for (int i = 0; i < column; i++)
		at += (t->rows[row][i] ? strlen(t->rows[row][i]) : 1) + 1;
	return err_set(err, -EINVAL, "%s:%u:%zu: %s", t->file->path, t->lines[row], at, why);
}

int table_number(const struct table *t, size_t row, int column, double *ret, struct err *err)
{
	*ret = NAN;
	const char *text = column < 0 ? NULL : t->rows[row][column];
	if (!text)
		return 0;
	char *end;
	double value = strtod(text, &end);
	/* strtod also knows hexadecimal, inf and nan. */
	if (strspn(text, "0123456789+-.eE") != strlen(text) || end == text || *end || !isfinite(value))
		return table_fault(t, row, column, err, "column %s: \"%.60s\" is not a number",
				   t->names[column], text);
	*ret = num15(value);
	return 0;
}

/* Cuts a line at its tabs into cells, which become NUL-terminated. Returns how many there were,
 * also when there was room for fewer. */
static size_t cut(char *line, const char **cells, size_t room)
{
	size_t n = 0;
	for (char *at = line; at; n++) {
		char *tab = strchr(at, '\t');
		if (tab)
			*tab++ = 0;
		if (n < room)
			cells[n] = at;
		at = tab;
	}
	return n;
}

static int header(struct table *t, char *line, struct err *err)
{
	size_t room = 1;
	for (const char *at = line; *at; at++)
		room += *at == '\t';
	t->names = arena_array(t->arena, room, sizeof *t->names);
	if (!t->names)
		return err_set(err, -ENOMEM, "out of memory");
	t->n_names = cut(line, t->names, room);
	for (size_t i = 0; i < t->n_names; i++) {
		if (!t->names[i][0])
			return err_set(err, -EINVAL, "%s:1: column %zu of the header has no name",
				       t->file->path, i + 1);
		for (size_t k = 0; k < i; k++)
			if (strcmp(t->names[k], t->names[i]) == 0)
				return err_set(err, -EINVAL, "%s:1: the header names column %.60s twice",
					       t->file->path, t->names[i]);
	}
	return 0;
}

static int row(struct table *t, char *line, unsigned number, struct err *err)
{
	const char ***rows = arena_grow(t->arena, t->rows, &t->cap_rows, t->n_rows + 1, sizeof *rows);
	unsigned *lines = arena_grow(t->arena, t->lines, &t->cap_lines, t->n_rows + 1, sizeof *lines);
	const char **cells = arena_array(t->arena, t->n_names, sizeof *cells);
	if (!rows || !lines || !cells)
		return err_set(err, -ENOMEM, "out of memory");
	t->rows = rows;
	t->lines = lines;
	size_t n = cut(line, cells, t->n_names);
	if (n != t->n_names)
		return err_set(err, -EINVAL, "%s:%u: %zu cells where the header names %zu columns",
			       t->file->path, number, n, t->n_names);
	if (t->n_rows >= ROWS_MAX)
		return err_set(err, -EFBIG, "%s:%u: more than %d rows", t->file->path, number, ROWS_MAX);
	rows[t->n_rows] = cells;
	lines[t->n_rows] = number;
	for (size_t i = 0; i < n; i++) {
		if (!cells[i][0])
			return table_fault(t, t->n_rows, (int)i, err,
					   "column %s is empty; write - for what is not known", t->names[i]);
		if (strcmp(cells[i], "-") == 0)
			cells[i] = NULL;
	}
	t->n_rows++;
	return 0;
}

int table_parse(struct table *t, const struct import_file *file, struct arena *arena, struct err *err)
{
	*t = (struct table){ .file = file, .arena = arena };
	if (memchr(file->bytes.data, 0, file->bytes.len))
		return err_set(err, -EINVAL, "%s: a NUL byte is in it, so it is no table", file->path);
	t->text = arena_strndup(arena, file->bytes.data, file->bytes.len);
	if (!t->text)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = 0;
	unsigned number = 0;
	for (char *line = t->text; line && *line && !rc;) {
		char *next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		size_t n = strlen(line);
		if (n && line[n - 1] == '\r')
			line[n - 1] = 0;
		if (++number == 1)
			rc = header(t, line + 1, err);
		else if (*line && *line != '#')
			rc = row(t, line, number, err);
		line = next;
	}
	return rc;
}

/* ---- result tables ---------------------------------------------------------------------------- */

enum cell { NUMBER, PERCENT, YES_NO, TEXT };

static const struct column {
	const char *name;
	enum cell cell;
	size_t offset; /* in struct record_body */
	bool sign;     /* may be negative */
} columns[] = {
#define AT(member) offsetof(struct record_body, member)
	{ "roi_median_s", NUMBER, AT(roi.wall_s), false },
	{ "region_median_s", NUMBER, AT(roi.wall_s), false },
	{ "region_s", NUMBER, AT(roi.wall_s), false },
	{ "samples", NUMBER, AT(measurement.cleans_used), false },
	{ "region_min_s", NUMBER, AT(roi.min_s), false },
	{ "region_max_s", NUMBER, AT(roi.max_s), false },
	{ "spread_pct", PERCENT, AT(roi.spread), false },
	{ "cv_pct", PERCENT, AT(roi.cv), false },
	{ "stable", YES_NO, AT(roi.stable), false },
	{ "two_levels", YES_NO, AT(roi.two_levels), false },
	{ "steps", NUMBER, AT(roi.steps), false },
	{ "per_step_s", NUMBER, AT(roi.step_s), false },
	{ "process_wall_s", NUMBER, AT(context.process_wall_s), false },
	{ "profiler_inflation", NUMBER, AT(roi.profiler_inflation), false },
	{ "device_busy_pct", PERCENT, AT(device.busy_frac_of_roi), false },
	{ "device_busy_in_nvtx_pct", PERCENT, AT(device.busy_frac_of_roi), false },
	{ "host_gap_s", NUMBER, AT(device.host_gap_s), true },
	{ "kernels_in_roi", NUMBER, AT(device.compute_ops), false },
	{ "fom_value", NUMBER, AT(fom.value), true },
	{ "fom_unit", TEXT, AT(fom.unit), false },
	{ "fom_status", TEXT, AT(fom.status), false },
	{ "roi_vs_own_timer_pct", PERCENT, AT(own_timer.roi_diff_frac), true },
	{ "gpus", NUMBER, AT(inputs.devices), false },
	{ "run_verification", TEXT, AT(provenance.verification), false },
	{ "correctness", TEXT, AT(provenance.correctness), false },
	{ "source_commit", TEXT, AT(provenance.source_commit), false },
#undef AT
};

/* Columns without a field of ours: said in a caveat. */
static const struct {
	const char *name, *meaning;
} sayings[] = {
	{ "region_share_pct", "the region is %s %% of the process's wall time" },
	{ "roi_share_of_process_pct", "the region is %s %% of the process's wall time" },
	{ "device_busy_whole_process_pct", "the device was busy for %s %% of the whole process; inside "
					   "the region it was not told apart" },
};

static int take_cell(const struct table *t, size_t i, int at, const struct column *col,
		     struct draft *d, struct err *err)
{
	const char *text = t->rows[i][at];
	void *into = (char *)&d->rec.body + col->offset;
	if (!text)
		return 0;
	if (col->cell == TEXT) {
		char *copy = draft_text(d, text);
		*(const char **)into = copy;
		return copy ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	if (col->cell == YES_NO) {
		bool yes = strcmp(text, "yes") == 0;
		if (!yes && strcmp(text, "no") != 0)
			return table_fault(t, i, at, err, "column %s: \"%.60s\" is neither yes nor no",
					   col->name, text);
		*(signed char *)into = yes ? YES : NO;
		return 0;
	}
	double value;
	int rc = table_number(t, i, at, &value, err);
	if (rc)
		return rc;
	if (value < 0 && !col->sign)
		return table_fault(t, i, at, err, "column %s: %s is below 0", col->name, text);
	*(double *)into = col->cell == PERCENT ? num15(value / 100) : value;
	return 0;
}

static int identity(const struct table *t, size_t i, struct ctx *c, struct draft *d)
{
	struct record_body *b = &d->rec.body;
	const char *app = table_cell(t, i, "app"), *input = table_cell(t, i, "input");
	const char *platform = table_cell(t, i, "platform");
	if (!platform)
		platform = c->options->platform;
	if (!app)
		return table_fault(t, i, table_column(t, "app"), c->err, "a row without an application");
	if (!input)
		return table_fault(t, i, table_column(t, "input"), c->err, "a row without an input");
	if (!platform)
		return table_fault(t, i, 0, c->err, "no platform; say which with --platform ID");
	b->app = draft_text(d, app);
	b->case_ = draft_text(d, input);
	b->platform = draft_text(d, platform);
	b->utc = draft_text(d, t->file->as_of);
	if (!b->app || !b->case_ || !b->platform || !b->utc)
		return import_nomem(c);
	int rc = import_declare(c, b->suite, app, input);
	return rc ? err_wrap(c->err, rc, "%s:%u", t->file->path, t->lines[i]) : 0;
}

static int status(const struct table *t, size_t i, struct ctx *c, struct draft *d)
{
	static const struct {
		const char *theirs, *ours, *text;
	} names[] = {
		{ "SUCCESS", "ok", NULL },
		{ "RUN_FAILED", "clean_failed", "the source tells that the run failed" },
		{ "NO_TIMED_REGION", "roi_missing",
		  "the source tells that nothing in this input is timed as a region" },
	};
	int at = table_column(t, "status");
	const char *text = at < 0 ? "SUCCESS" : t->rows[i][at];
	for (size_t k = 0; text && k < sizeof names / sizeof *names; k++)
		if (strcmp(text, names[k].theirs) == 0) {
			d->rec.body.status = names[k].ours;
			d->rec.body.status_text = names[k].text;
		}
	if (!d->rec.body.status)
		return table_fault(t, i, at, c->err,
				   "column status: \"%.60s\" is none of SUCCESS, RUN_FAILED, NOT_MEASURED, "
				   "NO_TIMED_REGION", text ? text : "-");
	bool has = known(d->rec.body.roi.wall_s);
	if (has == (strcmp(d->rec.body.status, "ok") == 0))
		return 0;
	int median = -1;
	static const char *const medians[] = { "roi_median_s", "region_median_s", "region_s" };
	for (size_t k = 0; k < 3 && median < 0; k++)
		median = table_column(t, medians[k]);
	return table_fault(t, i, median, c->err,
			   has ? "a time, although the status is %s" : "no time, although the status is %s",
			   text);
}

static int say(const struct table *t, size_t i, struct draft *d, struct err *err)
{
	for (size_t k = 0; k < sizeof sayings / sizeof *sayings; k++) {
		double value;
		int at = table_column(t, sayings[k].name);
		int rc = table_number(t, i, at, &value, err);
		if (rc)
			return rc;
		if (!known(value))
			continue;
		char text[256];
		(void)snprintf(text, sizeof text, sayings[k].meaning, t->rows[i][at]);
		if (record_caveat(&d->rec, "source_also_says", "The source also tells: %s.", text))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static void fom_and_timer(struct draft *d)
{
	struct record_body *b = &d->rec.body;
	if (!b->fom.status)
		b->fom.status = known(b->fom.value) ? "ok" : "none";
	if (known(b->own_timer.roi_diff_frac))
		b->own_timer.status = "ok";
}

/* Level 3 times regions by the application's own timer; see the case tables of that level. */
static int region(struct ctx *c, struct draft *d)
{
	struct record_body *b = &d->rec.body;
	if (d->level != 3) {
		b->measurement.region = "markers";
		b->roi.source = known(b->roi.wall_s) ? "markers" : NULL;
		return 0;
	}
	b->measurement.region = arena_printf(&d->rec.arena, "timer:%s", b->app);
	b->roi.source = known(b->roi.wall_s) ? "timer" : NULL;
	b->roi.timer = b->roi.source ? b->app : NULL;
	return b->measurement.region ? 0 : import_nomem(c);
}

static int take_row(struct ctx *c, const struct table *t, size_t i, int level)
{
	const char *state = table_cell(t, i, "status");
	if (state && strcmp(state, "NOT_MEASURED") == 0) {
		const char *suite = import_suite(c, level);
		const char *app = table_cell(t, i, "app"), *input = table_cell(t, i, "input");
		if (!app || !input)
			return table_fault(t, i, 0, c->err, "a row without an application or an input");
		int rc = suite ? import_declare(c, suite, app, input) : import_nomem(c);
		return rc ? err_wrap(c->err, rc, "%s:%u", t->file->path, t->lines[i]) : 0;
	}
	struct draft *d = draft_new(c, ORIGIN_TABLE, level, t->file);
	if (!d)
		return -ENOMEM;
	d->line = t->lines[i];
	int rc = 0;
	for (size_t k = 0; k < sizeof columns / sizeof *columns && !rc; k++) {
		int at = table_column(t, columns[k].name);
		if (at >= 0)
			rc = take_cell(t, i, at, &columns[k], d, c->err);
	}
	if (!rc)
		rc = identity(t, i, c, d);
	if (!rc)
		rc = status(t, i, c, d);
	if (!rc)
		rc = say(t, i, d, c->err);
	if (!rc)
		rc = region(c, d);
	fom_and_timer(d);
	return rc;
}

/* 0: not told; -EINVAL. */
static int level_of(const struct table *t, size_t i, int *ret, struct err *err)
{
	int at = table_column(t, "level");
	const char *text = at < 0 ? NULL : t->rows[i][at];
	*ret = 0;
	if (!text)
		return 0;
	if (strlen(text) != 1 || *text < '1' || *text > '3')
		return table_fault(t, i, at, err, "column level: \"%.60s\" is none of 1, 2, 3", text);
	*ret = *text - '0';
	return 0;
}

static bool known_column(const char *name)
{
	static const char *const others[] = { "level", "app", "input", "platform", "status", "runs" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (strcmp(name, columns[i].name) == 0)
			return true;
	for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++)
		if (strcmp(name, sayings[i].name) == 0)
			return true;
	return false;
}

static int read_results(struct ctx *c, const struct table *t)
{
	if (!t->file->as_of)
		return err_set(c->err, -EINVAL,
			       "%s: nothing tells when this was published: no date in the name, no "
			       "counts.json beside it; say it with --published UTC", t->file->path);
	for (size_t i = 0; i < t->n_names; i++)
		if (!known_column(t->names[i])) {
			int rc = import_note(c, "%s: column %s has no place in a record and was left out",
					     t->file->path, t->names[i]);
			if (rc)
				return rc;
		}
	for (size_t i = 0; i < t->n_rows; i++) {
		for (size_t k = 0; k < i; k++) {
			const char *a = table_cell(t, i, "app"), *b = table_cell(t, k, "app");
			const char *x = table_cell(t, i, "input"), *y = table_cell(t, k, "input");
			const char *p = table_cell(t, i, "platform"), *q = table_cell(t, k, "platform");
			if (a && b && x && y && strcmp(a, b) == 0 && strcmp(x, y) == 0 &&
			    strcmp(p ? p : "", q ? q : "") == 0)
				return table_fault(t, i, table_column(t, "app"), c->err,
						   "%s/%s stands in line %u already", a, x, t->lines[k]);
		}
		int level;
		int rc = level_of(t, i, &level, c->err);
		if (!rc)
			rc = take_row(c, t, i, level);
		if (rc)
			return rc;
	}
	return 0;
}

int read_table(struct ctx *c, const struct import_file *file)
{
	struct table t;
	int rc = table_parse(&t, file, &c->out->arena, c->err);
	if (rc)
		return rc;
	if (table_column(&t, "app") < 0)
		return err_set(c->err, -EINVAL, "%s:1: the header names no column app", file->path);
	bool result = table_column(&t, "roi_median_s") >= 0 || table_column(&t, "region_median_s") >= 0 ||
		      table_column(&t, "region_s") >= 0;
	if (!result)
		return read_cases(c, &t);
	if (table_column(&t, "input") < 0)
		return err_set(c->err, -EINVAL, "%s:1: the header names no column input", file->path);
	return read_results(c, &t);
}
