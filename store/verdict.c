#include "store/verdict.h"

#include <errno.h>
#include <string.h>

#include "core/verdict.h"

struct found {
	struct arena arena;
	struct verdict *items;
	size_t n, cap;
	const char *utc; /* not later; NULL: any */
	bool is_late;    /* the newest of one was */
};

static int keep(struct found *f, const struct conformance *c)
{
	f->items = arena_grow(&f->arena, f->items, &f->cap, f->n + 1, sizeof *f->items);
	if (!f->items)
		return -ENOMEM;
	struct verdict v = { .collector = arena_strdup(&f->arena, c->collector),
			     .verdict = arena_strdup(&f->arena, c->verdict),
			     .utc = arena_strdup(&f->arena, c->utc),
			     .why = arena_strdup(&f->arena, c->why) };
	if (!v.collector || !v.verdict || !v.utc || (c->why && !v.why))
		return -ENOMEM;
	f->items[f->n++] = v;
	return 0;
}

/* They come by collector, the newest first. */
static int look(void *arg, const struct conformance *c)
{
	struct found *f = arg;
	bool late = f->utc && strcmp(c->utc, f->utc) > 0;
	f->is_late = f->is_late || late;
	if (late || (f->n && strcmp(f->items[f->n - 1].collector, c->collector) == 0))
		return 0;
	return keep(f, c);
}

/* Mostly the newest are from before the record; else the older ones are looked at, too. */
static int find_all(struct found *f, struct store *s, const char *platform, struct err *err)
{
	int rc = store_each_conformance(s, platform, NULL, false, look, f, err);
	if (rc || !f->is_late)
		return rc;
	f->n = 0;
	return store_each_conformance(s, platform, NULL, true, look, f, err);
}

int store_put_verdicts(struct store *s, struct record *rec, struct err *err)
{
	struct found f = { .utc = rec->body.utc };
	struct err why = { .text = "" };
	int rc = s && rec->body.platform ? find_all(&f, s, rec->body.platform, &why) : 0;
	if (!rc)
		rc = record_put_verdicts(rec, f.items, f.n);
	arena_free(&f.arena);
	return rc ? err_set(err, rc, "%s", why.text[0] ? why.text : "out of memory") : 0;
}
