/* What was found in an application's own output. Filled by timer/, used by core/. */
#ifndef CORE_METRIC_H
#define CORE_METRIC_H

#include <stddef.h>

/* How the search for one number ended. Not matched is never guessed. */
enum metric_status {
	METRIC_NONE, /* nothing was asked for */
	METRIC_OK,
	METRIC_NOT_MATCHED,  /* the pattern is nowhere in the output */
	METRIC_NOT_A_NUMBER, /* it matched nan, inf, or text */
	METRIC_OVERFLOWED,   /* it matched a field full of stars (Fortran) */
	METRIC_LOG_MISSING,  /* there is no output to look in */
	METRIC_TOO_COSTLY,   /* the match limit was reached */
};

const char *metric_status_name(enum metric_status s); /* "ok", "not_matched", ... */

struct metric {
	enum metric_status status;
	double value; /* NAN unless METRIC_OK */
};

struct timer_part {
	const char *name;
	double seconds;
};

/* The region as the application's own timer has it. */
struct timer_result {
	int rc;          /* 0, or -ENOENT: missing or incomplete; then why says what and where */
	const char *why; /* NULL when rc is 0 */
	double wall_s;   /* NAN when rc is not 0, and so on for the rest where not told */
	double steps, excluded_s, setup_s;
	struct timer_part *parts;
	size_t n_parts;
};

#endif
