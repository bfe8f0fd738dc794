/* Results of conformance tests come from runners, by their agents, in any order and more than once:
 * each is stored once, and the newest counts. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/gather_fixture.h"

static struct buf results[40];
static size_t n_results;

static struct frame result_of(const char *collector, const char *utc, bool good)
{
	struct frame f;
	struct check k;
	struct conformance c;
	struct buf *b = &results[n_results++];
	assert_true(n_results <= sizeof results / sizeof *results);
	block_clear(&check_block, &k);
	k.name = "status";
	k.verdict = good ? "pass" : "fail";
	conformance_clear(&c);
	c.platform = "p";
	c.collector = collector;
	c.utc = utc;
	c.verdict = k.verdict;
	c.passed = good;
	c.failed = !good;
	c.skipped = 0;
	c.checks.items = &k;
	c.checks.n = 1;
	conformance_put(b, &c);
	frame_clear(&f, FRAME_CONFORMANCE);
	f.as.conformance.real_ns = REAL;
	f.as.conformance.uid = 1000;
	f.as.conformance.result = batch_list(b);
	return f;
}

static void forget(void)
{
	while (n_results)
		buf_done(&results[--n_results]);
	memset(results, 0, sizeof results);
}

static int see_result(void *arg, const struct conformance *c)
{
	buf_printf(arg, " %s %s %s", c->collector, c->utc + 11, c->verdict);
	return 0;
}

static void assert_results(struct world *w, const char *should)
{
	struct buf b = { 0 };
	assert_int_equal(store_each_conformance(w->s, "p", NULL, true, see_result, &b, NULL), 0);
	assert_string_equal(b.data ? b.data : "", should);
	buf_done(&b);
}

/* REAL is 2026-09-29T04:52:01Z. */
static void each_is_stored_once_whatever_comes_twice(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f[3] = { result_of("opencl", "2026-09-29T04:00:00Z", true),
			      result_of("cupti", "2026-09-29T04:00:00Z", true),
			      result_of("opencl", "2026-09-29T03:00:00Z", false) };
	for (int agent = 0; agent < AGENTS; agent++)
		assert_int_equal(say(&w, agent, f, 3).refused, 0);
	restart(&w, 5);
	assert_int_equal(say(&w, 0, f, 3).refused, 0);
	assert_results(&w, " cupti 04:00:00Z pass opencl 04:00:00Z pass opencl 03:00:00Z fail");
	stop(&w);
	forget();
}

/* As of two nodes of the platform: both are there, and stay two. */
static void another_of_the_same_second_is_one_of_the_next(void **state)
{
	(void)state;
	struct world w = start();
	struct frame good = result_of("opencl", "2026-09-29T03:59:59Z", true),
		     bad = result_of("opencl", "2026-09-29T03:59:59Z", false);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(say(&w, 0, &good, 1).refused, 0);
		assert_int_equal(say(&w, 1, &bad, 1).refused, 0);
	}
	assert_results(&w, " opencl 04:00:00Z fail opencl 03:59:59Z pass");
	stop(&w);
	forget();
}

static void a_clock_ahead_does_not_stand_against_what_follows(void **state)
{
	(void)state;
	struct world w = start();
	struct frame ahead = result_of("opencl", "9999-12-31T23:59:59Z", true),
		     after = result_of("opencl", "2026-09-29T04:53:00Z", false);
	assert_int_equal(say(&w, 0, &ahead, 1).refused, 0);
	w.now.real_ns = REAL + 60 * SECOND;
	assert_int_equal(say(&w, 0, &after, 1).refused, 0);
	assert_results(&w, " opencl 04:53:00Z fail opencl 04:52:01Z pass");
	stop(&w);
	forget();
}

/* Its batch is taken, and the ledger counts it. */
static void what_is_no_result_is_refused(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f[4];
	for (size_t i = 0; i < 3; i++)
		frame_clear(&f[i], FRAME_CONFORMANCE);
	f[1].as.conformance.result = str_of("no result");
	f[2].as.conformance.result = (struct str){ .p = calloc(1, CONFORMANCE_MAX_BYTES + 1),
						   .n = CONFORMANCE_MAX_BYTES + 1 };
	f[3] = result_of("opencl", "yesterday", true);
	assert_int_equal(say(&w, 0, f, 4).refused, 4);
	assert_results(&w, "");
	free((void *)(uintptr_t)f[2].as.conformance.result.p);
	stop(&w);
	forget();
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		EACH(each_is_stored_once_whatever_comes_twice),
		EACH(another_of_the_same_second_is_one_of_the_next),
		EACH(a_clock_ahead_does_not_stand_against_what_follows),
		EACH(what_is_no_result_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
