/* roimeter import: results that were measured elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/db.h"
#include "lib/opt.h"
#include "cli/progress.h"
#include "cli/query.h"
#include "cli/table.h"
#include "import/hpcperf.h"
#include "schema/codec.h"

struct outcome {
	size_t stored, present; /* runs: new ones, and those that were there already */
	bool dry;
};

/* ---- into the store --------------------------------------------------------------------------- */

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
static int declare_suite(struct store *s, const struct import_case *cases, size_t n, struct err *err)
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

/* ---- what is printed --------------------------------------------------------------------------- */

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
		buf_printf(&text, ",\"stored\":%zu,\"present\":%zu,\"declared\":%zu", o->stored, o->present,
			   in->n_cases);
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

static int print_text(const struct imports *in, const struct outcome *o, struct err *err)
{
	static const struct text_column columns[] = {
		{ "SUITE", false }, { "INPUTS", true }, { "RUNS", true }, { "OK", true }, { "SAMPLES", true },
	};
	struct tally *tallies = calloc(in->n_records + in->n_cases + 1, sizeof *tallies);
	if (!tallies)
		return err_set(err, -ENOMEM, "out of memory");
	size_t n = 0;
	for (size_t i = 0; i < in->n_cases; i++)
		tally_of(tallies, &n, in->cases[i].suite)->cases++;
	for (size_t i = 0; i < in->n_records; i++) {
		const struct record_body *b = &in->records[i]->body;
		struct tally *t = tally_of(tallies, &n, b->suite);
		t->runs++;
		t->ok += strcmp(b->status, "ok") == 0;
		if (b->measurement.cleans_used > 0)
			t->samples += b->measurement.cleans_used;
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
	text_table_print(&table, "", stdout);
	free(tallies);
	if (o->dry)
		(void)printf("%zu runs, nothing stored (--dry-run)\n", in->n_records);
	else
		(void)printf("%zu runs stored, %zu were there already\n", o->stored, o->present);
	return 0;
}

/* ---- the command -------------------------------------------------------------------------------- */

static int read_all(const char *format, const char *const *paths, size_t n,
		    const struct import_options *options, struct imports *ret, struct err *err)
{
	if (strcmp(format, "hpcperf") == 0)
		return import_hpcperf(ret, paths, n, options, err);
	if (strcmp(format, "roimeter") == 0)
		return import_roimeter(ret, paths, n, err);
	return err_set(err, -EINVAL, "there is no format \"%.60s\" to import: hpcperf, roimeter", format);
}

static int import(char **argv, int n, const struct import_options *options, const char *db, bool dry,
		  enum format format, struct err *err)
{
	struct imports in = { 0 };
	struct outcome o = { .dry = dry };
	int rc = read_all(argv[0], (const char *const *)argv + 1, (size_t)n - 1, options, &in, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < in.n_notes; i++)
		(void)fprintf(stderr, "roimeter import: %s\n", in.notes[i]);
	if (!dry)
		rc = store_all(db, &in, &o, err);
	if (!rc && format == FORMAT_JSON)
		rc = print_json(&in, &o, err);
	else if (!rc && format == FORMAT_CSV)
		rc = print_csv(&in, err);
	else if (!rc)
		rc = print_text(&in, &o, err);
	imports_done(&in);
	return rc;
}

int cmd_import(int argc, char **argv)
{
	struct import_options o = { 0 };
	const char *db = NULL, *format_text = NULL;
	bool dry = false;
	const struct opt opts[] = {
		{ "dry-run", OPT_FLAG, &dry, NULL, "store nothing, only tell" },
		{ "suite", OPT_TEXT, &o.suite, "NAME", "instead of hpcperf-level1, -level2, -level3" },
		{ "platform", OPT_TEXT, &o.platform, "ID", "platform of what names none" },
		{ "app", OPT_TEXT, &o.app, "NAME", "application of region logs" },
		{ "case", OPT_TEXT, &o.case_, "NAME", "case of region logs" },
		{ "published", OPT_TEXT, &o.published, "UTC", "when tables that do not tell were published" },
		{ "format", OPT_TEXT, &format_text, "FORMAT", "text, json ({\"records\": [...]}) or csv" },
		{ "db", OPT_TEXT, &db, "FILE", "database (default: the one in your data folder)" },
	};
	const struct opt_table t = {
		.command = "roimeter import",
		.synopsis = "[OPTIONS] hpcperf FILE...\n[OPTIONS] roimeter FILE...",
		.about = "Stores results that were measured elsewhere: all of a call, or nothing. Files may be\n"
			 "folders. Importing the same again stores nothing new.\n\n"
			 "hpcperf: region logs (hpcperf-roi-log 2), run records, published tables, case tables and\n"
			 "conformance files of HPC-Performance-AI; what a file is, its content tells.\n"
			 "roimeter: what \"roimeter export\" wrote.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "Examples:\n  roimeter import hpcperf published/\n"
			  "  roimeter import hpcperf --app heat --case n128 --platform nvidia-b200.cuda13.2 roi.*\n"
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
			     first < argc ? "no file named" : "no format named (hpcperf, roimeter)");
	if (!rc)
		rc = import(argv + first, argc - first, &o, db, dry, format, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
