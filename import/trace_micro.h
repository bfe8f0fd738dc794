/* Microseconds as people write them in decimal, to the nanosecond and exactly: the digits are read,
 * never a double, which at the size of times since 1970 knows only every 250th nanosecond. */
#ifndef IMPORT_TRACE_MICRO_H
#define IMPORT_TRACE_MICRO_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/str.h"

/* Not negative by itself: below says whether a minus stood before it. */
struct micro {
	int64_t ns;    /* whole ones, below 2^62 */
	uint32_t rest; /* and 10^-9 of one; what is smaller still counts as one of these */
	bool below;
};

enum micro_is { MICRO_OK, MICRO_NOT_A_NUMBER, MICRO_TOO_LARGE };

/* A number as in JSON, maybe with a fraction and an exponent. */
enum micro_is micro_parse(struct str text, struct micro *ret);

/* The sum of two that are not below 0, exact before it is rounded. */
struct micro micro_add(struct micro a, struct micro b);

/* The nearest whole ns; from the middle to the even one. */
int64_t micro_round(struct micro m);

#endif
