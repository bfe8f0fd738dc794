/* Numbers that may be unknown. "Not observed" is NAN in memory, NULL in a table, null in JSON;
 * never 0. */
#ifndef LIB_NUM_H
#define LIB_NUM_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* A yes/no that may be unknown. */
enum ternary { UNKNOWN = -1, NO = 0, YES = 1 };

static inline bool known(double x)
{
	return !isnan(x);
}

/* The nearest number with at most 15 significant decimal digits. Such numbers survive
 * "%.15g" and back bit by bit, so records are readable and exact at once. NAN stays NAN. */
double num15(double x);

/* A duration as people read it, three significant digits: "870 ns", "12.3 us", "1.04 ms",
 * "2.50 s", "12 min 3 s"; "-" where unknown. Returns text. */
const char *num_duration(char text[32], double seconds);

/* A count or a size with an SI prefix, three significant digits: "1.31 G"; "-" where unknown. */
const char *num_si(char text[32], double value);

#endif
