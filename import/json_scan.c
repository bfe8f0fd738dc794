/* Sixteen bytes at a time where the machine can; what is found is looked at byte by byte. */
#include "import/json_scan.h"

#include <stdint.h>

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

/* ---- to the end of what is open ----------------------------------------------------------------
 */

/* Of both kinds of brackets only how many are open is kept, so that a block without the last one is
 * counted, and not looked at byte by byte. */
struct nest {
	size_t square, curly;
	bool in_text, escaped;
	char closes; /* the last one is of this kind */
};

/* One byte. 1: that was the end, 0: go on, -1: see fault. */
static int nest_byte(struct nest *n, char c, const char **fault)
{
	if (n->in_text) {
		*fault = "a control character in a text";
		n->in_text = c != '"' || n->escaped;
		n->escaped = c == '\\' && !n->escaped;
		return (unsigned char)c < ' ' ? -1 : 0;
	}
	n->in_text = c == '"';
	size_t *open = (c | 0x20) != '}' && (c | 0x20) != '{' ? NULL
		       : c & 0x20			       ? &n->curly
							       : &n->square;
	if (!open)
		return 0;
	if (c == '{' || c == '[') {
		*fault = "values in values over 512 deep";
		++*open;
		return n->curly + n->square > JSON_SCAN_DEPTH ? -1 : 0;
	}
	*fault = "a bracket that does not close what is open";
	if (!*open)
		return -1;
	--*open;
	return n->curly + n->square ? 0 : c == n->closes ? 1 : -1;
}

#define BLOCK 64

#ifdef __SSE2__
struct masks {
	uint64_t quote, slash, control, open, close, curly;
};

static inline uint64_t mask_of(__m128i x)
{
	return (uint64_t)(uint32_t)_mm_movemask_epi8(x);
}

static inline struct masks masks_of(const char *p)
{
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
	const __m128i last_control = _mm_set1_epi8(0x1f), bit = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
	struct masks m = { 0 };
	for (unsigned i = 0; i < BLOCK; i += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i y = _mm_or_si128(x, bit); /* '[' and '{' differ in this one */
		m.quote |= mask_of(_mm_cmpeq_epi8(x, quote)) << i;
		m.slash |= mask_of(_mm_cmpeq_epi8(x, slash)) << i;
		m.control |= mask_of(_mm_cmpeq_epi8(_mm_min_epu8(x, last_control), x)) << i;
		m.open |= mask_of(_mm_cmpeq_epi8(y, open)) << i;
		m.close |= mask_of(_mm_cmpeq_epi8(y, close)) << i;
		m.curly |= mask_of(_mm_slli_epi16(x, 2)) << i; /* that bit, as the sign */
	}
	return m;
}

/* Bit i: an odd number of quotes stands before or at byte i. */
static inline uint64_t in_texts(uint64_t quotes)
{
	for (unsigned shift = 1; shift < BLOCK; shift *= 2)
		quotes ^= quotes << shift;
	return quotes;
}

/* Inline on all machines; the compiler's own is a call where it may not take the instruction. */
static inline size_t count(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555u;
	bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
	return (size_t)(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* The last bracket may be one of these. */
static int nest_brackets(struct nest *n, const char *p, uint64_t brackets, const char **ret_end)
{
	const char *fault;
	n->in_text = false;
	for (; brackets; brackets &= brackets - 1) {
		const char *at = p + __builtin_ctzll(brackets);
		int rc = nest_byte(n, *at, &fault);
		*ret_end = at + 1;
		if (rc)
			return rc;
	}
	return 0;
}

/* A block: 0: taken, 1: it ends at *ret_end, -1: n is as before, look at each byte. */
static int nest_block(struct nest *n, const char *p, const char **ret_end)
{
	struct masks m = masks_of(p);
	uint64_t text = in_texts(m.quote) ^ (n->in_text ? ~(uint64_t)0 : 0);
	uint64_t open = m.open & ~text, close = m.close & ~text;
	size_t opened = count(open), closed = count(close), depth = n->curly + n->square;
	size_t curly = count(close & m.curly), square = closed - curly;
	if (n->escaped || m.slash || (m.control & text) || depth + opened > JSON_SCAN_DEPTH)
		return -1;
	struct nest next = *n;
	if (closed < depth && curly <= n->curly && square <= n->square) {
		size_t more = count(open & m.curly);
		next.curly += more - curly;
		next.square += opened - more - square;
	} else {
		int rc = nest_brackets(&next, p, open | close, ret_end);
		if (rc)
			return rc;
	}
	next.in_text = text >> (BLOCK - 1);
	*n = next;
	return 0;
}
#else
static int nest_block(struct nest *n, const char *p, const char **ret_end)
{
	(void)n;
	(void)p;
	(void)ret_end;
	return -1;
}
#endif

/* closes: the bracket of what is open, which was entered already. */
static bool nested(struct json_scan *s, char closes)
{
	struct nest n = { .square = closes == ']', .curly = closes == '}', .closes = closes };
	const char *p = s->p, *fault = NULL;
	while (p < s->end) {
		size_t left = (size_t)(s->end - p);
		int rc = left < BLOCK ? -1 : nest_block(&n, p, &s->p);
		if (rc > 0)
			return true;
		if (!rc) {
			p += BLOCK;
			continue;
		}
		for (size_t i = left < BLOCK ? left : BLOCK; i; i--, p++) {
			rc = nest_byte(&n, *p, &fault);
			if (rc < 0)
				return wrong(s, p, fault);
			s->p = p + 1;
			if (rc > 0)
				return true;
		}
	}
	return ends_here(s);
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
