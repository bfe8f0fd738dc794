/* Rounding to what survives decimal text, and figures for people. */
#include "lib/num.h"

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exact as doubles: 10^22 is the last one that is. */
static const double ten_to[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
				 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Ten times quicker than by text, for 1e-7 <= |x| < 1e15; false where it can't be sure. Records
 * of thousands of operations are rounded on their way in and out. */
static bool num15_quick(double x, double *ret)
{
	double size = fabs(x);
	if (LDBL_MANT_DIG < 64 || !(size >= 1e-7 && size < 1e15))
		return false;
	/* Whole nanoseconds are what most numbers are, and have few digits already. */
	double ns = nearbyint(size * 1e9);
	if (ns < 1e15 && ns / 1e9 == size) {
		*ret = x;
		return true;
	}
	int exponent;
	(void)frexp(size, &exponent);
	/* 15 digits before the point: from 2^exponent by log10(2), at most one too few. */
	int k = 14 - (int)floor((exponent - 1) * 0.30102999566398120);
	if (k >= 1 && k <= 22 && size * ten_to[k] >= 1e15)
		k--;
	if (k < 1 || k > 22)
		return false;
	long double scaled = (long double)size * ten_to[k];
	if (!(scaled >= 1e14L && scaled < 999999999999999.0L))
		return false;
	int64_t digits = (int64_t)scaled;
	long double rest = scaled - (long double)digits;
	/* The product is off by 2^-14 at most; nearer to a half than that, text must decide. */
	if (fabsl(rest - 0.5L) < 0.001L)
		return false;
	double n = (double)(rest < 0.5L ? digits : digits + 1);
	*ret = copysign(n / ten_to[k], x); /* both are exact, so this is the nearest */
	return true;
}

double num15(double x)
{
	double quick;
	if (!isfinite(x))
		return x;
	if (num15_quick(x, &quick))
		return quick;
	char text[32];
	(void)snprintf(text, sizeof text, "%.15g", x);
	return strtod(text, NULL);
}

/* Three significant digits without an exponent, for 0.001 <= |x| < 1000. */
static void three_digits(char text[32], double x, const char *unit)
{
	double size = fabs(x);
	int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
	(void)snprintf(text, 32, "%.*f %s", decimals, x, unit);
}

const char *num_duration(char text[32], double seconds)
{
	double size = fabs(seconds);
	if (!known(seconds))
		return strcpy(text, "-");
	if (size == 0)
		return strcpy(text, "0 s");
	if (size < 999.5e-9)
		three_digits(text, seconds * 1e9, "ns");
	else if (size < 999.5e-6)
		three_digits(text, seconds * 1e6, "us");
	else if (size < 999.5e-3)
		three_digits(text, seconds * 1e3, "ms");
	else if (size < 599.5)
		three_digits(text, seconds, "s");
	else
		(void)snprintf(text, 32, "%.0f min %02.0f s", floor(seconds / 60),
			       floor(fmod(seconds, 60)));
	return text;
}

const char *num_si(char text[32], double value)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T", "P", "E" };
	if (!known(value))
		return strcpy(text, "-");
	double size = fabs(value);
	size_t i = 0;
	while (size >= 999.5 && i + 1 < sizeof prefix / sizeof *prefix) {
		size /= 1000;
		value /= 1000;
		i++;
	}
	if (i == 0 && value == floor(value))
		(void)snprintf(text, 32, "%.0f", value);
	else
		three_digits(text, value, prefix[i]);
	size_t n = strlen(text);
	if (n && text[n - 1] == ' ')
		text[n - 1] = 0;
	return text;
}
