/* Shared by the files that turn a suite's text into cases; nobody else includes it. */
#ifndef SUITE_READER_H
#define SUITE_READER_H

#include "suite/doc.h"
#include "suite/suite.h"

struct suite_reader {
	struct suite *suite;
	const struct env_pair *vars; /* given from outside */
	size_t n_vars;
	size_t cases_room;
	struct err *err;
};

/* Known keys, right types, values in their ranges, everywhere in the file. */
int suite_check(struct suite_reader *r, const struct doc_node *root);

/* Cases with their sweeps, into r->suite. The root has passed suite_check. */
int suite_expand(struct suite_reader *r, const struct doc_node *root);

/* Seconds of "90", "90s", "10m", "1.5h"; NAN for anything else. */
double suite_duration(const char *text);

/* A name of a suite, an application or a case: what is wrong with it, or NULL. */
const char *suite_name_fault(const char *name);

#define SUITE_MAX_CASES 5000

#endif
