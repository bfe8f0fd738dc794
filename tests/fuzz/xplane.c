/* Any bytes as XLA's profile. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "import/trace_xplane_impl.h"
#include "tests/fuzz/trace_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* Exactly as long, so that a look behind it is seen. */
	char *bytes = malloc(n + !n);
	if (!bytes)
		return 0;
	memcpy(bytes, data, n);
	for (enum trace_pass pass = TRACE_RANGES; pass <= TRACE_OPERATIONS; pass++) {
		struct trace_sink t = { 0 };
		struct err err = { 0 };
		fuzz_result(xplane_read_bytes((struct str){ bytes, n }, "FILE", pass, &t, &err),
			    &err);
	}
	free(bytes);
	return 0;
}
