/* Suites: which applications, with which inputs. YAML in, checked; every complaint has
 * file:line:column. */
#ifndef SUITE_SUITE_H
#define SUITE_SUITE_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "schema/field.h"

struct pattern_spec {
	const char *name;    /* of a figure of merit; NULL otherwise */
	const char *pattern; /* NULL: not declared */
	const char *unit, *better;
};

struct env_pair {
	const char *name, *value;
};

/* One case after sweeps and overrides: everything needed to run it. */
struct suite_case {
	const char *app, *name, *title; /* title may be NULL */
	struct txts command;            /* argv, arguments of the case included */
	bool shell;                     /* command[0] is a line for /bin/sh */
	const char *cwd;      /* as resolved against the suite's folder; NULL: not told, and the
			       * runner gives each execution a folder of its own */
	struct env_pair *env; /* declared by application and case, the case's win */
	size_t n_env;
	struct txts inputs;   /* environment variables that the application reads */
	struct txts files;    /* input files, resolved; hashed into the input's identity */
	struct txts build;    /* command that makes the program, or empty */
	unsigned ranks;       /* 0: the case says nothing about processes */
	const char *launcher; /* "direct", "mpirun", ...; NULL: direct, or as configured */
	unsigned threads;     /* 0: not told; else OMP_NUM_THREADS is set */
	const char *region;   /* "markers", "timer:NAME", "range:GLOB" */
	struct pattern_spec fom, own_timer;
	const char *profile_no; /* reason, or NULL: may be profiled */
	const char *excludes;   /* what the marks leave out, or NULL */
	const char *verify;     /* outside, inside, skipped, none; NULL: not told */
	double timeout_s;       /* NAN: the protocol's default, and so for the next two */
	double warmup, clean;
	unsigned line, column; /* where the case stands */
};

struct suite {
	struct arena arena;
	const char *name, *title, *file, *dir, *hash; /* hash: XXH3-128 of the file */
	struct suite_case *cases; /* in the order of the file, sweeps expanded */
	size_t n_cases;
};

/* -EINVAL with "file:line:column: what; what to do". ret is initialised by this call, and empty
 * after a failure. */
int suite_load(struct suite *ret, const char *path, struct err *err);
int suite_parse(struct suite *ret, const char *path, const void *bytes, size_t n, struct err *err);

/* The same, with values for some of the suite's vars in place of those in the file. */
int suite_load_with(struct suite *ret, const char *path, const struct env_pair *vars, size_t n_vars,
		    struct err *err);
int suite_parse_with(struct suite *ret, const char *path, const void *bytes, size_t n,
		     const struct env_pair *vars, size_t n_vars, struct err *err);
void suite_done(struct suite *s);

/* Which cases: "all", "APP", "APP/CASE", globs. Each selector must hit something: -ENOENT names
 * the one that does not and what is near. ret_chosen has room for n_cases flags. */
int suite_select(const struct suite *s, const char *const *selectors, size_t n, bool *ret_chosen,
		 struct err *err);

#endif
