/* "B mono real" and "E mono real", the two lines that nearly all of a big hpcperf log is made of,
 * read with SSE2. Where there is none, and for every line that is not exactly like this, the
 * answer is NULL, and the parser goes its slower way, which knows all the rules. */
#ifndef SCHEMA_HPCPERFLOG_FAST_H
#define SCHEMA_HPCPERFLOG_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define FAST_BYTES 64 /* that must be readable from the line on, and eight before it */

/* A mark of the fast path. Its wall-clock time is only looked at, not worked out: of all of them
 * two are needed. */
struct mark {
	int64_t ns;
	const char *real;
	unsigned real_n;
};

/* The line before. Of two lines in a row only the last eight digits of each number differ, more
 * often than not: then the rest is compared and not read again. */
struct shape {
	unsigned middle, end; /* places of the second blank and of the newline; 0, 0: none */
	unsigned at[4];       /* where what must be the same begins, eight bytes each */
	uint64_t same[4], mask[4];
	int64_t top; /* what the leading digits of the first number are worth */
};

#if defined __SSE2__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

static inline uint64_t load(const char *p)
{
	uint64_t w;
	memcpy(&w, p, 8);
	return w;
}

/* The k digits before end as one word, the last one highest, zeros in front of them. Bytes before
 * them are read and dropped. */
static inline uint64_t word(const char *end, unsigned k)
{
	uint64_t w = load(end - 8), zeros = 0x3030303030303030u;
	if (k == 8)
		return w;
	unsigned drop = 8 * (8 - k);
	return w >> drop << drop | zeros >> (64 - drop);
}

static inline bool all_digits(uint64_t w)
{
	/* '0'..'9' keep the nibble 3 when six is added; nothing carries over to the next byte. */
	return ((w & 0xf0f0f0f0f0f0f0f0u) |
		(((w + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4)) == 0x3333333333333333u;
}

static inline uint64_t eight_digits(uint64_t w)
{
	w = (w & 0x0f0f0f0f0f0f0f0fu) * 2561 >> 8; /* pairs */
	return ((w & 0x000000ff000000ffu) * 0x000f424000000064u +
		((w >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
	       32;
}

/* 1 to 18 digits before end. */
static inline bool fast_number(const char *end, unsigned n, int64_t *ret)
{
	uint64_t value = 0, scale = 1;
	bool good = true;
	for (;; n -= 8) {
		uint64_t w = word(end, n < 8 ? n : 8);
		good &= all_digits(w);
		value += scale * eight_digits(w);
		if (n <= 8)
			break;
		scale *= 100000000;
		end -= 8;
	}
	*ret = (int64_t)value;
	return good;
}

static inline bool fast_digits(const char *end, unsigned n)
{
	bool good = true;
	for (; n > 8; n -= 8, end -= 8)
		good &= all_digits(word(end, 8));
	return good & all_digits(word(end, n));
}

/* Where this byte stands among the 48 from p, a bit each. */
static inline uint64_t places(__m128i a, __m128i b, __m128i c, char byte)
{
	__m128i like = _mm_set1_epi8(byte);
	return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, like)) |
	       (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(b, like)) << 16 |
	       (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(c, like)) << 32;
}

/* Bytes [from, to) of the line must stay: two loads that may overlap, the bytes past them masked.
 */
static inline void shape_same(struct shape *s, const char *p, unsigned i, unsigned from,
			      unsigned to)
{
	unsigned n = to - from; /* 1 to 12 */
	s->at[i] = from;
	s->at[i + 1] = n > 8 ? to - 8 : from;
	s->mask[i] = s->mask[i + 1] = n < 8 ? (UINT64_C(1) << (8 * n)) - 1 : UINT64_MAX;
	s->same[i] = load(p + s->at[i]) & s->mask[i];
	s->same[i + 1] = load(p + s->at[i + 1]) & s->mask[i + 1];
}

static inline void shape_of(struct shape *s, const char *p, unsigned middle, unsigned end,
			    int64_t ns)
{
	s->end = 0;
	if (middle < 10 || middle > 18 || end - middle < 9)
		return; /* the first number has 8 to 16 digits, the second 8 or more */
	s->middle = middle;
	s->end = end;
	shape_same(s, p, 0, 1, middle - 8);
	shape_same(s, p, 2, middle, end - 8);
	s->top = ns - ns % 100000000;
}

static inline bool like_before(const char *p, const struct shape *s, struct mark *ret)
{
	uint64_t differs = 0, low = load(p + s->middle - 8), real = load(p + s->end - 8);
	for (unsigned i = 0; i < 4; i++)
		differs |= (load(p + s->at[i]) & s->mask[i]) ^ s->same[i];
	if (differs || p[s->end] != '\n' || !all_digits(low) || !all_digits(real))
		return false;
	ret->ns = s->top + (int64_t)eight_digits(low);
	ret->real = p + s->middle + 1;
	ret->real_n = s->end - s->middle - 1;
	return true;
}

/* "B 123 456\n" or "E 123 456\n": the place after it, or NULL when it is anything else. Where the
 * line ends is found before its numbers are read, so that the next line need not wait for them. */
static inline const char *fast_mark(const char *p, struct shape *shape, struct mark *ret)
{
	if (*p != 'B' && *p != 'E')
		return NULL;
	if (shape->end && like_before(p, shape, ret))
		return p + shape->end + 1;
	__m128i a = _mm_loadu_si128((const void *)p), b = _mm_loadu_si128((const void *)(p + 16)),
		c = _mm_loadu_si128((const void *)(p + 32));
	uint64_t newline = places(a, b, c, '\n'), space = places(a, b, c, ' ') & ~(uint64_t)3;
	if (p[1] != ' ' || !newline || !space)
		return NULL;
	unsigned end = (unsigned)__builtin_ctzll(newline),
		 middle = (unsigned)__builtin_ctzll(space);
	unsigned n = middle - 2, real_n = end - middle - 1;
	if (middle >= end || n - 1 > 17 || real_n - 1 > 18 ||
	    (real_n == 19 && p[middle + 1] == '9'))
		return NULL;
	ret->real = p + middle + 1;
	ret->real_n = real_n;
	if (!fast_number(p + middle, n, &ret->ns) || !fast_digits(p + end, real_n))
		return NULL;
	shape_of(shape, p, middle, end, ret->ns);
	return p + end + 1;
}

#else

static inline const char *fast_mark(const char *p, struct shape *shape, struct mark *ret)
{
	(void)p;
	(void)shape;
	(void)ret;
	return NULL; /* the slow path knows all the rules */
}

#endif

#endif
