/* A grammar of our own before strtod: strtod alone takes "0x1p3", "nan(1)" and the locale's comma.
 */
#include "timer/number.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"

#define MAX_DIGITS 120

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static void trim(const char **text, size_t *n)
{
	while (*n && isspace((unsigned char)**text)) {
		(*text)++;
		(*n)--;
	}
	while (*n && isspace((unsigned char)(*text)[*n - 1]))
		(*n)--;
}

static bool all_stars(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] != '*')
			return false;
	return n > 0;
}

/* Copies without thousands separators, which stand before three digits and no others: "1,5" is
 * not a number here, since nobody knows whether it is 15 or one and a half. */
static bool copy_digits(const char *text, size_t n, char out[MAX_DIGITS + 1])
{
	size_t len = 0, digits = 0;
	bool grouped = false, fraction = false;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		if (c == ',') {
			if (fraction || digits == 0 || digits > 3 || (grouped && digits != 3))
				return false;
			grouped = true;
			digits = 0;
			continue;
		}
		if (!fraction && !digit(c) && grouped && digits != 3)
			return false;
		fraction = fraction || (!digit(c) && c != '+' && c != '-');
		digits += digit(c);
		if (len == MAX_DIGITS)
			return false;
		out[len++] = c;
	}
	out[len] = 0;
	return fraction || !grouped || digits == 3;
}

/* Where the exponent begins; Fortran leaves out its letter when it has three digits. */
static char *exponent(char *p)
{
	if (*p && strchr("eEdDqQ", *p) &&
	    (digit(p[1]) || ((p[1] == '+' || p[1] == '-') && digit(p[2]))))
		return p;
	bool bare = (*p == '+' || *p == '-') && digit(p[1]) && digit(p[2]) && digit(p[3]) && !p[4];
	return bare ? p : NULL;
}

static bool grammar(char *p, char **ret_exponent)
{
	p += *p == '+' || *p == '-';
	size_t digits = strspn(p, "0123456789");
	p += digits;
	if (*p == '.') {
		size_t more = strspn(++p, "0123456789");
		digits += more;
		p += more;
	}
	if (!digits)
		return false;
	*ret_exponent = exponent(p);
	if (!*ret_exponent)
		return !*p;
	p += strcspn(p, "0123456789");
	return !p[strspn(p, "0123456789")];
}

enum metric_status number_parse(const char *text, size_t n, double *ret)
{
	*ret = NAN;
	trim(&text, &n);
	bool sign = n && (*text == '+' || *text == '-');
	if (all_stars(text + sign, n - sign))
		return METRIC_OVERFLOWED;
	while (n && text[n - 1] == ',') /* "[0-9.,]+" also takes the comma after the number */
		n--;
	char copy[MAX_DIGITS + 2], *e = NULL;
	if (!n || !copy_digits(text, n, copy) || !grammar(copy, &e))
		return METRIC_NOT_A_NUMBER;
	if (e && (*e == '+' || *e == '-')) {
		memmove(e + 1, e, strlen(e) + 1);
		*e = 'e';
	} else if (e) {
		*e = 'e';
	}
	double value = strtod(copy, NULL);
	if (!isfinite(value))
		return METRIC_NOT_A_NUMBER;
	*ret = value;
	return METRIC_OK;
}

/* "1d 2h 3m 4.5s": parts in falling order, each at most once. */
static enum metric_status clock_parts(const char *p, const char *end, double *ret)
{
	static const struct {
		char letter;
		double seconds;
	} units[] = { { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
	size_t next = 0;
	double sum = 0;
	while (p < end) {
		const char *begin = p;
		while (p < end && !isalpha((unsigned char)*p))
			p++;
		double value;
		enum metric_status s = number_parse(begin, (size_t)(p - begin), &value);
		if (s != METRIC_OK)
			return s;
		while (next < 4 && (p == end || units[next].letter != *p))
			next++;
		if (next == 4)
			return METRIC_NOT_A_NUMBER;
		sum += value * units[next++].seconds;
		p++;
		while (p < end && isspace((unsigned char)*p))
			p++;
	}
	*ret = num15(sum);
	return METRIC_OK;
}

static enum metric_status clock_colons(const char *p, const char *end, double *ret)
{
	double sum = 0;
	for (int parts = 0; parts < 4; parts++) {
		const char *colon = memchr(p, ':', (size_t)(end - p));
		const char *stop = colon ? colon : end;
		double value;
		enum metric_status s = number_parse(p, (size_t)(stop - p), &value);
		if (s != METRIC_OK)
			return s;
		sum = sum * 60 + value;
		if (!colon) {
			*ret = num15(sum);
			return METRIC_OK;
		}
		p = colon + 1;
	}
	return METRIC_NOT_A_NUMBER;
}

enum metric_status number_parse_clock(const char *text, size_t n, double *ret)
{
	*ret = NAN;
	trim(&text, &n);
	if (!n)
		return METRIC_NOT_A_NUMBER;
	if (memchr(text, ':', n))
		return clock_colons(text, text + n, ret);
	if (isalpha((unsigned char)text[n - 1]) && digit(text[0]))
		return clock_parts(text, text + n, ret);
	return number_parse(text, n, ret);
}

int number_unit_exponent(const char *unit)
{
	static const struct {
		const char *name;
		int exponent;
	} units[] = { { "s", 0 }, { "ms", -3 }, { "us", -6 }, { "\xc2\xb5s", -6 }, { "ns", -9 } };
	for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].exponent;
	return 1;
}

double number_scale(double value, int exponent_of_ten)
{
	/* Dividing by an exact power of ten rounds once; multiplying by its inverse rounds twice.
	 */
	double power = pow(10, abs(exponent_of_ten));
	return exponent_of_ten == 0 ? value
				    : num15(exponent_of_ten > 0 ? value * power : value / power);
}
