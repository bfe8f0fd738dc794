/* Numbers as programs print them. */
#ifndef TIMER_NUMBER_H
#define TIMER_NUMBER_H

#include <stddef.h>

#include "core/metric.h"

/* Sign, leading dot, exponents (also Fortran's 1.0D+03 and 0.1-102), thousands separators.
 * METRIC_OK, METRIC_OVERFLOWED for a field of stars, METRIC_NOT_A_NUMBER for nan, inf and
 * anything else. */
enum metric_status number_parse(const char *text, size_t n, double *ret);

/* "1d 2h 3m 4.5s", "1h12m", "3m 4.50s", "4.5s", "1:02:03", "12.5": seconds. */
enum metric_status number_parse_clock(const char *text, size_t n, double *ret);

/* Powers of ten: the exponent of unit s, ms, us or ns against s; 1 for another unit. */
int number_unit_exponent(const char *unit);

/* value * 10^exponent, rounded as a record keeps it. */
double number_scale(double value, int exponent);

#endif
