/* How a capture puts numbers into bytes. A column is many numbers of one kind: each becomes a token
 * (the number itself when it is small, else its magnitude to five bits behind the leading one) and
 * the bits below. Tokens are entropy coded (rANS, frequencies per block), bits stand as they are.
 * Numbers that come often have a token of their own: durations are, since clocks tick in steps of
 * some nanoseconds. A column of few numbers, or of one number only, is written shorter. Blocks are
 * what a file consists of. */
#ifndef SCHEMA_IOCAP_CODE_H
#define SCHEMA_IOCAP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- bytes that grow by pages ---- */

struct iocap_bytes {
	uint8_t *data;
	size_t len, cap;
	bool failed; /* no memory: stays so */
};

bool iocap_room(struct iocap_bytes *b, size_t more);
void iocap_bytes_put(struct iocap_bytes *b, const void *bytes, size_t n);
void iocap_varint_put(struct iocap_bytes *b, uint64_t x);
void iocap_bytes_done(struct iocap_bytes *b);

static inline uint64_t iocap_zigzag(int64_t x)
{
	return ((uint64_t)x << 1) ^ (0 - (uint64_t)(x < 0));
}
static inline int64_t iocap_unzigzag(uint64_t x)
{
	return (int64_t)(x >> 1) ^ -(int64_t)(x & 1);
}

/* ---- columns ---- */

#define IOCAP_TOKENS 1920
#define IOCAP_OWN_TOKENS 1024 /* for numbers that come often: behind the others */

struct iocap_column {
	uint64_t *x;
	size_t n, cap;
	bool failed; /* no memory */
};

void iocap_column_put(struct iocap_column *c, uint64_t x);
/* Appends the column. scratch is used on the way; out->failed says when there was no memory. */
void iocap_column_copy(const struct iocap_column *c, struct iocap_bytes *out,
		       struct iocap_bytes *scratch);
/* The same, and empties it. */
void iocap_column_write(struct iocap_column *c, struct iocap_bytes *out,
			struct iocap_bytes *scratch);
void iocap_column_done(struct iocap_column *c);
size_t iocap_column_memory(const struct iocap_column *c);

/* ---- reading ---- */

struct iocap_in {
	const uint8_t *at, *end;
	bool bad; /* ran out, or contradicts itself: stays so */
};

uint8_t iocap_byte(struct iocap_in *in);
uint64_t iocap_varint(struct iocap_in *in);
const uint8_t *iocap_take(struct iocap_in *in, size_t n); /* NULL when bad */

/* The numbers of the column at in, which moves behind it: malloc'ed, *ret_n of them, at most max.
 * NULL with in->bad when it is none; NULL, too, when there are none. */
uint64_t *iocap_column_read(struct iocap_in *in, size_t max, size_t *ret_n);
/* Only steps over one, and tells how many numbers it has. */
size_t iocap_column_skip(struct iocap_in *in);

/* ---- blocks ---- */

#define IOCAP_MAGIC "roicap1\n"
#define IOCAP_BLOCK_HEAD 16

enum iocap_block {
	IOCAP_B_PROCESS = 1,
	IOCAP_B_TEXTS,
	IOCAP_B_INFOS, /* what handles are of */
	IOCAP_B_SIGNATURES,
	IOCAP_B_SEGMENT, /* symbols of a stream */
	IOCAP_B_VALUES,  /* what symbols of a stream left open */
	IOCAP_B_TIMES,
	IOCAP_B_STATE, /* dropped calls; finished */
};

#define IOCAP_HANDLES 0xffff /* number of the stream whose symbols are handles */

/* Appends head and payload. */
void iocap_block_put(struct iocap_bytes *out, unsigned type, unsigned stream, uint32_t items,
		     const struct iocap_bytes *payload);

struct iocap_block_in {
	unsigned type, stream;
	uint32_t items;
	struct iocap_in in;
};
/* The block at in, which moves behind it. False at the end, or when the rest is no whole block. */
bool iocap_block_get(struct iocap_in *in, struct iocap_block_in *ret);

/* What is under way (struct iocap_sink's replace) has a head of its own in its file. */
#define IOCAP_OPEN_HEAD 32
void iocap_open_head(uint8_t head[IOCAP_OPEN_HEAD], uint64_t turn, const void *bytes, size_t n);
/* The bytes behind a good head, or NULL. */
const uint8_t *iocap_open_get(const void *file, size_t n, uint64_t *ret_turn, size_t *ret_n);

#endif
