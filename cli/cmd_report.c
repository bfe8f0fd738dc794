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

/* The page comes last: whoever waits for it finds the others there. */
static int write_all(const char *dir, const json_t *data, const struct buf *text, struct err *err)
{
	struct buf markdown = { 0 }, page = { 0 };
	char hash[33];
	report_hash(hash, text);
	int rc = file_mkdirs(dir, err);
	if (!rc && report_markdown(&markdown, data, hash))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = write_one(dir, "report.json", text, err);
	if (!rc)
		rc = write_one(dir, "report.md", &markdown, err);
	if (!rc && report_has_page()) {
		const char *title = json_string_value(json_object_get(data, "title"));
		rc = report_page(&page, text, title, hash, err);
		if (!rc)
			rc = write_one(dir, "index.html", &page, err);
	} else if (!rc) {
		(void)fprintf(stderr,
			      COMMAND ": no index.html: this program was built without Node.js\n");
	}
	if (!rc)
		(void)printf("report@%s\n", hash);
	buf_done(&markdown);
	buf_done(&page);
	return rc;
}

/* *ret_empty: nothing is stored, so there is nothing to see in what was written. */
static int report(const struct report_call *call, bool *ret_empty, struct err *err)
{
	struct store *s = NULL;
	struct buf text = { 0 };
	json_t *data = NULL;
	const struct report_options o = { .suites = call->suites.items,
					  .n_suites = call->suites.n,
					  .title = call->title };
	int rc = cli_open_store(&s, call->db, STORE_READ, err);
	if (!rc)
		rc = report_build(&data, s, &o, err);
	if (!rc && json_text(&text, data))
		rc = err_set(err, -ENOMEM, "out of memory");
	buf_puts(&text, "\n");
	if (!rc && call->out)
		rc = write_all(call->out, data, &text, err);
	if (!rc && call->format && strcmp(call->format, "json") == 0)
		(void)fwrite(text.data, 1, text.len, stdout);
	*ret_empty = json_array_size(json_object_get(data, "suites")) == 0;
	json_decref(data);
	buf_done(&text);
	store_close(s);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct report_call call = { 0 };
	const struct opt opts[] = {
		{ "out", OPT_TEXT, &call.out, "DIR",
		  "folder for index.html, report.md and report.json" },
		{ "db", OPT_TEXT, &call.db, "FILE",
		  "database; the default is the one that run uses" },
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
