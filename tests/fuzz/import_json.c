/* Run records, the page's data, conformance files, and records of our own. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/hpcperf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char path[] = "/tmp/roimeter-fuzz.XXXXXX";
	int fd = n <= 65536 ? mkstemp(path) : -1;
	if (fd < 0)
		return 0;
	ssize_t wrote = write(fd, data, n);
	(void)close(fd);
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { path };
	struct import_options o = { .platform = "p-q.r1", .app = "a", .case_ = "c" };
	for (int ours = 0; wrote == (ssize_t)n && ours < 2; ours++) {
		err.text[0] = 0;
		int rc = ours ? import_roimeter(&in, paths, 1, &err) : import_hpcperf(&in, paths, 1, &o, &err);
		if (rc == 0)
			imports_done(&in);
		else if (!err.text[0])
			abort(); /* a failure without a sentence */
	}
	(void)unlink(path);
	return 0;
}
