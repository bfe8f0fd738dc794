/* The end of a run: what stands behind what, how an interrupted one is told, the order of logs. */
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

#include "core/finish.h"
#include "lib/num.h"
#include "tests/unit/fail_alloc.h"

static const char region[] = "# hpcperf-roi-log 2\nB 1000000000 1764459419000000000\n"
			     "E 2000000000 1764459420000000000\n";

static void see(struct observed *seen, const char *name, double order)
{
	*seen = (struct observed){ .start_real_ns = INT64_C(1764459418000000000),
				   .end_real_ns = INT64_C(1764459421000000000) };
	block_clear(&execution_block, &seen->row);
	seen->row.name = name;
	seen->row.order = order;
	seen->row.exit_code = 0;
	seen->row.utc = "2026-09-29T04:52:01Z";
}

/* One clean execution out of so many. */
static int finish(struct record *rec, bool complete, double planned, size_t n)
{
	static struct roi_logs logs;
	struct arena a = { 0 };
	struct observed seen;
	const struct carried_log log = { "l", region, sizeof region - 1, NULL, NAN, NULL, NULL };
	const struct run_close close = { complete, planned, INT64_C(1764459418123456789) };
	roilogs_done(&logs);
	see(&seen, "clean.0", 1);
	int rc = observed_logs(&seen, &logs, &a, &log, 1, NULL);
	if (!rc)
		rc = record_finish(rec, &seen, n, &close, NULL);
	arena_free(&a);
	roilogs_done(&logs);
	return rc;
}

static const char *caveat(const struct record *rec, size_t from_end)
{
	return rec->body.caveats.items[rec->body.caveats.n - 1 - from_end].code;
}

static void a_complete_run_is_what_its_executions_say(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	rec.body.measurement.cleans_asked = 1;
	assert_int_equal(finish(&rec, true, 3, 1), 0);
	assert_string_equal(rec.body.status, "ok");
	assert_true(rec.body.roi.wall_s == 1);
	assert_string_equal(rec.body.utc, "2026-09-29T04:52:01Z");
	record_done(&rec);
}

static void caveats_of_the_runner_come_last(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	assert_int_equal(record_caveat(&rec, "output_cut", "The %s.", "output"), 0);
	assert_int_equal(record_caveat(&rec, "timer_limit", "100 %%"), 0);
	assert_int_equal(finish(&rec, true, 1, 1), 0);
	assert_string_equal(caveat(&rec, 1), "output_cut");
	assert_string_equal(caveat(&rec, 0), "timer_limit");
	assert_string_equal(rec.body.caveats.items[rec.body.caveats.n - 1].text, "100 %");
	assert_true(rec.body.caveats.n > 2);
	record_done(&rec);
}

static void a_run_that_lacks_executions_is_interrupted(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	rec.body.measurement.cleans_asked = 5;
	assert_int_equal(finish(&rec, false, 6, 1), 0);
	assert_string_equal(rec.body.status, "interrupted");
	assert_string_equal(rec.body.status_text,
			    "the run was interrupted after 1 of 5 clean executions");
	assert_string_equal(caveat(&rec, 0), "interrupted");
	record_done(&rec);
}

static void one_that_has_them_all_is_not(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	assert_int_equal(finish(&rec, false, 1, 1), 0);
	assert_string_equal(rec.body.status, "ok");
	record_done(&rec);
}

static void a_run_without_executions_has_the_time_of_its_announcement(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	rec.body.measurement.cleans_asked = 5;
	assert_int_equal(finish(&rec, false, 6, 0), 0);
	assert_string_equal(rec.body.status, "interrupted");
	assert_string_equal(rec.body.utc, "2025-11-29T23:36:58Z");
	record_done(&rec);
}

static void logs_stand_in_the_order_of_their_files(void **state)
{
	(void)state;
	struct roi_logs logs = { .n = 0 };
	struct arena a = { 0 };
	struct observed seen;
	const struct carried_log list[] = {
		{ "b", region, sizeof region - 1, NULL, 2, NULL, NULL },
		{ "a.10", region, sizeof region - 1, "0-3", NAN, NULL, NULL },
		{ "B", region, sizeof region - 1, "7", 1, NULL, NULL },
		{ "x", "nonsense", 8, NULL, NAN, NULL, NULL },
		{ "w", NULL, 0, NULL, NAN, NULL, NULL },
	};
	see(&seen, "clean.0", 1);
	static const char *notes[] = {
		"x:1: not a region log of a known version; expected \"# hpcperf-roi-log 2\", or a "
		"log of roimeter"
	};
	seen.notes = (struct txts){ .items = notes, .n = 1 };
	assert_int_equal(observed_logs(&seen, &logs, &a, list, 5, NULL), 0);
	assert_int_equal(seen.n_logs, 3);
	assert_string_equal(seen.logs[0]->file, "B");
	assert_string_equal(seen.logs[1]->file, "a.10");
	assert_string_equal(seen.logs[2]->file, "b");
	assert_string_equal(seen.rank_cpus[0], "7");
	assert_string_equal(seen.rank_cpus[1], "0-3");
	assert_null(seen.rank_cpus[2]);
	assert_true(seen.rank_threads[0] == 1 && !known(seen.rank_threads[1]) &&
		    seen.rank_threads[2] == 2);
	/* The runner's own note is not doubled; the empty log has one now. */
	assert_int_equal(seen.notes.n, 2);
	assert_non_null(strstr(seen.notes.items[1], "w: empty"));
	arena_free(&a);
	roilogs_done(&logs);
}

static void a_picture(struct buf *b, const char *stream)
{
	struct picture p;
	picture_clear(&p);
	p.collector = "opencl";
	p.status = "ok";
	p.stream = stream;
	picture_put(b, &p);
	assert_false(b->failed);
}

#define A_FILE(name, data, size) { .file = (name), .bytes = (data), .n = (size) }

static void pictures_stand_in_the_order_of_their_files(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct observed seen;
	struct buf one = { 0 }, two = { 0 };
	a_picture(&one, "1");
	a_picture(&two, "2");
	const struct carried_picture list[] = {
		A_FILE("b.opencl.roipic", two.data, two.len),
		A_FILE("c.opencl.roipic", one.data, one.len - 1),
		A_FILE("a.opencl.roipic", one.data, one.len),
		A_FILE("d.opencl.roipic", NULL, 0),
	};
	see(&seen, "profiled.opencl", 6);
	static const char *notes[] = {
		"picture d.opencl.roipic: not a picture of a device collector"
	};
	seen.notes = (struct txts){ .items = notes, .n = 1 };
	assert_int_equal(observed_pictures(&seen, &a, list, 4, NULL), 0);
	buf_done(&one);
	buf_done(&two);
	assert_int_equal(seen.n_pictures, 2);
	assert_string_equal(seen.pictures[0]->stream, "1");
	assert_string_equal(seen.pictures[1]->stream, "2");
	assert_int_equal(seen.notes.n, 2);
	assert_non_null(strstr(seen.notes.items[1], "picture c.opencl.roipic: "));
	arena_free(&a);
}

/* Why there is no region is said by what is known of marks. */
static void a_damaged_picture_is_said_and_changes_nothing_else(void **state)
{
	(void)state;
	struct roi_logs logs = { .n = 0 };
	struct arena a = { 0 };
	struct observed seen[2];
	struct record rec;
	const struct carried_log log = { "l", region, sizeof region - 1, NULL, NAN, NULL, NULL };
	const struct carried_picture cut = A_FILE("p.opencl.roipic", "roimeter", 8);
	const struct run_close close = { true, 2, ROI_UNKNOWN };
	see(&seen[0], "clean.0", 0);
	see(&seen[1], "profiled.opencl", 1);
	assert_int_equal(observed_logs(&seen[0], &logs, &a, &log, 1, NULL), 0);
	assert_int_equal(observed_pictures(&seen[1], &a, &cut, 1, NULL), 0);
	record_init(&rec);
	assert_int_equal(record_finish(&rec, seen, 2, &close, NULL), 0);
	assert_string_equal(rec.body.status, "roi_missing_in_profile");
	assert_string_equal(rec.body.status_text, "profiled.opencl wrote no region log");
	assert_true(rec.body.roi.wall_s == 1);
	bool said = false;
	for (size_t i = 0; i < rec.body.caveats.n; i++)
		said |= strcmp(rec.body.caveats.items[i].code, "picture_unreadable") == 0;
	assert_true(said);
	record_done(&rec);
	arena_free(&a);
	roilogs_done(&logs);
}

static void no_picture_needs_memory_that_is_not_there(void **state)
{
	(void)state;
	for (int n = 1; fail_alloc(n); n++) {
		int left = alloc_left;
		struct arena a = { 0 };
		struct observed seen;
		struct buf one = { 0 };
		alloc_left = 0;
		a_picture(&one, "1");
		const struct carried_picture list[] = { A_FILE("a", one.data, one.len),
							A_FILE("b", "x", 1) };
		see(&seen, "profiled.opencl", 6);
		seen.notes = (struct txts){ .n = 0 };
		alloc_left = left;
		int rc = observed_pictures(&seen, &a, list, 2, NULL);
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		arena_free(&a);
		buf_done(&one);
	}
	alloc_left = 0;
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	for (int n = 1; fail_alloc(n); n++) {
		struct record rec;
		record_init(&rec);
		int rc = record_caveat(&rec, "output_cut", "The output.");
		if (!rc)
			rc = finish(&rec, false, 6, 1);
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		record_done(&rec);
	}
	alloc_left = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_complete_run_is_what_its_executions_say),
		cmocka_unit_test(caveats_of_the_runner_come_last),
		cmocka_unit_test(a_run_that_lacks_executions_is_interrupted),
		cmocka_unit_test(one_that_has_them_all_is_not),
		cmocka_unit_test(a_run_without_executions_has_the_time_of_its_announcement),
		cmocka_unit_test(logs_stand_in_the_order_of_their_files),
		cmocka_unit_test(pictures_stand_in_the_order_of_their_files),
		cmocka_unit_test(a_damaged_picture_is_said_and_changes_nothing_else),
		cmocka_unit_test(no_picture_needs_memory_that_is_not_there),
		cmocka_unit_test(every_failed_allocation_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
