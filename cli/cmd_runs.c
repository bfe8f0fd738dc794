/* roimeter runs: what is stored, newest first. */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/db.h"
#include "lib/opt.h"
#include "cli/query.h"
#include "cli/table.h"
#include "lib/num.h"
#include "schema/codec.h"
#include "store/row.h"

struct list {
	enum format format;
	uint64_t limit, n;
	char last[40]; /* id of the last row shown */
	bool more;
	struct text_table table;
	json_t *rows;
	struct buf csv;
	const char *db; /* as given, or NULL */
};

static const struct text_column titles[] = {
	{ "RUN", false }, { "SUITE", false }, { "APP", false }, { "CASE", false },
	{ "PLATFORM", false }, { "KIND", false }, { "STATUS", false }, { "REGION", true },
	{ "CV", true }, { "N", true }, { "CAVEATS", true },
};

static void text_row(struct list *l, const struct run_row *r)
{
	char text[32];
	text_cell(&l->table, r->run_id);
	text_cell(&l->table, r->suite);
	text_cell(&l->table, r->app);
	text_cell(&l->table, r->case_);
	text_cell(&l->table, r->platform);
	text_cell(&l->table, r->kind);
	text_cell(&l->table, r->status);
	text_cell(&l->table, num_duration(text, r->wall_s));
	if (known(r->cv))
		text_cellf(&l->table, "%.1f %%", r->cv * 100);
	else
		text_cell(&l->table, NULL);
	text_cell(&l->table, num_si(text, r->samples));
	text_cell(&l->table, num_si(text, r->caveats));
}

static int each(void *arg, const struct run_row *r)
{
	struct list *l = arg;
	if (l->limit && l->n == l->limit) {
		l->more = true;
		return 1;
	}
	l->n++;
	(void)snprintf(l->last, sizeof l->last, "%s", r->run_id);
	if (l->format == FORMAT_TEXT)
		text_row(l, r);
	else if (l->format == FORMAT_JSON)
		return json_array_append_new(l->rows, run_row_json(r)) ? -ENOMEM : 0;
	else
		run_row_csv(&l->csv, r);
	return 0;
}

static int print(struct list *l, struct err *err)
{
	if (l->format == FORMAT_JSON) {
		struct buf text = { 0 };
		json_t *all = json_pack("{s:O, s:o}", "runs", l->rows, "next",
					l->more ? json_string(l->last) : json_null());
		int rc = all ? json_text(&text, all) : -ENOMEM;
		json_decref(all);
		if (!rc)
			(void)printf("%s\n", text.data);
		buf_done(&text);
		return rc ? err_set(err, rc, "out of memory") : 0;
	}
	if (l->format == FORMAT_CSV) {
		struct buf head = { 0 };
		run_row_csv_head(&head);
		(void)printf("%s%s", head.data ? head.data : "", l->csv.data ? l->csv.data : "");
		l->csv.failed |= head.failed;
		buf_done(&head);
		return l->csv.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
	}
	text_table_print(&l->table, "", stdout);
	if (!l->n)
		(void)fprintf(stderr, "no run is stored that fits\n");
	if (l->more)
		(void)fprintf(stderr, "there are more: add --cursor %s\n", l->last);
	return 0;
}

int cmd_runs(int argc, char **argv)
{
	struct run_query q = { 0 };
	const char *db = NULL, *format = NULL;
	long limit = 50;
	const struct opt opts[] = {
		{ "suite", OPT_TEXT, &q.suite, "NAME", "only runs of this suite" },
		{ "app", OPT_TEXT, &q.app, "NAME", "only runs of this application" },
		{ "case", OPT_TEXT, &q.case_, "NAME", "only runs of cases of this name" },
		{ "platform", OPT_TEXT, &q.platform, "ID", "only runs on this platform" },
		{ "status", OPT_TEXT, &q.status, "STATUS", "only runs with this status (ok, clean_failed, ...)" },
		{ "since", OPT_TEXT, &q.since, "UTC", "not before, as 2026-09-29 or 2026-09-29T04:52:01Z" },
		{ "limit", OPT_COUNT, &limit, "N", "at most so many (50); 0: all" },
		{ "cursor", OPT_TEXT, &q.before, "RUN_ID", "go on behind this run" },
		{ "format", OPT_TEXT, &format, "FORMAT", "text, json or csv" },
		{ "db", OPT_TEXT, &db, "FILE", "database (default: the one in your data folder)" },
	};
	const struct opt_table t = {
		.command = "roimeter runs",
		.synopsis = "[OPTIONS]",
		.about = "Lists the stored runs, newest first.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "Examples:\n  roimeter runs --app heat\n  roimeter runs --status clean_failed --since 2026-09-01",
	};
	struct err err = { 0 };
	struct list l = { .table = { .columns = titles, .n_columns = sizeof titles / sizeof *titles } };
	struct store *s = NULL;
	int first, rc = opt_parse(&t, argc, argv, &first, &err);
	if (rc == 1)
		return EXIT_GOOD;
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL, "unexpected \"%s\"; see roimeter runs --help", argv[first]);
	if (!rc)
		rc = cli_format(format, &l.format, &err);
	if (!rc)
		rc = cli_check_query(&q, &err);
	if (!rc)
		rc = cli_open_store(&s, db, STORE_READ, &err);
	l.limit = (uint64_t)limit;
	q.limit = limit ? (uint64_t)limit + 1 : 0; /* one more tells whether there are more */
	l.rows = json_array();
	if (!rc)
		rc = store_each_run(s, &q, each, &l, &err);
	if (rc >= 0)
		rc = print(&l, &err);
	store_close(s);
	json_decref(l.rows);
	buf_done(&l.csv);
	buf_done(&l.table.cells);
	return rc < 0 ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
