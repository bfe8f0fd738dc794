/* roimeter import: into the store. */
#ifndef CLI_IMPORT_STORE_H
#define CLI_IMPORT_STORE_H

#include <stdbool.h>

#include "import/hpcperf.h"
#include "lib/err.h"

struct import_outcome {
	size_t stored, present;          /* runs: new ones, and those that were there already */
	size_t results, results_present; /* conformance results */
	bool dry;
};

/* All of it, or nothing. db NULL: the user's own. */
int import_store(const char *db, const struct imports *in, struct import_outcome *ret,
		 struct err *err);

#endif
