/* JSON that lies in memory, walked at the speed of memory: values are found and lent as they stand,
 * and what nobody looks into is only followed to its end (texts and brackets must be right in it,
 * the rest is not looked at). For files of which a part is of interest; json_pull.h is the strict
 * one. */
#ifndef IMPORT_JSON_SCAN_H
#define IMPORT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/str.h"

#define JSON_SCAN_DEPTH 512

/* Between p and end. When something fails p is where: fault says what is wrong there, or is NULL
 * when the bytes end before the value does. */
struct json_scan {
	const char *p, *end;
	const char *fault;
};

/* A value as it stands: texts without their quotes and still escaped, all others whole. */
struct json_value {
	struct str text; /* p NULL: absent */
	char kind;       /* '"' '{' '[' '0' (a number), 'w' (true, false, null, NaN, Infinity) */
	bool escaped;    /* a text with a backslash in it */
};

/* The opening bracket was taken: the next key and where its value begins. 1, 0 at the closing
 * bracket, which is taken, or -1. first: none was taken yet. */
int json_scan_key(struct json_scan *s, bool first, struct json_value *ret);
/* Takes the value that begins at p. */
bool json_scan_value(struct json_scan *s, struct json_value *ret);
/* To the end of the object that is open, and behind its bracket. */
bool json_scan_out(struct json_scan *s);

static inline bool json_scan_is(const struct json_value *v, const char *text, size_t n)
{
	return v->text.n == n && memcmp(v->text.p, text, n) == 0;
}

#endif
