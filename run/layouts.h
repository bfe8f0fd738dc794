/* How files lie on the servers of a parallel file system, asked after a run: only here, where they were
 * made, and only of those that are still there. */
#ifndef RUN_LAYOUTS_H
#define RUN_LAYOUTS_H

#include "schema/record.h"

#define LAYOUTS_LUSTRE "lustre.lov" /* attribute that has it */

/* Into io.files of a record that is complete but for this; why others have none is in its nulls.
 * attribute: LAYOUTS_LUSTRE, or what a test has in its place. -ENOMEM. */
int layouts_look(struct record *rec, const char *attribute);

#endif
