/* Numbers out of the texts that the kernel makes for /proc, /sys and control groups: by key, not by
 * place. Pure; any bytes are fine. What is not there, or is no number, is NAN. */
#ifndef AGENT_SAMPLE_TEXT_H
#define AGENT_SAMPLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/str.h"

/* Take the next line, or the next word between blanks, off the front. False at the end. A line that
 * does not end is none: the kernel ends all, and half a number is another number. */
bool text_line(struct str *text, struct str *ret_line);
bool text_word(struct str *line, struct str *ret_word);

bool text_is(struct str word, const char *what);
bool text_begins(struct str text, const char *what);

/* "123", "0.64": a whole word. NAN: not a number, or negative, or past 2^64. */
double text_number(struct str word);

/* The next word as a number; NAN at the end, too. */
double text_next_number(struct str *line);

/* A value and how it is told: number * times / per. A division is exact where a factor of 1e-6
 * would not be. */
struct text_key {
	const char *key, *name;
	double times, per;
};

/* Lines "key value ..." or "key: value ...": values[i] is that of keys[i], the first of its key. A
 * value that is no number leaves values[i] as it was. */
void text_keys(struct str text, const struct text_key *keys, size_t n, double *values);

#endif
