/* Result tables and case tables, as an import reads them. The first byte says which name the file
 * has, since a case table's level stands in its name. */
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
	char folder[] = "/tmp/roimeter-fuzz.XXXXXX", path[128];
	if (n > 65536 || !mkdtemp(folder))
		return 0;
	size_t skip = n && data[0] == '!';
	(void)snprintf(path, sizeof path, "%s/%s", folder, skip ? "level2_cases.tsv" : "level1_20260101.tsv");
	FILE *out = fopen(path, "w");
	if (!out)
		abort();
	(void)fwrite(data + skip, 1, n - skip, out);
	(void)fclose(out);
	struct imports in;
	struct err err = { 0 };
	const char *paths[] = { path };
	if (import_hpcperf(&in, paths, 1, &(struct import_options){ .platform = "p-q.r1" }, &err) == 0)
		imports_done(&in);
	else if (!err.text[0])
		abort(); /* a failure without a sentence */
	(void)unlink(path);
	(void)rmdir(folder);
	return 0;
}
