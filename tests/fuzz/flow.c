/* Flows of other tools, as roimeter period reads them, and their period. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/period.h"
#include "import/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char path[] = "/tmp/roimeter-fuzz.XXXXXX";
	int fd = n > 65536 ? -1 : mkstemp(path);
	if (fd < 0)
		return 0;
	FILE *out = fdopen(fd, "w");
	if (!out)
		abort();
	(void)fwrite(data, 1, n, out);
	(void)fclose(out);
	struct flow f = { 0 };
	struct err err = { 0 };
	int rc = flow_read_file(&f, path, &err);
	(void)unlink(path);
	if (rc && !err.text[0])
		abort(); /* a failure without a sentence */
	for (int d = 0; d < FLOW_DIRECTIONS && !rc; d++) {
		struct period p;
		(void)period_of(f.pieces[d], f.n[d], NULL, &p);
		period_done(&p);
	}
	flow_done(&f);
	return 0;
}
