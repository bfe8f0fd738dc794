#include "core/verdict.h"

#include <errno.h>
#include <string.h>

#include "lib/num.h"

#define CODE "conformance_missing"
#define STAGE "profiled."
#define FILES "io"

static const struct verdict *find(const struct verdict *known, size_t n, const char *collector)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(known[i].collector, collector) == 0)
			return &known[i];
	return NULL;
}

static bool tests_marks(const struct verdict *v)
{
	return strcmp(v->verdict, "pass") == 0 || strcmp(v->verdict, "pass-clean-only") == 0;
}

static int set(struct record *rec, const struct verdict *v)
{
	const char **to = &rec->body.platform_info.conformance;
	*to = v ? record_text(rec, v->verdict, strlen(v->verdict)) : NULL;
	return v && !*to ? -ENOMEM : 0;
}

static int failed(struct record *rec, const struct verdict *v)
{
	return record_caveat(rec, CODE, "The conformance test of %s on %s at %s: %s%s%s.",
			     strcmp(v->collector, VERDICT_MARKS) == 0 ? "the marks" : v->collector,
			     rec->body.platform, v->utc, v->verdict, v->why ? ", " : "",
			     v->why ? v->why : "");
}

/* ---- marks alone ----------------------------------------------------------------------------- */

static int put_marks(struct record *rec, const struct verdict *known, size_t n)
{
	const struct verdict *v = find(known, n, VERDICT_MARKS);
	for (size_t i = 0; i < n && !(v && tests_marks(v)); i++)
		if (tests_marks(&known[i]))
			v = &known[i];
	int rc = set(rec, v);
	if (rc || (v && tests_marks(v)))
		return rc;
	if (v)
		return failed(rec, v);
	return record_caveat(rec, CODE,
			     "When this was put together no conformance test of %s was known: "
			     "\"roimeter conformance\" tests the marks.",
			     rec->body.platform);
}

/* ---- collectors ------------------------------------------------------------------------------ */

/* "cupti" of "profiled.cupti"; NULL: not under a collector. */
static const char *collector_of(const char *execution)
{
	const size_t skip = sizeof STAGE - 1;
	return execution && strncmp(execution, STAGE, skip) == 0 && execution[skip]
		       ? execution + skip
		       : NULL;
}

/* Of the ith execution. A device's that auto chose and that saw no device: nothing is of it. */
static const char *collector_at(const struct record_body *b, size_t i)
{
	const char *one = collector_of(b->executions.items[i].name);
	bool told = b->measurement.profile_auto != YES || b->device.execution;
	return one && (told || strcmp(one, FILES) == 0) ? one : NULL;
}

static const char *main_collector(const struct record_body *b)
{
	const char *ret = collector_of(b->device.execution);
	for (size_t i = 0; i < b->executions.n && !ret; i++)
		ret = collector_at(b, i);
	return ret || !b->io.execution ? ret : FILES;
}

static bool was_before(const struct record_body *b, size_t at, const char *collector)
{
	for (size_t i = 0; i < at; i++) {
		const char *one = collector_at(b, i);
		if (one && strcmp(one, collector) == 0)
			return true;
	}
	return false;
}

static int put_collector(struct record *rec, const char *collector, const struct verdict *v)
{
	if (v && strcmp(v->verdict, "pass") == 0)
		return 0;
	if (v)
		return failed(rec, v);
	return record_caveat(
		rec, CODE,
		"When this was put together no conformance test of %s on %s was known: "
		"\"roimeter conformance --collector %s\" makes one.",
		collector, rec->body.platform, collector);
}

int record_put_verdicts(struct record *rec, const struct verdict *known, size_t n)
{
	const struct record_body *b = &rec->body;
	const char *chosen = main_collector(b);
	if (!chosen)
		return put_marks(rec, known, n);
	int rc = set(rec, find(known, n, chosen));
	for (size_t i = 0; i < b->executions.n && !rc; i++) {
		const char *one = collector_at(b, i);
		if (one && !was_before(b, i, one))
			rc = put_collector(rec, one, find(known, n, one));
	}
	/* One that counts files beside a device's has no execution of its own. */
	if (!rc && b->io.execution && !was_before(b, b->executions.n, FILES))
		rc = put_collector(rec, FILES, find(known, n, FILES));
	return rc;
}
