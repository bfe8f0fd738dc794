/* The record as JSON and as bytes, and what may be stored. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/fail_alloc.h"
#include "tests/unit/random_record.h"

static void assert_same_bytes(const struct buf *a, const struct buf *b)
{
	assert_false(a->failed || b->failed);
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->data, b->data, a->len);
}

static struct buf text_of(const struct record *rec)
{
	struct buf b = { 0 };
	json_t *json = record_to_json(rec);
	assert_non_null(json);
	assert_int_equal(json_text(&b, json), 0);
	json_decref(json);
	return b;
}

static struct buf bytes_of(const struct record *rec)
{
	struct buf b = { 0 };
	record_put(&b, rec);
	assert_false(b.failed);
	return b;
}

static struct buf ops_of(const struct record *rec)
{
	struct buf b = { 0 };
	record_put_ops(&b, rec);
	assert_false(b.failed);
	return b;
}

static void free_bufs(struct buf *a, struct buf *b)
{
	buf_done(a);
	buf_done(b);
}

static void from_text(struct record *rec, const char *text)
{
	json_t *json;
	struct err err = { 0 };
	if (json_parse(&json, text, strlen(text), "t", &err) || record_from_json(rec, json, &err))
		fail_msg("%s", err.text);
	json_decref(json);
}

static void refused(const char *text, const char *sentence)
{
	json_t *json = NULL;
	struct record rec;
	struct err err = { 0 };
	int rc = json_parse(&json, text, strlen(text), "t", &err);
	if (!rc) {
		rc = record_from_json(&rec, json, &err);
		record_done(&rec);
	}
	json_decref(json);
	assert_int_equal(rc, -EINVAL);
	assert_string_equal(err.text, sentence);
}

/* ---- text and bytes and back --------------------------------------------------------------- */

static void any_record_survives_text_and_bytes(void **state)
{
	(void)state;
	struct dice d = { 1 };
	for (unsigned i = 0; i < 300; i++) {
		struct record rec, again, third;
		struct err err = { 0 };
		any_record(&rec, &d, i);
		if (record_check(&rec, &err))
			fail_msg("%s", err.text);
		struct buf text = text_of(&rec), bytes = bytes_of(&rec), ops = ops_of(&rec);

		from_text(&again, text.data);
		struct buf text2 = text_of(&again), bytes2 = bytes_of(&again),
			   ops2 = ops_of(&again);
		assert_same_bytes(&text, &text2);
		assert_same_bytes(&bytes, &bytes2);
		assert_same_bytes(&ops, &ops2);

		if (record_get(&third, bytes.data, bytes.len, ops.data, ops.len, &err))
			fail_msg("%s", err.text);
		struct buf text3 = text_of(&third), bytes3 = bytes_of(&third);
		assert_same_bytes(&text, &text3);
		assert_same_bytes(&bytes, &bytes3);

		free_bufs(&text, &bytes);
		free_bufs(&text2, &bytes2);
		free_bufs(&text3, &bytes3);
		free_bufs(&ops, &ops2);
		record_done(&rec);
		record_done(&again);
		record_done(&third);
	}
}

static void nothing_is_null_and_not_zero(void **state)
{
	(void)state;
	struct record rec;
	record_init(&rec);
	struct buf b = text_of(&rec);
	assert_non_null(strstr(b.data, "\"schema\":\"roimeter-record/1\",\"run_id\":null,"));
	assert_non_null(strstr(b.data, "\"case\":null"));
	assert_non_null(strstr(b.data, "\"roi\":null,\"phases\":null"));
	assert_null(strstr(b.data, "0"));
	buf_done(&b);

	rec.body.roi.steps = 0;
	rec.body.phases.items = arena_alloc(&rec.arena, sizeof(struct phase));
	b = text_of(&rec);
	assert_non_null(strstr(b.data, "\"steps\":0,"));
	assert_non_null(strstr(b.data, "\"phases\":[]"));
	buf_done(&b);
	record_done(&rec);
}

static void numbers_are_written_short_and_exact(void **state)
{
	(void)state;
	struct record rec;
	from_text(&rec,
		  "{\"schema\":\"roimeter-record/1\",\"roi\":{\"wall_s\":0.1,\"steps\":3.0,"
		  "\"min_s\":1e22,\"max_s\":0.30000000000000004,\"entries\":9007199254740993}}");
	struct buf b = text_of(&rec);
	assert_non_null(strstr(b.data, "\"wall_s\":0.1,"));
	assert_non_null(strstr(b.data, "\"steps\":3,"));
	assert_non_null(strstr(b.data, "\"min_s\":1e22,"));
	assert_non_null(strstr(b.data, "\"max_s\":0.3,"));
	assert_non_null(strstr(b.data, "\"entries\":9007199254740990,"));
	buf_done(&b);
	record_done(&rec);
}

static void every_refusal_names_its_place(void **state)
{
	(void)state;
#define S "{\"schema\":\"roimeter-record/1\","
	refused("[]", "a record is a JSON object");
	refused("{}", "schema: expected \"roimeter-record/1\"");
	refused("{\"schema\":\"roimeter-record/2\",\"new\":1}",
		"schema: \"roimeter-record/2\" is not known, only \"roimeter-record/1\"");
	refused(S "\"roi\":{\"runs_s\":[1,2,\"x\"]}}", "roi.runs_s[2]: expected a number or null");
	refused(S "\"roi\":{\"wal_s\":1}}",
		"roi.wal_s: this key is not known in roimeter-record/1");
	refused(S "\"case_\":\"x\"}", "case_: this key is not known in roimeter-record/1");
	refused(S "\"inputs\":{\"argv\":[\"a\",null]}}", "inputs.argv[1]: expected a text");
	refused(S "\"executions\":[{},{\"used\":1}]}",
		"executions[1].used: expected true, false or null");
	refused(S "\"executions\":[null]}", "executions[0]: expected an object");
	refused(S "\"device\":{\"per_device\":{}}}", "device.per_device: expected a list or null");
	refused(S "\"app\":5}", "app: expected a text");
	refused(S "\"app\":\"a\",\"app\":\"b\"}", "t:1:45: duplicate object key near '\"app\"'");
	refused("{\n\"schema\": nan}", "t:2:13: invalid token near 'nan'");
	refused("{} {}", "t:1:4: end of file expected near '{'");
	refused("", "t:1:1: '[' or '{' expected near end of file");
#undef S
	char deep[401];
	memset(deep, '[', 200);
	memset(deep + 200, ']', 200);
	deep[400] = 0;
	refused(deep, "t:1:1: nested deeper than 64 levels");
}

/* ---- bytes of other versions, damaged bytes ------------------------------------------------ */

static void bytes_of_an_older_table_leave_new_fields_null(void **state)
{
	(void)state;
	/* Version 1; a record of three fields: schema, run_id, suite. */
	static const unsigned char old[] = { 1, 3, 5, 0, 0, 0, 2, 'x', 0, 2, 's' };
	struct record rec;
	struct err err = { 0 };
	assert_int_equal(record_get(&rec, old, sizeof old, NULL, 0, &err), 0);
	assert_string_equal(rec.body.schema, "x");
	assert_null(rec.body.run_id);
	assert_string_equal(rec.body.suite, "s");
	assert_null(rec.body.app);
	assert_true(isnan(rec.body.roi.wall_s));
	record_done(&rec);
}

/* As if a newer program had appended a field to measurement and two to the record. */
static void bytes_of_a_newer_table_are_read_as_far_as_known(void **state)
{
	(void)state;
	struct buf inner = { 0 }, b = { 0 };
	buf_put(&inner, "\2s\0\2d\0\0\0\0\0\0\0",
		12); /* schema, suite; the rest to status_text null */
	size_t n = measurement_block.count;
	char head[5] = { (char)(n + 1),
			 (char)(2 + (n - 1) + 2) }; /* fields, length in four bytes */
	buf_put(&inner, head, 5);
	buf_put(&inner, "\2t", 2);
	for (size_t i = 1; i < n; i++)
		buf_put(&inner, "", 1);
	buf_put(&inner, "\xff\xfe", 2); /* of the field that we do not know */
	for (size_t i = 11; i < record_block.count; i++)
		buf_put(&inner, "", 1);
	buf_put(&inner, "whatever it is", 14);
	assert_true(inner.len < 256);
	char top[6] = { 1, (char)(record_block.count + 2), (char)inner.len };
	buf_put(&b, top, 6);
	buf_put(&b, inner.data, inner.len);

	struct record rec;
	struct err err = { 0 };
	if (record_get(&rec, b.data, b.len, NULL, 0, &err))
		fail_msg("%s", err.text);
	assert_string_equal(rec.body.schema, "s");
	assert_string_equal(rec.body.suite, "d");
	assert_string_equal(rec.body.measurement.tool, "t");
	record_done(&rec);
	free_bufs(&b, &inner);
}

static void operations_of_other_versions_are_read_as_far_as_known(void **state)
{
	(void)state;
	struct record rec;
	/* Two operations, three columns: names new "k" and the same, categories null, counts 5, 6.
	 */
	static const unsigned char older[] = { 1, 3, 3, 4, 1, 1, 'k', 2, 2, 0, 0, 2, 10, 11 };
	assert_int_equal(record_get(&rec, "\1\0", 2, older, sizeof older, NULL), 0);
	assert_int_equal(rec.body.ops.n, 2);
	assert_string_equal(rec.body.ops.items[1].name, "k");
	assert_true(rec.body.ops.items[1].count == 6 && isnan(rec.body.ops.items[1].total_s));
	record_done(&rec);

	/* One operation, and a column more than is known. */
	assert_int_equal(op_block.count, 9);
	static const unsigned char newer[] = { 1, 2,  10, 3, 1,   1,   'k', 1,   0,  1, 9,
					       1, 0,  1,  0, 1,   0,   1,   0,   1,  0, 3,
					       3, 12, 6,  5, 'w', 'h', 'a', 't', '?' };
	assert_int_equal(record_get(&rec, "\1\0", 2, newer, sizeof newer, NULL), 0);
	assert_true(rec.body.ops.n == 1 && rec.body.ops.items[0].count == 4);
	assert_int_equal(rec.body.ops.items[0].bins.n, 2);
	assert_true(rec.body.ops.items[0].bins.items[0] == 7);
	assert_true(rec.body.ops.items[0].bins.items[1] == 1);
	record_done(&rec);
}

static void bytes_cut_anywhere_are_damaged_and_nothing_worse(void **state)
{
	(void)state;
	struct dice d = { 7 };
	struct record rec, got;
	any_record(&rec, &d, 1);
	struct buf b = bytes_of(&rec), ops = ops_of(&rec);
	for (size_t n = 0; n < b.len; n++) {
		char *cut = malloc(n + 1);
		memcpy(cut, b.data, n);
		assert_int_equal(record_get(&got, cut, n, NULL, 0, NULL), -EBADMSG);
		record_done(&got);
		free(cut);
	}
	for (size_t n = 0; n < ops.len; n++) {
		assert_int_equal(record_get(&got, b.data, b.len, ops.data, n, NULL), -EBADMSG);
		record_done(&got);
	}
	free_bufs(&b, &ops);
	record_done(&rec);
}

/* ---- operations ---------------------------------------------------------------------------- */

static void fill_ops(struct record *rec, size_t n)
{
	struct dice d = { 3 };
	double sum = 0;
	struct op *ops = arena_array(&rec->arena, n, sizeof *ops);
	for (size_t i = 0; i < n; i++) {
		block_clear(&op_block, &ops[i]);
		ops[i].name = arena_printf(&rec->arena, "kernel_%zu", i % 20);
		ops[i].category = i % 7 ? "compute" : "copy_h2d";
		ops[i].count = (double)(1 + below(&d, 5000));
		ops[i].min_s = (double)(1000 + below(&d, 100000)) / 1e9;
		ops[i].max_s = (double)(100000 + below(&d, 1000000)) / 1e9;
		ops[i].total_s = (double)((size_t)ops[i].count * (1000 + below(&d, 100000))) / 1e9;
		ops[i].avg_s = num15(ops[i].total_s / ops[i].count);
		sum += ops[i].total_s;
	}
	for (size_t i = 0; i < n; i++)
		ops[i].share = num15(ops[i].total_s / sum);
	rec->body.ops.items = ops;
	rec->body.ops.n = n;
}

static void two_hundred_operations_fit_five_kilobytes(void **state)
{
	(void)state;
	struct record rec, got;
	record_init(&rec);
	fill_ops(&rec, 200);
	struct buf ops = ops_of(&rec), text = text_of(&rec);
	print_message("# 200 operations: %zu bytes, %zu as JSON\n", ops.len, text.len);
	assert_true(ops.len < 5000);
	assert_int_equal(record_get(&got, "\1\0", 2, ops.data, ops.len, NULL), 0);
	assert_int_equal(got.body.ops.n, 200);
	got.body.schema = RECORD_SCHEMA;
	struct buf text2 = text_of(&got);
	assert_same_bytes(&text, &text2);
	free_bufs(&ops, &text);
	buf_done(&text2);
	record_done(&rec);
	record_done(&got);
}

static void a_mean_that_somebody_else_rounded_is_kept(void **state)
{
	(void)state;
	struct record rec, got;
	record_init(&rec);
	fill_ops(&rec, 3);
	rec.body.ops.items[1].avg_s = 0.123;
	rec.body.ops.items[2].share = (double)NAN;
	struct buf ops = ops_of(&rec);
	assert_int_equal(record_get(&got, "\1\0", 2, ops.data, ops.len, NULL), 0);
	assert_true(got.body.ops.items[1].avg_s == 0.123);
	assert_true(isnan(got.body.ops.items[2].share));
	buf_done(&ops);
	record_done(&rec);
	record_done(&got);
}

/* ---- check --------------------------------------------------------------------------------- */

static void lists_that_were_read_can_be_added_to(void **state)
{
	(void)state;
	for (int had = 0; had < 20; had++) {
		struct record out, in;
		record_init(&out);
		for (int i = 0; i < had; i++) {
			assert_int_equal(record_null(&out, "roi.cv", "too_few"), 0);
			assert_int_equal(record_caveat(&out, "clock", "read %d", i), 0);
		}
		struct buf b = bytes_of(&out);
		record_done(&out);
		assert_int_equal(record_get(&in, b.data, b.len, NULL, 0, NULL), 0);
		buf_done(&b);
		for (int i = had; i < 40; i++) {
			assert_int_equal(record_null(&in, "roi.cv", "too_few"), 0);
			assert_int_equal(record_caveat(&in, "clock", "read %d", i), 0);
		}
		assert_int_equal(in.body.nulls.n, 40);
		assert_int_equal(in.body.caveats.n, 40);
		for (int i = 0; i < 40; i++) {
			char text[16];
			(void)snprintf(text, sizeof text, "read %d", i);
			assert_string_equal(in.body.nulls.items[i].field, "roi.cv");
			assert_string_equal(in.body.nulls.items[i].why, "too_few");
			assert_string_equal(in.body.caveats.items[i].text, text);
		}
		record_done(&in);
	}
}

static void a_record_that_may_not_be_stored_is_told_why(void **state)
{
	(void)state;
	struct dice d = { 5 };
	struct record rec;
	struct err err;
	any_record(&rec, &d, 0);
	struct record_body *b = &rec.body, good = rec.body;
	double minus[] = { 1, -1 };
	struct caveat caveat = { .code = "Bad Code", .text = "x" };
	struct null_reason reason = { .field = "device", .why = "because" };
	assert_int_equal(record_check(&rec, &err), 0);
#define REFUSED(change, sentence)                                                                  \
	*b = good;                                                                                 \
	change;                                                                                    \
	assert_int_equal(record_check(&rec, &err), -EINVAL);                                       \
	assert_string_equal(err.text, sentence)
	REFUSED(b->app = "a b", "app: \"a b\" has a character outside A-Z a-z 0-9 . _ + -");
	REFUSED(b->case_ = NULL, "case: a name of 1 to 128 characters is needed");
	REFUSED(b->run_id = "20260230T000000Z-00000000",
		"run_id: \"20260230T000000Z-00000000\" is not a time and eight hexadecimal digits, "
		"as in "
		"20260929T045201Z-0123abcd");
	REFUSED(b->status = "fine", "status: \"fine\" is not known");
	REFUSED(b->kind = NULL, "kind: \"\" is not measured, imported, ambient or simulated");
	REFUSED(b->utc = "2026-09-29 04:52:01Z",
		"utc: \"2026-09-29 04:52:01Z\" is not a time as in 2026-09-29T04:52:01Z");
	REFUSED(b->status = "ok"; b->roi.wall_s = (double)NAN,
				  "roi.wall_s: a run that is ok has a time for its region");
	REFUSED(b->roi.steps = -1, "roi.steps: a count or a size below zero");
	REFUSED(b->device.busy_s = (double)INFINITY,
		"device.busy_s: the number is infinite; what is not known is null");
	REFUSED(b->roi.runs_s.items = minus;
		b->roi.runs_s.n = 2, "roi.runs_s[1]: a sample is a time of 0 or more");
	REFUSED(b->status_text = "\xff", "status_text: the text is not UTF-8");
	REFUSED(b->launcher.audit_ok = 5, "launcher.audit_ok: neither yes nor no");
	REFUSED(b->caveats.items = &caveat;
		b->caveats.n = 1, "caveats[0].code: \"Bad Code\" is not made of a-z 0-9 _ . -");
	REFUSED(b->nulls.items = &reason;
		b->nulls.n = 1, "nulls[0].why: \"because\" is not a reason that is known");
#undef REFUSED
	record_done(&rec);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	struct dice d = { 11 };
	struct record rec, got;
	any_record(&rec, &d, 3);
	struct buf text = text_of(&rec), bytes = bytes_of(&rec), ops = ops_of(&rec);
	json_t *json = NULL;
	for (int n = 1; fail_alloc(n); n += 1 + n / 16)
		json_decref(record_to_json(&rec));
	for (int n = 1; fail_alloc(n); n += 1 + n / 16) {
		if (json_parse(&json, text.data, text.len, "t", NULL))
			continue;
		int rc = record_from_json(&got, json, NULL);
		assert_true(rc == 0 || rc == -ENOMEM);
		record_done(&got);
		json_decref(json);
	}
	for (int n = 1; fail_alloc(n); n++) {
		int rc = record_get(&got, bytes.data, bytes.len, ops.data, ops.len, NULL);
		assert_true(rc == 0 || rc == -ENOMEM);
		record_done(&got);
	}
	for (int n = 1; fail_alloc(n); n++) {
		struct buf b = { 0 }, o = { 0 }, row = { 0 };
		record_put(&b, &rec);
		record_put_ops(&o, &rec);
		record_csv_row(&row, &rec);
		assert_true(b.failed || b.len == bytes.len);
		assert_true(o.failed || o.len == ops.len);
		free_bufs(&b, &o);
		buf_done(&row);
	}
	for (int n = 1; fail_alloc(n); n += 1 + n / 16)
		json_decref(record_json_schema());
	free_bufs(&text, &bytes);
	buf_done(&ops);
	record_done(&rec);
}

int main(void)
{
	(void)alarm(100);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_record_survives_text_and_bytes),
		cmocka_unit_test(nothing_is_null_and_not_zero),
		cmocka_unit_test(numbers_are_written_short_and_exact),
		cmocka_unit_test(every_refusal_names_its_place),
		cmocka_unit_test(bytes_of_an_older_table_leave_new_fields_null),
		cmocka_unit_test(bytes_of_a_newer_table_are_read_as_far_as_known),
		cmocka_unit_test(operations_of_other_versions_are_read_as_far_as_known),
		cmocka_unit_test(bytes_cut_anywhere_are_damaged_and_nothing_worse),
		cmocka_unit_test(two_hundred_operations_fit_five_kilobytes),
		cmocka_unit_test(a_mean_that_somebody_else_rounded_is_kept),
		cmocka_unit_test(lists_that_were_read_can_be_added_to),
		cmocka_unit_test(a_record_that_may_not_be_stored_is_told_why),
		cmocka_unit_test(every_failed_allocation_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
