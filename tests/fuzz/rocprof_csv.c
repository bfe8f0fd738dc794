/* Any bytes as rocprofv3's CSV, in pieces: the first byte is their size. */
#include <errno.h>
#include <stdint.h>

#include "import/trace_rocprof_impl.h"
#include "tests/fuzz/trace_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	for (enum trace_pass pass = TRACE_RANGES; pass <= TRACE_OPERATIONS; pass++) {
		struct fuzz_memory m = { (const char *)data + 1, n - 1, 0, (size_t)data[0] + 1,
					 NULL };
		struct roc_bytes in = { fuzz_next, fuzz_rewind, &m, "FILE" };
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		fuzz_result(roc_csv_read(&in, pass, &t, &err), &err);
		free(m.lent);
	}
	return 0;
}
