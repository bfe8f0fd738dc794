/* Any bytes as a database of Nsight Systems, of rocprofv3 or of rpd: each reader, each pass. */
#include <stdint.h>

#include "import/trace_nsys_impl.h"
#include "import/trace_rocprof_impl.h"
#include "tests/fuzz/trace_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int count(void *steps)
{
	return ++*(int *)steps >
	       200; /* 200,000 steps of SQLite's machine: enough for any of a corpus */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static int (*const readers[])(struct trace_db * db, enum trace_pass pass,
				      struct trace_sink * t,
				      struct err * err) = { nsys_read_db, rocpd_read, rpd_read };
	if (n > 1 << 20)
		return 0;
	for (size_t r = 0; r < 3; r++)
		for (enum trace_pass pass = TRACE_RANGES; pass <= TRACE_ORDERED; pass++) {
			struct trace_sink t = { 0 };
			struct trace_db db;
			struct err err = { 0 };
			int steps = 0, rc = trace_db_memory(&db, data, n, "FILE", &err);
			if (!rc) {
				sqlite3_progress_handler(db.db, 1000, count, &steps);
				rc = readers[r](&db, pass, &t, &err);
				trace_db_close(&db);
			}
			fuzz_result(rc, &err);
		}
	return 0;
}
