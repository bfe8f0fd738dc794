/* Published results come in with their values, their limits and nothing invented. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/hpcperf.h"
#include "lib/file.h"
#include "lib/num.h"
#include "schema/codec.h"
#include "tests/unit/fail_alloc.h"

#define RESULTS "tests/fixtures/import/results"
#define LOGS "tests/fixtures/import/logs"
#define SILENT "tests/fixtures/import/silent"

static const struct import_options nothing;

static void import(struct imports *in, const char *path, const struct import_options *o)
{
	struct err err = { 0 };
	int rc = import_hpcperf(in, &path, 1, o, &err);
	if (rc)
		fail_msg("%s", err.text);
}

static const struct record_body *find(const struct imports *in, const char *suite, const char *app,
				      const char *case_)
{
	const struct record_body *found = NULL;
	for (size_t i = 0; i < in->n_records; i++) {
		const struct record_body *b = &in->records[i]->body;
		if (strcmp(b->suite, suite) == 0 && strcmp(b->app, app) == 0 && strcmp(b->case_, case_) == 0)
			found = b; /* the latest, since they are in order of time */
	}
	return found;
}

static bool has_caveat(const struct record_body *b, const char *code)
{
	for (size_t i = 0; i < b->caveats.n; i++)
		if (strcmp(b->caveats.items[i].code, code) == 0)
			return true;
	return false;
}

static const char *why(const struct record_body *b, const char *field)
{
	for (size_t i = 0; i < b->nulls.n; i++)
		if (strcmp(b->nulls.items[i].field, field) == 0)
			return b->nulls.items[i].why;
	return "(no reason)";
}

static bool declared(const struct imports *in, const char *suite, const char *app, const char *case_)
{
	for (size_t i = 0; i < in->n_cases; i++)
		if (strcmp(in->cases[i].suite, suite) == 0 && strcmp(in->cases[i].app, app) == 0 &&
		    strcmp(in->cases[i].case_, case_) == 0)
			return true;
	return false;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void a_row_becomes_a_record(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	const struct record_body *b = find(&in, "hpcperf-level1", "alpha", "large");
	assert_non_null(b);
	assert_string_equal(b->status, "ok");
	assert_string_equal(b->kind, "imported");
	assert_string_equal(b->platform, "acme-x1.rt1.2");
	assert_string_equal(b->utc, "2026-01-10T12:00:00Z"); /* of the counts beside it */
	assert_float_equal(b->roi.wall_s, 10, 0);
	assert_float_equal(b->measurement.cleans_used, 20, 0);
	assert_float_equal(b->roi.spread, 0.205, 0);
	assert_float_equal(b->roi.cv, 0.072, 0);
	assert_int_equal(b->roi.stable, YES);
	assert_int_equal(b->roi.two_levels, YES);
	assert_float_equal(b->device.busy_frac_of_roi, 0.88, 0);
	assert_float_equal(b->device.compute_ops, 1200, 0);
	assert_float_equal(b->roi.profiler_inflation, 1.31, 0);
	assert_string_equal(b->provenance.verification, "PASS");
	assert_string_equal(b->provenance.source_commit, "0a1b2c3d4e");
	assert_string_equal(b->platform_info.vendor, "acme");
	assert_string_equal(b->platform_info.runtime, "rt1.2");
	assert_string_equal(b->platform_info.conformance, "pass");
	assert_string_equal(b->platform_info.driver, "3.1");
	assert_true(has_caveat(b, "imported_rounded"));
	assert_true(has_caveat(b, "two_levels"));
	assert_true(has_caveat(b, "profiler_inflation"));
	imports_done(&in);
}

static void what_a_row_does_not_tell_is_null_with_a_reason(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	const struct record_body *b = find(&in, "hpcperf-level1", "beta", "w3-h4");
	assert_non_null(b);
	assert_null(b->roi.runs_s.items);
	assert_string_equal(why(b, "roi.runs_s"), "lost");
	assert_true(isnan(b->device.busy_frac_of_roi));
	assert_true(isnan(b->device.compute_ops)); /* "-" is not 0 */
	assert_string_equal(why(b, "device"), "lost");
	assert_string_equal(why(b, "io"), "not_measured");
	assert_int_equal(b->roi.stable, NO);
	assert_true(has_caveat(b, "unstable"));
	assert_true(has_caveat(b, "not_profiled"));
	assert_string_equal(b->provenance.correctness, "INCOMPLETE");
	imports_done(&in);
}

static void statuses_are_told_apart(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	assert_string_equal(find(&in, "hpcperf-level1", "beta", "broken")->status, "clean_failed");
	assert_string_equal(find(&in, "hpcperf-level3", "gamma", "silent")->status, "roi_missing");
	assert_true(isnan(find(&in, "hpcperf-level3", "gamma", "silent")->roi.wall_s));
	assert_string_equal(find(&in, "hpcperf-level2", "epsilon", "default")->status, "clean_timeout");
	/* Never measured: an input, but no run. */
	assert_null(find(&in, "hpcperf-level1", "beta", "never"));
	assert_true(declared(&in, "hpcperf-level1", "beta", "never"));
	assert_true(declared(&in, "hpcperf-level1", "beta", "unheard"));
	imports_done(&in);
}

static void a_region_timed_by_the_application_says_so(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	const struct record_body *b = find(&in, "hpcperf-level3", "gamma", "melt-1k");
	assert_string_equal(b->roi.source, "timer");
	assert_string_equal(b->measurement.region, "timer:gamma");
	assert_float_equal(b->roi.min_s, 4.2, 0);
	assert_float_equal(b->roi.max_s, 4.31, 0);
	assert_float_equal(b->roi.steps, 50, 0);
	assert_float_equal(b->roi.step_s, 0.085, 0);
	assert_float_equal(b->context.process_wall_s, 9.5, 0);
	assert_float_equal(b->fom.value, 37.5, 0);
	assert_string_equal(b->fom.unit, "Mstep/s");
	assert_float_equal(b->inputs.devices, 1, 0);
	assert_true(has_caveat(b, "source_also_says")); /* the region's share of the process */
	imports_done(&in);
}

static void a_date_in_the_name_is_the_date(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	const struct record_body *b = find(&in, "hpcperf-level2", "delta", "p200");
	assert_string_equal(b->utc, "2025-12-24T00:00:00Z");
	assert_memory_equal(b->run_id, "20251224T000000Z-", 17);
	assert_true(isnan(b->measurement.cleans_used)); /* one record, of who knows how many executions */
	assert_float_equal(b->own_timer.roi_diff_frac, 0.025, 0);
	assert_true(has_caveat(b, "own_timer_differs"));
	imports_done(&in);
}

static void case_tables_give_properties(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	const struct record_body *b = find(&in, "hpcperf-level1", "alpha", "large");
	assert_int_equal(b->inputs.argv.n, 3);
	assert_string_equal(b->inputs.argv.items[1], "1000");
	assert_int_equal(b->inputs.env.n, 2);
	assert_string_equal(b->inputs.env.items[1], "A_N=3");
	assert_float_equal(b->measurement.timeout_s, 1800, 0);
	assert_string_equal(b->measurement.excludes, "checks between steps");
	assert_true(has_caveat(b, "verify_inside"));
	/* A sweep is undone: p{} over 100|200. */
	assert_true(declared(&in, "hpcperf-level2", "delta", "p100"));
	b = find(&in, "hpcperf-level2", "delta", "p200");
	assert_string_equal(b->inputs.env.items[0], "D_SIZE=200");
	assert_string_equal(b->inputs.env.items[1], "D_MODE=fast");
	assert_string_equal(b->fom.name, "Cell rate");
	imports_done(&in);
}

/* ---- records ---------------------------------------------------------------------------------- */

static void a_full_record_takes_the_place_of_its_row(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	size_t n = 0;
	for (size_t i = 0; i < in.n_records; i++)
		n += strcmp(in.records[i]->body.app, "alpha") == 0 &&
		     strcmp(in.records[i]->body.case_, "small") == 0;
	assert_int_equal(n, 1);
	const struct record_body *b = find(&in, "hpcperf-level1", "alpha", "small");
	assert_string_equal(b->utc, "2026-01-09T10:15:07Z");
	assert_memory_equal(b->run_id, "20260109T101507Z-", 17);
	assert_float_equal(b->roi.wall_s, 0.005123456, 0);
	assert_int_equal(b->roi.runs_s.n, 5);
	assert_int_equal(b->executions.n, 5);
	assert_float_equal(b->executions.items[3].roi_s, 0.00513, 0);
	/* From the row, since the record lacks it. */
	assert_string_equal(b->provenance.verification, "PASS");
	assert_float_equal(b->device.busy_frac_of_roi, 0.91, 0);
	assert_true(has_caveat(b, "imported_rounded"));
	assert_true(has_caveat(b, "source_caveat"));
	assert_string_equal(b->measurement.verify, "skipped");
	assert_string_equal(b->inputs.env.items[0], "A_SEED=7");
	assert_string_equal(b->inputs.params.items[0], "n=10");
	imports_done(&in);
}

static void what_follows_is_derived_and_a_contradiction_is_said(void **state)
{
	(void)state;
	struct imports in;
	import(&in, RESULTS, &nothing);
	const struct record_body *b = find(&in, "hpcperf-level1", "alpha", "small");
	assert_float_equal(b->roi.min_s, 0.005115, 0);
	assert_float_equal(b->roi.spread, 0.000015 / 0.005123456, 1e-12);
	assert_float_equal(b->roi.ci95_coverage, 0.9375, 0);
	assert_float_equal(b->roi.profiler_inflation, 0.005174 / 0.005123456, 1e-12);
	assert_true(has_caveat(b, "source_disagrees")); /* the standard deviation there is wrong */
	b = find(&in, "hpcperf-level2", "delta", "default");
	assert_true(isnan(b->roi.stddev_s)); /* one execution has no spread, whatever the source says */
	assert_string_equal(why(b, "roi.stddev_s"), "too_few");
	assert_float_equal(b->device.busy_frac_of_roi, 0.6, 0);
	assert_float_equal(b->device.host_gap_s, 3, 0);
	assert_float_equal(b->device.copy_h2d_bytes, 4096, 0);
	assert_float_equal(b->device.fill_ops, 0, 0); /* seen, and none */
	assert_string_equal(why(b, "device.collective_ops"), "not_supported");
	assert_int_equal(b->ops.n, 2);
	assert_true(has_caveat(b, "operations_cut"));
	assert_true(has_caveat(b, "source_caveats_lost"));
	assert_true(has_caveat(b, "profiler_deflation"));
	assert_false(has_caveat(b, "source_disagrees"));
	assert_int_equal(b->launcher.audit_ok, YES);
	imports_done(&in);
}

static char *all_text(const struct imports *in)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < in->n_records; i++) {
		json_t *json = record_to_json(in->records[i]);
		assert_int_equal(json_text(&b, json), 0);
		json_decref(json);
		buf_puts(&b, "\n");
	}
	assert_false(b.failed);
	return b.data;
}

static void the_same_files_give_the_same_records(void **state)
{
	(void)state;
	const char *one[] = { RESULTS "/published_level1.tsv", RESULTS "/records.json" };
	const char *two[] = { RESULTS "/records.json", RESULTS "/published_level1.tsv" };
	struct imports a, b;
	struct err err = { 0 };
	assert_int_equal(import_hpcperf(&a, one, 2, &nothing, &err), 0);
	assert_int_equal(import_hpcperf(&b, two, 2, &nothing, &err), 0);
	char *x = all_text(&a), *y = all_text(&b);
	assert_string_equal(x, y);
	free(x);
	free(y);
	imports_done(&a);
	imports_done(&b);
	/* The same file twice is one import. */
	const char *twice[] = { RESULTS "/records.json", RESULTS "/records.json" };
	assert_int_equal(import_hpcperf(&a, twice, 2, &nothing, &err), 0);
	assert_int_equal(a.n_records, 2);
	imports_done(&a);
}

/* ---- logs --------------------------------------------------------------------------------------- */

static void logs_of_a_run_folder_are_its_executions(void **state)
{
	(void)state;
	struct imports in;
	struct import_options o = { .platform = "acme-x1.rt1.2" };
	import(&in, LOGS "/level1", &o);
	assert_int_equal(in.n_records, 1);
	const struct record_body *b = find(&in, "hpcperf-level1", "alpha", "small");
	assert_non_null(b);
	assert_int_equal(b->roi.runs_s.n, 2);
	assert_float_equal(b->roi.runs_s.items[0], 0.0022, 0); /* the slower process */
	assert_float_equal(b->roi.runs_s.items[1], 0.0022, 0); /* two entries */
	assert_int_equal(b->roi.warmup_runs_s.n, 1);
	assert_int_equal(b->inputs.argv.n, 3);
	assert_true(has_caveat(b, "exit_unknown"));
	for (size_t i = 0; i < b->executions.n; i++)
		assert_true(isnan(b->executions.items[i].exit_code));
	imports_done(&in);
}

static void what_lies_beside_the_logs_is_used(void **state)
{
	(void)state;
	struct imports in;
	import(&in, LOGS "/level2", &nothing);
	const struct record_body *b = find(&in, "hpcperf-level2", "zeta", "q8");
	assert_non_null(b);
	assert_string_equal(b->platform, "acme-x1.rt1.2");
	assert_string_equal(b->status, "clean_failed"); /* clean.2 ended with 7 */
	assert_int_equal(b->roi.runs_s.n, 2);
	assert_float_equal(b->executions.items[2].exit_code, 7, 0);
	assert_float_equal(b->context.process_wall_s, 2.05, 1e-15);
	assert_float_equal(b->executions.items[0].pre_roi_s, 0.5, 1e-15);
	assert_int_equal(b->inputs.argv.n, 3);
	assert_string_equal(b->inputs.env.items[1], "Z_MODE=fast");
	assert_float_equal(b->inputs.devices, 2, 0);
	assert_false(has_caveat(b, "exit_unknown"));
	assert_int_equal(in.n_notes, 0); /* run.txt and run.log are no strangers */
	imports_done(&in);
}

static void is_status(const struct imports *in, const char *case_, const char *status, size_t samples)
{
	const struct record_body *b = find(in, "hpcperf-level2", "eta", case_);
	assert_non_null(b);
	assert_string_equal(b->status, status);
	assert_int_equal(b->roi.runs_s.n, samples);
	assert_string_equal(b->utc, "2026-01-12T09:00:00Z");
}

/* A crash takes the log along: such a run is no good one with fewer samples. */
static void executions_without_a_log_are_there(void **state)
{
	(void)state;
	struct imports in;
	import(&in, SILENT, &nothing);
	assert_int_equal(in.n_records, 4);
	is_status(&in, "crash", "clean_failed", 1);
	is_status(&in, "silent", "roi_missing", 0);
	is_status(&in, "ended", "interrupted", 1); /* no status: their runner was ended */
	is_status(&in, "profile", "profiled_failed", 1);
	const struct record_body *b = find(&in, "hpcperf-level2", "eta", "crash");
	assert_int_equal(b->executions.n, 2);
	assert_string_equal(b->executions.items[1].name, "clean.1");
	assert_float_equal(b->executions.items[1].exit_code, 139, 0);
	b = find(&in, "hpcperf-level2", "eta", "silent");
	assert_string_equal(b->executions.items[0].name, "warmup.0");
	assert_int_equal(in.n_notes, 2); /* never made, and by a timer */
	imports_done(&in);
}

static void executions_are_told_apart_by_their_folders(void **state)
{
	(void)state;
	const char *run = LOGS "/level1/alpha/small/20260110T080000Z-77/clean.1";
	struct imports in;
	struct import_options o = { .platform = "acme-x1.rt1.2", .suite = "mine", .app = "a", .case_ = "c" };
	import(&in, run, &o);
	const struct record_body *b = find(&in, "mine", "a", "c");
	assert_non_null(b);
	assert_int_equal(b->executions.n, 1);
	assert_string_equal(b->executions.items[0].name, "clean.1");
	assert_float_equal(b->roi.processes, 2, 0);
	imports_done(&in);
}

static void logs_by_themselves_are_one_execution(void **state)
{
	(void)state;
	char folder[] = "/tmp/roimeter-import.XXXXXX", path[64];
	struct buf bytes = { 0 };
	assert_non_null(mkdtemp(folder));
	for (int pid = 71; pid <= 72; pid++) {
		char from[128];
		(void)snprintf(from, sizeof from, LOGS "/level1/alpha/small/20260110T080000Z-77/clean.0/roi.%d", pid);
		(void)snprintf(path, sizeof path, "%s/roi.%d", folder, pid);
		bytes.len = 0;
		assert_int_equal(file_read(&bytes, from, NULL), 0);
		assert_int_equal(file_write(path, bytes.data, bytes.len, NULL), 0);
	}
	buf_done(&bytes);
	const char *run = folder;
	struct imports in;
	struct err err = { 0 };
	struct import_options o = { .platform = "acme-x1.rt1.2", .suite = "mine", .app = "a", .case_ = "c" };
	import(&in, run, &o);
	const struct record_body *b = find(&in, "mine", "a", "c");
	assert_non_null(b);
	assert_int_equal(b->roi.runs_s.n, 1);
	assert_float_equal(b->roi.processes, 2, 0);
	assert_string_equal(b->utc, "2026-01-10T08:00:00Z");
	imports_done(&in);
	o.platform = NULL;
	assert_int_equal(import_hpcperf(&in, &run, 1, &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--platform"));
	assert_int_equal(file_remove_tree(folder, NULL), 0);
}

/* ---- what is wrong is said with its place ------------------------------------------------------ */

static const char *const head = "#level\tapp\tinput\tplatform\tstatus\troi_median_s\tsamples\tstable\n";

static const struct {
	const char *name, *text, *wanted;
} wrongs[] = {
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\tfast\t3\tyes\n", "tsv:2:22: column roi_median_s: \"fast\"" },
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\tnan\t3\tyes\n", "tsv:2:22: column roi_median_s: \"nan\"" },
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\t-1\t3\tyes\n", "is below 0" },
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\t1\t3\tmaybe\n", "neither yes nor no" },
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tGOOD\t1\t3\tyes\n", "tsv:2:14: column status" },
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\t-\t3\tyes\n", "no time, although the status is SUCCESS" },
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\t1\t3\n", "tsv:2: 7 cells where the header names 8" },
	{ "t_20260101.tsv", "1\ta\t\tp-q.r1\tSUCCESS\t1\t3\tyes\n", "tsv:2:5: column input is empty" },
	{ "t_20260101.tsv", "4\ta\tb\tp-q.r1\tSUCCESS\t1\t3\tyes\n", "none of 1, 2, 3" },
	{ "t_20260101.tsv", "1\ta b\tb\tp-q.r1\tSUCCESS\t1\t3\tyes\n", "the name \"a b\"" },
	{ "t_20260101.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\t1\t3\tyes\n1\ta\tb\tp-q.r1\tSUCCESS\t2\t3\tyes\n",
	  "tsv:3:3: a/b stands in line 2 already" },
	{ "table.tsv", "1\ta\tb\tp-q.r1\tSUCCESS\t1\t3\tyes\n", "--published UTC" },
	{ "records.json", "{\"records\": [{\"level\": 1, \"status\": \"ok\", \"app\": 3}]}",
	  "records[0].app: expected a text" },
	{ "records.json", "{\"records\": [{\"level\": 9}]}", "records[0].level: expected 1, 2 or 3" },
	{ "records.json", "{\"records\": [\n{,}]}", "records.json:2:2: not JSON" },
	{ "records.json", "{\"records\": [{\"level\": 1, \"status\": \"ok\", \"app\": \"a\", \"case\": \"c\", "
			  "\"platform\": \"p-q.r1\", \"utc\": \"2026-01-01T00:00:00Z\", "
			  "\"roi\": {\"runs_s\": [1, \"2\"]}}]}", "records[0].roi.runs_s[1]: expected a number" },
	{ "records.json", "{\"records\": [{\"schema\": \"roimeter-record/1\"}]}", "roimeter import roimeter" },
	{ "notes.txt", "hello\n", "no region log, result table" },
	{ "roi.1", "# hpcperf-roi-log 1\npid 3\n", "roi.1:1" },
};

static void wrong_input_is_refused_with_its_place(void **state)
{
	(void)state;
	char folder[] = "/tmp/roimeter-import.XXXXXX";
	assert_non_null(mkdtemp(folder));
	struct import_options o = { .platform = "p-q.r1", .app = "a", .case_ = "c" };
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		char path[128], text[1024];
		bool table = strstr(wrongs[i].name, ".tsv") != NULL;
		(void)snprintf(path, sizeof path, "%s/%s", folder, wrongs[i].name);
		(void)snprintf(text, sizeof text, "%s%s", table ? head : "", wrongs[i].text);
		assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
		struct imports in;
		struct err err = { 0 };
		const char *paths[] = { path };
		int rc = import_hpcperf(&in, paths, 1, &o, &err);
		if (rc != -EINVAL || !strstr(err.text, wrongs[i].wanted))
			fail_msg("%s: %d, %s", wrongs[i].wanted, rc, err.text);
		assert_int_equal(in.n_records, 0);
	}
	assert_int_equal(file_remove_tree(folder, NULL), 0);
}

static void a_publication_date_can_be_given(void **state)
{
	(void)state;
	char folder[] = "/tmp/roimeter-import.XXXXXX", path[64], text[512];
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/table.tsv", folder);
	(void)snprintf(text, sizeof text, "%s%s", head, "1\ta\tb\tp-q.r1\tSUCCESS\t1\t3\tyes\n");
	assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
	struct imports in;
	struct import_options o = { .published = "2026-02-03" };
	import(&in, path, &o);
	assert_string_equal(in.records[0]->body.utc, "2026-02-03T00:00:00Z");
	imports_done(&in);
	struct err err = { 0 };
	const char *paths[] = { path };
	o.published = "yesterday";
	assert_int_equal(import_hpcperf(&in, paths, 1, &o, &err), -EINVAL);
	assert_int_equal(file_remove_tree(folder, NULL), 0);
}

/* ---- records of our own ------------------------------------------------------------------------- */

static void our_own_export_comes_back_byte_for_byte(void **state)
{
	(void)state;
	char path[] = "/tmp/roimeter-import.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	struct imports in, back;
	struct err err = { 0 };
	import(&in, RESULTS, &nothing);
	char *text = all_text(&in);
	assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
	const char *paths[] = { path };
	if (import_roimeter(&back, paths, 1, &err))
		fail_msg("%s", err.text);
	char *again = all_text(&back);
	assert_string_equal(text, again);
	free(again);
	imports_done(&back);

	/* A line that is wrong is named. */
	char *second = strchr(text, '\n') + 1;
	second[0] = '[';
	assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
	assert_int_equal(import_roimeter(&back, paths, 1, &err), -EINVAL);
	assert_non_null(strstr(err.text, ":2:"));
	free(text);
	imports_done(&in);
	(void)unlink(path);
}

/* All of it, or none: an allocation that fails is never a smaller result. */
static void a_failed_allocation_imports_nothing(void **state)
{
	(void)state;
	const char *paths[] = { RESULTS, LOGS, SILENT };
	struct import_options o = { .platform = "acme-x1.rt1.2" };
	struct imports in;
	struct err err = { 0 };
	assert_int_equal(import_hpcperf(&in, paths, 3, &o, &err), 0);
	char *whole = all_text(&in);
	imports_done(&in);
	for (int n = 1; fail_alloc(n); n++) {
		int rc = import_hpcperf(&in, paths, 3, &o, &err);
		bool failed = alloc_failed;
		alloc_left = 0;
		if (!failed || rc == 0) {
			char *text = all_text(&in);
			size_t at = 0;
			while (text[at] && text[at] == whole[at])
				at++;
			if (text[at] || whole[at])
				fail_msg("allocation %d: ...%.80s", n, text + (at > 40 ? at - 40 : 0));
			free(text);
		} else {
			assert_int_equal(rc, -ENOMEM);
			assert_int_equal(in.n_records, 0);
		}
		if (!rc)
			imports_done(&in);
		alloc_failed = failed;
	}
	free(whole);
}

/* ---- the published data, where they are at hand ------------------------------------------------- */

static const char *published(void)
{
	static const char *const places[] = { "../shared/data/hpcperf", "../../shared/data/hpcperf" };
	for (size_t i = 0; i < 2; i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}

static void the_published_totals_hold(void **state)
{
	(void)state;
	const char *tables[] = { "published_level1.tsv", "published_level2.tsv", "published_level3.tsv" };
	size_t inputs[] = { 134, 89, 43 }, unstable = 0, missing = 0;
	double samples = 0;
	if (!published()) {
		print_message("[ SKIPPED  ] no ../shared/data/hpcperf here\n");
		skip();
	}
	for (size_t i = 0; i < 3; i++) {
		char path[128];
		(void)snprintf(path, sizeof path, "%s/%s", published(), tables[i]);
		struct imports in;
		import(&in, path, &nothing);
		assert_int_equal(in.n_records, inputs[i]);
		assert_int_equal(in.n_cases, inputs[i]);
		for (size_t k = 0; k < in.n_records; k++) {
			const struct record_body *b = &in.records[k]->body;
			unstable += b->roi.stable == NO;
			missing += strcmp(b->status, "roi_missing") == 0;
			if (b->measurement.cleans_used > 0)
				samples += b->measurement.cleans_used;
		}
		imports_done(&in);
	}
	assert_float_equal(samples, 1267, 0);
	assert_int_equal(unstable, 17);
	assert_int_equal(missing, 3);
}

static void same_or_unknown(double theirs, double ours)
{
	if (known(theirs) && known(ours))
		assert_true(fabs(theirs - ours) <= 1e-12 * fabs(theirs) + 1e-15);
}

static double number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	return json_is_number(v) ? json_number_value(v) : NAN;
}

static void the_published_records_are_derived_again(void **state)
{
	(void)state;
	char path[128];
	if (!published())
		skip();
	(void)snprintf(path, sizeof path, "%s/records.json", published());
	struct imports in;
	import(&in, path, &nothing);
	json_t *json = json_load_file(path, 0, NULL);
	const json_t *list = json_object_get(json, "records");
	assert_int_equal(json_array_size(list), 10);
	assert_int_equal(in.n_records, 10);
	for (size_t i = 0; i < 10; i++) {
		const json_t *r = json_array_get(list, i), *roi = json_object_get(r, "roi");
		const json_t *set = json_object_get(r, "set"), *device = json_object_get(r, "device");
		char suite[32];
		(void)snprintf(suite, sizeof suite, "hpcperf-level%.0f", number(r, "level"));
		const struct record_body *b = find(&in, suite, json_string_value(json_object_get(r, "app")),
						   json_string_value(json_object_get(r, "case")));
		assert_non_null(b);
		assert_false(has_caveat(b, "source_disagrees"));
		assert_float_equal(b->roi.wall_s, number(roi, "wall_s"), 0);
		assert_float_equal(b->roi.min_s, number(roi, "wall_s_min"), 0);
		same_or_unknown(number(roi, "wall_s_stddev"), b->roi.stddev_s);
		same_or_unknown(number(roi, "profiler_inflation"), b->roi.profiler_inflation);
		same_or_unknown(number(set, "cv"), b->roi.cv);
		same_or_unknown(number(set, "iqr"), b->roi.iqr);
		same_or_unknown(number(set, "spread"), b->roi.spread);
		if (set)
			assert_int_equal(b->roi.stable, json_is_true(json_object_get(set, "stable")));
		same_or_unknown(number(device, "busy_frac_of_roi"), b->device.busy_frac_of_roi);
		same_or_unknown(number(device, "busy_frac_of_profiled_roi"), b->device.busy_frac_of_profiled_roi);
		same_or_unknown(number(device, "host_gap_s"), b->device.host_gap_s);
		same_or_unknown(number(device, "host_gap_frac_of_roi"), b->device.host_gap_frac_of_roi);
	}
	json_decref(json);
	imports_done(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_becomes_a_record),
		cmocka_unit_test(what_a_row_does_not_tell_is_null_with_a_reason),
		cmocka_unit_test(statuses_are_told_apart),
		cmocka_unit_test(a_region_timed_by_the_application_says_so),
		cmocka_unit_test(a_date_in_the_name_is_the_date),
		cmocka_unit_test(case_tables_give_properties),
		cmocka_unit_test(a_full_record_takes_the_place_of_its_row),
		cmocka_unit_test(what_follows_is_derived_and_a_contradiction_is_said),
		cmocka_unit_test(the_same_files_give_the_same_records),
		cmocka_unit_test(logs_of_a_run_folder_are_its_executions),
		cmocka_unit_test(what_lies_beside_the_logs_is_used),
		cmocka_unit_test(executions_without_a_log_are_there),
		cmocka_unit_test(executions_are_told_apart_by_their_folders),
		cmocka_unit_test(logs_by_themselves_are_one_execution),
		cmocka_unit_test(wrong_input_is_refused_with_its_place),
		cmocka_unit_test(a_publication_date_can_be_given),
		cmocka_unit_test(our_own_export_comes_back_byte_for_byte),
		cmocka_unit_test(a_failed_allocation_imports_nothing),
		cmocka_unit_test(the_published_totals_hold),
		cmocka_unit_test(the_published_records_are_derived_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
