/* roimeter import: results that were measured elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/db.h"
#include "cli/import_text.h"
#include "cli/progress.h"
#include "cli/query.h"
#include "import/hpcperf.h"
#include "import/trace.h"
#include "lib/opt.h"
#include "schema/codec.h"

struct outcome {
	size_t stored, present; /* runs: new ones, and those that were there already */
	bool dry;
};

/* ---- into the store ---------------------------------------------------------------------------
 */

static int add_runs(struct store *s, const struct imports *in, struct outcome *ret, struct err *err)
{
	for (size_t i = 0; i < in->n_records; i++) {
		const struct record *rec = in->records[i];
		struct record old;
		bool present = store_get_run(s, rec->body.run_id, &old, NULL) == 0;
		record_done(&old);
		int rc = store_add_run(s, rec, err);
		if (rc)
			return err_wrap(err, rc, "run %s of %s/%s", rec->body.run_id, rec->body.app,
					rec->body.case_);
		progress("storing", i + 1, in->n_records);
		ret->stored += !present;
		ret->present += present;
	}
	return 0;
}

struct declared {
	struct arena arena;
	struct declared_case *items;
	size_t n, cap;
	bool failed;
};

static int keep_declared(void *arg, const char *suite, const struct declared_case *c)
{
	(void)suite;
	struct declared *d = arg;
	d->items = arena_grow(&d->arena, d->items, &d->cap, d->n + 1, sizeof *d->items);
	if (!d->items)
		return -ENOMEM;
	d->items[d->n++] = (struct declared_case){ .app = arena_strdup(&d->arena, c->app),
						   .case_ = arena_strdup(&d->arena, c->case_),
						   .title = arena_strdup(&d->arena, c->title) };
	return 0;
}

/* store_declare replaces: what was declared before stays declared. */
static int declare_suite(struct store *s, const struct import_case *cases, size_t n,
			 struct err *err)
{
	struct declared d = { 0 };
	int rc = store_each_declared(s, cases[0].suite, NULL, keep_declared, &d, err);
	size_t before = d.n;
	for (size_t i = 0; i < n && !rc; i++) {
		bool there = false;
		for (size_t k = 0; k < before && !there; k++)
			there = strcmp(d.items[k].app, cases[i].app) == 0 &&
				strcmp(d.items[k].case_, cases[i].case_) == 0;
		struct declared_case c = { .app = cases[i].app, .case_ = cases[i].case_ };
		if (!there)
			rc = keep_declared(&d, NULL, &c);
	}
	if (rc == -ENOMEM)
		(void)err_set(err, rc, "out of memory");
	if (!rc && d.n > before)
		rc = store_declare(s, cases[0].suite, d.items, d.n, err);
	arena_free(&d.arena);
	return rc;
}

static int declare_all(struct store *s, const struct imports *in, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < in->n_cases && !rc;) {
		size_t k = i + 1;
		while (k < in->n_cases && strcmp(in->cases[k].suite, in->cases[i].suite) == 0)
			k++;
		rc = declare_suite(s, in->cases + i, k - i, err);
		i = k;
	}
	return rc;
}

static int store_all(const char *db, const struct imports *in, struct outcome *ret, struct err *err)
{
	struct store *s = NULL;
	int rc = cli_open_store(&s, db, STORE_WRITE, err);
	if (rc)
		return rc;
	rc = store_begin(s, err);
	if (!rc) {
		rc = add_runs(s, in, ret, err);
		if (!rc)
			rc = declare_all(s, in, err);
		if (!rc)
			rc = store_commit(s, err);
		else
			store_rollback(s);
	}
	store_close(s);
	return rc;
}

/* ---- what is printed ---------------------------------------------------------------------------
 */

static int print_json(const struct imports *in, const struct outcome *o, struct err *err)
{
	struct buf text = { 0 };
	int rc = 0;
	buf_puts(&text, "{\"records\":[");
	for (size_t i = 0; i < in->n_records && !rc; i++) {
		json_t *json = record_to_json(in->records[i]);
		buf_puts(&text, i ? ",\n" : "\n");
		rc = json ? json_text(&text, json) : -ENOMEM;
		json_decref(json);
	}
	buf_puts(&text, "]");
	if (!o->dry)
		buf_printf(&text, ",\"stored\":%zu,\"present\":%zu,\"declared\":%zu", o->stored,
			   o->present, in->n_cases);
	buf_puts(&text, "}\n");
	if (!rc && text.failed)
		rc = -ENOMEM;
	if (rc)
		rc = err_set(err, rc, "out of memory");
	else
		(void)fwrite(text.data, 1, text.len, stdout);
	buf_done(&text);
	return rc;
}

static int print_csv(const struct imports *in, struct err *err)
{
	struct buf text = { 0 };
	record_csv_head(&text);
	for (size_t i = 0; i < in->n_records; i++)
		record_csv_row(&text, in->records[i]);
	int rc = text.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
	if (!rc)
		(void)fwrite(text.data, 1, text.len, stdout);
	buf_done(&text);
	return rc;
}

static int print_text(const struct imports *in, const struct outcome *o, bool traces,
		      struct err *err)
{
	struct buf text = { 0 };
	int rc = 0;
	for (size_t i = 0; traces && i < in->n_records; i++)
		import_text_trace(&text, in->records[i]);
	if (!traces)
		rc = import_text_suites(&text, in);
	if (o->dry)
		buf_printf(&text, "%zu run%s, nothing stored (--dry-run)\n", in->n_records,
			   in->n_records == 1 ? "" : "s");
	else
		buf_printf(&text, "%zu run%s stored, %zu were there already\n", o->stored,
			   o->stored == 1 ? "" : "s", o->present);
	if (rc || text.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	else
		(void)fwrite(text.data, 1, text.len, stdout);
	buf_done(&text);
	return rc;
}

/* ---- the command --------------------------------------------------------------------------------
 */

struct options {
	struct import_options published;
	struct trace_options trace;
	const char *db;
	bool dry;
};

static const struct trace_reader *const readers[] = { &nsys_reader, &kineto_reader, &rocprof_reader,
						      &xplane_reader };
#define FORMATS "hpcperf, roimeter, nsys, kineto, rocprof, xplane"

static const struct trace_reader *reader_of(const char *format)
{
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (strcmp(format, readers[i]->name) == 0)
			return readers[i];
	return NULL;
}

/* Options of one kind of format mean nothing for the other. */
static int misplaced(const char *format, const struct options *o, struct err *err)
{
	const struct {
		const char *name, *value;
		bool trace;
	} some[] = {
		{ "range", o->trace.range, true },
		{ "exclude", o->trace.exclude, true },
		{ "utc", o->trace.utc, true },
		{ "published", o->published.published, false },
	};
	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		if (some[i].value && some[i].trace != (reader_of(format) != NULL))
			return err_set(err, -EINVAL, "--%s is for %s, not for %.60s", some[i].name,
				       some[i].trace ? "traces (nsys, kineto, rocprof, xplane)"
						     : "hpcperf",
				       format);
	return 0;
}

static int read_all(const char *format, const char *const *paths, size_t n, struct options *o,
		    struct imports *ret, struct err *err)
{
	const struct trace_reader *reader = reader_of(format);
	int rc = misplaced(format, o, err);
	if (rc)
		return rc;
	if (reader) {
		o->trace.suite = o->published.suite;
		o->trace.app = o->published.app;
		o->trace.case_ = o->published.case_;
		o->trace.platform = o->published.platform;
		return import_traces(ret, reader, paths, n, &o->trace, err);
	}
	if (strcmp(format, "hpcperf") == 0)
		return import_hpcperf(ret, paths, n, &o->published, err);
	if (strcmp(format, "roimeter") == 0)
		return import_roimeter(ret, paths, n, err);
	return err_set(err, -EINVAL, "there is no format \"%.60s\" to import: " FORMATS, format);
}

static int import(char **argv, int n, struct options *options, enum format format, struct err *err)
{
	struct imports in = { 0 };
	struct outcome o = { .dry = options->dry };
	int rc = read_all(argv[0], (const char *const *)argv + 1, (size_t)n - 1, options, &in, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < in.n_notes; i++)
		(void)fprintf(stderr, "roimeter import: %s\n", in.notes[i]);
	if (!o.dry)
		rc = store_all(options->db, &in, &o, err);
	if (!rc && format == FORMAT_JSON)
		rc = print_json(&in, &o, err);
	else if (!rc && format == FORMAT_CSV)
		rc = print_csv(&in, err);
	else if (!rc)
		rc = print_text(&in, &o, reader_of(argv[0]) != NULL, err);
	imports_done(&in);
	return rc;
}

int cmd_import(int argc, char **argv)
{
	struct options o = { 0 };
	const char *format_text = NULL;
	const struct opt opts[] = {
		{ "dry-run", OPT_FLAG, &o.dry, NULL, "store nothing, only tell" },
		{ "range", OPT_TEXT, &o.trace.range, "GLOB",
		  "traces: these annotated ranges are the region" },
		{ "exclude", OPT_TEXT, &o.trace.exclude, "GLOB",
		  "traces: these are left out of it" },
		{ "utc", OPT_TEXT, &o.trace.utc, "UTC", "traces: when it was measured" },
		{ "suite", OPT_TEXT, &o.published.suite, "NAME",
		  "instead of hpcperf-level1, ...; traces: imported" },
		{ "platform", OPT_TEXT, &o.published.platform, "ID",
		  "platform of what names none" },
		{ "app", OPT_TEXT, &o.published.app, "NAME",
		  "application of region logs and traces" },
		{ "case", OPT_TEXT, &o.published.case_, "NAME", "case of region logs and traces" },
		{ "published", OPT_TEXT, &o.published.published, "UTC",
		  "when tables that do not tell were published" },
		{ "format", OPT_TEXT, &format_text, "FORMAT",
		  "text, json ({\"records\": [...]}) or csv" },
		{ "db", OPT_TEXT, &o.db, "FILE",
		  "database (default: the one in your data folder)" },
	};
	const struct opt_table t = {
		.command = "roimeter import",
		.synopsis =
			"[OPTIONS] nsys|kineto|rocprof|xplane FILE...\n[OPTIONS] hpcperf FILE...\n"
			"[OPTIONS] roimeter FILE...",
		.about = "Stores results that were measured elsewhere: all of a call, or nothing. "
			 "Importing the\n"
			 "same again stores nothing new.\n\n"
			 "nsys, kineto, rocprof, xplane: traces of devices (SQLite exports of "
			 "Nsight Systems; JSON of\n"
			 "PyTorch; rocprofv3 and rpd; XLA on GPU and TPU), also compressed with "
			 "gzip or zstd: a record\n"
			 "each. The region is the ranges roimeter:roi less roimeter:exclude, or "
			 "what --range names.\n"
			 "hpcperf: region logs (hpcperf-roi-log 2), run records, published tables, "
			 "case tables and\n"
			 "conformance files of HPC-Performance-AI; files may be folders; what a "
			 "file is, its content\n"
			 "tells.\n"
			 "roimeter: what \"roimeter export\" wrote.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "Examples:\n  roimeter import kineto trace.json.gz --range "
			  "'ProfilerStep#*' --dry-run\n"
			  "  roimeter import nsys report.sqlite --app heat --case n128 --platform "
			  "nvidia-h100.cuda13.0\n"
			  "  roimeter import hpcperf published/\n"
			  "  roimeter import hpcperf --app heat --case n128 --platform "
			  "nvidia-b200.cuda13.2 roi.*\n"
			  "  roimeter import roimeter export.jsonl",
	};
	struct err err = { 0 };
	enum format format = FORMAT_TEXT;
	int first, rc = opt_parse(&t, argc, argv, &first, &err);
	if (rc == 1)
		return EXIT_GOOD;
	if (!rc)
		rc = cli_format(format_text, &format, &err);
	if (!rc && argc - first < 2)
		rc = err_set(&err, -EINVAL, "%s; see roimeter import --help",
			     first < argc ? "no file named" : "no format named (" FORMATS ")");
	if (!rc)
		rc = import(argv + first, argc - first, &o, format, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
