/* The list of keys as a table, and the JSON Schema made of it. */
#include "suite/keys.h"

#include <string.h>

#define KEY(name, where, type, help) { #name, where, type, help },
const struct suite_key suite_keys[] = { SUITE_KEYS(KEY) };
const size_t n_suite_keys = sizeof suite_keys / sizeof *suite_keys;

const struct suite_key *suite_key_find(const char *name, unsigned where)
{
	for (size_t i = 0; i < n_suite_keys; i++)
		if ((suite_keys[i].where & where) && strcmp(suite_keys[i].name, name) == 0)
			return &suite_keys[i];
	return NULL;
}

#define TEXT "{\"type\": [\"string\", \"number\", \"boolean\"]"
#define ENV_NAME "^[A-Z_][A-Z0-9_]*$"

static const char *type_schema(enum suite_type type)
{
	switch (type) {
	case KEY_NAME:
		return "{\"type\": [\"string\", \"number\"]";
	case KEY_TEXT:
		return TEXT;
	case KEY_COMMAND:
		return "{\"anyOf\": [{\"type\": \"string\"}, {\"$ref\": \"#/$defs/texts\"}]";
	case KEY_TEXTS:
		return "{\"$ref\": \"#/$defs/texts\"";
	case KEY_ENV_NAMES:
		return "{\"type\": \"array\", \"uniqueItems\": true, \"items\": {\"type\": "
		       "\"string\", "
		       "\"pattern\": \"" ENV_NAME "\"}";
	case KEY_ENV:
		return "{\"type\": \"object\", \"propertyNames\": {\"pattern\": \"" ENV_NAME "\"}, "
		       "\"additionalProperties\": {\"anyOf\": [{\"$ref\": \"#/$defs/text\"}, "
		       "{\"$ref\": \"#/$defs/texts\"}]}";
	case KEY_SWEEP:
		return "{\"type\": \"object\", \"additionalProperties\": {\"$ref\": "
		       "\"#/$defs/texts\"}";
	case KEY_VARS:
		return "{\"type\": \"object\", \"additionalProperties\": {\"$ref\": "
		       "\"#/$defs/text\"}";
	case KEY_YES:
		return "{\"type\": \"boolean\"";
	case KEY_COUNT:
		return "{\"type\": \"integer\", \"minimum\": 1";
	case KEY_COUNT0:
		return "{\"type\": \"integer\", \"minimum\": 0";
	case KEY_DURATION:
		return "{\"anyOf\": [{\"type\": \"number\", \"exclusiveMinimum\": 0}, "
		       "{\"type\": \"string\", \"pattern\": \"^[0-9]+([.][0-9]+)?[smh]?$\"}]";
	case KEY_REGEX:
		return "{\"type\": \"string\", \"minLength\": 1";
	case KEY_TIME_UNIT:
		return "{\"enum\": [\"s\", \"ms\", \"us\", \"ns\"]";
	case KEY_BETTER:
		return "{\"enum\": [\"higher\", \"lower\"]";
	case KEY_REGION:
		return "{\"type\": \"string\", \"pattern\": "
		       "\"^(markers|timer:[A-Za-z0-9_-][A-Za-z0-9._-]*|range:.+)$\"";
	case KEY_PROFILE:
		return "{\"anyOf\": [{\"const\": true}, {\"type\": \"string\", \"pattern\": "
		       "\"^(yes|no \\\\(.{10,}\\\\))$\"}]";
	case KEY_VERIFY:
		return "{\"enum\": [\"outside\", \"inside\", \"skipped\", \"none\"]";
	case KEY_FOM:
		return "{\"$ref\": \"#/$defs/fom\"";
	case KEY_OWN_TIMER:
		return "{\"$ref\": \"#/$defs/own_timer\"";
	case KEY_APPS:
		return "{\"type\": \"array\", \"minItems\": 1, \"items\": {\"$ref\": "
		       "\"#/$defs/app\"}";
	case KEY_CASES:
		return "{\"type\": \"array\", \"minItems\": 1, \"items\": {\"$ref\": "
		       "\"#/$defs/case\"}";
	}
	return "{";
}

static void properties(struct buf *out, unsigned where, const char *indent)
{
	const char *between = "";
	for (size_t i = 0; i < n_suite_keys; i++) {
		const struct suite_key *k = &suite_keys[i];
		if (!(k->where & where))
			continue;
		buf_printf(out, "%s\n%s\t\"%s\": %s, \"description\": \"%s\"}", between, indent,
			   k->name, type_schema(k->type), k->help);
		between = ",";
	}
}

static void object(struct buf *out, const char *name, unsigned where, const char *required)
{
	buf_printf(out,
		   ",\n\t\t\"%s\": {\n\t\t\t\"type\": \"object\",\n\t\t\t\"required\": [%s],\n"
		   "\t\t\t\"additionalProperties\": false,\n\t\t\t\"properties\": {",
		   name, required);
	properties(out, where, "\t\t\t");
	buf_puts(out, "\n\t\t\t}\n\t\t}");
}

void suite_schema(struct buf *out)
{
	buf_puts(out, "{\n\t\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
		      "\t\"title\": \"Roimeter suite, version 1\",\n"
		      "\t\"type\": \"object\",\n\t\"required\": [\"suite\", \"apps\"],\n"
		      "\t\"additionalProperties\": false,\n\t\"properties\": {");
	properties(out, IN_SUITE, "\t");
	buf_puts(out,
		 "\n\t},\n\t\"$defs\": {\n\t\t\"text\": " TEXT "},\n"
		 "\t\t\"texts\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/text\"}}");
	object(out, "app", IN_APP, "\"name\", \"cases\"");
	object(out, "case", IN_CASE, "\"name\"");
	object(out, "fom", IN_FOM, "\"regex\", \"unit\", \"better\"");
	object(out, "own_timer", IN_OWN_TIMER, "\"regex\", \"unit\"");
	buf_puts(out, "\n\t}\n}\n");
}
