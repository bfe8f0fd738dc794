/* Any bytes as the attribute that says how a file lies on Lustre. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct layout l;
	char *exact = malloc(n + 1); /* so that a look behind it is seen */
	if (!exact)
		abort();
	if (n)
		memcpy(exact, data, n);
	char *copy = realloc(exact, n ? n : 1);
	if (!copy)
		abort();
	if (layout_of_lustre(&l, copy, n) == 0 &&
	    (l.size_bytes < -1 || l.count < -1 || l.pool[LAYOUT_POOL_BYTES - 1]))
		abort();
	free(copy);
	return 0;
}
