/* Batches become records: the same ones whatever the order in which they come, from however many
 * agents, twice or in pieces, and whenever the daemon is started anew. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/gather_fixture.h"

/* ---- the same record ------------------------------------------------------------------------- */

static void a_run_that_comes_in_order_is_stored_at_once(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	for (size_t i = 0; i < f.n; i++) {
		struct gather_result r = say(&w, f.agent[i], &f.items[i], 1);
		assert_true(r.batches == 1 && r.frames == 1 && !r.refused && !r.duplicates);
		if (i + 1 < f.n)
			tick(&w);
		else
			assert_true(r.due);
		assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	}
	tick(&w);
	assert_non_null(strstr(w.told, "stored " RUN "\n"));
	struct buf is = stored(w.s, RUN), should = directly();
	assert_same(&is, &should);
	buf_done(&is);
	buf_done(&should);
	arena_free(&f.a);
	stop(&w);
}

struct envelope {
	struct buf body;
	bool sent;
};

/* Each frame in a batch of its own, or some together. */
static size_t pack(struct frames *f, struct dice *d, struct envelope *out)
{
	uint64_t seq[AGENTS] = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < f->n;) {
		size_t end = i + 1;
		while (end < f->n && f->agent[end] == f->agent[i] && below(d, 3))
			end++;
		out[n++] = (struct envelope){ .body = batch_of(&f->items[i], end - i, f->agent[i],
							       ++seq[f->agent[i]]) };
		i = end;
	}
	return n;
}

static void shuffle(struct envelope *e, size_t n, struct dice *d)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = below(d, i);
		struct envelope x = e[i - 1];
		e[i - 1] = e[k];
		e[k] = x;
	}
}

static void send_shuffled(struct world *w, struct frames *f, struct dice *d, size_t restarts)
{
	static struct envelope e[400];
	size_t n = pack(f, d, e);
	shuffle(e, n, d);
	for (size_t i = 0; i < n; i++) {
		(void)post(w, &e[i].body);
		e[i].sent = true;
		while (below(d, 3) == 0) { /* again, in one body with others */
			size_t k = below(d, i + 1);
			struct buf both = { 0 };
			buf_put(&both, e[k].body.data, e[k].body.len);
			buf_put(&both, e[i].body.data, e[i].body.len);
			assert_int_equal(post(w, &both).duplicates, 2);
			buf_done(&both);
		}
		if (below(d, 4) == 0)
			tick(w);
		if (below(d, 8) == 0)
			pass(w, (int64_t)below(d, 40) * SECOND);
		if (restarts && below(d, 10) == 0)
			restart(w, (int64_t)below(d, 1000) * SECOND);
	}
	for (size_t i = 0; i < n; i++)
		buf_done(&e[i].body);
}

static void any_order_gives_the_same_bytes(void **state)
{
	(void)state;
	struct buf should = directly();
	static struct frames f;
	for (unsigned round = 0; round < 40; round++) {
		struct dice d = { 77 + round };
		make_quick_folder(state);
		struct world w = start();
		f = (struct frames){ .n = 0 };
		put_run(&f);
		send_shuffled(&w, &f, &d, round % 2);
		tick(&w);
		struct buf is = stored(w.s, RUN);
		assert_same(&is, &should);
		assert_int_equal(ask("SELECT count(*) FROM run"), 1);
		assert_int_equal(ask("SELECT runs FROM cell"), 1);
		assert_int_equal(ask("SELECT count(*) FROM inbox_loss"), 0);
		buf_done(&is);
		arena_free(&f.a);
		stop(&w);
		remove_folder(state);
	}
	buf_done(&should);
}

/* ---- late, or never -------------------------------------------------------------------------- */

static bool of_rank(const struct frame *f, const char *exec, const char *rank)
{
	return f->type == FRAME_PROCESS && !strncmp(f->as.process.exec.p, exec, strlen(exec)) &&
	       !strncmp(f->as.process.rank.p, rank, strlen(rank));
}

/* All but what is about that rank of that execution; then that. */
static void say_all_but(struct world *w, struct frames *f, const char *exec, const char *rank,
			bool rest)
{
	for (size_t i = 0; i < f->n; i++)
		if (of_rank(&f->items[i], exec, rank) == rest)
			(void)say(w, f->agent[i], &f->items[i], 1);
}

static void a_rank_that_never_comes_is_told_after_the_wait_and_mended_when_it_does(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	say_all_but(&w, &f, "clean.1", "2", false);
	tick(&w);
	pass(&w, w.config.wait_ns - SECOND);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	pass(&w, SECOND);
	struct record rec = get(w.s);
	assert_string_equal(rec.body.status, "ok");
	assert_string_equal(caveat(&rec, "ranks_missing"),
			    "Of 4 processes of clean.1, 1 never told of their marks, ranks 2: the "
			    "region's time may be too small.");
	assert_true(rec.body.executions.items[2].processes == 3);
	record_done(&rec);

	/* Days later it comes, and the record is as if it had been there in time. */
	w.told[0] = 0;
	pass(&w, 3 * 86400 * SECOND);
	say_all_but(&w, &f, "clean.1", "2", true);
	tick(&w);
	assert_string_equal(w.told, "stored " RUN "\n");
	struct buf is = stored(w.s, RUN), should = directly();
	assert_same(&is, &should);
	assert_int_equal(ask("SELECT count(*) FROM run"), 1);
	assert_int_equal(ask("SELECT runs FROM cell"), 1);
	buf_done(&is);
	buf_done(&should);

	/* After its time in the inbox nothing is left there. */
	pass(&w, 5 * 86400 * SECOND);
	assert_int_equal(ask("SELECT count(*) FROM inbox_run"), 0);
	assert_int_equal(ask("SELECT count(*) FROM inbox_piece"), 0);
	assert_int_equal(ask("SELECT count(*) FROM inbox_frame"), 0);
	arena_free(&f.a);
	stop(&w);
}

static void of_an_execution_that_failed_no_more_ranks_are_waited_for(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	for (size_t i = 0; i < f.n; i++)
		if (f.items[i].type == FRAME_EXECUTION_END &&
		    !strncmp(f.items[i].as.execution_end.exec.p, "clean.1", 7))
			f.items[i].as.execution_end.end = END_TIMEOUT;
	say_all_but(&w, &f, "clean.1", "2", false);
	tick(&w);
	struct record rec = get(w.s);
	assert_string_equal(rec.body.status, "clean_timeout");
	assert_non_null(caveat(&rec, "ranks_missing"));
	record_done(&rec);
	say_all_but(&w, &f, "clean.1", "2", true);
	tick(&w);
	rec = get(w.s);
	assert_null(caveat(&rec, "ranks_missing"));
	assert_true(rec.body.executions.items[2].processes == 4);
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

static void a_process_that_is_not_seen_to_end_is_waited_for(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	put_look(&f, 1, 1, RANKS, 10, 500, false, false); /* one more than its launcher said */
	for (size_t i = 0; i < f.n; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	pass(&w, w.config.wait_ns);
	struct record rec = get(w.s);
	assert_string_equal(caveat(&rec, "log_not_final"),
			    "Of 1 process the last that came of its marks is from before its end.");
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

static void a_look_that_is_cut_short_does_not_hide_the_one_before(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	size_t n = f.n;
	put_look(&f, 2, 1, 3, 40, 50, true, true);
	for (size_t i = 0; i < n; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	(void)say(&w, 2, &f.items[n], 1); /* the rest of it is lost */
	tick(&w);
	struct buf is = stored(w.s, RUN), should = directly();
	assert_same(&is, &should);
	assert_int_equal(ask("SELECT count(*) FROM inbox_piece WHERE snapshot < 30"), 0);
	/* Many such looks do not pile up. */
	for (uint64_t k = 50; k < 90; k++) {
		f.n = n;
		put_look(&f, 2, 1, 3, k, 50, true, true);
		(void)say(&w, 2, &f.items[n], 1);
	}
	assert_true(ask("SELECT count(*) FROM inbox_piece WHERE snapshot > 30") < 12);
	tick(&w);
	struct buf later = stored(w.s, RUN);
	assert_same(&later, &should);
	buf_done(&later);
	buf_done(&is);
	buf_done(&should);
	arena_free(&f.a);
	stop(&w);
}

static void a_run_without_an_end_is_interrupted_after_silence(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_announce(&f);
	put_start(&f, 0);
	put_end(&f, 0);
	put_start(&f, 1);
	put_look(&f, 0, 1, 0, 5, 500, false, false);
	for (size_t i = 0; i < f.n; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	/* Its limit of 60 s is beyond the silence. */
	pass(&w, w.config.silence_ns + 59 * SECOND);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	pass(&w, SECOND);
	struct record rec = get(w.s);
	assert_string_equal(rec.body.status, "interrupted");
	assert_int_equal(rec.body.executions.n, 2);
	assert_string_equal(rec.body.executions.items[1].name, "clean.0");
	assert_string_equal(rec.body.executions.items[1].status, "interrupted");
	assert_non_null(caveat(&rec, "log_not_final"));
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

static void news_keep_a_run_open_and_so_does_the_daemon_being_down(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_announce(&f);
	(void)say(&w, 0, f.items, 1);
	struct frame c;
	frame_clear(&c, FRAME_CONTEXT);
	c.as.context.run = str_of(RUN);
	c.as.context.scope = str_of("node");
	for (int i = 0; i < 10; i++) {
		pass(&w, w.config.silence_ns / 2);
		(void)say(&w, 1, &c, 1);
	}
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	/* A year passes while nobody listens. */
	w.now.real_ns += 365 * 86400 * SECOND;
	restart(&w, 5);
	pass(&w, w.config.silence_ns / 2);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	pass(&w, w.config.silence_ns);
	assert_int_equal(ask("SELECT count(*) FROM run WHERE status = 'interrupted'"), 1);
	arena_free(&f.a);
	stop(&w);
}

static void steps_of_the_clock_close_nothing_and_keep_nothing_open(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_announce(&f);
	(void)say(&w, 0, f.items, 1);
	w.now.real_ns += 40 * 86400 * SECOND;
	pass(&w, SECOND);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	w.now.real_ns -= 80 * 86400 * SECOND;
	pass(&w, w.config.silence_ns + 60 * SECOND);
	assert_int_equal(ask("SELECT count(*) FROM run"), 1);
	arena_free(&f.a);
	stop(&w);
}

static void an_agent_that_lost_its_runner_is_waited_for_and_the_runner_may_come_back(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	struct frame lost;
	frame_clear(&lost, FRAME_RUN_END);
	lost.as.run_end.run = str_of(RUN);
	lost.as.run_end.complete = NO;
	lost.as.run_end.real_ns = REAL + 900 * SECOND; /* later than the runner's own */
	(void)say(&w, 0, f.items, 1);
	(void)say(&w, 0, &lost, 1);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	pass(&w, w.config.wait_ns);
	struct record rec = get(w.s);
	assert_string_equal(rec.body.status, "interrupted");
	record_done(&rec);
	for (size_t i = 1; i < f.n; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	tick(&w);
	struct buf is = stored(w.s, RUN), should = directly();
	assert_same(&is, &should);
	buf_done(&is);
	buf_done(&should);
	arena_free(&f.a);
	stop(&w);
}

static void a_record_that_was_deleted_stays_deleted(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	say_all_but(&w, &f, "clean.1", "2", false);
	pass(&w, w.config.wait_ns);
	assert_int_equal(store_delete_run(w.s, RUN, NULL), 0);
	say_all_but(&w, &f, "clean.1", "2", true);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	assert_int_equal(ask("SELECT count(*) FROM inbox_run"), 0);
	arena_free(&f.a);
	stop(&w);
}

static void what_agents_spent_is_in_the_record_once(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	for (size_t i = 0; i < f.n; i++)
		if (f.items[i].type == FRAME_PROCESS && f.items[i].as.process.snapshot < 30) {
			f.items[i].as.process.agent_cpu_s =
				0.5 * (double)f.items[i].as.process.snapshot;
			f.items[i].as.process.wakeups = 3;
		}
	for (size_t i = 0; i < f.n; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	tick(&w);
	struct record rec = get(w.s);
	/* Of the newest look that tells, of the clean executions. */
	assert_true(rec.body.observer.agent_cpu_s == 2 * RANKS * 10);
	assert_true(rec.body.observer.wakeups == 10 + 2 * RANKS * 3);
	assert_true(rec.body.observer.log_bytes == 999);
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

static void losses_of_a_run_are_caveats_of_its_record(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	struct frame loss[2];
	for (int i = 0; i < 2; i++) {
		frame_clear(&loss[i], FRAME_LOSS);
		loss[i].as.loss.run = str_of(RUN);
		loss[i].as.loss.what = str_of(i ? "context" : "marks");
		loss[i].as.loss.why = str_of("spool_full");
		loss[i].as.loss.count = 7;
		loss[i].as.loss.exec = str_of("clean.0");
	}
	for (size_t i = 0; i < f.n; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	tick(&w);
	(void)say(&w, 1, loss, 2); /* late */
	loss[0].as.loss.count = 6; /* a count goes up only */
	(void)say(&w, 1, loss, 2);
	tick(&w);
	struct record rec = get(w.s);
	assert_string_equal(caveat(&rec, "marks_lost"),
			    "7 marks of clean.0 lost on the way from the node: spool_full.");
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static void what_another_user_says_of_a_run_is_not_taken_in(void **state)
{
	(void)state;
	struct buf should = directly();
	static struct frames f;
	for (int before = 0; before < 2; before++) {
		make_quick_folder(state);
		struct world w = start();
		f = (struct frames){ .n = 0 };
		put_run(&f);
		struct frame bad[3];
		frame_clear(&bad[0], FRAME_RUN_END);
		bad[0].as.run_end.run = str_of(RUN);
		bad[0].as.run_end.complete = YES;
		bad[0].as.run_end.real_ns = INT64_MAX;
		bad[0].as.run_end.uid = 666;
		frame_clear(&bad[1], FRAME_EXECUTION_START);
		bad[1].as.execution_start.run = str_of(RUN);
		bad[1].as.execution_start.exec = str_of("clean.7");
		bad[1].as.execution_start.uid = 666;
		bad[2] = f.items[3];
		assert_int_equal(bad[2].type, FRAME_PROCESS);
		bad[2].as.process.uid = 666;
		if (before)
			(void)say(&w, 1, bad, 3);
		for (size_t i = 0; i < f.n; i++)
			(void)say(&w, f.agent[i], &f.items[i], 1);
		if (!before)
			assert_int_equal(say(&w, 1, bad, 3).refused, 3);
		tick(&w);
		struct buf is = stored(w.s, RUN);
		assert_same(&is, &should);
		assert_int_equal(ask("SELECT sum(count) FROM inbox_loss WHERE ours AND run = '" RUN
				     "' AND why = 'other_user'"),
				 3);
		buf_done(&is);
		arena_free(&f.a);
		stop(&w);
		remove_folder(state);
	}
	buf_done(&should);
}

static void a_run_of_root_may_have_processes_of_others(void **state)
{
	struct buf should = directly();
	static struct frames f;
	for (int late = 0; late < 2; late++) {
		make_quick_folder(state);
		struct world w = start();
		f = (struct frames){ .n = 0 };
		put_run(&f);
		f.items[0].as.run_announce.uid = 0;
		for (size_t i = 0; i < f.n; i++) /* the runner's own frames are not from 1000 */
			if (f.items[i].type == FRAME_EXECUTION_START)
				f.items[i].as.execution_start.uid = 0;
			else if (f.items[i].type == FRAME_EXECUTION_END)
				f.items[i].as.execution_end.uid = 0;
			else if (f.items[i].type == FRAME_RUN_END)
				f.items[i].as.run_end.uid = 0;
		for (size_t i = (size_t)late; i < f.n; i++)
			(void)say(&w, f.agent[i], &f.items[i], 1);
		if (late)
			(void)say(&w, 0, &f.items[0], 1);
		tick(&w);
		struct buf is = stored(w.s, RUN);
		assert_same(&is, &should);
		assert_int_equal(ask("SELECT count(*) FROM inbox_loss"), 0);
		buf_done(&is);
		arena_free(&f.a);
		stop(&w);
		remove_folder(state);
	}
	buf_done(&should);
}

static void nonsense_in_frames_is_counted_and_stops_nothing(void **state)
{
	(void)state;
	struct world w = start();
	struct frame bad[6];
	frame_clear(&bad[0], FRAME_RUN_ANNOUNCE);
	bad[0].as.run_announce.run = str_of("not a run id");
	frame_clear(&bad[1], FRAME_EXECUTION_START);
	bad[1].as.execution_start.run = str_of(RUN);
	frame_clear(&bad[2], FRAME_PROCESS);
	bad[2].as.process.stream = str_of("s");
	bad[2].as.process.size = 3;
	bad[2].as.process.data = str_of("four");
	frame_clear(&bad[3], FRAME_PROCESS);
	bad[3].as.process.stream = str_of("s");
	bad[3].as.process.size = UINT64_MAX;
	bad[3].as.process.offset = UINT64_MAX - 3;
	bad[3].as.process.data = str_of("four");
	frame_clear(&bad[4], FRAME_GAP);
	frame_clear(&bad[5], FRAME_PROCESS);
	struct gather_result r = say(&w, 0, bad, 6);
	assert_int_equal(r.refused, 6);
	assert_int_equal(r.batches, 1);
	assert_int_equal(ask("SELECT sum(count) FROM inbox_loss WHERE ours"), 6);
	pass(&w, 2 * w.config.silence_ns);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	stop(&w);
}

static void a_run_that_nobody_announced_is_told_as_failed(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	for (size_t i = 1; i + 1 < f.n; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	pass(&w, 2 * w.config.silence_ns);
	assert_string_equal(w.told, "failed " RUN "\n");
	assert_int_equal(
		ask("SELECT count(*) FROM inbox_run WHERE why LIKE '%nobody announced it%'"), 1);
	assert_int_equal(ask("SELECT count(*) FROM inbox_loss WHERE what = 'run' AND NOT ours"), 1);
	/* And is mended when the announcement comes at last. */
	(void)say(&w, 0, &f.items[0], 1);
	(void)say(&w, 0, &f.items[f.n - 1], 1);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM inbox_loss"), 0);
	struct buf is = stored(w.s, RUN), should = directly();
	assert_same(&is, &should);
	buf_done(&is);
	buf_done(&should);
	arena_free(&f.a);
	stop(&w);
}

int main(void)
{
	(void)alarm(300);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(a_run_that_comes_in_order_is_stored_at_once),
		cmocka_unit_test(any_order_gives_the_same_bytes),
		TEST(a_rank_that_never_comes_is_told_after_the_wait_and_mended_when_it_does),
		TEST(of_an_execution_that_failed_no_more_ranks_are_waited_for),
		TEST(a_process_that_is_not_seen_to_end_is_waited_for),
		TEST(a_look_that_is_cut_short_does_not_hide_the_one_before),
		TEST(a_run_without_an_end_is_interrupted_after_silence),
		TEST(news_keep_a_run_open_and_so_does_the_daemon_being_down),
		TEST(steps_of_the_clock_close_nothing_and_keep_nothing_open),
		TEST(an_agent_that_lost_its_runner_is_waited_for_and_the_runner_may_come_back),
		TEST(a_record_that_was_deleted_stays_deleted),
		TEST(what_agents_spent_is_in_the_record_once),
		TEST(losses_of_a_run_are_caveats_of_its_record),
		cmocka_unit_test(what_another_user_says_of_a_run_is_not_taken_in),
		cmocka_unit_test(a_run_of_root_may_have_processes_of_others),
		TEST(nonsense_in_frames_is_counted_and_stops_nothing),
		TEST(a_run_that_nobody_announced_is_told_as_failed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
