/* The options of roimeter run, and the suite that they name or make. */
#define _GNU_SOURCE
#include "cli/run_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run_collect.h"
#include "suite/env.h"

#define OPTS_MAX 32
#define SINGLE_SUITE "local" /* of commands without a table */
#define DEFAULT_SUITE "suite.yaml"

static const char epilog[] =
	"Examples:\n"
	"  roimeter run --app mine --case first -- ./program --size 100\n"
	"  roimeter run --suite suites/demo.yaml all\n"
	"  roimeter run --suite suites/demo.yaml 'heat/*' lammps --order interleaved --clean 10\n"
	"As a service, with roimeterd and roimeter-agent (docs/run.md has all it takes):\n"
	"  roimeter run --server http://collector:8640 --suite suites/demo.yaml all\n"
	"  roimeter agent-status\n"
	"After its clean executions, which give the result, each case is run once more under the\n"
	"collectors that work here: these say what it did to its files, and what the device did.\n"
	"  roimeter run --suite suites/demo.yaml all --no-profile       without\n"
	"  roimeter run --suite suites/demo.yaml all --collect cupti    under this one alone";

static int parse(struct run_options *o, int argc, char **argv, int *ret_first, struct err *err)
{
	const struct opt opts[OPTS_MAX] = {
		{ "suite", OPT_TEXT, &o->suite, "FILE",
		  "cases to choose from (default: ./" DEFAULT_SUITE ")" },
		{ "var", OPT_EACH, &o->vars, "NAME=VALUE", "value of one of the suite's vars" },
		{ "app", OPT_TEXT, &o->app, "NAME",
		  "measure one command: name of the application" },
		{ "case", OPT_TEXT, &o->case_, "NAME", "and of its input" },
		{ "env", OPT_EACH, &o->env, "NAME=VALUE", "variable to set for it" },
		{ "ranks", OPT_COUNT, &o->ranks, "N", "processes to start it as, by the launcher" },
		{ "region", OPT_TEXT, &o->region, "REGION",
		  "its region: markers (default), timer:NAME, range:PATTERN" },
		{ "warmup", OPT_COUNT, &o->warmup, "N",
		  "warm-up executions, discarded (default: 1)" },
		{ "clean", OPT_COUNT, &o->clean, "N", "clean executions, measured (default: 5)" },
		{ "timeout", OPT_NUMBER, &o->timeout_s, "S", "seconds for one execution" },
		{ "order", OPT_TEXT, &o->order, "ORDER",
		  "sequential, or interleaved over the cases" },
		{ "launcher", OPT_TEXT, &o->launcher, "NAME",
		  "for cases with ranks that name none" },
		{ "env-allow", OPT_LIST, &o->env_allow, "NAME,...",
		  "pass this variable on; may end in *" },
		{ "collect", OPT_LIST, &o->collect, "NAME,...",
		  "one profiled execution with each: cupti, opencl, io, none, auto" },
		{ "capture", OPT_TEXT, &o->capture, "DIR",
		  "and keep every call about files that io sees, in DIR/APP/CASE" },
		{ "capture-time", OPT_TEXT, &o->capture_time, "NS",
		  "round its times to NS nanoseconds; none leaves them out" },
		{ "no-profile", OPT_FLAG, &o->no_profile, NULL,
		  "no profiled execution (default: under auto, what works here)" },
		{ "dry-run", OPT_FLAG, &o->dry_run, NULL,
		  "print what would run, and start nothing" },
		{ "resume", OPT_FLAG, &o->resume, NULL,
		  "go on with an interrupted run of these cases" },
		{ "db", OPT_TEXT, &o->db, "FILE",
		  "database (default: the one in your data folder)" },
		{ "server", OPT_TEXT, &o->server, "URL",
		  "give results to this daemon, by way of the agent of this node" },
		{ "wait", OPT_COUNT, &o->wait_s, "S",
		  "seconds to wait for their delivery at the end (default: 5)" },
		{ "no-store", OPT_FLAG, &o->no_store, NULL, "print results, store nothing" },
		{ "keep-logs", OPT_TEXT, &o->keep_logs, "DIR", "copy logs and output there" },
		{ "platform", OPT_TEXT, &o->platform, "ID", "name of this machine in the records" },
		{ "format", OPT_TEXT, &o->format, "FORMAT", "text or json" },
		{ "config", OPT_TEXT, &o->config, "FILE",
		  "configuration in place of the usual files" },
		{ "check-config", OPT_FLAG, &o->check_config, NULL,
		  "read the configuration, complain, and stop" },
		{ "print-config", OPT_FLAG, &o->print_config, NULL,
		  "print the configuration, and stop" },
	};
	size_t n = 0;
	while (opts[n].name)
		n++;
	const struct opt_table t = {
		.command = "roimeter run",
		.synopsis = "[--suite FILE] [OPTIONS] SELECTOR...\n"
			    "--app NAME --case NAME [OPTIONS] -- COMMAND [ARGUMENT...]",
		.about = "Measures the region of interest of each chosen case and stores a record "
			 "of it.\n"
			 "A SELECTOR is all, APP, APP/CASE, or a glob of those.",
		.opts = opts,
		.n = n,
		.epilog = epilog,
	};
	return opt_parse(&t, argc, argv, ret_first, err);
}

static bool is_step(const char *text)
{
	size_t n = strspn(text, "0123456789");
	return strcmp(text, "none") == 0 || (n && n <= 12 && !text[n] && text[strspn(text, "0")]);
}

static int check_words(const struct run_options *o, struct err *err)
{
	if (o->order && strcmp(o->order, "sequential") != 0 && strcmp(o->order, "interleaved") != 0)
		return err_set(err, -EINVAL, "--order %s: expected sequential or interleaved",
			       o->order);
	if (o->format && strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0)
		return err_set(err, -EINVAL, "--format %s: expected text or json", o->format);
	int rc = o->collect.n
			 ? run_collect_check_names("--collect", o->collect.items, o->collect.n, err)
			 : 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < o->collect.n; i++)
		if (o->no_profile && strcmp(o->collect.items[i], "none") != 0)
			return err_set(err, -EINVAL,
				       "--collect %s and --no-profile: leave one of them out",
				       o->collect.items[i]);
	if (o->capture && o->no_profile)
		return err_set(err, -EINVAL, "--capture and --no-profile: leave one of them out");
	if (o->capture && !*o->capture)
		return err_set(err, -EINVAL, "--capture \"\": name a folder");
	if (o->capture_time && !o->capture)
		return err_set(err, -EINVAL, "--capture-time goes with --capture DIR");
	if (o->capture_time && !is_step(o->capture_time))
		return err_set(err, -EINVAL,
			       "--capture-time %s: expected nanoseconds to round times to, or none",
			       o->capture_time);
	if (o->clean == 0)
		return err_set(err, -EINVAL, "--clean 0: at least one clean execution is needed");
	if (o->ranks == 0)
		return err_set(err, -EINVAL, "--ranks 0: at least one process is needed");
	if (o->server && (o->db || o->no_store))
		return err_set(err, -EINVAL,
			       "--server and %s: results go to one place; leave one of them out",
			       o->db ? "--db" : "--no-store");
	if (o->resume && o->no_store)
		return err_set(err, -EINVAL,
			       "--resume and --no-store: what is not to be stored is not kept "
			       "on the way either; leave one of them out");
	return 0;
}

/* Which of the two ways to call was meant, and what does not go with it. */
static int check_manner(const struct run_options *o, struct err *err)
{
	bool single = o->app || o->case_;
	if (single && !(o->app && o->case_))
		return err_set(
			err, -EINVAL,
			"--app and --case belong together: the result is stored under both names");
	if (single && (o->suite || o->vars.n))
		return err_set(err, -EINVAL,
			       "%s goes with the cases of a suite, not with --app and --case",
			       o->suite ? "--suite" : "--var");
	if (single && o->n_words == 0)
		return err_set(err, -EINVAL, "what is to be measured? Put the command after --");
	if (!single && (o->env.n || o->ranks >= 0 || o->region))
		return err_set(err, -EINVAL,
			       "%s goes with --app and --case; in a suite the case says it",
			       o->env.n    ? "--env"
			       : o->region ? "--region"
					   : "--ranks");
	if (!single && o->n_words == 0)
		return err_set(err, -EINVAL,
			       "which cases? Name all, APP, or APP/CASE; --dry-run all lists them");
	return 0;
}

int run_options_parse(struct run_options *o, int argc, char **argv, struct err *err)
{
	int first = 0;
	*o = (struct run_options){
		.warmup = -1, .clean = -1, .ranks = -1, .wait_s = -1, .timeout_s = NAN
	};
	int rc = parse(o, argc, argv, &first, err);
	if (rc)
		return rc;
	o->words = (const char **)argv + first;
	o->n_words = (size_t)(argc - first);
	o->json = o->format && strcmp(o->format, "json") == 0;
	rc = check_words(o, err);
	return rc || o->check_config || o->print_config ? rc : check_manner(o, err);
}

void run_options_done(struct run_options *o)
{
	free(o->vars.items);
	free(o->env.items);
	free(o->env_allow.items);
	free(o->collect.items);
	*o = (struct run_options){ .warmup = -1 };
}

/* What to do about it. */
static const char *env_advice(enum env_verdict v)
{
	switch (v) {
	case ENV_BAD_NAME:
		return "write it in capitals, digits and _";
	case ENV_CREDENTIAL:
		return "what looks like one is never passed to a program";
	case ENV_RESERVED:
		return "it is set by the tool itself";
	case ENV_TWICE:
		return "leave one of them out";
	case ENV_OK:
		break;
	}
	return "";
}

int run_check_allowed(const char *name, const char *where, struct err *err)
{
	size_t n = strlen(name);
	char *bare = strndup(name, n && name[n - 1] == '*' ? n - 1 : n);
	if (!bare)
		return err_set(err, -ENOMEM, "out of memory");
	enum env_verdict v = *bare ? env_may_declare(bare) : ENV_BAD_NAME;
	bool denied = env_denied(bare);
	free(bare);
	if (denied)
		v = ENV_CREDENTIAL;
	if (v == ENV_OK || v == ENV_TWICE)
		return 0;
	return err_set(err, -EINVAL, "%s %s: %s; %s", where, name, env_verdict_text(v),
		       env_advice(v));
}

/* ---- suites ---- */

static int split_pair(struct arena *a, const char *text, const char *option, struct env_pair *ret,
		      struct err *err)
{
	const char *eq = strchr(text, '=');
	if (!eq || eq == text)
		return err_set(err, -EINVAL, "%s %s: expected NAME=VALUE", option, text);
	ret->name = arena_strndup(a, text, (size_t)(eq - text));
	ret->value = arena_strdup(a, eq + 1);
	return ret->name && ret->value ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int split_pairs(struct arena *a, const struct opt_list *list, const char *option,
		       struct env_pair **ret, struct err *err)
{
	*ret = arena_array(a, list->n + 1, sizeof **ret);
	int rc = *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < list->n; i++)
		rc = split_pair(a, list->items[i], option, &(*ret)[i], err);
	return rc;
}

static int load_suite(const struct run_options *o, struct suite *ret, struct err *err)
{
	struct arena a = { 0 };
	struct env_pair *vars = NULL;
	const char *file = o->suite ? o->suite : DEFAULT_SUITE;
	if (!o->suite && access(DEFAULT_SUITE, F_OK))
		return err_set(err, -ENOENT,
			       "there is no " DEFAULT_SUITE
			       " here; name a suite with --suite FILE, or one "
			       "command with --app NAME --case NAME -- COMMAND");
	int rc = split_pairs(&a, &o->vars, "--var", &vars, err);
	if (!rc)
		rc = suite_load_with(ret, file, vars, o->vars.n, err);
	arena_free(&a);
	return rc;
}

static int check_name(const char *option, const char *name, struct err *err)
{
	size_t n =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-");
	if (strlen(name) > 128)
		return err_set(err, -EINVAL, "%s: a name has 128 letters at most", option);
	if (!*name || name[n])
		return err_set(err, -EINVAL,
			       "%s \"%s\": a name has letters, digits and . _ + - only", option,
			       name);
	return 0;
}

static int put_declared(struct suite *s, const struct run_options *o, struct suite_case *c,
			struct err *err)
{
	int rc = split_pairs(&s->arena, &o->env, "--env", &c->env, err);
	c->n_env = o->env.n;
	for (size_t i = 0; !rc && i < c->n_env; i++) {
		enum env_verdict v = env_may_declare(c->env[i].name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(c->env[i].name, c->env[k].name) == 0)
				v = ENV_TWICE;
		if (v != ENV_OK)
			rc = err_set(err, -EINVAL, "--env %s: %s; %s", c->env[i].name,
				     env_verdict_text(v), env_advice(v));
	}
	return rc;
}

/* A suite of one case, which starts where the caller is. */
static int make_single(const struct run_options *o, struct suite *ret, struct err *err)
{
	*ret = (struct suite){ .name = SINGLE_SUITE };
	struct suite_case *c = arena_alloc(&ret->arena, sizeof *c);
	char *cwd = getcwd(NULL, 0);
	int rc = check_name("--app", o->app, err);
	if (!rc)
		rc = check_name("--case", o->case_, err);
	if (!rc && (!c || !cwd))
		rc = err_set(err, cwd ? -ENOMEM : -errno, "where am I? %s",
			     cwd ? "out of memory" : strerror(errno));
	if (!rc) {
		*c = (struct suite_case){
			.app = o->app,
			.name = o->case_,
			.command = { o->words, o->n_words },
			.cwd = arena_strdup(&ret->arena, cwd),
			.ranks = o->ranks > 0 ? (unsigned)o->ranks : 0,
			.region = o->region ? o->region : "markers",
			.timeout_s = NAN,
			.warmup = NAN,
			.clean = NAN,
		};
		ret->dir = c->cwd;
		ret->cases = c;
		ret->n_cases = 1;
		rc = put_declared(ret, o, c, err);
	}
	free(cwd);
	return rc;
}

int run_make_suite(const struct run_options *o, struct suite *ret, struct err *err)
{
	int rc = o->app ? make_single(o, ret, err) : load_suite(o, ret, err);
	const char *region = o->region;
	if (!rc && region && strcmp(region, "markers") != 0 && strncmp(region, "timer:", 6) != 0 &&
	    strncmp(region, "range:", 6) != 0)
		rc = err_set(err, -EINVAL,
			     "--region %s: expected markers, timer:NAME or range:PATTERN", region);
	return rc;
}

void run_print_config(const struct run_options *o, const struct config *c)
{
	struct buf b = { 0 };
	if (o->print_config) {
		conf_print(&config_table, c, &b);
		if (!b.failed)
			(void)fwrite(b.data, 1, b.len, stdout);
	} else {
		(void)fprintf(stderr, "the configuration is good\n");
	}
	buf_done(&b);
}
