/* Suites from anybody: no text may do more than be refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "suite/suite.h"
#include "suite/table.h"

static void as_cell(const char *text, size_t n)
{
	struct arena a = { .max_bytes = 1 << 24 };
	struct swept_case *cases;
	size_t made;
	char *cell = arena_strndup(&a, text, n < 4096 ? n : 4096);
	if (cell)
		(void)sweep_expand(&a, "n{}", cell, &cases, &made, NULL);
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct suite s;
	struct err err = { 0 };
	if (suite_parse(&s, "fuzz.yaml", data, n, &err) == 0) {
		static const char *const selectors[] = { "all", "*/*", "a/b" };
		bool *chosen = calloc(s.n_cases + 1, sizeof *chosen);
		if (!chosen)
			abort();
		(void)suite_select(&s, selectors, 3, chosen, &err);
		free(chosen);
		suite_done(&s);
	} else if (!err.text[0]) {
		abort(); /* a refusal without a sentence */
	}
	as_cell((const char *)data, n);
	return 0;
}
