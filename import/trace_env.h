/* Environment variables that a trace holds: names that look like credentials are told, values
 * never. */
#ifndef IMPORT_TRACE_ENV_H
#define IMPORT_TRACE_ENV_H

#include "import/trace.h"
#include "lib/str.h"

/* All-zero: nothing found. */
struct trace_env {
	char list[512]; /* names, with commas */
	size_t len, n, more;
};

void trace_env_name(struct trace_env *e, struct str name);
void trace_env_pair(struct trace_env *e, struct str pair);   /* NAME=value */
void trace_env_pairs(struct trace_env *e, struct str pairs); /* NAME=value;NAME=value */
void trace_env_json(struct trace_env *e,
		    struct str json); /* {"NAME": "value"}, or ["NAME=value"] */
int trace_env_tell(const struct trace_env *e,
		   struct trace_sink *t); /* one note, or none. -ENOMEM */

#endif
