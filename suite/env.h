/* The rules about environment variables: what may be declared, what is passed on, what never. */
#ifndef SUITE_ENV_H
#define SUITE_ENV_H

#include <stdbool.h>

#include "lib/err.h"
#include "suite/suite.h"

enum env_verdict {
	ENV_OK,
	ENV_BAD_NAME,   /* not [A-Z_][A-Z0-9_]* */
	ENV_CREDENTIAL, /* matches the deny rule: TOKEN, SECRET, PASSWD, ... and their like */
	ENV_RESERVED,   /* ROIMETER_*, HPCPERF_ROI_LOG and the others the tool sets itself */
	ENV_TWICE,
};

/* May a case declare this name? */
enum env_verdict env_may_declare(const char *name);
const char *env_verdict_text(enum env_verdict v); /* "credential name", ... */

/* Does the credential rule keep this name out? Beats the allow-list and the case. */
bool env_denied(const char *name);

/* The names passed on from the caller without being asked for; NULL-terminated. */
extern const char *const env_allowed[];

/* The environment of one execution. envp is the caller's. allow: more names to pass on (a name
 * may end in "*"). set: what the case and the launcher declare. own: what the runner sets itself
 * (reserved names). ret_envp is NULL-terminated, in the arena. ret_refused: names that were
 * allowed or declared and that the credential rule kept out. -ENOMEM. */
int env_build(struct arena *a, char *const *envp, const struct txts *allow,
	      const struct env_pair *set, size_t n_set, const struct env_pair *own, size_t n_own,
	      char ***ret_envp, struct txts *ret_refused);

/* An input that is set in the caller's environment but not by the case: -EINVAL, by name. */
int env_check_inputs(const struct suite_case *c, char *const *envp, struct err *err);

#endif
