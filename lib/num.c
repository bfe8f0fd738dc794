/* Rounding to what survives decimal text, and figures for people. */
#include "lib/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double num15(double x)
{
	if (!isfinite(x))
		return x;
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
