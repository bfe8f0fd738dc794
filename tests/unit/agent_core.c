/* The agent's core: single rules, and random hours held against what must be true of each. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants those before */
#include <cmocka.h>

#include "agent/core.h"

#define S INT64_C(1000000000)
#define LOGS 64
#define RUNS 4

struct item {
	struct core_log log;
	char stream[32];
	unsigned looks, progress, snapshots, finals, written, forgotten;
	bool durable, alive, used, entry_open;
	uint64_t state;
};

struct world {
	struct core *core;
	struct core_config config;
	int64_t now;
	struct item items[LOGS];
	unsigned run_ends[RUNS], selfs;
	bool full, sync_fails; /* the outbox, the disk */
	bool wants_sync;
	unsigned wrong; /* things done while it was quiet */
	bool was_quiet;
};

static const char *const run_names[RUNS] = { "run-0", "run-1", "run-2", "run-3" };

static void world_open(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->now = 1000 * S;
	w->config = (struct core_config){ .progress_ns = 5 * S,
					  .first_ns = S,
					  .slowest_ns = 60 * S,
					  .silence_ns = 900 * S,
					  .orphan_ns = 10 * S,
					  .max_logs = LOGS,
					  .max_runs = RUNS };
	w->core = core_new(&w->config, w->now);
	assert_non_null(w->core);
}

static void world_close(struct world *w)
{
	core_free(w->core);
}

static struct item *add(struct world *w, size_t i, const char *run, const char *exec, uid_t uid)
{
	struct item *x = &w->items[i];
	memset(x, 0, sizeof *x);
	(void)snprintf(x->stream, sizeof x->stream, "b-%zu-1.0", i);
	x->log.stream = x->stream;
	x->log.run = run;
	x->log.exec = exec;
	x->log.uid = uid;
	x->alive = x->used = true;
	assert_int_equal(core_add(w->core, &x->log, w->now), 0);
	return x;
}

static void act(struct world *w, const struct core_action *a)
{
	struct item *x = (struct item *)(void *)a->log;
	struct core_look look;
	switch (a->what) {
	case CORE_LOOK:
		assert_true(x->alive);
		x->looks++;
		look = (struct core_look){ .state = x->state, .open = x->entry_open };
		core_looked(w->core, &x->log, &look, w->now);
		break;
	case CORE_PROGRESS:
		x->progress++;
		break;
	case CORE_SNAPSHOT:
		assert_int_equal(x->finals, 0);
		if (w->was_quiet)
			w->wrong++;
		x->snapshots++;
		core_sent(w->core, &x->log, w->full ? -ENOSPC : 0, w->now);
		break;
	case CORE_FINAL:
		x->finals++;
		x->written += !w->full;
		w->wants_sync |= !w->full;
		core_sent(w->core, &x->log, w->full ? -ENOSPC : 0, w->now);
		break;
	case CORE_FORGET:
		assert_false(x->forgotten);
		x->forgotten = 1;
		x->durable = a->durable;
		x->used = false;
		break;
	case CORE_RUN_END:
		for (size_t i = 0; i < RUNS; i++)
			if (!strcmp(a->run, run_names[i]))
				w->run_ends[i] += !w->full;
		core_run_ended(w->core, a->run, w->full ? -ENOSPC : 0, w->now);
		break;
	case CORE_SELF:
		w->selfs++;
		break;
	}
}

static void settle(struct world *w)
{
	struct core_action a;
	for (int i = 0; i < 100; i++) {
		w->was_quiet = core_quiet(w->core);
		if (core_next(w->core) <= w->now)
			core_tick(w->core, w->now);
		bool any = false;
		while (core_todo(w->core, &a)) {
			any = true;
			act(w, &a);
			w->was_quiet = core_quiet(w->core);
		}
		if (w->wants_sync) {
			any = true;
			core_synced(w->core, !w->sync_fails, w->now);
			w->wants_sync = false;
		}
		if (!any && core_next(w->core) > w->now)
			return;
	}
	fail_msg("the core does not come to rest");
}

static void run_until(struct world *w, int64_t end)
{
	settle(w);
	while (w->now < end) {
		int64_t next = core_next(w->core);
		w->now = next < end ? next : end;
		settle(w);
	}
}

static void after(struct world *w, int64_t pause)
{
	run_until(w, w->now + pause);
}

/* ---- single rules -----------------------------------------------------------------------------
 */

static void a_process_outside_of_runs_is_sent_at_growing_pauses_while_it_changes(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	struct item *x = add(&w, 0, NULL, NULL, 7);
	x->entry_open = true;
	for (int i = 0; i < 3600; i++) {
		x->state++;
		after(&w, S);
	}
	/* 1, 2, 4, 8, 16, 32, 60, 60, ... */
	assert_in_range(x->snapshots, 6 + (3600 - 63) / 60 - 1, 6 + (3600 - 63) / 60 + 1);
	after(&w, 61 * S);
	unsigned had = x->snapshots;
	after(&w, 3600 * S);
	assert_int_equal(x->snapshots, had);
	assert_int_equal(x->progress, 0);
	assert_false(core_quiet(w.core));
	world_close(&w);
}

static void an_ended_process_has_one_final_and_is_let_go_when_it_is_durable(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	struct item *x = add(&w, 0, NULL, NULL, 7);
	after(&w, 10 * S);
	w.sync_fails = true;
	x->alive = false;
	core_ended(w.core, &x->log, w.now);
	after(&w, 100 * S);
	assert_true(x->finals > 1); /* it may be lost each time: sent again */
	assert_false(x->forgotten);
	w.sync_fails = false;
	after(&w, 100 * S);
	assert_true(x->forgotten);
	assert_true(x->durable);
	unsigned had = x->finals;
	after(&w, 1000 * S);
	assert_int_equal(x->finals, had);
	world_close(&w);
}

static void while_there_is_no_room_finals_are_tried_again_and_none_is_lost(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	w.full = true;
	for (size_t i = 0; i < LOGS; i++) {
		struct item *x = add(&w, i, NULL, NULL, 7);
		x->alive = false;
		core_ended(w.core, &x->log, w.now);
	}
	after(&w, 3600 * S);
	for (size_t i = 0; i < LOGS; i++) {
		assert_in_range(w.items[i].finals, 10, 80); /* pauses grow up to a minute */
		assert_false(w.items[i].forgotten);
	}
	w.full = false;
	after(&w, 61 * S);
	for (size_t i = 0; i < LOGS; i++) {
		assert_int_equal(w.items[i].written, 1);
		assert_true(w.items[i].durable);
	}
	world_close(&w);
}

static void a_clean_entry_makes_it_quiet_until_a_look_sees_its_end(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	struct item *ambient = add(&w, 0, NULL, NULL, 7);
	struct item *clean = add(&w, 1, run_names[0], "clean.0", 8);
	clean->entry_open = true;
	assert_true(core_quiet(w.core));
	for (int i = 0; i < 600; i++) {
		ambient->state++;
		clean->state++;
		after(&w, S);
	}
	assert_int_equal(ambient->snapshots, 0);
	assert_int_equal(ambient->looks, 0);
	assert_int_equal(clean->snapshots, 0);
	assert_in_range(clean->looks, 118, 121);
	assert_in_range(clean->progress, 118, 121);
	clean->entry_open = false;
	after(&w, 11 * S);
	assert_false(core_quiet(w.core));
	assert_int_equal(ambient->snapshots, 1);
	assert_int_equal(w.wrong, 0);
	world_close(&w);
}

static void warm_ups_and_processes_of_another_user_s_run_make_nothing_quiet(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	assert_int_equal(core_announced(w.core, run_names[0], 8, &w, w.now), 0);
	(void)add(&w, 0, run_names[0], "warmup.0", 8);
	struct item *foreign = add(&w, 1, run_names[0], "clean.0", 9);
	assert_false(foreign->log.mine);
	assert_false(core_quiet(w.core));
	assert_int_equal(core_owns(w.core, run_names[0], 9), -EPERM);
	assert_int_equal(core_owns(w.core, run_names[0], 0), 0);
	assert_int_equal(core_announced(w.core, run_names[0], 9, &foreign, w.now), -EPERM);
	world_close(&w);
}

static void who_took_the_name_of_a_run_before_its_announcement_loses_it(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	struct item *thief = add(&w, 0, run_names[0], "clean.0", 9);
	assert_true(core_quiet(w.core));
	assert_int_equal(core_announced(w.core, run_names[0], 8, &w, w.now), 0);
	assert_false(thief->log.mine);
	assert_false(core_quiet(w.core));
	world_close(&w);
}

static void with_no_progress_wanted_a_clean_process_is_not_looked_at_at_all(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	w.config.progress_ns = 0;
	core_reconfigure(w.core, &w.config, w.now);
	struct item *clean = add(&w, 0, run_names[0], "clean.0", 8);
	clean->entry_open = true;
	after(&w, 36000 * S);
	assert_int_equal(clean->looks, 0);
	assert_true(core_quiet(w.core));
	assert_int_equal(core_next(w.core), CORE_NEVER);
	clean->alive = false;
	core_ended(w.core, &clean->log, w.now);
	after(&w, S);
	assert_int_equal(clean->finals, 1);
	assert_false(core_quiet(w.core));
	world_close(&w);
}

static void a_runner_s_processes_are_left_to_it_and_taken_over_when_it_is_lost(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	assert_int_equal(core_announced(w.core, run_names[0], 8, &w, w.now), 0);
	struct item *brought = add(&w, 0, run_names[0], "warmup.0", 8);
	struct item *ended = add(&w, 1, run_names[0], "warmup.0", 8);
	struct item *alive = add(&w, 2, run_names[0], "warmup.0", 8);
	ended->alive = brought->alive = false;
	core_ended(w.core, &brought->log, w.now);
	core_ended(w.core, &ended->log, w.now);
	after(&w, 3600 * S);
	assert_int_equal(ended->finals, 0);
	core_brought(w.core, run_names[0], brought->stream);
	core_brought(w.core, run_names[1], ended->stream); /* another run: not this one */
	settle(&w);
	assert_true(brought->forgotten);
	assert_int_equal(brought->finals, 0);
	assert_false(ended->forgotten);

	core_hangup(w.core, &w, w.now);
	after(&w, S);
	assert_int_equal(ended->finals, 1);
	assert_int_equal(w.run_ends[0], 0); /* one of its processes still lives */
	alive->alive = false;
	core_ended(w.core, &alive->log, w.now);
	settle(&w);
	assert_int_equal(alive->finals, 1);
	assert_int_equal(w.run_ends[0], 1);
	world_close(&w);
}

static void a_process_that_outlives_its_runner_does_not_hold_up_the_end_of_the_run(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	assert_int_equal(core_announced(w.core, run_names[0], 8, &w, w.now), 0);
	(void)add(&w, 0, run_names[0], "clean.0", 8);
	core_hangup(w.core, &w, w.now);
	after(&w, 9 * S);
	assert_int_equal(w.run_ends[0], 0);
	w.full = true;
	after(&w, 100 * S);
	w.full = false;
	after(&w, 2 * S);
	assert_int_equal(w.run_ends[0], 1);
	after(&w, 3600 * S);
	assert_int_equal(w.run_ends[0], 1);
	world_close(&w);
}

static void a_runner_that_comes_back_keeps_its_run(void **state)
{
	struct world w;
	int other;
	(void)state;
	world_open(&w);
	assert_int_equal(core_announced(w.core, run_names[0], 8, &w, w.now), 0);
	(void)add(&w, 0, run_names[0], "clean.0", 8);
	core_hangup(w.core, &w, w.now);
	after(&w, 5 * S);
	assert_int_equal(core_announced(w.core, run_names[0], 8, &other, w.now), 0);
	after(&w, 3600 * S);
	assert_int_equal(w.run_ends[0], 0);
	core_run_over(w.core, run_names[0], w.now);
	core_hangup(w.core, &other, w.now);
	after(&w, 3600 * S);
	assert_int_equal(w.run_ends[0], 0);
	world_close(&w);
}

static void what_the_runner_did_not_bring_goes_out_behind_its_last_word(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	assert_int_equal(core_announced(w.core, run_names[0], 8, &w, w.now), 0);
	struct item *x = add(&w, 0, run_names[0], "clean.0", 8);
	x->alive = false;
	core_ended(w.core, &x->log, w.now);
	after(&w, 60 * S);
	assert_int_equal(x->finals, 0);
	core_run_over(w.core, run_names[0], w.now);
	settle(&w);
	assert_int_equal(x->finals, 1);
	assert_true(x->durable);
	world_close(&w);
}

static void runs_that_are_over_make_room_for_others(void **state)
{
	struct world w;
	char name[32];
	(void)state;
	world_open(&w);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof name, "r%d", i);
		assert_int_equal(core_announced(w.core, name, 8, &w, w.now), 0);
		if (i >= RUNS - 1) {
			(void)snprintf(name, sizeof name, "r%d", i - RUNS + 1);
			core_run_over(w.core, name, w.now);
		}
	}
	assert_int_equal(core_announced(w.core, "one more", 8, &w, w.now), 0);
	assert_int_equal(core_announced(w.core, "too many", 8, &w, w.now), -ENOSPC);
	assert_int_equal(core_admits(w.core, "too many", 8), -ENOSPC);
	world_close(&w);
}

static void a_process_nobody_can_watch_ends_by_its_word_or_by_silence(void **state)
{
	struct world w;
	(void)state;
	world_open(&w);
	struct item *x = &w.items[0];
	x->log = (struct core_log){ .stream = "b-1-1.0", .uid = 7, .unwatched = true };
	x->alive = true;
	assert_int_equal(core_add(w.core, &x->log, w.now), 0);
	for (int i = 0; i < 3600; i++) {
		x->state++;
		after(&w, S);
	}
	assert_int_equal(x->finals, 0);
	after(&w, 1000 * S);
	assert_int_equal(x->finals, 1);
	world_close(&w);
}

static void one_user_can_not_hold_all_there_is(void **state)
{
	const struct core_config config = {
		.max_logs = 100, .max_runs = 100, .share = 0.5, .unshared = { 0, 6 }
	};
	static struct core_log logs[300];
	static char names[300][16];
	struct core *c = core_new(&config, 0);
	size_t n = 0, of[10] = { 0 }, runs[10] = { 0 };
	(void)state;
	assert_non_null(c);
	for (uid_t uid = 7; uid < 10; uid++) {
		for (int i = 0; i < 80; i++, n++) {
			(void)snprintf(names[n], sizeof names[n], "b-%zu-1.0", n);
			logs[n] = (struct core_log){ .stream = names[n], .uid = uid };
			int rc = core_add(c, &logs[n], 0);
			assert_true(rc == 0 || rc == -EDQUOT);
			assert_int_equal(core_admits(c, names[n], uid), rc);
			assert_int_equal(core_announced(c, names[n], uid, c, 0), rc);
			of[uid] += !rc;
			runs[uid] += !rc;
		}
	}
	assert_int_equal(of[7], 50);
	assert_int_equal(of[8], 25);
	assert_int_equal(of[9], 12);
	assert_int_equal(runs[9], 12);
	for (uid_t uid = 0; uid <= 6; uid += 6) {
		static struct core_log more[2] = { { .stream = "m-1-1.0" },
						   { .stream = "m-2-1.0" } };
		struct core_log *log = &more[uid / 6];
		log->uid = uid;
		assert_int_equal(core_add(c, log, 0), 0);
	}
	assert_int_equal(core_room(c, 10), 0); /* somebody new */
	core_free(c);
}

static void no_more_logs_are_followed_than_may_be(void **state)
{
	struct world w;
	struct core_log one = { .stream = "x" };
	(void)state;
	world_open(&w);
	for (size_t i = 0; i < LOGS; i++)
		(void)add(&w, i, NULL, NULL, 7);
	assert_int_equal(core_add(w.core, &one, w.now), -ENOSPC);
	world_close(&w);
}

/* ---- random hours -----------------------------------------------------------------------------
 */

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 16) % n);
}

static void random_event(struct world *w, const void *connections[RUNS])
{
	static const char *const execs[] = { "clean.0", "warmup.0", "profiled.none", NULL };
	size_t i = dice(LOGS), r = dice(RUNS);
	struct item *x = &w->items[i];
	switch (dice(12)) {
	case 0:
	case 1:
	case 2:
		if (!x->used) {
			(void)add(w, i, dice(2) ? run_names[r] : NULL, execs[dice(4)], 7);
			x->entry_open = dice(2);
		}
		break;
	case 3:
	case 4:
		if (x->used && x->alive) {
			x->alive = false;
			core_ended(w->core, &x->log, w->now);
		}
		break;
	case 5:
	case 6:
		x->state++;
		x->entry_open = dice(2);
		break;
	case 7:
		if (!connections[r] &&
		    !core_announced(w->core, run_names[r], 7, &run_names[r], w->now))
			connections[r] = &run_names[r];
		break;
	case 8:
		if (connections[r]) {
			core_hangup(w->core, connections[r], w->now);
			connections[r] = NULL;
		}
		break;
	case 9:
		core_execution(w->core, run_names[r], dice(2) ? "clean.0" : NULL);
		break;
	case 10:
		if (x->used && x->log.run)
			core_brought(w->core, x->log.run, x->stream);
		break;
	default:
		w->full = dice(4) == 0;
		w->sync_fails = dice(4) == 0;
		break;
	}
}

static void whatever_happens_each_process_ends_once_and_quiet_is_quiet(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 300; round++) {
		struct world w;
		const void *connections[RUNS] = { NULL };
		seed = round * UINT64_C(0x9e3779b97f4a7c15);
		world_open(&w);
		for (int i = 0; i < 400; i++) {
			random_event(&w, connections);
			after(&w, (int64_t)dice(3) * dice(2000) * S / 1000);
		}
		/* All ends, and all goes well from now on. */
		w.full = w.sync_fails = false;
		for (size_t i = 0; i < LOGS; i++)
			if (w.items[i].used && w.items[i].alive) {
				w.items[i].alive = false;
				core_ended(w.core, &w.items[i].log, w.now);
			}
		for (size_t r = 0; r < RUNS; r++)
			if (connections[r])
				core_hangup(w.core, connections[r], w.now);
		after(&w, 200 * S);
		struct core_counts n;
		core_counts(w.core, &n);
		assert_int_equal(n.logs, 0);
		assert_int_equal(n.runs, 0);
		assert_false(core_quiet(w.core));
		assert_int_equal(w.wrong, 0);
		for (size_t i = 0; i < LOGS; i++) {
			const struct item *x = &w.items[i];
			assert_false(x->used);
			if (x->stream[0]) {
				assert_int_equal(x->forgotten, 1);
				assert_true(x->durable);
				assert_true(x->written > 0 || x->log.brought);
			}
		}
		assert_int_equal(core_next(w.core), CORE_NEVER);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_process_outside_of_runs_is_sent_at_growing_pauses_while_it_changes),
		cmocka_unit_test(an_ended_process_has_one_final_and_is_let_go_when_it_is_durable),
		cmocka_unit_test(while_there_is_no_room_finals_are_tried_again_and_none_is_lost),
		cmocka_unit_test(a_clean_entry_makes_it_quiet_until_a_look_sees_its_end),
		cmocka_unit_test(warm_ups_and_processes_of_another_user_s_run_make_nothing_quiet),
		cmocka_unit_test(who_took_the_name_of_a_run_before_its_announcement_loses_it),
		cmocka_unit_test(with_no_progress_wanted_a_clean_process_is_not_looked_at_at_all),
		cmocka_unit_test(
			a_runner_s_processes_are_left_to_it_and_taken_over_when_it_is_lost),
		cmocka_unit_test(
			a_process_that_outlives_its_runner_does_not_hold_up_the_end_of_the_run),
		cmocka_unit_test(a_runner_that_comes_back_keeps_its_run),
		cmocka_unit_test(what_the_runner_did_not_bring_goes_out_behind_its_last_word),
		cmocka_unit_test(runs_that_are_over_make_room_for_others),
		cmocka_unit_test(a_process_nobody_can_watch_ends_by_its_word_or_by_silence),
		cmocka_unit_test(one_user_can_not_hold_all_there_is),
		cmocka_unit_test(no_more_logs_are_followed_than_may_be),
		cmocka_unit_test(whatever_happens_each_process_ends_once_and_quiet_is_quiet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
