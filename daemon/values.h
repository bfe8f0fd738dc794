/* Times of the wall clock and numbers, as the API writes them. */
#ifndef DAEMON_VALUES_H
#define DAEMON_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define UTC_BYTES 32

/* "2026-09-29T04:52:01.250Z", milliseconds only where there are some; false: ROI_UNKNOWN, or no
 * time of the years 1970 to 9999. */
bool utc_text(char text[UTC_BYTES], int64_t real_ns);

/* Likewise, or null. */
json_t *utc_json(int64_t real_ns);

/* "2026-09-29" and "2026-09-29T04:52:01Z". False: no such time. */
bool utc_parse(const char *text, int64_t *ret_real_ns);

/* Null where it is unknown, without a point where it is whole. */
json_t *number_json(double x);

#endif
