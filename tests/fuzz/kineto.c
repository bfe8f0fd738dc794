/* Any bytes as PyTorch's JSON, in pieces: the first byte is their size. */
#include <errno.h>
#include <stdint.h>

#include "import/trace_kineto_impl.h"
#include "tests/fuzz/trace_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	for (enum trace_pass pass = TRACE_RANGES; pass <= TRACE_OPERATIONS; pass++) {
		struct fuzz_memory m = { .bytes = (const char *)data + 1,
					 .n = n - 1,
					 .piece = (size_t)data[0] + 1 };
		struct json_pull in = { .next = fuzz_next, .arg = &m, .path = "FILE" };
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		fuzz_result(kineto_read_bytes(&in, pass, &t, &err), &err);
		free(m.lent);
	}
	return 0;
}
