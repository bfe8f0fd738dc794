/* Conformance results: the newest of each platform and collector; of one platform each check. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "daemon/csv.h"
#include "daemon/route.h"
#include "report/badge.h"
#include "schema/codec.h"

#define HISTORY_MAX 100 /* results, the newest of each collector first */

struct writing {
	struct buf *csv;
	json_t *results, *history;
	bool any;
};

static int fail_of(int rc, struct err *err)
{
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

/* ---- of all platforms ------------------------------------------------------------------------ */

static int put_row(void *arg, const struct conformance *c)
{
	struct writing *w = arg;
	if (!w->csv) {
		json_t *o = report_badge(c);
		if (json_object_set_new(o, "platform", json_string(c->platform))) {
			json_decref(o);
			return -ENOMEM;
		}
		return json_array_append_new(w->results, o) ? -ENOMEM : 0;
	}
	const char *const texts[] = { c->platform, c->collector, c->utc,
				      c->verdict,  c->tool,      c->runtime };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		csv_text(w->csv, texts[i]);
	csv_number(w->csv, c->passed);
	csv_number(w->csv, c->failed);
	csv_number(w->csv, c->skipped);
	csv_text(w->csv, c->why);
	csv_end(w->csv);
	return 0;
}

int handle_conformance(const struct call *c, struct answer *a, struct err *err)
{
	struct writing w = { .results = json_array() };
	if (c->media == MEDIA_CSV) {
		w.csv = &a->body;
		buf_puts(w.csv, "platform,collector,utc,verdict,tool,runtime,passed,failed,"
				"skipped,why\r\n");
	}
	int rc = store_each_conformance(c->store, NULL, target_param(c->target, "collector"), false,
					put_row, &w, err);
	if (!rc && c->media != MEDIA_CSV)
		rc = answer_json_take(a, json_pack("{s:O}", "conformance", w.results), err);
	json_decref(w.results);
	return fail_of(rc, err);
}

/* ---- of one ---------------------------------------------------------------------------------- */

static int put_checks(void *arg, const struct conformance *c)
{
	struct writing *w = arg;
	w->any = true;
	if (!w->csv)
		return json_array_append_new(w->results, conformance_to_json(c)) ? -ENOMEM : 0;
	for (size_t i = 0; i < c->checks.n; i++) {
		csv_text(w->csv, c->collector);
		csv_text(w->csv, c->utc);
		csv_row(w->csv, &check_block, &c->checks.items[i]);
	}
	return 0;
}

static int put_history(void *arg, const struct conformance *c)
{
	struct writing *w = arg;
	if (json_array_size(w->history) == HISTORY_MAX)
		return 1;
	return json_array_append_new(w->history, report_badge(c)) ? -ENOMEM : 0;
}

static int answer_one(const struct call *c, struct answer *a, struct writing *w, struct err *err)
{
	int rc = store_each_conformance(c->store, c->id, target_param(c->target, "collector"), true,
					put_history, w, err);
	if (rc < 0)
		return rc;
	return answer_json_take(a,
				json_pack("{s:s, s:O, s:O}", "platform", c->id, "results",
					  w->results, "history", w->history),
				err);
}

int handle_conformance_of(const struct call *c, struct answer *a, struct err *err)
{
	struct writing w = { .results = json_array(), .history = json_array() };
	if (c->media == MEDIA_CSV) {
		w.csv = &a->body;
		csv_text(w.csv, "collector");
		csv_text(w.csv, "utc");
		csv_head(w.csv, &check_block);
	}
	int rc = store_each_conformance(c->store, c->id, target_param(c->target, "collector"),
					false, put_checks, &w, err);
	if (!rc && !w.any)
		rc = err_set(err, -ENOENT,
			     "no conformance result is stored of a platform \"%.80s\"; "
			     "roimeter conformance --server makes one",
			     c->id);
	if (!rc && c->media != MEDIA_CSV)
		rc = answer_one(c, a, &w, err);
	json_decref(w.results);
	json_decref(w.history);
	return fail_of(rc, err);
}
