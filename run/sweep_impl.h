/* Between the files of sweep: its plan, and its run. */
#ifndef RUN_SWEEP_IMPL_H
#define RUN_SWEEP_IMPL_H

#include "run/case.h"
#include "run/hash.h"
#include "run/journal.h"
#include "run/sweep.h"

struct sweep {
	struct sweep_options o;
	struct arena arena;
	struct case_run *cases;
	struct journal_case *journal_cases;
	size_t n;
	char key[HASH_TEXT_BYTES];
	struct journal *journal;
	struct fill fill;
	double order; /* of the next execution, over all cases */
	bool away;    /* the agent was, when it was last told of something */
};

/* The executions whose capture is still to be made: is there one already? -EEXIST. */
int sweep_check_calls(const struct sweep *s, struct err *err);

bool case_has_made(const struct case_run *c, const char *name);

/* What was made of a case is let go. */
void sweep_free_made(struct case_run *c);

#endif
