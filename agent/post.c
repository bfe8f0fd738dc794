/* What is sent when, and what an answer means. */
#define _GNU_SOURCE
#include "agent/post.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/http.h"
#include "agent/secret.h"
#include "lib/log.h"
#include "lib/pace.h"

#define SECOND 1e9
#define RETRY_AFTER_MAX_S 300.0 /* a server that asks for more is asked again all the same */
#define SMALL_BODY (64u << 10)  /* memory for a larger one is given back */

struct post {
	uv_loop_t *loop;
	struct outbox *outbox;
	struct http *http; /* NULL: nothing is sent */
	char *url, *token_file;
	char token[SECRET_BYTES];
	void (*delivered)(void *arg, uint64_t seq);
	void *arg;

	uv_prepare_t prepare;  /* once a turn of the loop, before it sleeps */
	uv_timer_t due, retry; /* something is due in the outbox; time to send again */
	bool changed, in_flight;

	struct buf body;        /* under way, or to be sent again */
	unsigned items;         /* batches in it */
	struct spool_item item; /* the last of them */
	struct buf ahead;       /* one that had no room in it, or a gap to be sent in its place */
	struct spool_item ahead_item;
	uint64_t alone_until; /* batches up to this number go one by one */

	struct pace soft, hard;
	uint64_t not_before_ns;
	unsigned failures; /* since the trouble began */
	int trouble;       /* status that was logged; -1: none */
	bool read_trouble, conflict;
	struct post_stats stats;

	unsigned handles;
	bool closing;
	void (*closed)(void *arg);
	void *closed_arg;
};

static void send_next(struct post *p);

/* ---- what to send ---------------------------------------------------------------------------- */

static void empty(struct buf *b)
{
	if (b->cap > SMALL_BODY || b->failed)
		buf_done(b);
	b->len = 0;
}

static void forget_body(struct post *p)
{
	empty(&p->body);
	p->items = 0;
}

static void take(struct post *p, const struct spool_item *item)
{
	buf_put(&p->body, item->bytes, item->n);
	p->items++;
	p->item = *item;
	p->item.bytes = NULL;
}

/* Kept for the next body. */
static void keep_ahead(struct post *p, const struct spool_item *item)
{
	empty(&p->ahead);
	buf_put(&p->ahead, item->bytes, item->n);
	p->ahead_item = *item;
}

static bool take_ahead(struct post *p)
{
	if (!p->ahead.len)
		return false;
	p->ahead_item.bytes = p->ahead.data;
	take(p, &p->ahead_item);
	empty(&p->ahead);
	return true;
}

static void read_failed(struct post *p, int rc, const struct err *err)
{
	if (!p->read_trouble)
		log_error("spool: can't be read (%s): %s; tried again, nothing is skipped",
			  strerror(-rc), err->text);
	p->read_trouble = true;
	p->not_before_ns = pace_next(&p->soft, uv_hrtime(), false);
}

/* Fills the body. Whether there is anything in it. */
static bool fill(struct post *p)
{
	struct spool_item item;
	struct err err = { { 0 } };
	int rc = 1;
	bool more = !take_ahead(p) || p->item.seq > p->alone_until;
	while (more && p->body.len < POST_BODY_BYTES &&
	       (rc = outbox_read(p->outbox, &item, &err)) == 1) {
		if (p->items && p->body.len + item.n > POST_BODY_BYTES) {
			keep_ahead(p, &item);
			break;
		}
		take(p, &item);
		more = item.seq > p->alone_until;
	}
	if (rc < 0)
		read_failed(p, rc, &err);
	else
		p->read_trouble = false;
	if (p->body.failed || p->ahead.failed) { /* no memory: from the beginning, later */
		forget_body(p);
		empty(&p->ahead);
		outbox_rewind(p->outbox);
		p->not_before_ns = pace_next(&p->soft, uv_hrtime(), false);
	}
	return p->items > 0;
}

static int64_t real_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void trouble(struct post *p, int status, const char *text)
{
	p->failures++;
	p->stats.failures++;
	p->stats.failed_real_ns = real_ns();
	p->stats.trouble = true;
	(void)snprintf(p->stats.why, sizeof p->stats.why, "%s", text);
	if (p->trouble == status)
		return;
	p->trouble = status;
	double s = (double)(p->not_before_ns - uv_hrtime()) / SECOND;
	if (status == 401 || status == 403)
		log_error("post to %s: %s; it takes no batch %s%s; all is kept, next try in %.1f s",
			  p->url, text,
			  p->token_file ? "with the token of " : "without one: [server] token_file",
			  p->token_file ? p->token_file : "", s);
	else
		log_warn("post to %s: %s; all is kept, next try in %.1f s", p->url, text, s);
}

static void trouble_ends(struct post *p)
{
	if (p->trouble != -1)
		log_info("post to %s: works again after %u failure%s", p->url, p->failures,
			 p->failures == 1 ? "" : "s");
	p->trouble = -1;
	p->failures = 0;
	p->stats.trouble = false;
	*p->stats.why = 0;
	p->not_before_ns = 0;
	(void)pace_next(&p->soft, 0, true);
	(void)pace_next(&p->hard, 0, true);
}

static void arrived(struct post *p, uint64_t seq)
{
	struct err err = { { 0 } };
	forget_body(p);
	if (outbox_ack(p->outbox, seq, &err))
		log_error("%s; what has arrived is sent once more after a restart", err.text);
	if (p->delivered)
		p->delivered(p->arg, seq);
}

static void answer_good(struct post *p)
{
	p->stats.posts++;
	p->stats.good_real_ns = real_ns();
	p->stats.delivered_batches += p->items;
	p->stats.delivered_bytes += p->body.len;
	trouble_ends(p);
	arrived(p, p->item.seq);
}

/* The batches of a body that was refused, one by one: which of them is it? */
static void one_by_one(struct post *p)
{
	p->alone_until = p->item.seq;
	forget_body(p);
	empty(&p->ahead);
	outbox_rewind(p->outbox);
}

/* This one batch will never be taken. Its number gets a gap in its place. */
static void give_up_batch(struct post *p, const char *text)
{
	struct spool_item item = p->item, gap;
	struct err err = { { 0 } };
	item.bytes = p->body.data;
	int rc = outbox_refused(p->outbox, &item, text, &gap, &err);
	if (!rc) {
		log_error("post to %s: batch %llu is refused: %s; its frames are counted as lost",
			  p->url, (unsigned long long)item.seq, text);
		p->stats.refused_batches++;
		forget_body(p);
		take(p, &gap);
	} else if (rc == -EINVAL) { /* not even the gap is taken: the ledger shows the hole */
		log_error("post to %s: the gap at %llu is refused, too: %s", p->url,
			  (unsigned long long)item.seq, text);
		arrived(p, item.seq);
	} else {
		p->not_before_ns = pace_next(&p->soft, uv_hrtime(), false);
		trouble(p, 0, err.text);
	}
}

/* The daemon has something else under this number: the spool was copied, or put back from a backup.
 * The frames are good; only their number is used. */
static void answer_conflict(struct post *p, const char *text)
{
	struct spool_item item = p->item;
	struct err err = { { 0 } };
	item.bytes = p->body.data;
	if (!p->conflict)
		log_error("post to %s: %s; was the spool copied or put back? Its batches are sent "
			  "under new numbers",
			  p->url, text);
	p->conflict = true;
	if (item.gap) { /* the daemon has what the gap would have excused */
		arrived(p, item.seq);
		return;
	}
	int rc = outbox_renumber(p->outbox, &item, &err);
	if (!rc) {
		p->stats.renumbered_batches++;
		arrived(p, item.seq);
	} else if (rc == -ENOSPC) {
		give_up_batch(p, text);
		if (p->item.gap)
			arrived(p, p->item.seq);
	} else {
		p->not_before_ns = pace_next(&p->soft, uv_hrtime(), false);
		trouble(p, 409, err.text);
	}
}

static void try_later(struct post *p, const struct http_answer *a, bool person)
{
	uint64_t now = uv_hrtime();
	p->not_before_ns = pace_next(person ? &p->hard : &p->soft, now, false);
	if (!isnan(a->retry_after_s)) {
		double s =
			a->retry_after_s < RETRY_AFTER_MAX_S ? a->retry_after_s : RETRY_AFTER_MAX_S;
		/* Asked at the same moment, all agents would come back at the same moment. */
		struct pace spread = { .first_ns = (uint64_t)(s * SECOND * 4 / 3),
				       .max_ns = UINT64_MAX,
				       .random = now | 1 };
		if (s > 0)
			p->not_before_ns = pace_next(&spread, now, false);
	}
	trouble(p, a->status, a->text);
}

static void on_answer(void *arg, const struct http_answer *a)
{
	struct post *p = arg;
	p->in_flight = false;
	p->stats.status = a->status;
	bool bad_batch = (a->status == 400 && a->problem) || a->status == 413;
	if (a->status >= 200 && a->status < 300)
		answer_good(p);
	else if (p->items > 1 && (bad_batch || a->status == 409))
		one_by_one(p);
	else if (bad_batch)
		give_up_batch(p, a->text);
	else if (a->status == 409)
		answer_conflict(p, a->text);
	else
		try_later(p, a,
			  a->status >= 300 && a->status < 500 && a->status != 408 &&
				  a->status != 425 && a->status != 429);
	p->changed = true; /* the next one from the loop's next turn, not from here */
}

/* ---- when -------------------------------------------------------------------------------------
 */

static void on_retry(uv_timer_t *timer)
{
	((struct post *)timer->data)->changed = true;
}

static void set_timer(uv_timer_t *timer, uv_timer_cb cb, uint64_t at_ns)
{
	uint64_t now = uv_hrtime();
	(void)uv_timer_start(timer, cb, at_ns > now ? (at_ns - now + 999999) / 1000000 : 0, 0);
}

static void send_next(struct post *p)
{
	struct err err = { { 0 } };
	uint64_t now = uv_hrtime();
	if (!p->http || p->in_flight || p->closing)
		return;
	if (p->not_before_ns > now || (!p->items && !fill(p))) {
		if (p->not_before_ns > now)
			set_timer(&p->retry, on_retry, p->not_before_ns);
		return;
	}
	int rc = http_post(p->http, BATCH_TYPE, *p->token ? p->token : NULL, p->body.data,
			   p->body.len, on_answer, p, &err);
	p->in_flight = !rc;
	if (!rc)
		return;
	p->not_before_ns = pace_next(&p->soft, now, false);
	set_timer(&p->retry, on_retry, p->not_before_ns);
	trouble(p, 0, err.text);
}

static void on_changed(void *arg)
{
	((struct post *)arg)->changed = true;
}

static void on_due(uv_timer_t *timer)
{
	((struct post *)timer->data)->changed = true;
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct post *p = prepare->data;
	if (!p->changed)
		return;
	uint64_t due = outbox_tick(p->outbox);
	p->changed = false; /* by what the tick has done, too */
	uv_update_time(p->loop);
	if (due == UINT64_MAX)
		(void)uv_timer_stop(&p->due);
	else
		set_timer(&p->due, on_due, due);
	send_next(p);
}

/* ---- open and close ---------------------------------------------------------------------------
 */

static void free_post(struct post *p)
{
	buf_done(&p->body);
	buf_done(&p->ahead);
	explicit_bzero(p->token, sizeof p->token);
	free(p->url);
	free(p->token_file);
	free(p);
}

static void handle_gone(struct post *p)
{
	if (--p->handles)
		return;
	void (*closed)(void *arg) = p->closed;
	void *arg = p->closed_arg;
	free_post(p);
	if (closed)
		closed(arg);
}

static void uv_gone(uv_handle_t *handle)
{
	handle_gone(handle->data);
}

static void http_gone(void *arg)
{
	handle_gone(arg);
}

void post_close(struct post *p, void (*closed)(void *arg), void *arg)
{
	if (!p)
		return;
	p->closing = true;
	p->closed = closed;
	p->closed_arg = arg;
	outbox_on_change(p->outbox, NULL, NULL);
	http_close(p->http, http_gone, p);
	uv_close((uv_handle_t *)&p->prepare, uv_gone);
	uv_close((uv_handle_t *)&p->due, uv_gone);
	uv_close((uv_handle_t *)&p->retry, uv_gone);
}

int post_reload(struct post *p, struct err *err)
{
	char token[SECRET_BYTES] = "";
	int rc = p->token_file ? secret_read(token, p->token_file, err) : 0;
	if (rc)
		return rc;
	memcpy(p->token, token, sizeof token);
	explicit_bzero(token, sizeof token);
	p->not_before_ns = 0;
	p->changed = true;
	return 0;
}

static int set_url(struct post *p, const struct post_options *o, struct err *err)
{
	size_t n = strlen(o->url);
	while (n && o->url[n - 1] == '/')
		n--;
	if (asprintf(&p->url, "%.*s/api/v1/ingest", (int)n, o->url) < 0) {
		p->url = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	const struct http_options http = { .loop = o->loop,
					   .url = p->url,
					   .ca = o->ca,
					   .certificate = o->certificate,
					   .key = o->key,
					   .connect_s = o->connect_s,
					   .stall_s = o->stall_s };
	int rc = http_open(&p->http, &http, err);
	p->handles += !rc;
	return rc;
}

static void begin_handles(struct post *p)
{
	(void)uv_prepare_init(p->loop, &p->prepare);
	(void)uv_timer_init(p->loop, &p->due);
	(void)uv_timer_init(p->loop, &p->retry);
	p->prepare.data = p->due.data = p->retry.data = p;
	p->handles += 3;
	(void)uv_prepare_start(&p->prepare, on_prepare);
	outbox_on_change(p->outbox, on_changed, p);
}

int post_open(struct post **ret, const struct post_options *o, struct err *err)
{
	struct post *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	uint64_t retry_max = (uint64_t)(o->retry_max_s * SECOND);
	p->loop = o->loop;
	p->outbox = o->outbox;
	p->delivered = o->delivered;
	p->arg = o->arg;
	p->trouble = -1;
	p->stats.good_real_ns = p->stats.failed_real_ns = ROI_UNKNOWN;
	p->changed = true; /* what a former life left is sent, and told, at once */
	p->soft = (struct pace){ .first_ns = retry_max < 2 * SECOND ? retry_max / 4 : SECOND / 2,
				 .max_ns = retry_max,
				 .random = uv_hrtime() | 1 };
	p->hard = (struct pace){ .first_ns = retry_max / 2,
				 .max_ns = 10 * retry_max,
				 .random = uv_hrtime() | 1 };
	p->token_file = o->token_file ? strdup(o->token_file) : NULL;
	int rc = o->token_file && !p->token_file ? err_set(err, -ENOMEM, "out of memory")
						 : post_reload(p, err);
	if (!rc && o->url)
		rc = set_url(p, o, err);
	if (rc) {
		free_post(p);
		return rc;
	}
	begin_handles(p);
	*ret = p;
	return 0;
}

void post_stats(const struct post *p, struct post_stats *ret)
{
	*ret = p->stats;
	ret->next_try_ns = p->not_before_ns;
	ret->failures_in_a_row = p->failures;
	ret->in_flight = p->in_flight;
}
