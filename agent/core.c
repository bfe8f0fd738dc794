/* Logs: when each is looked at, sent, and let go. */
#include "agent/core_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIT(what) (1u << (what))
#define RETRY_NS INT64_C(1000000000)

uint64_t core_hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a: names are short, and made by us */
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

struct core *core_new(const struct core_config *config, int64_t now_ns)
{
	struct core *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->todo_tail = &c->todo;
	core_reconfigure(c, config, now_ns);
	return c;
}

void core_free(struct core *c)
{
	if (!c)
		return;
	runs_free(c);
	free(c);
}

void core_reconfigure(struct core *c, const struct core_config *config, int64_t now_ns)
{
	c->config = *config;
	for (struct core_log *log = c->logs; log; log = log->next)
		if (c->config.progress_ns)
			log->look_ns = later(now_ns, c->config.progress_ns);
	c->self_ns = c->config.self_ns ? now_ns : CORE_NEVER;
	c->next_ns = now_ns;
}

/* ---- what to do ----------------------------------------------------------------------------- */

static void want(struct core *c, struct core_log *log, enum core_do what)
{
	log->todo |= BIT(what);
	if (log->queued)
		return;
	log->queued = true;
	log->next_todo = NULL;
	*c->todo_tail = log;
	c->todo_tail = &log->next_todo;
}

static void unlink_log(struct core *c, struct core_log *log)
{
	*(log->prev ? &log->prev->next : &c->logs) = log->next;
	if (log->next)
		log->next->prev = log->prev;
	c->n_logs--;
}

static void pop(struct core *c)
{
	c->todo->queued = false;
	c->todo = c->todo->next_todo;
	if (!c->todo)
		c->todo_tail = &c->todo;
}

/* The first thing that is to be done for the log at the head of the queue. */
static void take_first(struct core *c, struct core_action *ret)
{
	struct core_log *log = c->todo;
	ret->log = log;
	ret->what = (enum core_do)__builtin_ctz(log->todo);
	log->todo &= ~BIT(ret->what);
	if (!log->todo)
		pop(c);
	if (ret->what == CORE_FORGET) {
		ret->durable = !log->lost;
		unlink_log(c, log);
		due(c, 0); /* a run may have waited for this */
	}
}

bool core_todo(struct core *c, struct core_action *ret)
{
	*ret = (struct core_action){ .what = CORE_SELF };
	while (c->todo) {
		if (c->n_open) /* it became quiet since: later */
			c->todo->todo &= ~BIT(CORE_SNAPSHOT);
		if (c->todo->todo) {
			take_first(c, ret);
			return true;
		}
		pop(c); /* what was to be done became needless */
	}
	if (runs_todo(c, ret))
		return true;
	bool self = c->self;
	c->self = false;
	return self;
}

int64_t core_next(const struct core *c)
{
	return c->next_ns;
}

/* ---- time ----------------------------------------------------------------------------------- */

static bool in_run(const struct core_log *log)
{
	return log->run && log->mine;
}

static bool clean(const struct core_log *log)
{
	return in_run(log) && log->exec && !strncmp(log->exec, "clean.", 6);
}

static void set_open(struct core *c, struct core_log *log, bool open)
{
	bool counts = open && clean(log) && log->phase == PHASE_LIVE;
	if (counts == log->open)
		return;
	log->open = counts;
	c->n_open += counts ? 1 : (size_t)-1;
	if (!c->n_open)
		due(c, 0); /* what waited for the end of the quiet time is due */
}

/* When the log is to be looked at, as things are. */
static int64_t look_due(const struct core *c, const struct core_log *log)
{
	int64_t when = CORE_NEVER;
	if (log->phase == PHASE_ENDED)
		return log->send_ns;
	if (log->phase != PHASE_LIVE)
		return when;
	if ((in_run(log) && c->config.progress_ns) || log->unwatched)
		when = log->look_ns;
	if (!c->n_open && !run_holds(c, log) && log->send_ns < when)
		when = log->send_ns;
	return when;
}

static int64_t slower(const struct core *c, int64_t pause_ns)
{
	return pause_ns > c->config.slowest_ns / 2 ? c->config.slowest_ns : 2 * pause_ns;
}

static void log_tick(struct core *c, struct core_log *log, int64_t now_ns)
{
	int64_t when = look_due(c, log);
	if (when > now_ns) {
		due(c, when);
		return;
	}
	if (log->phase == PHASE_ENDED) {
		log->send_ns = CORE_NEVER; /* until it is known how it went */
		want(c, log, CORE_FINAL);
		return;
	}
	int64_t pause =
		in_run(log) && c->config.progress_ns ? c->config.progress_ns : c->config.slowest_ns;
	log->look_ns = later(now_ns, pause);
	if (!c->n_open && log->send_ns <= now_ns) {
		log->send = !run_holds(c, log);
		log->send_ns = later(now_ns, log->pause_ns);
		log->pause_ns = slower(c, log->pause_ns);
	}
	want(c, log, CORE_LOOK);
	due(c, look_due(c, log));
}

void core_tick(struct core *c, int64_t now_ns)
{
	c->next_ns = CORE_NEVER;
	for (struct core_log *log = c->logs; log; log = log->next)
		log_tick(c, log, now_ns);
	runs_tick(c, now_ns);
	if (c->self_ns <= now_ns && !c->n_open) {
		c->self = true;
		c->self_ns = later(now_ns, c->config.self_ns);
	}
	if (!c->n_open)
		due(c, c->self_ns);
}

/* ---- logs ----------------------------------------------------------------------------------- */

bool log_of(const struct core_log *log, const struct core_run *run)
{
	return in_run(log) && !strcmp(log->run, run->name);
}

void log_owner(struct core *c, struct core_log *log)
{
	bool open = log->open;
	set_open(c, log, false);
	log->mine = log->run && run_mine(c, log);
	set_open(c, log, open);
}

bool core_may_hold(const struct core *c, uid_t uid, size_t most, size_t all, size_t mine)
{
	double share = c->config.share;
	if (share <= 0 || share >= 1 || !mine || uid == c->config.unshared[0] ||
	    uid == c->config.unshared[1])
		return all < most;
	return all < most && (double)(mine + 1) <= share * (double)(most - (all - mine));
}

int core_room(const struct core *c, uid_t uid)
{
	size_t most = c->config.max_logs, mine = c->n_logs;
	if (c->n_logs >= most)
		return -ENOSPC;
	if (core_may_hold(c, uid, most, c->n_logs, mine))
		return 0; /* were all of them this user's: no need to count */
	mine = 0;
	for (const struct core_log *log = c->logs; log; log = log->next)
		mine += log->uid == uid;
	return core_may_hold(c, uid, most, c->n_logs, mine) ? 0 : -EDQUOT;
}

int core_add(struct core *c, struct core_log *log, int64_t now_ns)
{
	int rc = core_room(c, log->uid);
	if (rc)
		return rc;
	log->next = c->logs;
	if (c->logs)
		c->logs->prev = log;
	c->logs = log;
	c->n_logs++;
	log->name = core_hash(log->stream);
	log->phase = PHASE_LIVE;
	log->news_ns = now_ns;
	log->pause_ns = c->config.first_ns;
	log->send_ns = later(now_ns, log->pause_ns);
	log->look_ns =
		later(now_ns, c->config.progress_ns ? c->config.progress_ns : c->config.slowest_ns);
	log_owner(c, log);
	/* It has just come to its first mark: that is an entry, mostly. The first look tells. */
	set_open(c, log, true);
	if (log->gone)
		core_ended(c, log, now_ns);
	else
		due(c, look_due(c, log));
	return 0;
}

static void forget(struct core *c, struct core_log *log)
{
	set_open(c, log, false);
	if (log->phase == PHASE_WRITTEN)
		c->n_written--;
	log->phase = PHASE_OVER;
	log->todo = 0;
	want(c, log, CORE_FORGET);
}

void log_settle(struct core *c, struct core_log *log, int64_t now_ns)
{
	log->todo = 0;
	log->send = false;
	log->phase = PHASE_ENDED;
	if (log->brought) {
		forget(c, log);
	} else if (run_holds(c, log)) {
		log->phase = PHASE_HELD;
	} else {
		log->pause_ns = RETRY_NS;
		log->send_ns = CORE_NEVER;
		want(c, log, CORE_FINAL);
	}
	set_open(c, log, false);
	if (c->runs)
		due(c, now_ns); /* a run may wait for its last process */
}

void core_ended(struct core *c, struct core_log *log, int64_t now_ns)
{
	if (log->phase == PHASE_LIVE)
		log_settle(c, log, now_ns);
}

void core_looked(struct core *c, struct core_log *log, const struct core_look *look, int64_t now_ns)
{
	if (log->phase != PHASE_LIVE)
		return;
	bool send = log->send;
	log->send = false;
	if (look) {
		bool news = look->state != log->seen;
		if (news)
			log->news_ns = now_ns;
		if (news && in_run(log))
			want(c, log, CORE_PROGRESS);
		log->seen = look->state;
		/* Between two short entries it is closed by chance: then the next look tells. */
		set_open(c, log, look->open || news);
		if (send && log->seen != log->sent && !c->n_open)
			want(c, log, CORE_SNAPSHOT);
	}
	bool silent = now_ns - log->news_ns >= c->config.silence_ns;
	if (log->unwatched && ((look && look->exited) || silent))
		log_settle(c, log, now_ns);
}

static void try_later(struct core *c, struct core_log *log, int64_t now_ns)
{
	log->send_ns = later(now_ns, log->pause_ns);
	log->pause_ns = slower(c, log->pause_ns);
	due(c, log->send_ns);
	c->refused = true;
}

void core_sent(struct core *c, struct core_log *log, int rc, int64_t now_ns)
{
	if (log->phase == PHASE_LIVE && !rc)
		log->sent = log->seen;
	if (log->phase != PHASE_ENDED)
		return;
	if (!rc || rc == -EBADMSG) {
		log->lost = rc != 0;
		log->phase = PHASE_WRITTEN;
		c->n_written++;
		return;
	}
	try_later(c, log, now_ns);
}

void core_synced(struct core *c, bool ok, int64_t now_ns)
{
	bool room = ok && c->refused;
	if (!c->n_written && !room)
		return;
	for (struct core_log *log = c->logs; log; log = log->next) {
		if (room && log->phase == PHASE_ENDED && log->send_ns != CORE_NEVER) {
			log->pause_ns = RETRY_NS; /* there is room again: nobody sits out a pause */
			log->send_ns = now_ns;
			due(c, now_ns);
		}
		if (log->phase != PHASE_WRITTEN)
			continue;
		if (ok) {
			forget(c, log);
			continue;
		}
		log->phase = PHASE_ENDED;
		c->n_written--;
		try_later(c, log, now_ns);
	}
	c->refused &= !ok;
}

/* ---- state ---------------------------------------------------------------------------------- */

bool core_quiet(const struct core *c)
{
	return c->n_open > 0;
}

bool core_live(const struct core_log *log)
{
	return log->phase == PHASE_LIVE;
}

void core_counts(const struct core *c, struct core_counts *ret)
{
	*ret = (struct core_counts){ .logs = c->n_logs, .runs = c->n_runs };
	for (const struct core_log *log = c->logs; log; log = log->next) {
		ret->live += log->phase == PHASE_LIVE;
		ret->waiting += log->phase != PHASE_LIVE && log->phase != PHASE_OVER;
	}
	for (const struct core_run *run = c->runs; run; run = run->next)
		ret->orphans += !run->connection;
}
