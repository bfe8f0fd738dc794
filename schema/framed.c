#include "schema/framed.h"

#include <errno.h>
#include <string.h>

#include "schema/codec.h"

#define SUM_BYTES 8

static uint64_t sum_of(const unsigned char *at, size_t n)
{
	uint64_t sum = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ at[i]) * UINT64_C(1099511628211);
	return sum;
}

static void put_sum(char *at, uint64_t sum)
{
	for (int i = 0; i < SUM_BYTES; i++)
		at[i] = (char)(sum >> 8 * i & 255);
}

void framed_put(struct buf *b, const struct framed *f, const void *at)
{
	size_t start = b->len + strlen(f->magic) + SUM_BYTES;
	buf_put(b, f->magic, strlen(f->magic));
	buf_put(b, "\0\0\0\0\0\0\0", SUM_BYTES);
	block_put(b, f->block, at);
	if (!b->failed)
		put_sum(b->data + start - SUM_BYTES,
			sum_of((const unsigned char *)b->data + start, b->len - start));
}

static int is_one(const struct framed *f, const char *file, const char *at, size_t n,
		  struct err *err)
{
	size_t magic = strlen(f->magic);
	if (n < magic || memcmp(at, f->magic, magic - 2) != 0)
		return err_set(err, -EBADMSG, "%s: not a %s", file, f->what);
	if (memcmp(at, f->magic, magic) != 0)
		return err_set(err, -EPROTONOSUPPORT,
			       "%s: a picture of another version than this program reads (%.1s)",
			       file, f->magic + magic - 2);
	if (n < magic + SUM_BYTES || n > f->max_bytes)
		return err_set(err, -EBADMSG, "%s: the picture is cut, or too large", file);
	return 0;
}

int framed_peek(void *ret, struct arena *a, const struct framed *f, const char *upto,
		const void *bytes, size_t n, struct err *err)
{
	const char *at = bytes;
	size_t fields = 0, head = strlen(f->magic) + SUM_BYTES;
	int rc = is_one(f, "a picture", at, n, err);
	if (rc)
		return rc;
	while (fields < f->block->count && strcmp(f->block->fields[fields].name, upto) != 0)
		fields++;
	return block_peek(a, f->block, fields + 1, ret, at + head, n - head, err);
}

int framed_get(void *ret, struct arena *a, const struct framed *f, const char *file,
	       const void *bytes, size_t n, struct err *err)
{
	const char *at = bytes;
	size_t magic = strlen(f->magic);
	int rc = is_one(f, file, at, n, err);
	if (rc)
		return rc;
	char sum[SUM_BYTES];
	const char *body = at + magic + SUM_BYTES;
	size_t body_n = n - magic - SUM_BYTES;
	put_sum(sum, sum_of((const unsigned char *)body, body_n));
	if (memcmp(sum, at + magic, SUM_BYTES) != 0)
		return err_set(err, -EBADMSG, "%s: the picture is damaged: its sum is another",
			       file);
	rc = block_get(a, f->block, ret, body, body_n, err);
	return rc ? err_wrap(err, rc, "%s", file) : 0;
}
