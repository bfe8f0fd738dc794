/* From names to collectors. */
#include "cli/run_collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In this order: where two of them work, the first sees more. */
static const char *const automatic[] = { "cupti", "opencl" };

#define IO "io" /* needs no execution of its own */

static const char *folders(const struct config *c, struct arena *a)
{
	const char *told = getenv("ROIMETER_COLLECTORS");
	const char *own = c->collectors;
	if (!told || !*told)
		return own;
	return own ? arena_printf(a, "%s:%s", told, own) : told;
}

static bool is_there(const struct run_collect *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->items[i].name, name) == 0)
			return true;
	return false;
}

static int add(struct run_collect *c, struct arena *a, const char *name, const char *where,
	       bool check, struct err *err)
{
	struct collector_lib *l = &c->items[c->n];
	if (is_there(c, name))
		return 0;
	int rc = collector_open(l, a, name, where, err);
	if (!rc && check)
		rc = collector_check(l, err);
	if (rc)
		collector_close(l);
	else
		c->n++;
	return rc;
}

/* The first that works. None: why not, each in its own words. */
static int choose(struct run_collect *c, struct arena *a, const char *where, struct err *err)
{
	size_t before = c->n;
	const char *why = "no collector can work here";
	for (size_t i = 0; i < sizeof automatic / sizeof *automatic && c->n == before; i++) {
		struct err sentence = { .text = "" };
		int rc = add(c, a, automatic[i], where, true, &sentence);
		if (rc == -ENOMEM)
			return err_set(err, rc, "out of memory");
		if (rc)
			why = arena_printf(a, "%s%s %s", why, i ? ";" : ":", sentence.text);
		if (!why)
			return err_set(err, -ENOMEM, "out of memory");
	}
	bool device = c->n > before;
	int rc = add(c, a, IO, where, true, NULL);
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	if (!device && rc)
		(void)fprintf(stderr, "info  collector: none (%s)\n", why);
	else
		(void)fprintf(stderr,
			      "info  collector: %s%s, in one more execution of each case "
			      "(--no-profile: without)\n",
			      device ? c->items[before].name : IO, device && !rc ? "," IO : "");
	if (!device && rc)
		c->reason = why;
	return 0;
}

/* Beside a collector of a device, in the same execution. */
static void put_along(struct run_collect *c)
{
	size_t at = 0;
	while (at < c->n && strcmp(c->items[at].name, IO) != 0)
		at++;
	if (at == c->n || c->n == 1)
		return;
	c->along = c->items[at];
	memmove(&c->items[at], &c->items[at + 1], (c->n - at - 1) * sizeof *c->items);
	c->n--;
	for (size_t i = 0; i < c->n; i++)
		c->items[i].with = &c->along;
}

int run_collect_check_names(const char *where, const char *const *names, size_t n, struct err *err)
{
	if (!n)
		return err_set(err, -EINVAL,
			       "%s is empty: write auto (what works here), names of collectors "
			       "(cupti, opencl, io), or none",
			       where);
	for (size_t i = 0; i < n; i++) {
		if (n > 1 && strcmp(names[i], "none") == 0)
			return err_set(err, -EINVAL,
				       "%s: none stands alone; leave it or the others out", where);
		for (size_t j = 0; j < i; j++)
			if (strcmp(names[i], names[j]) == 0)
				return err_set(err, -EINVAL,
					       "%s: %s stands there twice; once is enough", where,
					       names[i]);
	}
	return 0;
}

int run_collect_open(struct run_collect *ret, const struct run_options *o, const struct config *c,
		     struct arena *a, struct err *err)
{
	bool told = o->collect.n > 0;
	size_t n = told ? o->collect.n : c->collect.n;
	const char *where = folders(c, a);
	*ret = (struct run_collect){ .reason = o->no_profile ? "as asked for by --no-profile"
							     : "as asked for: collector none" };
	ret->range_library = collector_range_library(a, where);
	if (o->no_profile || !n)
		return 0;
	ret->automatic = true;
	ret->items = arena_array(a, n + 2, sizeof *ret->items); /* auto may be two */
	int rc = ret->items ? 0 : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < n; i++) {
		const char *name = told ? o->collect.items[i] : c->collect.items[i];
		if (strcmp(name, "none") == 0)
			continue;
		ret->automatic &= strcmp(name, "auto") == 0;
		rc = strcmp(name, "auto") == 0 ? choose(ret, a, where, err)
					       : add(ret, a, name, where, !o->dry_run, err);
	}
	if (rc)
		run_collect_close(ret);
	else
		put_along(ret);
	return rc;
}

int run_collect_check_capture(const struct run_collect *c, const char *folder, struct err *err)
{
	for (size_t i = 0; i < c->n; i++)
		if (collector_has(&c->items[i], IO))
			return 0;
	return err_set(err, -EINVAL,
		       "--capture %s: the collector io makes it, and no execution has that; add "
		       "--collect io (or opencl,io and the like), or leave --capture out",
		       folder);
}

void run_collect_close(struct run_collect *c)
{
	for (size_t i = 0; i < c->n; i++)
		collector_close(&c->items[i]);
	collector_close(&c->along);
	*c = (struct run_collect){ .reason = c->reason };
}

json_t *run_collect_names(const struct run_collect *c, size_t n)
{
	const char *along = n ? c->along.name : NULL;
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(list, json_string(c->items[i].name));
	if (along)
		(void)json_array_append_new(list, json_string(along));
	return list;
}
