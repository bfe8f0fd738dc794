/* The measuring part of roimeter conformance: the probe, its run, and what came of it. */
#ifndef CLI_CONFORMANCE_RUN_H
#define CLI_CONFORMANCE_RUN_H

#include "core/conform.h"
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/opt.h"
#include "schema/record.h"

struct conformance_run {
	/* given */
	const char *collector, *probe; /* probe: NULL for the collector's own */
	const char *config;            /* for the run; NULL: the usual files */
	struct opt_list words;         /* for the probe */
	/* found out */
	struct arena arena;
	char folder[64]; /* all that is written while it is measured; "": none */
	char self[4096]; /* this program */
	char sentinel[48];
	char found[512]; /* where the sentinel was; "": nowhere */
	struct buf json; /* what roimeter run printed */
	struct record rec;
	struct conform_want want;
};

/* Runs the probe with the same program's roimeter run, in a new folder, and reads what came back.
 * Whatever it returns, conformance_run_done() is next. */
int conformance_run(struct conformance_run *r, struct err *err);

/* The folder goes, too. The caller's texts are its own. */
void conformance_run_done(struct conformance_run *r);

#endif
