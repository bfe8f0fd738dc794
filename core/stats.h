/* Statistics of a few samples. Exact, deterministic, null (NAN, UNKNOWN) where n is too small.
 * All orders of the input are kept; nothing is sorted in place. */
#ifndef CORE_STATS_H
#define CORE_STATS_H

#include <stddef.h>

struct stats {
	size_t n;
	double median, min, max; /* NAN for n = 0 */
	double stddev, cv;       /* sample (n - 1); cv = stddev / median; NAN for n < 2 */
	double ci_low, ci_high,
		ci_coverage; /* order-statistic interval of the median; NAN for n < 2 */
	double spread;       /* (max - min) / median; NAN for n < 2 */
	double iqr;          /* interquartile range / median, inclusive quartiles; NAN for n < 4 */
	signed char stable;  /* enum ternary; UNKNOWN for n < 2 */
	const char *rule;    /* "range" below 10 samples, "iqr" from there; NULL for n < 2 */
	signed char two_levels; /* UNKNOWN for n < 2; never YES below 4 */
	signed char drift;      /* in the given order; UNKNOWN for n < 5 */
};

/* samples are finite. -ENOMEM. */
int stats_of(const double *samples, size_t n, struct stats *ret);

double stats_median(const double *samples, size_t n); /* NAN for n = 0; n <= 4096 */

#endif
