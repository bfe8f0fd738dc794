/* Which collectors a call of roimeter run uses: found, opened and asked before anything runs. */
#ifndef CLI_RUN_COLLECT_H
#define CLI_RUN_COLLECT_H

#include <jansson.h>

#include "cli/run_options.h"
#include "run/collector.h"

struct run_collect {
	struct collector_lib *items;
	size_t n;
	struct collector_lib along; /* io, where a device's collector is there, too; else empty */
	bool automatic;             /* all of them were chosen by auto, none was named */
	const char *reason;         /* why there are none */
	const char *range_library;  /* for regions that are ranges (run/ranges.h), or NULL */
};

/* Whether these may stand together; where is "--collect" or the like, for the sentence. -EINVAL:
 * there is none, one stands twice, or none stands beside another. */
int run_collect_check_names(const char *where, const char *const *names, size_t n, struct err *err);

/* The call's, else the configuration's. -ENOENT, -EINVAL: one is not there, or can't work here;
 * with
 * --dry-run only what "auto" stands for is asked whether it works. */
int run_collect_open(struct run_collect *ret, const struct run_options *o, const struct config *c,
		     struct arena *a, struct err *err);
void run_collect_close(struct run_collect *c);

/* Can a capture be made? -EINVAL with a sentence: no execution has the collector io. */
int run_collect_check_capture(const struct run_collect *c, const char *folder, struct err *err);

/* The names of the first n of them, and of who rides along. */
json_t *run_collect_names(const struct run_collect *c, size_t n);

#endif
