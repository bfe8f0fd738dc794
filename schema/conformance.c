/* Conformance results: their tables, and what the tables cannot say. */
#include "schema/conformance.h"

#include <errno.h>
#include <string.h>

#include "lib/num.h"
#include "schema/codec.h"
#include "schema/table.h"

#define SELF check
TABLE(check, CHECK_FIELDS)
#undef SELF
#define SELF conformance
TABLE(conformance, CONFORMANCE_FIELDS)
#undef SELF

CONFORMANCE_BLOCKS(DEFINE_BLOCK)

const char *const conformance_verdicts[] = { "pass", "fail", "pass-clean-only", NULL };
const char *const check_verdicts[] = { "pass", "fail", "skipped", NULL };

void conformance_clear(struct conformance *c)
{
	block_clear(&conformance_block, c);
	c->schema = CONFORMANCE_SCHEMA;
}

static bool is_one_of(const char *text, const char *const *words)
{
	for (; text && *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static int two(const char *digits)
{
	return 10 * (digits[0] - '0') + digits[1] - '0';
}

/* "2026-11-30T04:22:38Z": what sorts by time must have one form. */
static bool is_utc(const char *text)
{
	static const char form[] = "0000-00-00T00:00:00Z";
	if (!text || strlen(text) != sizeof form - 1)
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	int month = two(text + 5), day = two(text + 8);
	return month >= 1 && month <= 12 && day >= 1 && day <= 31 && two(text + 11) < 24 &&
	       two(text + 14) < 60 && two(text + 17) <= 60;
}

/* fail is a verdict as soon as one check failed; the others need that none did. */
static int check_counts(const struct conformance *c, struct err *err)
{
	double passed = 0, failed = 0, skipped = 0;
	for (size_t i = 0; i < c->checks.n; i++) {
		const struct check *k = &c->checks.items[i];
		if (record_check_name("name", k->name, NULL) ||
		    !is_one_of(k->verdict, check_verdicts))
			return err_set(err, -EINVAL,
				       "checks[%zu]: needs a name and the verdict pass, fail or "
				       "skipped",
				       i);
		passed += strcmp(k->verdict, "pass") == 0;
		failed += strcmp(k->verdict, "fail") == 0;
		skipped += strcmp(k->verdict, "skipped") == 0;
	}
	if (c->passed != passed || c->failed != failed || c->skipped != skipped)
		return err_set(err, -EINVAL,
			       "passed, failed, skipped: the list has %.0f, %.0f, %.0f", passed,
			       failed, skipped);
	bool fails = strcmp(c->verdict, "fail") == 0;
	if (fails != (failed > 0) || passed + failed == 0)
		return err_set(err, -EINVAL, "verdict %s: %.0f of %zu checks failed", c->verdict,
			       failed, c->checks.n);
	return 0;
}

int conformance_check(const struct conformance *c, struct err *err)
{
	if (!c->schema || strcmp(c->schema, CONFORMANCE_SCHEMA) != 0)
		return err_set(err, -EINVAL, "schema: expected \"%s\"", CONFORMANCE_SCHEMA);
	int rc = record_check_name("platform", c->platform, err);
	if (!rc)
		rc = record_check_name("collector", c->collector, err);
	if (rc)
		return rc;
	if (!is_utc(c->utc))
		return err_set(err, -EINVAL, "utc: expected a time like 2026-11-30T04:22:38Z");
	if (!is_one_of(c->verdict, conformance_verdicts))
		return err_set(err, -EINVAL, "verdict: pass, fail or pass-clean-only");
	return check_counts(c, err);
}

void conformance_put(struct buf *b, const struct conformance *c)
{
	block_put(b, &conformance_block, c);
}

int conformance_get(struct conformance *ret, struct arena *a, const void *bytes, size_t n,
		    struct err *err)
{
	conformance_clear(ret);
	if (n > CONFORMANCE_MAX_BYTES)
		return err_set(err, -EBADMSG, "a conformance result of %zu bytes: at most %u", n,
			       CONFORMANCE_MAX_BYTES);
	int rc = block_get(a, &conformance_block, ret, bytes, n, err);
	return rc ? rc : conformance_check(ret, err);
}

json_t *conformance_to_json(const struct conformance *c)
{
	return block_to_json(&conformance_block, c);
}

int conformance_from_json(struct conformance *ret, struct arena *a, const json_t *json,
			  struct err *err)
{
	conformance_clear(ret);
	const json_t *schema = json_object_get(json, "schema");
	if (!json_is_string(schema) || strcmp(json_string_value(schema), CONFORMANCE_SCHEMA) != 0)
		return err_set(err, -EINVAL, "schema: expected \"%s\"", CONFORMANCE_SCHEMA);
	int rc = block_from_json(&conformance_block, ret, a, json, CONFORMANCE_SCHEMA, err);
	return rc ? rc : conformance_check(ret, err);
}
