/* No time zone but UTC, no leap second. */
#define _GNU_SOURCE /* timegm */
#include "daemon/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/num.h"

#define LAST_S 253402300799ll /* 9999-12-31T23:59:59Z */

bool utc_text(char text[UTC_BYTES], int64_t real_ns)
{
	struct tm tm;
	time_t seconds = (time_t)(real_ns / 1000000000);
	int ms = (int)(real_ns / 1000000 % 1000);
	if (real_ns < 0 || seconds > LAST_S || !gmtime_r(&seconds, &tm))
		return false;
	size_t n = strftime(text, UTC_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	if (ms)
		(void)snprintf(text + n, UTC_BYTES - n, ".%03dZ", ms);
	else
		(void)snprintf(text + n, UTC_BYTES - n, "Z");
	return true;
}

json_t *utc_json(int64_t real_ns)
{
	char text[UTC_BYTES];
	return utc_text(text, real_ns) ? json_string(text) : json_null();
}

static int two(const char *at)
{
	return (at[0] - '0') * 10 + (at[1] - '0');
}

bool utc_parse(const char *text, int64_t *ret_real_ns)
{
	static const char shape[] = "0000-00-00T00:00:00Z";
	size_t n = strlen(text);
	if (n != 10 && n != 20)
		return false;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	struct tm tm = { .tm_year = two(text) * 100 + two(text + 2) - 1900,
			 .tm_mon = two(text + 5) - 1,
			 .tm_mday = two(text + 8) };
	if (n == 20) {
		tm.tm_hour = two(text + 11);
		tm.tm_min = two(text + 14);
		tm.tm_sec = two(text + 17);
	}
	struct tm same = tm; /* timegm makes the 31st of September the 1st of October */
	time_t seconds = timegm(&tm);
	bool is_time = tm.tm_mday == same.tm_mday && tm.tm_mon == same.tm_mon &&
		       tm.tm_hour == same.tm_hour && tm.tm_min == same.tm_min &&
		       tm.tm_sec == same.tm_sec;
	/* 2262 is where nanoseconds end. */
	if (!is_time || tm.tm_year < 70 || tm.tm_year > 361)
		return false;
	*ret_real_ns = (int64_t)seconds * 1000000000;
	return true;
}

json_t *number_json(double x)
{
	if (!known(x))
		return json_null();
	double y = num15(x);
	return y == floor(y) && fabs(y) < 1e15 ? json_integer((json_int_t)y) : json_real(y);
}
