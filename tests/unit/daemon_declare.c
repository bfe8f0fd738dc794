/* What suites declare comes from runners, by their agents, in any order and more than once: the
 * newest list stands, and what no suite could say is never stored. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/gather_fixture.h"

static struct buf lists[40];
static size_t n_lists;

/* "app/case=title app/case": of this suite. */
static struct frame declaration(const char *suite, int64_t real_ns, const char *cases)
{
	struct frame f;
	struct buf *list = &lists[n_lists++];
	assert_true(n_lists <= sizeof lists / sizeof *lists);
	for (const char *at = cases; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " "), app = strcspn(at, "/"), name = strcspn(at, "= ");
		batch_text_put(list, (struct str){ .p = at, .n = app });
		batch_text_put(list, (struct str){ .p = at + app + 1, .n = name - app - 1 });
		batch_text_put(list, name < n
					     ? (struct str){ .p = at + name + 1, .n = n - name - 1 }
					     : (struct str){ .p = NULL });
		at += n;
	}
	frame_clear(&f, FRAME_DECLARE);
	f.as.declare.suite = str_of(suite);
	f.as.declare.real_ns = real_ns;
	f.as.declare.uid = 1000;
	f.as.declare.cases = batch_list(list);
	return f;
}

static void forget(void)
{
	while (n_lists)
		buf_done(&lists[--n_lists]);
	memset(lists, 0, sizeof lists);
}

static int see_case(void *arg, const char *suite, const struct declared_case *c)
{
	buf_printf(arg, " %s:%s/%s%s%s", suite, c->app, c->case_, c->title ? "=" : "",
		   c->title ? c->title : "");
	return 0;
}

static void assert_declared(struct world *w, const char *should)
{
	struct buf b = { 0 };
	assert_int_equal(store_each_declared(w->s, NULL, NULL, see_case, &b, NULL), 0);
	assert_string_equal(b.data ? b.data : "", should);
	buf_done(&b);
}

static uint64_t version(struct world *w)
{
	uint64_t v;
	assert_int_equal(store_version(w->s, &v, NULL), 0);
	return v;
}

static void the_newest_list_stands_whatever_the_order(void **state)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	for (int o = 0; o < 6; o++) {
		make_quick_folder(state);
		struct world w = start();
		struct frame f[3] = { declaration("s", REAL - 3, "b/two a/one=Old"),
				      declaration("s", REAL - 2, "b/two=T a/one"),
				      declaration("s", REAL - 2, "b/two=T a/six") };
		struct frame other = declaration("r", REAL - 9, "x/y");
		for (int i = 0; i < 3; i++)
			for (int agent = 0; agent < AGENTS; agent++)
				assert_int_equal(say(&w, agent, &f[orders[o][i]], 1).refused, 0);
		restart(&w, 5);
		(void)say(&w, 1, &other, 1);
		(void)say(&w, 1, &f[0], 1); /* late */
		/* Of one time that with the larger sum, as it happens. */
		assert_declared(&w, " r:x/y s:b/two=T s:a/one");
		stop(&w);
		remove_folder(state);
		forget();
	}
}

static void the_same_again_changes_nothing_for_readers(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f[3] = { declaration("s", REAL - 3, "a/one"),
			      declaration("s", REAL - 2, "a/one"),
			      declaration("s", REAL - 1, "a/two") };
	(void)say(&w, 0, &f[0], 1);
	uint64_t before = version(&w);
	(void)say(&w, 0, &f[0], 1);
	(void)say(&w, 0, &f[1], 1);
	assert_int_equal(version(&w), before);
	(void)say(&w, 0, &f[2], 1);
	assert_true(version(&w) > before);
	stop(&w);
	forget();
}

static void a_clock_ahead_does_not_stand_against_what_follows(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f[2] = { declaration("s", INT64_MAX, "a/one"),
			      declaration("s", REAL + SECOND, "a/two") };
	(void)say(&w, 0, &f[0], 1);
	assert_declared(&w, " s:a/one");
	w.now.real_ns = REAL + 2 * SECOND;
	(void)say(&w, 0, &f[1], 1);
	assert_declared(&w, " s:a/two");
	stop(&w);
	forget();
}

static void what_no_suite_could_say_is_not_stored(void **state)
{
	(void)state;
	static char long_name[80], long_title[DECLARE_MAX_TITLE + 20];
	struct world w = start();
	struct frame good = declaration("s", REAL - 9, "a/one");
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[65] = 0;
	memset(long_title, 'x', sizeof long_title - 1);
	memcpy(long_title, "a/one=", 6);
	struct frame bad[] = { declaration("", REAL, "a/one"),
			       declaration("a b", REAL, "a/one"),
			       declaration(long_name, REAL, "a/one"),
			       declaration("s", ROI_UNKNOWN, "a/one"),
			       declaration("s", REAL, ""),
			       declaration("s", REAL, "/one"),
			       declaration("s", REAL, "a/"),
			       declaration("s", REAL, "a/.."),
			       declaration("s", REAL, "a/one a/<b>"),
			       declaration("s", REAL, "a/one b/c a/one"),
			       declaration("s", REAL, long_title),
			       declaration("s", REAL, "a/one") };
	size_t n = sizeof bad / sizeof *bad;
	bad[0].as.declare.suite = (struct str){ .p = NULL };
	batch_text_put(&lists[n_lists - 1], str_of("more")); /* a text too many */
	bad[n - 1].as.declare.cases = batch_list(&lists[n_lists - 1]);
	(void)say(&w, 0, &good, 1);
	for (size_t i = 0; i < n; i++)
		if (say(&w, 0, &bad[i], 1).refused != 1)
			fail_msg("declaration %zu was taken", i);
	assert_declared(&w, " s:a/one");
	assert_int_equal(ask("SELECT sum(count) FROM inbox_loss WHERE ours AND what = 'declare'"),
			 (int)n);
	stop(&w);
	forget();
}

static void a_batch_that_is_taken_back_declares_nothing(void **state)
{
	(void)state;
	struct world w = start();
	struct err err;
	struct gather_result r;
	struct frame f = declaration("s", REAL - 1, "a/one");
	struct buf b = batch_of(&f, 1, 0, 1);
	assert_int_equal(store_begin(w.s, &err), 0);
	assert_int_equal(gather_take(w.g, w.s, b.data, b.len, &w.now, &r, &err), 0);
	store_rollback(w.s);
	assert_declared(&w, "");
	(void)post(&w, &b);
	assert_declared(&w, " s:a/one");
	buf_done(&b);
	stop(&w);
	forget();
}

int main(void)
{
	(void)alarm(300);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_list_stands_whatever_the_order),
		TEST(the_same_again_changes_nothing_for_readers),
		TEST(a_clock_ahead_does_not_stand_against_what_follows),
		TEST(what_no_suite_could_say_is_not_stored),
		TEST(a_batch_that_is_taken_back_declares_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
