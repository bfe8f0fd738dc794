/* roimeter export: what a report needs besides the runs: declared inputs and conformance results.
 */
#ifndef CLI_EXPORT_BESIDE_H
#define CLI_EXPORT_BESIDE_H

#include <stdio.h>

#include "lib/arena.h"
#include "store/store.h"

/* Which suites and platforms the exported runs are of. All-zero: none yet. */
struct export_beside {
	struct arena arena;
	const char **suites, **platforms;
	size_t n_suites, cap_suites, n_platforms, cap_platforms;
};

int export_beside_note(struct export_beside *b, const struct run_row *row); /* 0 or -ENOMEM */

/* JSON lines: of each suite (schema/declared.h), then each result (schema/conformance.h) of each
 * platform, newest first. A query that leaves nothing out takes all that is stored; else it is what
 * belongs to the runs noted, and to the application and case asked for. */
int export_beside_write(const struct export_beside *b, struct store *s, const struct run_query *q,
			FILE *out, struct err *err);

void export_beside_done(struct export_beside *b);

#endif
