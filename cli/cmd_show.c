/* roimeter show: one stored run, for a person. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/db.h"
#include "lib/opt.h"
#include "cli/query.h"
#include "cli/show.h"
#include "schema/codec.h"

static int print(const struct record *rec, enum format format, struct err *err)
{
	struct buf b = { 0 };
	int rc = 0;
	if (format == FORMAT_JSON) {
		json_t *json = record_to_json(rec);
		rc = json ? json_text(&b, json) : -ENOMEM;
		json_decref(json);
		buf_puts(&b, "\n");
	} else if (format == FORMAT_CSV) {
		record_csv_head(&b);
		record_csv_row(&b, rec);
	} else {
		show_record(&b, rec);
	}
	if (rc || b.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	else
		(void)fwrite(b.data, 1, b.len, stdout);
	buf_done(&b);
	return rc;
}

static int show(const char *name, const char *db, enum format format, struct err *err)
{
	struct store *s = NULL;
	char *id = NULL;
	int rc = cli_open_store(&s, db, STORE_READ, err);
	if (!rc)
		rc = cli_find_run(s, name, &id, err);
	if (!rc) {
		struct record rec;
		rc = store_get_run(s, id, &rec, err);
		if (!rc)
			rc = print(&rec, format, err);
		record_done(&rec);
	}
	free(id);
	store_close(s);
	return rc;
}

int cmd_show(int argc, char **argv)
{
	const char *db = NULL, *format_text = NULL;
	const struct opt opts[] = {
		{ "format", OPT_TEXT, &format_text, "FORMAT", "text, json or csv" },
		{ "db", OPT_TEXT, &db, "FILE", "database (default: the one in your data folder)" },
	};
	const struct opt_table t = {
		.command = "roimeter show",
		.synopsis = "[OPTIONS] RUN_ID|latest",
		.about = "Prints one stored run. The beginning of its id is enough where no other run begins so.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "Examples:\n  roimeter show latest\n  roimeter show 20260929T0452 --format json",
	};
	struct err err = { 0 };
	enum format format = FORMAT_TEXT;
	int first, rc = opt_parse(&t, argc, argv, &first, &err);
	if (rc == 1)
		return EXIT_GOOD;
	if (!rc && argc - first != 1)
		rc = err_set(&err, -EINVAL, "%s; see roimeter show --help",
			     first < argc ? "one run at a time" : "which run? give its id, or latest");
	if (!rc)
		rc = cli_format(format_text, &format, &err);
	if (!rc)
		rc = show(argv[first], db, format, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
