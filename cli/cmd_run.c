/* roimeter run: measure cases of a suite, or one command. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/library.h"
#include "cli/db.h"
#include "cli/run_collect.h"
#include "lib/opt.h"
#include "cli/run_progress.h"
#include "cli/run_options.h"
#include "cli/run_server.h"
#include "cli/run_text.h"
#include "cli/words.h"
#include "lib/file.h"
#include "lib/num.h"
#include "lib/shell.h"
#include "run/cgroup.h"
#include "run/sweep.h"
#include "schema/codec.h"
#include "store/verdict.h"

extern char **environ;

struct session {
	struct run_options o;
	struct config config;
	struct arena arena;
	struct suite suite;
	bool *chosen;
	struct platform platform;
	struct store *store; /* NULL with --no-store and --server */
	struct run_server server;
	struct run_collect collect;
	struct runner runner;
	struct sampler_options sampling;
	struct run_progress progress;
	char cgroup[CGROUP_PATH_BYTES];
	json_t *records;             /* with --format json */
	size_t good, bad, elsewhere; /* elsewhere: only the daemon can say which */
	struct starter *starters;
};

/* ---- before ---- */

static int take_starters(struct session *s, struct command_options *ret, struct err *err)
{
	const struct config_launcher *l = s->config.launchers.items;
	size_t n = s->config.launchers.n;
	s->starters = arena_array(&s->arena, n + 1, sizeof *s->starters);
	if (!s->starters)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		s->starters[i] = (struct starter){
			.name = l[i].name,
			.command = { l[i].command.items, l[i].command.n },
			.env = { l[i].env.items, l[i].env.n },
			.multi = l[i].multi,
		};
	ret->launchers = s->starters;
	ret->n_launchers = n;
	ret->launcher = s->o.launcher;
	ret->envp = environ;
	ret->plan_only = s->o.dry_run;
	return 0;
}

/* The configuration's names and those of this call; each is looked at as a declared one is. */
static int take_allow(struct session *s, struct txts *ret, struct err *err)
{
	size_t n = s->config.env_allow.n + s->o.env_allow.n;
	ret->items = arena_array(&s->arena, n + 1, sizeof *ret->items);
	if (!ret->items)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		bool own = i < s->config.env_allow.n;
		const char *name = own ? s->config.env_allow.items[i]
				       : s->o.env_allow.items[i - s->config.env_allow.n];
		int rc = run_check_allowed(name, own ? "[env] allow" : "--env-allow", err);
		if (rc)
			return rc;
		ret->items[ret->n++] = name;
	}
	return 0;
}

/* What the call or the configuration says; NULL where it would be asked for. */
static const char *platform_told(const struct session *s)
{
	return s->o.platform ? s->o.platform : s->config.platform;
}

static int find_platform(struct session *s, struct err *err)
{
	const char *id = platform_told(s);
	const struct platform_options o = { .root = "", .nvml = PLATFORM_NVML };
	int rc = id ? platform_check_id(id, err) : 0;
	if (s->o.dry_run) { /* which starts and asks nothing */
		s->platform.id = id ? id : "(not asked)";
		return rc;
	}
	if (!rc)
		rc = platform_probe(&s->platform, &s->arena, &o, err);
	if (!rc && id)
		s->platform.id = id;
	return rc;
}

static const char *state_folder(struct session *s)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (!s->config.journal)
		return NULL;
	if (state && state[0] == '/')
		return arena_printf(&s->arena, "%s/roimeter", state);
	return home && home[0] ? arena_printf(&s->arena, "%s/.local/state/roimeter", home) : NULL;
}

/* Absolute: executions have folders of their own. NULL: none is wanted, or *ret_rc says why. */
static const char *capture_folder(struct session *s, int *ret_rc, struct err *err)
{
	char here[PATH_MAX];
	const char *dir = s->o.capture;
	if (dir && dir[0] != '/')
		dir = getcwd(here, sizeof here) ? arena_printf(&s->arena, "%s/%s", here, dir) : NULL;
	if (s->o.capture && !dir)
		*ret_rc = err_set(err, -errno, "where am I? %s", strerror(errno));
	return dir;
}

static const char *timer_path(struct session *s)
{
	const char *own = s->config.timers;
	return arena_printf(&s->arena, "%s%s%s/timers", own ? own : "", own ? ":" : "",
			    s->suite.dir ? s->suite.dir : ".");
}

/* What ends a run is read when it suits; nohup's ignored SIGHUP stays ignored. */
static int take_signals(void)
{
	struct sigaction hup;
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int start_runner(struct session *s, struct err *err)
{
	struct runner *r = &s->runner;
	int rc = scratch_open(&r->scratch, s->config.scratch, err);
	if (rc)
		return rc;
	peers_join(&r->peers);
	r->cgroup = cgroup_make(s->cgroup, NULL) == 0 ? s->cgroup : NULL;
	r->library = library_of_marks(&s->arena, s->config.library);
	r->envp = environ;
	r->grace_s = s->config.grace_s;
	r->signals = take_signals();
	if (s->server.announce) {
		r->agent = s->server.socket;
		announce_cancel(s->server.announce, r->signals);
	}
	r->keep_logs = s->o.keep_logs;
	r->progress = s->progress.tty ? run_progress_tick : NULL;
	r->progress_arg = &s->progress;
	s->sampling = (struct sampler_options){ .devices = { .nvml = PLATFORM_NVML },
						.info = &s->platform.info,
						.per_s = s->config.device_samples };
	rc = sampler_start(&r->sampler, &s->sampling);
	if (rc)
		return err_set(err, rc, "start the process that looks at accelerators: %s",
			       strerror(-rc));
	return 0;
}

static void stop_runner(struct session *s)
{
	sampler_stop(s->runner.sampler);
	if (s->runner.cgroup)
		cgroup_remove(s->runner.cgroup);
	peers_leave(&s->runner.peers);
	scratch_close(&s->runner.scratch);
	if (s->runner.signals > 0)
		(void)close(s->runner.signals);
}

/* ---- events ---- */

static void on_step(void *arg, const struct sweep_step *step)
{
	struct session *s = arg;
	run_progress_step(&s->progress, step);
}

static void on_warn(void *arg, const char *text)
{
	struct session *s = arg;
	run_progress_clear(&s->progress);
	(void)fprintf(stderr, "warn  %s\n", text);
}

static void on_expect(void *arg, const char *app, const char *name, double *ret_s,
		      double *ret_steps)
{
	struct session *s = arg;
	run_server_expect(&s->server, s->suite.name, app, name, s->platform.id, ret_s, ret_steps);
}

static bool is_stored(void *arg, const char *run_id)
{
	struct session *s = arg;
	struct record rec;
	if (!s->store)
		return false;
	bool found = store_get_run(s->store, run_id, &rec, NULL) == 0;
	record_done(&rec);
	return found;
}

struct other_input {
	struct session *s;
	const struct record_body *now;
};

static int look_at_cell(void *arg, const struct cell *cell)
{
	struct other_input *o = arg;
	struct record before;
	if (strcmp(cell->case_, o->now->case_) != 0 ||
	    strcmp(cell->platform, o->now->platform) != 0 || !cell->ok.run_id)
		return 0;
	if (store_get_run(o->s->store, cell->ok.run_id, &before, NULL) == 0) {
		const char *hash = before.body.inputs.input_hash;
		char text[512];
		(void)snprintf(text, sizeof text,
			       "%.64s/%.64s stands for another command line or input in run %s; "
			       "its history would "
			       "compare the two: give one of them another --case",
			       cell->app, cell->case_, cell->ok.run_id);
		if (hash && o->now->inputs.input_hash &&
		    strcmp(hash, o->now->inputs.input_hash) != 0)
			on_warn(o->s, text);
	}
	record_done(&before);
	return 0;
}

/* A single command is called by any name; what is stored under one is taken for the same. */
static void warn_of_other_input(struct session *s, const struct record *rec)
{
	struct other_input o = { s, &rec->body };
	if (s->store && s->o.app)
		(void)store_each_cell(s->store, rec->body.suite, rec->body.app, look_at_cell, &o,
				      NULL);
}

static void count(struct session *s, const struct record_body *r, bool partial)
{
	bool good = strcmp(r->status, "ok") == 0;
	char text[512];
	*(good ? &s->good : partial ? &s->elsewhere : &s->bad) += 1;
	(void)snprintf(text, sizeof text,
		       "%.64s/%.64s: not all of its %.0f processes left their marks on this node; "
		       "the daemon gets those of the others, and its record of run %s is the one "
		       "to look at",
		       r->app, r->case_, r->inputs.ranks, r->run_id);
	if (partial)
		on_warn(s, text);
}

static int on_complete(void *arg, struct record *rec, struct err *err)
{
	const struct session *s = arg;
	return store_put_verdicts(s->store, rec, err);
}

static int on_record(void *arg, const struct record *rec, bool partial, struct err *err)
{
	struct session *s = arg;
	warn_of_other_input(s, rec);
	int rc = s->store ? store_add_run(s->store, rec, err) : record_check(rec, err);
	if (rc)
		return err_wrap(err, rc, "store the run of %s/%s%s", rec->body.app, rec->body.case_,
				s->config.journal
					? " (what was measured is kept: --resume goes on from here)"
					: "");
	count(s, &rec->body, partial);
	run_progress_clear(&s->progress);
	if (s->records) {
		json_t *json = record_to_json(rec);
		if (!json || json_array_append_new(s->records, json))
			return err_set(err, -ENOMEM, "out of memory");
		return 0;
	}
	struct buf b = { 0 };
	run_text(&b, rec);
	if (!b.failed)
		(void)fwrite(b.data, 1, b.len, stdout);
	(void)fflush(stdout);
	buf_done(&b);
	return 0;
}

/* ---- the run ---- */

static int declare_cases(struct session *s, struct err *err)
{
	struct declared_case *list = arena_array(&s->arena, s->suite.n_cases + 1, sizeof *list);
	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->suite.n_cases; i++)
		list[i] = (struct declared_case){ .app = s->suite.cases[i].app,
						  .case_ = s->suite.cases[i].name,
						  .title = s->suite.cases[i].title };
	return store_declare(s->store, s->suite.name, list, s->suite.n_cases, err);
}

/* That a report shows what was never measured is no reason not to measure. */
static void hand_over_declared(struct session *s)
{
	struct err why = { .text = "" };
	char text[512];
	if (announce_declare(s->server.announce, &s->suite, &why) == 0)
		return;
	(void)snprintf(text, sizeof text,
		       "what the suite %.64s declares was not handed over: %.300s", s->suite.name,
		       why.text);
	on_warn(s, text);
}

/* A database that can't be written should be known before an hour of measuring. */
static int open_store(struct session *s, struct buf *ret_path, struct err *err)
{
	const char *db = s->o.db ? s->o.db : s->config.db;
	int rc = 0;
	if (s->server.url) { /* it is part of the journal's name, as a database is */
		buf_puts(ret_path, s->server.url);
		rc = run_server_open(&s->server, err);
		if (!rc && !s->o.app)
			hand_over_declared(s);
		return rc;
	}
	if (s->o.no_store)
		return 0;
	if (db)
		buf_puts(ret_path, db);
	else
		rc = cli_default_db(ret_path, err);
	bool first = !rc && !db && access(ret_path->data, F_OK) != 0;
	if (!rc)
		rc = cli_open_store(&s->store, ret_path->data, STORE_WRITE, err);
	if (!rc && first) /* whoever measures for the first time may wonder where it went */
		(void)fprintf(
			stderr,
			"info  results go to %s; \"roimeter show latest\" and \"roimeter report "
			"--out DIR\" read them\n",
			ret_path->data);
	if (!rc && !s->o.app)
		rc = declare_cases(s, err);
	return rc;
}

static void print_json(struct session *s)
{
	struct buf b = { 0 };
	json_t *out = json_pack("{s:O}", "records", s->records);
	if (out && json_text(&b, out) == 0)
		(void)printf("%s\n", b.data);
	(void)fflush(stdout);
	json_decref(out);
	buf_done(&b);
}

static int plan(struct session *s, const char *store, struct sweep **ret, struct err *err)
{
	struct sweep_options o = {
		.suite = &s->suite,
		.chosen = s->chosen,
		.platform = &s->platform,
		.warmup = s->o.warmup < 0 ? (double)NAN : (double)s->o.warmup,
		.clean = s->o.clean < 0 ? (double)NAN : (double)s->o.clean,
		.timeout_s = s->o.timeout_s,
		.default_warmup = s->config.warmup,
		.default_clean = s->config.clean,
		.default_timeout_s = s->config.timeout_s,
		.interleaved =
			strcmp(s->o.order ? s->o.order : s->config.order, "interleaved") == 0,
		.resume = s->o.resume,
		.timer_path = timer_path(s),
		.journal_folder = s->o.dry_run || s->o.no_store ? NULL : state_folder(s),
		.store = store,
		.collectors = s->collect.items,
		.n_collectors = s->collect.n,
		.collect_auto = s->collect.automatic,
		.profile_reason = s->collect.reason,
		.range_library = s->collect.range_library,
		.calls_step = s->o.capture_time ? s->o.capture_time : "1",
		.announce = s->server.announce,
		.events = { on_step, on_record, on_complete, is_stored, on_expect, on_warn, s },
	};
	int rc = take_starters(s, &o.commands, err);
	o.calls = capture_folder(s, &rc, err);
	if (!rc)
		rc = take_allow(s, &o.commands.allow, err);
	return rc ? rc : sweep_new(ret, &o, err);
}

static json_t *plan_texts(const struct txts *t)
{
	json_t *list = json_array();
	for (size_t i = 0; i < t->n; i++)
		(void)json_array_append_new(list, json_string(t->items[i]));
	return list;
}

static int print_plan_json(const struct session *s, const struct sweep *sweep, struct err *err)
{
	struct buf b = { 0 };
	json_t *cases = json_array();
	for (size_t i = 0; i < sweep_cases(sweep); i++) {
		const struct command *c = sweep_command(sweep, i);
		double warmups, cleans, timeout;
		sweep_counts(sweep, i, &warmups, &cleans, &timeout);
		(void)json_array_append_new(
			cases, json_pack("{s:s,s:s,s:I,s:I,s:o,s:f,s:s,s:o,s:o}", "app", c->c->app,
					 "case", c->c->name, "warmups", (json_int_t)warmups,
					 "cleans", (json_int_t)cleans, "profiled",
					 run_collect_names(&s->collect, sweep_profiled(sweep, i)), "timeout_s",
					 timeout, "region", c->c->region ? c->c->region : "markers",
					 "env", plan_texts(&c->env), "argv", plan_texts(&c->argv)));
	}
	json_t *out = json_pack("{s:s?,s:o}", "platform", platform_told(s), "cases", cases);
	int rc = out ? json_text(&b, out) : -ENOMEM;
	if (!rc)
		(void)printf("%s\n", b.data);
	json_decref(out);
	buf_done(&b);
	return rc ? err_set(err, rc, "out of memory, or a command that is not UTF-8") : 0;
}

static void print_plan(const struct session *s, const struct sweep *sweep)
{
	double total = 0;
	for (size_t i = 0; i < sweep_cases(sweep); i++) {
		const struct command *c = sweep_command(sweep, i);
		double warmups, cleans, timeout;
		sweep_counts(sweep, i, &warmups, &cleans, &timeout);
		size_t profiled = sweep_profiled(sweep, i);
		total += warmups + cleans + (double)profiled;
		struct buf line = { 0 };
		for (size_t k = 0; k < profiled; k++)
			buf_printf(&line, " + profiled.%s%s%s", s->collect.items[k].name,
				   s->collect.items[k].with ? " with " : "",
				   s->collect.items[k].with ? s->collect.items[k].with->name : "");
		if (sweep_not_profiled(sweep, i) && s->collect.n)
			buf_printf(&line, " (not profiled: %s)", sweep_not_profiled(sweep, i));
		(void)printf("%s/%s: %.0f warm-up + %.0f clean%s, at most %.15g s each, %s\n",
			     c->c->app, c->c->name, warmups, cleans, line.data ? line.data : "",
			     timeout, c->c->region ? c->c->region : "markers");
		line.len = 0;
		for (size_t k = 0; k < c->env.n; k++) {
			shell_assignment(&line, c->env.items[k]);
			buf_puts(&line, " ");
		}
		words_command(&line, &c->argv);
		(void)printf("  %s\n", line.data);
		for (size_t k = 0; k < profiled; k++)
			if (sweep_capture(sweep, i, k))
				(void)printf("  capture in %s\n", sweep_capture(sweep, i, k));
		buf_done(&line);
	}
	(void)printf("%zu case%s, %.0f executions, platform %s; nothing was started\n",
		     sweep_cases(sweep), sweep_cases(sweep) == 1 ? "" : "s", total, s->platform.id);
}

static int open_all(struct session *s, struct buf *store, struct err *err)
{
	const struct run_server_told told = { s->o.server, s->o.db || s->o.no_store, s->o.wait_s };
	int rc = run_server_choose(&s->server, &told, &s->config, &s->arena, err);
	if (!rc)
		rc = run_collect_open(&s->collect, &s->o, &s->config, &s->arena, err);
	if (!rc && s->o.capture)
		rc = run_collect_check_capture(&s->collect, s->o.capture, err);
	if (!rc)
		rc = find_platform(s, err);
	if (!rc && !s->o.dry_run)
		rc = open_store(s, store, err);
	return rc;
}

static int measure(struct session *s, struct err *err)
{
	struct buf store = { 0 };
	struct sweep *sweep = NULL;
	bool started = false;
	int rc = open_all(s, &store, err);
	if (!rc)
		rc = plan(s, store.data, &sweep, err);
	if (!rc && s->o.dry_run && s->o.json) {
		rc = print_plan_json(s, sweep, err);
	} else if (!rc && s->o.dry_run) {
		print_plan(s, sweep);
	} else if (!rc) {
		started = true;
		run_progress_start(&s->progress);
		rc = start_runner(s, err);
		if (!rc)
			rc = sweep_run(sweep, &s->runner, err);
		run_progress_clear(&s->progress);
	}
	if (s->records)
		print_json(s);
	if (rc != -EHOSTUNREACH) /* else what was kept is not all */
		run_server_tell(&s->server, s->records ? stderr : stdout);
	if (started)
		stop_runner(s);
	run_server_close(&s->server);
	sweep_free(sweep);
	run_collect_close(&s->collect);
	buf_done(&store);
	return rc;
}

static int prepare(struct session *s, struct err *err)
{
	int rc = run_make_suite(&s->o, &s->suite, err);
	if (rc)
		return rc;
	s->chosen = arena_array(&s->arena, s->suite.n_cases + 1, sizeof *s->chosen);
	if (!s->chosen)
		return err_set(err, -ENOMEM, "out of memory");
	if (s->o.app)
		s->chosen[0] = true;
	else
		rc = suite_select(&s->suite, s->o.words, s->o.n_words, s->chosen, err);
	if (!rc && s->o.json && !s->o.dry_run && !(s->records = json_array()))
		rc = err_set(err, -ENOMEM, "out of memory");
	return rc;
}

static int answer(const struct session *s, int rc, const struct err *err)
{
	if (rc == -EINTR) {
		(void)fprintf(stderr, "roimeter run: %s\n", err->text);
		return EXIT_BAD;
	}
	if (rc)
		return opt_fail("roimeter run", rc, err);
	if (!s->o.dry_run && s->good + s->bad + s->elsewhere == 0)
		(void)fprintf(stderr, "roimeter run: all of it was measured and %s before\n",
			      s->server.url ? "handed over" : "stored");
	return s->bad ? EXIT_BAD : s->elsewhere ? EXIT_NOTHING : EXIT_GOOD;
}

int cmd_run(int argc, char **argv)
{
	struct session s = { .o = { .warmup = -1 } };
	struct err err = { 0 };
	int rc = run_options_parse(&s.o, argc, argv, &err);
	if (rc > 0)
		return EXIT_GOOD;
	if (!rc)
		rc = config_load(&s.config, s.o.config, &err);
	int code;
	if (!rc && (s.o.check_config || s.o.print_config)) {
		run_print_config(&s.o, &s.config);
		code = EXIT_GOOD;
	} else {
		if (!rc)
			rc = prepare(&s, &err);
		if (!rc)
			rc = measure(&s, &err);
		code = answer(&s, rc, &err);
	}
	store_close(s.store);
	json_decref(s.records);
	suite_done(&s.suite);
	config_done(&s.config);
	arena_free(&s.arena);
	run_options_done(&s.o);
	return code;
}
