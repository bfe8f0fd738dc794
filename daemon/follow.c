/* Ids sort by when a run began, not by when it was stored; so the lists of the newest are compared,
 * and one that comes late is found too. */
#include "daemon/follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/codec.h"
#include "schema/runid.h"
#include "store/row.h"

#define NEWEST 1000

struct list {
	char ids[NEWEST][RUNID_BYTES]; /* newest first */
	size_t n;
};

struct follow {
	struct list lists[2];
	struct list *known, *now;
	uint64_t version;
	bool begun;
	json_t *rows; /* of runs that are new */
};

struct follow *follow_new(void)
{
	struct follow *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->known = &f->lists[0];
	f->now = &f->lists[1];
	return f;
}

void follow_free(struct follow *f)
{
	free(f);
}

static int newest_first(const void *a, const void *b)
{
	return strcmp(b, a);
}

static bool has(const struct list *l, const char *id)
{
	return l->n && bsearch(id, l->ids, l->n, RUNID_BYTES, newest_first);
}

static int note(void *arg, const struct run_row *row)
{
	struct follow *f = arg;
	(void)snprintf(f->now->ids[f->now->n++], RUNID_BYTES, "%s", row->run_id);
	if (!f->begun || has(f->known, row->run_id))
		return 0;
	return json_array_append_new(f->rows, run_row_json(row)) ? -ENOMEM : 0;
}

static void tell(struct follow *f, struct events *e)
{
	for (size_t i = json_array_size(f->rows); i > 0; i--) {
		struct buf b = { 0 };
		if (!json_text(&b, json_array_get(f->rows, i - 1)))
			events_push(e, "run", b.data);
		buf_done(&b);
	}
	/* One that fell out of the list because newer ones came is not gone. */
	const char *oldest = f->now->n == NEWEST ? f->now->ids[NEWEST - 1] : "";
	for (size_t i = 0; i < f->known->n; i++) {
		const char *id = f->known->ids[i];
		char data[64];
		if (strcmp(id, oldest) < 0 || has(f->now, id))
			continue;
		(void)snprintf(data, sizeof data, "{\"run_id\":\"%s\"}", id);
		events_push(e, "gone", data);
	}
	events_push(e, "change", "{}");
}

int follow_poll(struct follow *f, struct store *s, struct events *e, struct err *err)
{
	uint64_t version;
	int rc = store_version(s, &version, err);
	if (rc || (f->begun && version == f->version))
		return rc;
	const struct run_query q = { .limit = NEWEST };
	f->now->n = 0;
	f->rows = json_array();
	rc = store_each_run(s, &q, note, f, err);
	if (!rc && f->begun)
		tell(f, e);
	if (!rc) {
		struct list *old = f->known;
		f->known = f->now;
		f->now = old;
		f->version = version;
		f->begun = true;
	}
	json_decref(f->rows);
	f->rows = NULL;
	return rc;
}
