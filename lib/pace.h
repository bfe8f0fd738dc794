/* When to try next. After a failure the pause doubles, up to max_ns; a success forgets it. Knows no
 * clock: the caller says what time it is. */
#ifndef LIB_PACE_H
#define LIB_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint64_t period_ns, max_ns; /* the pause after a success, and the longest of all */
	uint64_t pause_ns;          /* the one before, without its jitter; 0: nothing has failed */
	uint64_t first_ns;          /* after the first failure; 0: period_ns, or 1 s if that is 0 */
	uint64_t random;            /* not 0: pauses after failures are spread by -25 to +25 % */
};

/* When to try again, on the caller's clock. */
uint64_t pace_next(struct pace *p, uint64_t now_ns, bool ok);

#endif
