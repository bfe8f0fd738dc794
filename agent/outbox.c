/* Frames into batches, batches into the spool. */
#define _GNU_SOURCE
#include "agent/outbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "agent/outbox_impl.h"
#include "lib/file.h"

#define RECORD_OVERHEAD 72        /* of the spool, at most */
#define UNSYNCED_BYTES (4u << 20) /* kept in memory for a sync that may fail; then it is due */
#define SECOND UINT64_C(1000000000)

/* ---- open and close ------------------------------------------------------------------------- */

static uint64_t monotonic_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static int make_id(char id[OUTBOX_AGENT_ID], const char *path, struct err *err)
{
	unsigned char random[16];
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return err_set(err, -EIO, "no random numbers for the id of the agent");
	for (size_t i = 0; i < sizeof random; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", random[i]);
	return file_write(path, id, strlen(id), err);
}

/* The lock of the spool is held, so no two agents make one; the file is there whole, or not. */
static int find_id(struct outbox *o, const char *folder, struct err *err)
{
	char *path = NULL;
	if (asprintf(&path, "%s/agent", folder) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct buf b = { .max = OUTBOX_AGENT_ID };
	int rc = file_read(&b, path, NULL);
	if (rc == -ENOENT)
		rc = make_id(o->agent, path, err);
	else if (rc)
		rc = err_set(err, rc, "%s: %s", path, strerror(-rc));
	else if (b.len != 32 || strspn(b.data, "0123456789abcdef") != 32)
		rc = err_set(
			err, -EINVAL,
			"%s holds no id of an agent; put it back, or set [agent] id, or remove "
			"it for a new one",
			path);
	else
		memcpy(o->agent, b.data, b.len + 1);
	buf_done(&b);
	free(path);
	return rc;
}

static int open_losses(struct outbox *o, const char *folder, struct err *err)
{
	char *path = NULL;
	if (asprintf(&path, "%s/lost", folder) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = losses_open(&o->losses, path, err);
	free(path);
	return rc;
}

static int set_sender(struct outbox *o, const struct outbox_options *from, struct err *err)
{
	o->host = from->host ? strdup(from->host) : NULL;
	o->boot = from->boot ? strdup(from->boot) : NULL;
	o->tool = from->tool ? strdup(from->tool) : NULL;
	if ((from->host && !o->host) || (from->boot && !o->boot) || (from->tool && !o->tool))
		return err_set(err, -ENOMEM, "out of memory");
	batch_sender_clear(&o->sender);
	o->sender.agent = str_of(o->agent);
	o->sender.spool = str_of(spool_id(o->spool));
	o->sender.host = str_of(o->host);
	o->sender.boot = str_of(o->boot);
	o->sender.tool = str_of(o->tool);
	return 0;
}

int outbox_open(struct outbox **ret, const struct outbox_options *from, struct err *err)
{
	if (from->agent && (!*from->agent || strlen(from->agent) >= OUTBOX_AGENT_ID))
		return err_set(err, -EINVAL, "[agent] id: 1 to %d characters are possible",
			       OUTBOX_AGENT_ID - 1);
	struct outbox *o = calloc(1, sizeof *o);
	if (!o)
		return err_set(err, -ENOMEM, "out of memory");
	o->batch_bytes = from->batch_bytes ? from->batch_bytes : OUTBOX_BATCH_BYTES;
	o->age_ns[SPOOL_MARK] = from->age_ns ? from->age_ns : SECOND;
	o->age_ns[SPOOL_CONTEXT] =
		from->context_age_ns ? from->context_age_ns : o->age_ns[SPOOL_MARK];
	o->wait_bytes = from->max_bytes < OUTBOX_WAIT_BYTES ? from->max_bytes : OUTBOX_WAIT_BYTES;
	o->clock_ns = from->clock_ns ? from->clock_ns : monotonic_ns;
	o->pace = (struct pace){ .first_ns = SECOND, .max_ns = 30 * SECOND };
	o->read_real_ns = ROI_UNKNOWN;
	int rc = spool_open(&o->spool, from->folder, from->max_bytes, 0, err);
	if (!rc && from->agent)
		(void)snprintf(o->agent, sizeof o->agent, "%s", from->agent);
	else if (!rc)
		rc = find_id(o, from->folder, err);
	if (!rc)
		rc = open_losses(o, from->folder, err);
	if (!rc)
		rc = set_sender(o, from, err);
	if (rc) {
		outbox_close(o);
		return rc;
	}
	*ret = o;
	return 0;
}

void outbox_close(struct outbox *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n; i++)
		buf_done(&o->list[i].bytes);
	free(o->list);
	for (int i = 0; i < SPOOL_CLASSES; i++)
		batch_out_done(&o->open[i].out);
	batch_in_done(&o->in);
	o->again.zstd = o->zstd;
	batch_out_done(&o->again);
	buf_done(&o->gap);
	losses_close(o->losses);
	spool_close(o->spool);
	free(o->host);
	free(o->boot);
	free(o->tool);
	free(o);
}

/* ---- batches -------------------------------------------------------------------------------- */

int outbox_code(struct outbox *o, struct batch_out *out, uint64_t seq, int64_t from_real_ns,
		int64_t to_real_ns, struct buf *ret, struct err *err)
{
	o->sender.seq = seq;
	o->sender.from_real_ns = from_real_ns;
	o->sender.to_real_ns = to_real_ns;
	ret->len = 0;
	ret->failed = false;
	out->zstd = o->zstd; /* one for all: it is the larger part of an idle agent's memory */
	int rc = batch_end(out, &o->sender, ret, err);
	o->zstd = out->zstd;
	out->zstd = NULL;
	return rc;
}

/* The same frames under another number: one was given back by a failed sync, or used meanwhile. */
static int code_again(struct outbox *o, struct waiting *w, uint64_t seq)
{
	struct frame f;
	struct buf fresh = { 0 };
	int rc = batch_open(&o->in, w->bytes.data, w->bytes.len, NULL);
	int more = 0;
	while (!rc && (more = batch_next(&o->in, &f, NULL)) == 1)
		rc = batch_put(&o->again, &f);
	if (!rc && more < 0)
		rc = more;
	if (rc) {
		batch_out_done(&o->again);
		return rc;
	}
	rc = outbox_code(o, &o->again, seq, w->from_real_ns, w->to_real_ns, &fresh, NULL);
	if (rc) {
		buf_done(&fresh);
		return rc;
	}
	o->waiting_bytes += fresh.len - w->bytes.len;
	o->kept_bytes += fresh.len - w->bytes.len;
	buf_done(&w->bytes);
	w->bytes = fresh;
	w->coded_seq = seq;
	return 0;
}

static const char *why_of(const struct outbox *o, int rc)
{
	struct spool_stats st;
	if (rc == -ENOMEM)
		return "no_memory";
	if (rc == -E2BIG)
		return "refused";
	if (rc != -ENOSPC)
		return "disk_fault";
	spool_stats(o->spool, &st);
	return st.bytes + o->last_need > st.max_bytes ? "spool_full" : "disk_full";
}

static void drop_waiting(struct outbox *o, size_t at)
{
	struct waiting *w = &o->list[at];
	o->kept_bytes -= w->bytes.len;
	if (!w->appended)
		o->waiting_bytes -= w->bytes.len;
	buf_done(&w->bytes);
	memmove(w, w + 1, (--o->n - at) * sizeof *w);
}

static void lose_waiting(struct outbox *o, size_t at, int rc)
{
	struct waiting *w = &o->list[at];
	outbox_lose_batch(o, w->bytes.data, w->bytes.len, why_of(o, rc), strerror(-rc));
	drop_waiting(o, at);
}

/* A sync failed, here or within the spool: what was not durable was taken back. */
static void all_taken_back(struct outbox *o)
{
	for (size_t i = 0; i < o->n; i++) {
		if (o->list[i].appended)
			o->waiting_bytes += o->list[i].bytes.len;
		o->list[i].appended = false;
	}
	o->dirty = false;
}

static int append_one(struct outbox *o, struct waiting *w, bool *ret_taken_back, struct err *err)
{
	uint64_t seq = spool_next_seq(o->spool);
	int rc = w->coded_seq == seq ? 0 : code_again(o, w, seq);
	if (!rc)
		rc = spool_append(o->spool, w->class, w->to_real_ns, w->bytes.data, w->bytes.len,
				  err);
	if (!rc) {
		w->appended = true;
		o->waiting_bytes -= w->bytes.len;
		o->dirty = true;
		return 0;
	}
	/* Failures other than a lack of room may have been failures to sync. Whether all of it was
	 * taken back can't always be seen, so all of it goes again: a frame that comes twice says
	 * the same twice. */
	*ret_taken_back =
		spool_next_seq(o->spool) != seq || (rc != -ENOSPC && rc != -ENOMEM && rc != -E2BIG);
	if (*ret_taken_back)
		all_taken_back(o);
	o->last_rc = rc;
	o->last_need = w->bytes.len + RECORD_OVERHEAD;
	return rc;
}

/* Everything that waits, oldest first, as far as there is room. 0, or why some of it still waits.
 */
static int append_waiting(struct outbox *o, struct err *err)
{
	int worst = 0, restarts = 0;
	for (size_t i = 0; i < o->n;) {
		struct waiting *w = &o->list[i];
		if (w->appended || (worst && w->class == SPOOL_MARK)) {
			i++;
			continue;
		}
		bool taken_back = false;
		int rc = append_one(o, w, &taken_back, worst ? NULL : err);
		if (!rc) {
			i++;
			continue;
		}
		if (taken_back && !restarts++) { /* from the beginning, once */
			worst = 0;
			i = 0;
			continue;
		}
		if (w->class == SPOOL_CONTEXT || rc == -E2BIG) {
			lose_waiting(o, i, rc);
			continue;
		}
		worst = rc;
		i++;
	}
	o->full = worst != 0;
	/* The newest go first: of the older ones a part may be on the disk already. */
	for (size_t i = o->n; i-- && o->waiting_bytes > o->wait_bytes;)
		if (!o->list[i].appended)
			lose_waiting(o, i, o->last_rc);
	return worst;
}

static int add_waiting(struct outbox *o, enum spool_class class, struct err *err)
{
	struct open_batch *b = &o->open[class];
	if (o->n == o->cap) {
		size_t cap = o->cap ? 2 * o->cap : 16;
		struct waiting *list = realloc(o->list, cap * sizeof *list);
		if (!list)
			return err_set(err, -ENOMEM, "out of memory");
		o->list = list;
		o->cap = cap;
	}
	struct waiting w = { .class = class,
			     .coded_seq = spool_next_seq(o->spool),
			     .from_real_ns = b->from_real_ns,
			     .to_real_ns = b->to_real_ns };
	int rc = outbox_code(o, &b->out, w.coded_seq, w.from_real_ns, w.to_real_ns, &w.bytes, err);
	if (rc) {
		buf_done(&w.bytes);
		return rc;
	}
	if (!o->n)
		o->list_since_ns = o->clock_ns();
	o->list[o->n++] = w;
	o->waiting_bytes += w.bytes.len;
	o->kept_bytes += w.bytes.len;
	o->batches++;
	return 0;
}

/* The open batch joins those that wait. When there is no memory for that, it is lost as a whole. */
static int end_batch(struct outbox *o, enum spool_class class, struct err *err)
{
	struct open_batch *b = &o->open[class];
	size_t frames = b->out.frames;
	if (!frames)
		return 0;
	struct outbox_loss loss = { .what = class == SPOOL_CONTEXT ? "context" : "marks",
				    .why = "no_memory",
				    .count = frames,
				    .bytes = b->out.body.len,
				    .from_real_ns = b->from_real_ns,
				    .to_real_ns = b->to_real_ns };
	int rc = add_waiting(o, class, err);
	if (rc) {
		batch_out_done(&b->out);
		losses_untold(o->losses);
		outbox_lose(o, &loss);
	}
	return rc;
}

/* ---- in ------------------------------------------------------------------------------------- */

static void changed(struct outbox *o)
{
	if (o->changed)
		o->changed(o->changed_arg);
}

static void widen(struct open_batch *b, const struct frame *f)
{
	int64_t from, to;
	outbox_frame_times(f, &from, &to);
	if (from != ROI_UNKNOWN && (b->from_real_ns == ROI_UNKNOWN || from < b->from_real_ns))
		b->from_real_ns = from;
	if (to > b->to_real_ns) /* unknown is the least of all numbers */
		b->to_real_ns = to;
}

static int put(struct outbox *o, const struct frame *f)
{
	enum spool_class class = f->type == FRAME_CONTEXT ? SPOOL_CONTEXT : SPOOL_MARK;
	struct open_batch *b = &o->open[class];
	int rc = batch_put(&b->out, f);
	if (rc == -E2BIG && b->out.frames) {
		(void)end_batch(o, class, NULL);
		rc = batch_put(&b->out, f);
	}
	if (rc)
		return rc;
	if (b->out.frames == 1) {
		b->from_real_ns = b->to_real_ns = ROI_UNKNOWN;
		b->since_ns = o->clock_ns();
		changed(o);
	}
	widen(b, f);
	o->frames++;
	if (b->out.body.len < o->batch_bytes)
		return 0;
	rc = end_batch(o, class, NULL);
	/* While there is no room, only outbox_tick and outbox_sync try: each attempt costs. */
	if (!rc && !o->full)
		(void)append_waiting(o, NULL);
	if (!rc && o->kept_bytes - o->waiting_bytes > UNSYNCED_BYTES)
		(void)outbox_sync(o, NULL, NULL);
	return rc;
}

int outbox_put(struct outbox *o, const struct frame *f, struct err *err)
{
	int rc = 0;
	if (o->full && o->waiting_bytes >= o->wait_bytes)
		rc = o->last_rc;
	else
		rc = put(o, f);
	if (!rc)
		return 0;
	outbox_lose_frame(o, f, why_of(o, rc), strerror(-rc));
	return err_set(err, rc, "a %s frame is lost: %s", frame_name(f->type), strerror(-rc));
}

static void forget_durable(struct outbox *o)
{
	size_t kept = 0;
	for (size_t i = 0; i < o->n; i++) {
		struct waiting *w = &o->list[i];
		if (!w->appended) {
			o->list[kept++] = *w;
			continue;
		}
		o->kept_bytes -= w->bytes.len;
		buf_done(&w->bytes);
	}
	o->n = kept;
}

static int sync_once(struct outbox *o, struct err *err)
{
	int rc = append_waiting(o, err);
	if (!o->dirty)
		return rc;
	int sync_rc = spool_sync(o->spool, rc ? NULL : err);
	if (sync_rc) {
		all_taken_back(o);
		o->last_rc = sync_rc;
		return sync_rc;
	}
	o->dirty = false;
	forget_durable(o);
	return rc;
}

int outbox_sync(struct outbox *o, uint64_t *ret_seq, struct err *err)
{
	int lost = 0;
	for (int i = 0; i < SPOOL_CLASSES; i++) {
		int rc = end_batch(o, (enum spool_class)i, err);
		lost = rc ? rc : lost;
	}
	uint64_t before = outbox_durable(o);
	int rc = sync_once(o, err);
	if (rc && rc != -ENOSPC) /* once more: what was taken back is appended again */
		rc = sync_once(o, err);
	o->full = rc != 0;
	if (rc)
		o->retry_ns = pace_next(&o->pace, o->clock_ns(), false);
	else
		(void)pace_next(&o->pace, 0, true);
	if (!rc && !losses_waiting(o->losses))
		losses_told(o->losses);
	if (o->losses_dirty && !losses_sync(o->losses, NULL))
		o->losses_dirty = false;
	if (ret_seq && !rc)
		*ret_seq = outbox_durable(o);
	if (rc || before != outbox_durable(o))
		changed(o);
	return rc ? rc : lost;
}

/* ---- what is due ------------------------------------------------------------------------------
 */

/* Once a second at most: what goes on being lost is counted up meanwhile. */
static void tell_losses(struct outbox *o)
{
	struct frame f;
	size_t at = 0;
	o->tell_ns = o->clock_ns() + SECOND;
	while (losses_next(o->losses, &at, &f))
		if (put(o, &f)) {
			losses_untold(o->losses);
			return;
		}
}

static uint64_t next_due(const struct outbox *o)
{
	uint64_t due = UINT64_MAX;
	for (int i = 0; i < SPOOL_CLASSES; i++)
		if (o->open[i].out.frames && o->open[i].since_ns + o->age_ns[i] < due)
			due = o->open[i].since_ns + o->age_ns[i];
	if (o->n && o->list_since_ns + o->age_ns[SPOOL_MARK] < due)
		due = o->list_since_ns + o->age_ns[SPOOL_MARK];
	if (o->full) /* a full spool is not asked more often for all that comes meanwhile */
		due = o->retry_ns;
	if (!o->full && losses_waiting(o->losses) && o->tell_ns < due)
		due = o->tell_ns;
	return due;
}

uint64_t outbox_tick(struct outbox *o)
{
	if (next_due(o) > o->clock_ns())
		return next_due(o);
	if (!o->full && losses_waiting(o->losses) && o->tell_ns <= o->clock_ns())
		tell_losses(o);
	(void)outbox_sync(o, NULL, NULL);
	return next_due(o);
}

void outbox_on_change(struct outbox *o, void (*fn)(void *arg), void *arg)
{
	o->changed = fn;
	o->changed_arg = arg;
}

/* ---- looks ----------------------------------------------------------------------------------- */

uint64_t outbox_durable(const struct outbox *o)
{
	struct spool_stats st;
	spool_stats(o->spool, &st);
	return st.synced_seq;
}

uint64_t outbox_delivered(const struct outbox *o)
{
	struct spool_stats st;
	spool_stats(o->spool, &st);
	return st.acked_seq;
}

void outbox_stats(const struct outbox *o, struct outbox_stats *ret)
{
	*ret = (struct outbox_stats){ .waiting_bytes = o->waiting_bytes,
				      .lost = losses_count(o->losses),
				      .batches = o->batches,
				      .frames = o->frames,
				      .full = o->full };
	spool_stats(o->spool, &ret->spool);
}

bool outbox_each_loss(const struct outbox *o, size_t *at, struct frame *ret)
{
	return losses_each(o->losses, at, ret);
}

const char *outbox_agent(const struct outbox *o)
{
	return o->agent;
}

const char *outbox_spool(const struct outbox *o)
{
	return spool_id(o->spool);
}
