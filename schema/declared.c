/* Declared inputs: their tables, and what the tables cannot say. */
#include "schema/declared.h"

#include <errno.h>
#include <string.h>

#include "schema/codec.h"
#include "schema/table.h"

#define SELF declared_input
TABLE(declared_input, DECLARED_INPUT_FIELDS)
#undef SELF
#define SELF declared
TABLE(declared, DECLARED_FIELDS)
#undef SELF

DECLARED_BLOCKS(DEFINE_BLOCK)

json_t *declared_to_json(const struct declared *in)
{
	return block_to_json(&declared_block, in);
}

static int check(const struct declared *in, struct err *err)
{
	int rc = record_check_name("suite", in->suite, err);
	for (size_t i = 0; i < in->inputs.n && !rc; i++) {
		rc = record_check_name("app", in->inputs.items[i].app, err);
		if (!rc)
			rc = record_check_name("case", in->inputs.items[i].case_, err);
		if (rc)
			return err_wrap(err, rc, "inputs[%zu]", i);
	}
	return rc;
}

int declared_from_json(struct declared *ret, struct arena *a, const json_t *json, struct err *err)
{
	block_clear(&declared_block, ret);
	const json_t *schema = json_object_get(json, "schema");
	if (!json_is_string(schema) || strcmp(json_string_value(schema), DECLARED_SCHEMA) != 0)
		return err_set(err, -EINVAL, "schema: expected \"%s\"", DECLARED_SCHEMA);
	int rc = block_from_json(&declared_block, ret, a, json, DECLARED_SCHEMA, err);
	return rc ? rc : check(ret, err);
}
