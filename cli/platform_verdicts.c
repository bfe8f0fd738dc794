#define _GNU_SOURCE
#include "cli/platform_verdicts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/db.h"
#include "report/badge.h"

static int add(void *arg, const struct conformance *c)
{
	return json_array_append_new(arg, report_badge(c)) ? -ENOMEM : 0;
}

static int read_all(json_t *list, const char *platform, const char *db, struct err *err)
{
	struct store *s = NULL;
	int rc = cli_open_store(&s, db, STORE_READ, err);
	if (!rc)
		rc = store_each_conformance(s, platform, NULL, false, add, list, err);
	store_close(s);
	return rc;
}

int platform_verdicts(json_t **ret_list, const char *platform, const char *db, bool named,
		      struct err *err)
{
	struct err why = { 0 };
	json_t *list = json_array();
	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = read_all(list, platform, db, named ? err : &why);
	if (!rc) {
		*ret_list = list;
		return 0;
	}
	json_decref(list);
	if (named || rc == -ENOMEM)
		return named ? rc : err_set(err, rc, "out of memory");
	/* The name of the machine does not depend on a database that happens to be there. */
	if (rc != -ENOENT)
		(void)fprintf(stderr, "warn  conformance results are not told: %s\n", why.text);
	*ret_list = NULL;
	return 0;
}

static void print_fails(const json_t *fails)
{
	for (size_t i = 0; i < json_array_size(fails); i++)
		(void)printf("%s%s", i ? ", " : ": ", json_string_value(json_array_get(fails, i)));
}

static void print_one(const json_t *one)
{
	const char *collector = json_string_value(json_object_get(one, "collector"));
	(void)printf("conformance: %s %s, %s, %lld passed, %lld failed, %lld skipped",
		     strcmp(collector, "none") == 0 ? "marks" : collector,
		     json_string_value(json_object_get(one, "verdict")),
		     json_string_value(json_object_get(one, "utc")),
		     (long long)json_integer_value(json_object_get(one, "passed")),
		     (long long)json_integer_value(json_object_get(one, "failed")),
		     (long long)json_integer_value(json_object_get(one, "skipped")));
	print_fails(json_object_get(one, "fails"));
	(void)printf("\n");
}

void platform_verdicts_print(const json_t *list_or_null)
{
	if (!list_or_null)
		return;
	if (json_array_size(list_or_null) == 0)
		(void)printf("conformance: not tested, \"roimeter conformance\" does it\n");
	for (size_t i = 0; i < json_array_size(list_or_null); i++)
		print_one(json_array_get(list_or_null, i));
}
