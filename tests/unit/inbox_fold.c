/* Arrivals go into the ledger in pieces: at any of them the daemon may be killed, and who reads
 * meanwhile sees each batch once. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/inbox.h"
#include "tests/unit/store_fixture.h"

#define SENDERS 300 /* more than one piece */

static struct store *s;
static int64_t age_ns;

static unsigned n_context; /* that arrived and is not old */

static void sender_of(struct batch_sender *ret, unsigned i, uint64_t seq)
{
	static char name[20];
	(void)snprintf(name, sizeof name, "agent%03u", i);
	batch_sender_clear(ret);
	ret->agent = ret->spool = str_of(name);
	ret->seq = seq;
	ret->from_real_ns = ret->to_real_ns = (int64_t)seq;
}

static void arrive(unsigned from, unsigned to, uint64_t seq, bool context)
{
	assert_int_equal(store_begin(s, NULL), 0);
	n_context += context ? to - from : 0;
	for (unsigned i = from; i < to; i++) {
		struct batch_sender b;
		int64_t spool;
		sender_of(&b, i, seq);
		assert_int_equal(inbox_arrive(s, &b, seq * 1000 + i, (int64_t)seq,
					      context ? str_of("context") : (struct str){ .n = 0 },
					      &spool, NULL),
				 0);
	}
	assert_int_equal(store_commit(s, NULL), 0);
}

static bool fold(void)
{
	bool more;
	struct err err = { { 0 } };
	const struct inbox_fold f = { .age_ns = ++age_ns,
				      .keep_age_ns = 1000,
				      .max_bytes = 1 << 20 };
	if (inbox_fold(s, &f, &more, &err))
		fail_msg("%s", err.text);
	return more;
}

static void fold_all(void)
{
	for (int i = 0; fold(); i++)
		assert_true(i < 100);
}

static int count_context(void *arg, struct str batch)
{
	(void)batch;
	++*(unsigned *)arg;
	return 0;
}

struct expected {
	uint64_t last; /* of the lower half; the upper one has one less */
	unsigned n;
};

static int look(void *arg, const struct inbox_ledger *l)
{
	struct expected *e = arg;
	uint64_t last = e->last - (strcmp(l->agent, "agent150") >= 0);
	e->n++;
	assert_int_equal(l->n_spans, 1);
	assert_int_equal(l->spans[0].first, 1);
	assert_int_equal(l->spans[0].last, last);
	assert_int_equal(l->batches, last);
	assert_int_equal(l->last_seq, last);
	return 0;
}

static void expect(struct store *by, uint64_t last)
{
	struct expected e = { .last = last };
	assert_int_equal(inbox_each_ledger(by, NULL, INT64_MIN, INT64_MAX, look, &e, NULL), 0);
	assert_int_equal(e.n, SENDERS);
	unsigned n = 0;
	assert_int_equal(inbox_each_context(by, NULL, 0, INT64_MAX, count_context, &n, NULL), 0);
	assert_int_equal(n, n_context);
}

static void all_are_known(uint64_t last)
{
	for (unsigned i = 0; i < SENDERS; i++)
		for (uint64_t seq = 1; seq <= last - (i >= SENDERS / 2); seq++) {
			struct batch_sender b;
			enum inbox_known known;
			sender_of(&b, i, seq);
			assert_int_equal(inbox_look(s, &b, seq * 1000 + i, &known, NULL), 0);
			assert_int_equal(known, INBOX_SAME);
			assert_int_equal(inbox_look(s, &b, 5, &known, NULL), 0);
			assert_int_equal(known, INBOX_OTHER);
		}
}

static void a_fold_in_pieces_survives_an_end_at_each(void **state)
{
	(void)state;
	s = open_store(STORE_WRITE);
	struct store *reader = open_store(STORE_READ);
	arrive(0, SENDERS, 1, false);
	arrive(0, SENDERS, 2, false);
	arrive(0, SENDERS / 2, 3, false);
	uint64_t last = 3;
	/* Each time one piece more than the last, with news between, then the end. */
	for (int pieces = 0; pieces < 6; pieces++) {
		for (int i = 0; i < pieces; i++) {
			(void)fold();
			expect(reader, last);
			arrive(SENDERS / 2, SENDERS, last, i % 2);
			arrive(0, SENDERS / 2, ++last, false);
			expect(reader, last);
		}
		store_close(s);
		s = open_store(STORE_WRITE);
		all_are_known(last);
		expect(s, last);
	}
	fold_all();
	expect(reader, last);
	assert_int_equal(ask("SELECT count(*) FROM inbox_arrival WHERE batch IS NULL"), 0);
	assert_int_equal(ask("SELECT sum(batches) FROM inbox_spool"),
			 (sqlite3_int64)(SENDERS * last - SENDERS / 2));
	assert_int_equal(inbox_unfolded(s), 0);
	store_close(reader);
	store_close(s);
}

static void old_context_goes_behind_it(void **state)
{
	(void)state;
	s = open_store(STORE_WRITE);
	uint64_t before = (uint64_t)ask("SELECT max(last_seq) FROM inbox_spool");
	for (uint64_t seq = 1; seq <= 20; seq++)
		arrive(0, SENDERS, before + seq, true);
	fold_all();
	sqlite3_int64 kept = ask("SELECT count(*) FROM inbox_arrival");
	assert_true(kept >= 20 * SENDERS);
	age_ns += 5000;
	fold_all();
	assert_int_equal(ask("SELECT count(*) FROM inbox_arrival"), 0);
	assert_int_equal(ask("SELECT count(*) FROM inbox_fold"), 0);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fold_in_pieces_survives_an_end_at_each),
		cmocka_unit_test(old_context_goes_behind_it),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
