/* PCRE2 behind limits. The text is looked at through a window that moves on: no single call sees
 * more than a few pages, so a line of a million dots costs a bounded time, and between two
 * windows the time is looked at. */
#define _GNU_SOURCE
#include "suite/pattern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define WINDOW_BYTES ((size_t)8 << 10) /* start positions tried in one call */
#define MATCH_LIMIT 250000u            /* backtracks for one start position */
#define DEPTH_LIMIT 10000u
#define HEAP_LIMIT_KIB 65536u
#define MAX_NS UINT64_C(10000000000) /* for one pattern, all its searches together */

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	unsigned groups;
	uint64_t used_ns;      /* wall time inside searches: cheap to look at */
	uint64_t start_cpu_ns; /* the thread's CPU time at the beginning */
};

static int compile(struct pattern *p, const char *text, struct err *err)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	if (!context)
		return err_set(err, -ENOMEM, "out of memory");
	/* Progress bars end their lines with CR, other systems with CR LF. */
	(void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
	int code = 0;
	PCRE2_SIZE at = 0;
	/* Bytes, not UTF-8: logs are not always valid, and \C would only be a second way to say it.
	 */
	p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
				PCRE2_MULTILINE | PCRE2_USE_OFFSET_LIMIT | PCRE2_NEVER_UTF |
					PCRE2_NEVER_BACKSLASH_C,
				&code, &at, context);
	pcre2_compile_context_free(context);
	if (p->code)
		return 0;
	char why[160];
	if (pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why) < 0)
		why[0] = 0;
	return err_set(err, -EINVAL, "pattern '%s', character %zu: %s", text, (size_t)at + 1, why);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };
	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void pattern_restart(struct pattern *p)
{
	p->used_ns = 0;
	p->start_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int pattern_new(struct pattern **ret, const char *text, struct err *err)
{
	if (strlen(text) > PATTERN_MAX_BYTES)
		return err_set(err, -EINVAL, "a pattern of %zu bytes; the limit is %zu",
			       strlen(text), PATTERN_MAX_BYTES);
	struct pattern *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = compile(p, text, err);
	if (rc)
		goto fail;
	uint32_t groups = 0;
	(void)pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	p->groups = groups;
	if (groups > PATTERN_GROUPS) {
		rc = err_set(err, -EINVAL,
			     "pattern '%s' has %u groups; write (?:...) for those that only group",
			     text, groups);
		goto fail;
	}
	p->data = pcre2_match_data_create(PATTERN_GROUPS + 1, NULL);
	p->context = pcre2_match_context_create(NULL);
	if (!p->data || !p->context) {
		rc = err_set(err, -ENOMEM, "out of memory");
		goto fail;
	}
	(void)pcre2_set_match_limit(p->context, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
	/* Where code may not be made at run time (a hardened kernel) the interpreter does it. */
	(void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
	pattern_restart(p);
	*ret = p;
	return 0;

fail:
	pattern_free(p);
	return rc;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_match_context_free(p->context);
	pcre2_match_data_free(p->data);
	pcre2_code_free(p->code);
	free(p);
}

unsigned pattern_groups(const struct pattern *p)
{
	return p->groups;
}

unsigned pattern_group(const struct pattern *p, const char *name)
{
	int number = pcre2_substring_number_from_name(p->code, (PCRE2_SPTR)name);
	return number > 0 ? (unsigned)number : 0;
}

/* Wall time alone would call a pattern costly because the machine is busy; the CPU clock alone
 * is a system call for each match. */
static bool over_budget(const struct pattern *p)
{
	return p->used_ns > MAX_NS && clock_ns(CLOCK_THREAD_CPUTIME_ID) - p->start_cpu_ns > MAX_NS;
}

/* A match that begins in [from, last], in the text up to seen. 1, 0, -E2BIG. */
static int match(struct pattern *p, const char *text, size_t seen, size_t from, size_t last,
		 struct pattern_hit *ret)
{
	(void)pcre2_set_offset_limit(p->context, last);
	int rc = pcre2_match(p->code, (PCRE2_SPTR)text, seen, from, 0, p->data, p->context);
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(p->code, (PCRE2_SPTR)text, seen, from, PCRE2_NO_JIT, p->data,
				 p->context);
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc < 0)
		return -E2BIG; /* MATCHLIMIT, DEPTHLIMIT, HEAPLIMIT, NOMEMORY */
	const PCRE2_SIZE *v = pcre2_get_ovector_pointer(p->data);
	for (int i = 0; i <= PATTERN_GROUPS; i++) {
		bool set = i < rc && v[2 * i] != PCRE2_UNSET;
		ret->begin[i] = set ? v[2 * i] : PATTERN_UNSET;
		ret->end[i] = set ? v[2 * i + 1] : PATTERN_UNSET;
	}
	/* \K can move the beginning of a match behind its end. */
	if (ret->begin[0] > ret->end[0])
		ret->begin[0] = ret->end[0];
	return 1;
}

/* How far a call may see: past the last start position, to the end of a line where there is one. */
static size_t horizon(const char *text, size_t n, size_t last, size_t reach)
{
	if (n - last <= reach)
		return n;
	const char *line_end = memrchr(text + last, '\n', reach);
	return line_end ? (size_t)(line_end - text) + 1 : last + reach;
}

int pattern_search(struct pattern *p, const char *text, size_t n, size_t from,
		   struct pattern_hit *ret)
{
	if (!text)
		text = "";
	while (from <= n) {
		size_t last = n - from > WINDOW_BYTES ? from + WINDOW_BYTES : n;
		size_t reach = PATTERN_REACH_BYTES;
		if (over_budget(p))
			return -E2BIG;
		uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
		size_t seen = horizon(text, n, last, reach);
		int rc = match(p, text, seen, from, last, ret);
		/* What ends where the view ends might go on behind it: half a number is no number.
		 */
		while (rc == 1 && ret->end[0] == seen && seen < n) {
			reach *= 2;
			seen = horizon(text, n, last, reach);
			rc = match(p, text, seen, from, last, ret);
		}
		p->used_ns += clock_ns(CLOCK_MONOTONIC) - start_ns;
		if (rc)
			return rc;
		if (last == n)
			return 0;
		from = last + 1;
	}
	return 0;
}

size_t pattern_after(const struct pattern_hit *hit)
{
	return hit->end[0] > hit->begin[0] ? hit->end[0] : hit->end[0] + 1;
}

int pattern_check(const char *text, struct err *err)
{
	struct pattern *p = NULL;
	int rc = pattern_new(&p, text, err);
	if (rc)
		return rc;
	if (p->groups != 1)
		rc = err_set(err, -EINVAL,
			     "pattern '%s' has %u groups; it needs exactly one, around the number",
			     text, p->groups);
	pattern_free(p);
	return rc;
}
