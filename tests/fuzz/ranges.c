/* The file in which processes leave the names of their ranges: any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/ranges.h"
#include "schema/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = { 0 };
	const char *told = ranges_told((const char *)data, n, &a);
	if (!told || !utf8_valid(told, strlen(told)))
		abort();
	for (const char *c = told; *c; c++)
		if ((unsigned char)*c < ' ')
			abort();
	arena_free(&a);
	return 0;
}
