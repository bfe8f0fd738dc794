/* Environment cells and sweeps of case tables. */
#include "suite/table.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "suite/env.h"
#include "suite/reader.h"

static int refuse_item(struct err *err, const char *item, const char *why)
{
	return err_set(err, -EINVAL, "%s: \"%s\"", why, item);
}

static int parse_item(struct arena *a, char *item, const struct env_pair *before, size_t n,
		      struct env_pair *ret, struct err *err)
{
	char *equals = strchr(item, '=');
	if (!equals)
		return err_set(err, -EINVAL, "no value: \"%s\" is not NAME=VALUE", item);
	*ret = (struct env_pair){ .name = arena_strndup(a, item, (size_t)(equals - item)),
				  .value = arena_strdup(a, equals + 1) };
	if (!ret->name || !ret->value)
		return err_set(err, -ENOMEM, "out of memory");
	enum env_verdict v = env_may_declare(ret->name);
	for (size_t i = 0; v == ENV_OK && i < n; i++)
		if (strcmp(before[i].name, ret->name) == 0)
			v = ENV_TWICE;
	return v == ENV_OK ? 0 : refuse_item(err, ret->name, env_verdict_text(v));
}

int case_env_parse(struct arena *a, const char *cell, struct env_pair **ret, size_t *ret_n,
		   struct err *err)
{
	struct env_pair *pairs = NULL;
	size_t n = 0, room = 0;
	*ret = NULL;
	*ret_n = 0;
	if (!*cell || strcmp(cell, "-") == 0)
		return 0;
	if (strpbrk(cell, "\t\n\r"))
		return err_set(err, -EINVAL, "bad value: a tab or the end of a line inside a cell");
	const char *p = cell;
	for (;;) {
		size_t len = strcspn(p, ";");
		char *item = arena_strndup(a, p, len);
		pairs = arena_grow(a, pairs, &room, n + 1, sizeof *pairs);
		if (!item || !pairs)
			return err_set(err, -ENOMEM, "out of memory");
		int rc = parse_item(a, item, pairs, n, &pairs[n], err);
		if (rc)
			return rc;
		n++;
		p += len;
		if (!*p)
			break;
		p++;
	}
	*ret = pairs;
	*ret_n = n;
	return 0;
}

/* The cell again, the swept variable with this value. */
static const char *cell_of(struct arena *a, const struct env_pair *pairs, size_t n, size_t swept,
			   const char *value)
{
	struct buf out = { .max = (size_t)1 << 20 };
	for (size_t i = 0; i < n; i++)
		buf_printf(&out, "%s%s=%s", i ? ";" : "", pairs[i].name,
			   i == swept ? value : pairs[i].value);
	const char *text = out.failed ? NULL : arena_strndup(a, out.data ? out.data : "", out.len);
	buf_done(&out);
	return text;
}

/* The name with every {} replaced by the value. */
static const char *name_of(struct arena *a, const char *name, const char *value)
{
	struct buf out = { .max = 4096 };
	const char *p = name, *braces;
	while ((braces = strstr(p, "{}"))) {
		buf_put(&out, p, (size_t)(braces - p));
		buf_puts(&out, value);
		p = braces + 2;
	}
	buf_puts(&out, p);
	const char *text = out.failed ? NULL : arena_strndup(a, out.data, out.len);
	buf_done(&out);
	return text;
}

/* Which of the pairs sweeps: its index, n for none; -EINVAL for two. */
static int find_sweep(const struct env_pair *pairs, size_t n, const char *case_name, size_t *ret,
		      struct err *err)
{
	size_t swept = n;
	for (size_t i = 0; i < n; i++) {
		if (!strchr(pairs[i].value, '|'))
			continue;
		if (swept < n)
			return err_set(err, -EINVAL, "two sweeps: %s and %s", pairs[swept].name,
				       pairs[i].name);
		swept = i;
	}
	if (swept == n && strstr(case_name, "{}"))
		return err_set(err, -EINVAL, "{} without a sweep: \"%s\"", case_name);
	if (swept < n && !strstr(case_name, "{}"))
		return err_set(err, -EINVAL, "sweep without {}: %s, in case \"%s\"",
			       pairs[swept].name, case_name);
	*ret = swept;
	return 0;
}

int sweep_expand(struct arena *a, const char *case_name, const char *env_cell,
		 struct swept_case **ret, size_t *ret_n, struct err *err)
{
	struct env_pair *pairs;
	size_t n, swept = 0, made = 0, room = 0;
	int rc = case_env_parse(a, env_cell, &pairs, &n, err);
	if (!rc)
		rc = find_sweep(pairs, n, case_name, &swept, err);
	if (rc)
		return rc;
	struct swept_case *cases = NULL;
	const char *p = swept < n ? pairs[swept].value : "";
	for (;;) {
		size_t len = strcspn(p, "|");
		const char *value = arena_strndup(a, p, len);
		const char *as_name = value ? name_of(a, "v{}", value) : NULL;
		cases = arena_grow(a, cases, &room, made + 1, sizeof *cases);
		if (!as_name || !cases)
			return err_set(err, -ENOMEM, "out of memory");
		if (swept < n && (!*value || suite_name_fault(as_name)))
			return err_set(err, -EINVAL,
				       "bad value: \"%s\" of %s is not usable in a case name", value,
				       pairs[swept].name);
		cases[made] = (struct swept_case){
			.name = swept < n ? name_of(a, case_name, value) : case_name,
			.env = swept < n ? cell_of(a, pairs, n, swept, value) : env_cell,
		};
		if (!cases[made].name || !cases[made].env)
			return err_set(err, -ENOMEM, "out of memory");
		made++;
		p += len;
		if (!*p)
			break;
		p++;
	}
	*ret = cases;
	*ret_n = made;
	return 0;
}
