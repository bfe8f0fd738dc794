/* Numbers from an application's own output: figures of merit, own timers, and the region itself
 * where nobody can mark. Pure: text in, numbers out; patterns run under a match limit, since the
 * text is not ours. */
#ifndef TIMER_TIMER_H
#define TIMER_TIMER_H

#include <stdbool.h>

#include "core/metric.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "suite/suite.h"

/* The last match of the pattern (PCRE2, multi-line, one group) in text. unit: as declared, or NULL.
 * Where the pattern has the unit's text, or a rate, in it with an SI prefix (Matom-step/s), output
 * with another prefix of the same unit (1.312 Gatom-step/s) matches too and is folded into that
 * one. Thousands separators are removed. text NULL: METRIC_LOG_MISSING; pattern NULL: METRIC_NONE.
 * -EINVAL: the pattern does not compile or has not exactly one group. */
int metric_find(const char *pattern, const char *unit, const char *text, size_t n,
		struct metric *ret, struct err *err);

/* A time: metric_find, then unit s, ms, us or ns folded to seconds. */
int metric_find_seconds(const char *pattern, const char *unit, const char *text, size_t n,
			struct metric *ret, struct err *err);

/* The launcher's own report, "audit summary: ...": line in the arena or NULL, and whether it is
 * clean ("0 mismatch, 0 unverified" as whole words). */
void launcher_audit(struct arena *a, const char *text, size_t n, const char **ret_line,
		    signed char *ret_ok);

/* A timer definition, a file in suites/timers/NAME.yaml; docs/timers.md tells how to write one. */
struct timer_def;

/* Look in the folders of path (colon-separated, may be NULL), then where it was installed. -ENOENT
 * names what there is. */
int timer_def_load(struct timer_def **ret, const char *name, const char *path, struct err *err);
int timer_def_parse(struct timer_def **ret, const char *file, const void *bytes, size_t n,
		    struct err *err);
void timer_def_free(struct timer_def *def);

const char *timer_def_covers(const struct timer_def *def); /* what the time is of, a sentence */
const char *timer_def_ranks(const struct timer_def *def);  /* how processes are combined */
const char *timer_def_source(const struct timer_def *def); /* where that is known from */
int timer_def_device_sync(const struct timer_def *def);    /* enum ternary */
const char *timer_def_caveat(const struct timer_def *def); /* a lasting limit, or NULL */
/* Globs of the files that this timer reads, "run.log" (the output) among them. Those must be kept;
 * timer_file_matches says which. */
struct txts timer_def_files(const struct timer_def *def);

/* Does a file of the run's folder match? A glob without "/" is compared with the file's name in any
 * folder, one with "/" with as many last parts of the path; "run.log" is only the output. */
bool timer_file_matches(const char *glob, const char *path);

/* A file of the execution, "run.log" being its standard output and error. */
struct timer_file {
	const char *name, *text;
	size_t n;
};

/* Never fails as a call: ret->rc is -ENOENT when the timer is missing or incomplete, with the
 * reason in ret->why. Texts and parts live in the arena. One thread at a time for each def. */
void timer_read(const struct timer_def *def, struct arena *a, const struct timer_file *files,
		size_t n, struct timer_result *ret);

#endif
