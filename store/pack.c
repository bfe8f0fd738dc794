/* zstd around blobs. A record's numbers are varints and shrink little; names of kernels, hosts and
 * CPU sets shrink to a third for 2 ns a byte. What fits its database page anyway is left alone. */
#include "store/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define SMALL_BYTES 2048
#define MAX_BYTES ((unsigned long long)1 << 30)
#define LEVEL 1 /* level 3 gains 2 % for twice the time */

struct pack {
	ZSTD_CCtx *context;
	char *bytes;
	size_t cap;
};

struct pack *pack_new(void)
{
	struct pack *p = calloc(1, sizeof *p);
	if (p)
		p->context = ZSTD_createCCtx();
	if (p && !p->context) {
		free(p);
		return NULL;
	}
	return p;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	(void)ZSTD_freeCCtx(p->context);
	free(p->bytes);
	free(p);
}

static int reserve(struct pack *p, size_t n)
{
	if (n <= p->cap)
		return 0;
	char *bytes = realloc(p->bytes, n);
	if (!bytes)
		return -ENOMEM;
	p->bytes = bytes;
	p->cap = n;
	return 0;
}

void pack_put(struct pack *p, const struct buf *plain, const void **ret_bytes, size_t *ret_n)
{
	*ret_bytes = plain->data;
	*ret_n = plain->len;
	if (plain->len < SMALL_BYTES || reserve(p, ZSTD_compressBound(plain->len)))
		return; /* without memory it is stored as it is */
	size_t n = ZSTD_compressCCtx(p->context, p->bytes, p->cap, plain->data, plain->len, LEVEL);
	if (ZSTD_isError(n) || n > plain->len / 4 * 3)
		return;
	*ret_bytes = p->bytes;
	*ret_n = n;
}

int pack_get(const void *bytes, size_t n, struct buf *b, const void **ret_plain, size_t *ret_n)
{
	static const unsigned char magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
	*ret_plain = bytes;
	*ret_n = n;
	if (n < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
		return 0;
	unsigned long long plain_n = ZSTD_getFrameContentSize(bytes, n);
	if (plain_n == ZSTD_CONTENTSIZE_UNKNOWN || plain_n == ZSTD_CONTENTSIZE_ERROR ||
	    plain_n > MAX_BYTES)
		return -EBADMSG;
	char *data = malloc((size_t)plain_n + 1);
	if (!data)
		return -ENOMEM;
	size_t got = ZSTD_decompress(data, (size_t)plain_n, bytes, n);
	if (ZSTD_isError(got) || got != plain_n) {
		free(data);
		return -EBADMSG;
	}
	buf_done(b);
	*b = (struct buf){ .data = data, .len = got, .cap = (size_t)plain_n + 1 };
	*ret_plain = data;
	*ret_n = got;
	return 0;
}
