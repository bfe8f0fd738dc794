/* OpenAPI 3.1, made of the table of routes. */
#include <errno.h>
#include <string.h>

#include "daemon/route.h"
#include "lib/version.h"
#include "schema/batch.h"
#include "schema/codec.h"

static const struct {
	enum media media;
	const char *name;
} names[] = {
	{ MEDIA_JSON, "application/json" },    { MEDIA_CSV, "text/csv" },
	{ MEDIA_TEXT, "text/plain" },          { MEDIA_HTML, "text/html" },
	{ MEDIA_SCRIPT, "text/javascript" },   { MEDIA_STYLE, "text/css" },
	{ MEDIA_EVENTS, "text/event-stream" },
};

static json_t *schema_of(enum route_param_type type)
{
	json_t *words;
	switch (type) {
	case PARAM_STATUS:
		words = json_array();
		for (size_t i = 0; record_statuses[i]; i++)
			(void)json_array_append_new(words, json_string(record_statuses[i]));
		return json_pack("{s:s, s:o}", "type", "string", "enum", words);
	case PARAM_COUNT:
		return json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 1, "maximum",
				 1000);
	case PARAM_RUN:
		return json_pack("{s:s, s:s}", "type", "string", "pattern",
				 "^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$");
	case PARAM_UTC:
		return json_pack("{s:s, s:s}", "type", "string", "pattern",
				 "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$");
	case PARAM_NAME:
		break;
	}
	return json_pack("{s:s}", "type", "string");
}

static json_t *params_of(const struct route *r)
{
	json_t *list = json_array();
	if (strchr(r->pattern, '{'))
		(void)json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o}", "name", "id",
							    "in", "path", "required", 1, "schema",
							    schema_of(PARAM_NAME)));
	for (size_t i = 0; i < r->n_params; i++)
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:o}", "name", r->params[i].name, "in",
					"query", "description", r->params[i].about, "schema",
					schema_of(r->params[i].type)));
	return list;
}

static json_t *responses_of(const struct route *r)
{
	json_t *content = json_object();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (r->media & names[i].media)
			(void)json_object_set_new(content, names[i].name, json_object());
	json_t *problem = json_pack("{s:s, s:{s:{}}}", "description", "RFC 9457", "content",
				    "application/problem+json");
	json_t *good = r->place == ON_WRITER ? json_pack("{s:s}", "description", "done")
					     : json_pack("{s:s, s:O}", "description", r->summary,
							 "content", content);
	json_decref(content);
	return json_pack("{s:o, s:o}", r->place == ON_WRITER ? "204" : "200", good, "default",
			 problem);
}

static json_t *operation(const struct route *r)
{
	json_t *o = json_pack("{s:s, s:o, s:o}", "summary", r->summary, "parameters", params_of(r),
			      "responses", responses_of(r));
	if (r->place == AS_POST)
		(void)json_object_set_new(
			o, "requestBody",
			json_pack("{s:b, s:{s:{}}}", "required", 1, "content", BATCH_TYPE));
	if (r->place == ON_WRITER || r->place == AS_POST)
		(void)json_object_set_new(o, "security", json_pack("[{s:[]}]", "token"));
	else if (!r->open)
		(void)json_object_set_new(o, "security", json_pack("[{}, {s:[]}]", "token"));
	return o;
}

static void lower(char *to, size_t n, const char *from)
{
	size_t i = 0;
	for (; from[i] && i + 1 < n; i++)
		to[i] = (char)(from[i] | 0x20);
	to[i] = 0;
}

int handle_openapi(const struct call *c, struct answer *a, struct err *err)
{
	(void)c;
	json_t *paths = json_object();
	for (size_t i = 0; i < n_routes; i++) {
		char method[16];
		lower(method, sizeof method, routes[i].method);
		json_t *path = json_object_get(paths, routes[i].pattern);
		if (!path) {
			path = json_object();
			(void)json_object_set_new(paths, routes[i].pattern, path);
		}
		(void)json_object_set_new(path, method, operation(&routes[i]));
	}
	json_t *o = json_pack("{s:s, s:{s:s, s:s}, s:o, s:{s:{s:{s:s, s:s}}}}", "openapi", "3.1.0",
			      "info", "title", "Roimeter", "version", ROIMETER_VERSION_TEXT,
			      "paths", paths, "components", "securitySchemes", "token", "type",
			      "http", "scheme", "bearer");
	return answer_json_take(a, o, err);
}
