/* What runs and export have in common: which runs, and finding one by the beginning of its id. */
#ifndef CLI_QUERY_H
#define CLI_QUERY_H

#include "lib/err.h"
#include "store/store.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

/* "text", "json", "csv"; NULL is what ret held. -EINVAL. */
int cli_format(const char *text, enum format *ret, struct err *err);

/* Is the query one that can have an answer? since is a UTC time or a date, status is known. */
int cli_check_query(const struct run_query *q, struct err *err);

/* The full id of "latest" or of an id's beginning; the caller frees it. -ENOENT: no such run;
 * -EINVAL: several begin like this. */
int cli_find_run(struct store *s, const char *name, char **ret_id, struct err *err);

#endif
