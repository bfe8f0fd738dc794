/* Programs that somebody starts under an agent, without a runner: their record, from their logs
 * alone. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/gather_fixture.h"
#include "tests/unit/marklog_build.h"

#define GOLDEN "tests/golden/ambient/record.json"

/* ---- processes ------------------------------------------------------------------------------- */

struct program {
	int agent, rank; /* -1: none */
	int launch;      /* the program is started for the so manieth time */
	const char *group, *stream, *parent;
	double world;
	bool killed;
};

static void text(struct built *b, enum marklog_text which, uint32_t *at, const char *value)
{
	if (value)
		built_text(b, which, at, value, strlen(value));
}

static void make_log(struct built *b, const struct program *p)
{
	char rank[16];
	memset(b, 0, sizeof *b);
	built_init(b);
	struct marklog_header *h = built_header(b);
	memset(h->texts, 0, sizeof h->texts);
	uint32_t at = MARKLOG_FIXED_BYTES;
	(void)snprintf(rank, sizeof rank, "%d", p->rank);
	h->pid = (uint32_t)(4000 + 10 * p->launch + p->rank);
	text(b, MARKLOG_HOST, &at, p->agent ? "n2" : "n1");
	text(b, MARKLOG_EXE, &at, "/opt/cfd/bin/solve r");
	text(b, MARKLOG_CWD, &at, "/home/ann");
	text(b, MARKLOG_RANK, &at, p->rank < 0 ? NULL : rank);
	text(b, MARKLOG_STREAM, &at, p->stream);
	text(b, MARKLOG_PARENT, &at, p->parent);
	text(b, MARKLOG_CPUS, &at, p->rank > 0 ? "2-3" : "0-1");
	built_text(b, MARKLOG_ARGV, &at, "solver\0-n\0003\0", 12);
	/* Two entries, the slowest rank is the last; launches follow one another. */
	uint64_t begin = 1000 + 100000u * (unsigned)p->launch + 100u * (unsigned)(p->rank + 1);
	built_entry(b, 0, begin, begin + 2000, 200);
	built_entry(b, 0, begin + 4000, begin + 6000 + 10u * (unsigned)(p->rank + 1), 0);
	h->exited = !p->killed;
}

static void put_program(struct frames *f, const struct program *p, uint64_t snapshot, bool final)
{
	static struct built b;
	char name[32];
	make_log(&b, p);
	const size_t half = sizeof b.bytes / 2;
	for (size_t at = 0; at < sizeof b.bytes; at += half) {
		struct frame_process *to = &more(f, p->agent, FRAME_PROCESS)->as.process;
		to->stream = lend_text(f, p->stream);
		(void)snprintf(name, sizeof name, "%s.roilog", p->stream);
		to->file = lend_text(f, name);
		to->snapshot = snapshot;
		to->size = sizeof b.bytes;
		to->offset = at;
		to->data = lend(f, (char *)b.bytes + at, half);
		to->final = final;
		to->real_ns = BUILD_REAL + (int64_t)snapshot * SECOND;
		to->uid = 1000;
		to->killed = final ? p->killed : UNKNOWN;
		to->job = str_of("slurm:77");
		to->group = p->group ? str_of(p->group) : (struct str){ .p = NULL };
		to->world = p->world;
		to->threads = 4;
		to->agent_cpu_s = 0.0625;
		to->wakeups = 2;
		(void)snprintf(name, sizeof name, "%d", p->rank);
		to->rank = p->rank < 0 ? (struct str){ .p = NULL } : lend_text(f, name);
	}
}

static void put_node(struct frames *f, int agent)
{
	struct frame_node *n = &more(f, agent, FRAME_NODE)->as.node;
	struct platform_info info;
	struct buf b = { 0 };
	block_clear(&platform_info_block, &info);
	info.vendor = "cpu";
	info.cores = 64;
	info.host = agent ? "n2" : "n1";
	block_put(&b, &platform_info_block, &info);
	n->real_ns = REAL;
	n->host = str_of(info.host);
	n->platform = str_of("cpu-x.linux6.1");
	n->info = lend(f, b.data, b.len);
	buf_done(&b);
}

static const struct program two_ranks[] = {
	{ .agent = 0, .rank = 0, .group = "slurm:77.0", .stream = "b1-4000-1.0", .world = 2 },
	{ .agent = 1, .rank = 1, .group = "slurm:77.0", .stream = "b2-4001-1.0", .world = 2 },
};

static void say_all(struct world *w, const struct frames *f)
{
	for (size_t i = 0; i < f->n; i++)
		(void)say(w, f->agent[i], &f->items[i], 1);
}

static int take_id(void *arg, const struct run_row *row)
{
	(void)snprintf(arg, 32, "%s", row->run_id);
	return 0;
}

static struct record only_record(struct store *s)
{
	struct record rec;
	char id[32] = "";
	const struct run_query q = { .kind = "ambient" };
	assert_int_equal(ask("SELECT count(*) FROM run"), 1);
	assert_int_equal(store_each_run(s, &q, take_id, id, NULL), 0);
	assert_int_equal(store_get_run(s, id, &rec, NULL), 0);
	return rec;
}

static struct buf only_bytes(struct store *s)
{
	struct record rec = only_record(s);
	struct buf b = { 0 };
	record_put(&b, &rec);
	record_done(&rec);
	return b;
}

static bool has_caveat(const struct record *rec, const char *code)
{
	for (size_t i = 0; i < rec->body.caveats.n; i++)
		if (!strcmp(rec->body.caveats.items[i].code, code))
			return true;
	return false;
}

/* ---- records --------------------------------------------------------------------------------- */

static void a_launch_is_a_run_as_its_logs_tell(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_node(&f, 0);
	put_node(&f, 1);
	put_program(&f, &two_ranks[0], 1, false);
	put_program(&f, &two_ranks[0], 2, true);
	put_program(&f, &two_ranks[1], 2, true);
	say_all(&w, &f);
	tick(&w);
	struct record rec = only_record(w.s);
	struct buf is = text_of(&rec), should = { 0 };
	const char *golden = getenv("GOLDEN");
	buf_puts(&is, "\n");
	if (golden && !strcmp(golden, "write"))
		assert_int_equal(file_write(GOLDEN, is.data, is.len, NULL), 0);
	if (file_read(&should, GOLDEN, NULL))
		fail_msg("%s is missing; make golden writes it", GOLDEN);
	assert_string_equal(is.data, should.data);
	assert_string_equal(rec.body.status, "ok");
	record_done(&rec);
	buf_done(&is);
	buf_done(&should);
	arena_free(&f.a);
	stop(&w);
}

static int see_running(void *arg, const struct gather_running *r)
{
	struct buf *b = arg;
	buf_printf(b, "%s/%s/%s %s, %.0f processes, %s\n", r->suite, r->app ? r->app : "-",
		   r->case_ ? r->case_ : "-", r->platform ? r->platform : "-", r->processes,
		   r->exec_ns == ROI_UNKNOWN ? "not begun" : "begun");
	return 0;
}

static void assert_running(struct world *w, const char *should)
{
	struct buf b = { 0 };
	assert_int_equal(gather_each_running(w->s, NULL, see_running, &b, NULL), 0);
	assert_string_equal(b.data ? b.data : "", should);
	buf_done(&b);
}

static void while_it_is_in_progress_it_has_its_name(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	char line[128];
	put_program(&f, &two_ranks[0], 1, false);
	say_all(&w, &f);
	assert_running(&w, "ambient/solve_r/args-d4357d2a -, 1 processes, begun\n");
	put_node(&f, 0);
	put_program(&f, &two_ranks[1], 1, false);
	say_all(&w, &f);
	assert_running(&w, "ambient/solve_r/args-d4357d2a cpu-x.linux6.1, 2 processes, begun\n");
	put_program(&f, &two_ranks[0], 2, true);
	put_program(&f, &two_ranks[1], 2, true);
	say_all(&w, &f);
	tick(&w);
	struct record rec = only_record(w.s);
	(void)snprintf(line, sizeof line, "%s/%s/%s", rec.body.suite, rec.body.app, rec.body.case_);
	assert_string_equal(line, "ambient/solve_r/args-d4357d2a");
	assert_running(&w, "");
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

static void shuffle(struct frames *f, struct dice *d)
{
	for (size_t i = f->n; i > 1; i--) {
		size_t k = below(d, i);
		struct frame x = f->items[i - 1];
		int agent = f->agent[i - 1];
		f->items[i - 1] = f->items[k];
		f->agent[i - 1] = f->agent[k];
		f->items[k] = x;
		f->agent[k] = agent;
	}
}

/* A job step that starts a program of two ranks three times, on two nodes. */
static void put_step(struct frames *f)
{
	static const char *const streams[3][2] = { { "b1-1-1.0", "b2-1-1.0" },
						   { "b1-2-2.0", "b2-2-2.0" },
						   { "b1-3-3.0", "b2-3-3.0" } };
	put_node(f, 0);
	put_node(f, 1);
	for (int launch = 0; launch < 3; launch++)
		for (int rank = 0; rank < 2; rank++) {
			struct program p = two_ranks[rank];
			p.launch = launch;
			p.stream = streams[launch][rank];
			put_program(f, &p, 1, false);
			put_program(f, &p, 2, true);
		}
}

static void any_order_gives_the_same_bytes_and_the_same_run(void **state)
{
	struct buf first = { 0 };
	static struct frames f;
	for (unsigned round = 0; round < 30; round++) {
		struct dice d = { 3 + round };
		make_quick_folder(state);
		struct world w = start();
		f = (struct frames){ .n = 0 };
		put_step(&f);
		if (round)
			shuffle(&f, &d);
		for (size_t i = 0; i < f.n; i++) {
			(void)say(&w, f.agent[i], &f.items[i], 1);
			if (below(&d, 3) == 0)
				pass(&w, (int64_t)below(&d, 80) * SECOND);
			if (below(&d, 9) == 0)
				restart(&w, 0);
		}
		tick(&w);
		struct buf is = only_bytes(w.s);
		if (!round)
			first = is;
		else
			assert_same(&is, &first);
		if (round)
			buf_done(&is);
		arena_free(&f.a);
		stop(&w);
		remove_folder(state);
	}
	struct record rec;
	assert_int_equal(record_get(&rec, first.data, first.len, NULL, 0, NULL), 0);
	assert_int_equal(rec.body.executions.n, 3);
	assert_true(rec.body.measurement.cleans_used == 3);
	assert_true(rec.body.roi.processes == 2);
	assert_string_equal(rec.body.app, "solve_r");
	record_done(&rec);
	buf_done(&first);
}

static void processes_without_a_launch_are_runs_of_their_own(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	const struct program a = { .rank = -1, .stream = "b1-1-1.0", .world = NAN },
			     b = { .rank = -1, .launch = 1, .stream = "b1-2-2.0", .world = NAN },
			     c = { .rank = 0,
				   .launch = 2,
				   .stream = "b1-3-3.0",
				   .group = "slurm:9.0",
				   .world = 1 },
			     e = { .rank = 0,
				   .launch = 3,
				   .stream = "b1-4-3.0",
				   .group = "slurm:9.0",
				   .world = 1 };
	put_program(&f, &a, 1, true);
	put_program(&f, &b, 1, true);
	put_program(&f, &c, 1, true);
	put_program(&f, &e, 1, true);
	say_all(&w, &f);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM run WHERE status = 'ok'"), 4);
	assert_int_equal(ask("SELECT count(*) FROM cell WHERE platform = 'unknown'"), 2);
	arena_free(&f.a);
	stop(&w);
}

static void a_child_belongs_to_the_launch_of_its_parent(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	struct program child = two_ranks[1];
	child.stream = "b2-4100-1.0";
	child.parent = two_ranks[1].stream;
	child.world = NAN;
	struct program a = two_ranks[0], b = two_ranks[1];
	a.world = b.world = NAN;
	put_program(&f, &a, 2, true);
	put_program(&f, &child, 2, true);
	put_program(&f, &b, 2, true);
	say_all(&w, &f);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0); /* there may be more of them */
	pass(&w, w.config.wait_ns);
	struct record rec = only_record(w.s);
	assert_int_equal(rec.body.executions.n, 1);
	assert_true(rec.body.roi.processes == 3);
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

static void one_that_was_killed_or_lost_is_no_result(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	struct program p = { .rank = -1, .stream = "b1-1-1.0", .world = NAN, .killed = true };
	put_program(&f, &p, 1, true);
	say_all(&w, &f);
	tick(&w);
	struct record rec = only_record(w.s);
	assert_string_equal(rec.body.status, "clean_failed");
	assert_non_null(strstr(rec.body.status_text, "exit handlers"));
	record_done(&rec);
	/* Its node went down before anybody saw it end. */
	f.n = 0;
	p.killed = false;
	p.stream = "b1-2-1.0";
	p.launch = 1;
	put_program(&f, &p, 1, false);
	say_all(&w, &f);
	pass(&w, w.config.silence_ns - SECOND);
	assert_int_equal(ask("SELECT count(*) FROM run"), 1);
	pass(&w, SECOND);
	assert_int_equal(ask("SELECT count(*) FROM run WHERE status = 'interrupted'"), 1);
	arena_free(&f.a);
	stop(&w);
}

static void a_rank_that_comes_late_mends_the_record_and_its_id(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_node(&f, 0);
	put_node(&f, 1);
	put_program(&f, &two_ranks[1], 2, true);
	say_all(&w, &f);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	pass(&w, w.config.wait_ns);
	struct record rec = only_record(w.s);
	assert_true(has_caveat(&rec, "ranks_missing"));
	assert_true(rec.body.roi.processes == 1);
	record_done(&rec);
	f.n = 0;
	put_program(&f, &two_ranks[0], 2, true);
	say_all(&w, &f);
	w.told[0] = 0;
	tick(&w);
	rec = only_record(w.s);
	assert_false(has_caveat(&rec, "ranks_missing"));
	assert_true(rec.body.roi.processes == 2);
	struct buf is = text_of(&rec), should = { 0 };
	buf_puts(&is, "\n");
	assert_int_equal(file_read(&should, GOLDEN, NULL), 0);
	assert_string_equal(is.data, should.data);
	buf_done(&is);
	buf_done(&should);
	record_done(&rec);
	arena_free(&f.a);
	stop(&w);
}

static void two_users_are_never_one_run(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_program(&f, &two_ranks[0], 2, true);
	put_program(&f, &two_ranks[1], 2, true);
	f.items[2].as.process.uid = f.items[3].as.process.uid = 1001;
	say_all(&w, &f);
	pass(&w, w.config.wait_ns);
	assert_int_equal(ask("SELECT count(*) FROM run"), 2);
	arena_free(&f.a);
	stop(&w);
}

int main(void)
{
	(void)alarm(300);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(a_launch_is_a_run_as_its_logs_tell),
		TEST(while_it_is_in_progress_it_has_its_name),
		cmocka_unit_test(any_order_gives_the_same_bytes_and_the_same_run),
		TEST(processes_without_a_launch_are_runs_of_their_own),
		TEST(a_child_belongs_to_the_launch_of_its_parent),
		TEST(one_that_was_killed_or_lost_is_no_result),
		TEST(a_rank_that_comes_late_mends_the_record_and_its_id),
		TEST(two_users_are_never_one_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
