/* Runs: the list in pages, one record, its parts, and removing one. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/csv.h"
#include "daemon/route.h"
#include "schema/codec.h"
#include "store/row.h"

#define PAGE_ROWS 50

int answer_json_take(struct answer *a, json_t *o, struct err *err)
{
	int rc = o ? json_text(&a->body, o) : -ENOMEM;
	json_decref(o);
	buf_puts(&a->body, "\n");
	a->media = MEDIA_JSON;
	return rc || a->body.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* ---- the list ------------------------------------------------------------------------------ */

struct page {
	bool csv, more;
	uint64_t limit, n;
	char last[40]; /* id of the last row */
	json_t *rows;
	struct buf *body;
};

static int add_row(void *arg, const struct run_row *row)
{
	struct page *p = arg;
	if (p->n == p->limit) {
		p->more = true;
		return 1;
	}
	p->n++;
	(void)snprintf(p->last, sizeof p->last, "%s", row->run_id);
	if (!p->csv)
		return json_array_append_new(p->rows, run_row_json(row)) ? -ENOMEM : 0;
	run_row_csv(p->body, row);
	return 0;
}

/* Text as a query parameter's value. */
static void put_encoded(struct buf *b, const char *text)
{
	for (; *text; text++) {
		bool plain = (*text >= '0' && *text <= '9') ||
			     ((*text | 0x20) >= 'a' && (*text | 0x20) <= 'z') ||
			     strchr("-._~", *text);
		if (plain)
			buf_put(b, text, 1);
		else
			buf_printf(b, "%%%02X", (unsigned char)*text);
	}
}

/* Where the next page is, with the same filters. Left out when it would be too long. */
static void link_next(struct answer *a, const struct target *t, const char *cursor)
{
	struct buf b = { .max = sizeof a->link - 1 };
	buf_printf(&b, "<%s?", t->path);
	for (size_t i = 0; i < t->n_params; i++) {
		if (strcmp(t->params[i].name, "cursor") == 0)
			continue;
		buf_printf(&b, "%s=", t->params[i].name);
		put_encoded(&b, t->params[i].value);
		buf_puts(&b, "&");
	}
	buf_printf(&b, "cursor=%s>; rel=\"next\"", cursor);
	if (!b.failed)
		(void)snprintf(a->link, sizeof a->link, "%s", b.data);
	buf_done(&b);
}

int handle_runs(const struct call *c, struct answer *a, struct err *err)
{
	const struct target *t = c->target;
	const char *limit = target_param(t, "limit");
	struct page p = { .csv = c->media == MEDIA_CSV,
			  .limit = limit ? strtoul(limit, NULL, 10) : PAGE_ROWS,
			  .rows = json_array(),
			  .body = &a->body };
	/* One more than the page tells whether there is another. */
	const struct run_query q = {
		.suite = target_param(t, "suite"),
		.app = target_param(t, "app"),
		.case_ = target_param(t, "case"),
		.platform = target_param(t, "platform"),
		.status = target_param(t, "status"),
		.kind = target_param(t, "kind"),
		.since = target_param(t, "since"),
		.before = target_param(t, "cursor"),
		.limit = p.limit + 1,
	};
	if (p.csv)
		run_row_csv_head(&a->body);
	int rc = store_each_run(c->store, &q, add_row, &p, err);
	if (rc == -ENOMEM)
		rc = err_set(err, rc, "out of memory");
	if (rc >= 0 && p.more)
		link_next(a, t, p.last);
	if (rc >= 0 && !p.csv)
		rc = answer_json_take(a,
				      json_pack("{s:O, s:o}", "runs", p.rows, "next",
						p.more ? json_string(p.last) : json_null()),
				      err);
	else if (rc >= 0)
		rc = 0;
	json_decref(p.rows);
	return rc;
}

/* ---- one run ------------------------------------------------------------------------------- */

static int get(const struct call *c, struct record *rec, struct err *err)
{
	int rc = store_get_run(c->store, c->id, rec, err);
	return rc == -ENOENT ? err_set(err, rc, "there is no run \"%.60s\"", c->id) : rc;
}

int handle_run(const struct call *c, struct answer *a, struct err *err)
{
	struct record rec;
	int rc = get(c, &rec, err);
	if (!rc && c->media == MEDIA_CSV) {
		record_csv_head(&a->body);
		record_csv_row(&a->body, &rec);
	} else if (!rc) {
		rc = answer_json_take(a, record_to_json(&rec), err);
	}
	record_done(&rec);
	return rc;
}

static void csv_ops(struct buf *b, const struct record *rec)
{
	csv_head(b, &op_block);
	for (size_t i = 0; i < rec->body.ops.n; i++)
		csv_row(b, &op_block, &rec->body.ops.items[i]);
}

/* Some fields of the record's JSON, with why they are null. */
static json_t *parts_json(const struct record *rec, const char *const *names)
{
	json_t *all = record_to_json(rec), *o = json_object(), *nulls = json_array();
	int bad = !all || !o || !nulls ||
		  json_object_set(o, "run_id", json_object_get(all, "run_id"));
	for (size_t i = 0; names[i] && !bad; i++)
		bad = json_object_set(o, names[i], json_object_get(all, names[i]));
	size_t at;
	json_t *one;
	json_array_foreach(json_object_get(all, "nulls"), at, one)
	{
		const char *field = json_string_value(json_object_get(one, "field"));
		size_t n = strlen(names[0]);
		bool ours = field && strncmp(field, names[0], n) == 0 &&
			    (field[n] == 0 || field[n] == '.');
		bad = bad || (ours && json_array_append(nulls, one));
	}
	bad = bad || json_object_set(o, "nulls", nulls);
	json_decref(all);
	json_decref(nulls);
	if (!bad)
		return o;
	json_decref(o);
	return NULL;
}

int handle_run_ops(const struct call *c, struct answer *a, struct err *err)
{
	static const char *const names[] = { "ops", "ops_scope", NULL };
	struct record rec;
	int rc = get(c, &rec, err);
	if (!rc && c->media == MEDIA_CSV)
		csv_ops(&a->body, &rec);
	else if (!rc)
		rc = answer_json_take(a, parts_json(&rec, names), err);
	record_done(&rec);
	return rc;
}

static void csv_files(struct buf *b, const struct record *rec)
{
	csv_flat_head(b, &io_file_block);
	for (size_t i = 0; i < rec->body.io.files.n; i++)
		csv_flat_row(b, &io_file_block, &rec->body.io.files.items[i]);
}

int handle_run_io(const struct call *c, struct answer *a, struct err *err)
{
	static const char *const names[] = { "io", NULL };
	struct record rec;
	int rc = get(c, &rec, err);
	if (!rc && c->media == MEDIA_CSV)
		csv_files(&a->body, &rec);
	else if (!rc)
		rc = answer_json_take(a, parts_json(&rec, names), err);
	record_done(&rec);
	return rc;
}

int handle_delete_run(const struct call *c, struct answer *a, struct err *err)
{
	int rc = store_delete_run(c->store, c->id, err);
	if (rc == -ENOENT)
		return err_set(err, rc, "there is no run \"%.60s\"", c->id);
	a->status = rc ? a->status : 204;
	return rc;
}
