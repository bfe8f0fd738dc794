/* Timer definitions, which then read themselves. */
#include <stdint.h>
#include <stdlib.h>

#include "timer/timer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct timer_def *def = NULL;
	struct err err = { 0 };
	if (timer_def_parse(&def, "fuzz.yaml", data, n, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	struct arena a = { 0 };
	const struct timer_file file = { "run.log", (const char *)data, n };
	struct timer_result r;
	timer_read(def, &a, &file, 1, &r);
	if ((r.rc == 0) != (r.why == NULL))
		abort();
	arena_free(&a);
	timer_def_free(def);
	return 0;
}
