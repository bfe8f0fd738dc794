/* A scanner over pieces: every byte is looked at once, and strings that nobody asked for only for
 * their end. */
#include "import/json_pull.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (16 << 20)

void json_pull_done(struct json_pull *j)
{
	buf_done(&j->text);
	buf_done(&j->key);
}

uint64_t json_place(const struct json_pull *j)
{
	return j->before + (uint64_t)(j->p ? j->p - j->piece : 0);
}

int json_wrong(struct json_pull *j, const char *what)
{
	if (j->rc)
		return j->rc;
	j->rc = -EINVAL;
	return err_set(j->err, j->rc, "%s: byte %llu: %s", j->path,
		       (unsigned long long)json_place(j), what);
}

static int next_piece(struct json_pull *j)
{
	if (j->rc)
		return -2;
	const char *piece;
	size_t n;
	j->before += (uint64_t)(j->piece ? j->end - j->piece : 0);
	j->rc = j->next(j->arg, &piece, &n, j->err);
	if (j->rc || !n) {
		j->piece = j->p = j->end = NULL;
		return j->rc ? -2 : -1;
	}
	j->piece = j->p = piece;
	j->end = piece + n;
	return (unsigned char)*j->p;
}

/* The next byte without taking it; -1 at the end, below -1 a failure. */
static inline int look(struct json_pull *j)
{
	return j->p < j->end ? (unsigned char)*j->p : next_piece(j);
}

int json_more(struct json_pull *j)
{
	int c = look(j);
	return c >= 0 ? 1 : j->rc;
}

static inline int take(struct json_pull *j)
{
	int c = look(j);
	if (c >= 0)
		j->p++;
	return c;
}

static inline int blanks(struct json_pull *j)
{
	int c;
	while ((c = look(j)) == ' ' || c == '\n' || c == '\t' || c == '\r')
		j->p++;
	return c;
}

static int cut(struct json_pull *j)
{
	return json_wrong(j, "the file ends here, in the middle of a value: it is cut");
}

static int unexpected(struct json_pull *j, int c, const char *wanted)
{
	return c < 0 ? cut(j) : json_wrong(j, wanted);
}

int json_peek(struct json_pull *j)
{
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	if (c < 0)
		return 0;
	if (c == '-' || (c >= '0' && c <= '9'))
		return '0';
	if (strchr("{[\"tfn", c) && c)
		return c;
	return json_wrong(j, "a value should stand here");
}

int json_enter(struct json_pull *j, char what)
{
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	if (c != what)
		return unexpected(j, c,
				  what == '{' ? "an object should stand here"
					      : "a list should stand here");
	if (j->depth == JSON_DEPTH)
		return json_wrong(j, "values in values over 512 deep");
	j->p++;
	j->first[j->depth] = true;
	j->closes[j->depth++] = what == '{' ? '}' : ']';
	return 0;
}

/* 1: an item follows; 0: closed. */
static int follows(struct json_pull *j)
{
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	if (c == j->closes[j->depth - 1]) {
		j->p++;
		j->depth--;
		return 0;
	}
	if (j->first[j->depth - 1]) {
		j->first[j->depth - 1] = false;
		return c < 0 ? cut(j) : 1;
	}
	if (c != ',')
		return unexpected(j, c,
				  "a comma or the end of the list or object should stand here");
	j->p++;
	c = blanks(j);
	return c < 0 ? cut(j) : 1;
}

int json_item(struct json_pull *j)
{
	return follows(j);
}

/* ---- text ----------------------------------------------------------------------------------- */

static int hex4(struct json_pull *j, unsigned *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		int c = take(j);
		if (c < 0 || !isxdigit(c))
			return unexpected(j, c, "\\u wants four hexadecimal digits");
		*ret = *ret << 4 | (unsigned)(isdigit(c) ? c - '0' : (c | 32) - 'a' + 10);
	}
	return 0;
}

static void put_utf8(struct buf *b, unsigned c)
{
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(lead[n] | c);
	buf_put(b, s, n);
}

static int escaped_unicode(struct json_pull *j, struct buf *b)
{
	unsigned c, low;
	int rc = hex4(j, &c);
	if (rc)
		return rc;
	if (c >= 0xd800 && c < 0xdc00) { /* the first half of a pair */
		if (take(j) != '\\' || take(j) != 'u')
			return json_wrong(j, "half a character");
		rc = hex4(j, &low);
		if (rc)
			return rc;
		if (low < 0xdc00 || low > 0xdfff)
			return json_wrong(j, "half a character");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xdc00 && c < 0xe000)
		return json_wrong(j, "half a character");
	if (b)
		put_utf8(b, c ? c : 0xfffd); /* a NUL would end the text for everybody else */
	return 0;
}

static int escape(struct json_pull *j, struct buf *b)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = take(j);
	if (c == 'u')
		return escaped_unicode(j, b);
	const char *which = c > 0 ? strchr(from, c) : NULL;
	if (!which)
		return unexpected(j, c, "an escape that JSON does not have");
	if (b)
		buf_put(b, to + (which - from), 1);
	return 0;
}

/* After the opening quote. b NULL: only to its end. */
static int string(struct json_pull *j, struct buf *b)
{
	if (b)
		b->len = 0;
	for (;;) {
		if (look(j) < 0)
			return j->rc ? j->rc : cut(j);
		const char *p = j->p;
		while (p < j->end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
			p++;
		if (b)
			buf_put(b, j->p, (size_t)(p - j->p));
		j->p = p;
		if (b && b->len > TEXT_MAX)
			return json_wrong(j, "a text over 16 MiB");
		if (b && b->failed)
			return j->rc = err_set(j->err, -ENOMEM, "out of memory");
		if (p == j->end)
			continue;
		if (*p == '"') {
			j->p++;
			return 0;
		}
		if (*p != '\\')
			return json_wrong(j, "a control character in a text");
		j->p++;
		int rc = escape(j, b);
		if (rc)
			return rc;
	}
}

/* Most texts lie in one piece and have no escapes: they are lent as they lie. A key only if what
 * stands after it, up to the colon, does too: the next piece may take the place of this one. */
static bool lies_whole(struct json_pull *j, bool key, struct str *ret)
{
	const char *p = j->p;
	while (p < j->end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
		p++;
	if (p == j->end || *p != '"')
		return false;
	const char *after = p + 1;
	while (key && after < j->end &&
	       (*after == ' ' || *after == '\n' || *after == '\t' || *after == '\r'))
		after++;
	if (key && (after == j->end || *after != ':'))
		return false;
	*ret = (struct str){ j->p, (size_t)(p - j->p) };
	j->p = after;
	return true;
}

static int text(struct json_pull *j, struct buf *b, bool key, struct str *ret)
{
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	if (c != '"')
		return unexpected(j, c, "a text should stand here");
	j->p++;
	if (lies_whole(j, key, ret))
		return 0;
	buf_put(b, "", 0);
	int rc = string(j, b);
	if (!rc)
		*ret = (struct str){ b->len ? b->data : "", b->len };
	return rc;
}

int json_pull_text(struct json_pull *j, struct str *ret)
{
	return text(j, &j->text, false, ret);
}

static int colon(struct json_pull *j)
{
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	if (c != ':')
		return unexpected(j, c, "a colon should stand here");
	j->p++;
	return 1;
}

int json_key(struct json_pull *j, struct str *ret)
{
	int rc = follows(j);
	if (rc <= 0)
		return rc;
	rc = text(j, &j->key, true, ret);
	return rc ? rc : colon(j);
}

/* One that nobody looks at. */
static int skip_key(struct json_pull *j)
{
	int rc = follows(j);
	if (rc <= 0)
		return rc;
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	if (c != '"')
		return unexpected(j, c, "a text should stand here");
	j->p++;
	rc = string(j, NULL);
	return rc ? rc : colon(j);
}

/* ---- numbers and words ---------------------------------------------------------------------- */

static bool is_digit(int c)
{
	return (unsigned)c - '0' < 10;
}

static int digits(struct json_pull *j, char *to, size_t *n)
{
	size_t before = *n;
	int c;
	while (is_digit(c = look(j))) {
		if (*n >= 60)
			return json_wrong(j, "a number of over 60 digits");
		to[(*n)++] = (char)c;
		j->p++;
	}
	if (j->rc)
		return j->rc;
	return *n > before ? 0 : unexpected(j, c, "a digit should stand here");
}

/* whole: no fraction and no exponent. */
static int number(struct json_pull *j, char *s, size_t *n, bool *whole)
{
	*n = 0;
	*whole = true;
	if (look(j) == '-') {
		s[(*n)++] = '-';
		j->p++;
	}
	bool zero = look(j) == '0';
	size_t begin = *n;
	int rc = digits(j, s, n);
	if (!rc && zero && *n - begin > 1)
		rc = json_wrong(j, "a number that begins with 0");
	if (!rc && look(j) == '.') {
		*whole = false;
		j->p++;
		rc = digits(j, s, n);
	}
	if (!rc && (look(j) == 'e' || look(j) == 'E')) {
		*whole = false;
		j->p++;
		if (look(j) == '+' || look(j) == '-')
			j->p++;
		rc = digits(j, s, n);
	}
	s[*n] = '\0';
	return rc;
}

/* *whole: it is a whole number that fits. */
static int whole_number(struct json_pull *j, int64_t *ret, bool *whole)
{
	char s[64];
	size_t n;
	int rc = number(j, s, &n, whole);
	if (rc)
		return rc;
	bool negative = s[0] == '-';
	int64_t value = 0;
	for (size_t i = negative; i < n && *whole; i++)
		*whole = !__builtin_mul_overflow(value, 10, &value) &&
			 !__builtin_add_overflow(value, s[i] - '0', &value);
	*ret = *whole ? negative ? -value : value : 0;
	return 0;
}

int json_int(struct json_pull *j, int64_t *ret)
{
	bool whole;
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	if (c < 0 || (c != '-' && !is_digit(c)))
		return unexpected(j, c, "a number should stand here");
	int rc = whole_number(j, ret, &whole);
	return rc || whole ? rc : json_wrong(j, "a whole number below 2^63 should stand here");
}

int json_maybe_int(struct json_pull *j, int64_t *ret, bool *is)
{
	int c = json_peek(j);
	*is = false;
	return c < 0 ? c : c == '0' ? whole_number(j, ret, is) : json_skip(j);
}

static int word(struct json_pull *j, const char *w)
{
	for (; *w; w++)
		if (take(j) != *w)
			return j->rc ? j->rc
				     : json_wrong(j, "true, false or null should stand here");
	return 0;
}

static int scalar(struct json_pull *j, int c)
{
	char s[64];
	size_t n;
	bool whole;
	switch (c) {
	case '"':
		j->p++;
		return string(j, NULL);
	case 't':
		return word(j, "true");
	case 'f':
		return word(j, "false");
	case 'n':
		return word(j, "null");
	default:
		return number(j, s, &n, &whole);
	}
}

int json_skip(struct json_pull *j)
{
	unsigned level = j->depth;
	int rc = 0;
	do {
		int c = json_peek(j);
		if (c <= 0)
			return c ? c : cut(j);
		rc = c == '{' || c == '[' ? json_enter(j, (char)c) : scalar(j, c);
		/* Close what ends here; go on with the next item. */
		while (!rc && j->depth > level) {
			rc = j->closes[j->depth - 1] == '}' ? skip_key(j) : follows(j);
			if (rc > 0)
				break;
		}
	} while (rc >= 0 && j->depth > level);
	return rc < 0 ? rc : 0;
}

int json_finish(struct json_pull *j)
{
	int c = blanks(j);
	if (j->rc)
		return j->rc;
	return c < 0 ? 0 : json_wrong(j, "something stands after the end of the JSON");
}
