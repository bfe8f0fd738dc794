#define XXH_INLINE_ALL
#include "schema/iocap_code.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/pages.h"

#define SCALE_BITS 14
#define SCALE (1u << SCALE_BITS)
#define LOW ((uint64_t)1 << 31)

enum { MODE_NONE, MODE_CONSTANT, MODE_VARINTS, MODE_RANS };

bool iocap_room(struct iocap_bytes *b, size_t more)
{
	if (b->failed || more > SIZE_MAX / 4 - b->len)
		return false;
	if (b->len + more <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap : 4096;
	while (cap < b->len + more)
		cap *= 2;
	void *p = pages_resize(b->data, b->cap, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

void iocap_bytes_put(struct iocap_bytes *b, const void *bytes, size_t n)
{
	if (!n || !iocap_room(b, n))
		return;
	memcpy(b->data + b->len, bytes, n);
	b->len += n;
}

void iocap_varint_put(struct iocap_bytes *b, uint64_t x)
{
	if (!iocap_room(b, 10))
		return;
	for (; x >= 128; x >>= 7)
		b->data[b->len++] = (uint8_t)(x | 128);
	b->data[b->len++] = (uint8_t)x;
}

void iocap_bytes_done(struct iocap_bytes *b)
{
	(void)pages_resize(b->data, b->cap, 0);
	*b = (struct iocap_bytes){ 0 };
}

/* ---- columns ---- */

static inline unsigned magnitude(uint64_t x)
{
	return 63 - (unsigned)__builtin_clzll(x | 1);
}

static void low_put(struct iocap_column *c, uint64_t x, unsigned n)
{
	c->bits |= x << c->n_bits;
	if (c->n_bits + n < 64) {
		c->n_bits += n;
		return;
	}
	if (iocap_room(&c->low, 8)) {
		memcpy(c->low.data + c->low.len, &c->bits, 8);
		c->low.len += 8;
	}
	unsigned used = 64 - c->n_bits;
	c->bits = used < 64 ? x >> used : 0;
	c->n_bits = n - used;
}

void iocap_column_put(struct iocap_column *c, uint64_t x)
{
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 2048;
		void *p = pages_resize(c->tokens, c->cap * 2, cap * 2);
		if (!p) {
			c->failed = true;
			return;
		}
		c->tokens = p;
		c->cap = cap;
	}
	if (!c->n) {
		c->first = x;
		c->constant = true;
	} else if (x != c->first) {
		c->constant = false;
	}
	if (x < 64) {
		c->tokens[c->n++] = (uint16_t)x;
		c->varint_bytes++;
		return;
	}
	unsigned e = magnitude(x);
	c->tokens[c->n++] = (uint16_t)(64 + (e - 6) * 32 + ((x >> (e - 5)) & 31));
	c->varint_bytes += e / 7 + 1;
	if (e > 5)
		low_put(c, x & (((uint64_t)1 << (e - 5)) - 1), e - 5);
}

static void low_end(struct iocap_column *c)
{
	if (c->n_bits)
		iocap_bytes_put(&c->low, &c->bits, (c->n_bits + 7) / 8);
	c->bits = 0;
	c->n_bits = 0;
}

static uint64_t token_value(unsigned token, uint64_t low)
{
	if (token < 64)
		return token;
	unsigned e = (token - 64) / 32 + 6, mantissa = (token - 64) % 32;
	return (uint64_t)1 << e | (uint64_t)mantissa << (e - 5) | low;
}

static unsigned token_bits(unsigned token)
{
	return token < 64 ? 0 : (token - 64) / 32 + 1;
}

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

/* Frequencies that add up to SCALE, none of a token that occurs 0. */
static void normalise(uint32_t count[IOCAP_TOKENS], size_t n)
{
	uint32_t sum = 0, most = 0;
	for (unsigned t = 0; t < IOCAP_TOKENS; t++) {
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
		for (unsigned t = 0; t < IOCAP_TOKENS; t++)
			if (count[t] > count[most])
				most = t;
	}
	count[most] += SCALE - sum;
}

static void rans_write(const struct iocap_column *c, struct iocap_bytes *out,
		       struct iocap_bytes *words)
{
	uint32_t count[IOCAP_TOKENS] = { 0 }, start[IOCAP_TOKENS];
	for (size_t i = 0; i < c->n; i++)
		count[c->tokens[i]]++;
	normalise(count, c->n);
	uint32_t sum = 0, used = 0;
	for (unsigned t = 0; t < IOCAP_TOKENS; t++) {
		start[t] = sum;
		sum += count[t];
		used += count[t] != 0;
	}
	iocap_varint_put(out, used);
	for (unsigned t = 0, last = 0; t < IOCAP_TOKENS; t++)
		if (count[t]) {
			iocap_varint_put(out, t - last);
			iocap_varint_put(out, count[t]);
			last = t;
		}
	words->len = 0;
	if (!iocap_room(words, c->n * 2 + 64))
		return;
	/* From the last token to the first, words from the end of the room: the reader goes
	 * forward. */
	size_t at = words->cap & ~(size_t)3;
	uint64_t x = LOW;
	for (size_t i = c->n; i-- > 0;) {
		uint32_t f = count[c->tokens[i]];
		if (x >= ((LOW >> SCALE_BITS) << 32) * f) {
			uint32_t word = (uint32_t)x;
			at -= 4;
			memcpy(words->data + at, &word, 4);
			x >>= 32;
		}
		x = ((x / f) << SCALE_BITS) + x % f + start[c->tokens[i]];
	}
	at -= 8;
	memcpy(words->data + at, &x, 8);
	size_t n = (words->cap & ~(size_t)3) - at;
	iocap_varint_put(out, n);
	iocap_bytes_put(out, words->data + at, n);
}

static void varints_write(const struct iocap_column *c, struct iocap_bytes *out)
{
	struct low_in low = { c->low.data, c->low.len, 0 };
	bool bad = false;
	for (size_t i = 0; i < c->n; i++) {
		unsigned t = c->tokens[i];
		iocap_varint_put(out, token_value(t, low_get(&low, token_bits(t), &bad)));
	}
}

void iocap_column_write(struct iocap_column *c, struct iocap_bytes *out,
			struct iocap_bytes *scratch)
{
	low_end(c);
	iocap_varint_put(out, c->n);
	if (!iocap_room(out, 1)) {
	} else if (c->n && c->constant) {
		out->data[out->len++] = MODE_CONSTANT;
		iocap_varint_put(out, c->first);
	} else if (c->n) {
		size_t before = out->len;
		out->data[out->len++] = MODE_RANS;
		rans_write(c, out, scratch);
		iocap_varint_put(out, c->low.len);
		iocap_bytes_put(out, c->low.data, c->low.len);
		if (out->len - before > c->varint_bytes + 1) {
			out->len = before;
			out->data[out->len++] = MODE_VARINTS;
			varints_write(c, out);
		}
	}
	out->failed |= c->low.failed || scratch->failed || c->failed;
	c->n = c->varint_bytes = c->low.len = 0;
}

void iocap_column_done(struct iocap_column *c)
{
	(void)pages_resize(c->tokens, c->cap * 2, 0);
	iocap_bytes_done(&c->low);
	*c = (struct iocap_column){ 0 };
}

size_t iocap_column_memory(const struct iocap_column *c)
{
	return c->cap * 2 + c->low.cap;
}

/* ---- reading ---- */

uint8_t iocap_byte(struct iocap_in *in)
{
	const uint8_t *p = iocap_take(in, 1);
	return p ? *p : 0;
}

const uint8_t *iocap_take(struct iocap_in *in, size_t n)
{
	if (in->bad || n > (size_t)(in->end - in->at)) {
		in->bad = true;
		return NULL;
	}
	const uint8_t *p = in->at;
	in->at += n;
	return p;
}

uint64_t iocap_varint(struct iocap_in *in)
{
	uint64_t x = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = iocap_byte(in);
		x |= (uint64_t)(b & 127) << shift;
		if (b < 128) {
			if (shift == 63 && b > 1)
				in->bad = true;
			return in->bad ? 0 : x;
		}
	}
	in->bad = true;
	return 0;
}

struct rans_in {
	uint16_t freq[IOCAP_TOKENS], start[IOCAP_TOKENS], token[SCALE];
	const uint8_t *words;
	size_t n, at;
	uint64_t x;
};

static void rans_begin(struct iocap_in *in, struct rans_in *r)
{
	uint64_t used = iocap_varint(in), t = 0;
	uint32_t sum = 0;
	for (uint64_t i = 0; i < used && !in->bad; i++) {
		uint64_t step = iocap_varint(in), f = iocap_varint(in);
		if (step >= IOCAP_TOKENS || (t += step) >= IOCAP_TOKENS || (i && !step) || !f ||
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

static void rans_read(struct iocap_in *in, uint64_t *x, size_t n)
{
	struct rans_in *r = calloc(1, sizeof *r);
	if (!r) {
		in->bad = true;
		return;
	}
	rans_begin(in, r);
	struct low_in low = { .n = iocap_varint(in) };
	low.p = iocap_take(in, low.n);
	for (size_t i = 0; i < n && !in->bad; i++) {
		unsigned t = rans_get(r, &in->bad);
		x[i] = token_value(t, low_get(&low, token_bits(t), &in->bad));
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
	unsigned mode = iocap_byte(in);
	if (mode == MODE_CONSTANT) {
		uint64_t one = iocap_varint(in);
		for (size_t i = 0; i < n; i++)
			x[i] = one;
	} else if (mode == MODE_VARINTS) {
		for (size_t i = 0; i < n && !in->bad; i++)
			x[i] = iocap_varint(in);
	} else if (mode == MODE_RANS) {
		rans_read(in, x, n);
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

size_t iocap_column_skip(struct iocap_in *in)
{
	uint64_t n = iocap_varint(in);
	if (in->bad || !n)
		return 0;
	unsigned mode = iocap_byte(in);
	uint64_t used = 0;
	if (mode == MODE_CONSTANT)
		(void)iocap_varint(in);
	else if (mode == MODE_RANS)
		used = iocap_varint(in) * 2;
	else if (mode == MODE_VARINTS)
		used = n;
	else
		in->bad = true;
	for (uint64_t i = 0; i < used && !in->bad; i++)
		(void)iocap_varint(in);
	for (int part = 0; mode == MODE_RANS && part < 2; part++)
		(void)iocap_take(in, iocap_varint(in));
	return in->bad ? 0 : n;
}

/* ---- blocks ---- */

static uint32_t check_of(const uint8_t head[12], const void *payload, size_t n)
{
	uint64_t seed;
	memcpy(&seed, head, 8);
	uint32_t items;
	memcpy(&items, head + 8, 4);
	return (uint32_t)XXH64(n ? payload : "", n, seed ^ (uint64_t)items << 32);
}

static void put32(uint8_t *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(x >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void iocap_block_put(struct iocap_bytes *out, unsigned type, unsigned stream, uint32_t items,
		     const struct iocap_bytes *payload)
{
	uint8_t head[IOCAP_BLOCK_HEAD];
	put32(head, type | stream << 16);
	put32(head + 4, (uint32_t)payload->len);
	put32(head + 8, items);
	put32(head + 12, check_of(head, payload->data, payload->len));
	iocap_bytes_put(out, head, sizeof head);
	iocap_bytes_put(out, payload->data, payload->len);
	out->failed |= payload->failed;
}

bool iocap_block_get(struct iocap_in *in, struct iocap_block_in *ret)
{
	struct iocap_in look = *in;
	const uint8_t *head = iocap_take(&look, IOCAP_BLOCK_HEAD);
	if (!head)
		return false;
	size_t n = get32(head + 4);
	const uint8_t *payload = iocap_take(&look, n);
	if (!payload || get32(head + 12) != check_of(head, payload, n))
		return false;
	ret->type = get32(head) & 0xffff;
	ret->stream = get32(head) >> 16;
	ret->items = get32(head + 8);
	ret->in = (struct iocap_in){ payload, payload + n, false };
	*in = look;
	return true;
}

static void put64(uint8_t *p, uint64_t x)
{
	put32(p, (uint32_t)x);
	put32(p + 4, (uint32_t)(x >> 32));
}

void iocap_open_head(uint8_t head[IOCAP_OPEN_HEAD], uint64_t turn, const void *bytes, size_t n)
{
	memcpy(head, "roicapo\n", 8);
	put64(head + 8, turn);
	put64(head + 16, n);
	put64(head + 24, XXH64(n ? bytes : "", n, turn ^ (uint64_t)n << 32));
}

const uint8_t *iocap_open_get(const void *file, size_t n, uint64_t *ret_turn, size_t *ret_n)
{
	const uint8_t *p = file;
	uint8_t head[IOCAP_OPEN_HEAD];
	if (n < sizeof head || memcmp(p, "roicapo\n", 8) != 0)
		return NULL;
	uint64_t turn = (uint64_t)get32(p + 12) << 32 | get32(p + 8);
	uint64_t len = (uint64_t)get32(p + 20) << 32 | get32(p + 16);
	if (len > n - sizeof head)
		return NULL;
	iocap_open_head(head, turn, p + sizeof head, len);
	if (memcmp(head, p, sizeof head) != 0)
		return NULL;
	*ret_turn = turn;
	*ret_n = len;
	return p + sizeof head;
}
