/* Pictures of profiled executions in the record: which of them count, and what is said. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/assemble.h"
#include "core/category.h"
#include "lib/num.h"
#include "tests/unit/fail_alloc.h"

#define SECOND INT64_C(1000000000)
#define MANY 8

/* Executions of processes with a region of one second; a picture says that its device was busy for
 * 0.25 s of that. */
struct bench {
	struct record rec;
	struct observed seen[MANY];
	size_t n;
	struct roi_log logs[MANY][2];
	struct roi_entry entries[MANY][2];
	const struct roi_log *list[MANY][2];
	struct picture pictures[MANY][2];
	const struct picture *shown[MANY][2];
	double numbers[4][CATEGORIES];
	double windows[2], busy[2];
	struct picture_device device;
	char streams[MANY][2][8];
};

static struct bench b;

static int start(void **state)
{
	(void)state;
	b = (struct bench){ .windows = { 0, 1e9 }, .busy = { 1e8, 3.5e8 } };
	record_init(&b.rec);
	b.rec.body.measurement.region = "markers";
	b.numbers[0][COMPUTE] = b.numbers[3][COMPUTE] = 2.5e8;
	b.numbers[1][COMPUTE] = 5;
	b.numbers[2][COLLECTIVE] = NAN;
	block_clear(&picture_device_block, &b.device);
	b.device.name = "Device 1";
	b.device.busy_ns = b.device.whole_busy_ns = 2.5e8;
	b.device.busy = (struct nums){ .items = b.busy, .n = 2 };
	b.device.closed_ns = 0;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	record_done(&b.rec);
	return 0;
}

static struct roi_log *process(const char *rank)
{
	size_t at = b.n - 1, k = b.seen[at].n_logs++;
	struct roi_entry *e = &b.entries[at][k];
	struct roi_log *log = &b.logs[at][k];
	(void)snprintf(b.streams[at][k], sizeof b.streams[at][k], "%zu-%zu", at, k);
	*e = (struct roi_entry){ .begin_ns = SECOND, .end_ns = 2 * SECOND };
	*log = (struct roi_log){
		.format = "test",
		.file = "test",
		.stream = b.streams[at][k],
		.pid = "41",
		.rank = rank,
		.clock = "tsc",
		.entries = e,
		.n_entries = 1,
		.begun = 1,
		.threads = 1,
		.first_begin_ns = e->begin_ns,
		.last_end_ns = e->end_ns,
		.first_begin_real = 102 * SECOND,
		.last_end_real = 103 * SECOND,
		.mark_cost_ns = NAN,
		.clock_error_ns = NAN,
		.marks = 2,
	};
	b.list[at][k] = log;
	return log;
}

static struct observed *execution(const char *name)
{
	struct observed *seen = &b.seen[b.n];
	block_clear(&execution_block, &seen->row);
	seen->row.name = name;
	seen->row.exit_code = 0;
	seen->row.order = (double)b.n;
	seen->start_real_ns = 100 * SECOND;
	seen->end_real_ns = 110 * SECOND;
	seen->logs = b.list[b.n];
	seen->pictures = b.shown[b.n];
	b.n++;
	(void)process("0");
	return seen;
}

static void put_sums(struct picture_sums *s)
{
	struct nums *const lists[] = { &s->time_ns, &s->ops, &s->bytes, &s->union_ns };
	for (size_t i = 0; i < 4; i++)
		*lists[i] = (struct nums){ .items = b.numbers[i], .n = CATEGORIES };
	s->op_sum_ns = s->busy_ns = s->device_busy_ns = 2.5e8;
	s->untimed = 0;
}

/* Of the newest process. */
static struct picture *picture(const char *collector)
{
	size_t at = b.n - 1, k = b.seen[at].n_pictures++;
	struct picture *p = &b.pictures[at][k];
	picture_clear(p);
	p->collector = collector;
	p->status = "ok";
	p->final = YES;
	p->stream = b.seen[at].n_logs ? b.streams[at][b.seen[at].n_logs - 1] : NULL;
	p->host = "n1";
	p->boot = "b1";
	p->pid = "41";
	p->clock = "monotonic";
	p->base_s = 100;
	p->base_ns = 0;
	p->found = YES;
	p->entries = 1;
	p->gross_ns = p->wall_ns = 1e9;
	p->windows = (struct nums){ .items = b.windows, .n = 2 };
	p->windows_closed_ns = p->dropped = p->late = p->graphs = p->pending = 0;
	put_sums(&p->roi);
	put_sums(&p->whole);
	p->devices.items = &b.device;
	p->devices.n = 1;
	p->gap.total_ns = 7.5e8;
	p->collector_cpu_s = 0.5;
	b.shown[at][k] = p;
	return p;
}

/* It saw nothing. */
static void blind(struct picture *p, const char *status)
{
	p->status = status;
	block_clear(&picture_sums_block, &p->roi);
	block_clear(&picture_sums_block, &p->whole);
	p->devices.n = 0;
}

static const struct record_body *assembled(void)
{
	assert_int_equal(assemble(&b.rec, b.seen, b.n, NULL), 0);
	return &b.rec.body;
}

static size_t count(const char *code)
{
	size_t n = 0;
	for (size_t i = 0; i < b.rec.body.caveats.n; i++)
		n += strcmp(b.rec.body.caveats.items[i].code, code) == 0;
	return n;
}

static void said(const char *code, const char *words)
{
	for (size_t i = 0; i < b.rec.body.caveats.n; i++)
		if (strcmp(b.rec.body.caveats.items[i].code, code) == 0 &&
		    strstr(b.rec.body.caveats.items[i].text, words))
			return;
	fail_msg("no caveat %s with \"%s\"", code, words);
}

static const char *why_null(const char *field)
{
	for (size_t i = 0; i < b.rec.body.nulls.n; i++)
		if (strcmp(b.rec.body.nulls.items[i].field, field) == 0)
			return b.rec.body.nulls.items[i].why;
	return "(not told)";
}

static void the_device_is_that_of_the_profiled_execution(void **state)
{
	(void)state;
	(void)execution("clean.0");
	(void)picture("stray"); /* nobody looks at what is in a clean one */
	(void)execution("profiled.opencl");
	(void)picture("opencl");
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	assert_string_equal(r->device.execution, "profiled.opencl");
	assert_true(r->device.busy_s == 0.25 && r->device.busy_frac_of_roi == 0.25);
	assert_true(r->device.busy_frac_of_profiled_roi == 0.25 && r->device.host_gap_s == 0.75);
	assert_true(r->device.compute_ops == 5 && r->device.fill_ops == 0);
	assert_true(r->gap.device_idle_s == 0.75 && !known(r->gap.cpu_s));
	assert_true(r->observer.collector_cpu_s == 0.5);
	assert_true(r->roi.wall_s == 1 && r->roi.profiled_wall_s == 1);
	assert_int_equal(count("not_profiled"), 0);
	assert_int_equal(count("device_unseen_ranks"), 0);
	assert_int_equal(count("device_region_differs"), 0);
}

static void what_the_collector_can_not_see_is_not_supported(void **state)
{
	(void)state;
	(void)execution("clean.0");
	(void)execution("profiled.opencl");
	(void)picture("opencl");
	const struct record_body *r = assembled();
	assert_true(!known(r->device.collective_bytes));
	assert_string_equal(why_null("device.collective_bytes"), "not_supported");
	assert_string_equal(why_null("gap.cpu_s"), "not_supported");
	assert_string_equal(why_null("runtime_api"), "not_supported");
	assert_string_equal(why_null("io"), "not_measured");
}

static void without_a_picture_the_device_is_null_and_it_is_said(void **state)
{
	(void)state;
	(void)execution("clean.0");
	(void)execution("profiled.cupti");
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	assert_true(!known(r->device.busy_s) && !r->device.execution);
	assert_string_equal(why_null("device"), "not_measured");
	said("device_not_observed", "No process of profiled.cupti told of a device");
}

static void processes_that_were_killed_before_they_told_are_said(void **state)
{
	static const char killed[] = "killed before it wrote for the first time";
	(void)state;
	(void)execution("clean.0");
	execution("profiled.cupti")->end = END_TIMEOUT;
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "profiled_failed");
	assert_true(!known(r->device.busy_s));
	assert_string_equal(why_null("device"), "not_measured");
	said("device_not_observed", killed);
	(void)stop(state);
	(void)start(state);
	(void)execution("clean.0");
	(void)process("1");
	execution("profiled.cupti")->row.exit_code = 137;
	picture("cupti")->final = NO;
	(void)process("1");
	(void)assembled();
	said("device_unseen_ranks", killed);
	assert_int_equal(count("device_not_observed"), 0);
}

static void a_refusal_says_why_the_device_is_null(void **state)
{
	static const char *const ways[][2] = {
		{ "no_driver", "not_supported" },
		{ "no_device", "not_supported" },
		{ "refused", "no_permission" },
		{ "busy", "lost" },
	};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		(void)start(state);
		(void)execution("clean.0");
		(void)execution("profiled.cupti");
		struct picture *p = picture("cupti");
		blind(p, ways[i][0]);
		p->why = "it said no";
		(void)assembled();
		assert_string_equal(why_null("device"), ways[i][1]);
		assert_string_equal(why_null("ops"), ways[i][1]);
		assert_string_equal(why_null("gap"), ways[i][1]);
		said("device_not_observed", "it said no");
		(void)stop(state);
	}
	(void)start(state);
}

static void a_failed_execution_shows_what_it_has(void **state)
{
	(void)state;
	(void)execution("clean.0");
	execution("profiled.cupti")->row.exit_code = 3;
	picture("cupti")->final = NO;
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "profiled_failed");
	assert_true(r->roi.wall_s == 1 && r->device.busy_s == 0.25);
	said("picture_not_final", "before");
	assert_int_equal(r->device.incomplete, YES);
}

static void of_several_the_one_that_went_well_and_saw_work_counts(void **state)
{
	(void)state;
	(void)execution("clean.0");
	execution("profiled.a")->row.exit_code = 3;
	(void)picture("a");
	(void)execution("profiled.b");
	blind(picture("b"), "no_driver");
	(void)execution("profiled.c");
	(void)picture("c");
	(void)execution("profiled.d");
	(void)picture("d");
	const struct record_body *r = assembled();
	assert_string_equal(r->device.execution, "profiled.c");
	said("device_other_collectors", "profiled.d saw 5 device operations");
	assert_int_equal(count("device_other_collectors"), 2);
}

static void processes_that_told_nothing_are_said(void **state)
{
	(void)state;
	(void)execution("clean.0");
	(void)process("1");
	(void)execution("profiled.cupti");
	(void)picture("cupti");
	(void)process("1");
	const struct record_body *r = assembled();
	assert_true(r->device.processes == 1);
	said("device_unseen_ranks", "of 1 of the 2 processes");
}

static void a_region_that_is_not_that_of_the_marks_is_said(void **state)
{
	(void)state;
	(void)execution("clean.0");
	(void)execution("profiled.cupti");
	picture("cupti")->wall_ns = 1.02e9;
	(void)assembled();
	said("device_region_differs", "1.02 s");
}

static void inflation_is_said_once(void **state)
{
	(void)state;
	(void)execution("clean.0");
	(void)execution("profiled.cupti");
	b.entries[1][0].end_ns = SECOND + 3 * SECOND / 2;
	picture("cupti")->wall_ns = 1.5e9;
	const struct record_body *r = assembled();
	assert_true(r->roi.profiler_inflation == 1.5);
	assert_int_equal(count("profiler_inflation"), 1);
}

static void with_a_timer_there_is_the_whole_process_only(void **state)
{
	(void)state;
	struct timer_result t = { .wall_s = 2, .steps = NAN, .excluded_s = NAN, .setup_s = NAN };
	b.rec.body.measurement.region = "timer:x";
	execution("clean.0")->timer = &t;
	execution("profiled.cupti")->timer = &t;
	b.seen[0].n_logs = b.seen[1].n_logs = 0;
	struct picture *p = picture("cupti");
	p->found = NO;
	block_clear(&picture_sums_block, &p->roi);
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	assert_true(r->context.whole_process.busy_s == 0.25 && !known(r->device.busy_s));
	assert_true(r->roi.profiled_wall_s == 2);
	assert_string_equal(r->ops_scope, "whole_process");
	assert_string_equal(why_null("gap"), "not_supported");
}

static void every_failed_allocation_is_an_error(void **state)
{
	for (int n = 1; fail_alloc(n); n++) {
		int left = alloc_left;
		alloc_left = 0;
		(void)start(state);
		(void)execution("clean.0");
		(void)execution("profiled.a");
		(void)picture("a");
		(void)process("1");
		(void)execution("profiled.b");
		(void)picture("b");
		alloc_left = left;
		int rc = assemble(&b.rec, b.seen, b.n, NULL);
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		record_done(&b.rec);
	}
	alloc_left = 0;
	(void)start(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_device_is_that_of_the_profiled_execution),
		TEST(what_the_collector_can_not_see_is_not_supported),
		TEST(without_a_picture_the_device_is_null_and_it_is_said),
		TEST(processes_that_were_killed_before_they_told_are_said),
		TEST(a_refusal_says_why_the_device_is_null),
		TEST(a_failed_execution_shows_what_it_has),
		TEST(of_several_the_one_that_went_well_and_saw_work_counts),
		TEST(processes_that_told_nothing_are_said),
		TEST(a_region_that_is_not_that_of_the_marks_is_said),
		TEST(inflation_is_said_once),
		TEST(with_a_timer_there_is_the_whole_process_only),
		TEST(every_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
