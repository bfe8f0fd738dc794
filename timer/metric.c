/* One number in an application's output: the last match, and honest words where there is none. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "suite/pattern.h"
#include "timer/number.h"
#include "timer/text.h"
#include "timer/timer.h"
#include "timer/unit.h"

/* Instead of the number: a full Fortran field, or what arithmetic made of it. */
#define NO_NUMBER "(\\*{2,}|(?<![A-Za-z0-9_])[-+]?(?i:nan|inf|infinity)(?![A-Za-z0-9_]))"

/* The last match at or after from. 1, 0, -E2BIG. */
static int last_match(struct pattern *p, const char *text, size_t n, size_t from,
		      struct pattern_hit *ret)
{
	struct pattern_hit hit;
	int found = 0, rc;
	while ((rc = pattern_search(p, text, n, from, &hit)) == 1) {
		*ret = hit;
		found = 1;
		from = pattern_after(&hit);
	}
	return rc < 0 ? rc : found;
}

/* What the prefix in the output makes of the declared unit. */
static double folded(double value, const char *text, const struct pattern_hit *hit, unsigned prefix,
		     unsigned more, int declared, bool binary)
{
	if (more && hit->begin[more] != PATTERN_UNSET)
		return number_scale(value, unit_prefix_exponent(text + hit->begin[more], 1));
	if (!prefix || hit->begin[prefix] == PATTERN_UNSET)
		return value;
	size_t n = hit->end[prefix] - hit->begin[prefix];
	int found = unit_prefix_exponent(text + hit->begin[prefix], binary && n ? n - 1 : n);
	if (binary)
		return num15(value * pow(1024, (found - declared) / 3));
	return number_scale(value, found - declared);
}

struct finder {
	struct arena arena;
	struct pattern *pattern; /* with other prefixes of the unit, where that makes sense */
	const char *text;        /* its own */
	int declared, binary;
};

static int finder_init(struct finder *f, const char *pattern, const char *unit, struct err *err)
{
	int rc = pattern_check(pattern, err);
	if (rc)
		return rc;
	rc = unit_folding(&f->arena, pattern, unit, &f->text, &f->declared, &f->binary);
	if (!rc && f->text)
		rc = pattern_new(&f->pattern, f->text, NULL);
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	if (!rc && f->text)
		return 0;
	f->text = pattern; /* a pattern that does not bear folding is taken as it is */
	return pattern_new(&f->pattern, pattern, err);
}

static void finder_done(struct finder *f)
{
	pattern_free(f->pattern);
	arena_free(&f->arena);
}

/* Behind the last number: is there the same line with stars or nan where the number would be?
 * -ENOMEM. */
static int no_number_after(struct finder *f, const char *text, size_t n, size_t from,
			   enum metric_status *ret)
{
	*ret = METRIC_NOT_MATCHED;
	const char *begin = NULL, *end = unit_group_end(f->text, &begin);
	if (!end)
		return 0;
	const char *other = arena_printf(&f->arena, "%.*s%s%s", (int)(begin - f->text), f->text,
					 NO_NUMBER, end);
	struct pattern *p = NULL;
	int rc = other ? pattern_new(&p, other, NULL) : -ENOMEM;
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	struct pattern_hit hit;
	rc = last_match(p, text, n, from, &hit);
	pattern_free(p);
	if (rc < 0)
		*ret = METRIC_TOO_COSTLY;
	else if (rc && hit.begin[1] != PATTERN_UNSET)
		*ret = text[hit.begin[1]] == '*' ? METRIC_OVERFLOWED : METRIC_NOT_A_NUMBER;
	return 0;
}

static int find(struct finder *f, const char *text, size_t n, struct metric *ret)
{
	struct pattern_hit hit;
	int rc = last_match(f->pattern, text, n, 0, &hit);
	if (rc < 0) {
		ret->status = METRIC_TOO_COSTLY;
		return 0;
	}
	bool found = rc;
	rc = no_number_after(f, text, n, found ? hit.end[0] : 0, &ret->status);
	if (rc || !found || ret->status != METRIC_NOT_MATCHED || hit.begin[1] == PATTERN_UNSET)
		return rc;
	double value;
	ret->status = number_parse(text + hit.begin[1], hit.end[1] - hit.begin[1], &value);
	if (ret->status == METRIC_OK)
		ret->value = folded(value, text, &hit, pattern_group(f->pattern, "prefix"),
				    pattern_group(f->pattern, "more"), f->declared, f->binary);
	return 0;
}

int metric_find(const char *pattern, const char *unit, const char *text, size_t n,
		struct metric *ret, struct err *err)
{
	*ret = (struct metric){ .status = METRIC_NONE, .value = NAN };
	if (!pattern)
		return 0;
	struct finder f = { 0 };
	int rc = finder_init(&f, pattern, unit, err);
	if (!rc && !text)
		ret->status = METRIC_LOG_MISSING;
	else if (!rc)
		rc = find(&f, text, n, ret);
	finder_done(&f);
	return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
}

int metric_find_seconds(const char *pattern, const char *unit, const char *text, size_t n,
			struct metric *ret, struct err *err)
{
	int rc = metric_find(pattern, unit, text, n, ret, err);
	int exponent = number_unit_exponent(unit);
	if (!rc && pattern && exponent > 0) {
		*ret = (struct metric){ .status = METRIC_NONE, .value = NAN };
		return err_set(err, -EINVAL, "unit \"%s\" of a timer; write s, ms, us or ns",
			       unit ? unit : "");
	}
	if (!rc && ret->status == METRIC_OK)
		ret->value = number_scale(ret->value, exponent);
	return rc;
}

/* ---- the launcher's report --------------------------------------------------------------------
 */

static bool in_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

/* "0 mismatch, 0 unverified" as whole words: 10 mismatches are not 0. */
static bool audit_clean(const char *line)
{
	static const char good[] = "0 mismatch, 0 unverified";
	for (const char *p = line; (p = strstr(p, good)); p++) {
		bool before = p > line && in_word(p[-1]);
		if (!before && !in_word(p[sizeof good - 1]))
			return true;
	}
	return false;
}

void launcher_audit(struct arena *a, const char *text, size_t n, const char **ret_line,
		    signed char *ret_ok)
{
	static const char mark[] = "audit summary:";
	*ret_line = NULL;
	*ret_ok = UNKNOWN;
	const char *at = text && n ? memmem(text, n, mark, sizeof mark - 1) : NULL;
	if (!at)
		return;
	size_t left = n - (size_t)(at - text), len = 0;
	while (len < left && at[len] != '\n' && at[len] != '\r' && len < 1000)
		len++;
	*ret_line = text_clean(a, at, len);
	if (*ret_line)
		*ret_ok = audit_clean(*ret_line) ? YES : NO;
}
