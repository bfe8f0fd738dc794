#define XXH_INLINE_ALL
#include "schema/iocap_code.h"

#include <string.h>
#include <xxhash.h>

#include "lib/pages.h"

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
