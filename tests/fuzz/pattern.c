/* A pattern on the first line, a unit on the second, and the output it is tried on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "timer/timer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	const char *first = n ? memchr(text, '\n', n) : NULL;
	const char *second = first ? memchr(first + 1, '\n', n - (size_t)(first + 1 - text)) : NULL;
	if (!second || first - text > 300 || second - first > 60)
		return 0;
	struct arena a = { 0 };
	char *pattern = arena_strndup(&a, text, (size_t)(first - text));
	char *unit = arena_strndup(&a, first + 1, (size_t)(second - first - 1));
	size_t left = n - (size_t)(second + 1 - text);
	struct metric m;
	if (pattern && unit &&
	    metric_find(pattern, unit, second + 1, left < 4096 ? left : 4096, &m, NULL) == 0 &&
	    known(m.value) != (m.status == METRIC_OK))
		abort();
	if (pattern && unit)
		(void)metric_find_seconds(pattern, unit, second + 1, left < 4096 ? left : 4096, &m,
					  NULL);
	arena_free(&a);
	return 0;
}
