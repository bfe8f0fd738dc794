/* The ledger is what a plain list of what was sent says, whatever comes twice, under a number that
 * was used, late or never, and whenever it is folded, taken back, or the daemon is started anew. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/gather_fixture.h"

#define SEQS 400

/* ---- the model ------------------------------------------------------------------------------- */

struct number {
	bool came;     /* under this number something came */
	bool carrier;  /* ... but it only said that what it was meant for is lost */
	bool told;     /* its sender says that it will never come */
	unsigned what; /* which of the batches with this number */
};

struct model {
	struct number numbers[AGENTS][SEQS + 1];
	uint64_t batches[AGENTS];
};

static struct buf context_batch(int agent, uint64_t seq, unsigned what)
{
	struct frame f;
	frame_clear(&f, FRAME_CONTEXT);
	f.as.context.real_ns = what;
	f.as.context.scope = str_of("node");
	return batch_of(&f, 1, agent, seq);
}

static struct buf gap_batch(int agent, uint64_t first, uint64_t last)
{
	struct frame f;
	frame_clear(&f, FRAME_GAP);
	f.as.gap.first_seq = first;
	f.as.gap.last_seq = last;
	f.as.gap.what = str_of("context");
	f.as.gap.why = str_of("spool_full");
	return batch_of(&f, 1, agent, last);
}

/* ---- what the ledger says -------------------------------------------------------------------- */

struct checking {
	const struct model *m;
	int agent;
};

static int check(void *arg, const struct inbox_ledger *l)
{
	struct checking *c = arg;
	const struct number *n = c->m->numbers[c->agent];
	bool came[SEQS + 1] = { false }, missing[SEQS + 1] = { false };
	uint64_t last = 0, lost = 0, should_be_lost = 0, carried = 0;
	for (size_t i = 0; i < l->n_spans; i++)
		for (uint64_t k = l->spans[i].first; k <= l->spans[i].last; k++)
			came[k] = true;
	for (size_t i = 0; i < l->n_holes; i++) {
		lost += l->holes[i].told ? l->holes[i].count : 0;
		for (uint64_t k = l->holes[i].first; k <= l->holes[i].last && !l->holes[i].told;
		     k++)
			missing[k] = true;
	}
	for (uint64_t k = 1; k <= SEQS; k++)
		last = n[k].came ? k : last;
	for (uint64_t k = 1; k <= last; k++) {
		if (came[k] != n[k].came || missing[k] != (!n[k].came && !n[k].told))
			fail_msg("%s: number %" PRIu64 ": came %d %d, missing %d", l->agent, k,
				 came[k], n[k].came, missing[k]);
		should_be_lost += n[k].told && !n[k].came;
		carried += n[k].carrier;
	}
	assert_int_equal(lost, should_be_lost + carried);
	assert_int_equal(l->batches, c->m->batches[c->agent]);
	assert_int_equal(l->last_seq, last);
	bool all = true;
	for (uint64_t k = 1; k <= last; k++)
		all = all && n[k].came && !n[k].carrier;
	assert_int_equal(l->complete, all);
	assert_int_equal(!l->why, all);
	return 7;
}

static void assert_ledger(struct world *w, const struct model *m)
{
	static const char *const agents[AGENTS] = { "agent-a", "agent-b", "agent-c" };
	struct store *reader = open_store(STORE_READ);
	for (int i = 0; i < AGENTS; i++) {
		struct checking c = { .m = m, .agent = i };
		struct err err = { .text = "" };
		int expect = m->batches[i] ? 7 : 0;
		assert_int_equal(inbox_each_ledger(i ? reader : w->s, agents[i], INT64_MIN + 1,
						   INT64_MAX, check, &c, &err),
				 expect);
	}
	store_close(reader);
}

/* ---- random posts ---------------------------------------------------------------------------- */

struct act {
	struct buf body;
	int agent;
	uint64_t seq, first;
	unsigned what;
	bool gap;
};

static struct act any_act(struct dice *d, const struct model *m)
{
	struct act a = { .agent = (int)below(d, AGENTS) };
	const struct number *n = m->numbers[a.agent];
	uint64_t next = 1;
	while (next < SEQS && n[next].came)
		next++;
	/* Mostly the next one; else anything: a hole, one that came, one far ahead. */
	a.seq = below(d, 3) ? next : 1 + below(d, next + 20 < SEQS ? next + 20 : SEQS);
	a.gap = below(d, 8) == 0;
	a.first = a.seq > 4 ? a.seq - below(d, 4) : 1;
	a.what = below(d, 5) && !n[a.seq].carrier ? n[a.seq].what : 1 + (unsigned)below(d, 3);
	a.body = a.gap ? gap_batch(a.agent, a.first, a.seq) : context_batch(a.agent, a.seq, a.what);
	return a;
}

/* What should come of it, and does the model change? */
static int apply(struct model *m, const struct act *a, uint64_t *ret_new)
{
	struct number *n = &m->numbers[a->agent][a->seq];
	unsigned what = a->gap ? 100 + (unsigned)a->first : a->what;
	bool same = n->came && n->what == what;
	*ret_new = !n->came;
	if (n->came && !same && !a->gap)
		return -EEXIST;
	/* Once more, with the same or other words: what it says of the others counts. */
	if (a->gap && !same)
		for (uint64_t k = a->first; k < a->seq; k++)
			m->numbers[a->agent][k].told = true;
	if (n->came)
		return 0;
	*n = (struct number){ .came = true, .carrier = a->gap, .told = a->gap, .what = what };
	m->batches[a->agent]++;
	return 0;
}

static void one_act(struct world *w, struct model *m, struct dice *d)
{
	struct model after = *m;
	struct act a = any_act(d, m);
	struct gather_result r;
	struct err err;
	uint64_t is_new;
	int rc = apply(&after, &a, &is_new);
	assert_int_equal(store_begin(w->s, &err), 0);
	assert_int_equal(gather_take(w->g, w->s, a.body.data, a.body.len, &w->now, &r, &err), rc);
	if (!rc) {
		assert_int_equal(r.batches, is_new);
		assert_int_equal(r.duplicates, !is_new);
	}
	if (below(d, 6) == 0) {
		store_rollback(w->s);
	} else {
		assert_int_equal(store_commit(w->s, &err), 0);
		*m = after;
	}
	buf_done(&a.body);
}

static void the_ledger_is_what_a_plain_list_says(void **state)
{
	for (unsigned round = 0; round < 6; round++) {
		static struct model m;
		struct dice d = { 5 + round };
		m = (struct model){ .batches = { 0 } };
		make_quick_folder(state);
		struct world w = start();
		for (int i = 0; i < 1500; i++) {
			one_act(&w, &m, &d);
			if (below(&d, 40) == 0)
				pass(&w, 31 * SECOND);
			if (below(&d, 60) == 0)
				restart(&w, 0);
			if (below(&d, 30) == 0)
				assert_ledger(&w, &m);
		}
		assert_ledger(&w, &m);
		stop(&w);
		remove_folder(state);
	}
}

/* ---- in words -------------------------------------------------------------------------------- */

struct words {
	struct buf b;
	bool complete, marks;
};

static int put_words(void *arg, const struct inbox_ledger *l)
{
	struct words *w = arg;
	buf_printf(&w->b, "%s/%s on %s:", l->agent, l->spool, l->host);
	for (size_t i = 0; i < l->n_spans; i++)
		buf_printf(&w->b, " %" PRIu64 "-%" PRIu64, l->spans[i].first, l->spans[i].last);
	for (size_t i = 0; i < l->n_holes; i++)
		buf_printf(&w->b, " %s(%" PRIu64 "-%" PRIu64 ")",
			   l->holes[i].told ? l->holes[i].why : "missing", l->holes[i].first,
			   l->holes[i].last);
	for (size_t i = 0; i < l->n_losses; i++)
		buf_printf(&w->b, " %" PRIu64 " %s", l->losses[i].count, l->losses[i].what);
	buf_printf(&w->b, ", %s%s%s\n",
		   l->complete         ? "complete"
		   : l->marks_complete ? "marks complete"
				       : "not complete",
		   l->why ? ": " : "", l->why ? l->why : "");
	return 0;
}

static void assert_words(struct world *w, int64_t since_s, int64_t until_s, const char *should)
{
	struct words is = { .complete = false };
	struct err err = { .text = "" };
	assert_int_equal(
		inbox_each_ledger(w->s, "agent-a", REAL + since_s * SECOND,
				  until_s == INT64_MAX ? INT64_MAX : REAL + until_s * SECOND,
				  put_words, &is, &err),
		0);
	assert_string_equal(is.b.data, should);
	buf_done(&is.b);
}

static void post_context(struct world *w, uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++) {
		struct buf b = context_batch(0, seq, 1);
		(void)post(w, &b);
		buf_done(&b);
	}
}

/* Batch k of an agent speaks of second k to k + 0.5. */
static void what_is_missing_between_two_times_is_told(void **state)
{
	(void)state;
#define A "agent-a/00a on a:"
	struct world w = start();
	post_context(&w, 1, 10);
	assert_words(&w, 2, 9, A " 1-10, complete\n");
	assert_words(&w, 2, INT64_MAX, A " 1-10, complete\n");
	assert_words(&w, 2, 60,
		     A " 1-10, not complete: its newest batch, number 10, does not reach that "
		       "far\n");
	post_context(&w, 14, 20);
	assert_words(&w, 0, 9, A " 1-10 14-20, complete\n");
	assert_words(&w, 15, 20, A " 1-10 14-20, complete\n");
	assert_words(&w, 12, 20,
		     A " 1-10 14-20 missing(11-13), not complete: 3 batches of numbers 11 to 13 "
		       "have not come\n");
	struct frame f;
	frame_clear(&f, FRAME_GAP);
	f.as.gap.first_seq = 11;
	f.as.gap.last_seq = 12;
	f.as.gap.what = str_of("context");
	f.as.gap.why = str_of("spool_full");
	f.as.gap.from_real_ns = REAL + 10 * SECOND;
	f.as.gap.to_real_ns = REAL + 13 * SECOND;
	struct buf b = batch_of(&f, 1, 0, 12);
	(void)post(&w, &b);
	buf_done(&b);
	post_context(&w, 13, 13);
	assert_words(&w, 12, 20,
		     A " 1-10 12-20 spool_full(11-12), marks complete: 2 batches of numbers 11 to "
		       "12 are lost: spool_full\n");
	assert_words(&w, 14, 20, A " 1-10 12-20, complete\n");
	frame_clear(&f, FRAME_LOSS);
	f.as.loss.what = str_of("marks");
	f.as.loss.why = str_of("disk_full");
	f.as.loss.count = 3;
	f.as.loss.from_real_ns = f.as.loss.to_real_ns = REAL + 17 * SECOND;
	b = batch_of(&f, 1, 0, 21);
	(void)post(&w, &b);
	buf_done(&b);
	assert_words(&w, 14, 16, A " 1-10 12-21, complete\n");
	assert_words(&w, 14, 20, A " 1-10 12-21 3 marks, not complete: 3 marks lost: disk_full\n");
	/* The numbers of a spool whose first batches never came. */
	b = context_batch(1, 5, 1);
	(void)post(&w, &b);
	buf_done(&b);
	stop(&w);
}

/* ---- twice, or another one ------------------------------------------------------------------- */

static void numbers_that_are_long_gone_are_not_taken_for_the_same(void **state)
{
	(void)state;
	struct world w = start();
	struct gather_result r;
	struct err err;
	for (uint64_t seq = 1; seq <= 6000;) {
		struct buf body = { 0 };
		for (int i = 0; i < 500; i++) {
			struct buf b = context_batch(0, seq++, 1);
			buf_put(&body, b.data, b.len);
			buf_done(&b);
		}
		(void)post(&w, &body);
		buf_done(&body);
		pass(&w, 31 * SECOND);
	}
	struct buf recent = context_batch(0, 2500, 1), old = context_batch(0, 1500, 1);
	restart(&w, 0);
	assert_int_equal(post(&w, &recent).duplicates, 1);
	assert_int_equal(try_post(&w, &old, &r, &err), -EEXIST);
	assert_non_null(strstr(err.text, "agent-a"));
	assert_true(ask("SELECT sum(length(sums)) FROM inbox_sums") < 5000 * 8);
	assert_int_equal(ask("SELECT count(*) FROM inbox_span"), 1);
	buf_done(&recent);
	buf_done(&old);
	stop(&w);
}

static void one_body_is_taken_whole_or_not_at_all(void **state)
{
	(void)state;
	struct world w = start();
	struct gather_result r;
	struct err err;
	struct buf a = context_batch(0, 1, 1), b = context_batch(0, 2, 1),
		   other = context_batch(0, 1, 2), body = { 0 };
	buf_put(&body, a.data, a.len);
	buf_put(&body, b.data, b.len);
	buf_put(&body, a.data, a.len);
	size_t good = body.len;
	buf_put(&body, other.data, other.len);
	assert_int_equal(try_post(&w, &body, &r, &err), -EEXIST);
	assert_non_null(strstr(err.text, "batch 4"));
	assert_int_equal(ask("SELECT count(*) FROM inbox_spool"), 0);
	body.len = good;
	r = post(&w, &body);
	assert_true(r.batches == 2 && r.duplicates == 1);
	assert_int_equal(try_post(&w, &other, &r, &err), -EEXIST);
	body.len = 0;
	assert_int_equal(try_post(&w, &body, &r, &err), -EBADMSG);
	buf_done(&a);
	buf_done(&b);
	buf_done(&other);
	buf_done(&body);
	stop(&w);
}

/* ---- context --------------------------------------------------------------------------------- */

static int count_context(void *arg, struct str batch)
{
	struct batch_in in = { .left = 0 };
	struct frame f;
	assert_int_equal(batch_open(&in, batch.p, batch.n, NULL), 0);
	while (batch_next(&in, &f, NULL) == 1) {
		assert_int_equal(f.type, FRAME_CONTEXT);
		++*(int *)arg;
	}
	batch_in_done(&in);
	return 0;
}

static int contexts(struct world *w, int64_t since_s, int64_t until_s)
{
	int n = 0;
	assert_int_equal(inbox_each_context(w->s, "agent-a", REAL + since_s * SECOND,
					    REAL + until_s * SECOND, count_context, &n, NULL),
			 0);
	return n;
}

static void context_is_kept_for_its_time_and_within_its_bytes(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f[2];
	post_context(&w, 1, 100);
	assert_int_equal(contexts(&w, 0, 1000), 100);
	assert_int_equal(contexts(&w, 10, 20), 11);
	/* What came with other frames is kept without them. */
	frame_clear(&f[0], FRAME_CONTEXT);
	frame_clear(&f[1], FRAME_NODE);
	struct buf b = batch_of(f, 2, 0, 101);
	(void)post(&w, &b);
	buf_done(&b);
	assert_int_equal(contexts(&w, 101, 1000), 1);
	pass(&w, 40 * SECOND);
	assert_int_equal(contexts(&w, 0, 1000), 101);
	assert_int_equal(contexts(&w, 10, 20), 11);
	pass(&w, w.config.context_keep_ns / 2);
	post_context(&w, 102, 111);
	restart(&w, 0);
	pass(&w, 31 * SECOND);
	assert_int_equal(contexts(&w, 0, 1000), 111);
	assert_int_equal(contexts(&w, 99, 103), 5);
	assert_int_equal(contexts(&w, 99, 101), 3);
	assert_int_equal(contexts(&w, 105, 107), 3);
	assert_int_equal(contexts(&w, 112, 1000), 0);
	assert_int_equal(ask("SELECT count(*) FROM inbox_fold"), 2);
	assert_int_equal(
		ask("SELECT (to_ns - from_ns) / 1000000000 FROM inbox_fold ORDER BY arrival "
		    "DESC"),
		9);
	pass(&w, w.config.context_keep_ns / 2);
	assert_int_equal(contexts(&w, 0, 1000), 10);
	w.config.context_bytes = 100;
	gather_reconfigure(w.g, &w.config);
	pass(&w, 31 * SECOND);
	assert_int_equal(contexts(&w, 0, 1000), 0);
	assert_int_equal(ask("SELECT count(*) FROM inbox_arrival"), 0);
	/* Numbers of rows are not used again: what comes now is not taken for folded. */
	post_context(&w, 112, 112);
	restart(&w, 0);
	struct model m = { .batches = { 112 } };
	for (int i = 1; i <= 112; i++)
		m.numbers[0][i].came = true;
	assert_ledger(&w, &m);
	stop(&w);
}

static void each_sender_is_described_as_it_is_now(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f[2];
	frame_clear(&f[0], FRAME_NODE);
	frame_clear(&f[1], FRAME_AGENT);
	f[0].as.node.real_ns = f[1].as.agent.real_ns = 5;
	f[1].as.agent.processes = 3;
	(void)say(&w, 0, f, 2);
	f[0].as.node.real_ns = f[1].as.agent.real_ns = 4; /* older */
	f[1].as.agent.processes = 4;
	(void)say(&w, 0, f, 2);
	pass(&w, 31 * SECOND);
	assert_int_equal(ask("SELECT self_ns FROM inbox_spool"), 5);
	assert_int_equal(ask("SELECT real_ns FROM inbox_node"), 5);
	assert_int_equal(ask("SELECT count(*) FROM inbox_spool WHERE boot = '0f3c9a52' AND "
			     "host = 'a' AND tool = 'roimeter-agent 0'"),
			 1);
	struct batch_out out = { .frames = 0 };
	struct batch_sender from = sender(0, 3);
	struct buf b = { 0 };
	from.boot = str_of("another");
	from.host = (struct str){ .p = NULL };
	assert_int_equal(batch_put(&out, &f[0]), 0);
	assert_int_equal(batch_end(&out, &from, &b, NULL), 0);
	(void)post(&w, &b);
	assert_int_equal(ask("SELECT count(*) FROM inbox_spool WHERE boot = 'another' AND host IS "
			     "NULL"),
			 1);
	batch_out_done(&out);
	buf_done(&b);
	stop(&w);
}

int main(void)
{
	(void)alarm(300);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ledger_is_what_a_plain_list_says),
		TEST(what_is_missing_between_two_times_is_told),
		TEST(numbers_that_are_long_gone_are_not_taken_for_the_same),
		TEST(one_body_is_taken_whole_or_not_at_all),
		TEST(context_is_kept_for_its_time_and_within_its_bytes),
		TEST(each_sender_is_described_as_it_is_now),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
