/* From observations to a record: which executions are samples, the status, what is said. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assemble.h"
#include "lib/num.h"
#include "tests/unit/fail_alloc.h"

#define SECOND INT64_C(1000000000)
#define MANY 16

/* A run on the bench: logs and observations that a test fills before it assembles. */
struct bench {
	struct record rec;
	struct observed seen[MANY];
	size_t n;
	struct roi_log logs[MANY][4];
	struct roi_entry entries[MANY][4];
	const struct roi_log *lists[MANY][4];
};

static struct bench b;

static int start(void **state)
{
	(void)state;
	b = (struct bench){ 0 };
	record_init(&b.rec);
	b.rec.body.measurement.region = "markers";
	return 0;
}

static int stop(void **state)
{
	(void)state;
	record_done(&b.rec);
	return 0;
}

/* An execution of ten seconds that ended well, without any log. */
static struct observed *execution(const char *name)
{
	struct observed *seen = &b.seen[b.n];
	block_clear(&execution_block, &seen->row);
	seen->row.name = name;
	seen->row.exit_code = 0;
	seen->row.order = (double)b.n;
	seen->start_real_ns = 100 * SECOND;
	seen->end_real_ns = 110 * SECOND;
	seen->logs = b.lists[b.n];
	b.n++;
	return seen;
}

/* One more process in the last execution: a region of so many milliseconds, from second 2 on. */
static struct roi_log *process(const char *rank, int64_t ms)
{
	size_t at = b.n - 1, k = b.seen[at].n_logs++;
	struct roi_entry *e = &b.entries[at][k];
	struct roi_log *log = &b.logs[at][k];
	*e = (struct roi_entry){ .begin_ns = SECOND, .end_ns = SECOND + ms * 1000000 };
	*log = (struct roi_log){
		.format = "test",
		.file = "test",
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
		.last_end_real = 102 * SECOND + ms * 1000000,
		.mark_cost_ns = NAN,
		.clock_error_ns = NAN,
		.marks = 2,
		.has_steps = true,
	};
	b.lists[at][k] = log;
	return log;
}

static struct observed *clean(const char *name, int64_t ms)
{
	struct observed *seen = execution(name);
	(void)process("0", ms);
	return seen;
}

/* The process ended inside its region. */
static void leave_open(struct roi_log *log)
{
	log->n_entries = 0;
	log->open = 1;
	log->last_end_ns = log->last_end_real = ROI_UNKNOWN;
}

static const struct record_body *assembled(void)
{
	assert_int_equal(assemble(&b.rec, b.seen, b.n, NULL), 0);
	return &b.rec.body;
}

static const char *caveat(const char *code)
{
	for (size_t i = 0; i < b.rec.body.caveats.n; i++)
		if (strcmp(b.rec.body.caveats.items[i].code, code) == 0)
			return b.rec.body.caveats.items[i].text;
	return NULL;
}

static void said(const char *code, const char *words)
{
	const char *text = caveat(code);
	if (!text || !strstr(text, words))
		fail_msg("caveat %s: \"%s\" has not \"%s\"", code, text ? text : "(none)", words);
}

static const char *why_null(const char *field)
{
	for (size_t i = 0; i < b.rec.body.nulls.n; i++)
		if (strcmp(b.rec.body.nulls.items[i].field, field) == 0)
			return b.rec.body.nulls.items[i].why;
	return "(not told)";
}

static void near(double wanted, double got)
{
	if (!(fabs(wanted - got) <= 1e-12 * fabs(wanted)))
		fail_msg("wanted %.15g, got %.15g", wanted, got);
}

/* ---- samples and statuses
 * -------------------------------------------------------------------------- */

static void a_good_run_is_ok_with_its_median(void **state)
{
	(void)state;
	(void)execution("warmup.0");
	(void)process("0", 900);
	(void)clean("clean.0", 500);
	(void)clean("clean.1", 520);
	(void)clean("clean.2", 510);
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	assert_null(r->status_text);
	assert_string_equal(r->roi.source, "markers");
	near(0.51, r->roi.wall_s);
	assert_int_equal(r->roi.runs_s.n, 3);
	near(0.52, r->roi.runs_s.items[1]); /* in the order in which they ran */
	assert_int_equal(r->roi.warmup_runs_s.n, 1);
	near(0.9, r->roi.warmup_runs_s.items[0]);
	near(0.75, r->roi.ci95_coverage);
	near(2, r->context.pre_roi_s);
	near(10 - 2 - 0.51, r->context.post_roi_s);
	near(10, r->context.process_wall_s);
	near(0, r->context.between_s);
	assert_true(r->measurement.warmups == 1 && r->measurement.cleans_made == 3 &&
		    r->measurement.cleans_used == 3);
	assert_string_equal(r->measurement.clock, "tsc");
	assert_int_equal(r->executions.n, 4);
	assert_int_equal(r->executions.items[0].used, NO);
	assert_int_equal(r->executions.items[1].used, YES);
	said("ci_not_95", "75 %");
	assert_null(caveat("executions_not_used"));
}

static void the_first_failure_decides_and_earlier_samples_stay(void **state)
{
	(void)state;
	(void)clean("clean.0", 500);
	clean("clean.1", 400)->row.exit_code = 3;
	clean("clean.2", 510)->end = END_TIMEOUT;
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "clean_failed");
	assert_string_equal(r->status_text, "clean.1 ended with exit code 3");
	assert_int_equal(r->roi.runs_s.n, 1);
	near(0.5, r->roi.wall_s);
	assert_false(known(r->roi.stddev_s));
	assert_int_equal(r->roi.stable, UNKNOWN);
	assert_string_equal(r->executions.items[1].status, "failed");
	assert_string_equal(r->executions.items[2].status, "timeout");
	said("executions_not_used",
	     "3 made, 1 used: clean.1 ended with exit code 3; clean.2 ran past its limit");
	said("single_execution", "One");
}

static void each_bad_end_has_its_status(void **state)
{
	(void)state;
	static const struct {
		enum end end;
		double signal;
		const char *why, *status, *text;
	} ends[] = {
		{ END_EXITED, 9, NULL, "clean_failed", "clean.0 was ended by signal 9, SIGKILL" },
		{ END_TIMEOUT, NAN, NULL, "clean_timeout",
		  "clean.0 ran past its limit of 30 s and was ended" },
		{ END_INTERRUPTED, NAN, NULL, "interrupted", "clean.0 was interrupted" },
		{ END_NOT_STARTED, NAN, "could not be started: no such file", "clean_failed",
		  "clean.0 could not be started: no such file" },
	};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		(void)start(NULL);
		b.rec.body.measurement.timeout_s = 30;
		struct observed *seen = clean("clean.0", 500);
		seen->end = ends[i].end;
		seen->row.exit_code = NAN;
		seen->row.signal = ends[i].signal;
		seen->row.why = ends[i].why;
		const struct record_body *r = assembled();
		assert_string_equal(r->status, ends[i].status);
		assert_string_equal(r->status_text, ends[i].text);
		assert_int_equal(r->roi.runs_s.n, 0);
		assert_non_null(r->roi.runs_s.items); /* none, which is not unknown */
		assert_false(known(r->roi.wall_s));
		near(0.5, r->executions.items[0].roi_s); /* there to see, and no sample */
		assert_true(r->measurement.cleans_made == (ends[i].end == END_NOT_STARTED ? 0 : 1));
		(void)stop(NULL);
	}
	(void)start(NULL);
}

static void a_signal_that_a_launcher_tells_is_named(void **state)
{
	(void)state;
	clean("clean.0", 500)->row.exit_code = 139;
	assert_string_equal(assembled()->status_text,
			    "clean.0 ended with exit code 139, which may stand for SIGSEGV");
	(void)stop(NULL);
	(void)start(NULL);
	clean("clean.0", 500)->row.exit_code = 255;
	assert_string_equal(assembled()->status_text, "clean.0 ended with exit code 255");
}

static void ending_inside_the_region_is_no_sample(void **state)
{
	(void)state;
	(void)clean("clean.0", 500);
	(void)execution("clean.1");
	leave_open(process("3", 500));
	(void)clean("clean.2", 520);
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	assert_int_equal(r->roi.runs_s.n, 2);
	said("executions_not_used", "3 made, 2 used: clean.1 ended inside its region in process 41 "
				    "(rank 3): 0 of 1 entries were finished.");
	said("roi_unterminated", "1 process in 1 clean execution");
	assert_string_equal(r->executions.items[1].status, "roi_missing");
	assert_int_equal(r->ranks.items[1].unterminated, YES);
	assert_false(known(r->ranks.items[1].roi_s));
	const struct execution *left = &r->executions.items[1];
	assert_true(left->unfinished == 1);
	assert_false(known(left->post_roi_s));  /* it has no "after the region" */
	assert_false(known(left->imbalance_s)); /* of no process: not 0 */
	assert_false(known(left->excluded_s));
}

static void being_killed_inside_the_region_is_said(void **state)
{
	(void)state;
	struct observed *seen = clean("clean.0", 500);
	leave_open(process("1", 500));
	seen->row.exit_code = NAN;
	seen->row.signal = 9;
	const struct record_body *r = assembled();
	assert_string_equal(r->status_text,
			    "clean.0 was ended by signal 9, SIGKILL, inside the region in 1 of 2 "
			    "processes");
	assert_false(known(r->executions.items[0].post_roi_s));
	near(0.5, r->executions.items[0].roi_s);
}

static void a_lost_end_is_no_sample_either(void **state)
{
	(void)state;
	(void)execution("clean.0");
	process("-", 500)->lost_ends = 1;
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "roi_missing");
	said("roi_lost_end", "1 region entry");
	assert_true(strstr(r->status_text, "lost the END of an entry in process 41") != NULL);
}

static void without_any_region_it_is_missing_and_never_the_process(void **state)
{
	(void)state;
	struct observed *seen = execution("clean.0");
	static const char *notes[] = { "process 41 found no marker library" };
	seen->notes = (struct txts){ notes, 1 };
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "roi_missing");
	assert_string_equal(r->status_text,
			    "clean.0 wrote no region log: process 41 found no marker library");
	assert_false(known(r->roi.wall_s));
	said("marker_library_missing", "clean.0: process 41");
}

static void nothing_made_is_not_ok(void **state)
{
	(void)state;
	assert_string_equal(assembled()->status, "clean_failed");
	(void)stop(NULL);
	(void)start(NULL);
	execution("warmup.0")->row.exit_code = 1;
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "clean_failed");
	assert_string_equal(r->status_text, "warmup.0 ended with exit code 1");
}

static void what_auto_chose_fails_as_a_caveat(void **state)
{
	const char *null = NULL;
	(void)state;
	b.rec.body.measurement.profile_auto = YES;
	(void)clean("clean.0", 500);
	clean("profiled.io", 400)->row.exit_code = 1;
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	assert_null(r->status_text);
	near(0.5, r->roi.wall_s);
	assert_true(!known(r->roi.profiled_wall_s));
	said("profile_failed", "profiled.io ended with exit code 1");
	assert_null(caveat("not_profiled"));
	for (size_t i = 0; i < r->nulls.n; i++)
		if (strcmp(r->nulls.items[i].field, "io") == 0)
			null = r->nulls.items[i].why;
	assert_string_equal(null, "lost");
	(void)stop(NULL);

	(void)start(NULL); /* no region under the collector */
	b.rec.body.measurement.profile_auto = YES;
	(void)clean("clean.0", 500);
	(void)execution("profiled.io");
	assert_string_equal(assembled()->status, "ok");
	said("profile_failed", "profiled.io wrote no region log");
	(void)stop(NULL);

	(void)start(NULL); /* an interrupt is of the run */
	b.rec.body.measurement.profile_auto = YES;
	(void)clean("clean.0", 500);
	clean("profiled.io", 400)->end = END_INTERRUPTED;
	assert_string_equal(assembled()->status, "interrupted");
}

static void a_profiled_execution_is_judged_after_the_clean_ones(void **state)
{
	(void)state;
	(void)clean("clean.0", 500);
	(void)clean("profiled.x", 650);
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	near(0.65, r->roi.profiled_wall_s);
	near(1.3, r->roi.profiler_inflation);
	said("profiler_inflation", "1.3");
	assert_null(caveat("not_profiled"));
	(void)stop(NULL);

	(void)start(NULL);
	(void)clean("clean.0", 500);
	clean("profiled.x", 400)->row.exit_code = 1;
	assert_string_equal(assembled()->status, "profiled_failed");
	assert_null(caveat("profile_failed"));
	near(0.5, b.rec.body.roi.wall_s);
	(void)stop(NULL);

	(void)start(NULL);
	(void)clean("clean.0", 500);
	(void)execution("profiled.x");
	assert_string_equal(assembled()->status, "roi_missing_in_profile");
}

/* ---- processes
 * ------------------------------------------------------------------------------------- */

static void each_rank_has_a_row_and_the_slowest_counts(void **state)
{
	(void)state;
	static const char *cpus[] = { "1", "0" };
	static const double threads[] = { 1, 4 };
	for (int i = 0; i < 2; i++) {
		struct observed *seen = execution(i ? "clean.1" : "clean.0");
		(void)process("1", 400 + i);
		(void)process("0", 500 + i);
		seen->rank_cpus = cpus;
		seen->rank_threads = threads;
	}
	const struct record_body *r = assembled();
	near(0.5005, r->roi.wall_s);
	near(0.1, r->roi.imbalance_s);
	assert_true(r->roi.processes == 2);
	assert_int_equal(r->ranks.n, 4);
	assert_true(r->ranks.items[0].rank == 0 && r->ranks.items[1].rank == 1);
	assert_string_equal(r->ranks.items[0].cpus, "0");
	assert_true(r->ranks.items[0].threads == 4);
	near(0.5, r->ranks.items[0].roi_s);
	near(2, r->ranks.items[0].first_begin_s);
	assert_string_equal(r->ranks.items[3].execution, "clean.1");
	said("multi_process_roi", "2 processes");
	assert_null(caveat("ranks_outside_region"));
	assert_null(caveat("cpu_set_differs"));
}

static void ranks_outside_the_region_are_said(void **state)
{
	(void)state;
	b.rec.body.inputs.ranks = 4;
	(void)execution("clean.0");
	(void)process("0", 400);
	(void)process("1", 500);
	(void)assembled();
	said("ranks_outside_region", "4 processes were asked for, and 2 entered");
}

static void a_rank_on_other_cpus_is_said(void **state)
{
	(void)state;
	static const char *first[] = { "0-3" }, *second[] = { "4-7" };
	clean("clean.0", 500)->rank_cpus = first;
	clean("clean.1", 500)->rank_cpus = second;
	(void)assembled();
	said("cpu_set_differs", "Rank 0 ran on CPUs 0-3 in clean.0 and on CPUs 4-7 in clean.1.");
}

static void steps_and_phases_come_from_the_marks(void **state)
{
	(void)state;
	static struct roi_phase one[] = { { "solve", 2, 300000000, 100000000, 200000000 } };
	static struct roi_phase two[] = { { "halo", 1, 5000000, 5000000, 5000000 },
					  { "solve", 2, 310000000, 90000000, 220000000 } };
	(void)execution("clean.0");
	struct roi_log *logs[] = { process("0", 500), process("1", 400) };
	for (int i = 0; i < 2; i++) {
		logs[i]->steps = 100;
		logs[i]->step_sum_ns = 400000000;
		logs[i]->step_min_ns = 1000000;
		logs[i]->step_max_ns = 9000000;
		logs[i]->step_bins[roi_bin(4000000)] = 95;
		logs[i]->step_bins[roi_bin(9000000)] = 5;
	}
	logs[0]->phases = one;
	logs[0]->n_phases = 1;
	logs[1]->phases = two;
	logs[1]->n_phases = 2;
	const struct record_body *r = assembled();
	assert_true(r->roi.steps == 100);
	near(0.004, r->roi.step_s);
	near(0.001, r->roi.step_min_s);
	near(0.009, r->roi.step_max_s);
	near((double)roi_bin_top(roi_bin(4000000)) / 1e9, r->roi.step_p95_s);
	assert_int_equal(r->phases.n, 2);
	assert_string_equal(r->phases.items[0].name, "solve");
	assert_true(r->phases.items[0].count == 4);
	near(0.31, r->phases.items[0].total_s);
	near(0.31 / 0.4, r->phases.items[0].share);
	near(0.09, r->phases.items[0].min_s);
	near(0.22, r->phases.items[0].max_s);
}

/* ---- timers, figures of merit
 * ------------------------------------------------------------------------ */

static void a_timer_is_the_region_and_its_absence_a_failure(void **state)
{
	(void)state;
	struct timer_part parts[] = { { "pair", 1.5 } };
	struct timer_result good = { .wall_s = 2,
				     .steps = 100,
				     .excluded_s = NAN,
				     .setup_s = 0.25,
				     .parts = parts,
				     .n_parts = 1 };
	struct timer_result bad = { .rc = -2,
				    .why = "there is no line \"Loop time\"",
				    .wall_s = NAN,
				    .steps = NAN,
				    .excluded_s = NAN,
				    .setup_s = NAN };
	b.rec.body.measurement.region = "timer:lammps";
	execution("clean.0")->timer = &good;
	const struct record_body *r = assembled();
	assert_string_equal(r->status, "ok");
	assert_string_equal(r->roi.source, "timer");
	assert_string_equal(r->roi.timer, "lammps");
	near(2, r->roi.wall_s);
	near(8, r->context.outside_region_s);
	near(0.02, r->roi.step_s);
	near(0.25, r->roi.setup_s);
	near(0.75, r->phases.items[0].share);
	assert_false(known(r->roi.excluded_s) || known(r->context.pre_roi_s) ||
		     known(r->roi.entries));
	assert_string_equal(why_null("roi.entries"), "not_supported");
	(void)stop(NULL);

	(void)start(NULL);
	b.rec.body.measurement.region = "timer:lammps";
	execution("clean.0")->timer = &good;
	execution("clean.1")->timer = &bad;
	r = assembled();
	assert_string_equal(r->status, "timer_missing");
	assert_string_equal(r->status_text, "clean.1 has no timer: there is no line \"Loop time\"");
	assert_int_equal(r->roi.runs_s.n, 1);
}

static struct metric found(double value)
{
	return (struct metric){ METRIC_OK, value };
}

static void own_numbers_are_medians_over_all_clean_executions(void **state)
{
	(void)state;
	static const double foms[] = { 10, 30, 11 };
	static const char *const execution_names[] = { "clean.0", "clean.1", "clean.2" };
	for (int i = 0; i < 3; i++) {
		struct observed *seen = clean(execution_names[i], 1021);
		seen->fom = found(foms[i]);
		seen->own_timer = found(1.0);
	}
	b.seen[1].fom = (struct metric){ METRIC_OVERFLOWED, NAN };
	const struct record_body *r = assembled();
	near(10.5, r->fom.value);
	assert_int_equal(r->fom.runs.n, 2);
	assert_string_equal(r->fom.status, "ok");
	said("fom_overflowed", "in 1 of 3 clean executions");
	near(0.021, r->own_timer.roi_diff_frac);
	said("own_timer_differs", "2.1 % longer");
	assert_false(known(r->executions.items[1].fom));
}

static void no_match_is_null_with_its_reason(void **state)
{
	(void)state;
	clean("clean.0", 500)->fom = (struct metric){ METRIC_NOT_MATCHED, NAN };
	const struct record_body *r = assembled();
	assert_false(known(r->fom.value));
	assert_string_equal(r->fom.status, "not_matched");
	assert_string_equal(r->own_timer.status, "none");
	said("fom_not_matched", "nowhere in the output");
	assert_string_equal(why_null("fom.value"), "lost");
	assert_string_equal(why_null("own_timer.value_s"), "not_measured");
}

/* ---- caveats and nulls
 * --------------------------------------------------------------------------------- */

static void unstable_samples_are_said(void **state)
{
	(void)state;
	static const char *const n[] = { "clean.0", "clean.1", "clean.2",
					 "clean.3", "clean.4", "clean.5" };
	for (int i = 0; i < 6; i++)
		(void)clean(n[i], 500 + 30 * i);
	const struct record_body *r = assembled();
	assert_int_equal(r->roi.stable, NO);
	assert_int_equal(r->roi.drift, YES);
	said("unstable", "10 % is taken for stable");
	said("drift", "slower");
	assert_null(caveat("ci_not_95"));
	near(0.96875, r->roi.ci95_coverage);
}

static void the_machine_is_said(void **state)
{
	(void)state;
	b.rec.body.platform_info.cpus = 4;
	b.rec.body.placement.oversubscribed = YES;
	b.rec.body.context.others_running = 1;
	b.rec.body.context.steal_frac = 0.02;
	clean("clean.0", 500)->row.others_cpu_s = 3; /* of 10 s x 4 CPUs */
	b.seen[0].row.cpu_khz_max = 2000000;
	clean("clean.1", 500)->row.cpu_khz_max = 3000000;
	const struct record_body *r = assembled();
	said("machine_loaded", "7.5 %");
	said("oversubscribed", "threads");
	said("others_running", "1 other run of this tool was");
	said("cpu_stolen", "2 %");
	said("frequency_changed", "2000 to 3000 MHz");
	near(3, r->context.others_cpu_s);
}

static void clocks_that_disagree_are_said(void **state)
{
	(void)state;
	(void)execution("clean.0");
	process("0", 500)->last_end_real -= SECOND;
	const struct record_body *r = assembled();
	said("clock_inconsistent", "set by 1.00 s");
	near(0.5, r->roi.wall_s);
	(void)stop(NULL);

	(void)start(NULL);
	(void)execution("clean.0");
	process("0", 500)->first_begin_real = 99 * SECOND; /* before the command */
	r = assembled();
	assert_false(known(r->context.pre_roi_s)); /* negative is not known, and not 0 */
	assert_non_null(caveat("clock_inconsistent"));
	(void)stop(NULL);

	(void)start(NULL);
	(void)execution("clean.0");
	process("0", 500)->clock_error_ns = 2e6;
	(void)assembled();
	said("clock_inconsistent", "2.00 ms away from the kernel's");
}

static void marks_that_cost_much_are_said(void **state)
{
	(void)state;
	(void)execution("clean.0");
	struct roi_log *log = process("0", 1);
	log->marks = 1000;
	log->mark_cost_ns = 20;
	const struct record_body *r = assembled();
	said("marking_cost", "2 %");
	assert_true(r->observer.marks == 1000);
	near(2e-5, r->observer.mark_cost_s);
}

static void waits_that_failed_are_said_and_missing_devices_are_not(void **state)
{
	(void)state;
	(void)execution("clean.0");
	struct roi_log *log = process("0", 500);
	log->syncs = 4;
	log->syncs_missing = 4;
	(void)assembled();
	assert_null(caveat("sync_failed"));
	log->syncs_missing = 0;
	log->syncs_failed = 3;
	(void)assembled();
	said("sync_failed", "3 of 4");
}

static void what_was_declared_is_said(void **state)
{
	(void)state;
	b.rec.body.measurement.verify = "inside";
	b.rec.body.measurement.profile_reason = "24 GB of trace";
	b.rec.body.launcher.audit_ok = NO;
	b.rec.body.launcher.audit = "audit summary: 1 mismatch";
	(void)clean("clean.0", 500);
	(void)assembled();
	said("verify_inside", "inside the region");
	said("not_profiled", "24 GB of trace");
	said("launcher_audit", "1 mismatch");
}

static void every_null_number_has_its_reason(void **state)
{
	(void)state;
	(void)clean("clean.0", 500);
	const struct record_body *r = assembled();
	assert_string_equal(why_null("roi.stddev_s"), "too_few");
	assert_string_equal(why_null("roi.ci95_s"), "too_few");
	assert_string_equal(why_null("device"), "not_measured");
	assert_string_equal(why_null("gap"), "not_measured");
	assert_string_equal(why_null("ops"), "not_measured");
	assert_string_equal(why_null("context.whole_process"), "not_measured");
	assert_string_equal(why_null("roi.setup_s"), "not_supported");
	assert_string_equal(why_null("device.busy_s"), "(not told)"); /* the block stands for it */
	b.rec.body.inputs.ranks =
		2; /* then the block is there, and its lists of texts need a reason */
	assert_int_equal(record_explain_nulls(&b.rec), 0);
	assert_string_equal(why_null("inputs"), "(not told)");
	assert_string_equal(why_null("inputs.params"), "not_measured");
	/* What becomes known afterwards is taken out. */
	size_t before = r->nulls.n;
	b.rec.body.gap.io_s = 1;
	assert_int_equal(record_explain_nulls(&b.rec), 0);
	assert_string_equal(why_null("gap"), "(not told)");
	assert_string_equal(why_null("gap.mpi_s"), "not_measured");
	assert_int_equal(r->nulls.n, before + 5);
	assert_int_equal(record_explain_nulls(&b.rec), 0);
	assert_int_equal(r->nulls.n, before + 5);
}

static void every_caveat_code_is_in_the_table_once(void **state)
{
	(void)state;
	for (size_t i = 0; caveat_codes[i].code; i++) {
		assert_true(strlen(caveat_codes[i].meaning) > 10);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(caveat_codes[i].code, caveat_codes[k].code);
	}
}

static void nothing_of_the_observations_is_kept(void **state)
{
	(void)state;
	char name[] = "clean.0", tail[] = "bad \xff output", *rank = strdup("0");
	struct observed *seen = execution(name);
	(void)process(rank, 500);
	seen->row.exit_code = 1;
	seen->row.output_tail = tail;
	const struct record_body *r = assembled();
	memset(name, 'x', sizeof name - 1);
	memset(tail, 'x', sizeof tail - 1);
	memset(rank, 'x', 1);
	free(rank);
	b.n = 0;
	assert_string_equal(r->executions.items[0].name, "clean.0");
	assert_string_equal(r->executions.items[0].output_tail, "bad \xef\xbf\xbd output");
	assert_string_equal(r->ranks.items[0].execution, "clean.0");
}

static void every_failed_allocation_is_an_error(void **state)
{
	(void)state;
	int failures = 0;
	for (int n = 1; fail_alloc(n); n++) {
		alloc_left = 0;
		(void)stop(NULL);
		(void)start(NULL);
		(void)clean("clean.0", 500);
		clean("clean.1", 600)->row.exit_code = 1;
		struct err err = { "" };
		alloc_left = n;
		int rc = assemble(&b.rec, b.seen, b.n, &err);
		alloc_left = 0;
		assert_true(rc == 0 || (rc == -ENOMEM && err.text[0]));
		assert_int_equal(rc != 0, alloc_failed);
		failures += rc != 0;
	}
	assert_true(failures > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_good_run_is_ok_with_its_median),
		TEST(the_first_failure_decides_and_earlier_samples_stay),
		TEST(each_bad_end_has_its_status),
		TEST(a_signal_that_a_launcher_tells_is_named),
		TEST(ending_inside_the_region_is_no_sample),
		TEST(being_killed_inside_the_region_is_said),
		TEST(a_lost_end_is_no_sample_either),
		TEST(without_any_region_it_is_missing_and_never_the_process),
		TEST(nothing_made_is_not_ok),
		TEST(a_profiled_execution_is_judged_after_the_clean_ones),
		TEST(what_auto_chose_fails_as_a_caveat),
		TEST(each_rank_has_a_row_and_the_slowest_counts),
		TEST(ranks_outside_the_region_are_said),
		TEST(a_rank_on_other_cpus_is_said),
		TEST(steps_and_phases_come_from_the_marks),
		TEST(a_timer_is_the_region_and_its_absence_a_failure),
		TEST(own_numbers_are_medians_over_all_clean_executions),
		TEST(no_match_is_null_with_its_reason),
		TEST(unstable_samples_are_said),
		TEST(the_machine_is_said),
		TEST(clocks_that_disagree_are_said),
		TEST(marks_that_cost_much_are_said),
		TEST(waits_that_failed_are_said_and_missing_devices_are_not),
		TEST(what_was_declared_is_said),
		TEST(every_null_number_has_its_reason),
		TEST(every_caveat_code_is_in_the_table_once),
		TEST(nothing_of_the_observations_is_kept),
		TEST(every_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
