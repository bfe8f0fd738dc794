/* One allocation for a body of the usual size; larger ones double as they come. */
#include "daemon/body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((size_t)16 << 10)

void body_begin(struct body *b, struct body_budget *budget, size_t max, size_t expected)
{
	*b = (struct body){ .budget = budget, .max = max, .expected = expected };
}

static void give_back(struct body *b)
{
	free(b->data);
	if (b->cap)
		(void)atomic_fetch_sub(&b->budget->used, b->cap);
	b->data = NULL;
	b->len = b->cap = 0;
}

static int fail(struct body *b, int rc)
{
	give_back(b);
	b->failed = rc;
	return rc;
}

static int grow(struct body *b, size_t need)
{
	size_t cap = b->cap ? b->cap * 2 : FIRST_BYTES;
	if (b->expected >= need && cap > b->expected)
		cap = b->expected;
	if (cap > b->max)
		cap = b->max;
	if (cap < need)
		cap = need;
	size_t more = cap - b->cap;
	if (atomic_fetch_add(&b->budget->used, more) + more > b->budget->max) {
		(void)atomic_fetch_sub(&b->budget->used, more);
		return fail(b, -ENOBUFS);
	}
	char *data = realloc(b->data, cap);
	if (!data) {
		(void)atomic_fetch_sub(&b->budget->used, more);
		return fail(b, -ENOMEM);
	}
	b->data = data;
	b->cap = cap;
	return 0;
}

void body_add(struct body *b, const void *bytes, size_t n)
{
	if (b->failed)
		return;
	if (n > b->max - b->len) {
		(void)fail(b, -E2BIG);
		return;
	}
	if (n > b->cap - b->len && grow(b, b->len + n))
		return;
	memcpy(b->data + b->len, bytes, n);
	b->len += n;
}

void body_done(struct body *b)
{
	give_back(b);
	b->failed = 0;
}
