/* What stands behind the cells: their records and histories, with what many share kept once. */
#include "report/data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "lib/num.h"
#include "report/cell.h"
#include "report/period.h"
#include "report/shrink.h"
#include "schema/codec.h"

struct building {
	struct store *store;
	const struct report_options *options;
	struct shrink_dict dict;
	json_t *records;
	json_t *history; /* run that a cell stands for -> table */
	struct err *err;
};

/* ---- small helpers -----------------------------------------------------------------------------
 */

static int put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) ? -ENOMEM : 0;
}

static int put_text(json_t *object, const char *key, const char *text)
{
	return text ? put(object, key, json_string(text)) : 0;
}

static json_t *number(double x)
{
	if (!isfinite(x))
		return json_null();
	bool whole = x == floor(x) && fabs(x) < 9007199254740992.0;
	return whole ? json_integer((json_int_t)x) : json_real(x);
}

static int put_number(json_t *object, const char *key, double x)
{
	return known(x) ? put(object, key, number(x)) : 0;
}

/* ---- records -----------------------------------------------------------------------------------
 */

/* Jobs of many processes fill most of a record: only those of the first sample are kept then. */
static int cut_ranks(json_t *rec, const struct record *full)
{
	json_t *ranks = json_object_get(rec, "ranks");
	size_t n = json_array_size(ranks);
	const char *keep = NULL;
	for (size_t i = 0; i < full->body.executions.n && !keep; i++)
		if (full->body.executions.items[i].used == YES)
			keep = full->body.executions.items[i].name;
	if (n <= REPORT_RANKS_MAX || !keep)
		return 0;
	json_t *kept = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *row = json_array_get(ranks, i);
		const char *name = json_string_value(json_object_get(row, "execution"));
		if (name && strcmp(name, keep) == 0 && json_array_append(kept, row))
			return -ENOMEM;
	}
	return put(rec, "ranks_count", json_integer((json_int_t)n)) || put(rec, "ranks", kept)
		       ? -ENOMEM
		       : 0;
}

/* The files with most bytes, and the bytes over time of the first processes. */
static int cut_io(json_t *io)
{
	static const struct {
		const char *list, *count;
		size_t max;
	} cuts[] = { { "files", "files_count", REPORT_FILES_MAX },
		     { "series", "series_count", REPORT_SERIES_MAX } };
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		json_t *list = json_object_get(io, cuts[i].list);
		size_t n = json_array_size(list);
		if (n <= cuts[i].max)
			continue;
		if (put(io, cuts[i].count, json_integer((json_int_t)n)))
			return -ENOMEM;
		while (n > cuts[i].max)
			if (json_array_remove(list, --n))
				return -ENOMEM;
	}
	return 0;
}

/* Of bytes over time, the answer in short: what the page says in a line. */
static int put_period(json_t *io, const struct record *rec)
{
	struct report_period_input in = { 0 };
	struct report_period found = { 0 };
	const struct report_period_question q = { .direction = "both",
						  .from_s = -INFINITY,
						  .to_s = INFINITY };
	int rc = report_period_series(&in, &rec->body, NULL, NULL);
	if (!rc && in.source[0]) {
		rc = report_period_ask(&found, &in, &q, NULL);
		json_t *o = rc ? NULL : report_period_short(&found.all);
		json_t *small = o ? shrink_nulls(o) : NULL;
		rc = rc == -EINVAL ? 0 : rc ? rc : small ? json_object_set(io, "period", small) : -ENOMEM;
		json_decref(o);
		json_decref(small);
	}
	report_period_done(&found);
	report_period_input_done(&in);
	return rc ? -ENOMEM : 0;
}

json_t *report_record(const struct record *rec)
{
	json_t *full = record_to_json(rec), *small = full ? shrink_nulls(full) : NULL;
	json_decref(full);
	json_t *ops = json_object_get(small, "ops");
	size_t n = json_array_size(ops);
	int rc = small ? cut_ranks(small, rec) : 0;
	if (!rc && json_object_get(small, "io"))
		rc = cut_io(json_object_get(small, "io"));
	if (!rc && json_object_get(small, "io"))
		rc = put_period(json_object_get(small, "io"), rec);
	if (!rc && ops)
		rc = put(small, "ops_count", json_integer((json_int_t)n));
	while (!rc && n > REPORT_OPS_MAX)
		rc = json_array_remove(ops, --n);
	if (!rc)
		return small;
	json_decref(small);
	return NULL;
}

/* Lists become tables; blocks that many records share go to the dictionary. */
static int factor(struct building *b, json_t *rec)
{
	static const char *const tables[] = { "phases", "ops", "executions", "ranks" };
	static const char *const shared[] = { "measurement",   "launcher",   "placement",
					      "platform_info", "provenance", "caveats",
					      "nulls" };
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		json_t *list = json_object_get(rec, tables[i]);
		if (list && put(rec, tables[i], shrink_table(list)))
			return -ENOMEM;
	}
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
		json_t *value = json_object_get(rec, shared[i]);
		if (!value)
			continue;
		int place = shrink_intern_take(&b->dict, shared[i], json_incref(value));
		if (place < 0 || put(rec, shared[i], json_integer(place)))
			return -ENOMEM;
	}
	return 0;
}

static int add_record(struct building *b, const char *run_id)
{
	struct record rec;
	int rc = store_get_run(b->store, run_id, &rec, b->err);
	json_t *json = rc ? NULL : report_record(&rec);
	record_done(&rec);
	if (rc)
		return rc;
	rc = !json || factor(b, json) || json_array_append(b->records, json) ? -ENOMEM : 0;
	json_decref(json);
	return rc;
}

/* ---- cells -------------------------------------------------------------------------------------
 */

static int add_history(void *arg, const struct run_row *r)
{
	json_t *o = json_object();
	if (put_text(o, "run_id", r->run_id) || put_text(o, "utc", r->utc) ||
	    put_text(o, "kind", r->kind) || put_text(o, "status", r->status) ||
	    put_number(o, "wall_s", r->wall_s) || put_number(o, "min_s", r->min_s) ||
	    put_number(o, "max_s", r->max_s) || put_number(o, "samples", r->samples) ||
	    put_number(o, "fom", r->fom) || put_number(o, "caveats", r->caveats) ||
	    put_text(o, "input_hash", r->input_hash)) {
		json_decref(o);
		return -ENOMEM;
	}
	return json_array_append_new(arg, o) ? -ENOMEM : 0;
}

static int history_json(struct building *b, const struct cell *c, json_t **ret)
{
	struct run_query q = { .suite = c->suite,
			       .app = c->app,
			       .case_ = c->case_,
			       .platform = c->platform,
			       .limit = REPORT_HISTORY_MAX };
	json_t *rows = json_array();
	int rc = rows ? store_each_run(b->store, &q, add_history, rows, b->err) : -ENOMEM;
	if (!rc) {
		*ret = shrink_table(rows);
		rc = *ret ? 0 : -ENOMEM;
	}
	json_decref(rows);
	return rc;
}

static bool is_wanted(const struct report_options *o, const char *suite)
{
	for (size_t i = 0; i < o->n_suites; i++)
		if (strcmp(o->suites[i], suite) == 0)
			return true;
	return o->n_suites == 0;
}

static int add_cell(void *arg, const struct cell *c)
{
	struct building *b = arg;
	json_t *history = NULL;
	const char *shown = report_cell_shown(c)->run_id;
	if (!shown || !is_wanted(b->options, c->suite))
		return 0;
	int rc = add_record(b, shown);
	if (!rc && strcmp(shown, c->last.run_id) != 0)
		rc = add_record(b, c->last.run_id);
	if (!rc)
		rc = history_json(b, c, &history);
	return rc ? rc : put(b->history, shown, history);
}

int report_details(json_t **ret, struct store *s, const struct report_options *o, struct err *err)
{
	struct building b = { .store = s,
			      .options = o,
			      .dict = { .values = json_object() },
			      .records = json_array(),
			      .history = json_object(),
			      .err = err };
	int rc = b.dict.values && b.records && b.history ? 0 : -ENOMEM;
	if (!rc)
		rc = store_each_cell(s, NULL, NULL, add_cell, &b, err);
	if (!rc) {
		*ret = json_pack("{s:O, s:O, s:O}", "dict", b.dict.values, "records", b.records,
				 "history", b.history);
		rc = *ret ? 0 : -ENOMEM;
	}
	json_decref(b.records);
	json_decref(b.history);
	shrink_dict_done(&b.dict);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

void report_hash(char ret_hash[33], const struct buf *text)
{
	XXH128_hash_t h = XXH3_128bits(text->data, text->len);
	XXH128_canonical_t bytes;
	XXH128_canonicalFromHash(&bytes, h);
	for (size_t i = 0; i < sizeof bytes.digest; i++)
		(void)snprintf(ret_hash + 2 * i, 3, "%02x", bytes.digest[i]);
}
