/* Every key of a suite, once. The checks, the JSON Schema and the test of docs/suites.md come
 * from this list. K(name, where, type, help) */
#ifndef SUITE_KEYS_H
#define SUITE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"

enum suite_where { IN_SUITE = 1, IN_APP = 2, IN_CASE = 4, IN_FOM = 8, IN_OWN_TIMER = 16 };

enum suite_type {
	KEY_NAME, /* letters, digits, ".", "_", "-"; of a case also {NAME} */
	KEY_TEXT,
	KEY_COMMAND, /* a list of texts; a text with shell: true */
	KEY_TEXTS,   /* a list of texts */
	KEY_ENV_NAMES,
	KEY_ENV,      /* names with a text, or with a list of texts: a sweep */
	KEY_SWEEP,    /* names with a list of texts */
	KEY_VARS,     /* names with a text */
	KEY_YES,      /* true or false */
	KEY_COUNT,    /* 1 or more */
	KEY_COUNT0,   /* 0 or more */
	KEY_DURATION, /* seconds, or 90s, 10m, 1h */
	KEY_REGEX,
	KEY_TIME_UNIT,
	KEY_BETTER,
	KEY_REGION,
	KEY_PROFILE,
	KEY_VERIFY,
	KEY_FOM,
	KEY_OWN_TIMER,
	KEY_APPS,
	KEY_CASES,
};

/* clang-format off */
#define SUITE_KEYS(K) \
	K(suite, IN_SUITE, KEY_NAME, "name of the suite") \
	K(name, IN_APP | IN_CASE, KEY_NAME, "letters, digits, dot, underscore, hyphen; of a case also {NAME}") \
	K(name, IN_FOM, KEY_TEXT, "of the metric, for people; FOM if not told") \
	K(title, IN_SUITE | IN_APP | IN_CASE, KEY_TEXT, "what people read instead of the name") \
	K(vars, IN_SUITE, KEY_VARS, "names for folders and the like, used as {NAME}; --var NAME=VALUE overrides") \
	K(apps, IN_SUITE, KEY_APPS, "the applications") \
	K(cases, IN_APP, KEY_CASES, "the inputs of the application") \
	K(command, IN_APP | IN_CASE, KEY_COMMAND, "program and arguments; one line for /bin/sh with shell: true") \
	K(shell, IN_APP | IN_CASE, KEY_YES, "command is a line for /bin/sh") \
	K(args, IN_APP | IN_CASE, KEY_TEXTS, "arguments after the command; the case's replace the application's") \
	K(cwd, IN_APP | IN_CASE, KEY_TEXT, "folder to start in, relative to the suite's; else one of its own") \
	K(inputs, IN_APP, KEY_ENV_NAMES, "environment variables that the application reads") \
	K(env, IN_APP | IN_CASE, KEY_ENV, "environment variables; a list of values is a sweep") \
	K(sweep, IN_CASE, KEY_SWEEP, "values for {NAME} in name, args, command and env; one case for each") \
	K(files, IN_APP | IN_CASE, KEY_TEXTS, "input files; their hashes belong to the input's identity") \
	K(build, IN_APP | IN_CASE, KEY_TEXTS, "command that makes the program") \
	K(fom, IN_APP | IN_CASE, KEY_FOM, "figure of merit: the application's own metric") \
	K(region, IN_APP | IN_CASE, KEY_REGION, "markers, timer:NAME or range:ANNOTATION; markers if not told") \
	K(own_timer, IN_APP | IN_CASE, KEY_OWN_TIMER, "the application's own timer of the region, to check the marks") \
	K(profile, IN_APP | IN_CASE, KEY_PROFILE, "yes, or no (REASON)") \
	K(excludes, IN_APP | IN_CASE, KEY_TEXT, "what the marks leave out") \
	K(verify, IN_APP | IN_CASE, KEY_VERIFY, "where results are checked: outside, inside, skipped or none") \
	K(timeout, IN_APP | IN_CASE, KEY_DURATION, "limit for one execution") \
	K(ranks, IN_APP | IN_CASE, KEY_COUNT, "MPI processes") \
	K(threads, IN_APP | IN_CASE, KEY_COUNT, "OMP_NUM_THREADS") \
	K(launcher, IN_APP | IN_CASE, KEY_NAME, "direct, mpirun, srun, flux or another that is configured") \
	K(warmup, IN_APP | IN_CASE, KEY_COUNT0, "executions made before and discarded") \
	K(clean, IN_APP | IN_CASE, KEY_COUNT, "clean executions") \
	K(regex, IN_FOM | IN_OWN_TIMER, KEY_REGEX, "pattern with one group, around the number; the last match counts") \
	K(unit, IN_FOM, KEY_TEXT, "unit of the number, 1 if it has none") \
	K(unit, IN_OWN_TIMER, KEY_TIME_UNIT, "s, ms, us or ns") \
	K(better, IN_FOM, KEY_BETTER, "higher or lower")
/* clang-format on */

struct suite_key {
	const char *name;
	unsigned where;
	enum suite_type type;
	const char *help;
};

extern const struct suite_key suite_keys[];
extern const size_t n_suite_keys;

const struct suite_key *suite_key_find(const char *name, unsigned where);

/* The JSON Schema of a suite, as text. */
void suite_schema(struct buf *out);

#endif
