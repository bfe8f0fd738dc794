/* Result tables and case tables, as an import reads them. The first byte says which name the file
 * has, since a case table's level stands in its name. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/hpcperf.h"
#include "lib/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char folder[64];
	if (!folder[0]) {
		(void)snprintf(folder, sizeof folder, "/tmp/roimeter-fuzz.XXXXXX");
		if (!mkdtemp(folder))
			abort();
	}
	char path[128];
	(void)snprintf(path, sizeof path, "%s/%s", folder,
		       n && data[0] == '!' ? "level2_cases.tsv" : "level1_20260101.tsv");
	size_t skip = n && data[0] == '!';
	if (n > 65536 || file_write(path, data + skip, n - skip, NULL))
		return 0;
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { path };
	if (import_hpcperf(&in, paths, 1, &(struct import_options){ .platform = "p-q.r1" }, &err) == 0)
		imports_done(&in);
	else if (!err.text[0])
		abort(); /* a failure without a sentence */
	(void)unlink(path);
	(void)rmdir(folder);
	folder[0] = 0;
	return 0;
}
