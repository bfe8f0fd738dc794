/* roimeter report: the grid and all behind it, as a page, as Markdown, and as data. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/db.h"
#include "lib/opt.h"
#include "lib/file.h"
#include "report/data.h"
#include "report/page.h"
#include "schema/codec.h"
#include "schema/utf8.h"

#define COMMAND "roimeter report"

struct report_call {
	const char *out, *db, *title, *format;
	struct opt_list suites;
};

static int write_one(const char *dir, const char *name, const struct buf *b, struct err *err)
{
	struct buf path = { 0 };
	buf_printf(&path, "%s/%s", dir, name);
	int rc = path.failed ? err_set(err, -ENOMEM, "out of memory")
			     : file_write(path.data, b->data, b->len, err);
	if (!rc)
		(void)printf("%s\n", path.data);
	buf_done(&path);
	return rc;
}

/* What is written, as text and as data. */
struct written {
	struct buf grid, details;
	json_t *grid_data, *details_data;
	char hash[33];
	bool is_empty; /* nothing is stored, so there is nothing to see in it */
};

static int write_page(const char *dir, const struct written *w, struct err *err)
{
	struct buf page = { 0 };
	const char *title = json_string_value(json_object_get(w->grid_data, "title"));
	int rc = report_page(&page, &w->grid, &w->details, title, w->hash, err);
	if (!rc)
		rc = write_one(dir, "index.html", &page, err);
	buf_done(&page);
	return rc;
}

/* The page comes last: whoever waits for it finds the others there. */
static int write_all(const char *dir, const struct written *w, struct err *err)
{
	struct buf markdown = { 0 };
	int rc = file_mkdirs(dir, err);
	if (!rc && report_markdown(&markdown, w->grid_data, w->details_data, w->hash))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = write_one(dir, "report.json", &w->grid, err);
	if (!rc)
		rc = write_one(dir, "details.json", &w->details, err);
	if (!rc)
		rc = write_one(dir, "report.md", &markdown, err);
	if (!rc && report_has_page())
		rc = write_page(dir, w, err);
	else if (!rc)
		(void)fprintf(stderr,
			      COMMAND ": no index.html: this program was built without Node.js\n");
	if (!rc)
		(void)printf("report@%s\n", w->hash);
	buf_done(&markdown);
	return rc;
}

static int put_piece(void *arg, const void *bytes, size_t n)
{
	buf_put(arg, bytes, n);
	return 0;
}

static int make_grid(struct written *w, struct store *s, const struct report_options *o,
		     struct err *err)
{
	struct grid *g = grid_new(o);
	int rc = g ? grid_update(g, s, err) : -ENOMEM;
	if (!rc) {
		(void)grid_each_text(g, put_piece, &w->grid);
		grid_hash(g, w->hash);
		w->is_empty = grid_apps(g) == 0;
		rc = w->grid.failed ? -ENOMEM : 0;
	}
	grid_free(g);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

static int make_details(struct written *w, struct store *s, const struct report_options *o,
			struct err *err)
{
	int rc = report_details(&w->details_data, s, o, err);
	if (!rc && json_text(&w->details, w->details_data))
		rc = err_set(err, -ENOMEM, "out of memory");
	buf_puts(&w->details, "\n");
	if (!rc)
		rc = json_parse(&w->grid_data, w->grid.data, w->grid.len, "report.json", err);
	return rc;
}

static int report(const struct report_call *call, bool *ret_empty, struct err *err)
{
	struct store *s = NULL;
	struct written w = { .grid_data = NULL };
	const struct report_options o = { .suites = call->suites.items,
					  .n_suites = call->suites.n,
					  .title = call->title };
	int rc = cli_open_store(&s, call->db, STORE_READ, err);
	if (!rc)
		rc = store_snapshot(s, err);
	if (!rc)
		rc = make_grid(&w, s, &o, err);
	if (!rc && call->out)
		rc = make_details(&w, s, &o, err);
	store_close(s);
	if (!rc && call->out)
		rc = write_all(call->out, &w, err);
	if (!rc && call->format)
		(void)fwrite(w.grid.data, 1, w.grid.len, stdout);
	*ret_empty = w.is_empty;
	json_decref(w.grid_data);
	json_decref(w.details_data);
	buf_done(&w.grid);
	buf_done(&w.details);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct report_call call = { 0 };
	const struct opt opts[] = {
		{ "out", OPT_TEXT, &call.out, "DIR",
		  "folder for index.html, report.md, report.json and details.json" },
		{ "db", OPT_TEXT, &call.db, "FILE",
		  "database (default: the one in your data folder)" },
		{ "suite", OPT_LIST, &call.suites, "NAME,...", "only these suites" },
		{ "title", OPT_TEXT, &call.title, "TEXT", "title of the report" },
		{ "format", OPT_TEXT, &call.format, "json", "print the data to standard output" },
	};
	const struct opt_table table = {
		.command = COMMAND,
		.synopsis = "--out DIR [OPTIONS]\n--format json [OPTIONS]",
		.about = "Writes the inputs-by-platforms report: one HTML page that needs nothing "
			 "else, its\n"
			 "Markdown twin, and the data. The same records give the same bytes.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "The last line printed is report@HASH, the hash of the data: cite a "
			  "report by it.",
	};
	struct err err = { { 0 } };
	int first = 0;
	bool is_empty = false;
	int rc = opt_parse(&table, argc, argv, &first, &err);
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL, "\"%s\" is not an option; the folder goes to --out",
			     argv[first]);
	if (!rc && call.format && strcmp(call.format, "json") != 0)
		rc = err_set(&err, -EINVAL,
			     "--format %s: only json can be printed; --out writes the others",
			     call.format);
	if (!rc && call.title && !utf8_valid(call.title, strlen(call.title)))
		rc = err_set(&err, -EINVAL, "--title is not UTF-8 text");
	if (!rc && !call.out && !call.format)
		rc = err_set(&err, -EINVAL, "say where the report goes: --out DIR");
	if (!rc && call.out && call.format)
		rc = err_set(&err, -EINVAL, "--out and --format do not go together: choose one");
	if (!rc)
		rc = report(&call, &is_empty, &err);
	opt_done(&table);
	if (rc == 1)
		return EXIT_GOOD;
	if (rc)
		return opt_fail(COMMAND, rc, &err);
	if (is_empty)
		(void)fprintf(stderr, COMMAND
			      ": the store is empty; roimeter run or import puts runs in\n");
	return is_empty ? EXIT_NOTHING : EXIT_GOOD;
}
