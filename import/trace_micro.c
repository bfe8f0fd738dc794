#include "import/trace_micro.h"

#include <string.h>

#define WHOLE_DIGITS_MAX 16 /* 2^62 ns has as many in us */
#define DIGITS_MAX 400
#define NS_MAX ((int64_t)1 << 62)
#define REST 1000000000u

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits of a number without its point, and where that would stand. */
struct digits {
	char d[DIGITS_MAX];
	long n, point;
};

static const char *take_digits(const char *p, const char *end, struct digits *to)
{
	for (; p < end && is_digit(*p); p++) {
		if (to->n == DIGITS_MAX)
			return NULL;
		to->d[to->n++] = *p;
	}
	return p;
}

/* p at the 'e'. False: there is no number. Huge ones stay huge without overflow. */
static bool exponent(const char *p, const char *end, long *ret)
{
	bool minus = p + 1 < end && p[1] == '-';
	p += p + 1 < end && (p[1] == '-' || p[1] == '+') ? 2 : 1;
	if (p == end)
		return false;
	long e = 0;
	for (; p < end; p++) {
		if (!is_digit(*p))
			return false;
		if (e < 100000)
			e = e * 10 + (*p - '0');
	}
	*ret = minus ? -e : e;
	return true;
}

static enum micro_is digits_of(const char *p, const char *end, struct digits *ret)
{
	const char *begin = p;
	p = take_digits(p, end, ret);
	if (!p || p == begin || (*begin == '0' && p - begin > 1))
		return MICRO_NOT_A_NUMBER;
	ret->point = ret->n;
	if (p < end && *p == '.') {
		begin = ++p;
		p = take_digits(p, end, ret);
		if (!p || p == begin)
			return MICRO_NOT_A_NUMBER;
	}
	if (p == end)
		return MICRO_OK;
	long e;
	if ((*p != 'e' && *p != 'E') || !exponent(p, end, &e))
		return MICRO_NOT_A_NUMBER;
	ret->point += e;
	return MICRO_OK;
}

/* Digits number from to from + n, 0 where there is none. */
static uint64_t part(const struct digits *x, long from, long n)
{
	uint64_t sum = 0;
	for (long i = from; i < from + n; i++)
		sum = sum * 10 + (i >= 0 && i < x->n ? (unsigned)(x->d[i] - '0') : 0);
	return sum;
}

static enum micro_is any_form(struct str text, struct micro *ret)
{
	struct digits x = { .n = 0 };
	enum micro_is is = digits_of(text.p, text.p + text.n, &x);
	if (is != MICRO_OK)
		return is;
	long first = 0;
	while (first < x.n && x.d[first] == '0')
		first++;
	if (first == x.n)
		return MICRO_OK;
	if (x.point - first > WHOLE_DIGITS_MAX)
		return MICRO_TOO_LARGE;
	if (x.point < first - 40) { /* next to nothing */
		ret->rest = 1;
		return MICRO_OK;
	}
	uint64_t whole = part(&x, x.point - WHOLE_DIGITS_MAX, WHOLE_DIGITS_MAX);
	if (whole >= (uint64_t)NS_MAX / 1000)
		return MICRO_TOO_LARGE;
	ret->ns = (int64_t)(whole * 1000 + part(&x, x.point, 3));
	ret->rest = (uint32_t)part(&x, x.point + 3, 9);
	bool more = false;
	for (long i = x.point + 12 > 0 ? x.point + 12 : 0; i < x.n; i++)
		more |= x.d[i] != '0';
	ret->rest |= more;
	return MICRO_OK;
}

/* Whole ones, and up to three digits behind the point: what profilers write. */
static bool usual_form(struct str text, struct micro *ret)
{
	static const int64_t scale[] = { 1000, 100, 10, 1 };
	const char *p = text.p, *end = p + text.n;
	int64_t x = 0;
	while (p < end && is_digit(*p) && p - text.p < WHOLE_DIGITS_MAX)
		x = x * 10 + (*p++ - '0');
	if (p == text.p || x >= NS_MAX / 1000 || (*text.p == '0' && p - text.p > 1))
		return false;
	if (p == end) {
		ret->ns = x * 1000;
		return true;
	}
	if (*p != '.' || end - p < 2 || end - p > 4)
		return false;
	const char *point = p++;
	while (p < end && is_digit(*p))
		x = x * 10 + (*p++ - '0');
	ret->ns = x * scale[end - point - 1];
	return p == end;
}

enum micro_is micro_parse(struct str text, struct micro *ret)
{
	*ret = (struct micro){ 0 };
	if (usual_form(text, ret))
		return MICRO_OK;
	*ret = (struct micro){ .below = text.n && *text.p == '-' };
	text.p += ret->below;
	text.n -= ret->below;
	enum micro_is is = any_form(text, ret);
	ret->below &= ret->ns || ret->rest;
	return is;
}

struct micro micro_add(struct micro a, struct micro b)
{
	uint32_t rest = a.rest + b.rest;
	bool over = rest >= REST;
	return (struct micro){ .ns = a.ns + b.ns + over, .rest = over ? rest - REST : rest };
}

int64_t micro_round(struct micro m)
{
	return m.ns + (m.rest > REST / 2 || (m.rest == REST / 2 && m.ns & 1));
}
