/* Most posts get the same few answers, so the last one is kept: making its headers anew for each
 * takes longer than sending it. */
#include "daemon/receipt.h"

#include <errno.h>
#include <stdlib.h>

struct receipts {
	struct entity *kept;
	uint64_t batches, duplicates; /* that kept says */
};

struct receipts *receipts_new(void)
{
	return calloc(1, sizeof(struct receipts));
}

void receipts_free(struct receipts *r)
{
	if (!r)
		return;
	entity_drop(r->kept);
	free(r);
}

static struct entity *problem(const struct post *p, const char *path)
{
	struct answer a = { .status = 200 };
	struct err err = { { 0 } };
	(void)err_set(&err, p->rc, "%s", p->why ? p->why : "");
	answer_post_failure(&a, p->rc, &err, path);
	struct entity *e = entity_new(&a, false);
	answer_done(&a);
	return e;
}

static struct entity *good(uint64_t batches, uint64_t duplicates)
{
	struct answer a = { .status = 200, .media = MEDIA_JSON };
	buf_printf(&a.body, "{\"batches\":%llu,\"duplicates\":%llu}\n", (unsigned long long)batches,
		   (unsigned long long)duplicates);
	struct entity *e = a.body.failed ? NULL : entity_new(&a, false);
	answer_done(&a);
	return e;
}

struct entity *receipt(struct receipts *r, const struct post *p, const char *path)
{
	if (p->rc)
		return problem(p, path);
	if (!r->kept || r->batches != p->batches || r->duplicates != p->duplicates) {
		entity_drop(r->kept);
		r->kept = good(p->batches, p->duplicates);
		r->batches = p->batches;
		r->duplicates = p->duplicates;
	}
	return r->kept ? entity_hold(r->kept) : NULL;
}
