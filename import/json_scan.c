/* Sixteen bytes at a time where the machine can; what is found is looked at byte by byte. */
#include "import/json_scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const char *blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* The first quote, backslash or control character; end if there is none. */
static const char *text_stop(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
	const __m128i last_control = _mm_set1_epi8(0x1f);
	for (; end - p >= 16; p += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash));
		hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(x, last_control), x));
		int mask = _mm_movemask_epi8(hit);
		if (mask)
			return p + __builtin_ctz((unsigned)mask);
	}
#endif
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
		p++;
	return p;
}

/* The first quote or bracket; end if there is none. */
static const char *bracket_stop(const char *p, const char *end)
{
#ifdef __SSE2__
	/* Square brackets and braces differ in one bit. */
	const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
	for (; end - p >= 16; p += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i y = _mm_or_si128(x, bit);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(y, open), _mm_cmpeq_epi8(y, close));
		hit = _mm_or_si128(hit, _mm_cmpeq_epi8(x, quote));
		int mask = _mm_movemask_epi8(hit);
		if (mask)
			return p + __builtin_ctz((unsigned)mask);
	}
#endif
	while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
		p++;
	return p;
}

static bool ends_here(struct json_scan *s)
{
	s->p = s->end;
	s->fault = NULL;
	return false;
}

static bool wrong(struct json_scan *s, const char *at, const char *fault)
{
	s->p = at;
	s->fault = fault;
	return false;
}

/* After the opening quote; p is left behind the closing one. */
static bool text(struct json_scan *s, struct json_value *ret)
{
	const char *begin = s->p, *p = begin;
	bool escaped = false;
	for (;;) {
		p = text_stop(p, s->end);
		if (p == s->end)
			return ends_here(s);
		if (*p == '"')
			break;
		if (*p != '\\')
			return wrong(s, p, "a control character in a text");
		if (s->end - p < 2)
			return ends_here(s);
		escaped = true;
		p += 2;
	}
	if (ret)
		*ret = (struct json_value){ { begin, (size_t)(p - begin) }, '"', escaped };
	s->p = p + 1;
	return true;
}

/* closes: the bracket of what is open, which was entered already. */
static bool nested(struct json_scan *s, char closes)
{
	char stack[JSON_SCAN_DEPTH];
	size_t depth = 1;
	stack[0] = closes;
	for (;;) {
		const char *p = bracket_stop(s->p, s->end);
		if (p == s->end)
			return ends_here(s);
		s->p = p + 1;
		if (*p == '"') {
			if (!text(s, NULL))
				return false;
		} else if (*p == '{' || *p == '[') {
			if (depth == JSON_SCAN_DEPTH)
				return wrong(s, p, "values in values over 512 deep");
			stack[depth++] = *p == '{' ? '}' : ']';
		} else if (*p != stack[--depth]) {
			return wrong(s, p, "a bracket that does not close what is open");
		} else if (!depth) {
			return true;
		}
	}
}

bool json_scan_out(struct json_scan *s)
{
	return nested(s, '}');
}

/* Numbers and words end where neither goes on. What they say is looked at by who wants it. */
static bool scalar(struct json_scan *s, struct json_value *ret)
{
	const char *p = s->p;
	while (p < s->end && ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
			      (*p >= 'A' && *p <= 'Z') || *p == '.' || *p == '-' || *p == '+'))
		p++;
	if (p == s->end)
		return ends_here(s);
	if (p == s->p)
		return wrong(s, p, "a value should stand here");
	char c = *s->p;
	bool number = (c >= '0' && c <= '9') || (c == '-' && s->p + 1 < p && s->p[1] != 'I');
	*ret = (struct json_value){ { s->p, (size_t)(p - s->p) }, number ? '0' : 'w', false };
	struct str t = ret->text;
	static const char *const words[] = {
		"true", "false", "null", "NaN", "Infinity", "-Infinity"
	};
	for (size_t i = 0; !number && i < sizeof words / sizeof *words; i++)
		number = strlen(words[i]) == t.n && memcmp(words[i], t.p, t.n) == 0;
	if (!number)
		return wrong(s, s->p, "a value should stand here");
	s->p = p;
	return true;
}

bool json_scan_value(struct json_scan *s, struct json_value *ret)
{
	if (s->p == s->end)
		return ends_here(s);
	const char *begin = s->p;
	char c = *begin;
	if (c == '"') {
		s->p++;
		return text(s, ret);
	}
	if (c != '{' && c != '[')
		return scalar(s, ret);
	s->p++;
	if (!nested(s, c == '{' ? '}' : ']'))
		return false;
	*ret = (struct json_value){ { begin, (size_t)(s->p - begin) }, c, false };
	return true;
}

static int key_wrong(struct json_scan *s, const char *at, const char *fault)
{
	(void)wrong(s, at, fault);
	return -1;
}

int json_scan_key(struct json_scan *s, bool first, struct json_value *ret)
{
	const char *p = blanks(s->p, s->end);
	if (p < s->end && *p == '}') {
		s->p = p + 1;
		return 0;
	}
	if (p < s->end && !first) {
		if (*p != ',')
			return key_wrong(s, p,
					 "a comma or the end of the object should stand here");
		p = blanks(p + 1, s->end);
	}
	if (p == s->end)
		return key_wrong(s, s->end, NULL);
	if (*p != '"')
		return key_wrong(s, p, "a key should stand here");
	s->p = p + 1;
	if (!text(s, ret))
		return -1;
	p = blanks(s->p, s->end);
	if (p < s->end && *p != ':')
		return key_wrong(s, p, "a colon should stand here");
	p = p < s->end ? blanks(p + 1, s->end) : p;
	if (p == s->end)
		return key_wrong(s, s->end, NULL);
	s->p = p;
	return 1;
}
