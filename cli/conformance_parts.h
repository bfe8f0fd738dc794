/* The parts of the admission test: what the probe is asked to do in each, and their order. */
#ifndef CLI_CONFORMANCE_PARTS_H
#define CLI_CONFORMANCE_PARTS_H

#include "cli/conformance_run.h"

enum { CONFORMANCE_PARTS = 11 };

/* words: base, hard, all, or names of parts; none of them: all. -EINVAL names them. */
int conformance_choose(bool ret_chosen[CONFORMANCE_PARTS], const struct opt_list *words,
		       struct err *err);

/* The first part is the base; the others are the harder ones. */
#define CONFORMANCE_BASE 0

/* Makes those that are chosen, and says which were left out. first: of the first one, good also
 * where this fails; the caller's to give up. -ENODEV: the probe can't do the base part here. */
int conformance_make_parts(struct conformance_lab *lab, const bool chosen[CONFORMANCE_PARTS],
			   struct conform *c, struct conformance_measured *first, struct err *err);

#endif
