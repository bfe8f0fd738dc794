/* Traces of ROCm in four formats: every number as it was computed by others, and what is broken is
 * refused with a sentence. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import/trace_rocprof_impl.h"
#include "tests/unit/trace_record.h"

#define HERE "tests/fixtures/device/"
#define SHARED "../shared/data/device/"

/* ---- where bytes come from ------------------------------------------------------------------ */

struct memory {
	const char *bytes;
	size_t n, at, piece;
};

static int memory_next(void *arg, const char **ret, size_t *ret_n, struct err *err)
{
	struct memory *m = arg;
	(void)err;
	*ret = m->bytes + m->at;
	*ret_n = m->n - m->at < m->piece ? m->n - m->at : m->piece;
	m->at += *ret_n;
	return 0;
}

static int memory_rewind(void *arg, struct err *err)
{
	(void)err;
	((struct memory *)arg)->at = 0;
	return 0;
}

static size_t piece = 1 << 20;

static int read_bytes(struct trace_sink *t, const char *path, const struct buf *b,
		      enum trace_pass pass, struct err *err)
{
	struct memory m = { b->data, b->len, 0, piece };
	struct roc_bytes in = { memory_next, memory_rewind, &m, path };
	if (b->len > 16 && memcmp(b->data, "SQLite format 3", 16) == 0) {
		struct trace_db db;
		int rc = trace_db_memory(&db, b->data, b->len, path, err);
		if (rc)
			return rc;
		rc = rocpd_is(&db, err);
		if (rc > 0)
			rc = rocpd_read(&db, pass, t, err);
		else if (!rc && (rc = rpd_is(&db, err)) > 0)
			rc = rpd_read(&db, pass, t, err);
		else if (!rc)
			rc = err_set(err, -EINVAL, "neither");
		trace_db_close(&db);
		return rc;
	}
	return roc_csv_is(b->data, b->len) ? roc_csv_read(&in, pass, t, err)
					   : roc_json_read(&in, pass, t, err);
}

static int read_both(struct trace_sink *t, const char *path, const struct buf *b,
		     enum trace_pass pass, struct err *err)
{
	int rc = read_bytes(t, path, b, TRACE_RANGES, err);
	return rc ? rc : read_bytes(t, path, b, pass, err);
}

static void read_file(struct trace_sink *t, const char *path, enum trace_pass pass)
{
	struct buf b;
	struct err err = { 0 };
	assert_true(plain_bytes(path, &b));
	if (read_both(t, path, &b, pass, &err))
		fail_msg("%s: %s", path, err.text);
	buf_done(&b);
}

static int read_text_pass(struct trace_sink *t, const char *path, const char *text,
			  enum trace_pass pass, struct err *err)
{
	struct buf b = { .data = (char *)(uintptr_t)text, .len = strlen(text) };
	return read_both(t, path, &b, pass, err);
}

static void read_text(struct trace_sink *t, const char *path, const char *text)
{
	struct err err = { 0 };
	if (read_text_pass(t, path, text, TRACE_OPERATIONS, &err))
		fail_msg("%s", err.text);
}

static void refuses(const char *text, const char *word)
{
	for (piece = 1; piece < 100000; piece *= 300) {
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		assert_int_equal(read_text_pass(&t, "FILE", text, TRACE_OPERATIONS, &err), -EINVAL);
		if (!strstr(err.text, word) || !strstr(err.text, "FILE"))
			fail_msg("no \"%s\" in: %s", word, err.text);
		sink_done(&t);
	}
	piece = 1 << 20;
}

static int read_made(struct trace_sink *t, const char *sql, enum trace_pass pass, struct err *err)
{
	sqlite3 *db;
	char *why = NULL;
	sqlite3_int64 n;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s", why);
	unsigned char *bytes = sqlite3_serialize(db, "main", &n, 0);
	struct buf b = { .data = (char *)bytes, .len = (size_t)n };
	int rc = read_both(t, "FILE", &b, pass, err);
	sqlite3_free(bytes);
	(void)sqlite3_close(db);
	return rc;
}

static void makes(struct trace_sink *t, const char *sql)
{
	struct err err = { 0 };
	if (read_made(t, sql, TRACE_OPERATIONS, &err))
		fail_msg("%s", err.text);
}

static void sql_refuses(const char *sql, const char *word)
{
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	assert_int_equal(read_made(&t, sql, TRACE_OPERATIONS, &err), -EINVAL);
	if (!strstr(err.text, word))
		fail_msg("no \"%s\" in: %s", word, err.text);
	sink_done(&t);
}

/* ---- files of others ------------------------------------------------------------------------ */

static void every_window_of(const char *folder, const char *name, enum trace_pass pass)
{
	char path[256], expected[256];
	struct trace_sink t = { 0 };
	(void)snprintf(path, sizeof path, "%s%s", folder, name);
	(void)snprintf(expected, sizeof expected, "%sexpected/%s.json", folder, name);
	read_file(&t, path, pass);
	bytes_unknown = strncmp(name, "rpd", 3) == 0;
	assert_true(expect_file(&t, expected));
	if (pass == TRACE_ORDERED)
		assert_int_equal(t.unordered, 0);
	sink_done(&t);
}

static void every_number_is_as_others_computed_it(void **state)
{
	(void)state;
	every_window_of(HERE, "rocpd-v3-tiny.db.gz", TRACE_OPERATIONS);
	every_window_of(HERE, "rocpd-v3-tiny.db.gz", TRACE_ORDERED);
	every_window_of(HERE, "rpd-matmul.rpd.gz", TRACE_OPERATIONS);
	every_window_of(HERE, "rpd-matmul.rpd.gz", TRACE_ORDERED);
	for (piece = 1; piece < 100000; piece *= 7) {
		every_window_of(HERE, "rocprofv3-kernel_trace.csv", TRACE_OPERATIONS);
		every_window_of(HERE, "rocprofv3-memory_copy_trace.csv", TRACE_OPERATIONS);
	}
	piece = 1 << 20;
}

static void every_number_of_the_shared_files(void **state)
{
	(void)state;
	if (access(SHARED "README.md", R_OK))
		skip(); /* ../shared/data/device is not here */
	every_window_of(SHARED, "rocpd-v3-tiny.db.gz", TRACE_OPERATIONS);
	every_window_of(SHARED, "rocpd-v3-derived-a.db.gz", TRACE_OPERATIONS);
	every_window_of(SHARED, "rocpd-v3-derived-a.db.gz", TRACE_ORDERED);
	every_window_of(SHARED, "rpd-matmul.rpd.gz", TRACE_OPERATIONS);
	every_window_of(SHARED, "rpd-mi300-vllm.rpd.gz", TRACE_OPERATIONS);
	every_window_of(SHARED, "rocprofv3-kernel_trace.csv", TRACE_OPERATIONS);
	every_window_of(SHARED, "rocprofv3-memory_copy_trace.csv", TRACE_OPERATIONS);
	every_window_of(SHARED, "rocprofv3-train-a.json.gz", TRACE_OPERATIONS);
	piece = 13;
	every_window_of(SHARED, "rocprofv3-train-a.json.gz", TRACE_OPERATIONS);
	piece = 1 << 20;
}

static void who_ran_and_on_what(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_file(&t, HERE "rocpd-v3-tiny.db.gz", TRACE_OPERATIONS);
	assert_int_equal(t.n_processes, 1);
	assert_string_equal(t.processes[0].pid, "1234");
	assert_string_equal(t.processes[0].host, "test_host");
	assert_string_equal(t.processes[0].exe, "test_app");
	assert_int_equal(t.n_ranges, 2);
	assert_int_equal(t.ranges[0].process, t.ops[0].process);
	assert_string_equal(t.devices[0], "2 GPU_Agent");
	assert_int_equal(t.observes, ROC_KERNELS | ROC_COPIES);
	assert_false(t.calls_seen);
	sink_done(&t);
	read_file(&t, HERE "rpd-matmul.rpd.gz", TRACE_OPERATIONS);
	assert_true(t.calls_seen);
	assert_int_equal(t.calls, 120); /* of 125: those of HIP */
	assert_int_equal(t.syncs, 55);
	assert_string_equal(t.processes[0].pid, "1087077");
	double bytes = 0;
	for (size_t i = 0; i < t.n_ops; i++)
		bytes += t.ops[i].category == COPY_H2D ? t.ops[i].bytes : 0;
	assert_true(bytes == 2032000000);
	sink_done(&t);
}

/* ---- rocpd ---------------------------------------------------------------------------------- */

#define SESSION(s)                                                                                 \
	"create table rocpd_string" s " (id integer primary key, string text);"                    \
	"create table rocpd_info_node" s " (id integer primary key, hostname text);"               \
	"create table rocpd_info_process" s                                                        \
	" (id integer primary key, nid, pid, command, environment);"                               \
	"create table rocpd_info_agent" s                                                          \
	" (id integer primary key, nid, pid, type, absolute_index, "                               \
	"type_index, name, product_name);"                                                         \
	"create table rocpd_info_kernel_symbol" s                                                  \
	" (id integer primary key, kernel_name, display_name);"                                    \
	"create table rocpd_event" s " (id integer primary key, category_id, extdata);"            \
	"create table rocpd_kernel_dispatch" s                                                     \
	" (id integer primary key, nid, pid, agent_id, kernel_id, "                                \
	"start, end);"                                                                             \
	"create table rocpd_memory_copy" s " (id integer primary key, pid, start, end, name_id, "  \
	"dst_agent_id, src_agent_id, size);"                                                       \
	"create table rocpd_region" s                                                              \
	" (id integer primary key, nid, pid, tid, start, end, name_id, "                           \
	"event_id, extdata);"                                                                      \
	"insert into rocpd_info_node" s " values (1, 'h');"                                        \
	"insert into rocpd_info_agent" s " values (1, 1, 1, 'CPU', 0, 0, 'cpu', ''), "             \
	"(2, 1, 1, 'GPU', 1, 0, 'gfx', 'MI'), (3, 1, 1, 'GPU', 2, 1, 'gfx', 'MI');"                \
	"insert into rocpd_info_kernel_symbol" s " values (7, 'k', 'kernel" s "');"

/* Two sessions in one file number the same things alike: they are not the same. */
static void sessions_of_one_file_are_kept_apart(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	makes(&t,
	      SESSION("_a") SESSION(
		      "_b") "insert into rocpd_info_process_a values (1, 1, 100, 'app --password "
			    "x', "
			    "'{\"HOME\": \"/h\", \"MY_TOKEN\": \"hush\"}');"
			    "insert into rocpd_info_process_b values (1, 1, 200, 'app', '{}');"
			    "insert into rocpd_kernel_dispatch_a values (1, 1, 1, 2, 7, 10, 20);"
			    "insert into rocpd_kernel_dispatch_b values (1, 1, 1, 2, 7, 5, 8);");
	assert_int_equal(t.n_ops, 2);
	assert_int_not_equal(t.ops[0].process, t.ops[1].process);
	assert_string_equal(t.names[t.ops[0].name], "kernel_b");
	assert_string_equal(t.names[t.ops[1].name], "kernel_a");
	assert_int_equal(t.ops[0].device, t.ops[1].device); /* the same GPU of one node */
	assert_int_equal(t.n_devices, 2);
	assert_string_equal(t.processes[0].exe, "app");
	assert_non_null(strstr(t.notes, "MY_TOKEN"));
	assert_null(strstr(t.notes, "hush"));
	sink_done(&t);
}

/* Each numbers its machine 1, and a pid may be on both. */
static void sessions_of_two_machines_share_nothing(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	makes(&t,
	      SESSION("_a") SESSION(
		      "_b") "update rocpd_info_node_b set hostname = 'other';"
			    "insert into rocpd_info_process_a values (1, 1, 100, 'app', '{}');"
			    "insert into rocpd_info_process_b values (1, 1, 100, 'app', '{}');"
			    "insert into rocpd_kernel_dispatch_a values (1, 1, 1, 2, 7, 10, 20);"
			    "insert into rocpd_kernel_dispatch_b values (1, 1, 1, 2, 7, 5, 8);");
	assert_int_equal(t.n_processes, 2);
	assert_string_equal(t.processes[0].host, "h");
	assert_string_equal(t.processes[1].host, "other");
	assert_int_not_equal(t.ops[0].process, t.ops[1].process);
	assert_int_not_equal(t.ops[0].device, t.ops[1].device);
	assert_int_equal(t.n_devices, 4);
	sink_done(&t);
}

static void regions_are_ranges_or_calls(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	makes(&t, SESSION("_a") "insert into rocpd_info_process_a values (1, 1, 100, 'app', '{}');"
				"insert into rocpd_string_a values (1, 'MARKER_CORE_RANGE_API'), "
				"(2, 'HIP_RUNTIME_API_EXT'),"
				"(3, 'HSA_CORE_API'), (4, 'roctxThreadRangeA'), (5, "
				"'hipDeviceSynchronize'), (6, 'hipMalloc');"
				"insert into rocpd_event_a values (1, 1, '{\"message\": "
				"\"step\"}'), (2, 2, '{}'), (3, 3, '{}'),"
				"(4, 1, '{}'), (5, 1, 'not json');"
				"insert into rocpd_region_a values (1, 1, 1, 1, 10, 20, 4, 1, "
				"'{}'), (2, 1, 1, 1, 11, 12, 5, 2, ''),"
				"(3, 1, 1, 1, 12, 13, 6, 2, ''), (4, 1, 1, 1, 13, 14, 6, 3, ''), "
				"(5, 1, 1, 1, 14, 15, 4, 4, "
				"'{\"message\": \"there\"}'), (6, 1, 1, 1, 15, 16, 4, 5, ''), (7, "
				"1, 1, 1, 16, null, 4, 1, ''),"
				"(8, 1, 1, 1, 17, 18, 4, null, '');");
	assert_int_equal(t.n_ranges, 4);
	assert_string_equal(t.ranges[0].name, "step");
	assert_string_equal(t.ranges[1].name, "there");
	assert_string_equal(t.ranges[2].name, "roctxThreadRangeA");
	assert_string_equal(t.ranges[3].name,
			    "roctxThreadRangeA"); /* and not what the one before said */
	assert_true(t.calls_seen);
	assert_int_equal(t.calls, 2);
	assert_int_equal(t.syncs, 1);
	assert_int_equal(t.observes, 0); /* empty tables say nothing */
	assert_non_null(strstr(t.notes, "does not say"));
	sink_done(&t);
}

static void copies_have_the_direction_of_their_agents(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	makes(&t,
	      SESSION("_a") "insert into rocpd_string_a values (1, 'MEMORY_COPY_HOST_TO_DEVICE');"
			    "insert into rocpd_memory_copy_a values (1, 1, 1, 2, 1, 2, 1, 10), (2, "
			    "1, 2, 3, 1, 1, 3, 20),"
			    "(3, 1, 3, 4, 1, 2, 2, 30), (4, 1, 4, 5, 1, 3, 2, 40), (5, 1, 5, 6, 1, "
			    "1, 1, null),"
			    "(6, 1, 6, 7, 1, null, null, 5);");
	static const enum category want[] = { COPY_H2D,   COPY_D2H,   COPY_D2D,
					      COPY_OTHER, COPY_OTHER, COPY_H2D };
	assert_int_equal(t.n_ops, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(t.ops[i].category, want[i]);
	assert_true(isnan(t.ops[4].bytes));
	assert_int_equal(t.observes, ROC_COPIES);
	sink_done(&t);
}

static void databases_that_are_broken_are_refused(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	sql_refuses(
		SESSION("_a") "insert into rocpd_kernel_dispatch_a values (1, 1, 1, 2, 7, -4, 5);",
		"negative");
	sql_refuses(
		SESSION("_a") "insert into rocpd_kernel_dispatch_a values (1, 1, 1, 2, 7, 'x', 5);",
		"whole");
	sql_refuses(SESSION("_a") "insert into rocpd_kernel_dispatch_a values (1, 1, 1, 'two', 7, "
				  "4, 5);",
		    "agent_id");
	sql_refuses(
		SESSION("_a") "insert into rocpd_memory_copy_a values (1, 1, 1, 2, 1, 2, 1, -9);",
		"size");
	sql_refuses("create table rocpd_kernel_dispatch_a (id, start);", "no column");
	sql_refuses("create view rocpd_kernel_dispatch as with recursive n(start) as (select 1 "
		    "union all select "
		    "start + 1 from n) select start, start as end, 1 as agent_id, 1 as kernel_id "
		    "from n;",
		    "neither");
	sql_refuses("create table rocpd_op (start, end);", "no column");
	struct buf b;
	assert_true(plain_bytes(HERE "rpd-matmul.rpd.gz", &b));
	b.len = 20000;
	assert_int_equal(read_both(&t, "FILE", &b, TRACE_OPERATIONS, &err), -EINVAL);
	assert_non_null(strstr(err.text, "cut or damaged"));
	buf_done(&b);
	sink_done(&t);
}

/* ---- rpd ------------------------------------------------------------------------------------ */

#define RPD                                                                                        \
	"create table rocpd_string (id integer primary key, string text);"                         \
	"create table rocpd_op (id integer primary key, gpuId, queueId, start, end, "              \
	"description_id, opType_id);"                                                              \
	"create table rocpd_api (id integer primary key, pid, tid, start, end, apiName_id, "       \
	"args_id);"                                                                                \
	"create table rocpd_api_ops (id integer primary key, api_id, op_id);"                      \
	"create table rocpd_copyapi (api_ptr_id integer primary key, size);"                       \
	"insert into rocpd_string values (1, 'KernelExecution'), (2, 'Task'), (3, "                \
	"'CopyDeviceToDevice'),"                                                                   \
	"(4, 'FillBuffer'), (5, 'UserMarker'), (6, 'step'), (7, 'hipMemcpy'), (8, 'ncclKernel'), " \
	"(9, ''),"                                                                                 \
	"(10, 'Barrier'), (11, 'CopyDeviceToHost2D');"

static void operations_belong_to_the_process_of_their_call(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	makes(&t,
	      RPD "insert into rocpd_op values (1, 0, 0, 10, 20, 8, 1), (2, 0, 0, 20, 30, 9, 2),"
		  "(3, 1, 0, 30, 40, 9, 3), (4, 1, 0, 40, 50, 9, 4), (5, 1, 0, 50, 60, 9, 10),"
		  "(6, 1, 0, 60, 70, 9, 3), (7, 1, 0, 70, 80, 9, 11);"
		  "insert into rocpd_api values (1, 100, 1, 9, 10, 7, 9), (2, 200, 1, 9, 12, 7, 9),"
		  "(3, 200, 1, 5, 50, 5, 6), (4, 100, 1, 6, 6, 5, 6);"
		  "insert into rocpd_api_ops values (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 1, 4);"
		  "insert into rocpd_copyapi values (2, 4096), (1, 99);");
	assert_int_equal(t.n_ops, 7);
	assert_int_equal(t.ops[0].process, 100);
	assert_int_equal(t.ops[0].category, COLLECTIVE);
	assert_int_equal(t.ops[1].category, COMPUTE);
	assert_string_equal(t.names[t.ops[1].name], "Task");
	assert_int_equal(t.ops[2].process, 200);
	assert_true(t.ops[2].bytes == 4096);
	assert_true(isnan(t.ops[3].bytes)); /* its call had several operations */
	assert_int_equal(t.ops[3].category, FILL);
	assert_int_equal(t.ops[4].category, OTHER);
	assert_int_equal(t.ops[5].process, 0); /* nobody's */
	assert_int_equal(t.ops[6].category, COPY_D2H);
	assert_int_equal(t.n_ranges, 1);
	assert_int_equal(t.ranges[0].process, 200);
	assert_string_equal(t.ranges[0].name, "step");
	assert_int_equal(t.calls, 2);
	assert_int_equal(t.syncs, 2);
	sink_done(&t);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

#define RECORDS(kernels, copies, markers, calls)                                                   \
	"\"buffer_records\": {\"kernel_dispatch\": [" kernels "], \"memory_copy\": [" copies "], " \
	"\"marker_api\": [" markers "], \"hip_api\": [" calls "], \"hsa_api\": [{\"x\": [1, 2]}]}"
#define FACTS                                                                                      \
	"\"metadata\": {\"node\": {\"hostname\": \"n1\"}, \"pid\": 77, \"command\": [\"app\", "    \
	"\"-p\"], "                                                                                \
	"\"environment\": {\"A_SECRET\": \"hush\"}},"                                              \
	"\"agents\": [{\"id\": {\"handle\": 5}, \"type\": 1, \"name\": \"cpu\"},"                  \
	"{\"id\": {\"handle\": 6}, \"type\": 2, \"logical_node_type_id\": 0, \"product_name\": "   \
	"\"MI\","                                                                                  \
	"\"location_id\": 256}, {\"id\": {\"handle\": 8}, \"type\": 2, \"logical_node_type_id\": " \
	"1, "                                                                                      \
	"\"location_id\": 512, \"runtime_visibility\": {\"hip\": 0}}],"                            \
	"\"kernel_symbols\": [{\"kernel_id\": 3, \"kernel_name\": \"_Zf\", "                       \
	"\"formatted_kernel_name\": "                                                              \
	"\"f<\\u00e4, \\ud83d\\ude00>\"}],"                                                        \
	"\"strings\": {\"buffer_records\": [{\"kind\": \"NONE\", \"operations\": []}, {\"kind\": " \
	"\"HIP_RUNTIME_API\", \"operations\": [\"hipMemcpy\", \"hipMalloc\"]}, {\"kind\": "        \
	"\"HIP_COMPILER_API\", \"operations\": [\"__hipPush\"]}],"                                 \
	"\"marker_api\": [{\"key\": 40, \"value\": \"step \\\"1\\\"\"}]}"
#define TOOL(a, b) "{\"rocprofiler-sdk-tool\": [{" a ", " b "}]}"
#define TIMES(b, e) "\"start_timestamp\": " #b ", \"end_timestamp\": " #e
#define DISPATCH(b, e)                                                                             \
	"{" TIMES(b, e) ", \"dispatch_info\": {\"agent_id\": {\"handle\": 6}, \"kernel_id\": 3}}"

static const char some[] =
	RECORDS(DISPATCH(30, 40) "," DISPATCH(10, 20),
		"{" TIMES(41, 45) ", \"src_agent_id\": {\"handle\": 5}, \"dst_agent_id\": "
				  "{\"handle\": 6}, \"bytes\": 9},"
				  "{" TIMES(46, 47) ", \"src_agent_id\": {\"handle\": 6}, "
						    "\"dst_agent_id\": {\"handle\": 8}}",
		"{" TIMES(5, 50) ", \"correlation_id\": {\"internal\": 40, \"external\": 0}}",
		"{" TIMES(1, 2) ", \"kind\": 1, \"operation\": 0}, {" TIMES(
			2, 3) ", \"kind\": 1, \"operation\": 1},"
			      "{" TIMES(3, 4) ", \"kind\": 2, \"operation\": 0}, {" TIMES(
				      4, 5) ", \"kind\": 1, \"operation\": 99}");

static void json_in_any_order_and_any_pieces(void **state)
{
	(void)state;
	char first[8192], last[8192];
	(void)snprintf(first, sizeof first, "{\"rocprofiler-sdk-tool\": [{%s, %s}]}\n", FACTS,
		       some);
	(void)snprintf(last, sizeof last, " {\"rocprofiler-sdk-tool\": {%s, %s}}", some, FACTS);
	for (piece = 1; piece < 10000; piece = piece * 5 / 2 + 1)
		for (int k = 0; k < 2; k++) {
			struct trace_sink t = { 0 };
			read_text(&t, "FILE", k ? first : last);
			assert_int_equal(t.n_ops, 4);
			assert_string_equal(t.names[t.ops[0].name],
					    "f<\xc3\xa4, \xf0\x9f\x98\x80>");
			assert_int_equal(t.ops[2].category, COPY_H2D);
			assert_true(t.ops[2].bytes == 9);
			assert_int_equal(t.ops[3].category,
					 COPY_OTHER); /* from one device to another */
			assert_int_equal(t.calls, 3);
			assert_int_equal(t.syncs, 1);
			assert_int_equal(t.n_ranges, 1);
			assert_string_equal(t.ranges[0].name, "step \"1\"");
			assert_int_equal(t.ranges[0].process, 77);
			assert_string_equal(t.processes[0].host, "n1");
			assert_string_equal(t.processes[0].exe, "app");
			assert_int_equal(t.n_devices,
					 2); /* one is hidden from HIP, but was copied to */
			assert_string_equal(t.devices[0], "0 MI");
			assert_string_equal(t.ids[0], "pci 0:100");
			assert_non_null(strstr(t.notes, "A_SECRET"));
			assert_null(strstr(t.notes, "hush"));
			sink_done(&t);
		}
	piece = 1 << 20;
}

static void json_lists_that_are_empty_say_nothing(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_text(&t, "FILE", TOOL(FACTS, RECORDS(DISPATCH(1, 2), "", "", "")));
	assert_int_equal(t.observes, ROC_KERNELS);
	assert_false(t.calls_seen);
	sink_done(&t);
	read_text(&t, "FILE", TOOL(FACTS, RECORDS("", "", "", "")));
	assert_int_equal(t.observes, 0);
	assert_non_null(strstr(t.notes, "does not say"));
	sink_done(&t);
}

static void json_that_is_broken_is_refused(void **state)
{
	(void)state;
#define KERNEL(text) TOOL(FACTS, RECORDS(text, "", "", ""))
	refuses("{}", "not written by rocprofv3");
	refuses("{\"rocprofiler-sdk-tool\": 5}", "list");
	refuses("{\"rocprofiler-sdk-tool\": []} x", "after the end");
	refuses("{\"rocprofiler-sdk-tool\": [], \"rocprofiler-sdk-tool\": []}", "twice");
	refuses(KERNEL(DISPATCH(-5, 4)), "negative");
	refuses(KERNEL(DISPATCH(5, 9223372036854775807)), "146 years");
	refuses(KERNEL(DISPATCH(5, 92233720368547758070)), "whole number");
	refuses(KERNEL(DISPATCH(5, 1e3)), "whole number");
	refuses(KERNEL(DISPATCH(5, "6")), "number");
	refuses(KERNEL("{" TIMES(5, 6) "}"), "agent_id");
	refuses(KERNEL("{\"start_timestamp\": 6}"), "no start_timestamp or no end_timestamp");
	refuses(KERNEL("7"), "object");
	refuses(KERNEL(DISPATCH(1, 2) DISPATCH(2, 3)), "comma");
	refuses(KERNEL("{\"a\": \"\\ud800\"}"), "half a character");
	refuses(KERNEL("{\"a\": 01}"), "begins with 0");
	refuses(KERNEL("{\"a\": tru}"), "true, false or null");
	refuses(KERNEL("{\"a\" 1}"), "colon");
	refuses(KERNEL("{\"a\": \"\n\"}"), "control character");
	char deep[4096] = "{\"another\": ";
	memset(deep + strlen(deep), '[', 2000);
	refuses(deep, "512 deep");
	/* Cut anywhere: never less than all of it. */
	const char whole[] = TOOL(FACTS, RECORDS(DISPATCH(1, 2), "", "", ""));
	for (size_t n = 1; n < sizeof whole - 1; n++) {
		char part[4096];
		(void)snprintf(part, sizeof part, "%.*s", (int)n, whole);
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		assert_int_equal(read_text_pass(&t, "FILE", part, TRACE_OPERATIONS, &err), -EINVAL);
		assert_non_null(strstr(err.text, "FILE"));
		sink_done(&t);
	}
}

/* ---- CSV ------------------------------------------------------------------------------------ */

#define KERNEL_HEAD "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n"
#define COPY_HEAD                                                                                  \
	"Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Start_Timestamp,End_Timestamp\n"
#define REGION_HEAD                                                                                \
	"Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"

static void csv_of_old_and_new_releases(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_text(&t, "h/12_kernel_trace.csv",
		  KERNEL_HEAD
		  "K,4,\"void f<int, 2>(char const*, \"\"x\"\")\",5,9\r\nK,\"Agent 4\",g,6,8\r\n\n"
		  "K,Agent 4,\"a\nb\",7,7\n");
	assert_int_equal(t.n_ops, 2);
	assert_int_equal(t.untimed, 1);
	assert_string_equal(t.names[t.ops[0].name], "void f<int, 2>(char const*, \"x\")");
	assert_string_equal(t.names[2], "a\nb");
	assert_int_equal(t.n_devices, 1);
	assert_string_equal(t.processes[0].pid, "12");
	int64_t process = t.ops[0].process;
	read_text(&t, "h/12_memory_copy_trace.csv",
		  COPY_HEAD
		  "M,HOST_TO_DEVICE,0,4,10,11\nM,MEMORY_COPY_DEVICE_TO_HOST,Agent 4,Agent 0,11,12\n"
		  "M,DEVICE_TO_DEVICE,4,4,12,13\nM,DEVICE_TO_DEVICE,4,5,13,14\nM,X,4,5,14,15\n");
	static const enum category want[] = { COPY_H2D, COPY_D2H, COPY_D2D, COPY_OTHER,
					      COPY_OTHER };
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(t.ops[2 + i].category, want[i]);
	assert_int_equal(t.ops[2].device, t.ops[0].device);
	assert_int_equal(t.ops[3].device, t.ops[0].device);
	assert_int_equal(t.ops[2].process, process);
	assert_int_equal(t.observes, ROC_KERNELS | ROC_COPIES);
	read_text(&t, "h/12_marker_api_trace.csv",
		  REGION_HEAD
		  "MARKER_CORE_API,\"step, 1\",12,12,1,5,9\nMARKER_CORE_RANGE_API,b,12,12,1,6,6\n");
	assert_int_equal(t.n_ranges, 1);
	assert_int_equal(t.ranges[0].process, process);
	assert_string_equal(t.ranges[0].name, "step, 1");
	assert_false(t.calls_seen);
	read_text(&t, "h/12_hip_api_trace.csv",
		  REGION_HEAD
		  "HIP_RUNTIME_API,hipMemcpy,12,12,1,5,9\nHIP_COMPILER_API,__hip,12,12,1,6,7\n"
		  "HIP_RUNTIME_API_EXT,hipMalloc,12,12,1,6,7\n");
	assert_true(t.calls_seen);
	assert_int_equal(t.calls, 2);
	assert_int_equal(t.syncs, 1);
	sink_done(&t);
	/* Numbered by type; and some write no end behind the last line. */
	read_text(&t, "h/13_kernel_trace.csv",
		  KERNEL_HEAD "K,GPU 0,g,5,6\nK,GPU 1,g,1520113899312225,1520113899312229");
	assert_int_equal(t.n_devices, 2);
	assert_string_equal(t.devices[1], "GPU 1");
	assert_int_equal(t.ops[1].end - t.ops[1].begin, 4);
	sink_done(&t);
	read_text(&t, "h/13_kernel_trace.csv", KERNEL_HEAD);
	assert_int_equal(t.observes, ROC_KERNELS); /* traced, and nothing there: 0 */
	sink_done(&t);
}

static void csv_that_is_broken_is_refused(void **state)
{
	(void)state;
	refuses("a,Start_Timestamp,End_Timestamp\n", "columns are not those");
	refuses(KERNEL_HEAD "K,4,g,5\n", "FILE:2: 4 fields, but the first line has 5");
	refuses(KERNEL_HEAD "K,4,g,5,6,7\n", "6 fields");
	refuses(KERNEL_HEAD "K,4,g,5,6", "cut");
	refuses(KERNEL_HEAD "K,4,g,1520113899312225,152011389931222", "cut");
	refuses(KERNEL_HEAD "K,4,g,1520113899312225,", "End_Timestamp");
	refuses(KERNEL_HEAD "K,4,\"g,5,6\n", "inside a quoted text");
	refuses(KERNEL_HEAD "K,4,g,5,6\nK,4,\"a\nb\",5,x\n", "FILE:3: End_Timestamp");
	refuses(KERNEL_HEAD "K,4,g,-5,6\n", "Start_Timestamp");
	refuses(KERNEL_HEAD "K,4,g,5,99999999999999999999\n", "End_Timestamp");
	refuses(KERNEL_HEAD "K,GPU,g,5,6\n", "agent");
	refuses(KERNEL_HEAD "K,,g,5,6\n", "agent");
	refuses("Start_Timestamp,End_Timestamp,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,"
		",,,,,,,,,,,,,,,,,,\n",
		"64 fields");
	char *large = malloc((2 << 20) + 300);
	(void)snprintf(large, 300, KERNEL_HEAD "K,4,");
	memset(large + strlen(large), 'x', 2 << 20);
	large[(2 << 20) + 100] = '\0';
	refuses(large, "1 MiB");
	free(large);
}

static void no_memory_at_any_step(void **state)
{
	(void)state;
	static const char *const files[] = { HERE "rocpd-v3-tiny.db.gz", HERE "rpd-matmul.rpd.gz",
					     HERE "rocprofv3-memory_copy_trace.csv" };
	for (size_t f = 0; f < 4; f++) {
		struct buf b = { .data = (char *)(uintptr_t)TOOL(
					 FACTS, RECORDS(DISPATCH(1, 2), "", "", "")) };
		b.len = strlen(b.data);
		if (f < 3)
			assert_true(plain_bytes(files[f], &b));
		for (int n = 1, rc = -ENOMEM; rc; n++) {
			struct trace_sink t = { .fail_after = n };
			struct err err = { 0 };
			rc = read_both(&t, "FILE", &b, TRACE_OPERATIONS, &err);
			if (rc) {
				assert_int_equal(rc, -ENOMEM);
				assert_true(err.text[0]);
			}
			sink_done(&t);
		}
		if (f < 3)
			buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_as_others_computed_it),
		cmocka_unit_test(every_number_of_the_shared_files),
		cmocka_unit_test(who_ran_and_on_what),
		cmocka_unit_test(sessions_of_one_file_are_kept_apart),
		cmocka_unit_test(sessions_of_two_machines_share_nothing),
		cmocka_unit_test(regions_are_ranges_or_calls),
		cmocka_unit_test(copies_have_the_direction_of_their_agents),
		cmocka_unit_test(databases_that_are_broken_are_refused),
		cmocka_unit_test(operations_belong_to_the_process_of_their_call),
		cmocka_unit_test(json_in_any_order_and_any_pieces),
		cmocka_unit_test(json_lists_that_are_empty_say_nothing),
		cmocka_unit_test(json_that_is_broken_is_refused),
		cmocka_unit_test(csv_of_old_and_new_releases),
		cmocka_unit_test(csv_that_is_broken_is_refused),
		cmocka_unit_test(no_memory_at_any_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
