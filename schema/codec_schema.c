/* The JSON Schema of the record, so that others can check theirs before they send them. */
#include "schema/codec.h"

#include <stdio.h>

#include "schema/walk.h"

static json_t *description(const struct field *f)
{
	char text[300];
	bool has_unit = f->unit[0] && strcmp(f->unit, "1") != 0;
	(void)snprintf(text, sizeof text, has_unit ? "%s (%s)" : "%s", f->meaning, f->unit);
	return json_string(text);
}

static json_t *ref(const struct block *block)
{
	char path[100];
	(void)snprintf(path, sizeof path, "#/$defs/%s", block->name);
	return json_string(path);
}

static json_t *type_or_null(const char *type)
{
	return json_pack("{s:[s,s]}", "type", type, "null");
}

static json_t *ref_or_null(const struct block *block)
{
	return json_pack("{s:[{s:o},{s:s}]}", "anyOf", "$ref", ref(block), "type", "null");
}

static json_t *array_or_null(json_t *items)
{
	return json_pack("{s:[s,s],s:o}", "type", "array", "null", "items", items);
}

static json_t *field_schema(const struct field *f)
{
	json_t *json = NULL;
	switch (f->type) {
	case FIELD_NUM:
		json = type_or_null("number");
		break;
	case FIELD_TXT:
		json = type_or_null("string");
		break;
	case FIELD_TER:
		json = type_or_null("boolean");
		break;
	case FIELD_NUMS:
		json = array_or_null(type_or_null("number"));
		break;
	case FIELD_TXTS:
		json = array_or_null(json_pack("{s:s}", "type", "string"));
		break;
	case FIELD_BLOCK:
		json = ref_or_null(f->block);
		break;
	case FIELD_LIST:
		json = array_or_null(json_pack("{s:o}", "$ref", ref(f->block)));
		break;
	}
	if (json && json_object_set_new(json, "description", description(f))) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static json_t *block_schema(const struct block *block)
{
	json_t *properties = json_object();
	for (size_t i = 0; properties && i < block->count; i++) {
		char label[FIELD_LABEL_BYTES];
		const struct field *f = &block->fields[i];
		if (json_object_set_new(properties, field_label(f, label), field_schema(f))) {
			json_decref(properties);
			return NULL;
		}
	}
	return json_pack("{s:s,s:b,s:o}", "type", "object", "additionalProperties", 0, "properties",
			 properties);
}

/* Each block once, in the order in which they are first used. */
static int add_definitions(json_t *defs, const struct block *block)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct block *below = block->fields[i].block;
		if (!below || json_object_get(defs, below->name))
			continue;
		if (json_object_set_new(defs, below->name, block_schema(below)) ||
		    add_definitions(defs, below))
			return -1;
	}
	return 0;
}

static int must_be(json_t *properties, const char *name, const char *keyword, json_t *value)
{
	json_t *p = json_object_get(properties, name);
	if (!p || json_object_set_new(p, "type", json_string("string"))) {
		json_decref(value);
		return -1;
	}
	return json_object_set_new(p, keyword, value);
}

static json_t *words(const char *const *list)
{
	json_t *array = json_array();
	for (; array && *list; list++)
		if (json_array_append_new(array, json_string(*list))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

/* What record_check asks of the identity, as far as a schema can say it. */
static int tighten(json_t *schema)
{
	static const char *const names[] = { "suite", "app", "case", "platform" };
	json_t *p = json_object_get(schema, "properties");
	int rc = must_be(p, "schema", "const", json_string(RECORD_SCHEMA));
	rc |= must_be(p, "run_id", "pattern", json_string("^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$"));
	rc |= must_be(p, "status", "enum", words(record_statuses));
	rc |= must_be(p, "kind", "enum", words(record_kinds));
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		rc |= must_be(p, names[i], "pattern", json_string("^[A-Za-z0-9._+-]{1,128}$"));
	return rc | json_object_set_new(schema, "required",
					json_pack("[s,s,s,s,s,s,s,s]", "schema", "run_id", "suite",
						  "app", "case", "platform", "kind", "status"));
}

json_t *record_json_schema(void)
{
	json_t *top = json_pack(
		"{s:s,s:s,s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
		RECORD_SCHEMA, "description",
		"One measurement of one case on one platform. null is never 0: 0 was "
		"observed, null is not known, and nulls says why.");
	json_t *body = block_schema(&record_block), *defs = json_object();
	if (!top || !body || !defs || json_object_update(top, body) || tighten(top) ||
	    add_definitions(defs, &record_block) || json_object_set(top, "$defs", defs)) {
		json_decref(top);
		top = NULL;
	}
	json_decref(body);
	json_decref(defs);
	return top;
}
