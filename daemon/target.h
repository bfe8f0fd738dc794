/* What a request asks for: path and query, percent-decoded once and checked, so that nothing
 * behind this sees a dot segment, a control character, or bytes that are not UTF-8. */
#ifndef DAEMON_TARGET_H
#define DAEMON_TARGET_H

#include <stddef.h>

#include "lib/err.h"

#define TARGET_BYTES 2000 /* of a request's target; longer ones are 414 */
#define TARGET_PARAMS 16

struct target_param {
	const char *name, *value;
};

struct target {
	const char *path; /* "/api/v1/runs/..", in text */
	struct target_param params[TARGET_PARAMS];
	size_t n_params;
	char text[TARGET_BYTES + 1];
};

/* raw: as it came, path and query. -ENAMETOOLONG; -EINVAL with a sentence. */
int target_parse(struct target *ret, const char *raw, struct err *err);

/* NULL: not given. */
const char *target_param(const struct target *t, const char *name);

#endif
