/* Runs that are in progress: how far they are, as the daemon tells it of the batches that came. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/gather_fixture.h"

static int see_running(void *arg, const struct gather_running *r)
{
	struct buf *b = arg;
	buf_printf(b, "%s %s/%s/%s %s by %s: %.0f of %.0f, %s", r->run, r->suite, r->app, r->case_,
		   r->platform, r->user, r->done, r->planned, r->exec ? r->exec : "-");
	if (known(r->steps))
		buf_printf(b, ", step %.0f of %.0f", r->steps, r->steps_expected);
	if (r->end_ns != ROI_UNKNOWN)
		buf_printf(b, ", ends at %" PRId64, (r->end_ns - REAL) / SECOND);
	buf_puts(b, r->ended ? ", ended\n" : "\n");
	return 0;
}

static void assert_running(struct world *w, const char *should)
{
	struct buf b = { 0 };
	struct err err;
	assert_int_equal(gather_each_running(w->s, NULL, see_running, &b, &err), 0);
	assert_string_equal(b.data ? b.data : "", should);
	buf_done(&b);
}

static void runs_in_progress_tell_how_far_they_are(void **state)
{
	(void)state;
#define WHO RUN " demo/cg/small cpu.none by ann: "
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_announce(&f);
	put_start(&f, 0);
	put_end(&f, 0);
	put_start(&f, 1);
	assert_running(&w, "");
	(void)say(&w, 0, &f.items[0], 1);
	assert_running(&w, WHO "0 of 4, -\n");
	(void)say(&w, 0, &f.items[1], 1);
	assert_running(&w, WHO "0 of 4, warmup.0, ends at 28\n");
	(void)say(&w, 0, &f.items[2], 2);
	assert_running(&w, WHO "1 of 4, clean.0, ends at 31\n");
	struct frame c;
	struct buf values = { 0 };
	frame_clear(&c, FRAME_CONTEXT);
	batch_pair_put(&values, str_of("steps"), 42);
	c.as.context.run = str_of(RUN);
	c.as.context.exec = str_of("clean.0");
	c.as.context.scope = str_of("process:boot-0-1.0");
	c.as.context.values = batch_list(&values);
	(void)say(&w, 0, &c, 1);
	assert_running(&w, WHO "1 of 4, clean.0, step 42 of 100, ends at 31\n");
	w.told[0] = 0;
	gather_each_change(w.g, hear, &w);
	assert_string_equal(w.told, "progress " RUN "\n");
	gather_each_change(w.g, hear, &w);
	assert_string_equal(w.told, "progress " RUN "\n");
	pass(&w, 3 * w.config.silence_ns);
	assert_running(&w, "");
	buf_done(&values);
	arena_free(&f.a);
	stop(&w);
}

/* A runner on a node without a store of its own can't say how long its run will take. */
static void what_the_runner_does_not_expect_the_last_result_tells(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	struct record rec;
	record_init(&rec);
	rec.body.run_id = "20260928T000000Z-00000001";
	rec.body.suite = "demo";
	rec.body.app = "cg";
	rec.body.case_ = "small";
	rec.body.platform = "cpu.none";
	rec.body.kind = "measured";
	rec.body.utc = "2026-09-28T00:00:00Z";
	rec.body.status = "ok";
	rec.body.roi.wall_s = 8;
	rec.body.roi.steps = 60;
	rec.body.context.process_wall_s = 9;
	f = (struct frames){ .n = 0 };
	put_announce(&f);
	f.items[0].as.run_announce.expected_s = (double)NAN;
	f.items[0].as.run_announce.steps = (double)NAN;
	put_start(&f, 0);
	(void)say(&w, 0, f.items, 2);
	assert_running(&w, WHO "0 of 4, warmup.0\n");
	add(w.s, &rec);
	assert_running(&w, WHO "0 of 4, warmup.0, ends at 36\n");
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

int main(void)
{
	(void)alarm(300);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(runs_in_progress_tell_how_far_they_are),
		TEST(what_the_runner_does_not_expect_the_last_result_tells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
