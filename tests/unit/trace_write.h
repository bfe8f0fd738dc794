/* One made-up time line, written as each tool would: two processes on two devices, streams that
 * overlap, two regions each, an exclude around a copy, migrations of unified memory, operations
 * without a time. */
#ifndef TESTS_UNIT_TRACE_WRITE_H
#define TESTS_UNIT_TRACE_WRITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/category.h"

#define LINE_BASE 3489389201751000 /* ns: a machine that is up for 40 days */

struct line_op {
	int process, gpu, stream; /* process 0 or 1; gpu of the machine */
	int64_t begin, end;       /* after LINE_BASE; end 0: without a time */
	enum category category;
	const char *name; /* of kernels */
	int64_t bytes;
	bool unified;
};

struct line_range {
	int process;
	bool exclude;
	int64_t begin, end;
};

static const struct line_op line_ops[] = {
	{ 0, 0, 7, 100, 300, COPY_H2D, NULL, 4096, false },
	{ 0, 0, 7, 1000, 2000, COMPUTE, "warm_up<float, 2>(float*, int)", 0, false },
	{ 0, 0, 7, 3000, 5000, COMPUTE, "step<float, 2>(float*, int)", 0, false },
	{ 0, 0, 13, 4000, 6000, COMPUTE, "step<float, 2>(float*, int)", 0, false },
	{ 0, 1, 7, 4500, 7500, COMPUTE, "halo(float*)", 0, false },
	{ 1, 1, 7, 5000, 9000, COMPUTE, "step<float, 2>(float*, int)", 0, false },
	{ 0, 0, 7, 6500, 7001, COPY_D2D, NULL, 1000, false },
	{ 0, 0, 13, 6999, 7300, COPY_D2H, NULL, 333, true },
	{ 1, 1, 7, 9000, 9100, COLLECTIVE, "ncclDevKernel_AllReduce(int)", 0, false },
	{ 0, 0, 7, 9500, 0, COMPUTE, "step<float, 2>(float*, int)", 0, false },
	{ 0, 0, 7, 10000, 12000, COMPUTE, "step<float, 2>(float*, int)", 0, false },
	{ 1, 1, 13, 10500, 10501, COPY_H2D, NULL, 77, true },
	{ 1, 1, 7, 11000, 0, COPY_D2H, NULL, 77, false },
	{ 0, 0, 13, 12500, 12600, FILL, NULL, 512, false },
	{ 0, 0, 7, 20000, 20500, COPY_D2H, NULL, 4096, false },
};
#define LINE_OPS (sizeof line_ops / sizeof *line_ops)

static const struct line_range line_ranges[] = {
	{ 0, false, 2500, 7200 },  { 0, true, 6400, 7100 },   { 1, false, 2600, 8000 },
	{ 0, false, 9900, 13000 }, { 1, false, 9050, 10700 },
};
#define LINE_RANGES (sizeof line_ranges / sizeof *line_ranges)

static const int line_pids[] = { 4711, 4712 };

static bool line_copy(const struct line_op *o)
{
	return o->category >= COPY_H2D && o->category <= COPY_OTHER;
}

static bool line_kernel(const struct line_op *o)
{
	return o->category == COMPUTE || o->category == COLLECTIVE;
}

static const char *line_name(const struct line_range *r)
{
	return r->exclude ? "roimeter:exclude" : "roimeter:roi";
}

static long long line_begin(const struct line_op *o)
{
	return LINE_BASE + o->begin;
}

/* Those without a time end where they begin. */
static long long line_end(const struct line_op *o)
{
	return LINE_BASE + (o->end ? o->end : o->begin);
}

/* ---- databases ------------------------------------------------------------------------------ */

static void line_run(sqlite3 *db, const char *sql)
{
	char *why = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &why)) {
		(void)fprintf(stderr, "%s: %s\n", sql, why);
		abort();
	}
}

#define RUN(db, ...)                                                                               \
	do {                                                                                       \
		char sql_[2048];                                                                   \
		(void)snprintf(sql_, sizeof sql_, __VA_ARGS__);                                    \
		line_run(db, sql_);                                                                \
	} while (0)

static sqlite3 *line_new(const char *path)
{
	sqlite3 *db;
	(void)remove(path);
	if (sqlite3_open(path, &db))
		abort();
	line_run(db, "begin");
	return db;
}

static void line_close(sqlite3 *db)
{
	line_run(db, "commit");
	(void)sqlite3_close(db);
}

static long long line_global(int process)
{
	return 281474976710656 + ((long long)line_pids[process] << 24);
}

/* CUDA's number of a GPU in a process. In 2026's file the second process sees but the second GPU.
 */
static int line_ordinal(int year, int process, int gpu)
{
	return year >= 2026 && process == 1 ? gpu - 1 : gpu;
}

static void line_nsys_devices(sqlite3 *db, int year)
{
	const char *id = year == 2020 ? "deviceId" : "id";
	RUN(db, "create table TARGET_INFO_GPU (%s, name, uuid)", id);
	line_run(db,
		 "insert into TARGET_INFO_GPU values (0, 'Alpha', 'GPU-a'), (1, 'Alpha', 'GPU-b')");
	if (year < 2026)
		return;
	line_run(db, "create table TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid, uuid, "
		     "numMultiprocessors)");
	RUN(db,
	    "insert into TARGET_INFO_CUDA_DEVICE values (0, 0, %d, 'GPU-a', 1), (1, 1, %d, "
	    "'GPU-b', 1), "
	    "(1, 0, %d, 'GPU-b', 1)",
	    line_pids[0], line_pids[0], line_pids[1]);
}

static void line_nsys_capture(sqlite3 *db, int year)
{
	line_run(db, "create table TARGET_INFO_SYSTEM_ENV (globalVid, devStateName, name, "
		     "nameEnum, value)");
	line_run(db, "insert into TARGET_INFO_SYSTEM_ENV values (1, '', 'HasCudaEvents', 812, '1'),"
		     "(1, '', 'Hostname', 619, 'n1')");
	if (year == 2022)
		line_run(db, "create table EXPORT_META_DATA (name, value)");
	if (year < 2024)
		return;
	line_run(db, "create table META_DATA_EXPORT (name, value)");
	line_run(db, "create table META_DATA_CAPTURE (name, value)");
	line_run(db, "insert into META_DATA_CAPTURE values ('CAPTURE_EVENT_TYPE', 'Cuda')");
}

static int line_copy_kind(const struct line_op *o)
{
	int kind = o->category == COPY_H2D ? 1 : o->category == COPY_D2H ? 2 : 8;
	return o->unified ? kind == 8 ? 13 : kind + 10 : kind;
}

static void line_nsys_op(sqlite3 *db, int year, const struct line_op *o, int id)
{
	int device = line_ordinal(year, o->process, o->gpu);
	long long global = line_global(o->process);
	if (line_kernel(o)) {
		RUN(db, "insert into StringIds values (%d, '%s')", id, o->name);
		RUN(db,
		    "insert into CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, globalPid, "
		    "demangledName, "
		    "shortName) values (%lld, %lld, %d, %lld, %d, %d)",
		    line_begin(o), line_end(o), device, global, id, id);
	} else if (line_copy(o))
		RUN(db,
		    "insert into CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, globalPid, "
		    "bytes, copyKind) "
		    "values (%lld, %lld, %d, %lld, %lld, %d)",
		    line_begin(o), line_end(o), device, global, (long long)o->bytes,
		    line_copy_kind(o));
	else
		RUN(db,
		    "insert into CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, globalPid, "
		    "bytes) "
		    "values (%lld, %lld, %d, %lld, %lld)",
		    line_begin(o), line_end(o), device, global, (long long)o->bytes);
}

static void line_write_nsys(const char *path, int year)
{
	sqlite3 *db = line_new(path);
	const char *green = year >= 2024 ? ", greenContextId" : "";
	line_run(db, "create table StringIds (id integer primary key, value)");
	RUN(db,
	    "create table CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId%s, streamId, "
	    "correlationId, globalPid, demangledName, shortName%s%s)",
	    green, year >= 2022 ? ", mangledName, sharedMemoryLimitConfig" : "",
	    year >= 2026 ? ", graphId, clusterX" : "");
	RUN(db,
	    "create table CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId%s, streamId, "
	    "globalPid, "
	    "bytes, copyKind, srcKind, dstKind%s)",
	    green, year >= 2026 ? ", copyCount" : "");
	RUN(db,
	    "create table CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId%s, streamId, "
	    "globalPid, value, bytes, memKind)",
	    year >= 2026 ? green : "");
	RUN(db,
	    "create table NVTX_EVENTS (start, end, eventType, rangeId, text, globalTid, "
	    "endGlobalTid, "
	    "textId, domainId%s)",
	    year >= 2026 ? ", binaryData" : "");
	line_run(db, "create table PROCESSES (globalPid, pid, name)");
	line_nsys_devices(db, year);
	line_nsys_capture(db, year);
	for (int p = 0; p < 2; p++)
		RUN(db, "insert into PROCESSES values (%lld, %d, 'app')", line_global(p),
		    line_pids[p]);
	for (size_t i = 0; i < LINE_OPS; i++)
		line_nsys_op(db, year, &line_ops[i], 100 + (int)i);
	line_run(db, "insert into StringIds values (1, 'roimeter:roi'), (2, 'roimeter:exclude')");
	for (size_t i = 0; i < LINE_RANGES; i++) {
		const struct line_range *r = &line_ranges[i];
		RUN(db,
		    "insert into NVTX_EVENTS (start, end, eventType, text, globalTid, textId) "
		    "values "
		    "(%lld, %lld, %d, %s%s%s, %lld, %d)",
		    (long long)(LINE_BASE + r->begin), (long long)(LINE_BASE + r->end),
		    i % 2 ? 60 : 59, i % 2 ? "" : "'", i % 2 ? "null" : line_name(r),
		    i % 2 ? "" : "'", line_global(r->process) + 1, 1 + r->exclude);
	}
	line_close(db);
}

static void line_rocpd_tables(sqlite3 *db)
{
	static const char *const tables[] = {
		"rocpd_string_u (id integer primary key, guid, string)",
		"rocpd_info_node_u (id integer primary key, guid, hash, hostname)",
		"rocpd_info_process_u (id integer primary key, guid, nid, ppid, pid, command, "
		"environment)",
		"rocpd_info_agent_u (id integer primary key, nid, pid, type, absolute_index, "
		"type_index, name)",
		"rocpd_info_kernel_symbol_u (id integer primary key, kernel_name, display_name)",
		"rocpd_event_u (id integer primary key, category_id, extdata)",
		"rocpd_kernel_dispatch_u (id integer primary key, nid, pid, agent_id, kernel_id, "
		"start, end)",
		"rocpd_memory_copy_u (id integer primary key, pid, start, end, name_id, "
		"dst_agent_id, "
		"src_agent_id, size)",
		"rocpd_region_u (id integer primary key, nid, pid, tid, start, end, name_id, "
		"event_id, extdata)",
	};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		RUN(db, "create table %s", tables[i]);
	line_run(db, "insert into rocpd_info_node_u values (1, 'g', 1, 'n1')");
	line_run(db, "insert into rocpd_info_agent_u values (1, 1, 1, 'CPU', 0, 0, 'cpu'), "
		     "(2, 1, 1, 'GPU', 1, 0, 'gfx'), (3, 1, 1, 'GPU', 2, 1, 'gfx')");
	line_run(db, "insert into rocpd_string_u values (1, 'g', 'MARKER_CORE_RANGE_API'), "
		     "(2, 'g', 'roctxThreadRangeA'), (3, 'g', 'copy')");
	RUN(db,
	    "insert into rocpd_info_process_u values (1, 'g', 1, 0, %d, 'app', '{}'), "
	    "(2, 'g', 1, 0, %d, 'app', '{}')",
	    line_pids[0], line_pids[1]);
}

static void line_write_rocpd(const char *path)
{
	sqlite3 *db = line_new(path);
	line_rocpd_tables(db);
	for (size_t i = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		int gpu = 2 + o->gpu, id = 100 + (int)i;
		if (line_kernel(o)) {
			RUN(db,
			    "insert into rocpd_info_kernel_symbol_u values (%d, 'mangled', '%s')",
			    id, o->name);
			RUN(db,
			    "insert into rocpd_kernel_dispatch_u values (null, 1, %d, %d, %d, "
			    "%lld, %lld)",
			    1 + o->process, gpu, id, line_begin(o), line_end(o));
		} else if (line_copy(o))
			RUN(db,
			    "insert into rocpd_memory_copy_u values (null, %d, %lld, %lld, 3, %d, "
			    "%d, %lld)",
			    1 + o->process, line_begin(o), line_end(o),
			    o->category == COPY_D2H ? 1 : gpu, o->category == COPY_H2D ? 1 : gpu,
			    (long long)o->bytes);
	}
	for (size_t i = 0; i < LINE_RANGES; i++) {
		const struct line_range *r = &line_ranges[i];
		RUN(db, "insert into rocpd_event_u values (%d, 1, '{\"message\": \"%s\"}')",
		    1 + (int)i, line_name(r));
		RUN(db,
		    "insert into rocpd_region_u values (null, 1, %d, 1, %lld, %lld, 2, %d, '{}')",
		    1 + r->process, (long long)(LINE_BASE + r->begin),
		    (long long)(LINE_BASE + r->end), 1 + (int)i);
	}
	line_close(db);
}

static void line_write_rpd(const char *path)
{
	sqlite3 *db = line_new(path);
	line_run(db, "create table rocpd_string (id integer primary key, string)");
	line_run(db, "create table rocpd_op (id integer primary key, gpuId, queueId, start, end, "
		     "description_id, opType_id)");
	line_run(db, "create table rocpd_api (id integer primary key, pid, tid, start, end, "
		     "apiName_id, args_id)");
	line_run(db, "create table rocpd_api_ops (id integer primary key, api_id, op_id)");
	line_run(db, "create table rocpd_copyapi (api_ptr_id integer primary key, size)");
	line_run(db,
		 "insert into rocpd_string values (1, 'KernelExecution'), (2, 'CopyHostToDevice'), "
		 "(3, 'CopyDeviceToHost'), (4, 'CopyDeviceToDevice'), (5, 'FillBuffer'), (6, "
		 "'UserMarker'), "
		 "(7, 'roimeter:roi'), (8, 'roimeter:exclude'), (9, 'hipLaunchKernel'), (10, '')");
	for (size_t i = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		int id = 100 + (int)i;
		int type = line_kernel(o)            ? 1
			   : o->category == COPY_H2D ? 2
			   : o->category == COPY_D2H ? 3
			   : o->category == COPY_D2D ? 4
						     : 5;
		RUN(db, "insert into rocpd_string values (%d, '%s')", id, o->name ? o->name : "");
		RUN(db, "insert into rocpd_op values (%d, %d, 0, %lld, %lld, %d, %d)", id, o->gpu,
		    line_begin(o), line_end(o), id, type);
		RUN(db, "insert into rocpd_api values (%d, %d, 1, %lld, %lld, 9, 10)", id,
		    line_pids[o->process], line_begin(o) - 50, line_begin(o) - 40);
		RUN(db, "insert into rocpd_api_ops values (null, %d, %d)", id, id);
		if (line_copy(o))
			RUN(db, "insert into rocpd_copyapi values (%d, %lld)", id,
			    (long long)o->bytes);
	}
	for (size_t i = 0; i < LINE_RANGES; i++) {
		const struct line_range *r = &line_ranges[i];
		RUN(db, "insert into rocpd_api values (null, %d, 1, %lld, %lld, 6, %d)",
		    line_pids[r->process], (long long)(LINE_BASE + r->begin),
		    (long long)(LINE_BASE + r->end), 7 + r->exclude);
	}
	line_close(db);
}

/* ---- text ----------------------------------------------------------------------------------- */

static FILE *line_file(const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f)
		abort();
	return f;
}

static void line_json_names(FILE *f)
{
	(void)fprintf(
		f, "\"agents\":[{\"id\":{\"handle\":50},\"type\":1,\"node_id\":0},"
		   "{\"id\":{\"handle\":60},\"type\":2,\"node_id\":1,\"logical_node_type_id\":0},"
		   "{\"id\":{\"handle\":61},\"type\":2,\"node_id\":2,\"logical_node_type_id\":1}],"
		   "\"strings\":{\"buffer_records\":[],\"marker_api\":[");
	for (size_t i = 0; i < LINE_RANGES; i++)
		(void)fprintf(f, "%s{\"key\":%zu,\"value\":\"%s\"}", i ? "," : "", i,
			      line_name(&line_ranges[i]));
	(void)fprintf(f, "]},\"kernel_symbols\":[");
	for (size_t i = 0, n = 0; i < LINE_OPS; i++)
		if (line_kernel(&line_ops[i]))
			(void)fprintf(f, "%s{\"kernel_id\":%zu,\"formatted_kernel_name\":\"%s\"}",
				      n++ ? "," : "", i, line_ops[i].name);
	(void)fprintf(f, "],");
}

static void line_json_records(FILE *f, int process)
{
	(void)fprintf(f, "\"buffer_records\":{\"kernel_dispatch\":[");
	for (size_t i = 0, n = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		if (o->process == process && line_kernel(o))
			(void)fprintf(f,
				      "%s{\"start_timestamp\":%lld,\"end_timestamp\":%lld,"
				      "\"dispatch_info\":"
				      "{\"agent_id\":{\"handle\":%d},\"kernel_id\":%zu}}",
				      n++ ? "," : "", line_begin(o), line_end(o), 60 + o->gpu, i);
	}
	(void)fprintf(f, "],\"memory_copy\":[");
	for (size_t i = 0, n = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		if (o->process == process && line_copy(o))
			(void)fprintf(
				f,
				"%s{\"start_timestamp\":%lld,\"end_timestamp\":%lld,\"bytes\":%lld,"
				"\"src_agent_id\":{\"handle\":%d},\"dst_agent_id\":{\"handle\":%d}"
				"}",
				n++ ? "," : "", line_begin(o), line_end(o), (long long)o->bytes,
				o->category == COPY_H2D ? 50 : 60 + o->gpu,
				o->category == COPY_D2H ? 50 : 60 + o->gpu);
	}
	(void)fprintf(f, "],\"marker_api\":[");
	for (size_t i = 0, n = 0; i < LINE_RANGES; i++)
		if (line_ranges[i].process == process)
			(void)fprintf(f,
				      "%s{\"start_timestamp\":%lld,\"end_timestamp\":%lld,"
				      "\"correlation_id\":{\"internal\":%zu}}",
				      n++ ? "," : "", (long long)(LINE_BASE + line_ranges[i].begin),
				      (long long)(LINE_BASE + line_ranges[i].end), i);
	(void)fprintf(f, "]}");
}

static void line_write_json(const char *path)
{
	FILE *f = line_file(path);
	(void)fprintf(f, "{\"rocprofiler-sdk-tool\":[");
	for (int p = 0; p < 2; p++) {
		(void)fprintf(f, "%s{\"metadata\":{\"pid\":%d},", p ? "," : "", line_pids[p]);
		line_json_names(f);
		line_json_records(f, p);
		(void)fprintf(f, "}");
	}
	(void)fprintf(f, "]}\n");
	(void)fclose(f);
}

/* Three files of each process, in a folder. */
static void line_write_csv(const char *folder, int process)
{
	static const char *const directions[] = { [COPY_H2D] = "MEMORY_COPY_HOST_TO_DEVICE",
						  [COPY_D2H] = "DEVICE_TO_HOST",
						  [COPY_D2D] = "MEMORY_COPY_DEVICE_TO_DEVICE" };
	char path[512];
	(void)snprintf(path, sizeof path, "%s/%d_kernel_trace.csv", folder, line_pids[process]);
	FILE *f = line_file(path);
	(void)fprintf(
		f, "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n");
	for (size_t i = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		if (o->process == process && line_kernel(o))
			(void)fprintf(f, "\"KERNEL_DISPATCH\",\"Agent %d\",\"%s\",%lld,%lld\n",
				      o->gpu, o->name, line_begin(o), line_end(o));
	}
	(void)fclose(f);
	(void)snprintf(path, sizeof path, "%s/%d_memory_copy_trace.csv", folder,
		       line_pids[process]);
	f = line_file(path);
	(void)fprintf(f, "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Start_Timestamp,End_"
			 "Timestamp\n");
	for (size_t i = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		if (o->process == process && line_copy(o))
			(void)fprintf(f, "MEMORY_COPY,%s,%d,%d,%lld,%lld\n",
				      directions[o->category], o->category == COPY_H2D ? 9 : o->gpu,
				      o->category == COPY_D2H ? 9 : o->gpu, line_begin(o),
				      line_end(o));
	}
	(void)fclose(f);
	(void)snprintf(path, sizeof path, "%s/%d_marker_api_trace.csv", folder, line_pids[process]);
	f = line_file(path);
	(void)fprintf(f, "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_"
			 "Timestamp\n");
	for (size_t i = 0; i < LINE_RANGES; i++)
		if (line_ranges[i].process == process)
			(void)fprintf(f, "MARKER_CORE_API,%s,%d,1,1,%lld,%lld\n",
				      line_name(&line_ranges[i]), line_pids[process],
				      (long long)(LINE_BASE + line_ranges[i].begin),
				      (long long)(LINE_BASE + line_ranges[i].end));
	(void)fclose(f);
}

/* One file of each process; microseconds with three decimals. */
static void line_write_kineto(const char *path, int process)
{
	FILE *f = line_file(path);
	(void)fprintf(
		f,
		"{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"Alpha\"}, "
		"{\"id\": 1, \"name\": \"Alpha\"}], \"traceEvents\": [\n"
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {}}",
		line_pids[process]);
	for (size_t i = 0; i < LINE_OPS; i++) {
		const struct line_op *o = &line_ops[i];
		static const char *const copies[] = {
			[COPY_H2D] = "Memcpy HtoD (Pageable -> Device)",
			[COPY_D2H] = "Memcpy DtoH (Device -> Pageable)",
			[COPY_D2D] = "Memcpy DtoD (Device -> Device)"
		};
		if (o->process != process)
			continue;
		long long b = line_begin(o), n = line_end(o) - b;
		(void)fprintf(f,
			      ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, "
			      "\"tid\": %d, \"ts\": %lld.%03lld, \"dur\": %lld.%03lld, \"args\": "
			      "{\"device\": %d, \"stream\": %d",
			      line_kernel(o) ? "kernel"
			      : line_copy(o) ? "gpu_memcpy"
					     : "gpu_memset",
			      line_kernel(o) ? o->name
			      : line_copy(o) ? copies[o->category]
					     : "Memset (Device)",
			      o->gpu, o->stream, b / 1000, b % 1000, n / 1000, n % 1000, o->gpu,
			      o->stream);
		if (!line_kernel(o))
			(void)fprintf(f, ", \"bytes\": %lld", (long long)o->bytes);
		(void)fprintf(f, "}}");
	}
	for (size_t i = 0; i < LINE_RANGES; i++) {
		const struct line_range *r = &line_ranges[i];
		long long b = LINE_BASE + r->begin, n = r->end - r->begin;
		if (r->process == process)
			(void)fprintf(
				f,
				",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
				"\"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %lld.%03lld, \"dur\": "
				"%lld.%03lld}",
				line_name(r), line_pids[process], line_pids[process], b / 1000,
				b % 1000, n / 1000, n % 1000);
	}
	(void)fprintf(f, "\n]}\n");
	(void)fclose(f);
}

#endif
