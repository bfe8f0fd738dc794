/* What roimeter platform tells of the conformance results that are stored. */
#ifndef CLI_PLATFORM_VERDICTS_H
#define CLI_PLATFORM_VERDICTS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* The newest result of each collector on this platform, in short (report/badge.h); the caller's.
 * NULL where there is no database. named: it was asked for by name, so that it must be there;
 * another that can't be read is said on standard error, and is as none. -ENOENT, -ENOMEM, or what
 * the store says. */
int platform_verdicts(json_t **ret_list, const char *platform, const char *db, bool named,
		      struct err *err);

/* As lines of text; NULL: nothing. */
void platform_verdicts_print(const json_t *list_or_null);

#endif
