/* {NAME} in the texts of a suite. */
#ifndef SUITE_SUBST_H
#define SUITE_SUBST_H

#include "suite/doc.h"
#include "suite/suite.h"

/* What the names stand for; the first list that has a name wins. */
struct scope {
	const struct env_pair *lists[4];
	size_t n[4];
};

const char *scope_get(const struct scope *s, const char *name, size_t n);

/* The node's text with every {NAME} replaced. {{NAME}} stands for a {NAME} that stays, ${NAME} is
 * left to the shell, and braces around anything that is not a name are themselves. NULL with the
 * sentence in err for a name that stands for nothing, or without memory. */
const char *subst(struct arena *a, const char *file, const struct doc_node *node,
		  const struct scope *s, struct err *err);

/* Does the text use {NAME}? */
bool subst_uses(const char *text, const char *name);

#endif
