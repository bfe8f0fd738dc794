/* Which cases are meant by what was typed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "suite/near.h"
#include "suite/suite.h"

static bool hits(const struct suite_case *c, const char *selector)
{
	if (strcmp(selector, "all") == 0)
		return true;
	const char *slash = strchr(selector, '/');
	if (!slash)
		return fnmatch(selector, c->app, 0) == 0;
	char app[256];
	size_t n = (size_t)(slash - selector);
	if (n >= sizeof app)
		return false;
	memcpy(app, selector, n);
	app[n] = 0;
	return fnmatch(app, c->app, 0) == 0 && fnmatch(slash + 1, c->name, 0) == 0;
}

/* What is there: the nearest word, or all applications. */
static int no_hit(const struct suite *s, const char *selector, struct err *err)
{
	struct arena a = { 0 };
	const char **words = arena_array(&a, s->n_cases * 2 + 1, sizeof *words);
	size_t n = 0;
	for (size_t i = 0; words && i < s->n_cases; i++) {
		words[n++] = s->cases[i].app;
		const char *full = arena_printf(&a, "%s/%s", s->cases[i].app, s->cases[i].name);
		if (full)
			words[n++] = full;
	}
	const char *near = words ? near_word(selector, words, n) : NULL;
	int rc =
		near ? err_set(err, -ENOENT, "%s: no case is meant by \"%s\"; did you mean \"%s\"?",
			       s->file, selector, near)
		     : err_set(err, -ENOENT,
			       "%s: no case is meant by \"%s\"; write all, APP, APP/CASE or a "
			       "pattern in quotes, "
			       "for example %s/%s",
			       s->file, selector, s->n_cases ? s->cases[0].app : "app",
			       s->n_cases ? s->cases[0].name : "case");
	arena_free(&a);
	return rc;
}

int suite_select(const struct suite *s, const char *const *selectors, size_t n, bool *ret_chosen,
		 struct err *err)
{
	for (size_t i = 0; i < s->n_cases; i++)
		ret_chosen[i] = false;
	for (size_t k = 0; k < n; k++) {
		bool any = false;
		for (size_t i = 0; i < s->n_cases; i++)
			if (hits(&s->cases[i], selectors[k]))
				any = ret_chosen[i] = true;
		if (!any)
			return no_hit(s, selectors[k], err);
	}
	return 0;
}
