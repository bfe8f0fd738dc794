/* What the sender takes from the outbox, and what it says about it. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "agent/outbox_impl.h"

static void changed(struct outbox *o)
{
	if (o->changed)
		o->changed(o->changed_arg);
}

static int code_gap(struct outbox *o, const struct frame *f, struct spool_item *item,
		    struct err *err)
{
	int rc = batch_put(&o->again, f);
	if (!rc)
		rc = outbox_code(o, &o->again, item->seq, f->as.gap.from_real_ns,
				 f->as.gap.to_real_ns, &o->gap, err);
	if (rc)
		return err_set(err, rc, "tell of a gap: %s", strerror(-rc));
	item->bytes = o->gap.data;
	item->n = o->gap.len;
	return 0;
}

static int64_t known(int64_t spool_time)
{
	static_assert(SPOOL_NO_TIME == ROI_UNKNOWN, "times of the spool are those of frames");
	return spool_time;
}

int outbox_read(struct outbox *o, struct spool_item *ret, struct err *err)
{
	int rc = spool_read(o->spool, ret, err);
	if (rc != 1 || !ret->gap)
		return rc;
	struct frame f;
	frame_clear(&f, FRAME_GAP);
	f.as.gap.first_seq = ret->first_seq;
	f.as.gap.last_seq = ret->seq;
	if (!ret->damaged)
		f.as.gap.what = str_of("context");
	f.as.gap.why = str_of(ret->damaged ? "damaged" : "spool_full");
	f.as.gap.from_real_ns = known(ret->from_real_ns);
	f.as.gap.to_real_ns = known(ret->to_real_ns);
	rc = code_gap(o, &f, ret, err);
	if (rc) /* it is read again */
		spool_rewind(o->spool);
	return rc ? rc : 1;
}

void outbox_rewind(struct outbox *o)
{
	spool_rewind(o->spool);
}

int outbox_ack(struct outbox *o, uint64_t seq, struct err *err)
{
	int rc = spool_ack(o->spool, seq, err);
	if (o->full) { /* there may be room now */
		o->retry_ns = 0;
		changed(o);
	}
	return rc;
}

int outbox_refused(struct outbox *o, const struct spool_item *item, const char *why_text,
		   struct spool_item *ret, struct err *err)
{
	struct frame f;
	*ret = *item;
	if (item->gap) /* there is nothing in it that could be lost */
		return err_set(err, -EINVAL, "a batch that tells of a gap was refused");
	frame_clear(&f, FRAME_GAP);
	f.as.gap.first_seq = f.as.gap.last_seq = item->seq;
	f.as.gap.what = str_of(item->class == SPOOL_CONTEXT ? "context" : "marks");
	f.as.gap.why = str_of("refused");
	f.as.gap.from_real_ns = f.as.gap.to_real_ns = known(item->real_ns);
	int rc = code_gap(o, &f, ret, err);
	if (rc)
		return rc;
	outbox_lose_batch(o, item->bytes, item->n, "refused", why_text);
	ret->gap = true;
	ret->first_seq = item->seq;
	return 0;
}

int outbox_renumber(struct outbox *o, const struct spool_item *item, struct err *err)
{
	struct frame f;
	if (item->gap || o->full)
		return err_set(err, -ENOSPC, "there is no room to keep it under another number");
	/* The frames are lent from o->in, which coding them once more would use, too. */
	struct batch_in in = { .max_plain = 0 };
	int rc = batch_open(&in, item->bytes, item->n, err);
	int more = 0;
	while (!rc && (more = batch_next(&in, &f, err)) == 1)
		rc = outbox_put(o, &f, err);
	batch_in_done(&in);
	if (!rc)
		rc = more < 0 ? more : outbox_sync(o, NULL, err);
	return rc;
}
