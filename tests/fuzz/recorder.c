/* Any bytes as what a trace of Recorder is made of: a table of signatures, a grammar over it, a packed
 * block; and, where both are good, its calls. The first byte says where the table ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/recorder_map.h"
#include "import/recorder_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const functions[] = { "open", "write", "close", "pwrite64", "fread", "fopen", "lseek",
					 "mmap", "MPI_File_open", "MPI_File_write_at", "MPI_File_set_view",
					 "MPI_Send", "vfprintf", "dup", "unlink", "rename",
					 "user_function" };
#define N_FUNCTIONS (sizeof functions / sizeof *functions - 1)

static void map_all(const struct recorder_table *t)
{
	struct recorder_names *names;
	if (recorder_names_new(&names, NULL))
		return;
	for (size_t i = 0; i < t->n; i++) {
		struct recorder_call call = { .key = &t->keys[i],
					      .function = functions[t->keys[i].function] };
		struct recorder_event e;
		if (!recorder_map(names, &call, &e) && e.class == RECORDER_FILE &&
		    !io_call_info(e.event.call)->name)
			abort();
	}
	recorder_names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	/* Exactly as long, so that a look behind it is seen. */
	size_t at = 1 + (n - 1) * data[0] / 255;
	char *table_bytes = malloc(at), *grammar_bytes = malloc(n - at + 1);
	struct arena a = { .max_bytes = 64 << 20 };
	struct err err = { 0 };
	struct recorder_table t = { 0 };
	struct recorder_grammar g;
	struct str block, plain;
	size_t used;
	if (!table_bytes || !grammar_bytes)
		abort();
	memcpy(table_bytes, data + 1, at - 1);
	memcpy(grammar_bytes, data + at, n - at);
	if (recorder_table_parse(&t, &a, (struct str){ table_bytes, at - 1 }, N_FUNCTIONS, "TABLE", &err) == 0)
		map_all(&t);
	(void)recorder_grammar_parse(&g, &a, (struct str){ grammar_bytes, n - at }, t.n, "GRAMMAR", &err);
	block = (struct str){ grammar_bytes, n - at };
	(void)recorder_block(&a, block, &plain, &used, "BLOCK", &err);
	arena_free(&a);
	free(table_bytes);
	free(grammar_bytes);
	return 0;
}
