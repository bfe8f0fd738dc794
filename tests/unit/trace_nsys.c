/* Nsight Systems exports of four generations: every number as it was computed by others, and what
 * is broken is refused with a sentence. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glob.h>

#include <cmocka.h>

#include "import/trace_nsys_impl.h"
#include "tests/unit/trace_record.h"

#define HERE "tests/fixtures/device/"
#define SHARED "../shared/data/device/"

static int read_bytes(struct trace_sink *t, const struct buf *b, enum trace_pass pass,
		      struct err *err)
{
	struct trace_db db;
	int rc = trace_db_memory(&db, b->data, b->len, "FILE", err);
	if (rc)
		return rc;
	rc = nsys_read_db(&db, pass, t, err);
	trace_db_close(&db);
	return rc;
}

static void read_file(struct trace_sink *t, const char *path, enum trace_pass pass)
{
	struct buf b;
	struct err err = { 0 };
	assert_true(plain_bytes(path, &b));
	if (read_bytes(t, &b, TRACE_RANGES, &err) || read_bytes(t, &b, pass, &err))
		fail_msg("%s: %s", path, err.text);
	buf_done(&b);
}

/* ---- a database of our own ------------------------------------------------------------------ */

static sqlite3 *make(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s", why);
	return db;
}

static int read_made_pass(struct trace_sink *t, const char *sql, enum trace_pass pass,
			  struct err *err)
{
	sqlite3 *db = make(sql);
	sqlite3_int64 n;
	unsigned char *bytes = sqlite3_serialize(db, "main", &n, 0);
	assert_non_null(bytes);
	struct buf b = { .data = (char *)bytes, .len = (size_t)n };
	int rc = read_bytes(t, &b, TRACE_RANGES, err);
	if (!rc)
		rc = read_bytes(t, &b, pass, err);
	sqlite3_free(bytes);
	(void)sqlite3_close(db);
	return rc;
}

static void read_made(struct trace_sink *t, const char *sql)
{
	struct err err = { 0 };
	if (read_made_pass(t, sql, TRACE_OPERATIONS, &err))
		fail_msg("%s", err.text);
}

#define STRINGS "create table StringIds (id integer primary key, value text);"
#define KERNELS_TABLE                                                                              \
	STRINGS "create table CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, globalPid, "       \
		"demangledName);"
#define COPIES_TABLE                                                                               \
	"create table CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, globalPid, copyKind, "     \
	"bytes);"
#define PID(n) #n " * 16777216"

static void refuses(const char *sql, const char *word)
{
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	assert_int_equal(read_made_pass(&t, sql, TRACE_OPERATIONS, &err), -EINVAL);
	assert_non_null(strstr(err.text, "FILE"));
	if (!strstr(err.text, word))
		fail_msg("no \"%s\" in: %s", word, err.text);
	sink_done(&t);
}

/* ---- files of others ------------------------------------------------------------------------ */

static const char *const files[] = { "nsys-2022.2-saxpy-mpi", "nsys-minimal-handmade",
				     "nsys-2024.5-cloverleaf-a100", "nsys-2026.2-h100-2gpu",
				     "nsys-2026.2-train-before" };

static void every_window_of(const char *folder, const char *name, enum trace_pass pass)
{
	char path[256], expected[256];
	struct trace_sink t = { 0 };
	(void)snprintf(path, sizeof path, "%s%s.sqlite.gz", folder, name);
	(void)snprintf(expected, sizeof expected, "%sexpected/%s.sqlite.gz.json", folder, name);
	read_file(&t, path, pass);
	assert_true(expect_file(&t, expected));
	if (pass == TRACE_ORDERED)
		assert_int_equal(t.unordered, 0);
	sink_done(&t);
}

static void every_number_is_as_others_computed_it(void **state)
{
	(void)state;
	every_window_of(HERE, files[0], TRACE_OPERATIONS);
	every_window_of(HERE, files[1], TRACE_OPERATIONS);
	every_window_of(HERE, files[0], TRACE_ORDERED);
}

static void every_number_of_the_shared_files(void **state)
{
	(void)state;
	if (access(SHARED "README.md", R_OK))
		skip(); /* ../shared/data/device is not here */
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		every_window_of(SHARED, files[i], TRACE_OPERATIONS);
		every_window_of(SHARED, files[i], TRACE_ORDERED);
	}
}

static void calls_and_what_waits(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_file(&t, HERE "nsys-2022.2-saxpy-mpi.sqlite.gz", TRACE_OPERATIONS);
	assert_true(t.calls_seen);
	assert_int_equal(t.calls, 95);
	assert_true(t.syncs > 0 && t.syncs < t.calls);
	assert_int_equal(t.n_processes, 2); /* told in each pass */
	assert_string_equal(t.processes[0].pid, "1230493");
	assert_string_equal(t.processes[0].host, "host0");
	assert_string_equal(t.devices[0], "0 NVIDIA A100-SXM4-40GB");
	assert_true(t.epoch == 1687813257637297504);
	sink_done(&t);
}

static void a_credential_is_named_and_its_value_nowhere(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_file(&t, HERE "nsys-2022.2-saxpy-mpi.sqlite.gz", TRACE_OPERATIONS);
	assert_non_null(strstr(t.notes, "PLANTED_API_TOKEN"));
	assert_null(strstr(t.notes, "redacted"));
	sink_done(&t);
	read_made(&t,
		  STRINGS "create table META_DATA_CAPTURE (name text, value text);"
			  "insert into META_DATA_CAPTURE values "
			  "('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOME=/x'),"
			  "('PROCESS_0:ENVIRONMENT_VARIABLE', 'MY_SECRET=hush=hush;quiet_TOKEN=1'),"
			  "('PROCESS_0:ENVIRONMENT_VARIABLE', 'tail of a TOKEN value');"
			  "create table TARGET_INFO_SYSTEM_ENV (name text, value text);"
			  "insert into TARGET_INFO_SYSTEM_ENV values "
			  "('DeviceEnvironment', 'A=1;GH_TOKEN=ghp_1;MY_SECRET=2;sk-1TOKEN9=;B');");
	assert_non_null(strstr(t.notes, ": MY_SECRET, GH_TOKEN;"));
	assert_null(strstr(t.notes, "hush"));
	assert_null(strstr(t.notes, "quiet"));
	assert_null(strstr(t.notes, "ghp"));
	assert_null(strstr(t.notes, "sk-"));
	assert_null(strstr(t.notes, "tail"));
	sink_done(&t);
}

/* ---- what is not there ---------------------------------------------------------------------- */

#define ALL_BUT_OTHER ((1u << CATEGORIES) - 1 - (1u << OTHER))

static void a_table_that_is_not_there_is_0_only_where_the_capture_says_so(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t,
		  KERNELS_TABLE "insert into CUPTI_ACTIVITY_KIND_KERNEL values (1, 2, 0, 0, 1);");
	assert_int_equal(t.observes, 1u << COMPUTE | 1u << COLLECTIVE);
	assert_false(t.calls_seen);
	sink_done(&t);
	read_made(&t,
		  STRINGS "create table META_DATA_CAPTURE (name text, value text);"
			  "insert into META_DATA_CAPTURE values ('CAPTURE_EVENT_TYPE', 'Cuda');");
	assert_int_equal(t.observes, ALL_BUT_OTHER);
	sink_done(&t);
	read_made(&t, STRINGS
		  "create table META_DATA_CAPTURE (name text, value text);"
		  "insert into META_DATA_CAPTURE values ('CAPTURE_EVENT_TYPE', 'NvtxEvents');");
	assert_int_equal(t.observes, 0);
	assert_non_null(strstr(t.notes, "not traced"));
	sink_done(&t);
	/* An old export has all tables: empty ones say something only beside one that is not. */
	read_made(&t, KERNELS_TABLE COPIES_TABLE);
	assert_int_equal(t.observes, 0);
	sink_done(&t);
	read_made(&t, KERNELS_TABLE COPIES_TABLE
		  "insert into CUPTI_ACTIVITY_KIND_KERNEL values (1, 2, 0, 0, 1);");
	assert_int_equal(t.observes, ALL_BUT_OTHER & ~(1u << FILL));
	sink_done(&t);
}

static void graphs_are_counted_where_their_kernels_are_not(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t, STRINGS "create table CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, "
			      "globalPid, graphId);"
			      "insert into CUPTI_ACTIVITY_KIND_GRAPH_TRACE values (1, 5, 0, " PID(
				      7) ", 1),"
					 "(6, 9, 0, " PID(7) ", 1);");
	assert_int_equal(t.graphs, 2);
	assert_int_equal(t.n_ops, 0);
	sink_done(&t);
}

static void copies_of_unified_memory_have_their_direction(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t, STRINGS COPIES_TABLE "insert into CUPTI_ACTIVITY_KIND_MEMCPY values (1, 2, "
					   "0, 0, 11, 1), (2, 3, 0, 0, 12, 2),"
					   "(3, 4, 0, 0, 13, 3), (4, 5, 0, 0, 10, 4), (5, 6, 0, 0, "
					   "99, null), (6, 7, 0, 0, null, 5);");
	static const enum category want[] = { COPY_H2D,   COPY_D2H,   COPY_D2D,
					      COPY_OTHER, COPY_OTHER, COPY_OTHER };
	assert_int_equal(t.n_ops, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(t.ops[i].category, want[i]);
	assert_true(isnan(t.ops[4].bytes));
	sink_done(&t);
}

/* ---- processes and devices ------------------------------------------------------------------ */

#define TWO_ZEROS                                                                                  \
	KERNELS_TABLE "insert into CUPTI_ACTIVITY_KIND_KERNEL values (1, 5, 0, " PID(              \
		7) ", 1),"                                                                         \
		   "(2, 6, 0, " PID(8) ", 1), (3, 9, 1, " PID(8) ", 1);"

static void device_0_of_two_processes_is_two_devices(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(
		&t, TWO_ZEROS
		"create table TARGET_INFO_GPU (id, name, uuid);"
		"insert into TARGET_INFO_GPU values (0, 'H', 'aa'), (1, 'H', 'bb'), (2, 'H', 'cc');"
		"create table TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid, uuid);"
		"insert into TARGET_INFO_CUDA_DEVICE values (0, 0, 7, 'aa'), (1, 0, 8, 'bb'), (0, "
		"1, 8, 'aa'),"
		"(2, 1, 7, 'cc');");
	assert_int_equal(t.n_ops, 3);
	assert_int_not_equal(t.ops[0].device, t.ops[1].device);
	assert_int_equal(t.ops[0].device, t.ops[2].device);
	assert_int_equal(t.n_devices, 3); /* the third could be used, and was not */
	assert_string_equal(t.ids[t.ops[1].device], "bb");
	assert_string_equal(t.devices[t.ops[1].device],
			    "1 H"); /* the machine's number: CUDA's are two */
	assert_string_equal(t.notes, "");
	sink_done(&t);
	read_made(&t, TWO_ZEROS);
	assert_int_equal(t.ops[0].device, t.ops[1].device);
	assert_non_null(strstr(t.notes, "taken for one"));
	sink_done(&t);
}

static void an_ordinal_is_found_by_cuda_s_number(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t, KERNELS_TABLE
		  "insert into CUPTI_ACTIVITY_KIND_KERNEL values (1, 5, 0, 0, 1);"
		  "create table TARGET_INFO_GPU (id, name, uuid, cuDevice);"
		  "insert into TARGET_INFO_GPU values (0, 'H', 'x', 1), (1, 'H', 'x', 0);");
	assert_string_equal(t.devices[t.ops[0].device], "0 H");
	assert_string_equal(t.ids[t.ops[0].device], "gpu1"); /* a uuid that two share is none */
	sink_done(&t);
}

/* Two processes one after the other, as exports write calls: handed out in order of time all the
 * same. */
static void calls_of_several_processes_come_in_order(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t,
		  TWO_ZEROS "create table PROCESSES (globalPid, name);"
			    "insert into PROCESSES values (" PID(7) ", 'a'), (" PID(
				    8) ", 'b');"
				       "create table CUPTI_ACTIVITY_KIND_RUNTIME (start, end, "
				       "globalTid, nameId);"
				       "insert into StringIds values (1, "
				       "'cudaDeviceSynchronize_v3020'), (2, 'cudaMemcpyAsync');"
				       "insert into CUPTI_ACTIVITY_KIND_RUNTIME values (1, 2, " PID(
					       7) " + 5, 1),"
						  "(8, 9, " PID(7) ", 2), (0, 4, " PID(
							  8) ", 1), (5, 6, " PID(8) ", 2);");
	assert_int_equal(t.calls, 4);
	assert_int_equal(t.syncs, 2);
	assert_int_equal(t.unordered, 0);
	assert_int_equal(t.n_processes, 4);
	assert_string_equal(t.processes[1].exe, "b");
	sink_done(&t);
}

static void rows_in_any_order_are_put_in_order_when_asked(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	static const char sql[] = KERNELS_TABLE COPIES_TABLE
		"with recursive n(i) as (select 0 union all select i + 1 from n where i < 999)"
		"insert into CUPTI_ACTIVITY_KIND_KERNEL select (i * 7919) % 1000 * 10, (i * 7919) "
		"% 1000 * 10 + 15,"
		"0, 0, 1 from n;"
		"insert into CUPTI_ACTIVITY_KIND_MEMCPY values (7000, 7001, 0, 0, 1, 1), (3, 4, 0, "
		"0, 1, 1);";
	read_made(&t, sql);
	assert_int_not_equal(t.unordered, 0);
	sink_done(&t);
	assert_int_equal(read_made_pass(&t, sql, TRACE_ORDERED, &err), 0);
	assert_int_equal(t.unordered, 0);
	assert_int_equal(t.n_ops, 1002);
	sink_done(&t);
}

/* ---- ranges --------------------------------------------------------------------------------- */

static void ranges_are_pushed_started_or_brought_in_and_closed(void **state)
{
	(void)state;
	struct trace_sink t = { .wants = "r" };
	read_made(
		&t, TWO_ZEROS
		"insert into StringIds values (5, 'r'), (6, 'other');"
		"create table NVTX_EVENTS (start, end, eventType, text, globalTid, textId);"
		"insert into NVTX_EVENTS values (1, 2, 59, 'r', " PID(
			7) " + 3, null),"
			   "(3, 4, 60, null, " PID(8) " + 4, 5), (5, 6, 70, 'r', " PID(
				   7) ", null),"
				      "(7, 8, 71, null, " PID(7) ", 5), (9, 10, 34, 'r', " PID(
					      7) ", null),"
						 "(11, null, 59, 'r', " PID(
							 7) ", null), (12, 13, "
							    "59, null, " PID(
								    7) ", 6),"
								       "(14, "
								       "15, 59, "
								       "'R',"
								       " " PID(7) ", null), (16, "
										  "17, 59, "
										  "null, " PID(
											  7) ", "
											     "null)"
											     ";");
	assert_int_equal(t.n_ranges, 4);
	assert_int_equal(t.ranges[0].process, 7);
	assert_int_equal(t.ranges[1].process, 8);
	assert_int_equal(t.ranges[3].begin, 7);
	sink_done(&t);
}

/* ---- what is broken ------------------------------------------------------------------------- */

static void what_is_no_export_is_refused(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	struct err err = { 0 };
	struct buf b = { 0 };
	assert_true(plain_bytes(HERE "nsys-2022.2-saxpy-mpi.sqlite.gz", &b));
	/* Cut anywhere: the first page says how many there are. */
	for (size_t n = 0; n < b.len; n += n < 4096 ? 512 : 65536) {
		struct buf cut = { .data = b.data, .len = n };
		err.text[0] = '\0';
		if (n >= 4096 || n == 512 || n == 0)
			assert_int_equal(read_bytes(&t, &cut, TRACE_OPERATIONS, &err), -EINVAL);
		else
			assert_true(read_bytes(&t, &cut, TRACE_OPERATIONS, &err) < 0);
		assert_true(err.text[0]);
		assert_int_equal(t.n_ops, 0);
	}
	struct buf text = { .data = (char *)(uintptr_t) "{\"traceEvents\": []}", .len = 19 };
	assert_int_equal(read_bytes(&t, &text, TRACE_OPERATIONS, &err), -EINVAL);
	buf_done(&b);
	sink_done(&t);
	refuses("create table a (b)", "not of Nsight Systems");
}

static void wrong_columns_types_and_times_are_refused(void **state)
{
	(void)state;
	refuses(STRINGS "create table CUPTI_ACTIVITY_KIND_KERNEL (start, deviceId, demangledName);",
		"end");
#define KERNEL(values) KERNELS_TABLE "insert into CUPTI_ACTIVITY_KIND_KERNEL values (" values ");"
	refuses(KERNEL("'soon', 2, 0, 0, 1"), "row 1");
	refuses(KERNEL("1.5, 2, 0, 0, 1"), "whole number");
	refuses(KERNEL("1, x'02', 0, 0, 1"), "whole number");
	refuses(KERNEL("-1, 2, 0, 0, 1"), "negative");
	refuses(KERNEL("1, 9223372036854775807, 0, 0, 1"), "146 years");
	refuses(KERNEL("1, 2, 'first', 0, 1"), "deviceId");
	refuses(KERNEL("1, 2, 0, 'me', 1"), "process");
	refuses(KERNEL("1, 2, 0, 0, 1.5"), "name");
#define COPY(values)                                                                               \
	STRINGS COPIES_TABLE "insert into CUPTI_ACTIVITY_KIND_MEMCPY values (" values ");"
	refuses(COPY("1, 2, 0, 0, 1, -5"), "bytes");
	refuses(COPY("1, 2, 0, 0, 'up', 5"), "copyKind");
	refuses(STRINGS "create table NVTX_EVENTS (start, end, eventType, text, globalTid);"
			"insert into NVTX_EVENTS values (-3, 2, 59, 'r', 0);",
		"NVTX_EVENTS, row 1");
}

static void operations_without_a_time_are_counted(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t,
		  KERNEL("5, 5, 0, 0, 1), (9, 3, 0, 0, 1), (null, 4, 0, 0, 1), (4, null, 0, 0, 1),"
			 "(7, 8, 0, 0, 1"));
	assert_int_equal(t.untimed, 4);
	assert_int_equal(t.n_ops, 1);
	sink_done(&t);
}

/* Views and triggers with the names of tables: nothing that a file brings is run. */
static void what_a_schema_would_run_is_not_run(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t, STRINGS
		  "create view CUPTI_ACTIVITY_KIND_KERNEL as with recursive n(start) as (select 1 "
		  "union all select start + 1 from n) select start, start + 1 as end, 0 as "
		  "deviceId, 0 as globalPid, 1 as demangledName from n;");
	assert_int_equal(t.n_ops, 0);
	assert_int_equal(t.observes, 0);
	sink_done(&t);
	read_made(&t, KERNEL("1, 2, 0, 0, 1") "create trigger x after insert on StringIds begin "
					      "delete from "
					      "CUPTI_ACTIVITY_KIND_KERNEL; end;");
	assert_int_equal(t.n_ops, 1);
	sink_done(&t);
	refuses("create view StringIds as select 1 as id, 'a' as value;", "not of Nsight Systems");
	/* A column that is computed is none. */
	refuses(STRINGS
		"create table CUPTI_ACTIVITY_KIND_KERNEL (start, end as (start + 1), deviceId, "
		"globalPid, demangledName);"
		"insert into CUPTI_ACTIVITY_KIND_KERNEL values (1, 0, 0, 1);",
		"end");
}

static void names_of_any_size_and_kind(void **state)
{
	(void)state;
	struct trace_sink t = { 0 };
	read_made(&t, KERNEL("1, 2, 0, 0, 1), (2, 3, 0, 0, 77), (3, 4, 0, 0, 'text'), (4, 5, 0, 0, "
			     "null), "
			     "(5, 6, 0, 0, 2") "insert into StringIds values (1, printf('%.*c', "
					       "3000000, 'x')),"
					       "(2, 'ncclDevKernel_AllReduce');");
	assert_int_equal(t.n_ops, 5);
	assert_int_equal(strlen(t.names[t.ops[0].name]), 3000000);
	assert_string_equal(t.names[t.ops[1].name], "(no name)");
	assert_string_equal(t.names[t.ops[2].name], "text");
	assert_int_equal(t.ops[4].category, COLLECTIVE);
	sink_done(&t);
}

static void no_memory_at_any_step(void **state)
{
	(void)state;
	struct buf b;
	assert_true(plain_bytes(HERE "nsys-2022.2-saxpy-mpi.sqlite.gz", &b));
	for (int n = 1, rc = -ENOMEM; rc; n++) {
		struct trace_sink t = { .fail_after = n };
		struct err err = { 0 };
		rc = read_bytes(&t, &b, TRACE_RANGES, &err);
		if (!rc)
			rc = read_bytes(&t, &b, TRACE_OPERATIONS, &err);
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
		cmocka_unit_test(calls_and_what_waits),
		cmocka_unit_test(a_credential_is_named_and_its_value_nowhere),
		cmocka_unit_test(a_table_that_is_not_there_is_0_only_where_the_capture_says_so),
		cmocka_unit_test(graphs_are_counted_where_their_kernels_are_not),
		cmocka_unit_test(copies_of_unified_memory_have_their_direction),
		cmocka_unit_test(device_0_of_two_processes_is_two_devices),
		cmocka_unit_test(an_ordinal_is_found_by_cuda_s_number),
		cmocka_unit_test(calls_of_several_processes_come_in_order),
		cmocka_unit_test(rows_in_any_order_are_put_in_order_when_asked),
		cmocka_unit_test(ranges_are_pushed_started_or_brought_in_and_closed),
		cmocka_unit_test(what_is_no_export_is_refused),
		cmocka_unit_test(wrong_columns_types_and_times_are_refused),
		cmocka_unit_test(operations_without_a_time_are_counted),
		cmocka_unit_test(what_a_schema_would_run_is_not_run),
		cmocka_unit_test(names_of_any_size_and_kind),
		cmocka_unit_test(no_memory_at_any_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
