/* Columns: numbers into tokens and bits, tokens into rANS words, and back. Writers run within calls
 * of a program, on whatever stack that has: what they work with lies in scratch. */
#include <stdlib.h>
#include <string.h>

#include "lib/pages.h"
#include "schema/iocap_code.h"

#define SCALE_BITS 14
#define SCALE (1u << SCALE_BITS)
#define LOW ((uint64_t)1 << 31)
#define SYMBOLS (IOCAP_TOKENS + IOCAP_OWN_TOKENS)

enum { MODE_NONE, MODE_CONSTANT, MODE_VARINTS, MODE_RANS, MODE_RANS_OWN };

void iocap_column_put(struct iocap_column *c, uint64_t x)
{
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 512;
		void *p = pages_resize(c->x, c->cap * sizeof *c->x, cap * sizeof *c->x);
		if (!p) {
			c->failed = true;
			return;
		}
		c->x = p;
		c->cap = cap;
	}
	c->x[c->n++] = x;
}

void iocap_column_done(struct iocap_column *c)
{
	(void)pages_resize(c->x, c->cap * sizeof *c->x, 0);
	*c = (struct iocap_column){ 0 };
}

size_t iocap_column_memory(const struct iocap_column *c)
{
	return c->cap * sizeof *c->x;
}

/* ---- tokens ---- */

static inline unsigned magnitude(uint64_t x)
{
	return 63 - (unsigned)__builtin_clzll(x | 1);
}

static inline unsigned token_of(uint64_t x)
{
	if (x < 64)
		return (unsigned)x;
	unsigned e = magnitude(x);
	return 64 + (e - 6) * 32 + ((x >> (e - 5)) & 31);
}

/* How many bits of the number are below its token. */
static inline unsigned token_bits(unsigned token)
{
	return token < 64 ? 0 : (token - 64) / 32 + 1;
}

static inline uint64_t token_value(unsigned token, uint64_t low)
{
	if (token < 64)
		return token;
	unsigned e = (token - 64) / 32 + 6, mantissa = (token - 64) % 32;
	return (uint64_t)1 << e | (uint64_t)mantissa << (e - 5) | low;
}

/* ---- writing ---- */

#define OWN_LEAST 512   /* numbers in a column for which some may have tokens of their own */
#define OWN_WORTH 40    /* bits that such a token saves, at least: it costs some 24 in the table */
#define PLACES 4096     /* of the table of numbers: those that find none are no candidates */
#define PLACES_LOOKED 4 /* from the first one on */

struct place {
	uint64_t x; /* 0: free */
	uint32_t count, token;
};

struct coder {
	uint32_t count[SYMBOLS], start[SYMBOLS]; /* of each token */
	uint64_t own[IOCAP_OWN_TOKENS];          /* the numbers, ascending */
	unsigned n_own;
	struct place places[PLACES];
	uint8_t *low; /* the bits below, least significant first */
	size_t n_low;
	uint64_t bits;
	unsigned n_bits;
	uint16_t *tokens;
	uint8_t *words;
	size_t words_room;
};

static void low_put(struct coder *k, uint64_t x, unsigned n)
{
	k->bits |= x << k->n_bits;
	if (k->n_bits + n < 64) {
		k->n_bits += n;
		return;
	}
	memcpy(k->low + k->n_low, &k->bits, 8);
	k->n_low += 8;
	unsigned used = 64 - k->n_bits;
	k->bits = used < 64 ? x >> used : 0;
	k->n_bits = n - used;
}

static void low_end(struct coder *k)
{
	memcpy(k->low + k->n_low, &k->bits, 8);
	k->n_low += (k->n_bits + 7) / 8;
}

/* The place of a number, or a free one; NULL: neither is near. */
static inline struct place *place_of(struct coder *k, uint64_t x)
{
	uint32_t h = (uint32_t)((x * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
	for (unsigned i = 0; i < PLACES_LOOKED; i++) {
		struct place *p = &k->places[(h + i) % PLACES];
		if (p->x == x || !p->x)
			return p;
	}
	return NULL;
}

/* Shell's way: at most IOCAP_OWN_TOKENS, and qsort may call malloc. */
static void sort(uint64_t *x, unsigned n)
{
	for (unsigned gap = 364; gap; gap /= 3)
		for (unsigned i = gap; i < n; i++) {
			uint64_t v = x[i];
			unsigned at = i;
			for (; at >= gap && x[at - gap] > v; at -= gap)
				x[at] = x[at - gap];
			x[at] = v;
		}
}

/* Which numbers get tokens of their own. */
static void choose_own(struct coder *k, const struct iocap_column *c)
{
	uint64_t worth = OWN_WORTH;
	memset(k->places, 0, sizeof k->places);
	for (size_t i = 0; i < c->n; i++) {
		uint64_t x = c->x[i];
		struct place *p = x < 64 ? NULL : place_of(k, x);
		if (p) {
			p->x = x;
			p->count++;
		}
	}
	for (bool fits = false; !fits; worth *= 2) {
		k->n_own = 0;
		fits = true;
		for (unsigned i = 0; i < PLACES && fits; i++) {
			const struct place *p = &k->places[i];
			if (!p->x || (uint64_t)p->count * token_bits(token_of(p->x)) < worth)
				continue;
			fits = k->n_own < IOCAP_OWN_TOKENS;
			if (fits)
				k->own[k->n_own++] = p->x;
		}
	}
	sort(k->own, k->n_own);
	for (unsigned i = 0; i < k->n_own; i++)
		place_of(k, k->own[i])->token = IOCAP_TOKENS + i;
}

static void tokens_make(struct coder *k, const struct iocap_column *c)
{
	for (size_t i = 0; i < c->n; i++) {
		uint64_t x = c->x[i];
		const struct place *p = x < 64 || !k->n_own ? NULL : place_of(k, x);
		unsigned t = p && p->x == x && p->token ? p->token : token_of(x);
		if (t >= 64 && t < IOCAP_TOKENS) {
			unsigned n = token_bits(t);
			low_put(k, x & (((uint64_t)1 << n) - 1), n);
		}
		k->tokens[i] = (uint16_t)t;
		k->count[t]++;
	}
	low_end(k);
}

/* Frequencies that add up to SCALE, none of a token that occurs 0. */
static void normalise(uint32_t *count, unsigned tokens, size_t n)
{
	uint32_t sum = 0, most = 0;
	for (unsigned t = 0; t < tokens; t++) {
		if (!count[t])
			continue;
		uint32_t f = (uint32_t)((uint64_t)count[t] * SCALE / n);
		count[t] = f ? f : 1;
		sum += count[t];
		if (count[t] > count[most] || !count[most])
			most = t;
	}
	while (sum > SCALE) { /* those that were rounded up: the largest can spare it */
		uint32_t spare = count[most] / 2, over = sum - SCALE;
		uint32_t give = over < spare ? over : spare;
		count[most] -= give;
		sum -= give;
		for (unsigned t = 0; t < tokens; t++)
			if (count[t] > count[most])
				most = t;
	}
	count[most] += SCALE - sum;
}

static void table_write(struct coder *k, unsigned tokens, struct iocap_bytes *out)
{
	uint32_t sum = 0, used = 0;
	for (unsigned t = 0; t < tokens; t++) {
		k->start[t] = sum;
		sum += k->count[t];
		used += k->count[t] != 0;
	}
	iocap_varint_put(out, used);
	for (unsigned t = 0, last = 0; t < tokens; t++)
		if (k->count[t]) {
			iocap_varint_put(out, t - last);
			iocap_varint_put(out, k->count[t]);
			last = t;
		}
}

/* From the last token to the first, words from the end of the room: the reader goes forward. */
static void words_write(const struct coder *k, size_t n, struct iocap_bytes *out)
{
	size_t at = k->words_room;
	uint64_t x = LOW;
	for (size_t i = n; i-- > 0;) {
		unsigned t = k->tokens[i];
		uint32_t f = k->count[t];
		if (x >= ((LOW >> SCALE_BITS) << 32) * f) {
			uint32_t word = (uint32_t)x;
			at -= 4;
			memcpy(k->words + at, &word, 4);
			x >>= 32;
		}
		x = ((x / f) << SCALE_BITS) + x % f + k->start[t];
	}
	at -= 8;
	memcpy(k->words + at, &x, 8);
	iocap_varint_put(out, k->words_room - at);
	iocap_bytes_put(out, k->words + at, k->words_room - at);
}

/* What the coder works with, in one piece of scratch. low_bits: at most so many. */
static struct coder *coder_begin(struct iocap_bytes *scratch, size_t n, uint64_t low_bits)
{
	size_t own = (sizeof(struct coder) + 15) & ~(size_t)15;
	size_t low = ((size_t)(low_bits / 8) + 31) & ~(size_t)15;
	size_t tokens = (n * sizeof(uint16_t) + 15) & ~(size_t)15;
	size_t words = (n * 2 + 64) & ~(size_t)3; /* a token has at most SCALE_BITS bits */
	scratch->len = 0;
	if (!iocap_room(scratch, own + low + tokens + words))
		return NULL;
	struct coder *k = (struct coder *)(void *)scratch->data;
	memset(k->count, 0, sizeof k->count);
	k->n_own = k->n_bits = 0;
	k->bits = k->n_low = 0;
	k->low = scratch->data + own;
	k->tokens = (uint16_t *)(void *)(k->low + low);
	k->words = (uint8_t *)k->tokens + tokens;
	k->words_room = words;
	return k;
}

static void rans_write(const struct iocap_column *c, uint64_t low_bits, struct iocap_bytes *out,
		       struct iocap_bytes *scratch)
{
	struct coder *k = coder_begin(scratch, c->n, low_bits);
	if (!k)
		return;
	if (c->n >= OWN_LEAST && low_bits)
		choose_own(k, c);
	tokens_make(k, c);
	unsigned tokens = IOCAP_TOKENS + k->n_own;
	iocap_varint_put(out, k->n_own ? MODE_RANS_OWN : MODE_RANS);
	if (k->n_own)
		iocap_varint_put(out, k->n_own);
	for (unsigned i = 0; i < k->n_own; i++)
		iocap_varint_put(out, k->own[i] - (i ? k->own[i - 1] : 0));
	normalise(k->count, tokens, c->n);
	table_write(k, tokens, out);
	words_write(k, c->n, out);
	iocap_varint_put(out, k->n_low);
	iocap_bytes_put(out, k->low, k->n_low);
}

void iocap_column_copy(const struct iocap_column *c, struct iocap_bytes *out,
		       struct iocap_bytes *scratch)
{
	bool constant = true;
	size_t as_varints = 0;
	uint64_t low_bits = 0;
	for (size_t i = 0; i < c->n; i++) {
		uint64_t x = c->x[i];
		unsigned e = magnitude(x);
		constant &= x == c->x[0];
		as_varints += e / 7 + 1;
		low_bits += e > 5 ? e - 5 : 0;
	}
	iocap_varint_put(out, c->n);
	if (c->n && constant) {
		iocap_varint_put(out, MODE_CONSTANT);
		iocap_varint_put(out, c->x[0]);
	} else if (c->n) {
		size_t before = out->len;
		if (as_varints > 8) /* else no table is smaller */
			rans_write(c, low_bits, out, scratch);
		if (as_varints <= 8 || out->len - before > as_varints + 1) {
			out->len = before;
			iocap_varint_put(out, MODE_VARINTS);
			for (size_t i = 0; i < c->n; i++)
				iocap_varint_put(out, c->x[i]);
		}
	}
	out->failed |= scratch->failed || c->failed;
}

void iocap_column_write(struct iocap_column *c, struct iocap_bytes *out,
			struct iocap_bytes *scratch)
{
	iocap_column_copy(c, out, scratch);
	c->n = 0;
}

/* ---- reading ---- */

struct low_in {
	const uint8_t *p;
	size_t n, at; /* at in bits */
};

static uint64_t low_get(struct low_in *l, unsigned n, bool *bad)
{
	uint64_t x = 0;
	if (l->at + n > l->n * 8) {
		*bad = true;
		return 0;
	}
	for (unsigned got = 0; got < n;) {
		unsigned shift = l->at % 8, take = 8 - shift;
		if (take > n - got)
			take = n - got;
		x |= (uint64_t)((l->p[l->at / 8] >> shift) & ((1u << take) - 1)) << got;
		got += take;
		l->at += take;
	}
	return x;
}

struct rans_in {
	uint16_t freq[SYMBOLS], start[SYMBOLS], token[SCALE];
	uint64_t own[IOCAP_OWN_TOKENS];
	unsigned n_own;
	const uint8_t *words;
	size_t n, at;
	uint64_t x;
};

static void own_read(struct iocap_in *in, struct rans_in *r)
{
	uint64_t n = iocap_varint(in), x = 0;
	if (n > IOCAP_OWN_TOKENS)
		in->bad = true;
	for (uint64_t i = 0; i < n && !in->bad; i++)
		r->own[i] = x += iocap_varint(in);
	r->n_own = in->bad ? 0 : (unsigned)n;
}

static void rans_begin(struct iocap_in *in, struct rans_in *r)
{
	uint64_t used = iocap_varint(in), t = 0, tokens = IOCAP_TOKENS + r->n_own;
	uint32_t sum = 0;
	for (uint64_t i = 0; i < used && !in->bad; i++) {
		uint64_t step = iocap_varint(in), f = iocap_varint(in);
		if (step >= tokens || (t += step) >= tokens || (i && !step) || !f ||
		    f > SCALE - sum) {
			in->bad = true;
			return;
		}
		r->freq[t] = (uint16_t)f;
		r->start[t] = (uint16_t)sum;
		for (uint64_t k = 0; k < f; k++)
			r->token[sum++] = (uint16_t)t;
	}
	r->n = iocap_varint(in);
	r->words = iocap_take(in, r->n);
	if (sum != SCALE || !r->words || r->n < 8 || r->n % 4) {
		in->bad = true;
		return;
	}
	memcpy(&r->x, r->words, 8);
	r->at = 8;
}

static unsigned rans_get(struct rans_in *r, bool *bad)
{
	uint32_t slot = r->x & (SCALE - 1);
	unsigned t = r->token[slot];
	r->x = r->freq[t] * (r->x >> SCALE_BITS) + slot - r->start[t];
	if (r->x < LOW) {
		uint32_t word = 0;
		if (r->at + 4 > r->n)
			*bad = true;
		else
			memcpy(&word, r->words + r->at, 4);
		r->at += 4;
		r->x = r->x << 32 | word;
	}
	return t;
}

static void rans_read(struct iocap_in *in, uint64_t *x, size_t n, bool own)
{
	struct rans_in *r = calloc(1, sizeof *r);
	if (!r) {
		in->bad = true;
		return;
	}
	if (own)
		own_read(in, r);
	rans_begin(in, r);
	struct low_in low = { .n = iocap_varint(in) };
	low.p = iocap_take(in, low.n);
	for (size_t i = 0; i < n && !in->bad; i++) {
		unsigned t = rans_get(r, &in->bad);
		x[i] = t >= IOCAP_TOKENS ? r->own[t - IOCAP_TOKENS]
					 : token_value(t, low_get(&low, token_bits(t), &in->bad));
	}
	free(r);
}

uint64_t *iocap_column_read(struct iocap_in *in, size_t max, size_t *ret_n)
{
	uint64_t n = iocap_varint(in);
	*ret_n = 0;
	if (in->bad || n > max)
		in->bad = true;
	if (in->bad || !n)
		return NULL;
	uint64_t *x = malloc(n * sizeof *x);
	if (!x) {
		in->bad = true;
		return NULL;
	}
	uint64_t mode = iocap_varint(in);
	if (mode == MODE_CONSTANT) {
		uint64_t one = iocap_varint(in);
		for (size_t i = 0; i < n; i++)
			x[i] = one;
	} else if (mode == MODE_VARINTS) {
		for (size_t i = 0; i < n && !in->bad; i++)
			x[i] = iocap_varint(in);
	} else if (mode == MODE_RANS || mode == MODE_RANS_OWN) {
		rans_read(in, x, n, mode == MODE_RANS_OWN);
	} else {
		in->bad = true;
	}
	if (in->bad) {
		free(x);
		return NULL;
	}
	*ret_n = n;
	return x;
}

static void skip_varints(struct iocap_in *in, uint64_t n)
{
	for (; n && !in->bad; n--)
		(void)iocap_varint(in);
}

size_t iocap_column_skip(struct iocap_in *in)
{
	uint64_t n = iocap_varint(in);
	if (in->bad || !n)
		return 0;
	uint64_t mode = iocap_varint(in);
	if (mode == MODE_RANS_OWN)
		skip_varints(in, iocap_varint(in));
	if (mode == MODE_CONSTANT)
		skip_varints(in, 1);
	else if (mode == MODE_VARINTS)
		skip_varints(in, n);
	else if (mode == MODE_RANS || mode == MODE_RANS_OWN)
		skip_varints(in, iocap_varint(in) * 2);
	else
		in->bad = true;
	for (int part = 0; mode >= MODE_RANS && part < 2; part++)
		(void)iocap_take(in, iocap_varint(in));
	return in->bad ? 0 : n;
}
