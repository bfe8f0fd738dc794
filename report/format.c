/* Numbers as text, the same as on the page. */
#include "report/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"

#define MINUS "\xe2\x88\x92" /* U+2212 */

/* Exact ties (1.125) go up, as they do in the page, where printf would go to even. */
#define NUDGE (1 + 0x1p-50)

/* x > 0 as three digits d.dd times ten to the exponent. */
static int three(double x, char digits[4])
{
	char text[32];
	(void)snprintf(text, sizeof text, "%.2e", x * NUDGE);
	digits[0] = text[0];
	digits[1] = text[2];
	digits[2] = text[3];
	digits[3] = 0;
	return atoi(strchr(text, 'e') + 1);
}

/* Put the point after point + 1 digits. */
static void place(char *out, size_t size, const char digits[4], int point)
{
	if (point >= 2)
		(void)snprintf(out, size, "%s%.*s", digits, point - 2, "000000000000");
	else
		(void)snprintf(out, size, "%.*s.%s", point + 1, digits, digits + point + 1);
}

const char *format_seconds(char text[FORMAT_BYTES], double s)
{
	static const struct {
		int exponent;
		const char *name;
	} units[] = { { 0, "s" }, { -3, "ms" }, { -6, "\xc2\xb5s" }, { -9, "ns" } };
	if (!known(s) || s == 0) {
		(void)snprintf(text, FORMAT_BYTES, s == 0 ? "0 s" : "null");
		return text;
	}
	char digits[4], number[24];
	int exponent = three(fabs(s), digits);
	size_t u = 0;
	while (u < 3 && exponent < units[u].exponent)
		u++;
	if (exponent < units[u].exponent)
		(void)snprintf(number, sizeof number, "%.3g",
			       atof(digits) * pow(10, exponent - units[u].exponent - 2));
	else
		place(number, sizeof number, digits, exponent - units[u].exponent);
	(void)snprintf(text, FORMAT_BYTES, "%s%s %s", s < 0 ? MINUS : "", number, units[u].name);
	return text;
}

const char *format_percent(char text[FORMAT_BYTES], double fraction)
{
	double p = fraction * 100 * NUDGE;
	if (!known(p))
		(void)snprintf(text, FORMAT_BYTES, "null");
	else if (p != 0 && fabs(p) < 0.05)
		(void)snprintf(text, FORMAT_BYTES, "%s<0.1 %%", p < 0 ? MINUS : "");
	else
		(void)snprintf(text, FORMAT_BYTES, "%s%.*f %%", p < 0 ? MINUS : "",
			       fabs(p) >= 99.95 ? 0 : 1, fabs(p));
	return text;
}

const char *format_significant(char text[FORMAT_BYTES], double x)
{
	if (!known(x) || x == 0) {
		(void)snprintf(text, FORMAT_BYTES, x == 0 ? "0" : "null");
		return text;
	}
	char digits[4], number[24];
	const char *sign = x < 0 ? MINUS : "";
	int exponent = three(fabs(x), digits);
	if (exponent > 8 || exponent < -4)
		(void)snprintf(text, FORMAT_BYTES, "%s%c.%se%d", sign, digits[0], digits + 1,
			       exponent);
	else if (exponent >= 0) {
		place(number, sizeof number, digits, exponent);
		(void)snprintf(text, FORMAT_BYTES, "%s%s", sign, number);
	} else {
		(void)snprintf(text, FORMAT_BYTES, "%s0.%.*s%s", sign, -exponent - 1, "0000",
			       digits);
	}
	return text;
}

const char *format_count(char text[FORMAT_BYTES], double x)
{
	if (!known(x) || x != floor(x) || fabs(x) >= 1e15)
		return format_significant(text, x);
	(void)snprintf(text, FORMAT_BYTES, "%.0f", x);
	return text;
}

const char *format_bytes(char text[FORMAT_BYTES], double x)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T" };
	if (!known(x) || x == 0) {
		(void)snprintf(text, FORMAT_BYTES, x == 0 ? "0 B" : "null");
		return text;
	}
	char digits[4], number[24];
	int exponent = three(fabs(x), digits), i = exponent < 0     ? 0
						   : exponent >= 12 ? 4
								    : exponent / 3;
	if (exponent < 3)
		(void)snprintf(number, sizeof number, "%.3g", fabs(x));
	else
		place(number, sizeof number, digits, exponent - 3 * i);
	(void)snprintf(text, FORMAT_BYTES, "%s%s %sB", x < 0 ? MINUS : "", number, prefix[i]);
	return text;
}

double format_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *format_status(const char *status)
{
	static const char *const words[][2] = {
		{ "ok", "ok" },
		{ "clean_failed", "failed" },
		{ "clean_timeout", "timed out" },
		{ "roi_missing", "no region" },
		{ "timer_missing", "no timer" },
		{ "profiled_failed", "profiling failed" },
		{ "roi_missing_in_profile", "no region in profile" },
		{ "interrupted", "interrupted" },
	};
	for (size_t i = 0; status && i < sizeof words / sizeof *words; i++)
		if (strcmp(status, words[i][0]) == 0)
			return words[i][1];
	return status ? status : "null";
}
