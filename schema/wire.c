/* Varints, numbers, texts. */
#include "schema/wire.h"

#include <math.h>
#include <string.h>

#include "lib/num.h"

void wire_flush(struct wire_out *w)
{
	buf_put(w->b, w->window, w->n);
	w->n = 0;
}

/* Room for the longest number. */
static void make_room(struct wire_out *w)
{
	if (w->n > sizeof w->window - 16)
		wire_flush(w);
}

static void put_varint(struct wire_out *w, uint64_t x)
{
	while (x >= 0x80) {
		w->window[w->n++] = (unsigned char)(x | 0x80);
		x >>= 7;
	}
	w->window[w->n++] = (unsigned char)x;
}

static uint64_t zigzag(int64_t x)
{
	return (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t x)
{
	return (int64_t)(x >> 1 ^ (x & 1 ? UINT64_MAX : 0));
}

void wire_put_byte(struct wire_out *w, unsigned char byte)
{
	make_room(w);
	w->window[w->n++] = byte;
}

void wire_put_varint(struct wire_out *w, uint64_t x)
{
	make_room(w);
	put_varint(w, x);
}

void wire_put_signed(struct wire_out *w, int64_t x)
{
	wire_put_varint(w, zigzag(x));
}

void wire_put_bytes(struct wire_out *w, const void *bytes, size_t n)
{
	if (n <= sizeof w->window - w->n) {
		memcpy(w->window + w->n, bytes, n);
		w->n += n;
		return;
	}
	wire_flush(w);
	buf_put(w->b, bytes, n);
}

void wire_put_num(struct wire_out *w, double x)
{
	make_room(w);
	if (!known(x)) {
		w->window[w->n++] = NUM_NULL;
		return;
	}
	bool negative_zero = x == 0 && signbit(x);
	/* Below 1e15 a whole number, of units or of nanoseconds, has at most 15 digits. */
	if (fabs(x) < 1e15 && x == (double)(int64_t)x && !negative_zero) {
		if (x >= 0 && x <= 255 - NUM_SMALL) {
			w->window[w->n++] = (unsigned char)(NUM_SMALL + (int)x);
			return;
		}
		w->window[w->n++] = NUM_WHOLE;
		put_varint(w, zigzag((int64_t)x));
		return;
	}
	double ns = nearbyint(x * 1e9);
	if (fabs(ns) < 1e15 && ns / 1e9 == x && !negative_zero) {
		w->window[w->n++] = NUM_NS;
		put_varint(w, zigzag((int64_t)ns));
		return;
	}
	double rounded = num15(x);
	if (rounded != x) {
		wire_put_num(w, rounded); /* may be whole now */
		return;
	}
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	w->window[w->n++] = NUM_RAW;
	for (int i = 0; i < 8; i++)
		w->window[w->n++] = (unsigned char)(bits >> 8 * i);
}

unsigned char wire_byte(struct wire_in *r)
{
	if (r->bad || r->at == r->end) {
		r->bad = true;
		return 0;
	}
	return *r->at++;
}

uint64_t wire_varint(struct wire_in *r)
{
	uint64_t x = 0;
	for (int shift = 0; shift < 64; shift += 7) {
		unsigned char byte = wire_byte(r);
		if (shift == 63 && byte > 1)
			break;
		x |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return r->bad ? 0 : x;
	}
	r->bad = true;
	return 0;
}

int64_t wire_signed(struct wire_in *r)
{
	return unzigzag(wire_varint(r));
}

const char *wire_bytes(struct wire_in *r, size_t n)
{
	if (r->bad || n > (size_t)(r->end - r->at)) {
		r->bad = true;
		return NULL;
	}
	const char *p = (const char *)r->at;
	r->at += n;
	return p;
}

size_t wire_count(struct wire_in *r)
{
	uint64_t n = wire_varint(r);
	if (r->bad || n > (size_t)(r->end - r->at)) {
		r->bad = true;
		return 0;
	}
	return (size_t)n;
}

static double raw(struct wire_in *r)
{
	const unsigned char *p = (const unsigned char *)wire_bytes(r, 8);
	uint64_t bits = 0;
	double x;
	for (int i = 0; p && i < 8; i++)
		bits |= (uint64_t)p[i] << 8 * i;
	memcpy(&x, &bits, sizeof x);
	if (!isfinite(x))
		r->bad = true; /* never written */
	return x;
}

double wire_num(struct wire_in *r, bool *ret_computed)
{
	unsigned char tag = wire_byte(r);
	double x = (double)NAN;
	if (ret_computed)
		*ret_computed = false;
	if (tag >= NUM_SMALL)
		return tag - NUM_SMALL;
	if (tag == NUM_WHOLE)
		x = (double)unzigzag(wire_varint(r));
	else if (tag == NUM_NS)
		x = (double)unzigzag(wire_varint(r)) / 1e9;
	else if (tag == NUM_RAW)
		x = raw(r);
	else if (tag == NUM_COMPUTED && ret_computed)
		*ret_computed = true;
	else if (tag != NUM_NULL)
		r->bad = true;
	return r->bad ? (double)NAN : x;
}
