/* roimeter import: results that were measured elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/import_store.h"
#include "cli/import_text.h"
#include "cli/query.h"
#include "import/hpcperf.h"
#include "import/trace.h"
#include "lib/opt.h"
#include "schema/codec.h"

/* ---- what is printed ---------------------------------------------------------------------------
 */

static int put_json(struct buf *text, size_t i, json_t *json_taken)
{
	buf_puts(text, i ? ",\n" : "\n");
	int rc = json_taken ? json_text(text, json_taken) : -ENOMEM;
	json_decref(json_taken);
	return rc;
}

static int print_json(const struct imports *in, const struct import_outcome *o, struct err *err)
{
	struct buf text = { 0 };
	int rc = 0;
	buf_puts(&text, "{\"records\":[");
	for (size_t i = 0; i < in->n_records && !rc; i++)
		rc = put_json(&text, i, record_to_json(in->records[i]));
	buf_puts(&text, "]");
	if (in->n_results)
		buf_puts(&text, ",\"conformance\":[");
	for (size_t i = 0; i < in->n_results && !rc; i++)
		rc = put_json(&text, i, conformance_to_json(&in->results[i]));
	buf_puts(&text, in->n_results ? "]" : "");
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

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static int print_text(const struct imports *in, const struct import_outcome *o, bool traces,
		      struct err *err)
{
	struct buf text = { 0 };
	int rc = 0;
	for (size_t i = 0; traces && i < in->n_records; i++)
		import_text_trace(&text, in->records[i]);
	if (!traces)
		rc = import_text_suites(&text, in);
	if (o->dry && in->n_results)
		buf_printf(&text, "%zu conformance result%s and ", in->n_results,
			   plural(in->n_results));
	else if (in->n_results)
		buf_printf(&text, "%zu conformance result%s stored, %zu were there already\n",
			   o->results, plural(o->results), o->results_present);
	if (o->dry)
		buf_printf(&text, "%zu run%s, nothing stored (--dry-run)\n", in->n_records,
			   plural(in->n_records));
	else
		buf_printf(&text, "%zu run%s stored, %zu were there already\n", o->stored,
			   plural(o->stored), o->present);
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
	struct import_outcome o = { .dry = options->dry };
	int rc = read_all(argv[0], (const char *const *)argv + 1, (size_t)n - 1, options, &in, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < in.n_notes; i++)
		(void)fprintf(stderr, "roimeter import: %s\n", in.notes[i]);
	if (!o.dry)
		rc = import_store(options->db, &in, &o, err);
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
			 "roimeter: what \"roimeter export\" wrote, or \"roimeter conformance "
			 "--output\".",
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
