/* Cursors over lines and words, and one loop for all files of keys and values. */
#include "agent/sample_text.h"

#include <math.h>
#include <stdint.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

bool text_line(struct str *text, struct str *ret_line)
{
	const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
	if (!end)
		return false;
	size_t n = (size_t)(end - text->p);
	*ret_line = (struct str){ .p = text->p, .n = n };
	text->p += n + 1;
	text->n -= n + 1;
	return true;
}

bool text_word(struct str *line, struct str *ret_word)
{
	const char *p = line->p, *end = p + line->n;
	while (p < end && is_blank(*p))
		p++;
	const char *from = p;
	while (p < end && !is_blank(*p))
		p++;
	*ret_word = (struct str){ .p = from, .n = (size_t)(p - from) };
	*line = (struct str){ .p = p, .n = (size_t)(end - p) };
	return ret_word->n > 0;
}

bool text_is(struct str word, const char *what)
{
	size_t n = strlen(what);
	return word.n == n && memcmp(word.p, what, n) == 0;
}

bool text_begins(struct str text, const char *what)
{
	size_t n = strlen(what);
	return text.n >= n && memcmp(text.p, what, n) == 0;
}

/* Digits at *at, before end. False: none, or more than 64 bits hold. */
static bool digits(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t x = 0;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		unsigned d = (unsigned)(*p - '0');
		if (x > UINT64_MAX / 10 || (x == UINT64_MAX / 10 && d > UINT64_MAX % 10))
			return false;
		x = x * 10 + d;
	}
	bool any = p > *at;
	*at = p;
	*ret = x;
	return any;
}

double text_number(struct str word)
{
	const char *p = word.p, *end = p + word.n;
	uint64_t whole, part;
	if (!word.n || !digits(&p, end, &whole))
		return (double)NAN;
	if (p == end)
		return (double)whole;
	if (*p++ != '.')
		return (double)NAN;
	const char *from = p;
	if (!digits(&p, end, &part) || p != end)
		return (double)NAN;
	double per = 1;
	for (; from < end; from++)
		per *= 10;
	return (double)whole + (double)part / per;
}

double text_next_number(struct str *line)
{
	struct str word;
	return text_word(line, &word) ? text_number(word) : (double)NAN;
}

static bool key_is(const struct text_key *k, struct str word)
{
	/* Most keys differ in their first byte. */
	return *k->key == *word.p && text_is(word, k->key);
}

void text_keys(struct str text, const struct text_key *keys, size_t n, double *values)
{
	struct str line, word;
	size_t next = 0,
	       left = n; /* the kernel keeps to its order, so the next one is tried first */
	while (left && text_line(&text, &line)) {
		if (!text_word(&line, &word))
			continue;
		word.n -= word.p[word.n - 1] == ':';
		size_t i = next;
		for (size_t tried = 0; word.n && tried < n; tried++, i = i + 1 < n ? i + 1 : 0) {
			if (!key_is(&keys[i], word))
				continue;
			double x = text_next_number(&line);
			if (isnan(values[i]) && !isnan(x)) {
				values[i] = x * keys[i].times / keys[i].per;
				left--;
			}
			next = i + 1 < n ? i + 1 : 0;
			break;
		}
	}
}
