/* Columns of the grid. */
#define _GNU_SOURCE /* strdup */
#include "report/columns.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/badge.h"
#include "report/shrink.h"
#include "schema/codec.h"
#include "schema/runid.h"

void columns_done(struct columns *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->items[i].id);
		buf_done(&c->items[i].facts);
		buf_done(&c->items[i].tested);
	}
	free(c->items);
	*c = (struct columns){ .items = NULL };
}

static int by_column(const void *a, const void *b)
{
	return strcmp(((const struct column *)a)->id, ((const struct column *)b)->id);
}

/* hint: where it mostly is. */
static struct column *find_column(struct column *columns, size_t n, const char *id, size_t hint)
{
	if (hint < n && strcmp(columns[hint].id, id) == 0)
		return &columns[hint];
	for (size_t i = 0; i < n; i++)
		if (strcmp(columns[i].id, id) == 0)
			return &columns[i];
	return NULL;
}

static int note_columns(const struct part *p, struct column **columns, size_t *n)
{
	for (size_t i = 0; i < p->n_platforms; i++) {
		if (find_column(*columns, *n, p->platforms[i].id, i))
			continue;
		struct column *more = realloc(*columns, (*n + 1) * sizeof *more);
		if (!more)
			return -ENOMEM;
		*columns = more;
		more[*n] = (struct column){ .id = strdup(p->platforms[i].id) };
		if (!more[(*n)++].id)
			return -ENOMEM;
	}
	return 0;
}

static void note_newest(const struct part *p, struct column *columns, size_t n)
{
	for (size_t i = 0; i < p->n_platforms; i++) {
		const struct part_platform *one = &p->platforms[i];
		struct column *c = one->has_facts ? find_column(columns, n, one->id, i) : NULL;
		if (!c || (c->has_facts && one->run < c->run))
			continue;
		c->has_facts = true;
		c->run = one->run;
		memcpy(c->content, one->content, sizeof c->content);
	}
}

int columns_find(struct columns *c, struct part *const *parts, size_t n_parts, bool *ret_new)
{
	struct columns now = { .are_known = true };
	int rc = 0;
	for (size_t i = 0; i < n_parts && !rc; i++)
		rc = note_columns(parts[i], &now.items, &now.n);
	if (rc) {
		columns_done(&now);
		return rc;
	}
	if (now.n)
		qsort(now.items, now.n, sizeof *now.items, by_column);
	for (size_t i = 0; i < n_parts; i++)
		note_newest(parts[i], now.items, now.n);
	*ret_new = now.n != c->n;
	for (size_t i = 0; i < now.n; i++) {
		struct column *one = &now.items[i], *old = find_column(c->items, c->n, one->id, i);
		*ret_new |= !old;
		if (!old)
			continue;
		one->facts = old->facts;
		memcpy(one->facts_of, old->facts_of, sizeof old->facts_of);
		old->facts = (struct buf){ 0 };
	}
	columns_done(c);
	*c = now;
	return 0;
}

/* Of its newest run that tells something. */
static int read_facts(struct column *c, struct store *s, struct err *err)
{
	char run_id[RUNID_BYTES];
	struct record rec;
	if (!c->has_facts ||
	    (c->facts.len && memcmp(c->facts_of, c->content, sizeof c->content) == 0))
		return 0;
	int rc = store_get_run(s, runid_text(run_id, c->run), &rec, err);
	json_t *all = rc ? NULL : record_to_json(&rec);
	json_t *info = all ? shrink_nulls(json_object_get(all, "platform_info")) : NULL;
	record_done(&rec);
	c->facts.len = 0;
	if (!rc && (!info || json_text(&c->facts, info)))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc)
		buf_done(&c->facts);
	memcpy(c->facts_of, c->content, sizeof c->content);
	json_decref(all);
	json_decref(info);
	return rc;
}

bool columns_replace(struct columns *c, const struct part *old, const struct part *p)
{
	if (old->n_platforms != p->n_platforms)
		return false;
	for (size_t i = 0; i < p->n_platforms; i++) {
		const struct part_platform *was = &old->platforms[i], *is = &p->platforms[i];
		struct column *one = find_column(c->items, c->n, is->id, i);
		if (!one || strcmp(was->id, is->id) != 0)
			return false;
		/* It was the newest and is not there any more: some other part has the next. */
		bool was_newest = was->has_facts && was->run == one->run;
		if (was_newest && (!is->has_facts || is->run < was->run))
			return false;
	}
	note_newest(p, c->items, c->n);
	return true;
}

static int add_result(void *arg, const struct conformance *result)
{
	struct columns *c = arg;
	struct column *one = find_column(c->items, c->n, result->platform, c->n);
	if (!one) /* nothing of it is shown */
		return 0;
	json_t *badge = report_badge(result);
	buf_puts(&one->tested, one->tested.len ? "," : "");
	int rc = badge ? json_text(&one->tested, badge) : -ENOMEM;
	json_decref(badge);
	return rc || one->tested.failed ? -ENOMEM : 0;
}

static int read_results(struct columns *c, struct store *s, struct err *err)
{
	for (size_t i = 0; i < c->n; i++)
		buf_done(&c->items[i].tested);
	int rc = store_each_conformance(s, NULL, NULL, false, add_result, c, err);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

int columns_read_facts(struct columns *c, struct store *s, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = read_facts(&c->items[i], s, err);
	return rc ? rc : read_results(c, s, err);
}

void columns_put(const struct columns *c, struct buf *b)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct column *one = &c->items[i];
		json_t *id = json_string(one->id);
		buf_puts(b, i ? ",{\"id\":" : "{\"id\":");
		b->failed |= json_text(b, id) != 0;
		json_decref(id);
		buf_puts(b, ",\"info\":");
		buf_puts(b, one->has_facts && one->facts.len ? one->facts.data : "null");
		if (one->tested.len) {
			buf_puts(b, ",\"conformance\":[");
			buf_put(b, one->tested.data, one->tested.len);
			buf_puts(b, "]");
		}
		buf_puts(b, "}");
	}
}
