/* An agent that lies, or is many times larger than any that was meant: what it posts holds up
 * nobody else for long, and spoils nothing but what is its own. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/progress.h"
#include "schema/utf8.h"
#include "tests/unit/gather_fixture.h"

#define MANY 60000 /* frames of one batch */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MOST_S 30.0
#else
#define MOST_S 3.0 /* of CPU; what grows with the square takes minutes */
#endif

static double cpu_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void assert_quick(double since, const char *what)
{
	double took = cpu_s() - since;
	if (getenv("HOSTILE_TIMES"))
		print_message("%s: %.3f s\n", what, took);
	if (took > MOST_S)
		fail_msg("%s took %.1f s of CPU", what, took);
}

/* A run that everything came of, whatever else there is. */
static void take_run(struct world *w)
{
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	for (size_t i = 0; i < f.n; i++)
		(void)say(w, f.agent[i], &f.items[i], 1);
	arena_free(&f.a);
	tick(w);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void losses_past_any_number_keep_no_record_from_being_made(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f;
	frame_clear(&f, FRAME_LOSS);
	f.as.loss.what = str_of("marks");
	f.as.loss.why = str_of("gone");
	f.as.loss.run = str_of(RUN);
	f.as.loss.count = f.as.loss.bytes = INT64_MAX;
	for (int i = 0; i < AGENTS; i++)
		(void)say(&w, i, &f, 1);
	take_run(&w);
	assert_string_equal(w.told, "stored " RUN "\n");
	stop(&w);
}

/* ---- many ------------------------------------------------------------------------------------ */

static void say_all(struct world *w, const struct frame *f, size_t n, const char *what)
{
	double since = cpu_s();
	(void)say(w, 0, f, n);
	assert_quick(since, what);
	since = cpu_s();
	tick(w);
	assert_quick(since, "its tick");
}

static struct frame *many(enum frame_type type)
{
	struct frame *f = calloc(MANY, sizeof *f);
	assert_non_null(f);
	for (size_t i = 0; i < MANY; i++)
		frame_clear(&f[i], type);
	return f;
}

static void a_log_in_pieces_of_a_byte_holds_up_nobody(void **state)
{
	(void)state;
	struct world w = start();
	struct frame *f = many(FRAME_PROCESS);
	for (size_t i = 0; i < MANY; i++) {
		struct frame_process *p = &f[i].as.process;
		p->run = str_of(RUN);
		p->exec = str_of("clean.0");
		p->stream = str_of("boot-1-1.0");
		p->snapshot = 1;
		p->size = MANY + 1;
		p->offset = i;
		p->data = str_of("#");
		p->uid = 1000;
	}
	say_all(&w, f, MANY, "a log in pieces of a byte");
	free(f);
	take_run(&w);
	stop(&w);
}

static void very_many_executions_hold_up_nobody(void **state)
{
	(void)state;
	struct world w = start();
	struct frame *f = many(FRAME_EXECUTION_START);
	char(*names)[16] = calloc(MANY, sizeof *names);
	assert_non_null(names);
	for (size_t i = 0; i < MANY; i++) {
		struct frame_execution_start *e = &f[i].as.execution_start;
		(void)snprintf(names[i], sizeof names[i], "clean.%zu", i);
		e->run = str_of("20260929T045201Z-00000001");
		e->exec = str_of(names[i]);
		e->order = i;
		e->uid = 1000;
	}
	frame_clear(&f[0], FRAME_RUN_END);
	f[0].as.run_end.run = f[1].as.execution_start.run;
	f[0].as.run_end.complete = YES;
	f[0].as.run_end.uid = 1000;
	say_all(&w, f, MANY, "many executions");
	double since = cpu_s();
	pass(&w, 61 * SECOND);
	assert_quick(since, "the record of many executions");
	w.told[0] = 0;
	take_run(&w);
	assert_string_equal(w.told, "stored " RUN "\n");
	free(f);
	free(names);
	stop(&w);
}

static void very_many_processes_of_one_group_hold_up_nobody(void **state)
{
	(void)state;
	struct world w = start();
	struct frame *f = many(FRAME_PROCESS);
	char(*names)[32] = calloc(MANY, sizeof *names);
	assert_non_null(names);
	for (size_t i = 0; i < MANY; i++) {
		struct frame_process *p = &f[i].as.process;
		(void)snprintf(names[i], sizeof names[i], "boot-%zu-1.0", i);
		p->stream = str_of(names[i]);
		p->group = str_of("slurm:1.0");
		p->rank = str_of(i % 2 ? "1" : "0");
		p->world = 2;
		p->snapshot = 1;
		p->real_ns = REAL;
		p->final = YES;
		p->uid = 1000;
	}
	say_all(&w, f, MANY, "many processes");
	free(f);
	free(names);
	stop(&w);
}

static void ranks_that_nobody_has_hold_up_nobody(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames all;
	all = (struct frames){ .n = 0 };
	put_run(&all);
	struct frame *f = many(FRAME_PROCESS);
	char(*names)[32] = calloc(MANY, sizeof *names);
	assert_non_null(names);
	for (size_t i = 0; i < MANY; i++) {
		struct frame_process *p = &f[i].as.process;
		(void)snprintf(names[i], sizeof names[i], "%zu", i);
		p->run = str_of(RUN);
		p->exec = str_of("clean.0");
		p->stream = p->rank = str_of(names[i]);
		p->snapshot = 1;
		p->final = YES;
		p->uid = 1000;
	}
	for (size_t i = 0; i < all.n; i++) {
		if (all.items[i].type == FRAME_RUN_ANNOUNCE)
			all.items[i].as.run_announce.ranks = 999999;
		(void)say(&w, all.agent[i], &all.items[i], 1);
	}
	say_all(&w, f, MANY, "many ranks");
	double since = cpu_s();
	pass(&w, 61 * SECOND);
	assert_quick(since, "the record of many ranks");
	assert_non_null(strstr(w.told, "stored " RUN));
	free(f);
	free(names);
	arena_free(&all.a);
	stop(&w);
}

static void a_body_that_unpacks_to_gigabytes_is_refused(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f;
	struct gather_result r;
	struct err err;
	struct buf body = { 0 };
	char *zeros = calloc(1, 31 << 20);
	assert_non_null(zeros);
	frame_clear(&f, FRAME_PROCESS);
	f.as.process.stream = str_of("boot-1-1.0");
	f.as.process.run = str_of(RUN);
	f.as.process.data = (struct str){ .p = zeros, .n = 31 << 20 };
	f.as.process.size = 31 << 20;
	for (uint64_t i = 1; i <= 100; i++) {
		struct buf b = batch_of(&f, 1, 0, i);
		buf_put(&body, b.data, b.len);
		buf_done(&b);
	}
	assert_true(body.len < 2 << 20);
	double since = cpu_s();
	assert_int_equal(try_post(&w, &body, &r, &err), -E2BIG);
	assert_non_null(strstr(err.text, "unpack"));
	assert_quick(since, "a body of 3 GB");
	buf_done(&body);
	free(zeros);
	stop(&w);
}

/* ---- any values ------------------------------------------------------------------------------ */

#define EACH(F)                                                                                    \
	F(run_announce, RUN_ANNOUNCE)                                                              \
	F(execution_start, EXECUTION_START)                                                        \
	F(process, PROCESS)                                                                        \
	F(execution_end, EXECUTION_END)                                                            \
	F(run_end, RUN_END)                                                                        \
	F(context, CONTEXT)                                                                        \
	F(loss, LOSS)                                                                              \
	F(gap, GAP)                                                                                \
	F(node, NODE)                                                                              \
	F(agent, AGENT)

static double odd_num(struct dice *d)
{
	static const double list[] = { NAN, 0, -1, 1, 2, 4, 1e18, 1e300, -1e300, 0.5, 999999 };
	return list[below(d, sizeof list / sizeof *list)];
}

static int64_t odd_int(struct dice *d)
{
	static const int64_t list[] = { ROI_UNKNOWN, INT64_MIN + 1, INT64_MAX, -1,        0,
					1,           1000,          REAL,      UINT32_MAX };
	return list[below(d, sizeof list / sizeof *list)];
}

static struct str odd_text(struct dice *d)
{
	static const char *const list[] = { NULL,
					    "",
					    RUN,
					    "clean.0",
					    "clean.1",
					    "\x01\x1b[2J",
					    "a\"b<c>",
					    "context",
					    "0",
					    "18446744073709551615",
					    "process:boot-0-0.0",
					    "node",
					    "../../x",
					    "\xc3\xa9" };
	return str_of(list[below(d, sizeof list / sizeof *list)]);
}

#define odd_u64(d) (uint64_t) odd_int(d)
#define odd_i64 odd_int
#define odd_ter(d) (signed char)((int)below(d, 3) - 1)
#define odd_txt odd_text
#define odd_bin odd_text
#define odd_txts(d) ((struct str){ .p = NULL })
#define odd_pairs(d) ((struct str){ .p = NULL })
/* clang-format off */
#define SPOIL(type, name, unit, meaning) if (!below(d, few)) p->name = odd_##type(d);
#define SPOILS(low, UP) \
	static void spoil_##low(struct frame_##low *p, struct dice *d, unsigned few) { FRAME_##UP##_FIELDS(SPOIL) }
EACH(SPOILS)
#define CASE(low, UP) case FRAME_##UP: spoil_##low(&f->as.low, d, few); break;
/* clang-format on */

static void spoil(struct frame *f, struct dice *d, unsigned few)
{
	switch (f->type) {
		EACH(CASE)
	case FRAME_DECLARE:
	case FRAME_PICTURE:
	case FRAME_CONFORMANCE:
	case FRAME_TYPES:
		break;
	}
}

static int see_running(void *arg, const struct gather_running *r)
{
	(void)arg;
	struct buf b = { 0 };
	assert_int_equal(progress_text(&b, r), 0);
	buf_done(&b);
	return 0;
}

static void no_values_keep_another_run_from_being_stored(void **state)
{
	(void)state;
	struct world w = start();
	struct dice d = { 7 };
	static struct frames f;
	for (int round = 0; round < 400; round++) {
		f = (struct frames){ .n = 0 };
		put_run(&f);
		frame_clear(more(&f, 0, FRAME_NODE), FRAME_NODE);
		frame_clear(more(&f, 0, FRAME_AGENT), FRAME_AGENT);
		frame_clear(more(&f, 0, FRAME_LOSS), FRAME_LOSS);
		frame_clear(more(&f, 0, FRAME_GAP), FRAME_GAP);
		frame_clear(more(&f, 0, FRAME_CONTEXT), FRAME_CONTEXT);
		for (int i = 0; i < 40; i++) {
			struct frame bad = f.items[below(&d, f.n)];
			spoil(&bad, &d, round % 2 ? 2 : 6);
			(void)say(&w, (int)below(&d, AGENTS), &bad, 1);
		}
		struct err err;
		if (gather_each_running(w.s, NULL, see_running, NULL, &err))
			fail_msg("%s", err.text);
		pass(&w, (int64_t)below(&d, 100) * SECOND);
		arena_free(&f.a);
	}
	w.told[0] = 0;
	pass(&w, 8 * 86400 * SECOND);
	pass(&w, 8 * 86400 * SECOND);
	assert_int_equal(ask("SELECT count(*) FROM inbox_run WHERE state = 0"), 0);
	assert_true(ask("SELECT count(*) FROM run") > 0);
	assert_true(ask("SELECT count(*) FROM inbox_loss WHERE ours = 1") > 0);
	stop(&w);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static int see_ledger(void *arg, const struct inbox_ledger *l)
{
	size_t *holes = arg;
	*holes += l->n_holes;
	assert_false(l->complete);
	assert_true(utf8_valid(l->why, strlen(l->why)));
	return 0;
}

static size_t ask_ledger(struct world *w)
{
	struct err err;
	size_t holes = 0;
	if (inbox_each_ledger(w->s, NULL, INT64_MIN, INT64_MAX, see_ledger, &holes, &err))
		fail_msg("%s", err.text);
	return holes;
}

static void what_an_agent_tells_at_length_is_cut_between_letters(void **state)
{
	(void)state;
	struct world w = start();
	char why[1200];
	for (size_t pad = 0; pad < 2; pad++) {
		struct frame f;
		memset(why, 'x', pad);
		for (size_t i = pad; i + 2 < sizeof why; i += 2)
			memcpy(why + i, "\xc3\xa9", 3);
		frame_clear(&f, FRAME_GAP);
		f.as.gap.first_seq = 1;
		f.as.gap.last_seq = 5;
		f.as.gap.what = str_of("marks");
		f.as.gap.why = str_of(why);
		w.seq[pad] = 9;
		(void)say(&w, (int)pad, &f, 1);
	}
	assert_int_equal(ask_ledger(&w), 4);
	stop(&w);
}

static void very_many_holes_are_told_at_once(void **state)
{
	(void)state;
	struct world w = start();
	struct frame *f = many(FRAME_GAP);
	struct frame context;
	frame_clear(&context, FRAME_CONTEXT);
	double since = cpu_s();
	struct buf body = { 0 };
	for (uint64_t i = 1; i <= 20000; i++) {
		struct buf b = batch_of(&context, 1, 0, 4 * i);
		buf_put(&body, b.data, b.len);
		buf_done(&b);
		if (i % GATHER_MAX_BATCHES == 0) {
			(void)post(&w, &body);
			body.len = 0;
		}
	}
	buf_done(&body);
	assert_quick(since, "many holes");
	w.seq[0] = 1000000;
	for (size_t i = 0; i < MANY; i++) {
		f[i].as.gap.first_seq = 2 + 4 * i;
		f[i].as.gap.last_seq = i % 3 ? 2 + 4 * i : w.seq[0] + 1;
	}
	since = cpu_s();
	(void)say(&w, 0, f, MANY);
	assert_quick(since, "many gaps");
	since = cpu_s();
	(void)ask_ledger(&w);
	assert_quick(since, "its ledger");
	since = cpu_s();
	pass(&w, 31 * SECOND);
	assert_quick(since, "its fold");
	free(f);
	stop(&w);
}

int main(void)
{
	(void)alarm(600);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(losses_past_any_number_keep_no_record_from_being_made),
		TEST(a_log_in_pieces_of_a_byte_holds_up_nobody),
		TEST(very_many_executions_hold_up_nobody),
		TEST(very_many_processes_of_one_group_hold_up_nobody),
		TEST(ranks_that_nobody_has_hold_up_nobody),
		TEST(a_body_that_unpacks_to_gigabytes_is_refused),
		TEST(no_values_keep_another_run_from_being_stored),
		TEST(what_an_agent_tells_at_length_is_cut_between_letters),
		TEST(very_many_holes_are_told_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
