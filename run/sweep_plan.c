/* What a sweep is going to do, and everything that can be refused before anything runs. */
#define _GNU_SOURCE
#include "run/sweep_impl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "lib/version.h"
#include "run/calls.h"
#include "run/launch.h"
#include "run/ranges.h"

#define EXECUTIONS_MAX 1000

static double first_known(double a, double b, double c)
{
	return known(a) ? a : known(b) ? b : c;
}

static int check_counts(const struct sweep *s, const struct case_run *c, struct err *err)
{
	double profiled = s->o.collect_auto ? 0 : c->profiled;
	if (!(c->cleans >= 1) || c->warmups + c->cleans + profiled > EXECUTIONS_MAX)
		return err_set(
			err, -EINVAL,
			"%s/%s: %.15g warm-up, %.15g clean and %.15g profiled executions; at "
			"least one clean one is needed, and %d together are the most",
			c->c->app, c->c->name, c->warmups, c->cleans, profiled, EXECUTIONS_MAX);
	return 0;
}

static int load_timer(struct sweep *s, struct case_run *c, struct err *err)
{
	const char *region = c->c->region ? c->c->region : "markers";
	if (strncmp(region, "timer:", 6) != 0)
		return 0;
	int rc = timer_def_load(&c->timer, region + 6, s->o.timer_path, err);
	if (rc)
		return err_wrap(err, rc, "%s/%s", c->c->app, c->c->name);
	c->timer_files = timer_def_files(c->timer);
	return 0;
}

/* A variable with one value can't be the program's and the collector's. */
static int check_conflicts(struct sweep *s, struct case_run *c, char *const *envp, struct err *err)
{
	int rc = c->range ? ranges_check(c->range, s->o.range_library, envp, err) : 0;
	if (rc)
		return err_wrap(err, rc, "%s/%s", c->c->app, c->c->name);
	for (size_t i = 0; (double)i < c->profiled; i++) {
		const char *name = collector_conflict(&s->o.collectors[i], envp);
		if (name && s->o.collect_auto) {
			c->profiled = 0;
			c->profile_no = arena_printf(&s->arena,
						     "since the program gets %s already, which the "
						     "collector %s needs",
						     name, s->o.collectors[i].name);
			return c->profile_no ? 0 : err_set(err, -ENOMEM, "out of memory");
		}
		if (name)
			return err_set(err, -EINVAL,
				       "%s/%s: the program gets %s already, and the collector %s "
				       "needs it: it has room for one. Leave it out, or say "
				       "\"profile: no (REASON)\", or --no-profile",
				       c->c->app, c->c->name, name, s->o.collectors[i].name);
	}
	return 0;
}

/* Names that would be passed on and that the credential rule keeps out. */
static int find_refused(struct sweep *s, struct case_run *c, struct err *err)
{
	char **envp = NULL;
	int rc = env_build(&s->arena, s->o.commands.envp, &c->command.allow, c->command.set,
			   c->command.n_set, NULL, 0, &envp, &c->refused);
	return rc ? err_set(err, rc, "out of memory") : check_conflicts(s, c, envp, err);
}

/* What must be the same for an execution of an earlier session to count. */
static int take_fingerprint(struct sweep *s, struct case_run *c)
{
	struct hash *h = hash_new();
	char text[HASH_TEXT_BYTES];
	if (!h)
		return -ENOMEM;
	const char *const parts[] = {
		ROIMETER_VERSION_TEXT,
		c->c->app,
		c->c->name,
		c->c->region ? c->c->region : "",
		s->o.platform->id,
		c->command.cwd ? c->command.cwd : "",
		c->command.exe_hash ? c->command.exe_hash : "",
		c->command.input_hash,
		s->o.suite->hash ? s->o.suite->hash : "",
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		hash_text(h, parts[i]);
	for (size_t i = 0; i < c->command.argv.n; i++)
		hash_text(h, c->command.argv.items[i]);
	hash_text(h, "");
	for (size_t i = 0; i < c->command.allow.n; i++)
		hash_text(h, c->command.allow.items[i]);
	hash_end(h, text);
	c->fingerprint = arena_strdup(&s->arena, text);
	return c->fingerprint ? 0 : -ENOMEM;
}

/* DIR/APP/CASE, and where several of its executions have one, DIR/APP/CASE/EXECUTION. */
static int plan_calls(struct sweep *s, struct case_run *c)
{
	size_t n = 0;
	const char **list = arena_array(&s->arena, (size_t)c->profiled + 1, sizeof *list);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; (double)i < c->profiled; i++)
		n += collector_has(&s->o.collectors[i], "io");
	for (size_t i = 0; (double)i < c->profiled; i++) {
		const struct collector_lib *with = &s->o.collectors[i];
		if (!collector_has(with, "io"))
			continue;
		list[i] = arena_printf(&s->arena, "%s/%s/%s%s%s", s->o.calls, c->c->app, c->c->name,
				       n > 1 ? "/profiled." : "", n > 1 ? with->name : "");
		if (!list[i])
			return -ENOMEM;
	}
	c->calls = list;
	return 0;
}

int sweep_check_calls(const struct sweep *s, struct err *err)
{
	char name[EXECUTION_NAME_BYTES];
	const struct fill f = { .o = &s->o };
	int rc = 0;
	for (size_t i = 0; !rc && i < s->n; i++) {
		const struct case_run *c = &s->cases[i];
		size_t first = (size_t)(c->warmups + c->cleans);
		for (size_t k = 0; !rc && c->calls && !c->stored && (double)k < c->profiled; k++)
			if (c->calls[k] && !case_has_made(c, case_execution(c, &f, first + k, name)))
				rc = calls_check(c->calls[k], err);
	}
	return rc;
}

static int plan_case(struct sweep *s, struct case_run *c, const struct suite_case *suite_case,
		     struct err *err)
{
	const struct sweep_options *o = &s->o;
	c->c = suite_case;
	c->warmups = first_known(o->warmup, suite_case->warmup, o->default_warmup);
	c->cleans = first_known(o->clean, suite_case->clean, o->default_clean);
	c->profile_no = suite_case->profile_no;
	c->profiled = c->profile_no ? 0 : (double)o->n_collectors;
	c->timeout_s = first_known(o->timeout_s, suite_case->timeout_s, o->default_timeout_s);
	c->expected_s = c->expected_steps = NAN;
	c->range = ranges_pattern(suite_case);
	int rc = check_counts(s, c, err);
	if (!rc)
		rc = command_make(&c->command, &s->arena, suite_case, &o->commands, err);
	if (!rc)
		rc = load_timer(s, c, err);
	if (!rc)
		rc = find_refused(s, c, err);
	if (!rc && o->calls && plan_calls(s, c))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc && !o->commands.plan_only)
		rc = command_hash(&c->command, &s->arena, err);
	if (!rc && !o->commands.plan_only && take_fingerprint(s, c))
		rc = err_set(err, -ENOMEM, "out of memory");
	c->spread = !rc && !c->timer && o->announce &&
		    launch_spreads(&c->command.launcher_argv, getenv);
	return rc;
}

/* The journal of this way of calling: the same suite, cases and store. */
static int make_key(struct sweep *s)
{
	struct hash *h = hash_new();
	if (!h)
		return -ENOMEM;
	hash_text(h, s->o.suite->name);
	hash_text(h, s->o.suite->file ? s->o.suite->file : "");
	hash_text(h, s->o.store ? s->o.store : "");
	for (size_t i = 0; i < s->n; i++) {
		hash_text(h, s->cases[i].c->app);
		hash_text(h, s->cases[i].c->name);
	}
	hash_end(h, s->key);
	return 0;
}

static int make_journal_cases(struct sweep *s)
{
	s->journal_cases = arena_array(&s->arena, s->n + 1, sizeof *s->journal_cases);
	if (!s->journal_cases)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		s->journal_cases[i] =
			(struct journal_case){ .app = s->cases[i].c->app,
					       .name = s->cases[i].c->name,
					       .fingerprint = s->cases[i].fingerprint };
	return 0;
}

int sweep_new(struct sweep **ret, const struct sweep_options *o, struct err *err)
{
	struct sweep *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->o = *o;
	int rc = 0;
	s->cases = calloc(o->suite->n_cases + 1, sizeof *s->cases);
	if (!s->cases)
		rc = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < o->suite->n_cases; i++)
		if (o->chosen[i])
			rc = plan_case(s, &s->cases[s->n++], &o->suite->cases[i], err);
	if (!rc && o->calls && !o->resume) /* else what was made before is not known yet */
		rc = sweep_check_calls(s, err);
	if (!rc && (make_key(s) || make_journal_cases(s)))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		sweep_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void sweep_free_made(struct case_run *c)
{
	for (size_t i = 0; i < c->n_made; i++) {
		worked_done(&c->made[i]->worked);
		capture_done(&c->made[i]->capture);
		free(c->made[i]);
	}
	free(c->made);
	c->made = NULL;
	c->n_made = c->made_cap = 0;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->cases && i < s->n; i++) {
		sweep_free_made(&s->cases[i]);
		timer_def_free(s->cases[i].timer);
	}
	free(s->cases);
	journal_close(s->journal, false);
	arena_free(&s->arena);
	free(s);
}

size_t sweep_cases(const struct sweep *s)
{
	return s->n;
}

const struct command *sweep_command(const struct sweep *s, size_t i)
{
	return &s->cases[i].command;
}

void sweep_counts(const struct sweep *s, size_t i, double *ret_warmups, double *ret_cleans,
		  double *ret_timeout_s)
{
	*ret_warmups = s->cases[i].warmups;
	*ret_cleans = s->cases[i].cleans;
	*ret_timeout_s = s->cases[i].timeout_s;
}

size_t sweep_profiled(const struct sweep *s, size_t i)
{
	return (size_t)s->cases[i].profiled;
}

const char *sweep_not_profiled(const struct sweep *s, size_t i)
{
	return s->cases[i].profile_no;
}

const char *sweep_capture(const struct sweep *s, size_t i, size_t k)
{
	return s->cases[i].calls ? s->cases[i].calls[k] : NULL;
}

size_t case_planned(const struct case_run *c)
{
	return (size_t)(c->warmups + c->cleans + c->profiled);
}

const char *case_execution(const struct case_run *c, const struct fill *f, size_t i,
			   char ret[EXECUTION_NAME_BYTES])
{
	size_t warmups = (size_t)c->warmups, cleans = (size_t)c->cleans;
	if (i < warmups)
		(void)snprintf(ret, EXECUTION_NAME_BYTES, "warmup.%zu", i);
	else if (i < warmups + cleans)
		(void)snprintf(ret, EXECUTION_NAME_BYTES, "clean.%zu", i - warmups);
	else
		(void)snprintf(ret, EXECUTION_NAME_BYTES, "profiled.%.64s",
			       f->o->collectors[i - warmups - cleans].name);
	return ret;
}
