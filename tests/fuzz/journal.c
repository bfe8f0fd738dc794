/* The journal of an interrupted run, damaged in any way: read up to the damage, and never past the
 * bytes. The user may have edited it, and a disk may have lost a part. */
#include <stdint.h>
#include <stdlib.h>

#include "run/journal_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int drop(void *arg, size_t i, struct capture *c)
{
	(void)arg;
	if (i > 1 || !c->row.name)
		abort(); /* a case that is not there, or an execution without a name */
	capture_done(c);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct journal_case cases[] = {
		{ .app = "t", .name = "one", .fingerprint = "f1" },
		{ .app = "t", .name = "two", .fingerprint = "f2" },
	};
	size_t good = 0;
	(void)journal_get((const char *)data, n, cases, 2, drop, NULL, &good, NULL);
	if (good > n)
		abort();
	(void)journal_count((const char *)data, n);
	return 0;
}
