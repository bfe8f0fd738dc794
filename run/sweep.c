/* The order of executions, and what each leads to. */
#define _GNU_SOURCE
#include "run/sweep_impl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/num.h"
#include "run/announce_frames.h"
#include "run/calls.h"
#include "run/git.h"
#include "schema/runid.h"

static void warn(const struct sweep *s, const char *text)
{
	if (s->o.events.warn)
		s->o.events.warn(s->o.events.arg, text);
}

/* ---- one execution more ---- */

bool case_has_made(const struct case_run *c, const char *name)
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
	if (strncmp(row->name, "profiled", 8) == 0)
		return false; /* another collector may do better */
	if (m->capture.end != END_EXITED || !(row->exit_code == 0))
		return true;
	if (strncmp(row->name, "clean", 5) != 0)
		return false;
	if (c->timer)
		return m->worked.timer.rc != 0;
	/* The first one without a region: no other will have one, mostly. */
	return m->worked.logs.n == 0 && strcmp(row->name, "clean.0") == 0 && !c->spread;
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
	bool goes_on = c->earlier && !c->resumed;
	if (c->begun && !goes_on)
		return;
	c->begun = true;
	c->resumed |= goes_on;
	if (!c->run_id[0])
		make_run_id(c->run_id);
	if (s->journal &&
	    journal_begin(s->journal, (size_t)(c - s->cases), c->run_id, c->resumed, &why))
		journal_failed(s, &why);
	c->expected_s = c->expected_steps = NAN;
	if (s->o.events.expect)
		s->o.events.expect(s->o.events.arg, c->c->app, c->c->name, &c->expected_s,
				   &c->expected_steps);
}

/* ---- the agent ---- */

/* Never stops a measurement. That the agent is away is said when it begins, and when it ends. */
static int tell_agent(struct sweep *s, struct case_run *c, const struct announce_news *news)
{
	char text[ERR_TEXT_BYTES + 128];
	struct err why = { .text = "" };
	if (!s->o.announce)
		return 0;
	int rc = announce_case(s->o.announce, c, &s->fill, news, &why);
	if (rc && rc != -EINTR && !s->away && why.text[0]) {
		(void)snprintf(text, sizeof text,
			       "%s; the measurement goes on, and the agent is told when it is "
			       "there again",
			       why.text);
		warn(s, text);
		s->away = true;
	} else if (!rc && s->away) {
		warn(s, "the agent answers again, and has been told what it had missed");
		s->away = false;
	}
	return rc;
}

static size_t count_done(const struct sweep *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct case_run *c = &s->cases[i];
		n += c->over || c->stored ? case_planned(c) : c->n_made;
	}
	return n;
}

static size_t count_total(const struct sweep *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += case_planned(&s->cases[i]);
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
		double left =
			c->over || c->stored ? 0 : (double)case_planned(c) - (double)c->n_made;
		if (c->n_made)
			left_s += left * c->spent_s / (double)c->n_made;
		else
			left_unknown += left;
	}
	return made > 0 ? left_s + left_unknown * spent / made : (double)NAN;
}

static int make_one(struct sweep *s, struct runner *r, struct case_run *c, const char *name,
		    const struct collector_lib *with, struct err *err)
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
		.collector = with,
		.range = c->range,
		.range_library = s->o.range_library,
		.calls = with && c->calls ? c->calls[with - s->o.collectors] : NULL,
		.calls_step = s->o.calls_step,
	};
	struct capture capture;
	struct err why = { 0 };
	const struct announce_news begins = { .running = name, .order = spec.order }, ended = { 0 };
	(void)tell_agent(s, c, &begins);
	int rc = execute(r, &spec, &capture, err);
	if (rc) {
		capture_done(&capture);
		return rc;
	}
	if (s->journal && journal_add(s->journal, (size_t)(c - s->cases), &capture, &why))
		journal_failed(s, &why);
	rc = add_made(c, &capture, err);
	if (!rc)
		(void)tell_agent(s, c, &ended);
	return rc;
}

/* ---- a case is done ---- */

/* An earlier session may have made others than these. */
static bool is_complete(const struct sweep *s, const struct case_run *c)
{
	char name[EXECUTION_NAME_BYTES];
	bool all = c->n_made >= case_planned(c);
	for (size_t i = 0; all && !c->over && i < case_planned(c); i++)
		all = case_has_made(c, case_execution(c, &s->fill, i, name));
	return c->over || all;
}

/* It is in its place: nothing of it need be kept any more. */
static void settle(struct sweep *s, struct case_run *c)
{
	struct err why = { 0 };
	c->lacking = false;
	if (s->journal && journal_stored(s->journal, (size_t)(c - s->cases), c->interrupted, &why))
		journal_failed(s, &why);
	sweep_free_made(c);
}

/* Processes on other nodes tell the agents there: the daemon has what is missing here. */
static bool is_partial(const struct case_run *c)
{
	for (size_t i = 0; c->spread && i < c->n_made; i++)
		if (c->made[i]->worked.logs.n < c->c->ranks)
			return true;
	return false;
}

static int finish_case(struct sweep *s, struct case_run *c, struct err *err)
{
	static const struct announce_news end = { .end = true };
	struct record rec;
	/* A run that was killed between the store and its journal has stored this one. */
	bool known_already = c->earlier && s->o.events.is_stored &&
			     s->o.events.is_stored(s->o.events.arg, c->run_id);
	int rc = 0;
	if (!known_already) {
		rc = fill_record(&rec, c, &s->fill, err);
		if (!rc && s->o.events.complete)
			rc = s->o.events.complete(s->o.events.arg, &rec, err);
		if (!rc)
			rc = s->o.events.record(s->o.events.arg, &rec, is_partial(c), err);
		c->interrupted = !rc && strcmp(rec.body.status, "interrupted") == 0;
		record_done(&rec);
	}
	if (rc)
		return rc;
	c->stored = true;
	c->lacking = tell_agent(s, c, &end) != 0;
	if (!c->lacking)
		settle(s, c);
	return 0;
}

/* What the agent did not take before: the last try. */
static int hand_over(struct sweep *s, struct err *err)
{
	static const struct announce_news end = { .end = true, .last = true };
	struct err why = { .text = "" };
	size_t lacking = 0;
	int rc = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct case_run *c = &s->cases[i];
		if (c->lacking && !(rc == -ECONNREFUSED || rc == -ETIMEDOUT || rc == -EINTR))
			rc = announce_case(s->o.announce, c, &s->fill, &end, &why);
		if (c->lacking && !rc)
			settle(s, c);
		lacking += c->lacking;
	}
	if (!lacking)
		return 0;
	return err_set(err, -EHOSTUNREACH, "%s; %zu run%s measured and not handed over%s", why.text,
		       lacking, lacking == 1 ? " is" : "s are",
		       s->journal ? ", and kept here: the same call with --resume hands over what "
				    "is left"
				  : ", and no journal was kept");
}

enum { WARMUPS, CLEANS, PROFILED_ONES, STAGES };

static double stage_count(const struct case_run *c, int stage)
{
	return stage == WARMUPS ? c->warmups : stage == CLEANS ? c->cleans : c->profiled;
}

/* k counts executions of one stage. */
static int step(struct sweep *s, struct runner *r, size_t i, int stage, size_t k, struct err *err)
{
	struct case_run *c = &s->cases[i];
	char name[EXECUTION_NAME_BYTES];
	double before = 0;
	if (c->over || c->stored || (double)k >= stage_count(c, stage))
		return 0;
	for (int earlier = 0; earlier < stage; earlier++)
		before += stage_count(c, earlier);
	(void)case_execution(c, &s->fill, (size_t)before + k, name);
	int rc = case_has_made(c, name)
			 ? 0
			 : make_one(s, r, c, name,
				    stage == PROFILED_ONES ? &s->o.collectors[k] : NULL, err);
	if (!rc && runner_interrupted(r))
		rc = -EINTR;
	if (!rc && is_complete(s, c))
		rc = finish_case(s, c, err);
	return rc;
}

static int run_case_after_case(struct sweep *s, struct runner *r, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < s->n; i++)
		for (int stage = 0; stage < STAGES; stage++)
			for (size_t k = 0; !rc && (double)k < stage_count(&s->cases[i], stage); k++)
				rc = step(s, r, i, stage, k, err);
	return rc;
}

/* Drift of the machine then falls on all cases alike. */
static int run_interleaved(struct sweep *s, struct runner *r, struct err *err)
{
	size_t most = 0;
	int rc = 0;
	for (size_t i = 0; i < s->n; i++)
		for (int stage = 0; stage < STAGES; stage++)
			most = (size_t)fmax((double)most, stage_count(&s->cases[i], stage));
	for (int stage = 0; stage < STAGES; stage++)
		for (size_t k = 0; !rc && k < most; k++)
			for (size_t i = 0; !rc && i < s->n; i++)
				rc = step(s, r, i, stage, k, err);
	return rc;
}

/* What was measured before an interrupt is kept, as such. Executions of an earlier session that
 * this one never came to stay in the journal: their run was told as interrupted then. */
static int finish_interrupted(struct sweep *s, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < s->n; i++) {
		struct case_run *c = &s->cases[i];
		if (c->stored || !c->n_made || !c->begun)
			continue;
		c->cut = true;
		rc = finish_case(s, c, err);
	}
	return rc;
}

/* ---- an earlier session ---- */

/* One under a collector that this call does not ask for is not taken over, and so is one without
 * the capture that this call asks for. */
static bool is_planned(const struct sweep *s, const struct case_run *c, const struct execution *row)
{
	char wanted[EXECUTION_NAME_BYTES];
	bool planned = strncmp(row->name, "profiled", 8) != 0;
	size_t first = (size_t)(c->warmups + c->cleans);
	for (size_t i = first; !planned && i < case_planned(c); i++) {
		const char *calls = c->calls ? c->calls[i - first] : NULL;
		planned = strcmp(row->name, case_execution(c, &s->fill, i, wanted)) == 0 &&
			  (!calls || (row->capture.folder &&
				      strcmp(row->capture.folder, calls) == 0));
	}
	return planned;
}

static int take_earlier(void *arg, size_t i, struct capture *capture)
{
	struct sweep *s = arg;
	struct case_run *c = &s->cases[i];
	if (case_has_made(c, capture->row.name) || !is_planned(s, c, &capture->row)) {
		capture_done(capture);
		return 0;
	}
	c->earlier = true;
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
		/* The agent has ended the run of a runner that was killed: it stays so, too. */
		if (s->o.announce && !j->stored && !is_complete(s, c))
			j->run_id[0] = 0;
		c->stored = j->stored && !j->interrupted;
		c->begun = j->run_id[0] != 0;
		c->resumed = j->resumed;
		memcpy(c->run_id, j->run_id, sizeof c->run_id);
		if (c->stored)
			sweep_free_made(c);
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

/* Before an hour of measuring, not behind it. */
static int make_calls_folders(const struct sweep *s, struct err *err)
{
	int rc = sweep_check_calls(s, err);
	for (size_t i = 0; !rc && i < s->n; i++) {
		const struct case_run *c = &s->cases[i];
		for (size_t k = 0; !rc && c->calls && !c->stored && (double)k < c->profiled; k++)
			if (c->calls[k])
				rc = calls_make_folder(c->calls[k], err);
	}
	return rc;
}

int sweep_run(struct sweep *s, struct runner *r, struct err *err)
{
	s->fill = (struct fill){ .o = &s->o,
				 .governor = watch_governor("/sys", &s->arena),
				 .git_dirty = UNKNOWN,
				 .job = announce_job(&s->arena, getenv) };
	if (s->o.suite->dir)
		git_ask(&s->arena, s->o.suite->dir, &s->fill.git_commit, &s->fill.git_dirty);
	int rc = open_journal(s, err);
	if (!rc && s->o.calls)
		rc = make_calls_folders(s, err);
	/* Complete in the journal, but not stored: the runner was killed just then. */
	for (size_t i = 0; !rc && i < s->n; i++)
		if (!s->cases[i].stored && s->cases[i].n_made && is_complete(s, &s->cases[i]))
			rc = finish_case(s, &s->cases[i], err);
	if (!rc)
		rc = s->o.interleaved ? run_interleaved(s, r, err) : run_case_after_case(s, r, err);
	if (rc == -EINTR) {
		int stored = finish_interrupted(s, err);
		if (!stored && s->o.announce)
			stored = hand_over(s, err);
		return stored ? stored
			      : err_set(err, -EINTR, "interrupted; %s",
					s->journal
						? "--resume goes on from here"
						: "no journal was kept, so a next run starts anew");
	}
	if (!rc && s->o.announce)
		rc = hand_over(s, err);
	if (!rc) {
		journal_close(s->journal, true);
		s->journal = NULL;
	}
	return rc;
}
