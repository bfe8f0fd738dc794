/* What roimeter run was asked for. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include <stdbool.h>

#include "cli/config.h"
#include "lib/opt.h"
#include "suite/suite.h"

struct run_options {
	const char *suite, *app, *case_, *region, *launcher, *platform, *config, *order, *db,
		*keep_logs, *format, *server, *capture, *capture_time;
	struct opt_list vars, env, env_allow, collect;
	long warmup, clean, ranks, wait_s; /* -1: not told */
	double timeout_s;                  /* NAN: not told */
	bool no_profile, dry_run, resume, no_store, check_config, print_config, json;
	const char **words; /* selectors, or the command */
	size_t n_words;
};

/* 1: --help was printed. -EINVAL: what can't be asked for, by name. */
int run_options_parse(struct run_options *o, int argc, char **argv, struct err *err);
void run_options_done(struct run_options *o);

/* The suite of the file, or one made of the command. */
int run_make_suite(const struct run_options *o, struct suite *ret, struct err *err);

/* May this name be passed on from the caller's environment? where: what asked for it. */
int run_check_allowed(const char *name, const char *where, struct err *err);

/* For --check-config and --print-config. */
void run_print_config(const struct run_options *o, const struct config *c);

#endif
