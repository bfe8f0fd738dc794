/* The report: numbers as text, order of names, small JSON, and what must stay text. The store
 * behind it is played by the real one, in a folder of the test. */
#define _GNU_SOURCE /* mkdtemp */
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

#include "lib/file.h"
#include "lib/num.h"
#include "report/data.h"
#include "report/format.h"
#include "report/page.h"
#include "report/natural.h"
#include "report/grid.h"
#include "report/shrink.h"
#include "schema/codec.h"

static json_t *parse(const char *text)
{
	json_error_t e;
	json_t *json = json_loads(text, JSON_DECODE_ANY, &e);
	assert_non_null(json);
	return json;
}

static void assert_json(json_t *got, const char *wanted)
{
	struct buf b = { 0 };
	assert_int_equal(json_text(&b, got), 0);
	assert_string_equal(b.data, wanted);
	buf_done(&b);
	json_decref(got);
}

/* ---- numbers
 * ------------------------------------------------------------------------------------- */

static void seconds_have_three_digits_and_a_unit(void **state)
{
	(void)state;
	static const struct {
		double s;
		const char *text;
	} cases[] = {
		{ 1.31, "1.31 s" },        { 0, "0 s" },
		{ 12.345, "12.3 s" },      { 1234.5, "1230 s" },
		{ 0.0123, "12.3 ms" },     { 0.9996, "1.00 s" },
		{ 0.9994, "999 ms" },      { 0.00099951, "1.00 ms" },
		{ 0.00000123, "1.23 µs" }, { 5e-8, "50.0 ns" },
		{ 3e-10, "0.3 ns" },       { 1.125, "1.13 s" },
		{ -0.25, "−250 ms" },      { NAN, "null" },
		{ 0.001, "1.00 ms" },      { 1e-6, "1.00 µs" },
	};
	char text[FORMAT_BYTES];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(format_seconds(text, cases[i].s), cases[i].text);
}

static void null_is_never_zero(void **state)
{
	(void)state;
	char text[FORMAT_BYTES];
	json_t *object = parse("{\"zero\": 0, \"null\": null, \"word\": \"1\"}");
	assert_string_equal(format_seconds(text, format_number(object, "null")), "null");
	assert_string_equal(format_seconds(text, format_number(object, "absent")), "null");
	assert_string_equal(format_seconds(text, format_number(object, "word")), "null");
	assert_string_equal(format_seconds(text, format_number(object, "zero")), "0 s");
	assert_string_equal(format_percent(text, NAN), "null");
	assert_string_equal(format_significant(text, NAN), "null");
	assert_string_equal(format_significant(text, 0), "0");
	json_decref(object);
}

static void shares_and_counts_are_short(void **state)
{
	(void)state;
	char text[FORMAT_BYTES];
	assert_string_equal(format_percent(text, 0.5), "50.0 %");
	assert_string_equal(format_percent(text, 0.0001), "<0.1 %");
	assert_string_equal(format_percent(text, 0), "0.0 %");
	assert_string_equal(format_percent(text, 1), "100 %");
	assert_string_equal(format_significant(text, 1234567), "1230000");
	assert_string_equal(format_count(text, 1234567), "1234567");
	assert_string_equal(format_count(text, NAN), "null");
	assert_string_equal(format_significant(text, 0.00123), "0.00123");
	assert_string_equal(format_significant(text, 1.5e12), "1.50e12");
}

/* ---- order
 * ----------------------------------------------------------------------------------------- */

static void numbers_in_names_go_by_value(void **state)
{
	(void)state;
	assert_true(report_natural("n9", "n10") < 0);
	assert_true(report_natural("n10", "n9") > 0);
	assert_true(report_natural("n10", "n10") == 0);
	assert_true(report_natural("n10-a", "n10-b") < 0);
	assert_true(report_natural("a", "ab") < 0);
	assert_true(report_natural("n01", "n1") != 0);
	assert_true(report_natural("x2y10", "x2y9") > 0);
}

/* ---- small JSON
 * ------------------------------------------------------------------------------------ */

static void nulls_and_what_is_empty_then_are_left_out(void **state)
{
	(void)state;
	json_t *json = parse("{\"a\":null,\"b\":0,\"c\":{\"d\":null},\"e\":[],\"f\":[null,{\"g\":"
			     "null,\"h\":1}]}");
	assert_json(shrink_nulls(json), "{\"b\":0,\"e\":[],\"f\":[null,{\"h\":1}]}");
	json_decref(json);
}

static void rows_become_a_table(void **state)
{
	(void)state;
	json_t *rows = parse("[{\"a\":1,\"b\":\"x\"},{\"a\":1,\"c\":2},{\"a\":1,\"b\":\"y\"}]");
	assert_json(shrink_table(rows), "{\"same\":{\"a\":1},\"columns\":[\"b\",\"c\"],"
					"\"rows\":[[\"x\",null],[null,2],[\"y\",null]]}");
	json_decref(rows);
	rows = parse("[{\"a\":1}]");
	assert_json(shrink_table(rows), "{\"columns\":[\"a\"],\"rows\":[[1]]}");
	json_decref(rows);
	rows = parse("[]");
	assert_json(shrink_table(rows), "{\"columns\":[],\"rows\":[]}");
	json_decref(rows);
}

static void equal_values_are_kept_once(void **state)
{
	(void)state;
	struct shrink_dict d = { 0 };
	assert_int_equal(shrink_intern_take(&d, "x", parse("{\"a\":1}")), 0);
	assert_int_equal(shrink_intern_take(&d, "x", parse("{\"a\":2}")), 1);
	assert_int_equal(shrink_intern_take(&d, "x", parse("{\"a\":1}")), 0);
	assert_int_equal(shrink_intern_take(&d, "y", parse("{\"a\":1}")), 0);
	assert_int_equal(json_array_size(json_object_get(d.values, "x")), 2);
	shrink_dict_done(&d);
}

/* ---- page and Markdown
 * --------------------------------------------------------------------------- */

static const char evil[] = "<script>alert(1)</script> | `x`";

/* The smallest report in which names from outside stand at every place that can hold one. */
static json_t *evil_grid(void)
{
	return json_pack("{s:s, s:s, s:s, s:[{s:s, s:n}], s:[{s:s, s:[{s:s, s:[{s:s, s:b, s:[{s:i, "
			 "s:{s:s, s:f, s:i}}]}]}]}]}",
			 "schema", REPORT_SCHEMA, "title", evil, "tool", "roimeter", "platforms",
			 "id", evil, "info", "suites", "name", evil, "apps", "name", evil, "cases",
			 "name", evil, "declared", 1, "cells", "runs", 1, "ok", "run_id", "r1",
			 "wall_s", 1.5, "caveats", 1);
}

static json_t *evil_details(void)
{
	return json_pack("{s:{s:[[{s:s, s:s}]]}, s:[{s:s, s:s, s:s, s:s, s:s, s:i, s:{s:[s]}, "
			 "s:{s:f}, s:{s:[s,s], s:[[s,f]]}}], s:{}}",
			 "dict", "caveats", "code", evil, "text", evil, "records", "run_id", "r1",
			 "app", evil, "case", evil, "platform", evil, "status", "ok", "caveats", 0,
			 "inputs", "argv", evil, "roi", "wall_s", 1.5, "ops", "columns", "name",
			 "total_s", "rows", evil, 0.5, "history");
}

/* Outside of code marks nothing may begin a tag; inside of them everything is text. */
static void assert_inert(const char *text)
{
	bool code = false;
	for (const char *p = text; *p; p++) {
		size_t ticks = strspn(p, "`");
		if (ticks && (p == text || p[-1] != '\\')) {
			char close[16] = { 0 };
			assert_true(ticks < sizeof close);
			memset(close, '`', ticks);
			const char *end = strstr(p + ticks, close);
			assert_non_null(end);
			code = true;
			p = end + ticks - 1;
		} else {
			assert_int_not_equal(*p, '<');
		}
	}
	assert_true(code);
}

static void names_stay_text_in_markdown(void **state)
{
	(void)state;
	json_t *data = evil_grid(), *details = evil_details();
	assert_true(data && details);
	struct buf b = { 0 };
	assert_int_equal(report_markdown(&b, data, details, "0123"), 0);
	assert_inert(b.data);
	/* The grid keeps its columns: bars in names are escaped. */
	const char *line = strstr(b.data, "| application");
	assert_non_null(line);
	int bars[3] = { 0 };
	for (int i = 0; i < 3; i++, line = strchr(line, '\n') + 1)
		for (const char *p = line; *p != '\n'; p++)
			bars[i] += *p == '|' && (p == line || p[-1] != '\\');
	assert_int_equal(bars[0], 4);
	assert_int_equal(bars[1], 4);
	assert_int_equal(bars[2], 4);
	buf_done(&b);
	json_decref(data);
	json_decref(details);
}

static void data_cannot_end_their_element_in_the_page(void **state)
{
	(void)state;
	struct buf grid = { 0 }, details = { 0 }, page = { 0 };
	json_t *data = evil_grid(), *more = evil_details();
	assert_int_equal(json_text(&grid, data), 0);
	assert_int_equal(json_text(&details, more), 0);
	if (!report_has_page()) {
		assert_int_equal(report_page(&page, &grid, &details, evil, "0123", NULL), -ENOTSUP);
	} else {
		assert_int_equal(report_page(&page, &grid, &details, evil, "0123", NULL), 0);
		assert_null(strstr(page.data, "<script>alert"));
		assert_non_null(strstr(
			page.data, "<title>&lt;script&gt;alert(1)&lt;/script&gt; | `x`</title>"));
		assert_non_null(strstr(page.data, "\\u003cscript>alert(1)\\u003c/script>"));
		assert_non_null(strstr(page.data, "data-hash=\"0123\""));
		assert_null(strstr(page.data, "@@"));
	}
	buf_done(&grid);
	buf_done(&details);
	buf_done(&page);
	json_decref(data);
	json_decref(more);
}

/* ---- from the store
 * ---------------------------------------------------------------------------------- */

struct place {
	char dir[64];
	struct store *store;
};

static int open_place(void **state)
{
	static struct place p;
	(void)snprintf(p.dir, sizeof p.dir, "/tmp/roimeter-report.XXXXXX");
	if (!mkdtemp(p.dir))
		return -1;
	char path[96];
	(void)snprintf(path, sizeof path, "%s/test.db", p.dir);
	*state = &p;
	return store_open(&p.store, path, STORE_WRITE, NULL);
}

static int close_place(void **state)
{
	struct place *p = *state;
	store_close(p->store);
	return file_remove_tree(p->dir, NULL);
}

static void add_run(struct store *s, const char *run_id, const char *case_, const char *platform,
		    const char *status, double wall_s)
{
	struct record rec;
	struct err err = { { 0 } };
	record_init(&rec);
	rec.body.run_id = run_id;
	rec.body.suite = "s";
	rec.body.app = "a";
	rec.body.case_ = case_;
	rec.body.platform = platform;
	rec.body.kind = "measured";
	rec.body.utc = "2026-09-29T04:52:01Z";
	rec.body.status = status;
	rec.body.roi.wall_s = wall_s;
	rec.body.measurement.cleans_used = 1;
	if (store_add_run(s, &rec, &err))
		fail_msg("%s", err.text);
	record_done(&rec);
}

static int put_piece(void *arg, const void *bytes, size_t n)
{
	buf_put(arg, bytes, n);
	return 0;
}

static json_t *build(struct store *s, const struct report_options *o)
{
	struct err err = { { 0 } };
	struct buf text = { 0 };
	struct grid *g = grid_new(o);
	assert_non_null(g);
	if (grid_update(g, s, &err))
		fail_msg("%s", err.text);
	assert_int_equal(grid_each_text(g, put_piece, &text), 0);
	grid_free(g);
	json_t *data = parse(text.data);
	buf_done(&text);
	return data;
}

static json_t *build_details(struct store *s)
{
	struct err err = { { 0 } };
	json_t *details = NULL;
	if (report_details(&details, s, &(struct report_options){ 0 }, &err))
		fail_msg("%s", err.text);
	return details;
}

static const json_t *cell_at(const json_t *data, size_t row, size_t platform)
{
	const json_t *app = json_array_get(
		json_object_get(json_array_get(json_object_get(data, "suites"), 0), "apps"), 0);
	const json_t *item = json_array_get(json_object_get(app, "cases"), row);
	return json_array_get(json_object_get(item, "cells"), platform);
}

static void grid_has_the_latest_result_and_what_came_after(void **state)
{
	struct place *p = *state;
	add_run(p->store, "20260929T045201Z-00000001", "n9", "cpu-x.linux6.1", "ok", 1.5);
	add_run(p->store, "20260929T045202Z-00000002", "n9", "cpu-x.linux6.1", "ok", 2.5);
	add_run(p->store, "20260929T045203Z-00000003", "n9", "cpu-x.linux6.1", "clean_failed", NAN);
	add_run(p->store, "20260929T045204Z-00000004", "n10", "gpu-y.cuda13.2", "clean_timeout",
		NAN);
	const struct declared_case declared[] = {
		{ .app = "a", .case_ = "n11", .title = "never run" }
	};
	assert_int_equal(store_declare(p->store, "s", declared, 1, NULL), 0);

	json_t *data = build(p->store, &(struct report_options){ .title = "T" });
	/* Declared first, then by value of the numbers; platforms by name. */
	assert_true(json_is_null(cell_at(data, 0, 0)));
	assert_true(json_is_null(cell_at(data, 0, 1)));
	const json_t *cell = cell_at(data, 1, 0);
	assert_true(format_number(json_object_get(cell, "ok"), "wall_s") == 2.5);
	assert_true(format_number(cell, "runs") == 3);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(cell, "last"), "status")),
		"clean_failed");
	assert_true(json_is_null(cell_at(data, 1, 1)));
	assert_true(json_is_null(json_object_get(cell_at(data, 2, 1), "ok")));
	/* Behind them: the record of each cell, the later one, and the runs of each cell. */
	json_t *details = build_details(p->store);
	assert_int_equal(json_array_size(json_object_get(details, "records")), 3);
	const json_t *history = json_object_get(details, "history");
	assert_int_equal(json_object_size(history), 2);
	const json_t *runs = json_object_get(history, "20260929T045202Z-00000002");
	assert_int_equal(json_array_size(json_object_get(runs, "rows")), 3);
	json_decref(details);
	json_decref(data);
}

static void a_record_keeps_its_fifteen_largest_operations(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	struct op ops[20];
	for (size_t i = 0; i < 20; i++) {
		block_clear(&op_block, &ops[i]);
		ops[i].name = "op";
		ops[i].count = (double)i;
	}
	rec.body.ops.items = ops;
	rec.body.ops.n = 20;
	json_t *json = report_record(&rec);
	assert_int_equal(json_array_size(json_object_get(json, "ops")), REPORT_OPS_MAX);
	assert_true(format_number(json, "ops_count") == 20);
	assert_true(format_number(json_array_get(json_object_get(json, "ops"), 0), "count") == 0);
	assert_null(json_object_get(json, "roi"));
	json_decref(json);
	record_done(&rec);
}

static void a_job_of_many_processes_keeps_those_of_one_execution(void **state)
{
	(void)state;
	static struct rank ranks[1200];
	struct execution executions[3];
	struct record rec;
	record_init(&rec);
	for (size_t i = 0; i < 3; i++) {
		block_clear(&execution_block, &executions[i]);
		executions[i].name = i == 0 ? "warmup.0" : i == 1 ? "clean.0" : "clean.1";
		executions[i].used = i == 0 ? NO : YES;
	}
	for (size_t i = 0; i < 1200; i++) {
		block_clear(&rank_block, &ranks[i]);
		ranks[i].execution = executions[i / 400].name;
		ranks[i].roi_s = (double)i;
	}
	rec.body.executions.items = executions;
	rec.body.executions.n = 3;
	rec.body.ranks.items = ranks;
	rec.body.ranks.n = 1200;
	json_t *json = report_record(&rec);
	assert_int_equal(json_array_size(json_object_get(json, "ranks")), 400);
	assert_true(format_number(json_array_get(json_object_get(json, "ranks"), 0), "roi_s") ==
		    400);
	assert_true(format_number(json, "ranks_count") == 1200);
	json_decref(json);
	record_done(&rec);
}

/* ---- out of memory
 * ----------------------------------------------------------------------------------- */

static int allocations_left;

static void *scarce(size_t n)
{
	return allocations_left-- > 0 ? malloc(n) : NULL;
}

/* The body answers whether it came to its end; it does at last, and never leaks or falls. */
static void with_scarce_memory(bool (*body)(const void *), const void *arg)
{
	bool done = false;
	for (int n = 0; !done; n++) {
		assert_true(n < 20000);
		allocations_left = n;
		json_set_alloc_funcs(scarce, free);
		done = body(arg);
		json_set_alloc_funcs(malloc, free);
	}
}

static bool shrink_all(const void *rows)
{
	struct shrink_dict d = { 0 };
	json_t *nulls = shrink_nulls(rows), *table = shrink_table(rows);
	int place = table ? shrink_intern_take(&d, "x", json_incref(table)) : -1;
	bool done = nulls && table && place == 0;
	json_decref(nulls);
	json_decref(table);
	shrink_dict_done(&d);
	return done;
}

static bool build_all(const void *store)
{
	json_t *data = NULL;
	int rc = report_details(&data, (struct store *)(uintptr_t)store,
				&(struct report_options){ 0 }, NULL);
	assert_true((rc == 0) == (data != NULL));
	json_decref(data);
	return rc == 0;
}

static void every_failed_allocation_is_survived(void **state)
{
	struct place *p = *state;
	json_t *rows =
		parse("[{\"a\":1,\"b\":null,\"c\":[1,{\"d\":2}]},{\"a\":1,\"b\":{\"e\":3}}]");
	with_scarce_memory(shrink_all, rows);
	json_decref(rows);
	with_scarce_memory(build_all, p->store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_have_three_digits_and_a_unit),
		cmocka_unit_test(null_is_never_zero),
		cmocka_unit_test(shares_and_counts_are_short),
		cmocka_unit_test(numbers_in_names_go_by_value),
		cmocka_unit_test(nulls_and_what_is_empty_then_are_left_out),
		cmocka_unit_test(rows_become_a_table),
		cmocka_unit_test(equal_values_are_kept_once),
		cmocka_unit_test(names_stay_text_in_markdown),
		cmocka_unit_test(data_cannot_end_their_element_in_the_page),
		cmocka_unit_test(a_record_keeps_its_fifteen_largest_operations),
		cmocka_unit_test(a_job_of_many_processes_keeps_those_of_one_execution),
		cmocka_unit_test(grid_has_the_latest_result_and_what_came_after),
		cmocka_unit_test(every_failed_allocation_is_survived),
	};
	return cmocka_run_group_tests(tests, open_place, close_place);
}
