/* Platforms: how much is stored of each, its facts, and whether its collectors are to be believed. */
#define _GNU_SOURCE /* strdup */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/csv.h"
#include "daemon/route.h"
#include "report/badge.h"
#include "schema/codec.h"

struct platform {
	char *id;
	char newest[40]; /* run */
	uint64_t runs, cells, cells_ok;
	json_t *tested; /* newest result of each collector, in short */
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
	struct platform *p = &items[list->n];
	*p = (struct platform){ .id = strdup(id), .tested = json_array() };
	if (p->id && p->tested) {
		list->n++;
		return p;
	}
	free(p->id);
	json_decref(p->tested);
	return NULL;
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

static int add_result(void *arg, const struct conformance *c)
{
	struct platform *p = find_platform(arg, c->platform);
	return p && json_array_append_new(p->tested, report_badge(c)) == 0 ? 0 : -ENOMEM;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct platform *)a)->id, ((const struct platform *)b)->id);
}

static int read_platforms(struct platforms *list, struct store *s, struct err *err)
{
	int rc = store_each_cell(s, NULL, NULL, count_cell, list, err);
	if (!rc)
		rc = store_each_conformance(s, NULL, NULL, false, add_result, list, err);
	if (list->n)
		qsort(list->items, list->n, sizeof *list->items, by_id);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

static void platforms_done(struct platforms *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].id);
		json_decref(list->items[i].tested);
	}
	free(list->items);
}

/* null: nothing was ever run there, only tested. */
static json_t *platform_json(const struct platform *p)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:s?, s:O}", "id", p->id, "runs",
			 (json_int_t)p->runs, "cells", (json_int_t)p->cells, "cells_ok",
			 (json_int_t)p->cells_ok, "newest_run", p->newest[0] ? p->newest : NULL,
			 "conformance", p->tested);
}

/* "cupti:pass opencl:fail" */
static void put_csv(struct buf *b, const struct platform *p)
{
	struct buf words = { 0 };
	for (size_t i = 0; i < json_array_size(p->tested); i++) {
		const json_t *one = json_array_get(p->tested, i);
		buf_printf(&words, "%s%s:%s", i ? " " : "",
			   json_string_value(json_object_get(one, "collector")),
			   json_string_value(json_object_get(one, "verdict")));
	}
	csv_text(b, p->id);
	csv_number(b, (double)p->runs);
	csv_number(b, (double)p->cells);
	csv_number(b, (double)p->cells_ok);
	csv_text(b, p->newest[0] ? p->newest : NULL);
	csv_text(b, words.data);
	csv_end(b);
	b->failed |= words.failed;
	buf_done(&words);
}

int handle_platforms(const struct call *c, struct answer *a, struct err *err)
{
	struct platforms list = { 0 };
	int rc = read_platforms(&list, c->store, err);
	json_t *rows = json_array();
	if (c->media == MEDIA_CSV)
		buf_puts(&a->body, "id,runs,cells,cells_ok,newest_run,conformance\r\n");
	for (size_t i = 0; i < list.n && !rc; i++) {
		const struct platform *p = &list.items[i];
		if (c->media != MEDIA_CSV)
			rc = json_array_append_new(rows, platform_json(p)) ? -ENOMEM : 0;
		else
			put_csv(&a->body, p);
	}
	if (!rc && c->media != MEDIA_CSV)
		rc = answer_json_take(a, json_pack("{s:O}", "platforms", rows), err);
	json_decref(rows);
	platforms_done(&list);
	return rc;
}

/* Facts as the newest run found them; null when it found none. */
static int facts_of_run(struct store *s, const char *run_id, json_t **ret, struct err *err)
{
	struct record rec;
	int rc = store_get_run(s, run_id, &rec, err);
	if (!rc)
		*ret = block_to_json(&platform_info_block, &rec.body.platform_info);
	record_done(&rec);
	return rc;
}

struct newest {
	char utc[32];
	json_t *info;
};

static int keep_facts(void *arg, const struct conformance *c)
{
	struct newest *w = arg;
	if (w->info && strcmp(c->utc, w->utc) <= 0)
		return 0;
	json_decref(w->info);
	(void)snprintf(w->utc, sizeof w->utc, "%s", c->utc);
	w->info = block_to_json(&platform_info_block, &c->platform_info);
	return w->info ? 0 : -ENOMEM;
}

static int facts(struct store *s, const struct platform *p, json_t **ret, struct err *err)
{
	struct newest w = { .info = NULL };
	int rc;
	if (p->newest[0]) {
		rc = facts_of_run(s, p->newest, &w.info, err);
	} else {
		rc = store_each_conformance(s, p->id, NULL, false, keep_facts, &w, err);
		rc = rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
	}
	if (!rc && !w.info)
		rc = err_set(err, -ENOMEM, "out of memory");
	*ret = w.info;
	return rc;
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
		rc = err_set(err, -ENOENT, "neither a run nor a conformance result is stored of a "
			     "platform \"%.80s\"",
			     c->id);
	if (!rc)
		rc = facts(c->store, p, &info, err);
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
