/* The order of executions, and what each leads to. */
#define _GNU_SOURCE
#include "run/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/num.h"
#include "lib/version.h"
#include "run/case.h"
#include "run/git.h"
#include "run/hash.h"
#include "run/journal.h"
#include "schema/runid.h"

#define EXECUTIONS_MAX 1000

struct sweep {
	struct sweep_options o;
	struct arena arena;
	struct case_run *cases;
	struct journal_case *journal_cases;
	size_t n;
	char key[HASH_TEXT_BYTES];
	struct journal *journal;
	struct fill fill;
	double order; /* of the next execution, over all cases */
};

static void warn(const struct sweep *s, const char *text)
{
	if (s->o.events.warn)
		s->o.events.warn(s->o.events.arg, text);
}

/* ---- the plan ---- */

static double first_known(double a, double b, double c)
{
	return known(a) ? a : known(b) ? b : c;
}

static int check_counts(const struct case_run *c, struct err *err)
{
	if (!(c->cleans >= 1) || c->warmups + c->cleans > EXECUTIONS_MAX)
		return err_set(err, -EINVAL,
			       "%s/%s: %.15g warm-up and %.15g clean executions; at least one "
			       "clean one is "
			       "needed, and %d together are the most",
			       c->c->app, c->c->name, c->warmups, c->cleans, EXECUTIONS_MAX);
	return 0;
}

static int load_timer(struct sweep *s, struct case_run *c, struct err *err)
{
	const char *region = c->c->region ? c->c->region : "markers";
	if (strncmp(region, "range:", 6) == 0)
		return err_set(err, -EINVAL,
			       "%s/%s: region: %s needs a collector, and only \"none\" is there; "
			       "use markers "
			       "or a timer",
			       c->c->app, c->c->name, region);
	if (strncmp(region, "timer:", 6) != 0)
		return 0;
	int rc = timer_def_load(&c->timer, region + 6, s->o.timer_path, err);
	if (rc)
		return err_wrap(err, rc, "%s/%s", c->c->app, c->c->name);
	c->timer_files = timer_def_files(c->timer);
	return 0;
}

/* Names that would be passed on and that the credential rule keeps out. */
static int find_refused(struct sweep *s, struct case_run *c, struct err *err)
{
	char **envp = NULL;
	int rc = env_build(&s->arena, s->o.commands.envp, &c->command.allow, c->command.set,
			   c->command.n_set, NULL, 0, &envp, &c->refused);
	return rc ? err_set(err, rc, "out of memory") : 0;
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

static int plan_case(struct sweep *s, struct case_run *c, const struct suite_case *suite_case,
		     struct err *err)
{
	const struct sweep_options *o = &s->o;
	c->c = suite_case;
	c->warmups = first_known(o->warmup, suite_case->warmup, o->default_warmup);
	c->cleans = first_known(o->clean, suite_case->clean, o->default_clean);
	c->timeout_s = first_known(o->timeout_s, suite_case->timeout_s, o->default_timeout_s);
	int rc = check_counts(c, err);
	if (!rc)
		rc = command_make(&c->command, &s->arena, suite_case, &o->commands, err);
	if (!rc)
		rc = load_timer(s, c, err);
	if (!rc)
		rc = find_refused(s, c, err);
	if (!rc && !o->commands.plan_only)
		rc = command_hash(&c->command, &s->arena, err);
	if (!rc && !o->commands.plan_only && take_fingerprint(s, c))
		rc = err_set(err, -ENOMEM, "out of memory");
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
	if (!rc && (make_key(s) || make_journal_cases(s)))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		sweep_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static void free_made(struct case_run *c)
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
		free_made(&s->cases[i]);
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

/* ---- one execution more ---- */

static bool has_made(const struct case_run *c, const char *name)
{
	for (size_t i = 0; i < c->n_made; i++)
		if (strcmp(c->made[i]->capture.row.name, name) == 0)
			return true;
	return false;
}

/* Did it end well, and can a region be had of it? A warm-up needs no region. */
static bool stops_case(const struct case_run *c, const struct made *m)
{
	const struct execution *row = &m->capture.row;
	if (m->capture.end != END_EXITED || !(row->exit_code == 0))
		return true;
	if (strncmp(row->name, "clean", 5) != 0)
		return false;
	if (c->timer)
		return m->worked.timer.rc != 0;
	/* The first one without a region: no other will have one, mostly. */
	return m->worked.logs.n == 0 && strcmp(row->name, "clean.0") == 0;
}

/* The callee takes the capture. */
static int add_made(struct case_run *c, struct capture *capture, struct err *err)
{
	struct made *m = calloc(1, sizeof *m);
	struct made **list = c->made;
	if (m && c->n_made == c->made_cap) {
		c->made_cap = c->made_cap ? c->made_cap * 2 : 8;
		list = realloc(c->made, c->made_cap * sizeof(struct made *));
	}
	if (!m || !list) {
		free(m);
		capture_done(capture);
		return err_set(err, -ENOMEM, "out of memory");
	}
	c->made = list;
	m->capture = *capture;
	int rc = capture_work_out(&m->worked, &m->capture, c->c, c->timer, err);
	if (rc) {
		capture_done(&m->capture);
		free(m);
		return rc;
	}
	c->made[c->n_made++] = m;
	c->spent_s += known(m->capture.row.process_wall_s) ? m->capture.row.process_wall_s : 0;
	c->over |= stops_case(c, m);
	return 0;
}

static void make_run_id(char ret[RUNID_BYTES])
{
	struct timespec now;
	uint32_t random = 0;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		random = (uint32_t)now.tv_nsec * 2654435761u;
	(void)runid_make(ret, now.tv_sec, now.tv_nsec, random);
}

/* The journal is a help, not a condition: when it can't be written the run goes on. */
static void journal_failed(struct sweep *s, const struct err *err)
{
	char text[ERR_TEXT_BYTES + 64];
	(void)snprintf(text, sizeof text, "%s; if this run is killed, it can't be taken up",
		       err->text);
	warn(s, text);
	journal_close(s->journal, false);
	s->journal = NULL;
}

static void begin_case(struct sweep *s, struct case_run *c)
{
	struct err why = { 0 };
	if (c->begun)
		return;
	c->begun = true;
	if (!c->run_id[0])
		make_run_id(c->run_id);
	if (s->journal && journal_begin(s->journal, (size_t)(c - s->cases), c->run_id, &why))
		journal_failed(s, &why);
}

static size_t count_done(const struct sweep *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct case_run *c = &s->cases[i];
		n += c->over || c->stored ? (size_t)(c->warmups + c->cleans) : c->n_made;
	}
	return n;
}

static size_t count_total(const struct sweep *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += (size_t)(s->cases[i].warmups + s->cases[i].cleans);
	return n;
}

/* Cases that were not begun are taken to last like the others. */
static double guess_eta(const struct sweep *s)
{
	double spent = 0, made = 0, left_s = 0, left_unknown = 0;
	for (size_t i = 0; i < s->n; i++) {
		spent += s->cases[i].spent_s;
		made += (double)s->cases[i].n_made;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct case_run *c = &s->cases[i];
		double left = c->over || c->stored ? 0 : c->warmups + c->cleans - (double)c->n_made;
		if (c->n_made)
			left_s += left * c->spent_s / (double)c->n_made;
		else
			left_unknown += left;
	}
	return made > 0 ? left_s + left_unknown * spent / made : (double)NAN;
}

static int make_one(struct sweep *s, struct runner *r, struct case_run *c, const char *name,
		    struct err *err)
{
	begin_case(s, c);
	struct sweep_step step = { c->c->app,     c->c->name,     name,
				   count_done(s), count_total(s), guess_eta(s) };
	if (s->o.events.step)
		s->o.events.step(s->o.events.arg, &step);
	struct execution_spec spec = {
		.command = &c->command,
		.run_id = c->run_id,
		.name = name,
		.order = s->order++,
		.timeout_s = c->timeout_s,
		.timer_files = &c->timer_files,
	};
	struct capture capture;
	struct err why = { 0 };
	int rc = execute(r, &spec, &capture, err);
	if (rc) {
		capture_done(&capture);
		return rc;
	}
	if (s->journal && journal_add(s->journal, (size_t)(c - s->cases), &capture, &why))
		journal_failed(s, &why);
	return add_made(c, &capture, err);
}

/* ---- a case is done ---- */

static bool is_complete(const struct case_run *c)
{
	return c->over || (double)c->n_made >= c->warmups + c->cleans;
}

static int finish_case(struct sweep *s, struct case_run *c, struct err *err)
{
	struct record rec;
	struct err why = { 0 };
	bool known_already = c->resumed && s->o.events.is_stored &&
			     s->o.events.is_stored(s->o.events.arg, c->run_id);
	/* A run that was killed between the store and its journal has stored this one. */
	int rc = 0;
	bool interrupted = false;
	if (!known_already) {
		rc = fill_record(&rec, c, &s->fill, err);
		if (!rc)
			rc = s->o.events.record(s->o.events.arg, &rec, err);
		interrupted = !rc && strcmp(rec.body.status, "interrupted") == 0;
		record_done(&rec);
	}
	if (rc)
		return rc;
	c->stored = true;
	if (s->journal && journal_stored(s->journal, (size_t)(c - s->cases), interrupted, &why))
		journal_failed(s, &why);
	free_made(c);
	return 0;
}

/* k counts executions of one stage. */
static int step(struct sweep *s, struct runner *r, size_t i, bool warmup, size_t k, struct err *err)
{
	struct case_run *c = &s->cases[i];
	char name[32];
	if (c->over || c->stored || (double)k >= (warmup ? c->warmups : c->cleans))
		return 0;
	(void)snprintf(name, sizeof name, "%s.%zu", warmup ? "warmup" : "clean", k);
	int rc = has_made(c, name) ? 0 : make_one(s, r, c, name, err);
	if (!rc && runner_interrupted(r))
		rc = -EINTR;
	if (!rc && is_complete(c))
		rc = finish_case(s, c, err);
	return rc;
}

static int run_case_after_case(struct sweep *s, struct runner *r, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < s->n; i++) {
		for (size_t k = 0; !rc && (double)k < s->cases[i].warmups; k++)
			rc = step(s, r, i, true, k, err);
		for (size_t k = 0; !rc && (double)k < s->cases[i].cleans; k++)
			rc = step(s, r, i, false, k, err);
	}
	return rc;
}

/* Drift of the machine then falls on all cases alike. */
static int run_interleaved(struct sweep *s, struct runner *r, struct err *err)
{
	size_t most = 0;
	int rc = 0;
	for (size_t i = 0; i < s->n; i++)
		most = (size_t)fmax((double)most, fmax(s->cases[i].warmups, s->cases[i].cleans));
	for (int stage = 0; stage < 2; stage++)
		for (size_t k = 0; !rc && k < most; k++)
			for (size_t i = 0; !rc && i < s->n; i++)
				rc = step(s, r, i, stage == 0, k, err);
	return rc;
}

/* What was measured before an interrupt is kept, as such. */
static int finish_interrupted(struct sweep *s, struct err *err)
{
	int rc = 0;
	s->fill.interrupted = true;
	for (size_t i = 0; !rc && i < s->n; i++)
		if (!s->cases[i].stored && s->cases[i].n_made)
			rc = finish_case(s, &s->cases[i], err);
	return rc;
}

/* ---- an earlier session ---- */

static int take_earlier(void *arg, size_t i, struct capture *capture)
{
	struct sweep *s = arg;
	struct case_run *c = &s->cases[i];
	if (has_made(c, capture->row.name)) {
		capture_done(capture);
		return 0;
	}
	c->resumed = true;
	if (capture->row.order >= s->order)
		s->order = capture->row.order + 1;
	return add_made(c, capture, NULL);
}

static int resume(struct sweep *s, struct err *err)
{
	int rc = journal_resume(&s->journal, s->o.journal_folder, s->key, s->journal_cases, s->n,
				take_earlier, s, err);
	if (rc == -ENOENT) {
		warn(s, "there is no interrupted run of these cases; starting anew");
		return rc;
	}
	for (size_t i = 0; !rc && i < s->n; i++) {
		struct journal_case *j = &s->journal_cases[i];
		struct case_run *c = &s->cases[i];
		/* What is stored as interrupted stays so; its good executions go into a new record.
		 */
		if (j->stored && j->interrupted)
			j->run_id[0] = 0;
		c->stored = j->stored && !j->interrupted;
		c->begun = j->run_id[0] != 0;
		memcpy(c->run_id, j->run_id, sizeof c->run_id);
		if (c->stored)
			free_made(c);
	}
	return rc;
}

static int open_journal(struct sweep *s, struct err *err)
{
	size_t discarded = 0;
	struct err why = { 0 };
	int rc = -ENOENT;
	if (!s->o.journal_folder)
		return 0;
	if (s->o.resume)
		rc = resume(s, err);
	if (rc == 0 || rc == -ENOMEM || rc == -EPROTO || (s->o.resume && rc == -EBUSY))
		return rc;
	rc = journal_create(&s->journal, s->o.journal_folder, s->key, s->journal_cases, s->n,
			    &discarded, &why);
	if (rc) {
		char text[ERR_TEXT_BYTES + 64];
		(void)snprintf(text, sizeof text, "%s; if this run is killed, it can't be taken up",
			       why.text);
		warn(s, text);
	} else if (discarded) {
		warn(s, "an interrupted run of these cases was there and is given up; --resume "
			"would have gone on with it");
	}
	return 0;
}

int sweep_run(struct sweep *s, struct runner *r, struct err *err)
{
	s->fill = (struct fill){ .o = &s->o,
				 .governor = watch_governor("/sys", &s->arena),
				 .git_dirty = UNKNOWN };
	if (s->o.suite->dir)
		git_ask(&s->arena, s->o.suite->dir, &s->fill.git_commit, &s->fill.git_dirty);
	int rc = open_journal(s, err);
	/* Complete in the journal, but not stored: the runner was killed just then. */
	for (size_t i = 0; !rc && i < s->n; i++)
		if (!s->cases[i].stored && s->cases[i].n_made && is_complete(&s->cases[i]))
			rc = finish_case(s, &s->cases[i], err);
	if (!rc)
		rc = s->o.interleaved ? run_interleaved(s, r, err) : run_case_after_case(s, r, err);
	if (rc == -EINTR) {
		int stored = finish_interrupted(s, err);
		return stored ? stored
			      : err_set(err, -EINTR, "interrupted; %s",
					s->journal
						? "--resume goes on from here"
						: "no journal was kept, so a next run starts anew");
	}
	if (!rc) {
		journal_close(s->journal, true);
		s->journal = NULL;
	}
	return rc;
}
