/* roimeter export: stored runs as JSON lines or CSV, oldest first; in JSON lines what a report
 * needs besides them, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/db.h"
#include "cli/export_beside.h"
#include "lib/opt.h"
#include "cli/progress.h"
#include "cli/query.h"
#include "schema/codec.h"

#define ID_BYTES 40

/* The store lists newest first; an export is read from its beginning, so ids are kept and turned
 * around. */
struct ids {
	char (*items)[ID_BYTES];
	size_t n, cap;
};

struct exporting {
	struct store *store;
	struct run_query query;
	enum format format;
	bool records_alone;
	struct ids ids;
	struct export_beside beside;
};

static int keep(void *arg, const struct run_row *row)
{
	struct exporting *e = arg;
	struct ids *ids = &e->ids;
	if (ids->n == ids->cap) {
		size_t cap = ids->cap ? 2 * ids->cap : 256;
		char(*items)[ID_BYTES] = realloc(ids->items, cap * sizeof *items);
		if (!items)
			return -ENOMEM;
		ids->items = items;
		ids->cap = cap;
	}
	(void)snprintf(ids->items[ids->n++], ID_BYTES, "%s", row->run_id);
	return export_beside_note(&e->beside, row);
}

static int put(struct store *s, const char *run_id, enum format format, FILE *out, struct err *err)
{
	struct record rec;
	struct buf b = { 0 };
	int rc = store_get_run(s, run_id, &rec, err);
	if (!rc && format == FORMAT_CSV) {
		record_csv_row(&b, &rec);
	} else if (!rc) {
		json_t *json = record_to_json(&rec);
		rc = json ? json_text(&b, json) : -ENOMEM;
		json_decref(json);
		buf_puts(&b, "\n");
	}
	record_done(&rec);
	if (!rc && b.failed)
		rc = -ENOMEM;
	if (rc == -ENOMEM)
		rc = err_set(err, rc, "out of memory");
	if (!rc && fwrite(b.data, 1, b.len, out) != b.len)
		rc = err_set(err, -errno, "write: %s", strerror(errno));
	buf_done(&b);
	return rc;
}

static int write_all(const struct exporting *e, FILE *out, struct err *err)
{
	const struct ids *ids = &e->ids;
	struct buf head = { 0 };
	int rc = 0;
	if (e->format == FORMAT_CSV)
		record_csv_head(&head);
	if (head.len && fwrite(head.data, 1, head.len, out) != head.len)
		rc = err_set(err, -errno, "write: %s", strerror(errno));
	buf_done(&head);
	for (size_t i = ids->n; i > 0 && !rc; i--) {
		rc = put(e->store, ids->items[i - 1], e->format, out, err);
		if (!isatty(fileno(out))) /* what is written there would be torn apart */
			progress("writing", ids->n - i + 1, ids->n);
	}
	if (!rc && e->format == FORMAT_JSON && !e->records_alone)
		rc = export_beside_write(&e->beside, e->store, &e->query, out, err);
	if (!rc && fflush(out))
		rc = err_set(err, -errno, "write: %s", strerror(errno));
	return rc;
}

/* To a pipe, a terminal, /dev/stdout: nothing may take their place. */
static int write_there(const struct exporting *e, const char *path, struct err *err)
{
	FILE *out = fopen(path, "we");
	if (!out)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	int rc = write_all(e, out, err);
	if (fclose(out) && !rc)
		rc = err_set(err, -errno, "write %s: %s", path, strerror(errno));
	return rc;
}

/* The file is there whole, or as it was before. */
static int write_file(const struct exporting *e, const char *path, struct err *err)
{
	char *temporary = NULL;
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	int fd = mkostemp(temporary, O_CLOEXEC), rc = 0;
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!out) {
		rc = err_set(err, -errno, "create %s: %s", temporary, strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		free(temporary);
		return rc;
	}
	mode_t mask = umask(0); /* mkostemp gives 0600; an export is an ordinary file */
	(void)umask(mask);
	(void)fchmod(fd, 0666 & ~mask);
	rc = write_all(e, out, err);
	if (!rc && fsync(fd))
		rc = err_set(err, -errno, "sync %s: %s", temporary, strerror(errno));
	if (fclose(out) && !rc)
		rc = err_set(err, -errno, "write %s: %s", temporary, strerror(errno));
	if (!rc && rename(temporary, path))
		rc = err_set(err, -errno, "rename %s to %s: %s", temporary, path, strerror(errno));
	if (rc)
		(void)unlink(temporary);
	free(temporary);
	return rc;
}

static int work(struct exporting *e, const char *db, const char *path, struct err *err)
{
	struct stat there;
	int rc = cli_open_store(&e->store, db, STORE_READ, err);
	if (!rc)
		rc = store_each_run(e->store, &e->query, keep, e, err);
	if (rc == -ENOMEM)
		rc = err_set(err, rc, "out of memory");
	if (!rc && (!path || strcmp(path, "-") == 0))
		rc = write_all(e, stdout, err);
	else if (!rc && stat(path, &there) == 0 && !S_ISREG(there.st_mode))
		rc = write_there(e, path, err);
	else if (!rc)
		rc = write_file(e, path, err);
	store_close(e->store);
	free(e->ids.items);
	export_beside_done(&e->beside);
	return rc;
}

int cmd_export(int argc, char **argv)
{
	struct exporting e = { .format = FORMAT_JSON };
	struct run_query *q = &e.query;
	const char *db = NULL, *format_text = NULL, *path = NULL;
	const struct opt opts[] = {
		{ "suite", OPT_TEXT, &q->suite, "NAME", "only runs of this suite" },
		{ "app", OPT_TEXT, &q->app, "NAME", "only runs of this application" },
		{ "case", OPT_TEXT, &q->case_, "NAME", "only runs of cases of this name" },
		{ "platform", OPT_TEXT, &q->platform, "ID", "only runs on this platform" },
		{ "status", OPT_TEXT, &q->status, "STATUS",
		  "only runs with this status (ok, clean_failed, ...)" },
		{ "since", OPT_TEXT, &q->since, "UTC",
		  "not before, as 2026-09-29 or 2026-09-29T04:52:01Z" },
		{ "format", OPT_TEXT, &format_text, "FORMAT",
		  "json: one record a line (default), or csv" },
		{ "records", OPT_FLAG, &e.records_alone, NULL,
		  "JSON lines: records alone, without what a report needs besides" },
		{ "out", OPT_TEXT, &path, "FILE", "write here instead of to standard output" },
		{ "db", OPT_TEXT, &db, "FILE", "database (default: the one in your data folder)" },
	};
	const struct opt_table t = {
		.command = "roimeter export",
		.synopsis = "[OPTIONS]",
		.about = "Writes stored runs, oldest first. JSON lines hold all of each record "
			 "(roimeter-record/1),\n"
			 "and behind them what a report needs besides: the inputs that suites "
			 "declare\n"
			 "(roimeter-declared/1), and the conformance results of the platforms "
			 "(roimeter-conformance/1).\n"
			 "\"roimeter import roimeter FILE\" takes all of it back, and exports the "
			 "same bytes again.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "Examples:\n  roimeter export --suite demo --out demo.jsonl\n"
			  "  roimeter export --format csv --app heat > heat.csv",
	};
	struct err err = { 0 };
	int first, rc = opt_parse(&t, argc, argv, &first, &err);
	if (rc == 1)
		return EXIT_GOOD;
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL, "unexpected \"%s\"; see roimeter export --help",
			     argv[first]);
	if (!rc)
		rc = cli_format(format_text, &e.format, &err);
	if (!rc && e.format == FORMAT_TEXT)
		rc = err_set(&err, -EINVAL,
			     "--format text: an export is json or csv; to read runs, see "
			     "\"roimeter runs\" and \"roimeter show\"");
	if (!rc)
		rc = cli_check_query(q, &err);
	if (!rc)
		rc = work(&e, db, path, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
