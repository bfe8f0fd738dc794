/* Numbers as the page prints them (web/src/format.ts): three digits, then the unit. The two
 * give the same text for the same number. Unknown is "null". */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include <jansson.h>

#define FORMAT_BYTES 48

const char *format_seconds(char text[FORMAT_BYTES], double s);
const char *format_percent(char text[FORMAT_BYTES], double fraction);
/* Whole numbers in full. */
const char *format_count(char text[FORMAT_BYTES], double x);
/* Bytes: "1.31 GB". */
const char *format_bytes(char text[FORMAT_BYTES], double x);
const char *format_significant(char text[FORMAT_BYTES], double x);

/* A number of a JSON object; NAN where it is absent, null, or no number. */
double format_number(const json_t *object, const char *key);

/* The short word for a status: "timed out". Borrowed, good for ever or as long as status. */
const char *format_status(const char *status);

#endif
