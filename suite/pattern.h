/* A regular expression (PCRE2, multi-line: ^ and $ match at every line) for text that is not
 * ours: limits on backtracking, memory and time, any bytes, texts of hundreds of megabytes
 * without a copy. One match may reach PATTERN_REACH_BYTES at least; where a longer one would be
 * needed it may not be found. */
#ifndef SUITE_PATTERN_H
#define SUITE_PATTERN_H

#include <stddef.h>

#include "lib/err.h"

#define PATTERN_MAX_BYTES ((size_t)4096)
#define PATTERN_REACH_BYTES ((size_t)32 << 10)
#define PATTERN_GROUPS 3 /* the most that a pattern here may have */

struct pattern;

/* -EINVAL with the place inside the pattern; also for more than PATTERN_GROUPS groups. */
int pattern_new(struct pattern **ret, const char *text, struct err *err);
void pattern_free(struct pattern *p);

unsigned pattern_groups(const struct pattern *p);
/* The number of a named group, or 0. */
unsigned pattern_group(const struct pattern *p, const char *name);

/* Forget the time that was used so far: another text. */
void pattern_restart(struct pattern *p);

#define PATTERN_UNSET ((size_t)-1)

struct pattern_hit {
	/* [0] is the whole match, then the groups; PATTERN_UNSET where one took no part. */
	size_t begin[PATTERN_GROUPS + 1], end[PATTERN_GROUPS + 1];
};

/* The first match that begins at or after from. 1, 0 for none, or -E2BIG when a limit was
 * reached (the time counts over all searches with this pattern). */
int pattern_search(struct pattern *p, const char *text, size_t n, size_t from,
		   struct pattern_hit *ret);

/* Where to go on after a hit. */
size_t pattern_after(const struct pattern_hit *hit);

/* Compiles, and has exactly one group? -EINVAL with a sentence. */
int pattern_check(const char *text, struct err *err);

#endif
