/* PyTorch traces of NVIDIA and AMD: every number as it was computed by others, in pieces of any
 * size, and what is broken is refused with its place. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glob.h>

#include <cmocka.h>

#include "import/trace_kineto_impl.h"
#include "import/trace_micro.h"
#include "tests/unit/trace_record.h"

#define HERE "tests/fixtures/device/"
#define SHARED "../shared/data/device/"

struct pieces {
	const char *bytes;
	size_t n, at, piece;
};

/* Each piece in memory of its own, so that a look behind it is one too many. */
static int next_piece(void *arg, const char **ret, size_t *ret_n, struct err *err)
{
	struct pieces *p = arg;
	static char *lent;
	(void)err;
	free(lent);
	lent = NULL;
	size_t n = p->n - p->at < p->piece ? p->n - p->at : p->piece;
	*ret = lent = malloc(n + !n);
	assert_non_null(lent);
	memcpy(lent, p->bytes + p->at, n);
	*ret_n = n;
	p->at += n;
	if (!n) {
		free(lent);
		lent = NULL;
	}
	return 0;
}

static int read_pass(struct trace_sink *t, const char *bytes, size_t n, size_t piece,
		     enum trace_pass pass, struct err *err)
{
	struct pieces p = { bytes, n, 0, piece };
	struct json_pull in = { .next = next_piece, .arg = &p, .path = "FILE" };
	int rc = kineto_read_bytes(&in, pass, t, err);
	const char *rest;
	size_t rest_n;
	p.at = p.n;
	(void)next_piece(&p, &rest, &rest_n, NULL); /* gives the last piece back */
	return rc;
}

static int read_bytes(struct trace_sink *t, const char *bytes, size_t n, size_t piece,
		      struct err *err)
{
	int rc = read_pass(t, bytes, n, piece, TRACE_RANGES, err);
	return rc ? rc : read_pass(t, bytes, n, piece, TRACE_OPERATIONS, err);
}

static void read_text(struct trace_sink *t, const char *text)
{
	struct err err = { 0 };
	if (read_bytes(t, text, strlen(text), 1 << 20, &err))
		fail_msg("%s", err.text);
}

static void refuses(const char *text, const char *word)
{
	for (size_t piece = 1; piece < 100; piece += 49) {
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		assert_int_equal(read_bytes(&t, text, strlen(text), piece, &err), -EINVAL);
		if (!strstr(err.text, word) || !strstr(err.text, "FILE"))
			fail_msg("no \"%s\" in: %s", word, err.text);
		sink_done(&t);
	}
}

/* ---- files of others ---------------------------------------------------------------------------
 */

static void every_window_of(const char *path, const char *expected, size_t piece)
{
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	struct buf b;
	assert_true(plain_bytes(path, &b));
	if (read_bytes(&t, b.data, b.len, piece, &err))
		fail_msg("%s: %s", path, err.text);
	assert_true(expect_file(&t, expected));
	buf_done(&b);
	sink_done(&t);
}

static void each_file_of(const char *folder, size_t piece)
{
	char pattern[256];
	glob_t found;
	(void)snprintf(pattern, sizeof pattern, "%skineto-*.json.gz", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 7);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];
		char expected[512];
		(void)snprintf(expected, sizeof expected, "%sexpected/%s.json", folder,
			       strrchr(path, '/') + 1);
		every_window_of(path, expected, piece);
	}
	globfree(&found);
}

static void every_number_is_as_others_computed_it(void **state)
{
	(void)state;
	each_file_of(HERE, 1 << 20);
	each_file_of(HERE, 97);
	each_file_of(HERE, 4096);
}

static void every_number_of_the_shared_files(void **state)
{
	(void)state;
	if (access(SHARED "README.md", R_OK))
		skip(); /* ../shared/data/device is not here */
	each_file_of(SHARED, 256 << 10);
}

static void what_stands_around_the_events_is_told(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	struct buf b;
	assert_true(plain_bytes(HERE "kineto-sglang-decode.json.gz", &b));
	assert_int_equal(read_bytes(&t, b.data, b.len, 4096, &err), 0);
	assert_string_equal(t.runtime, "hip7.2");
	assert_true(t.calls_seen);
	assert_int_equal(t.calls, 29);
	assert_true(t.syncs > 0);
	assert_true(t.has_epoch);
	assert_int_equal(t.epoch, 1775078550000000000);
	assert_int_equal(t.n_processes, 1);
	assert_string_equal(t.processes[0].pid, "251");
	assert_string_equal(t.processes[0].rank, "0");
	assert_string_equal(t.devices[0], "0 AMD Instinct MI300X");
	assert_int_equal(t.observes, (1u << CATEGORIES) - 1 - (1u << OTHER));
	assert_string_equal(t.devices[t.ops[0].device], "9");
	buf_done(&b);
	sink_done(&t);
}

static void no_word_of_a_device_is_null_and_an_idle_one_is_0(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	struct buf b;
	assert_true(plain_bytes(HERE "kineto-cpu-only.json.gz", &b));
	assert_int_equal(read_bytes(&t, b.data, b.len, 4096, &err), 0);
	assert_int_equal(t.observes, 0);
	assert_false(t.calls_seen);
	assert_int_equal(t.n_ranges, 11);
	buf_done(&b);
	sink_done(&t);
#define PROPERTIES "\"deviceProperties\": [{\"id\": 0, \"name\": \"D\"}], "
#define CALL_OF(name)                                                                              \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name "\",\"ts\":1,\"dur\":2}"
	read_text(&t, "{" PROPERTIES "\"traceEvents\": [" CALL_OF("cudaLaunchKernel") "]}");
	assert_int_equal(t.observes, (1u << CATEGORIES) - 1 - (1u << OTHER));
	assert_int_equal(t.n_devices, 1);
	assert_string_equal(t.runtime, "cuda");
	sink_done(&t);
	/* A build with CUDA lists the devices also when it watches the CPU only. */
	read_text(&t, "{" PROPERTIES "\"traceEvents\": []}");
	assert_int_equal(t.observes, 0);
	sink_done(&t);
}

/* ---- forms that JSON may have
 * -------------------------------------------------------------------- */

static void keys_come_in_any_order_and_around_anything(void **state)
{
	(void)state;
	static const char text[] =
		"\n [ "
		"{\"args\":{\"x\":[{\"}\":\"]\\\"\"}],\"bytes\":\"12\",\"n\":{\"device\":5},"
		"\"device\":\"7\"},"
		"\"dur\":\"1.5\",\"ts\":1000,\"o\":[[],{}],\"name\":\"Memcpy DtoH "
		"\\u00e9\\\"\\ud83d\\ude00\","
		"\"pid\":\"a b\",\"cat\":\"gpu_Memcpy\",\"ph\":\"X\"} ,\t{}\r\n, "
		"{\"ph\":\"M\",\"name\":[\"}\"]},"
		"{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":3,\"ts\":5,\"dur\":1},"
		"{\"cat\":\"user_annotation\",\"name\":\"r\",\"ts\":1,\"dur\":9.0,\"ph\":\"X\","
		"\"args\":{\"v\":NaN}}, "
		"{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"r\",\"ts\":1,\"dur\":9,"
		"\"pid\":0}] ";
	for (size_t piece = 1; piece < sizeof text; piece++) {
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		if (read_bytes(&t, text, strlen(text), piece, &err))
			fail_msg("%zu: %s", piece, err.text);
		assert_int_equal(t.n_ops, 2);
		assert_int_equal(t.ops[0].category, COPY_D2H);
		assert_int_equal(t.ops[0].begin, 1000000);
		assert_int_equal(t.ops[0].end, 1001500);
		assert_true(t.ops[0].bytes == 12);
		assert_string_equal(t.devices[t.ops[0].device], "7");
		assert_string_equal(t.devices[t.ops[1].device], "3");
		assert_string_equal(t.names[t.ops[0].name],
				    "Memcpy DtoH \xc3\xa9\"\xf0\x9f\x98\x80");
		assert_true(isnan(t.ops[1].bytes));
		assert_int_equal(t.n_ranges, 1);
		assert_int_equal(t.ranges[0].end, 10000);
		assert_false(t.has_epoch);
		sink_done(&t);
	}
}

#define OP(cat, name, args)                                                                        \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name                                       \
	"\",\"ts\":1,\"dur\":1,\"pid\":0,\"args\":{" args "}}"
#define EVENTS(list) "{\"traceEvents\":[" list "]}"

static void names_tell_directions_and_collectives(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	static const enum category want[] = { COPY_H2D, COPY_D2H, COPY_D2D, COPY_OTHER, COPY_OTHER,
					      COPY_D2D, COPY_H2D, FILL,     COLLECTIVE, COMPUTE,
					      COMPUTE,  COPY_H2D, FILL,     COMPUTE,    OTHER };
	read_text(
		&t,
		EVENTS(OP("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "") "," OP("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", "") "," OP(
			"gpu_memcpy", "Memcpy DtoD (Device -> Device)",
			"") "," OP("gpu_memcpy", "Memcpy PtoP",
				   "") "," OP("gpu_memcpy", "Memcpy HtoH",
					      "") "," OP("memcpy", "CopyDeviceToDevice",
							 "") "," OP("gpu_memcpy", "copy",
								    "\"kind\":\"HtoD\"") "," OP("gp"
												"u_"
												"me"
												"ms"
												"e"
												"t",
												"Me"
												"ms"
												"e"
												"t",
												"") "," OP("kernel",
													   "ncclDevKernel_AllReduce",
													   "") "," OP("kernel",
														      "__amd_rocclr_copyBuffer",
														      "") "," OP("KERNEL",
																 "MemcpyHtoD",
																 "") "," OP("gpu_op",
																	    "zeCommandListAppendMemoryCopy(H2D)[8 bytes]",
																	    "") "," OP("gpu_op",
																		       "zeCommandListAppendMemoryFill(D)[8 bytes]",
																		       "") "," OP("gpu_op",
																				  "gemm_kernel",
																				  "") "," OP("gpu_op",
																					     "zeCommandListAppendBarrier",
																					     "")));
	assert_int_equal(t.n_ops, sizeof want / sizeof *want);
	for (size_t i = 0; i < t.n_ops; i++)
		assert_int_equal(t.ops[i].category, want[i]);
	assert_int_equal(t.observes, (1u << CATEGORIES) - 1);
	sink_done(&t);
}

static void sizes_that_cannot_be_are_not_known(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_text(
		&t,
		EVENTS(OP("gpu_memcpy", "a", "\"bytes\":-1") "," OP("gpu_memcpy", "a", "\"bytes\":1e300") "," OP(
			"gpu_memcpy", "a",
			"\"bytes\":1.5") "," OP("gpu_memcpy", "a",
						"\"bytes\":null") "," OP("gpu_memcpy", "a",
									 "\"bytes\":1e3")));
	for (size_t i = 0; i < 4; i++)
		assert_true(isnan(t.ops[i].bytes));
	assert_true(t.ops[4].bytes == 1000);
	assert_non_null(strstr(t.notes, "3 copies"));
	sink_done(&t);
}

static void operations_without_a_time_are_counted(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_text(&t,
		  EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1},"
			 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"dur\":1},"
			 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":0},"
			 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":5,\"dur\":-2},"
			 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":null,\"dur\":2},"
			 "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"a\",\"ts\":5}"));
	assert_int_equal(t.n_ops, 0);
	assert_int_equal(t.untimed, 5);
	assert_non_null(strstr(t.notes, "1 annotated ranges have no time"));
	sink_done(&t);
}

static void times_are_exact(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum micro_is is;
		int64_t ns;
	} cases[] = {
		{ "0", MICRO_OK, 0 },
		{ "1712195495505583.1", MICRO_OK, 1712195495505583100 },
		{ "1712195495505583.127", MICRO_OK, 1712195495505583127 },
		{ "1712195495505583.1274", MICRO_OK, 1712195495505583127 },
		{ "1712195495505583.1275", MICRO_OK,
		  1712195495505583128 }, /* 127.5: to the even one */
		{ "1712195495505583.1265", MICRO_OK, 1712195495505583126 },
		{ "1712195495505583.12650000000000001", MICRO_OK, 1712195495505583127 },
		{ "0.0005", MICRO_OK, 0 },
		{ "0.00050000000000000000000000000000000000000000000000000001", MICRO_OK, 1 },
		{ "0.0015", MICRO_OK, 2 },
		{ "1.7121954955055831e15", MICRO_OK, 1712195495505583100 },
		{ "17121954955055831E-1", MICRO_OK, 1712195495505583100 },
		{ "12e+2", MICRO_OK, 1200000 },
		{ "1e-60", MICRO_OK, 0 },
		{ "0e99999999999999999999", MICRO_OK, 0 },
		{ "4611686018427386", MICRO_OK, 4611686018427386000 },
		{ "4611686018427387.9", MICRO_TOO_LARGE, 0 },
		{ "99999999999999999", MICRO_TOO_LARGE, 0 },
		{ "1e99999999999999999999", MICRO_TOO_LARGE, 0 },
		{ "", MICRO_NOT_A_NUMBER, 0 },
		{ "-", MICRO_NOT_A_NUMBER, 0 },
		{ "1.", MICRO_NOT_A_NUMBER, 0 },
		{ ".5", MICRO_NOT_A_NUMBER, 0 },
		{ "01", MICRO_NOT_A_NUMBER, 0 },
		{ "1e", MICRO_NOT_A_NUMBER, 0 },
		{ "1e+", MICRO_NOT_A_NUMBER, 0 },
		{ "1 ", MICRO_NOT_A_NUMBER, 0 },
		{ "1.5.5", MICRO_NOT_A_NUMBER, 0 },
		{ "0x10", MICRO_NOT_A_NUMBER, 0 },
	};
	struct micro m;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (micro_parse(str_of(cases[i].text), &m) != cases[i].is)
			fail_msg("%s: not %d", cases[i].text, cases[i].is);
		if (cases[i].is == MICRO_OK && micro_round(m) != cases[i].ns)
			fail_msg("%s: %lld", cases[i].text, (long long)micro_round(m));
	}
	assert_int_equal(micro_parse(str_of("-2.5"), &m), MICRO_OK);
	assert_true(m.below);
	assert_int_equal(m.ns, 2500);
	/* Rounded once, after the sum: 0.5 + 0.5 ns is one. */
	struct micro half;
	assert_int_equal(micro_parse(str_of("0.0005"), &half), MICRO_OK);
	assert_int_equal(micro_round(micro_add(half, half)), 1);
}

/* ---- what is broken
 * -------------------------------------------------------------------------------- */

static void cut_anywhere_is_refused(void **state)
{
	(void)state;
	struct buf b;
	assert_true(plain_bytes(HERE "kineto-event-sync.json.gz", &b));
	size_t whole = b.len;
	while (whole && strchr(" \n", b.data[whole - 1]))
		whole--;
	for (size_t n = 0; n < whole; n += n < 2000 || n + 200 > whole ? 1 : 37) {
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		char *exact = malloc(n + 1);
		memcpy(exact, b.data, n);
		int rc = read_bytes(&t, exact, n, 1 << 20, &err);
		if (rc != -EINVAL || !strstr(err.text, "byte"))
			fail_msg("cut after %zu: %d %s", n, rc, err.text);
		free(exact);
		sink_done(&t);
	}
	buf_done(&b);
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	assert_true(plain_bytes(HERE "malformed-truncated.json", &b));
	assert_int_equal(read_bytes(&t, b.data, b.len, 4096, &err), -EINVAL);
	assert_non_null(strstr(err.text, "byte 15090: the file ends here"));
	assert_int_equal(t.n_ops, 0);
	buf_done(&b);
	sink_done(&t);
}

static void what_is_wrong_is_told_with_its_place(void **state)
{
	(void)state;
	refuses("", "byte 0");
	refuses("{}", "no traceEvents");
	refuses("{\"rocprofiler-sdk-tool\": []}", "no traceEvents");
	refuses("5", "an object should stand here");
	refuses("[] []", "after the end");
	refuses("[5]", "byte 1: an event");
	refuses("[{} {}]", "byte 4");
	refuses("[{\"a\":1,}]", "byte 8: a key");
	refuses("[{\"a\" 1}]", "byte 6: a colon");
	refuses("[{\"a\":1 \"b\":2}]", "byte 8: a comma");
	refuses("[{\"a\":nil}]", "byte 6: a value");
	refuses("[{\"a\":[1,2}]", "byte 10: a bracket");
	refuses("[{\"a\":\"\n\"}]", "byte 7: a control character");
	refuses(EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":\"soon\",\"dur\":1}"),
		"microseconds");
	refuses(EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":[1],\"dur\":1}"), "microseconds");
	refuses(EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":-1,\"dur\":1}"),
		"byte 46: a time below 0");
	refuses(EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1e30,\"dur\":1}"), "146 years");
	refuses(EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":4611686018427386,\"dur\":"
		       "4611686018427386}"),
		"146 years");
	refuses(EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":1,\"args\":{\"a\" 1}}"),
		"a colon");
	refuses(EVENTS("{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":1,\"name\":\"\\x\"}"),
		"escape");
	char deep[2000] = "[{\"a\":";
	memset(deep + 6, '[', 1900);
	refuses(deep, "512 deep");
}

static void no_memory_at_any_step(void **state)
{
	(void)state;
	struct buf b;
	assert_true(plain_bytes(HERE "kineto-event-sync.json.gz", &b));
	for (int n = 1, rc = -ENOMEM; rc; n++) {
		struct trace_sink t = { .fail_after = n };
		struct err err = { 0 };
		rc = read_bytes(&t, b.data, b.len, 4096, &err);
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
		cmocka_unit_test(what_stands_around_the_events_is_told),
		cmocka_unit_test(no_word_of_a_device_is_null_and_an_idle_one_is_0),
		cmocka_unit_test(keys_come_in_any_order_and_around_anything),
		cmocka_unit_test(names_tell_directions_and_collectives),
		cmocka_unit_test(sizes_that_cannot_be_are_not_known),
		cmocka_unit_test(operations_without_a_time_are_counted),
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(cut_anywhere_is_refused),
		cmocka_unit_test(what_is_wrong_is_told_with_its_place),
		cmocka_unit_test(no_memory_at_any_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
