/* The grid and what is across it: report, platforms; and what the daemon says of itself. */
#define _GNU_SOURCE /* strdup */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/csv.h"
#include "daemon/route.h"
#include "lib/version.h"
#include "schema/codec.h"

int handle_health(const struct call *c, struct answer *a, struct err *err)
{
	(void)c;
	return answer_json_take(
		a, json_pack("{s:s, s:s}", "status", "ok", "version", ROIMETER_VERSION_TEXT), err);
}

/* ---- report -------------------------------------------------------------------------------- */

static int csv_cell(void *arg, const struct cell *cell)
{
	struct buf *b = arg;
	const struct run_row *ok = &cell->ok;
	bool any = ok->run_id;
	csv_text(b, cell->suite);
	csv_text(b, cell->app);
	csv_text(b, cell->case_);
	csv_text(b, cell->platform);
	csv_text(b, any ? ok->run_id : NULL);
	csv_text(b, any ? ok->utc : NULL);
	csv_number(b, any ? ok->wall_s : (double)NAN);
	csv_number(b, any ? ok->min_s : (double)NAN);
	csv_number(b, any ? ok->max_s : (double)NAN);
	csv_number(b, any ? ok->cv : (double)NAN);
	csv_number(b, any ? ok->samples : (double)NAN);
	csv_number(b, (double)cell->runs);
	csv_text(b, cell->last.run_id);
	csv_text(b, cell->last.status);
	csv_end(b);
	return 0;
}

/* As a table; the JSON is the reporter's. */
int handle_report(const struct call *c, struct answer *a, struct err *err)
{
	buf_puts(&a->body, "suite,app,case,platform,run_id,utc,wall_s,min_s,max_s,cv,samples,"
			   "runs,last_run_id,last_status\r\n");
	return store_each_cell(c->store, target_param(c->target, "suite"), NULL, csv_cell, &a->body,
			       err);
}

/* ---- platforms ----------------------------------------------------------------------------- */

struct platform {
	char *id;
	char newest[40]; /* run */
	uint64_t runs, cells, cells_ok;
};

struct platforms {
	struct platform *items;
	size_t n;
};

/* There are few platforms and many cells: the one of the cell before is mostly near. */
static struct platform *find_platform(struct platforms *list, const char *id)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i].id, id) == 0)
			return &list->items[i];
	struct platform *items = realloc(list->items, (list->n + 1) * sizeof *items);
	if (!items)
		return NULL;
	list->items = items;
	items[list->n] = (struct platform){ .id = strdup(id) };
	return items[list->n].id ? &items[list->n++] : NULL;
}

static int count_cell(void *arg, const struct cell *cell)
{
	struct platform *p = find_platform(arg, cell->platform);
	if (!p)
		return -ENOMEM;
	p->runs += cell->runs;
	p->cells++;
	p->cells_ok += cell->ok.run_id != NULL;
	/* Ids sort by time. */
	if (strcmp(cell->last.run_id, p->newest) > 0)
		(void)snprintf(p->newest, sizeof p->newest, "%s", cell->last.run_id);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct platform *)a)->id, ((const struct platform *)b)->id);
}

static int read_platforms(struct platforms *list, struct store *s, struct err *err)
{
	int rc = store_each_cell(s, NULL, NULL, count_cell, list, err);
	if (list->n)
		qsort(list->items, list->n, sizeof *list->items, by_id);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

static void platforms_done(struct platforms *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].id);
	free(list->items);
}

static json_t *platform_json(const struct platform *p)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:s}", "id", p->id, "runs", (json_int_t)p->runs,
			 "cells", (json_int_t)p->cells, "cells_ok", (json_int_t)p->cells_ok,
			 "newest_run", p->newest);
}

int handle_platforms(const struct call *c, struct answer *a, struct err *err)
{
	struct platforms list = { 0 };
	int rc = read_platforms(&list, c->store, err);
	json_t *rows = json_array();
	if (c->media == MEDIA_CSV)
		buf_puts(&a->body, "id,runs,cells,cells_ok,newest_run\r\n");
	for (size_t i = 0; i < list.n && !rc; i++) {
		const struct platform *p = &list.items[i];
		if (c->media != MEDIA_CSV)
			rc = json_array_append_new(rows, platform_json(p)) ? -ENOMEM : 0;
		else
			buf_printf(&a->body, "%s,%llu,%llu,%llu,%s\r\n", p->id,
				   (unsigned long long)p->runs, (unsigned long long)p->cells,
				   (unsigned long long)p->cells_ok, p->newest);
	}
	if (!rc && c->media != MEDIA_CSV)
		rc = answer_json_take(a, json_pack("{s:O}", "platforms", rows), err);
	json_decref(rows);
	platforms_done(&list);
	return rc;
}

/* Facts as the newest run found them; null when it found none. */
static int platform_facts(struct store *s, const char *run_id, json_t **ret, struct err *err)
{
	struct record rec;
	int rc = store_get_run(s, run_id, &rec, err);
	json_t *all = rc ? NULL : record_to_json(&rec);
	record_done(&rec);
	if (rc)
		return rc;
	*ret = json_incref(json_object_get(all, "platform_info"));
	json_decref(all);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int handle_platform(const struct call *c, struct answer *a, struct err *err)
{
	struct platforms list = { 0 };
	json_t *info = NULL, *o = NULL;
	int rc = read_platforms(&list, c->store, err);
	const struct platform key = { .id = (char *)(uintptr_t)c->id }, *p = NULL;
	if (!rc && list.n)
		p = bsearch(&key, list.items, list.n, sizeof *list.items, by_id);
	if (!rc && !p)
		rc = err_set(err, -ENOENT, "no run is stored of a platform \"%.80s\"", c->id);
	if (!rc)
		rc = platform_facts(c->store, p->newest, &info, err);
	if (!rc) {
		o = platform_json(p);
		if (!o || json_object_set(o, "platform_info", info)) {
			json_decref(o);
			o = NULL;
		}
		rc = answer_json_take(a, o, err);
	}
	json_decref(info);
	platforms_done(&list);
	return rc;
}
