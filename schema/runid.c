/* Run ids as numbers: seconds since 1970 in the upper half, the digits in the lower one. The
 * upper half is shifted so that all 2^32 seconds (to February 2106) fit a signed number. */
#include "schema/runid.h"

#include <stddef.h>
#include <string.h>

#define SHIFT INT64_C(0x80000000)

/* Days since 1970-01-01 in the Gregorian calendar; March is the first month of the year in this
 * count, so that the leap day comes last. */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
	year -= month <= 2;
	int64_t era = year / 400, of_era = year % 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date(int64_t n, int *ret_year, int *ret_month, int *ret_day)
{
	n += 719468;
	int64_t era = n / 146097, of_era = n % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t m = (5 * of_year + 2) / 153;
	*ret_day = (int)(of_year - (153 * m + 2) / 5 + 1);
	*ret_month = (int)(m < 10 ? m + 3 : m - 9);
	*ret_year = (int)(year + era * 400 + (*ret_month <= 2));
}

/* n decimal digits; -1 if one is none. */
static int64_t digits(const char *p, int n)
{
	int64_t x = 0;
	for (int i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		x = 10 * x + (p[i] - '0');
	}
	return x;
}

bool runid_key(const char *run_id, int64_t *ret_key)
{
	if (strlen(run_id) != RUNID_BYTES - 1 || run_id[8] != 'T' || run_id[15] != 'Z' ||
	    run_id[16] != '-')
		return false;
	int64_t year = digits(run_id, 4), month = digits(run_id + 4, 2),
		day = digits(run_id + 6, 2);
	int64_t hour = digits(run_id + 9, 2), minute = digits(run_id + 11, 2);
	int64_t second = digits(run_id + 13, 2), low = 0;
	if (year < 1970 || year > 2105 || month < 1 || month > 12 || day < 1 || hour < 0 ||
	    hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
		return false;
	int y, m, d;
	int64_t n = days(year, month, day);
	date(n, &y, &m, &d);
	if (m != month || d != day)
		return false; /* there is no 30 February */
	for (const char *p = run_id + 17; *p; p++) {
		const char *hex = "0123456789abcdef", *at = strchr(hex, *p);
		if (!at)
			return false;
		low = low << 4 | (at - hex);
	}
	int64_t s = ((n * 24 + hour) * 60 + minute) * 60 + second - SHIFT;
	*ret_key = s * (INT64_C(1) << 32) + low;
	return true;
}

static char *put_digits(char *to, int64_t x, int n)
{
	for (int i = n - 1; i >= 0; i--, x /= 10)
		to[i] = (char)('0' + x % 10);
	return to + n;
}

/* By hand, since the grid shows tens of thousands of them. */
const char *runid_text(char text[RUNID_BYTES], int64_t key)
{
	int y, m, d;
	uint32_t low = (uint32_t)(uint64_t)key;
	int64_t s = (key - low) / (INT64_C(1) << 32) + SHIFT;
	date(s / 86400, &y, &m, &d);
	int64_t of_day = s % 86400;
	char *to = put_digits(put_digits(put_digits(text, y, 4), m, 2), d, 2);
	*to++ = 'T';
	to = put_digits(put_digits(put_digits(to, of_day / 3600, 2), of_day / 60 % 60, 2),
			of_day % 60, 2);
	*to++ = 'Z';
	*to++ = '-';
	for (int shift = 28; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[low >> shift & 15];
	*to = 0;
	return text;
}

const char *runid_make(char text[RUNID_BYTES], int64_t second, int64_t ns, uint32_t random)
{
	int64_t part = (ns << 10) / 1000000000;
	return runid_text(text, (second - SHIFT) * (INT64_C(1) << 32) +
					(part << 22 | (random & 0x3fffff)));
}
