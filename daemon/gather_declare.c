/* What suites declare, as agents bring it. All of a list is looked at before any of it is stored:
 * by the rules that suites have for names, so that nothing is stored that no suite could say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "daemon/gather_impl.h"
#include "lib/name.h"
#include "schema/roilog.h"
#include "schema/utf8.h"

struct list {
	struct arena a;
	struct declared_case *items, *sorted;
	size_t n;
};

/* app, case, title: 0 where they aren't whole. */
static size_t count(struct str cases)
{
	struct str text;
	size_t n = 0;
	while (batch_text_next(&cases, &text))
		n++;
	return n % 3 ? 0 : n / 3;
}

static bool title_good(struct str title)
{
	return !title.p || (title.n <= DECLARE_MAX_TITLE && !memchr(title.p, 0, title.n) &&
			    utf8_valid(title.p, title.n));
}

static int by_name(const void *a, const void *b)
{
	const struct declared_case *x = a, *y = b;
	int order = strcmp(x->app, y->app);
	return order ? order : strcmp(x->case_, y->case_);
}

/* The same input twice is none. */
static bool all_differ(struct list *l)
{
	memcpy(l->sorted, l->items, l->n * sizeof *l->items);
	qsort(l->sorted, l->n, sizeof *l->sorted, by_name);
	for (size_t i = 1; i < l->n; i++)
		if (by_name(&l->sorted[i - 1], &l->sorted[i]) == 0)
			return false;
	return true;
}

/* -EBADMSG: no suite says such a thing. */
static int read_list(struct list *l, struct str cases)
{
	struct str app, name, title;
	size_t n = count(cases);
	if (!n || n > DECLARE_MAX_CASES)
		return -EBADMSG;
	l->items = arena_array(&l->a, n, sizeof *l->items);
	l->sorted = arena_array(&l->a, n, sizeof *l->sorted);
	if (!l->items || !l->sorted)
		return -ENOMEM;
	for (; l->n < n; l->n++) {
		if (!batch_text_next(&cases, &app) || !batch_text_next(&cases, &name) ||
		    !batch_text_next(&cases, &title) || name_fault(app) || name_fault(name) ||
		    !title_good(title))
			return -EBADMSG;
		struct declared_case c = { .app = arena_strndup(&l->a, app.p, app.n),
					   .case_ = arena_strndup(&l->a, name.p, name.n),
					   .title = arena_strndup(&l->a, title.p, title.n) };
		if (!c.app || !c.case_ || (title.p && !c.title))
			return -ENOMEM;
		l->items[l->n] = c;
	}
	return all_differ(l) ? 0 : -EBADMSG;
}

/* A clock that is ahead of ours must not stand against all that follows. */
static int64_t when(const struct gather *g, int64_t real_ns)
{
	return real_ns < g->now.real_ns ? real_ns : g->now.real_ns;
}

int gather_declare(struct gather *g, const struct frame_declare *d, const char **ret_why,
		   struct err *err)
{
	struct list l = { .n = 0 };
	bool newer = false;
	int rc = name_fault(d->suite) || d->real_ns == ROI_UNKNOWN ? -EBADMSG
								   : read_list(&l, d->cases);
	const char *suite = rc ? NULL : arena_strndup(&l.a, d->suite.p, d->suite.n);
	if (rc == -EBADMSG)
		*ret_why = "impossible";
	if (rc == -ENOMEM || (!rc && !suite))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = inbox_newer_declared(g->s, suite, when(g, d->real_ns),
					  XXH3_64bits(d->cases.p, d->cases.n), &newer, err);
	if (!rc && newer)
		rc = store_declare(g->s, suite, l.items, l.n, err);
	arena_free(&l.a);
	return rc == -EBADMSG ? 0 : rc;
}
