/* What a probe's record is held against: all good, and each number planted wrong. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/conform.h"
#include "lib/num.h"
#include "schema/picture.h"
#include "tests/unit/marklog_build.h"

static const struct conform_want want = {
	.inside = { 20, 1, 0, 0, 0 },
	.whole = { 36, 1, 1, 1, 1 },
	.entries = 1,
	.excludes = 1,
	.steps = 20,
	.processes = 2,
};
enum { CHECKS = 20, OF_MARKS = 6 };

struct probe {
	struct record rec;
	struct execution executions[2];
	struct rank ranks[3];
	struct arena arena;
	struct conform c;
	struct conform_seen seen;
	struct conform_want want;
	struct conformance result;
};

static void make_marks(struct probe *p)
{
	struct record_body *r = &p->rec.body;
	static const char *const names[] = { "clean.2", "profiled.opencl" };
	for (size_t i = 0; i < 2; i++) {
		block_clear(&execution_block, &p->executions[i]);
		p->executions[i].name = names[i];
		p->executions[i].roi_s = 0.501;
		p->executions[i].entries = 1;
		p->executions[i].processes = 2;
		p->executions[i].steps = 20;
	}
	for (size_t i = 0; i < 3; i++) {
		block_clear(&rank_block, &p->ranks[i]);
		p->ranks[i].execution = i ? "profiled.opencl" : "clean.2";
		p->ranks[i].roi_s = 0.501;
	}
	r->executions.items = p->executions;
	r->executions.n = 2;
	r->ranks.items = p->ranks;
	r->ranks.n = 3;
	r->roi.entries = r->roi.excludes = 1;
	r->roi.processes = 2;
	r->roi.steps = 20;
	r->roi.excluded_s = 0.004;
	r->roi.wall_s = r->roi.min_s = 0.5;
}

static void make(struct probe *p, const char *collector)
{
	memset(p, 0, sizeof *p);
	record_init(&p->rec);
	struct record_body *r = &p->rec.body;
	struct device *d = &r->device;
	struct whole_process *w = &r->context.whole_process;
	r->status = "ok";
	make_marks(p);
	d->compute_ops = 20, d->copy_d2d_ops = 1;
	d->copy_h2d_ops = d->copy_d2h_ops = d->fill_ops = 0;
	w->compute_ops = 36;
	w->copy_d2d_ops = w->copy_h2d_ops = w->copy_d2h_ops = w->fill_ops = 1;
	d->untimed_ops = d->dropped_ops = d->late_ops = d->pending_ops = d->graphs = 0;
	d->incomplete = NO;
	d->processes_with_device_work = 2;
	d->busy_s = 0.8;
	r->gap.device_idle_s = 0.202; /* two processes of 0.501 s */
	p->c.arena = &p->arena;
	p->want = want;
	p->seen = (struct conform_seen){ .part = "split",
					 .record = r,
					 .collector = collector,
					 .times = true,
					 .clean_s = NAN,
					 .clean_most_s = NAN,
					 .profiled_s = NAN };
}

static void done(struct probe *p)
{
	record_done(&p->rec);
	arena_free(&p->arena);
}

/* Verdict of all; the names of those that failed in ret_failed, each with a space behind it. */
static const char *judged(struct probe *p, char ret_failed[1024])
{
	p->c.n = 0;
	conform_part(&p->c, &p->seen, &p->want);
	conformance_clear(&p->result);
	conform_judge(&p->result, &p->c, p->seen.collector);
	assert_false(p->c.failed);
	ret_failed[0] = 0;
	for (size_t i = 0; i < p->c.n; i++) {
		const struct check *k = &p->c.items[i];
		assert_string_equal(k->part, p->seen.part);
		if (strcmp(k->verdict, "fail") == 0) {
			strncat(ret_failed, k->name, 60);
			strncat(ret_failed, " ", 2);
		}
	}
	return p->result.verdict;
}

static void one_that_is_exact_passes(void **state)
{
	(void)state;
	struct probe p;
	char failed[1024];
	make(&p, "opencl");
	assert_string_equal(judged(&p, failed), "pass");
	assert_true(p.result.passed == CHECKS && p.result.failed == 0 && p.result.skipped == 0);
	assert_null(p.result.why);
	p.seen.times = false; /* of a harder part the times are not looked at */
	assert_string_equal(judged(&p, failed), "pass");
	assert_true(p.result.passed == CHECKS - 1);
	done(&p);
}

static void without_a_collector_only_the_clean_part_is_tested(void **state)
{
	(void)state;
	struct probe p;
	char failed[1024];
	make(&p, "none");
	block_clear(&device_block, &p.rec.body.device);
	assert_string_equal(judged(&p, failed), "pass-clean-only");
	assert_true(p.result.passed == OF_MARKS && p.result.failed == 0 &&
		    p.result.skipped == CHECKS - OF_MARKS);
	p.rec.body.roi.entries = p.executions[0].entries = 2;
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "entries ");
	assert_string_equal(p.result.why,
			    "split, entries: 2 where 1 must be (entries into the region)");
	done(&p);
}

static void each_wrong_number_fails_by_its_name(void **state)
{
	(void)state;
	struct probe p;
	make(&p, "opencl");
	struct record_body *r = &p.rec.body;
	struct device *d = &r->device;
	struct whole_process *w = &r->context.whole_process;
	const struct {
		double *at, to;
		const char *name;
	} planted[] = {
		{ &r->roi.entries, 2, "entries " },
		{ &p.executions[1].entries, 2, "entries " },
		{ &r->roi.excluded_s, 0, "excluded " },
		{ &r->roi.excluded_s, NAN, "excluded " },
		{ &r->roi.processes, 1, "processes " },
		{ &p.executions[1].processes, 1, "processes " },
		{ &r->roi.steps, 19, "steps " },
		{ &p.executions[1].steps, NAN, "steps " },
		{ &r->roi.excludes, 2, "excludes " },
		{ &d->compute_ops, 21, "compute_ops " },
		{ &d->compute_ops, NAN, "compute_ops " },
		{ &d->copy_d2d_ops, 0, "copy_d2d_ops " },
		{ &d->copy_h2d_ops, 1, "copy_h2d_ops " },
		{ &d->copy_d2h_ops, 1, "copy_d2h_ops " },
		{ &d->fill_ops, NAN, "fill_ops " },
		{ &w->compute_ops, 35, "whole_compute_ops " },
		{ &w->copy_d2d_ops, 2, "whole_copy_d2d_ops " },
		{ &w->copy_h2d_ops, 0, "whole_copy_h2d_ops " },
		{ &w->copy_d2h_ops, NAN, "whole_copy_d2h_ops " },
		{ &w->fill_ops, 0, "whole_fill_ops " },
		{ &d->untimed_ops, 1, "lost " },
		{ &d->dropped_ops, 1, "lost " },
		{ &d->late_ops, 1, "lost " },
		{ &d->pending_ops, NAN, "lost " },
		{ &d->processes_with_device_work, 1, "device_processes " },
		{ &r->roi.min_s, 0.4, "profiled_region " },
		{ &r->roi.min_s, 0.64, "profiled_region " },
		{ &r->roi.min_s, NAN, "profiled_region " },
		{ &r->gap.device_idle_s, 0.214, "picture_region " },
		{ &r->gap.device_idle_s, NAN, "picture_region " },
		{ &p.ranks[2].roi_s, NAN, "picture_region " },
	};
	for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
		double before = *planted[i].at;
		char failed[1024];
		*planted[i].at = planted[i].to;
		assert_string_equal(judged(&p, failed), "fail");
		assert_string_equal(failed, planted[i].name);
		assert_true(p.result.failed == 1);
		assert_non_null(p.result.why);
		*planted[i].at = before;
	}
	char failed[1024];
	d->incomplete = YES;
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "lost ");
	done(&p);
}

static void what_the_probe_does_not_tell_fails(void **state)
{
	(void)state;
	struct probe p;
	char failed[1024];
	make(&p, "opencl");
	conform_want_clear(&p.want);
	assert_string_equal(judged(&p, failed), "fail");
	assert_true(p.result.failed == 4 + 2 * CONFORM_CATEGORIES + 1);
	done(&p);
}

static void a_bad_run_and_a_found_sentinel_fail(void **state)
{
	(void)state;
	struct probe p;
	char failed[1024];
	make(&p, "opencl");
	p.rec.body.status = "profiled_failed";
	p.rec.body.status_text = "it ended with 3";
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "status ");
	assert_string_equal(p.result.why, "split, status: it ended with 3");
	p.rec.body.status = "ok";
	p.executions[1].name = "profiled.cupti"; /* not that collector's */
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "profiled_region picture_region ");
	p.executions[1].name = "profiled.opencl";
	const struct {
		bool searched;
		const char *in, *verdict;
	} searches[] = { { true, NULL, "pass" },
			 { true, "run.log", "fail" },
			 { false, NULL, "fail" } };
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(judged(&p, failed), "pass");
		conform_sentinel(&p.c, searches[i].searched, searches[i].in);
		conform_judge(&p.result, &p.c, "opencl");
		assert_string_equal(p.result.verdict, searches[i].verdict);
	}
	done(&p);
}

/* The shortest ones of several measurements are held against each other. */
static void times_are_worth_another_try(void **state)
{
	(void)state;
	struct probe p;
	char failed[1024];
	make(&p, "opencl");
	p.rec.body.roi.min_s = 0.2;
	(void)judged(&p, failed);
	assert_true(conform_times_failed(&p.c, "split"));
	assert_false(conform_times_failed(&p.c, "queues"));
	p.seen.profiled_s = 0.24;
	assert_string_equal(judged(&p, failed), "pass");
	assert_false(conform_times_failed(&p.c, "split"));
	p.seen.clean_s = 0.19;
	assert_string_equal(judged(&p, failed), "fail");
	p.seen.clean_most_s = 0.21; /* this machine can't tell more closely */
	assert_string_equal(judged(&p, failed), "pass");
	p.seen.clean_most_s = NAN;
	p.seen.clean_s = NAN;
	p.rec.body.roi.min_s = NAN; /* no number is no matter of a busy machine */
	(void)judged(&p, failed);
	assert_false(conform_times_failed(&p.c, "split"));
	done(&p);
}

static void graphs_are_told_apart_or_counted_as_a_whole(void **state)
{
	(void)state;
	struct probe p;
	char failed[1024];
	make(&p, "opencl");
	struct device *d = &p.rec.body.device;
	p.want.graphs = 5;
	assert_string_equal(judged(&p, failed), "pass"); /* all 20 launches in them are seen */
	d->graphs = 5;
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "compute_ops whole_compute_ops lost ");
	d->compute_ops = 0;
	p.rec.body.context.whole_process.compute_ops = 16;
	d->untimed_ops = 5;
	d->incomplete = YES;
	assert_string_equal(judged(&p, failed), "pass");
	d->incomplete = NO;
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "lost ");
	d->incomplete = YES;
	d->graphs = d->untimed_ops = 6;
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "compute_ops whole_compute_ops graphs ");
	done(&p);
}

/* ---- killed ---- */

static void make_killed(struct probe *p, enum conform_end end)
{
	make(p, "opencl");
	struct record *rec = &p->rec;
	p->seen.end = end;
	p->want.processes = 1;
	rec->body.status = "profiled_failed";
	p->executions[1].signal = 9;
	p->executions[1].unfinished = end == CONFORM_KILLED_AFTER ? 0 : 1;
	if (end != CONFORM_KILLED_AFTER)
		p->executions[1].roi_s = NAN;
	rec->body.device.incomplete = YES;
	assert_int_equal(record_caveat(rec, "picture_not_final", "from before its end"), 0);
}

/* ---- calls about files ---- */

static struct conform_file_want wanted_files[] = {
	{ "/d/a", "posix", { 300, 200, 6, 5 }, { 310, 220, 7, 8 } },
	{ "/d/log", "stdio", { 0, 16, 0, 2 }, { 33, 56, 1, 3 } },
};

static struct io_sums sums(double read_bytes, double write_bytes, double read_ops, double write_ops)
{
	struct io_sums s;
	block_clear(&io_sums_block, &s);
	s.read_bytes = read_bytes, s.write_bytes = write_bytes;
	s.read_ops = read_ops, s.write_ops = write_ops;
	s.open_ops = 8, s.seek_ops = 9, s.sync_ops = 10, s.meta_ops = 11, s.failed_ops = 12;
	return s;
}

static void make_io(struct probe *p, struct io_file files[2], struct io_by_interface rows[2])
{
	static const double inside[] = { 300, 216, 6, 7, 8, 9, 10, 11, 12 },
			    whole[] = { 343, 276, 8, 11, 8, 9, 10, 11, 12 };
	make(p, "io");
	p->executions[1].name = "profiled.io";
	struct io *io = &p->rec.body.io;
	for (size_t i = 0; i < 2; i++) {
		const struct conform_file_want *w = &wanted_files[i];
		block_clear(&io_file_block, &files[i]);
		block_clear(&io_by_interface_block, &rows[i]);
		files[i].name = w->name;
		files[i].interface = rows[i].name = w->interface;
		files[i].roi = sums(w->inside[0], w->inside[1], w->inside[2], w->inside[3]);
		files[i].whole = rows[i].whole =
			sums(w->whole[0], w->whole[1], w->whole[2], w->whole[3]);
	}
	io->roi = sums(300, 216, 6, 7);
	io->whole = sums(343, 276, 8, 11);
	io->files.items = files, io->files.n = 2;
	io->interfaces.items = rows, io->interfaces.n = 2;
	io->processes = 2;
	io->dropped_ops = 0;
	io->incomplete = NO;
	memcpy(p->want.files_inside, inside, sizeof inside);
	memcpy(p->want.files_whole, whole, sizeof whole);
	p->want.files = wanted_files;
	p->want.n_files = 2;
}

static void each_wrong_number_of_files_fails_by_its_name(void **state)
{
	(void)state;
	struct probe p;
	struct io_file files[2];
	struct io_by_interface rows[2];
	struct io *io = &p.rec.body.io;
	const struct {
		double *at;
		const char *failed;
	} all[] = {
		{ &io->roi.read_bytes, "read_bytes " },
		{ &io->roi.meta_ops, "meta_ops " },
		{ &io->whole.write_bytes, "whole_write_bytes " },
		{ &io->whole.failed_ops, "whole_failed_ops " },
		{ &files[1].roi.write_ops, "files " },
		{ &files[0].whole.read_bytes, "files " },
		{ &rows[0].whole.read_bytes, "posix_bytes " },
		{ &rows[1].whole.write_bytes, "stdio_bytes " },
		{ &io->processes, "io_processes " },
		{ &io->dropped_ops, "lost " },
	};
	char failed[1024];
	make_io(&p, files, rows);
	assert_string_equal(judged(&p, failed), "pass");
	assert_true(p.result.skipped == 0);
	done(&p);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		for (int null = 0; null < 2; null++) {
			make_io(&p, files, rows);
			*all[i].at = null ? NAN : *all[i].at + 1;
			assert_string_equal(judged(&p, failed), "fail");
			assert_string_equal(failed, all[i].failed);
			done(&p);
		}
	}
	make_io(&p, files, rows);
	files[0].interface = "stdio";
	io->incomplete = YES;
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "files lost ");
	done(&p);
	make_io(&p, files, rows);
	conform_want_clear(&p.want); /* a probe that tells of no files */
	p.want.entries = p.want.excludes = 1;
	p.want.steps = 20;
	p.want.processes = 2;
	assert_string_equal(judged(&p, failed), "fail");
	assert_non_null(strstr(failed, "files posix_bytes stdio_bytes "));
	done(&p);
}

static void a_killed_process_is_counted_as_far_as_it_came(void **state)
{
	(void)state;
	static const enum conform_end ends[] = { CONFORM_KILLED, CONFORM_KILLED_AT_ONCE,
						 CONFORM_KILLED_AFTER };
	for (size_t k = 0; k < 3; k++) {
		struct probe p;
		char failed[1024];
		make_killed(&p, ends[k]);
		struct execution *e = &p.executions[1];
		const struct {
			double *at, to;
			const char *name;
		} planted[] = {
			{ &e->signal, NAN, "signal " },
			{ &e->entries, 0, "entries " },
			{ &e->steps, 19, "steps " },
			{ &e->unfinished, e->unfinished > 0 ? 0 : 1, "unfinished " },
			{ &e->roi_s, known(e->roi_s) ? NAN : 0.1, "region " },
			{ &p.rec.body.device.compute_ops, 21, "compute_ops " },
			{ &p.rec.body.context.whole_process.fill_ops, 2, "whole_fill_ops " },
		};
		assert_string_equal(judged(&p, failed), "pass");
		assert_true(p.result.passed == 17);
		for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
			double before = *planted[i].at;
			*planted[i].at = planted[i].to;
			assert_string_equal(judged(&p, failed), "fail");
			assert_string_equal(failed, planted[i].name);
			*planted[i].at = before;
		}
		p.rec.body.status = "ok";
		p.rec.body.device.incomplete = NO;
		assert_string_equal(judged(&p, failed), "fail");
		assert_string_equal(failed, "status incomplete ");
		done(&p);
	}
}

static void of_one_killed_at_once_less_may_be_known(void **state)
{
	(void)state;
	struct probe p;
	char failed[1024];
	make_killed(&p, CONFORM_KILLED_AT_ONCE);
	p.rec.body.device.compute_ops = 3;
	assert_string_equal(judged(&p, failed), "pass");
	p.seen.end = CONFORM_KILLED;
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "compute_ops ");
	p.seen.end = CONFORM_KILLED_AT_ONCE;
	block_clear(&device_block, &p.rec.body.device);
	assert_string_equal(judged(&p, failed), "pass");
	p.rec.body.caveats.n = 0; /* no picture at all: then it says why it is null */
	assert_string_equal(judged(&p, failed), "fail");
	assert_string_equal(failed, "incomplete ");
	assert_int_equal(record_null(&p.rec, "device", "lost"), 0);
	assert_string_equal(judged(&p, failed), "pass");
	done(&p);
}

/* ---- files that are cut ---- */

static void make_picture(struct buf *b)
{
	static const double eight[] = { 20, 0, 0, 1, 0, 0, 0, 0 };
	struct picture p;
	picture_clear(&p);
	p.collector = "opencl";
	p.status = "ok";
	p.final = YES;
	p.found = YES;
	p.pid = "7";
	p.stream = "boot-7-1.0";
	struct picture_sums *const sums[] = { &p.roi, &p.whole };
	for (size_t i = 0; i < 2; i++) {
		block_clear(&picture_sums_block, sums[i]);
		sums[i]->ops = (struct nums){ .items = (double *)eight, .n = 8 };
	}
	picture_put(b, &p);
	assert_false(b->failed);
}

static const char *verdict_of(const struct conform *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->items[i].name, name) == 0)
			return c->items[i].verdict;
	return "not there";
}

static void cut_files_are_refused(void **state)
{
	(void)state;
	static struct built log;
	struct arena arena = { 0 };
	struct conform c = { .arena = &arena };
	struct buf picture = { 0 };
	make_picture(&picture);
	built_init(&log);
	built_entry(&log, 0, 100, 900, 50);
	const struct conform_file files[] = {
		{ "7.opencl.roipic", picture.data, picture.len, true },
		{ "7.roilog", log.bytes, sizeof log.bytes, false },
	};
	assert_int_equal(conform_cut(&c, files, 2, "opencl", NULL), 0);
	assert_string_equal(verdict_of(&c, "picture"), "pass");
	assert_string_equal(verdict_of(&c, "marks"), "pass");
	c.n = 0;
	assert_int_equal(conform_cut(&c, files, 1, "opencl", NULL), 0);
	assert_string_equal(verdict_of(&c, "picture"), "pass");
	assert_string_equal(verdict_of(&c, "marks"), "fail"); /* there were none to cut */
	c.n = 0;
	assert_int_equal(conform_cut(&c, files + 1, 1, "none", NULL), 0);
	assert_string_equal(verdict_of(&c, "marks"), "pass");
	assert_string_equal(verdict_of(&c, "picture"), "skipped");
	buf_done(&picture);
	arena_free(&arena);
}

/* Text in another tool's form has no length in it: the cut is taken without a word. */
static void a_cut_that_nobody_sees_is_found(void **state)
{
	(void)state;
	static const char text[] =
		"# hpcperf-roi-log 2\n# pid 41\n"
		"B 1000000000 1790000000000000000\nE 2000000000 1790000001000000000\n"
		"B 3000000000 1790000002000000000\nE 4000000000 1790000003000000000\n";
	struct arena arena = { 0 };
	struct conform c = { .arena = &arena };
	const struct conform_file one = { "x.roilog", text, sizeof text - 1, false };
	assert_int_equal(conform_cut(&c, &one, 1, "none", NULL), 0);
	assert_string_equal(verdict_of(&c, "marks"), "fail");
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_exact_passes),
		cmocka_unit_test(without_a_collector_only_the_clean_part_is_tested),
		cmocka_unit_test(each_wrong_number_fails_by_its_name),
		cmocka_unit_test(what_the_probe_does_not_tell_fails),
		cmocka_unit_test(a_bad_run_and_a_found_sentinel_fail),
		cmocka_unit_test(times_are_worth_another_try),
		cmocka_unit_test(graphs_are_told_apart_or_counted_as_a_whole),
		cmocka_unit_test(each_wrong_number_of_files_fails_by_its_name),
		cmocka_unit_test(a_killed_process_is_counted_as_far_as_it_came),
		cmocka_unit_test(of_one_killed_at_once_less_may_be_known),
		cmocka_unit_test(cut_files_are_refused),
		cmocka_unit_test(a_cut_that_nobody_sees_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
