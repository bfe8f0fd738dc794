#include "cli/import_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/db.h"
#include "cli/progress.h"

static int add_runs(struct store *s, const struct imports *in, struct import_outcome *ret,
		    struct err *err)
{
	for (size_t i = 0; i < in->n_records; i++) {
		const struct record *rec = in->records[i];
		struct record old;
		bool present = store_get_run(s, rec->body.run_id, &old, NULL) == 0;
		record_done(&old);
		int rc = store_add_run(s, rec, err);
		if (rc)
			return err_wrap(err, rc, "run %s of %s/%s", rec->body.run_id, rec->body.app,
					rec->body.case_);
		progress("storing", i + 1, in->n_records);
		ret->stored += !present;
		ret->present += present;
	}
	return 0;
}

static int add_results(struct store *s, const struct imports *in, struct import_outcome *ret,
		       struct err *err)
{
	for (size_t i = 0; i < in->n_results; i++) {
		bool is_new;
		int rc = store_add_conformance(s, &in->results[i], &is_new, err);
		if (rc)
			return rc;
		ret->results += is_new;
		ret->results_present += !is_new;
	}
	return 0;
}

struct declaring {
	struct arena arena;
	struct declared_case *items;
	size_t n, cap;
};

static int keep_declared(void *arg, const char *suite, const struct declared_case *c)
{
	(void)suite;
	struct declaring *d = arg;
	d->items = arena_grow(&d->arena, d->items, &d->cap, d->n + 1, sizeof *d->items);
	if (!d->items)
		return -ENOMEM;
	d->items[d->n++] = (struct declared_case){ .app = arena_strdup(&d->arena, c->app),
						   .case_ = arena_strdup(&d->arena, c->case_),
						   .title = arena_strdup(&d->arena, c->title) };
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct declared_case *const *x = a, *const *y = b;
	int order = strcmp((*x)->app, (*y)->app);
	if (!order)
		order = strcmp((*x)->case_, (*y)->case_);
	return order ? order : (*x > *y) - (*x < *y); /* the one that came first */
}

/* Each input once. */
static int leave_out_doubles(struct declaring *d)
{
	size_t n = 0;
	struct declared_case **order = arena_array(&d->arena, d->n + 1, sizeof *order);
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		order[i] = &d->items[i];
	qsort(order, d->n, sizeof *order, by_name);
	for (size_t i = 1, first = 0; i < d->n; i++)
		if (strcmp(order[i]->app, order[first]->app) == 0 &&
		    strcmp(order[i]->case_, order[first]->case_) == 0)
			order[i]->place = 1;
		else
			first = i;
	for (size_t i = 0; i < d->n; i++)
		if (!d->items[i].place)
			d->items[n++] = d->items[i];
	d->n = n;
	return 0;
}

/* store_declare replaces: what was declared before stays declared, as it was. */
static int declare_suite(struct store *s, const struct import_case *cases, size_t n,
			 struct err *err)
{
	struct declaring d = { 0 };
	int rc = store_each_declared(s, cases[0].suite, NULL, keep_declared, &d, err);
	size_t before = d.n;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct declared_case c = { .app = cases[i].app,
						 .case_ = cases[i].case_,
						 .title = cases[i].title };
		rc = keep_declared(&d, NULL, &c);
	}
	if (!rc)
		rc = leave_out_doubles(&d);
	if (rc == -ENOMEM)
		(void)err_set(err, rc, "out of memory");
	if (!rc && d.n > before)
		rc = store_declare(s, cases[0].suite, d.items, d.n, err);
	arena_free(&d.arena);
	return rc;
}

static int declare_all(struct store *s, const struct imports *in, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < in->n_cases && !rc;) {
		size_t k = i + 1;
		while (k < in->n_cases && strcmp(in->cases[k].suite, in->cases[i].suite) == 0)
			k++;
		rc = declare_suite(s, in->cases + i, k - i, err);
		i = k;
	}
	return rc;
}

int import_store(const char *db, const struct imports *in, struct import_outcome *ret,
		 struct err *err)
{
	struct store *s = NULL;
	int rc = cli_open_store(&s, db, STORE_WRITE, err);
	if (rc)
		return rc;
	rc = store_begin(s, err);
	if (!rc) {
		rc = add_runs(s, in, ret, err);
		if (!rc)
			rc = add_results(s, in, ret, err);
		if (!rc)
			rc = declare_all(s, in, err);
		if (!rc)
			rc = store_commit(s, err);
		else
			store_rollback(s);
	}
	store_close(s);
	return rc;
}
