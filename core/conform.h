/* Is a collector to be believed? A probe does an exactly known amount of work; here its record is
 * held against that amount. Pure: nothing is started, read or written. */
#ifndef CORE_CONFORM_H
#define CORE_CONFORM_H

#include <stdbool.h>

#include "schema/conformance.h"
#include "schema/record.h"

enum { CONFORM_CATEGORIES = 5, CONFORM_CHECKS = 6 + 2 * CONFORM_CATEGORIES };

/* What the probe says that it did, in the order compute, copy_d2d, copy_h2d, copy_d2h, fill. */
extern const char *const conform_categories[CONFORM_CATEGORIES];

struct conform_want {
	double inside[CONFORM_CATEGORIES], whole[CONFORM_CATEGORIES];
	double entries;
};

struct conform_seen {
	const struct record_body *record;
	const char *collector;   /* of its profiled execution; "none": there is none */
	bool searched;           /* for the sentinel, in all that was written */
	const char *sentinel_in; /* where it was found; NULL: nowhere */
};

/* Makes the checks; their texts are constants, or borrowed from seen. A number that is null where
 * one must be fails. Without a collector what only one can see is skipped. */
void conform_check(struct check ret[CONFORM_CHECKS], const struct conform_seen *seen,
		   const struct conform_want *want);

/* Sets the checks' counts, verdict and why. */
void conform_judge(struct conformance *c, const char *collector, struct check *checks, size_t n);

#endif
