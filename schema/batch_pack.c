/* Batches: the head, the sum, the packed frames. All numbers of the head are little endian.
 *
 *   0  magic (8)         8  version, compression (1 each), bytes of the sender (2)
 *  12  packed bytes (4)  16 plain bytes (4)   20 frames (4)
 *  24  XXH3-64 of what follows (8), its seed the XXH3-64 of bytes 0 to 23
 *  32  sender, packed frames
 *
 * A frame is its type, the length of its fields (varints), its fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "schema/batch_impl.h"

#define ZSTD 1
#define LEVEL 1 /* on times and counters 3 packs a tenth better for twice the CPU */
#define SUM_AT 24
#define FRAME_HEAD_MAX 20 /* two varints */

/* ---- out ------------------------------------------------------------------------------------ */

static void put_le(unsigned char *to, uint64_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(x >> 8 * i);
}

static uint64_t get_le(const unsigned char *from, int bytes)
{
	uint64_t x = 0;
	for (int i = 0; i < bytes; i++)
		x |= (uint64_t)from[i] << 8 * i;
	return x;
}

static size_t varint(unsigned char *to, uint64_t x)
{
	size_t n = 0;
	for (; x >= 0x80; x >>= 7)
		to[n++] = (unsigned char)(x | 0x80);
	to[n++] = (unsigned char)x;
	return n;
}

/* The fields are written behind room for the longest head, and moved back to the real one. */
int batch_put(struct batch_out *o, const struct frame *f)
{
	static const char room[FRAME_HEAD_MAX];
	unsigned char head[FRAME_HEAD_MAX];
	struct buf *b = &o->body;
	size_t before = b->len;
	if (o->frames == BATCH_MAX_FRAMES)
		return -E2BIG;
	struct wire_out w = { .b = b };
	wire_put_bytes(&w, room, sizeof room);
	batch_put_fields(&w, f);
	wire_flush(&w);
	if (b->failed) {
		b->failed = false;
		b->len = before;
		return -ENOMEM;
	}
	size_t n = b->len - before - sizeof room;
	size_t head_n = varint(head, f->type);
	head_n += varint(head + head_n, n);
	if (before + head_n + n > BATCH_MAX_PLAIN) {
		b->len = before;
		return -E2BIG;
	}
	memcpy(b->data + before, head, head_n);
	memmove(b->data + before + head_n, b->data + before + sizeof room, n);
	b->len = before + head_n + n;
	o->frames++;
	return 0;
}

/* Of the rest, with the sum of the head as its seed. */
static uint64_t sum_of(const unsigned char *batch, size_t n)
{
	return XXH3_64bits_withSeed(batch + BATCH_HEAD_BYTES, n - BATCH_HEAD_BYTES,
				    XXH3_64bits(batch, SUM_AT));
}

/* Room for the packed frames at the end of ret, and them in it. */
static int pack(struct batch_out *o, struct buf *ret, size_t *ret_n, struct err *err)
{
	size_t bound = ZSTD_compressBound(o->body.len);
	char *to = malloc(bound);
	if (!o->zstd)
		o->zstd = ZSTD_createCCtx();
	if (!to || !o->zstd) {
		free(to);
		return err_set(err, -ENOMEM, "pack a batch: out of memory");
	}
	size_t n = ZSTD_compressCCtx(o->zstd, to, bound, o->body.data, o->body.len, LEVEL);
	int rc = 0;
	if (ZSTD_isError(n))
		rc = err_set(err, -ENOMEM, "pack a batch: %s", ZSTD_getErrorName(n));
	else if (n > BATCH_MAX_PACKED)
		rc = err_set(err, -E2BIG, "a batch of %zu packed bytes is past the limit of %u", n,
			     BATCH_MAX_PACKED);
	else
		buf_put(ret, to, n);
	free(to);
	*ret_n = n;
	return rc;
}

static int put_batch(struct batch_out *o, const struct batch_sender *sender, struct buf *ret,
		     struct err *err)
{
	unsigned char head[BATCH_HEAD_BYTES] = BATCH_MAGIC;
	size_t begin = ret->len, packed = 0;
	buf_put(ret, head, sizeof head);
	struct wire_out w = { .b = ret };
	batch_put_sender(&w, sender);
	wire_flush(&w);
	size_t sender_n = ret->len - begin - sizeof head;
	if (!ret->failed && sender_n > BATCH_MAX_SENDER)
		return err_set(err, -E2BIG, "the sender of a batch takes %zu bytes, more than %u",
			       sender_n, BATCH_MAX_SENDER);
	int rc = pack(o, ret, &packed, err);
	if (!rc && ret->failed)
		rc = err_set(err, -ENOMEM, "pack a batch: out of memory");
	if (rc)
		return rc;
	head[8] = BATCH_VERSION;
	head[9] = ZSTD;
	put_le(head + 10, sender_n, 2);
	put_le(head + 12, packed, 4);
	put_le(head + 16, o->body.len, 4);
	put_le(head + 20, o->frames, 4);
	unsigned char *batch = (unsigned char *)ret->data + begin;
	memcpy(batch, head, SUM_AT);
	put_le(batch + SUM_AT, sum_of(batch, ret->len - begin), 8);
	return 0;
}

int batch_end(struct batch_out *o, const struct batch_sender *sender, struct buf *ret,
	      struct err *err)
{
	size_t before = ret->len;
	int rc = put_batch(o, sender, ret, err);
	if (rc)
		ret->len = before;
	o->body.len = 0;
	o->frames = 0;
	return rc;
}

void batch_out_done(struct batch_out *o)
{
	buf_done(&o->body);
	(void)ZSTD_freeCCtx(o->zstd);
	*o = (struct batch_out){ .frames = 0 };
}

/* ---- in ------------------------------------------------------------------------------------- */

static int look(struct batch_head *h, const unsigned char *p, size_t n, struct err *err)
{
	if (n < BATCH_HEAD_BYTES || memcmp(p, BATCH_MAGIC, 8) != 0)
		return err_set(err, -EBADMSG, "this is no batch of an agent");
	if (p[8] != BATCH_VERSION || p[9] != ZSTD)
		return err_set(err, -EPROTONOSUPPORT,
			       "a batch of version %u, compression %u; this program knows 1 and 1: "
			       "update it before the agents",
			       p[8], p[9]);
	size_t sender_n = (size_t)get_le(p + 10, 2), packed = (size_t)get_le(p + 12, 4);
	h->plain_bytes = (size_t)get_le(p + 16, 4);
	h->frames = (uint32_t)get_le(p + 20, 4);
	h->sum = get_le(p + SUM_AT, 8);
	if (sender_n > BATCH_MAX_SENDER || packed > BATCH_MAX_PACKED ||
	    h->plain_bytes > BATCH_MAX_PLAIN || h->frames > BATCH_MAX_FRAMES)
		return err_set(err, -E2BIG,
			       "a batch of %zu bytes, %zu unpacked, %u frames is past the limits",
			       packed, h->plain_bytes, h->frames);
	h->bytes = BATCH_HEAD_BYTES + sender_n + packed;
	if (h->bytes > n)
		return err_set(err, -EBADMSG, "a batch of %zu bytes is cut after %zu", h->bytes, n);
	if (sum_of(p, h->bytes) != h->sum)
		return err_set(err, -EBADMSG, "a batch is damaged: its checksum is wrong");
	struct wire_in in = { .at = p + BATCH_HEAD_BYTES, .end = p + BATCH_HEAD_BYTES + sender_n };
	batch_get_sender(&in, &h->sender);
	h->longer = in.at != in.end;
	if (in.bad || !h->sender.agent.p || !h->sender.spool.p || !h->sender.seq)
		return err_set(err, -EBADMSG, "a batch does not say whose it is");
	return 0;
}

int batch_look(struct batch_head *ret, const void *bytes, size_t n, struct err *err)
{
	*ret = (struct batch_head){ .bytes = 0 };
	batch_sender_clear(&ret->sender);
	return look(ret, bytes, n, err);
}

/* The output has the size that the head says, so a bomb finds no room to unfold. */
static int unpack(struct batch_in *in, const unsigned char *packed, size_t n, struct err *err)
{
	size_t plain = in->head.plain_bytes;
	if (!in->zstd)
		in->zstd = ZSTD_createDCtx();
	if (!in->zstd)
		return err_set(err, -ENOMEM, "unpack a batch: out of memory");
	if (in->plain.cap < plain || !in->plain.data) {
		buf_done(&in->plain);
		char *data = malloc(plain + 1);
		if (!data)
			return err_set(err, -ENOMEM, "unpack a batch: out of memory");
		in->plain = (struct buf){ .data = data, .cap = plain + 1 };
	}
	size_t got = ZSTD_decompressDCtx(in->zstd, in->plain.data, plain, packed, n);
	if (ZSTD_isError(got) || got != plain)
		return err_set(err, -EBADMSG, "a batch can't be unpacked: %s",
			       ZSTD_isError(got) ? ZSTD_getErrorName(got) : "it is too short");
	in->plain.len = plain;
	return 0;
}

int batch_open(struct batch_in *in, const void *bytes, size_t n, struct err *err)
{
	in->at = in->end = NULL;
	in->left = 0;
	int rc = batch_look(&in->head, bytes, n, err);
	if (rc)
		return rc;
	size_t max = in->max_plain ? in->max_plain : BATCH_MAX_PLAIN;
	if (in->head.plain_bytes > max)
		return err_set(err, -E2BIG, "a batch of %zu bytes unpacked, the limit is %zu",
			       in->head.plain_bytes, max);
	const unsigned char *p = bytes;
	size_t before = BATCH_HEAD_BYTES + (size_t)get_le(p + 10, 2);
	rc = unpack(in, p + before, in->head.bytes - before, err);
	if (!rc)
		batch_rewind(in);
	return rc;
}

void batch_rewind(struct batch_in *in)
{
	in->at = (const unsigned char *)in->plain.data;
	in->end = in->at + in->plain.len;
	in->left = in->head.frames;
}

int batch_next(struct batch_in *in, struct frame *ret, struct err *err)
{
	struct wire_in r = { .at = in->at, .end = in->end };
	while (in->left && !r.bad) {
		in->left--;
		const unsigned char *start = r.at;
		uint64_t type = wire_varint(&r);
		size_t n = wire_count(&r);
		struct wire_in fields = { .at = r.at, .end = r.at + n };
		(void)wire_bytes(&r, n);
		in->at = r.at;
		if (r.bad)
			break;
		if (!type || type >= FRAME_TYPES) {
			in->unknown++;
			continue;
		}
		in->frame = (struct str){ .p = (const char *)start, .n = (size_t)(r.at - start) };
		frame_clear(ret, (enum frame_type)type);
		batch_get_fields(&fields, ret);
		if (fields.bad)
			return err_set(err, -EBADMSG, "a batch has a damaged frame: %s",
				       frame_name(ret->type));
		in->longer += fields.at != fields.end;
		return 1;
	}
	if (r.bad || r.at != r.end)
		return err_set(err, -EBADMSG, "the frames of a batch are damaged");
	return 0;
}

int frame_get(struct frame *ret, struct str bytes, struct err *err)
{
	const unsigned char *p = (const unsigned char *)bytes.p;
	struct batch_in in = { .at = p, .end = p ? p + bytes.n : p, .left = 1 };
	int rc = batch_next(&in, ret, err);
	if (rc < 0)
		return rc;
	return rc == 1 && in.at == in.end ? 0 : err_set(err, -EBADMSG, "this is no known frame");
}

void batch_in_done(struct batch_in *in)
{
	buf_done(&in->plain);
	(void)ZSTD_freeDCtx(in->zstd);
	*in = (struct batch_in){ .left = 0 };
}
