/* Any frames, as a batch of some agent, into a store; then time passes, and what is due is done.
 * Whatever they say, the daemon takes the batch or refuses it, and goes on. The input is the frames
 * as they stand in a batch, unpacked, behind a byte that says whose and when. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gather.h"

#define ANEW 500 /* inputs after which the store is another one */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct store *s;
static struct gather *g;
static struct gather_now now;
static unsigned inputs;

static void start(void)
{
	const struct gather_config config = GATHER_DEFAULTS;
	struct err err;
	gather_close(g);
	store_close(s);
	s = NULL;
	g = NULL;
	if (store_open(&s, ":memory:", STORE_WRITE, &err) ||
	    gather_open(&g, s, &config, &now, &err))
		abort();
}

static bool make_batch(struct buf *body, const uint8_t *data, size_t n)
{
	static const char *const agents[] = { "a", "b", "c", "d" };
	struct batch_in in = { .at = data + 1, .end = data + n, .left = 1000 };
	struct batch_out out = { .frames = 0 };
	struct batch_sender from;
	struct frame f;
	batch_sender_clear(&from);
	from.agent = from.spool = str_of(agents[data[0] % 4]);
	from.seq = 1 + inputs + (data[0] >> 4);
	while (batch_next(&in, &f, NULL) == 1)
		if (batch_put(&out, &f))
			break;
	int rc = batch_end(&out, &from, body, NULL);
	batch_out_done(&out);
	return !rc;
}

static int see_ledger(void *arg, const struct inbox_ledger *l)
{
	(void)arg;
	return l->agent && l->spool && l->complete == !l->why ? 0 : -1;
}

static int see_running(void *arg, const struct gather_running *r)
{
	(void)arg;
	(void)r;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct gather_result r;
	struct err err = { .text = "" };
	struct buf body = { 0 };
	int64_t next;
	if (n < 2)
		return 0;
	if (inputs++ % ANEW == 0)
		start();
	if (make_batch(&body, data, n)) {
		if (store_begin(s, &err))
			abort();
		int rc = gather_take(g, s, body.data, body.len, &now, &r, &err);
		if (rc && !gather_is_refusal(rc))
			abort();
		if (store_commit(s, &err))
			abort();
		now.mono_ns += (data[0] & 8 ? 1000 : 1) * GATHER_SECOND;
		if (gather_each_running(s, NULL, see_running, NULL, &err) ||
		    gather_tick(g, s, &now, NULL, NULL, &next, &err) ||
		    inbox_each_ledger(s, NULL, INT64_MIN + 1, INT64_MAX, see_ledger, NULL, &err))
			abort();
	}
	buf_done(&body);
	return 0;
}
