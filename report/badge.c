#include "report/badge.h"

#include <string.h>

static json_t *fails(const struct conformance *c)
{
	json_t *list = json_array();
	for (size_t i = 0; i < c->checks.n && json_array_size(list) < BADGE_FAILS_MAX; i++)
		if (strcmp(c->checks.items[i].verdict, "fail") == 0 &&
		    json_array_append_new(list, json_string(c->checks.items[i].name))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

json_t *report_badge(const struct conformance *c)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "collector", c->collector,
			      "verdict", c->verdict, "utc", c->utc, "passed",
			      (json_int_t)c->passed, "failed", (json_int_t)c->failed, "skipped",
			      (json_int_t)c->skipped);
	bool bad = !o || (c->why && json_object_set_new(o, "why", json_string(c->why)));
	if (!bad && c->failed > 0)
		bad = json_object_set_new(o, "fails", fails(c)) != 0;
	if (!bad)
		return o;
	json_decref(o);
	return NULL;
}
