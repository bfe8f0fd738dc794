/* What others see of the record's tables: the JSON Schema, the CSV columns; and the small parts
 * beside them: run ids as numbers, text made UTF-8, lists that grow. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "schema/runid.h"
#include "schema/utf8.h"
#include "store/pack.h"
#include "tests/unit/random_record.h"

/* ---- compared with files that are kept ----------------------------------------------------- */

static bool writing_golden(void)
{
	const char *golden = getenv("GOLDEN");
	return golden && !strcmp(golden, "write");
}

static void the_json_schema_is_what_the_tables_say(void **state)
{
	(void)state;
	static const char path[] = "schema/roimeter-record-1.schema.json";
	json_t *schema = record_json_schema();
	assert_non_null(schema);
	char *text = json_dumps(schema, JSON_INDENT(1));
	struct buf got = { 0 }, kept = { 0 };
	struct err err = { 0 };
	buf_printf(&got, "%s\n", text);
	if (writing_golden() && file_write(path, got.data, got.len, &err))
		fail_msg("%s", err.text);
	if (file_read(&kept, path, &err))
		fail_msg("%s", err.text);
	if (kept.len != got.len || memcmp(kept.data, got.data, got.len) != 0)
		fail_msg("%s is not what the tables say: make golden, and look at the change",
			 path);
	buf_done(&got);
	buf_done(&kept);
	free(text);
	json_decref(schema);
}

static struct buf head_lines(void)
{
	struct buf head = { 0 };
	record_csv_head(&head);
	for (size_t i = 0; i < head.len; i++)
		if (head.data[i] == ',')
			head.data[i] = '\n';
	head.len -= 2;
	head.data[head.len] = 0; /* the line end */
	buf_puts(&head, "\n");
	return head;
}

/* The names that the first release had, one on each line, are the first ones for ever. */
static void csv_columns_of_a_release_stay_where_they_are(void **state)
{
	(void)state;
	static const char path[] = "tests/golden/csv-columns-1";
	struct buf head = head_lines(), kept = { 0 };
	struct err err = { 0 };
	if (writing_golden() && access(path, F_OK) && file_write(path, head.data, head.len, &err))
		fail_msg("%s", err.text);
	if (file_read(&kept, path, &err))
		fail_msg("%s", err.text);
	assert_true(kept.len > 1000 && head.len >= kept.len);
	assert_memory_equal(head.data, kept.data, kept.len);
	buf_done(&head);
	buf_done(&kept);
}

static size_t count_cells(const char *row)
{
	size_t n = 1;
	bool quoted = false;
	for (const char *p = row; *p; p++) {
		if (*p == '"')
			quoted = !quoted;
		n += *p == ',' && !quoted;
	}
	return n;
}

static void a_csv_row_has_a_cell_for_each_column(void **state)
{
	(void)state;
	struct dice d = { 9 };
	struct buf head = { 0 };
	record_csv_head(&head);
	for (unsigned i = 0; i < 50; i++) {
		struct record rec;
		struct buf row = { 0 };
		any_record(&rec, &d, i);
		record_csv_row(&row, &rec);
		assert_int_equal(count_cells(row.data), count_cells(head.data));
		assert_string_equal(row.data + row.len - 2, "\r\n");
		buf_done(&row);
		record_done(&rec);
	}
	buf_done(&head);
}

static void csv_cells_are_quoted_and_null_is_empty(void **state)
{
	(void)state;
	struct record rec;
	struct buf row = { 0 };
	double runs[] = { 1.5, (double)NAN, 2 };
	const char *argv[] = { "a,b", "c\"d" };
	record_init(&rec);
	rec.body.app = "heat";
	rec.body.status_text = "say \"no\", then\nstop";
	rec.body.inputs.argv = (struct txts){ .items = argv, .n = 2 };
	rec.body.roi.runs_s = (struct nums){ .items = runs, .n = 3 };
	rec.body.roi.two_levels = NO;
	rec.body.roi.wall_s = 0;
	assert_int_equal(record_caveat(&rec, "one", "x"), 0);
	assert_int_equal(record_caveat(&rec, "two", "x"), 0);
	record_csv_row(&row, &rec);
	assert_non_null(
		strstr(row.data, "roimeter-record/1,,,heat,,,,,,\"say \"\"no\"\", then\nstop\",,"));
	assert_non_null(strstr(row.data, ",\"[\"\"a,b\"\",\"\"c\\\"\"d\"\"]\","));
	assert_non_null(strstr(row.data, ",0,1.5;;2,,"));
	assert_non_null(strstr(row.data, ",false,"));
	assert_non_null(strstr(row.data, ",one;two,"));
	buf_done(&row);
	record_done(&rec);
}

/* ---- run ids ------------------------------------------------------------------------------- */

static void run_ids_and_their_numbers_sort_alike(void **state)
{
	(void)state;
	static const char *const ids[] = {
		"19700101T000000Z-00000000", "19700101T000000Z-ffffffff",
		"20000229T235959Z-80000000", "20000301T000000Z-00000000",
		"20260929T045201Z-0123abcd", "20380119T031408Z-00000001",
		"20991231T235959Z-00000000", "21000301T000000Z-00000000",
		"21051231T235959Z-ffffffff",
	};
	int64_t before = INT64_MIN, key;
	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		char text[RUNID_BYTES];
		assert_true(runid_key(ids[i], &key));
		assert_true(i == 0 || key > before);
		assert_string_equal(runid_text(text, key), ids[i]);
		before = key;
	}
}

static void what_is_no_run_id_is_none(void **state)
{
	(void)state;
	static const char *const none[] = {
		"",
		"20260929T045201Z",
		"20260929T045201Z-0123ABCD",
		"20260929T045201Z-0123abcd0",
		"20260229T045201Z-0123abcd",
		"20260929T245201Z-0123abcd",
		"20260929T046001Z-0123abcd",
		"20260929T045260Z-0123abcd",
		"19690929T045201Z-0123abcd",
		"21060101T000000Z-00000000",
		"20261329T045201Z-0123abcd",
		"20260900T045201Z-0123abcd",
		"2026092 T045201Z-0123abcd",
		"20260929T045201Z-0123abc\xff",
	};
	int64_t key;
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		assert_false(runid_key(none[i], &key));
}

/* ---- text, lists --------------------------------------------------------------------------- */

static void a_new_run_id_sorts_behind_one_of_a_millisecond_ago(void **state)
{
	(void)state;
	char text[RUNID_BYTES], next[RUNID_BYTES];
	assert_string_equal(runid_make(text, 1790657521, 0, 0), "20260929T045201Z-00000000");
	assert_string_equal(runid_make(text, 1790657521, 999999999, UINT32_MAX),
			    "20260929T045201Z-ffffffff");
	(void)runid_make(text, 1790657521, 500000000, UINT32_MAX);
	assert_true(strcmp(text, runid_make(next, 1790657521, 501000000, 0)) < 0);
	/* 22 bits tell apart what begins together. */
	assert_string_equal(runid_make(text, 1790657521, 0, 0xffc00001),
			    "20260929T045201Z-00000001");
}

static void text_that_is_not_utf8_is_made_so(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"\x80",         "\xc0\xaf",         "\xe0\x80\x80",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
		"\xc3",         "0123456789\xff",
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char out[64];
		assert_false(utf8_valid(bad[i], strlen(bad[i])));
		size_t n = utf8_clean(out, bad[i], strlen(bad[i]));
		assert_true(utf8_valid(out, n));
	}
	assert_true(utf8_valid("0123456\xf4\x8f\xbf\xbf\xed\x9f\xbf\xc2\x80", 16));
	assert_false(utf8_valid("0123456789\0ab", 13));
	assert_false(utf8_valid("0\0"
				"123456789",
				11));

	struct record rec;
	record_init(&rec);
	assert_string_equal(record_text(&rec,
					"a\0\xff"
					"b",
					4),
			    "a\xef\xbf\xbd\xef\xbf\xbd"
			    "b");
	assert_null(record_text(&rec, NULL, 0));
	rec.body.status_text = "\xff"; /* shown as well as can be, and not stored */
	json_t *json = record_to_json(&rec);
	assert_string_equal(json_string_value(json_object_get(json, "status_text")),
			    "\xef\xbf\xbd");
	json_decref(json);
	record_done(&rec);
}

static void caveats_grow(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(record_caveat(&rec, "code", "number %d", i), 0);
		assert_int_equal(record_null(&rec, "roi.steps", "lost"), 0);
	}
	assert_int_equal(rec.body.caveats.n, 100);
	assert_int_equal(rec.body.nulls.n, 100);
	for (int i = 0; i < 100; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "number %d", i);
		assert_string_equal(rec.body.caveats.items[i].text, text);
		assert_string_equal(rec.body.nulls.items[i].why, "lost");
	}
	record_done(&rec);
}

/* ---- num15, against text ------------------------------------------------------------------- */

static void num15_is_what_text_says(void **state)
{
	(void)state;
	struct dice d = { 15 };
	for (int i = 0; i < 200000; i++) {
		double x = ldexp((double)roll(&d) / 1.8446744073709552e19 + 0.5,
				 (int)below(&d, 90) - 30);
		if (i % 3 == 0)
			x = (double)roll(&d) / (double)(1 + below(&d, 100000));
		if (i % 7 == 0)
			x = -x;
		char text[32];
		(void)snprintf(text, sizeof text, "%.15g", x);
		double wanted = strtod(text, NULL), got = num15(x);
		if (memcmp(&wanted, &got, sizeof got) != 0)
			fail_msg("%.17g: %.17g, by text %.17g", x, got, wanted);
	}
	assert_true(isnan(num15((double)NAN)) && isinf(num15((double)INFINITY)));
	assert_true(signbit(num15(-0.0)));
}

/* ---- packed blobs -------------------------------------------------------------------------- */

static void what_is_packed_is_unpacked(void **state)
{
	(void)state;
	struct pack *p = pack_new();
	struct dice d = { 16 };
	for (size_t n = 1; n < 200000; n = n * 3 + 1) {
		for (int kind = 0; kind < 2; kind++) {
			struct buf plain = { 0 }, back = { 0 };
			const void *stored, *got;
			size_t stored_n, got_n;
			for (size_t i = 0; i < n; i++) {
				char byte = (char)(kind ? roll(&d) & 0x7f : (i % 50) + 1);
				buf_put(&plain, i ? &byte : "\1", 1);
			}
			pack_put(p, &plain, &stored, &stored_n);
			assert_true(stored_n <= n && (kind || n < 2048 || stored_n < n / 2));
			assert_int_equal(pack_get(stored, stored_n, &back, &got, &got_n), 0);
			assert_int_equal(got_n, n);
			assert_memory_equal(got, plain.data, n);
			if (stored_n < n) {
				buf_done(&back);
				assert_int_equal(
					pack_get(stored, stored_n - 1, &back, &got, &got_n),
					-EBADMSG);
			}
			buf_done(&plain);
			buf_done(&back);
		}
	}
	/* A frame that promises more than anybody would store. */
	static const unsigned char bomb[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
					      0,    0,    1,    0,    0,    1, 0, 0 };
	struct buf back = { 0 };
	const void *got;
	size_t got_n;
	assert_int_equal(pack_get(bomb, sizeof bomb, &back, &got, &got_n), -EBADMSG);
	pack_free(p);
	pack_free(NULL);
}

int main(void)
{
	(void)alarm(100);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_json_schema_is_what_the_tables_say),
		cmocka_unit_test(csv_columns_of_a_release_stay_where_they_are),
		cmocka_unit_test(a_csv_row_has_a_cell_for_each_column),
		cmocka_unit_test(csv_cells_are_quoted_and_null_is_empty),
		cmocka_unit_test(run_ids_and_their_numbers_sort_alike),
		cmocka_unit_test(what_is_no_run_id_is_none),
		cmocka_unit_test(a_new_run_id_sorts_behind_one_of_a_millisecond_ago),
		cmocka_unit_test(text_that_is_not_utf8_is_made_so),
		cmocka_unit_test(caveats_grow),
		cmocka_unit_test(num15_is_what_text_says),
		cmocka_unit_test(what_is_packed_is_unpacked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
