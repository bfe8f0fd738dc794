/* XLA's profiles of GPUs and TPUs: every number as it was computed by others, picoseconds rounded
 * as they should be, and what is broken is refused with its place. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import/trace_xplane_impl.h"
#include "tests/unit/trace_record.h"

#define HERE "tests/fixtures/device/"
#define SHARED "../shared/data/device/"

static int read_bytes(struct trace_sink *t, const void *bytes, size_t n, struct err *err)
{
	char *exact = malloc(n + !n);
	assert_non_null(exact);
	memcpy(exact, bytes, n);
	struct str all = { exact, n };
	int rc = xplane_read_bytes(all, "FILE", TRACE_RANGES, t, err);
	if (!rc)
		rc = xplane_read_bytes(all, "FILE", TRACE_OPERATIONS, t, err);
	free(exact);
	return rc;
}

/* ---- a profile of our own
 * ------------------------------------------------------------------------ */

static void put_varint(struct buf *b, uint64_t x)
{
	do {
		char c = (char)((x & 127) | (x > 127 ? 128 : 0));
		buf_put(b, &c, 1);
		x >>= 7;
	} while (x);
}

static void put_number(struct buf *b, unsigned field, uint64_t x)
{
	put_varint(b, field << 3);
	put_varint(b, x);
}

static void put_bytes(struct buf *b, unsigned field, const void *bytes, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	buf_put(b, bytes, n);
}

/* Takes the inner one. */
static void put_inner(struct buf *b, unsigned field, struct buf *inner)
{
	put_bytes(b, field, inner->len ? inner->data : "", inner->len);
	buf_done(inner);
}

static void put_text(struct buf *b, unsigned field, const char *text)
{
	put_bytes(b, field, text, strlen(text));
}

/* An entry of event_metadata (4) or stat_metadata (5). */
static void put_meta(struct buf *plane, unsigned field, uint64_t id, const char *name)
{
	struct buf entry = { 0 }, meta = { 0 };
	put_number(&meta, 1, id);
	put_text(&meta, 2, name);
	put_number(&entry, 1, id);
	put_inner(&entry, 2, &meta);
	put_inner(plane, field, &entry);
}

static void put_event(struct buf *line, uint64_t meta, uint64_t offset_ps, uint64_t duration_ps,
		      struct buf *stat)
{
	struct buf e = { 0 };
	put_number(&e, 1, meta);
	put_number(&e, 2, offset_ps);
	put_number(&e, 3, duration_ps);
	if (stat)
		put_inner(&e, 4, stat);
	put_inner(line, 4, &e);
}

static struct buf line_of(const char *name, int64_t ns)
{
	struct buf line = { 0 };
	put_text(&line, 2, name);
	put_number(&line, 3, (uint64_t)ns);
	return line;
}

static void read_made(struct trace_sink *t, struct buf *space)
{
	struct err err = { 0 };
	if (read_bytes(t, space->data, space->len, &err))
		fail_msg("%s", err.text);
	buf_done(space);
}

static void refuses(struct buf *space, const char *word)
{
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	assert_int_equal(read_bytes(&t, space->len ? space->data : "", space->len, &err), -EINVAL);
	if (!strstr(err.text, word) || !strstr(err.text, "FILE: byte"))
		fail_msg("no \"%s\" in: %s", word, err.text);
	buf_done(space);
	sink_done(&t);
}

/* ---- files of others
 * ------------------------------------------------------------------------------- */

static void every_window_of(const char *folder, const char *name)
{
	char path[256], expected[256];
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	struct buf b;
	(void)snprintf(path, sizeof path, "%s%s", folder, name);
	(void)snprintf(expected, sizeof expected, "%sexpected/%s.json", folder, name);
	assert_true(plain_bytes(path, &b));
	if (read_bytes(&t, b.data, b.len, &err))
		fail_msg("%s: %s", path, err.text);
	assert_true(expect_file(&t, expected));
	assert_int_equal(t.n_devices, 8); /* also those that did nothing */
	assert_true(t.calls_seen && t.calls > 0);
	assert_string_equal(t.runtime, "hip");
	assert_true(t.has_epoch);
	assert_true(t.n_ranges > 0);
	buf_done(&b);
	sink_done(&t);
}

static void every_number_is_as_others_computed_it(void **state)
{
	(void)state;
	every_window_of(HERE, "xplane-mi350-jax-attn.xplane.pb.gz");
}

static void every_number_of_the_shared_files(void **state)
{
	(void)state;
	if (access(SHARED "README.md", R_OK))
		skip(); /* ../shared/data/device is not here */
	every_window_of(SHARED, "xplane-mi350-jax-attn.xplane.pb.gz");
	every_window_of(SHARED, "xplane-mi300-jax-conv.xplane.pb.gz");
}

/* ---- meanings
 * ------------------------------------------------------------------------------------------ */

static void copies_have_directions_and_sizes(void **state)
{
	(void)state;
	static const char *const names[] = { "MemcpyH2D",          "MemcpyD2H",
					     "MemcpyD2D",          "MemcpyP2P",
					     "CopyDeviceToDevice", "Memset",
					     "CopyStuff_kernel",   "ncclDevKernel_AllGather" };
	static const enum category want[] = { COPY_H2D, COPY_D2H, COPY_D2D, COPY_OTHER,
					      COPY_D2D, FILL,     COMPUTE,  COLLECTIVE };
	struct buf space = { 0 }, plane = { 0 }, line = line_of("Stream #1(Memcpy)", 100);
	struct trace_sink t = { 0 };
	for (uint64_t i = 0; i < 8; i++) {
		struct buf stat = { 0 };
		put_number(&stat, 1, i == 5 ? 51 : 50);
		if (i == 1)
			put_number(&stat, 7, 60); /* the text is the name of another stat */
		else
			put_text(&stat, 5,
				 i == 5 ? "kind:Device num_bytes:512 value:0"
					: "kind:x size:4096 dest:0 async:1");
		put_event(&line, i + 1, i * 10000, 5000, &stat);
	}
	put_text(&plane, 2, "/device:GPU:3");
	put_inner(&plane, 3, &line);
	for (uint64_t i = 0; i < 8; i++)
		put_meta(&plane, 4, i + 1, names[i]);
	put_meta(&plane, 5, 50, "memcpy_details");
	put_meta(&plane, 5, 51, "memset_details");
	put_meta(&plane, 5, 60, "kind:y size:77");
	put_inner(&space, 1, &plane);
	read_made(&t, &space);
	assert_int_equal(t.n_ops, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(t.ops[i].category, want[i]);
		assert_int_equal(t.ops[i].begin, 100 + 10 * i);
		assert_int_equal(t.ops[i].end, 105 + 10 * i);
	}
	assert_true(t.ops[0].bytes == 4096 && t.ops[1].bytes == 77 && t.ops[5].bytes == 512);
	assert_true(isnan(t.ops[6].bytes));
	assert_string_equal(t.devices[0], "/device:GPU:3");
	sink_done(&t);
}

static void lines_that_are_derived_are_no_work(void **state)
{
	(void)state;
	struct buf space = { 0 }, gpu = { 0 }, tpu = { 0 };
	static const char *const gpu_lines[] = { "Stream #1", "XLA Ops",       "XLA Modules",
						 "Steps",     "Framework Ops", "Source code" };
	static const char *const tpu_lines[] = { "XLA Ops", "Async XLA Ops", "XLA Modules", "Steps",
						 "Stream #1" };
	static const char *const ops[] = { "%fusion.1", "%all-reduce.2", "infeed.3",
					   "copy-start.4" };
	struct trace_sink t = { 0 };
	put_text(&gpu, 2, "/device:GPU:0");
	for (size_t i = 0; i < sizeof gpu_lines / sizeof *gpu_lines; i++) {
		struct buf line = line_of(gpu_lines[i], 0);
		put_event(&line, 1, 1000, 1000, NULL);
		put_inner(&gpu, 3, &line);
	}
	put_text(&tpu, 2, "/device:TPU:0");
	for (size_t i = 0; i < sizeof tpu_lines / sizeof *tpu_lines; i++) {
		struct buf line = line_of(tpu_lines[i], 0);
		for (uint64_t k = 0; k < 4; k++)
			put_event(&line, k + 1, 1000, 1000, NULL);
		put_inner(&tpu, 3, &line);
	}
	for (uint64_t k = 0; k < 4; k++)
		put_meta(&tpu, 4, k + 1, ops[k]);
	put_inner(&space, 1, &gpu);
	put_inner(&space, 1, &tpu);
	read_made(&t, &space);
	static const enum category want[] = { COMPUTE,    COMPUTE, COLLECTIVE,
					      OTHER,      COMPUTE, COPY_OTHER,
					      COLLECTIVE, OTHER,   COPY_OTHER };
	assert_int_equal(t.n_ops, 9);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(t.ops[i].category, want[i]);
	assert_string_equal(t.names[t.ops[0].name], "(no name)");
	assert_int_equal(t.observes, (1u << CATEGORIES) - 1);
	sink_done(&t);
}

static void picoseconds_are_rounded_each_by_itself(void **state)
{
	(void)state;
	static const struct {
		uint64_t offset, duration;
		int64_t begin, end;
	} cases[] = {
		{ 1499, 1000, 1001, 1002 }, { 1500, 1000, 1002, 1002 }, { 1501, 998, 1002, 1002 },
		{ 2500, 1001, 1002, 1004 }, { 499, 1, 1000, 1000 },     { 500, 1001, 1000, 1002 },
		{ (uint64_t)-1499, 2000, 999, 1001 }, /* before the line's own time */
		{ (uint64_t)-1500, 2000, 998, 1000 }, { 5000, (uint64_t)-2000, 1005, 1003 },
	};
	struct buf space = { 0 }, plane = { 0 }, line = line_of("Stream #1", 1000);
	struct trace_sink t = { 0 };
	size_t timed = 0;
	put_text(&plane, 2, "/device:GPU:0");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		put_event(&line, 1, cases[i].offset, cases[i].duration, NULL);
	put_inner(&plane, 3, &line);
	put_inner(&space, 1, &plane);
	read_made(&t, &space);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (cases[i].end <= cases[i].begin)
			continue;
		assert_int_equal(t.ops[timed].begin, cases[i].begin);
		assert_int_equal(t.ops[timed].end, cases[i].end);
		timed++;
	}
	assert_int_equal(t.n_ops, timed);
	assert_int_equal(t.untimed, sizeof cases / sizeof *cases - timed);
	sink_done(&t);
}

static void events_that_are_summed_up_have_no_time(void **state)
{
	(void)state;
	struct buf space = { 0 }, plane = { 0 }, line = line_of("Stream #1", 0), e = { 0 };
	struct trace_sink t = { 0 };
	put_number(&e, 1, 1);
	put_number(&e, 3, 5000);
	put_number(&e, 5, 12); /* num_occurrences */
	put_inner(&line, 4, &e);
	put_text(&plane, 2, "/device:GPU:0");
	put_inner(&plane, 3, &line);
	put_inner(&space, 1, &plane);
	read_made(&t, &space);
	assert_int_equal(t.n_ops, 0);
	assert_int_equal(t.untimed, 12);
	sink_done(&t);
}

static void no_device_is_null(void **state)
{
	(void)state;
	struct buf space = { 0 }, plane = { 0 }, task = { 0 }, stat = { 0 };
	struct trace_sink t = { 0 };
	put_text(&plane, 2, "/host:CPU");
	struct buf line = line_of("python", 50);
	put_event(&line, 1, 1000, 1000, NULL);
	put_inner(&plane, 3, &line);
	put_meta(&plane, 4, 1, "train");
	put_inner(&space, 1, &plane);
	put_text(&task, 2, "Task Environment");
	put_number(&stat, 1, 9);
	put_number(&stat, 3, 1700000000000000000);
	put_inner(&task, 6, &stat);
	put_meta(&task, 5, 9, "profile_start_time");
	put_inner(&space, 1, &task);
	put_text(&space, 4, "node7");
	read_made(&t, &space);
	assert_int_equal(t.observes, 0);
	assert_int_equal(t.n_ranges, 1);
	assert_string_equal(t.ranges[0].name, "train");
	assert_int_equal(t.ranges[0].begin, 51);
	assert_int_equal(t.epoch, 1700000000000000000);
	assert_string_equal(t.processes[0].host, "node7");
	assert_false(t.calls_seen);
	sink_done(&t);
}

/* ---- what is broken
 * -------------------------------------------------------------------------------------- */

static void cut_anywhere_is_refused_or_ends_between_planes(void **state)
{
	(void)state;
	struct buf b;
	assert_true(plain_bytes(HERE "xplane-mi350-jax-attn.xplane.pb.gz", &b));
	size_t good = 0, tried = 0;
	for (size_t n = 0; n < b.len; n += n < 300 || n + 300 > b.len ? 1 : 499) {
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		int rc = read_bytes(&t, b.data, n, &err);
		assert_true(rc == 0 || rc == -EINVAL);
		assert_true(rc == 0 || strstr(err.text, "byte"));
		good += rc == 0;
		tried++;
		sink_done(&t);
	}
	/* Nothing in the form says how many planes there are. */
	assert_true(good <= 13 && tried > 700);
	buf_done(&b);
}

static void what_is_no_profile_is_refused(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	refuses(&b, "no plane");
	buf_puts(&b, "{\"traceEvents\": []}");
	refuses(&b, "wire type");
	buf_puts(&b, "SQLite format 3");
	refuses(&b, "wire type");
	put_number(&b, 2, 5);
	refuses(&b, "no plane");
	buf_put(&b, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11);
	refuses(&b, "over 64 bits");
	buf_put(&b,
		"\x0a\x05"
		"ab",
		4);
	refuses(&b, "over the end");
	buf_put(&b,
		"\x02\x01"
		"a",
		3);
	refuses(&b, "field number");
	buf_put(&b, "\x0d\x01\x02", 3);
	refuses(&b, "in the middle of a number");
	for (int type = 3; type < 8; type++) {
		char key = (char)(1 << 3 | type);
		if (type == 5)
			continue;
		buf_put(&b, &key, 1);
		refuses(&b, "wire type");
	}
	assert_true(plain_bytes(HERE "malformed-xplane-tpu.pb", &b));
	assert_int_equal(read_bytes(&t, b.data, b.len, &err), -EINVAL);
	assert_int_equal(t.n_ops, 0);
	buf_done(&b);
	sink_done(&t);
}

static void times_that_cannot_be_are_refused(void **state)
{
	(void)state;
	static const struct {
		int64_t line_ns;
		uint64_t offset, duration;
	} cases[] = {
		{ -1, 0, 1 },
		{ INT64_MAX, 0, 1 },
		{ 0, UINT64_MAX, 1 },
		{ 0, INT64_MAX, 5 },
		{ 5, (uint64_t)-7000, 1 },
		{ (int64_t)1 << 62, 1000, 1000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf space = { 0 }, plane = { 0 },
			   line = line_of("Stream #1", cases[i].line_ns);
		put_event(&line, 1, cases[i].offset, cases[i].duration, NULL);
		put_text(&plane, 2, "/device:GPU:0");
		put_inner(&plane, 3, &line);
		put_inner(&space, 1, &plane);
		refuses(&space, "146 years");
	}
}

static void no_memory_at_any_step(void **state)
{
	(void)state;
	struct buf b;
	assert_true(plain_bytes(HERE "xplane-mi350-jax-attn.xplane.pb.gz", &b));
	for (int n = 1, rc = -ENOMEM; rc; n += n < 50 ? 1 : 97) {
		struct trace_sink t = { .fail_after = n, .wants = "none" };
		struct err err = { 0 };
		rc = read_bytes(&t, b.data, b.len, &err);
		if (rc) {
			assert_int_equal(rc, -ENOMEM);
			assert_true(err.text[0]);
		}
		sink_done(&t);
	}
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_as_others_computed_it),
		cmocka_unit_test(every_number_of_the_shared_files),
		cmocka_unit_test(copies_have_directions_and_sizes),
		cmocka_unit_test(lines_that_are_derived_are_no_work),
		cmocka_unit_test(picoseconds_are_rounded_each_by_itself),
		cmocka_unit_test(events_that_are_summed_up_have_no_time),
		cmocka_unit_test(no_device_is_null),
		cmocka_unit_test(cut_anywhere_is_refused_or_ends_between_planes),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(times_that_cannot_be_are_refused),
		cmocka_unit_test(no_memory_at_any_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
