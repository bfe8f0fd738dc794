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
#include "import/darshan.h"
#include "import/hpcperf.h"
#include "import/recorder.h"
#include "import/trace.h"
#include "lib/opt.h"
#include "schema/codec.h"

/* ---- formats ---- */

static const struct trace_reader *const readers[] = { &nsys_reader, &kineto_reader, &rocprof_reader,
						      &xplane_reader };
#define FORMATS "hpcperf, roimeter, nsys, kineto, rocprof, xplane, darshan, recorder"

/* What an application did to its files, as other tools saw it. */
static const struct {
	const char *name;
	int (*import)(struct imports *, const char *const *, size_t, const struct io_options *,
		      struct err *);
	int (*totals)(json_t **, const char *, struct err *);
} io_formats[] = { { "darshan", import_darshan, darshan_totals },
		   { "recorder", import_recorder, recorder_totals } };

static size_t io_format(const char *format)
{
	size_t i = 0;
	while (i < sizeof io_formats / sizeof *io_formats &&
	       strcmp(format, io_formats[i].name) != 0)
		i++;
	return i;
}

static bool is_io_format(const char *format)
{
	return io_format(format) < sizeof io_formats / sizeof *io_formats;
}

static const struct trace_reader *reader_of(const char *format)
{
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (strcmp(format, readers[i]->name) == 0)
			return readers[i];
	return NULL;
}

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

static int print_text(const struct imports *in, const struct import_outcome *o, const char *format,
		      struct err *err)
{
	bool traces = reader_of(format) != NULL, files = is_io_format(format);
	struct buf text = { 0 };
	int rc = 0;
	for (size_t i = 0; traces && i < in->n_records; i++)
		import_text_trace(&text, in->records[i]);
	for (size_t i = 0; files && i < in->n_records; i++)
		import_text_io(&text, in->records[i]);
	if (!traces && !files)
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
	struct io_options io;
	const char *db;
	bool dry, totals;
};

/* Options of one kind of format mean nothing for the others. */
static int misplaced(const char *format, const struct options *o, struct err *err)
{
	enum { TRACES, PUBLISHED, FILES };
	static const char *const kinds[] = { "traces (nsys, kineto, rocprof, xplane)", "hpcperf",
					     "what was seen of files (darshan, recorder)" };
	int kind = reader_of(format) ? TRACES : is_io_format(format) ? FILES : PUBLISHED;
	const struct {
		const char *name;
		bool given;
		int kind;
	} some[] = {
		{ "range", o->trace.range != NULL, TRACES },
		{ "exclude", o->trace.exclude != NULL, TRACES },
		{ "utc", o->trace.utc != NULL, TRACES },
		{ "published", o->published.published != NULL, PUBLISHED },
		{ "capture", o->io.capture != NULL, FILES },
		{ "salvage", o->io.salvage, FILES },
		{ "totals", o->totals, FILES },
	};
	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		if (some[i].given && some[i].kind != kind)
			return err_set(err, -EINVAL, "--%s is for %s, not for %.60s", some[i].name,
				       kinds[some[i].kind], format);
	if (o->io.capture && o->dry)
		return err_set(err, -EINVAL,
			       "--capture writes, and --dry-run does not: one of them");
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
	if (is_io_format(format)) {
		o->io.suite = o->published.suite;
		o->io.app = o->published.app;
		o->io.case_ = o->published.case_;
		o->io.platform = o->published.platform;
		return io_formats[io_format(format)].import(ret, paths, n, &o->io, err);
	}
	if (strcmp(format, "hpcperf") == 0)
		return import_hpcperf(ret, paths, n, &o->published, err);
	if (strcmp(format, "roimeter") == 0)
		return import_roimeter(ret, paths, n, err);
	return err_set(err, -EINVAL, "there is no format \"%.60s\" to import: " FORMATS, format);
}

/* One object for each log. What could be read of a damaged one is printed, and the call fails all
 * the same. */
static int print_totals(const char *format, const char *const *paths, size_t n, struct err *err)
{
	struct err first = { 0 };
	int rc = 0;
	(void)fputs("{\"logs\":[", stdout);
	for (size_t i = 0; i < n; i++) {
		json_t *totals = NULL;
		struct err one = { 0 };
		struct buf text = { 0 };
		int rc_one = io_formats[io_format(format)].totals(&totals, paths[i], &one);
		if (rc_one && !rc) {
			rc = rc_one;
			first = one;
		}
		if (totals && put_json(&text, i, totals) && !rc)
			rc = err_set(&first, -ENOMEM, "out of memory");
		if (!text.failed && text.len)
			(void)fwrite(text.data, 1, text.len, stdout);
		buf_done(&text);
	}
	(void)fputs("]}\n", stdout);
	if (rc)
		*err = first;
	return rc;
}

static int import(char **argv, int n, struct options *options, enum format format, struct err *err)
{
	struct imports in = { 0 };
	struct import_outcome o = { .dry = options->dry };
	if (options->totals) {
		int wrong = misplaced(argv[0], options, err);
		return wrong ? wrong
			     : print_totals(argv[0], (const char *const *)argv + 1, (size_t)n - 1,
					    err);
	}
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
		rc = print_text(&in, &o, argv[0], err);
	imports_done(&in);
	return rc;
}

/* ---- the call -----------------------------------------------------------------------------------
 */

static const char synopsis[] = "[OPTIONS] nsys|kineto|rocprof|xplane FILE...\n"
			       "[OPTIONS] darshan LOG...\n"
			       "[OPTIONS] recorder DIR...\n"
			       "[OPTIONS] hpcperf FILE...\n"
			       "[OPTIONS] roimeter FILE...";
static const char about[] =
	"Stores results that were measured elsewhere: all of a call, or nothing. Importing the\n"
	"same again stores nothing new.\n\n"
	"nsys, kineto, rocprof, xplane: traces of devices (SQLite exports of Nsight Systems; JSON "
	"of\n"
	"PyTorch; rocprofv3 and rpd; XLA on GPU and TPU), also compressed with gzip or zstd: a "
	"record\n"
	"each. The region is the ranges roimeter:roi less roimeter:exclude, or what --range "
	"names.\n"
	"darshan, recorder: logs of Darshan 3.0 to 3.5, traces of Recorder 2.3 to 3.0 (folders): "
	"what\n"
	"an application did to its files, a record each.\n"
	"hpcperf: region logs (hpcperf-roi-log 2), run records, published tables, case tables and\n"
	"conformance files of HPC-Performance-AI; files may be folders; what a file is, its "
	"content\n"
	"tells.\n"
	"roimeter: what \"roimeter export\" wrote, or \"roimeter conformance --output\".";
static const char examples[] =
	"Examples:\n"
	"  roimeter import kineto trace.json.gz --range 'ProfilerStep#*' --dry-run\n"
	"  roimeter import nsys report.sqlite --app heat --case n128 --platform "
	"nvidia-h100.cuda13.0\n"
	"  roimeter import darshan app.darshan --dry-run --format json\n"
	"  roimeter import recorder recorder-logs/ --capture calls/\n"
	"  roimeter import hpcperf published/\n"
	"  roimeter import hpcperf --app heat --case n128 --platform nvidia-b200.cuda13.2 roi.*\n"
	"  roimeter import roimeter export.jsonl";

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
		  "instead of hpcperf-level1, ...; traces, logs: imported" },
		{ "platform", OPT_TEXT, &o.published.platform, "ID",
		  "platform of what names none" },
		{ "app", OPT_TEXT, &o.published.app, "NAME",
		  "application of region logs and traces" },
		{ "case", OPT_TEXT, &o.published.case_, "NAME", "case of region logs and traces" },
		{ "published", OPT_TEXT, &o.published.published, "UTC",
		  "when tables that do not tell were published" },
		{ "capture", OPT_TEXT, &o.io.capture, "DIR",
		  "darshan (DXT), recorder: the calls as a capture, too" },
		{ "salvage", OPT_FLAG, &o.io.salvage, NULL,
		  "darshan, recorder: of a damaged one what is whole" },
		{ "totals", OPT_FLAG, &o.totals, NULL,
		  "darshan, recorder: only print its own sums, as JSON" },
		{ "format", OPT_TEXT, &format_text, "FORMAT",
		  "text, json ({\"records\": [...]}) or csv" },
		{ "db", OPT_TEXT, &o.db, "FILE",
		  "database (default: the one in your data folder)" },
	};
	const struct opt_table t = {
		.command = "roimeter import",
		.synopsis = synopsis,
		.about = about,
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = examples,
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
