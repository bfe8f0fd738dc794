/* Bodies of batches: looked at as a whole, then taken in. */
#define _GNU_SOURCE
#include "daemon/gather_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "schema/roilog.h"

#define FOLD_ARRIVALS 200000 /* read again after a kill: 0.1 s */

/* ---- life ------------------------------------------------------------------------------------ */

int gather_open(struct gather **ret, struct store *s, const struct gather_config *c,
		const struct gather_now *now, struct err *err)
{
	int64_t age_ns;
	struct gather *g = calloc(1, sizeof *g);
	if (g)
		g->touched = calloc(GATHER_RUNS, sizeof *g->touched);
	if (g)
		g->changed = calloc(GATHER_CHANGES, sizeof(char *));
	if (!g || !g->touched || !g->changed) {
		gather_close(g);
		return err_set(err, -ENOMEM, "out of memory");
	}
	int rc = inbox_age(s, &age_ns, err);
	if (rc) {
		gather_close(g);
		return rc;
	}
	g->base_ns = age_ns - now->mono_ns;
	g->saved_age_ns = g->fold_age_ns = age_ns;
	gather_reconfigure(g, c);
	*ret = g;
	return 0;
}

void gather_reconfigure(struct gather *g, const struct gather_config *c)
{
	g->config = *c;
	g->in.max_plain = c->max_plain;
}

void gather_close(struct gather *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n_changed; i++)
		free(g->changed[i]);
	batch_in_done(&g->in);
	batch_out_done(&g->out);
	buf_done(&g->kept);
	free(g->touched);
	free(g->changed);
	free(g);
}

int64_t gather_age(const struct gather *g, const struct gather_now *now)
{
	return g->base_ns + now->mono_ns;
}

/* ---- news for those who watch ---------------------------------------------------------------- */

/* Past the limit it is forgotten: whoever watches so many runs asks for all of them anyway. */
void gather_note_change(struct gather *g, const char *run)
{
	for (size_t i = g->n_changed; i--;)
		if (!strcmp(g->changed[i], run))
			return;
	if (g->n_changed == GATHER_CHANGES)
		return;
	char *copy = strdup(run);
	if (copy)
		g->changed[g->n_changed++] = copy;
}

void gather_each_change(struct gather *g,
			void (*changed)(void *arg, enum gather_change what, const char *run),
			void *arg)
{
	size_t n = g->n_changed;
	g->n_changed = 0;
	for (size_t i = 0; i < n; i++) {
		changed(arg, GATHER_PROGRESS, g->changed[i]);
		free(g->changed[i]);
	}
}

/* ---- first look: nothing is changed ---------------------------------------------------------- */

bool gather_is_refusal(int rc)
{
	return rc == -EBADMSG || rc == -EEXIST || rc == -EPROTONOSUPPORT || rc == -E2BIG;
}

static int check_sender(const struct batch_sender *from, struct err *err)
{
	if (!from->agent.n || !from->spool.n || from->agent.n > GATHER_MAX_NAME ||
	    from->spool.n > GATHER_MAX_NAME)
		return err_set(err, -EBADMSG, "a batch does not say whose it is");
	if (from->seq > INT64_MAX)
		return err_set(err, -EBADMSG, "agent %.*s: number %" PRIu64 " can't be",
			       (int)from->agent.n, from->agent.p, from->seq);
	return 0;
}

/* Every frame is read once before anything is stored. */
static int read_frames(struct gather *g, struct err *err)
{
	struct contents c = { .frames = 0 };
	struct frame f;
	int rc;
	bool gap = false, other = false;
	while ((rc = batch_next(&g->in, &f, err)) > 0) {
		bool kept = f.type == FRAME_CONTEXT || f.type == FRAME_AGENT;
		c.frames++;
		c.kept += kept;
		c.acting += !kept || (f.type == FRAME_CONTEXT && f.as.context.run.p);
		if (f.type == FRAME_AGENT) {
			c.self = g->in.frame;
			c.self_ns = f.as.agent.real_ns;
		}
		if (f.type == FRAME_GAP)
			gap = gap || f.as.gap.last_seq == g->in.head.sender.seq;
		else
			other = other || f.type != FRAME_LOSS;
	}
	c.only_gap = gap && !other;
	g->contents = c;
	return rc;
}

static int other_batch(const struct batch_sender *from, struct err *err)
{
	return err_set(err, -EEXIST,
		       "agent %.*s, spool %.*s: another batch of number %" PRIu64
		       " was here before: the spool was copied, or put back; delete it, a new one "
		       "has a numbering of its own",
		       (int)from->agent.n, from->agent.p, (int)from->spool.n, from->spool.p,
		       from->seq);
}

/* The same number twice in one body. Agents count up, so mostly there is nothing to look for. */
static int twice_in_body(const char *body, size_t end, const struct batch_head *h, struct err *err)
{
	struct batch_head before;
	for (size_t at = 0; at < end; at += before.bytes) {
		int rc = batch_look(&before, body + at, end - at, err);
		if (rc)
			return rc;
		const struct batch_sender *a = &before.sender, *b = &h->sender;
		if (a->seq != b->seq || a->agent.n != b->agent.n || a->spool.n != b->spool.n ||
		    memcmp(a->agent.p, b->agent.p, a->agent.n) != 0 ||
		    memcmp(a->spool.p, b->spool.p, a->spool.n) != 0)
			continue;
		return before.sum == h->sum ? 0 : other_batch(b, err);
	}
	return 0;
}

struct looked {
	size_t batches, plain_bytes;
	uint64_t highest; /* number so far */
};

static int look_at(struct gather *g, const char *body, size_t at, size_t n, struct looked *l,
		   struct err *err)
{
	struct batch_in *in = &g->in;
	enum inbox_known known_as;
	int rc = batch_open(in, body + at, n - at, err);
	if (!rc)
		rc = check_sender(&in->head.sender, err);
	if (!rc)
		rc = read_frames(g, err);
	if (!rc)
		rc = inbox_look(g->s, &in->head.sender, in->head.sum, &known_as, err);
	if (rc)
		return rc;
	if (known_as == INBOX_OTHER && !g->contents.only_gap)
		return other_batch(&in->head.sender, err);
	if (in->head.sender.seq <= l->highest)
		rc = twice_in_body(body, at, &in->head, err);
	l->highest = in->head.sender.seq > l->highest ? in->head.sender.seq : l->highest;
	return rc;
}

static int look_at_all(struct gather *g, const char *body, size_t n, struct looked *l,
		       struct err *err)
{
	if (!n)
		return err_set(err, -EBADMSG,
			       "the body is empty; one or more batches are expected");
	for (size_t at = 0; at < n; at += g->in.head.bytes) {
		if (l->batches++ == GATHER_MAX_BATCHES)
			return err_set(err, -E2BIG, "more than %d batches in one body",
				       GATHER_MAX_BATCHES);
		int rc = look_at(g, body, at, n, l, err);
		l->plain_bytes += rc ? 0 : g->in.head.plain_bytes;
		if (l->plain_bytes > GATHER_MAX_PLAIN)
			return err_set(err, -E2BIG,
				       "the batches of one body are more than %u MiB when they are "
				       "unpacked; post fewer at once",
				       GATHER_MAX_PLAIN >> 20);
		if (rc)
			return l->batches == 1 ? rc : err_wrap(err, rc, "batch %zu", l->batches);
	}
	return 0;
}

/* ---- then it is taken in --------------------------------------------------------------------- */

/* What stays of a batch as it is: context, and the agent about itself. Mostly that is all there is
 * in it, and then it is kept as it came. */
static int keep_context(struct gather *g, const char *bytes, struct str *ret, struct err *err)
{
	struct frame f;
	int rc = 0;
	*ret = (struct str){ .p = NULL };
	if (!g->contents.kept)
		return 0;
	if (g->contents.kept == g->contents.frames) {
		*ret = (struct str){ .p = bytes, .n = g->in.head.bytes };
		return 0;
	}
	batch_rewind(&g->in);
	while (!rc && batch_next(&g->in, &f, err) > 0)
		if (f.type == FRAME_CONTEXT || f.type == FRAME_AGENT)
			rc = batch_put(&g->out, &f);
	g->kept.len = 0;
	int end_rc = batch_end(&g->out, &g->in.head.sender, &g->kept, err);
	*ret = batch_list(&g->kept);
	return rc ? err_set(err, rc, "out of memory") : end_rc;
}

static int take_frames(struct gather *g, struct err *err)
{
	struct frame f;
	const struct contents *c = &g->contents;
	int rc = 0;
	g->result->frames += c->frames;
	if (c->self.p)
		rc = inbox_put_self(g->s, &g->in.head.sender, c->self_ns, c->self, err);
	if (rc || !c->acting)
		return rc;
	batch_rewind(&g->in);
	while ((rc = batch_next(&g->in, &f, err)) > 0) {
		rc = gather_frame(g, &g->in.head.sender, &f, g->in.frame, err);
		if (rc)
			return rc;
	}
	return rc;
}

/* Its number came with other frames before: what it says of the numbers below it still counts. */
static int take_gap_again(struct gather *g, struct err *err)
{
	struct frame f;
	int rc = inbox_spool(g->s, &g->in.head.sender, &g->spool, err);
	batch_rewind(&g->in);
	while (!rc && (rc = batch_next(&g->in, &f, err)) > 0) {
		if (f.type == FRAME_GAP && f.as.gap.last_seq == g->in.head.sender.seq)
			f.as.gap.last_seq--;
		rc = gather_frame(g, &g->in.head.sender, &f, g->in.frame, err);
	}
	return rc;
}

static int take_one(struct gather *g, const char *bytes, size_t n, bool opened, struct err *err)
{
	struct batch_in *in = &g->in;
	enum inbox_known known_as;
	struct str kept;
	int rc = opened ? 0 : batch_open(in, bytes, n, err);
	if (!rc && !opened)
		rc = read_frames(g, err);
	if (!rc)
		rc = inbox_look(g->s, &in->head.sender, in->head.sum, &known_as, err);
	if (rc)
		return rc;
	if (known_as != INBOX_NEW) {
		g->result->duplicates++;
		return known_as == INBOX_OTHER ? take_gap_again(g, err) : 0;
	}
	rc = keep_context(g, bytes, &kept, err);
	if (!rc)
		rc = inbox_arrive(g->s, &in->head.sender, in->head.sum, g->now.real_ns, kept,
				  &g->spool, err);
	if (!rc)
		rc = take_frames(g, err);
	g->result->batches++;
	return rc;
}

int gather_take(struct gather *g, struct store *s, const void *body, size_t n,
		const struct gather_now *now, struct gather_result *ret, struct err *err)
{
	const char *bytes = body;
	struct looked l = { .batches = 0 };
	*ret = (struct gather_result){ .batches = 0 };
	g->s = s;
	g->now = *now;
	g->age_ns = gather_age(g, now);
	g->result = ret;
	g->n_touched = 0;
	g->not_open[0] = 0;
	g->in.unknown = g->in.longer = 0;
	int rc = look_at_all(g, bytes, n, &l, err);
	ret->unknown = g->in.unknown;
	ret->longer = g->in.longer;
	for (size_t at = 0; !rc && at < n; at += g->in.head.bytes)
		rc = take_one(g, bytes + at, n - at, l.batches == 1, err);
	if (!rc)
		rc = gather_settle(g, err);
	ret->due = ret->due || inbox_unfolded(s) >= FOLD_ARRIVALS;
	return rc;
}
