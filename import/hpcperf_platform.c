/* Files about platforms: a conformance record, and the counts beside the published tables. */
#include <errno.h>
#include <string.h>

#include "import/hpcperf_impl.h"

const char *json_as_of(const json_t *json)
{
	return json_string_value(json_object_get(json, "as_of"));
}

bool is_conformance(const json_t *json)
{
	return json_is_string(json_object_get(json, "platform")) &&
	       json_is_object(json_object_get(json, "conformance"));
}

static int take_platform(struct ctx *c, const char *id, const json_t *json)
{
	struct platform_props *p = platform_of(c, id);
	if (!p)
		return -ENOMEM;
	struct arena *a = &c->out->arena;
	const json_t *device = json_object_get(json, "device");
	const char *conformance = json_string_value(
		json_object_get(json_object_get(json, "conformance"), "status"));
	const json_t *mib = json_object_get(device, "memory_total_mib");
	const json_t *count = json_object_get(device, "count_visible");
	const char *driver = json_string_value(json_object_get(device, "driver_version"));
	if (conformance && !(p->conformance = arena_strdup(a, conformance)))
		return import_nomem(c);
	if (driver && !(p->driver = arena_strdup(a, driver)))
		return import_nomem(c);
	if (json_is_number(mib))
		p->memory_bytes = num15(json_number_value(mib) * 1048576);
	if (json_is_number(count))
		p->devices = num15(json_number_value(count));
	return 0;
}

static int read_counts(struct ctx *c, const struct import_file *file)
{
	const json_t *list = json_object_get(file->json, "platforms");
	if (!import_utc(&c->out->arena, json_as_of(file->json)))
		return err_set(c->err, -EINVAL, "%s: as_of: expected UTC, as 2026-09-26T19:11:40Z", file->path);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *id = json_string_value(json_object_get(item, "id"));
		if (!id)
			return err_set(c->err, -EINVAL, "%s: platforms[%zu].id is missing", file->path, i);
		char *copy = arena_strdup(&c->out->arena, id);
		int rc = copy ? take_platform(c, copy, item) : import_nomem(c);
		if (rc)
			return rc;
	}
	return 0;
}

int read_platforms(struct ctx *c, const struct import_file *file)
{
	if (!is_conformance(file->json))
		return read_counts(c, file);
	char *id = arena_strdup(&c->out->arena,
				json_string_value(json_object_get(file->json, "platform")));
	return id ? take_platform(c, id, file->json) : import_nomem(c);
}
