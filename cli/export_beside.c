#include "cli/export_beside.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "schema/codec.h"
#include "schema/conformance.h"
#include "schema/declared.h"

static bool is_in(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static int note(struct arena *a, const char ***list, size_t *n, size_t *cap, const char *name)
{
	if (is_in(*list, *n, name))
		return 0;
	const char **more = arena_grow(a, *list, cap, *n + 1, sizeof *more);
	if (!more)
		return -ENOMEM;
	*list = more;
	more[*n] = arena_strdup(a, name);
	return more[(*n)++] ? 0 : -ENOMEM;
}

int export_beside_note(struct export_beside *b, const struct run_row *row)
{
	int rc = note(&b->arena, &b->suites, &b->n_suites, &b->cap_suites, row->suite);
	return rc ? rc
		  : note(&b->arena, &b->platforms, &b->n_platforms, &b->cap_platforms,
			 row->platform);
}

void export_beside_done(struct export_beside *b)
{
	arena_free(&b->arena);
	*b = (struct export_beside){ .suites = NULL };
}

static bool takes_all(const struct run_query *q)
{
	return !q->suite && !q->app && !q->case_ && !q->platform && !q->status && !q->since;
}

struct writing {
	const struct export_beside *beside;
	const struct run_query *q;
	FILE *out;
	struct err *err;
	struct arena arena; /* of the suite that is being put together */
	struct declared suite;
	size_t cap;
};

static int put_line(struct writing *w, json_t *json_taken)
{
	struct buf b = { 0 };
	int rc = json_taken ? json_text(&b, json_taken) : -ENOMEM;
	json_decref(json_taken);
	buf_puts(&b, "\n");
	if (rc || b.failed)
		rc = err_set(w->err, -ENOMEM, "out of memory");
	else if (fwrite(b.data, 1, b.len, w->out) != b.len)
		rc = err_set(w->err, -errno, "write: %s", strerror(errno));
	buf_done(&b);
	return rc;
}

/* ---- declared inputs ------------------------------------------------------------------------- */

static int end_suite(struct writing *w)
{
	int rc = w->suite.inputs.n ? put_line(w, declared_to_json(&w->suite)) : 0;
	arena_free(&w->arena);
	w->suite = (struct declared){ .suite = NULL };
	w->cap = 0;
	return rc;
}

static bool is_wanted(const struct writing *w, const char *suite, const struct declared_case *c)
{
	return (takes_all(w->q) || is_in(w->beside->suites, w->beside->n_suites, suite)) &&
	       (!w->q->app || strcmp(w->q->app, c->app) == 0) &&
	       (!w->q->case_ || strcmp(w->q->case_, c->case_) == 0);
}

static int take_input(void *arg, const char *suite, const struct declared_case *c)
{
	struct writing *w = arg;
	if (!is_wanted(w, suite, c))
		return 0;
	int rc = w->suite.suite && strcmp(w->suite.suite, suite) != 0 ? end_suite(w) : 0;
	if (rc)
		return rc;
	struct declared_input *list = arena_grow(&w->arena, w->suite.inputs.items, &w->cap,
						 w->suite.inputs.n + 1, sizeof *list);
	if (!list)
		return err_set(w->err, -ENOMEM, "out of memory");
	w->suite.inputs.items = list;
	if (!w->suite.suite) {
		w->suite.schema = DECLARED_SCHEMA;
		w->suite.suite = arena_strdup(&w->arena, suite);
	}
	struct declared_input *one = &list[w->suite.inputs.n++];
	*one = (struct declared_input){ .app = arena_strdup(&w->arena, c->app),
					.case_ = arena_strdup(&w->arena, c->case_),
					.title = c->title ? arena_strdup(&w->arena, c->title)
							  : NULL };
	return w->suite.suite && one->app && one->case_ && (!c->title || one->title)
		       ? 0
		       : err_set(w->err, -ENOMEM, "out of memory");
}

/* ---- conformance results --------------------------------------------------------------------- */

static int put_result(void *arg, const struct conformance *c)
{
	struct writing *w = arg;
	if (!takes_all(w->q) && !is_in(w->beside->platforms, w->beside->n_platforms, c->platform))
		return 0;
	return put_line(w, conformance_to_json(c));
}

int export_beside_write(const struct export_beside *b, struct store *s, const struct run_query *q,
			FILE *out, struct err *err)
{
	struct writing w = { .beside = b, .q = q, .out = out, .err = err };
	int rc = store_each_declared(s, q->suite, NULL, take_input, &w, err);
	if (!rc)
		rc = end_suite(&w);
	if (!rc)
		rc = store_each_conformance(s, NULL, NULL, true, put_result, &w, err);
	arena_free(&w.arena);
	return rc;
}
