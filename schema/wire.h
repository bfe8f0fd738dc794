/* The small coins of the binary codecs: varints, numbers, texts.
 *
 * A number is one byte, mostly: 0 null · 1 a whole number, zigzag varint · 2 whole nanoseconds,
 * zigzag varint · 3 the eight bytes of a double, least significant first · 4 left to the caller
 * ("can be computed") · 5..255 the whole numbers 0..250. The shortest exact form is the only one
 * written, so equal records are equal bytes. */
#ifndef SCHEMA_WIRE_H
#define SCHEMA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"

enum { NUM_NULL, NUM_WHOLE, NUM_NS, NUM_RAW, NUM_COMPUTED, NUM_SMALL };

/* Written into a buf through a small window, since a buf_put for each byte would cost more than
 * the byte. wire_flush at the end. */
struct wire_out {
	struct buf *b;
	size_t n;
	unsigned char window[256];
};

void wire_flush(struct wire_out *w);
void wire_put_byte(struct wire_out *w, unsigned char byte);
void wire_put_varint(struct wire_out *w, uint64_t x);
void wire_put_signed(struct wire_out *w, int64_t x); /* zigzag */
void wire_put_num(struct wire_out *w,
		  double x); /* as num15: what does not survive text is rounded */
void wire_put_bytes(struct wire_out *w, const void *bytes, size_t n);

/* A cursor that has run out stays out: one look at bad at the end is enough. */
struct wire_in {
	const unsigned char *at, *end;
	bool bad;
};

unsigned char wire_byte(struct wire_in *r);
uint64_t wire_varint(struct wire_in *r);
int64_t wire_signed(struct wire_in *r);
double wire_num(struct wire_in *r, bool *ret_computed); /* ret_computed NULL: not allowed here */
const char *wire_bytes(struct wire_in *r, size_t n);    /* borrowed; NULL when bad */

/* A number of bytes that follow, or of items of at least a byte each: bad when so many are not
 * there. */
size_t wire_count(struct wire_in *r);

#endif
