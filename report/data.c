/* The data of the report. */
#include "report/data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "lib/num.h"
#include "lib/version.h"
#include "report/rows.h"
#include "report/shrink.h"
#include "schema/codec.h"

struct building {
	struct store *store;
	const struct report_rows *rows;
	struct shrink_dict dict;
	json_t *records;
	json_t *platform_runs; /* platform -> [newest run with facts, their place], as met so far */
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

json_t *report_record(const struct record *rec)
{
	json_t *full = record_to_json(rec), *small = full ? shrink_nulls(full) : NULL;
	json_decref(full);
	json_t *ops = json_object_get(small, "ops");
	size_t n = json_array_size(ops);
	int rc = small ? cut_ranks(small, rec) : 0;
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

/* The facts of a platform are those of its newest run that has some. */
static int note_platform(struct building *b, const json_t *rec)
{
	json_t *place = json_object_get(rec, "platform_info");
	const char *platform = json_string_value(json_object_get(rec, "platform"));
	const char *run = json_string_value(json_object_get(rec, "run_id"));
	if (!place || !platform || !run)
		return 0;
	const json_t *old = json_object_get(b->platform_runs, platform);
	if (old && strcmp(json_string_value(json_array_get(old, 0)), run) >= 0)
		return 0;
	return put(b->platform_runs, platform, json_pack("[s, O]", run, place));
}

/* *ret is the place of the record in the list, or null. */
static int add_record(struct building *b, const char *run_id, json_t **ret, struct err *err)
{
	struct record rec;
	int rc = store_get_run(b->store, run_id, &rec, err);
	json_t *json = rc ? NULL : report_record(&rec);
	record_done(&rec);
	if (rc)
		return rc;
	if (!json || factor(b, json) || note_platform(b, json) ||
	    json_array_append(b->records, json)) {
		json_decref(json);
		return err_set(err, -ENOMEM, "out of memory");
	}
	json_decref(json);
	*ret = json_integer((json_int_t)json_array_size(b->records) - 1);
	return 0;
}

/* ---- cells -------------------------------------------------------------------------------------
 */

static json_t *run_json(const struct run_row *r)
{
	json_t *o = json_object();
	if (put_text(o, "run_id", r->run_id) || put_text(o, "utc", r->utc) ||
	    put_text(o, "kind", r->kind) || put_text(o, "status", r->status) ||
	    put_number(o, "wall_s", r->wall_s) || put_number(o, "min_s", r->min_s) ||
	    put_number(o, "max_s", r->max_s) || put_number(o, "cv", r->cv) ||
	    put_number(o, "samples", r->samples) ||
	    put_number(o, "process_wall_s", r->process_wall_s) ||
	    put_number(o, "busy_frac", r->busy_frac) || put_number(o, "fom", r->fom) ||
	    put_number(o, "caveats", r->caveats)) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static int add_history(void *arg, const struct run_row *r)
{
	json_t *o = json_object();
	if (put_text(o, "run_id", r->run_id) || put_text(o, "utc", r->utc) ||
	    put_text(o, "kind", r->kind) || put_text(o, "status", r->status) ||
	    put_number(o, "wall_s", r->wall_s) || put_number(o, "min_s", r->min_s) ||
	    put_number(o, "max_s", r->max_s) || put_number(o, "samples", r->samples) ||
	    put_number(o, "fom", r->fom) || put_number(o, "caveats", r->caveats)) {
		json_decref(o);
		return -ENOMEM;
	}
	return json_array_append_new(arg, o) ? -ENOMEM : 0;
}

static int history_json(struct building *b, const struct cell *c, json_t **ret, struct err *err)
{
	struct run_query q = { .suite = c->suite,
			       .app = c->app,
			       .case_ = c->case_,
			       .platform = c->platform,
			       .limit = REPORT_HISTORY_MAX };
	json_t *rows = json_array();
	int rc = rows ? store_each_run(b->store, &q, add_history, rows, err) : -ENOMEM;
	if (!rc) {
		*ret = shrink_table(rows);
		rc = *ret ? 0 : -ENOMEM;
	}
	json_decref(rows);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

static int cell_json(struct building *b, const struct cell *c, json_t **ret, struct err *err)
{
	json_t *record = NULL, *later = NULL, *history = NULL;
	bool has_later = c->ok.run_id && strcmp(c->ok.run_id, c->last.run_id) != 0;
	int rc = add_record(b, c->ok.run_id ? c->ok.run_id : c->last.run_id, &record, err);
	if (!rc && has_later)
		rc = add_record(b, c->last.run_id, &later, err);
	if (!rc)
		rc = history_json(b, c, &history, err);
	if (rc) {
		json_decref(record);
		json_decref(later);
		return rc;
	}
	*ret = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "runs", (json_int_t)c->runs, "ok",
			 c->ok.run_id ? run_json(&c->ok) : json_null(), "last", run_json(&c->last),
			 "record", record, "last_record", later ? later : json_null(), "history",
			 history);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static int case_json(struct building *b, const struct report_row *row, json_t **ret,
		     struct err *err)
{
	json_t *cells = json_array();
	for (size_t p = 0; p < b->rows->n_platforms; p++) {
		const struct cell *c = report_rows_cell(b->rows, row, b->rows->platforms[p]);
		json_t *cell = NULL;
		int rc = c ? cell_json(b, c, &cell, err) : 0;
		if (!rc && json_array_append_new(cells, c ? cell : json_null()))
			rc = err_set(err, -ENOMEM, "out of memory");
		if (rc) {
			json_decref(cells);
			return rc;
		}
	}
	json_t *o = json_object();
	if (put_text(o, "name", row->case_) || put_text(o, "title", row->title) ||
	    put(o, "declared", json_boolean(row->declared)) ||
	    put(o, "cells", json_incref(cells))) {
		json_decref(o);
		o = NULL;
	}
	json_decref(cells);
	*ret = o;
	return o ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* The list under key of the last object of list, which gets a new last object when the name
 * there is another. */
static json_t *last_list(json_t *list, const char *name, const char *key)
{
	size_t n = json_array_size(list);
	json_t *last = n ? json_array_get(list, n - 1) : NULL;
	const char *have = json_string_value(json_object_get(last, "name"));
	if (have && strcmp(have, name) == 0)
		return json_object_get(last, key);
	last = json_pack("{s:s, s:[]}", "name", name, key);
	return json_array_append_new(list, last) ? NULL : json_object_get(last, key);
}

static int suites_json(struct building *b, json_t *suites, struct err *err)
{
	for (size_t i = 0; i < b->rows->n_rows; i++) {
		const struct report_row *row = &b->rows->rows[i];
		json_t *apps = last_list(suites, row->suite, "apps");
		json_t *cases = apps ? last_list(apps, row->app, "cases") : NULL, *one = NULL;
		int rc = cases ? case_json(b, row, &one, err)
			       : err_set(err, -ENOMEM, "out of memory");
		if (rc)
			return rc;
		if (json_array_append_new(cases, one))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static json_t *platforms_json(const struct building *b)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < b->rows->n_platforms; i++) {
		const char *id = b->rows->platforms[i];
		json_t *place = json_array_get(json_object_get(b->platform_runs, id), 1);
		json_t *one = json_pack("{s:s, s:O?}", "id", id, "info", place);
		if (json_array_append_new(list, one)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

int report_build(json_t **ret, struct store *s, const struct report_options *o, struct err *err)
{
	struct report_rows rows;
	json_t *suites = json_array();
	struct building b = {
		.store = s, .rows = &rows, .records = json_array(), .platform_runs = json_object()
	};
	int rc = report_rows_read(&rows, s, o, err);
	if (!rc && (!suites || !b.records || !b.platform_runs))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = suites_json(&b, suites, err);
	json_t *platforms = rc ? NULL : platforms_json(&b);
	if (!rc && !b.dict.values)
		b.dict.values = json_object();
	if (!rc) {
		json_t *out =
			json_pack("{s:s, s:s, s:s, s:o, s:O, s:O, s:O}", "schema", REPORT_SCHEMA,
				  "title", o->title ? o->title : "Roimeter report", "tool",
				  "roimeter " ROIMETER_VERSION_TEXT, "platforms", platforms,
				  "suites", suites, "dict", b.dict.values, "records", b.records);
		if (out)
			*ret = out;
		else
			rc = err_set(err, -EINVAL, "the title is not UTF-8 text, or out of memory");
	}
	json_decref(suites);
	json_decref(b.records);
	json_decref(b.platform_runs);
	shrink_dict_done(&b.dict);
	report_rows_done(&rows);
	return rc;
}

void report_hash(char ret_hash[33], const struct buf *text)
{
	XXH128_hash_t h = XXH3_128bits(text->data, text->len);
	XXH128_canonical_t bytes;
	XXH128_canonicalFromHash(&bytes, h);
	for (size_t i = 0; i < sizeof bytes.digest; i++)
		(void)snprintf(ret_hash + 2 * i, 3, "%02x", bytes.digest[i]);
}
