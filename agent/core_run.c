/* Runs whose runners are on this node. */
#define _GNU_SOURCE
#include "agent/core_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS INT64_C(1000000000)

struct core_run *run_find(const struct core *c, const char *run)
{
	uint64_t hash = core_hash(run);
	for (struct core_run *r = c->runs; r; r = r->next)
		if (r->hash == hash && !strcmp(r->name, run))
			return r;
	return NULL;
}

static void run_drop(struct core *c, struct core_run *run)
{
	struct core_run **at = &c->runs;
	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	c->n_runs--;
	free(run->exec);
	free(run);
}

void runs_free(struct core *c)
{
	while (c->runs)
		run_drop(c, c->runs);
}

bool run_holds(const struct core *c, const struct core_log *log)
{
	if (!c->runs || !log->run || !log->mine)
		return false;
	const struct core_run *run = run_find(c, log->run);
	return run && run->connection && !run->over;
}

bool run_has_logs(const struct core *c, const struct core_run *run)
{
	for (const struct core_log *log = c->logs; log; log = log->next)
		if (log_of(log, run))
			return true;
	return false;
}

int core_owns(const struct core *c, const char *run, uid_t uid)
{
	const struct core_run *r = run_find(c, run);
	return !r || r->uid == uid || uid == 0 ? 0 : -EPERM;
}

bool run_mine(const struct core *c, const struct core_log *log)
{
	const struct core_run *r = run_find(c, log->run);
	/* Root's runner may start programs of other users. */
	return !r || r->uid == log->uid || r->uid == 0 || log->uid == 0;
}

/* Runs that are over are kept, as long as there is room, for what is late. */
static bool make_room(struct core *c)
{
	for (struct core_run *r = c->runs; c->n_runs >= c->config.max_runs && r; r = r->next)
		if (r->over && !run_has_logs(c, r)) {
			run_drop(c, r);
			return true;
		}
	return c->n_runs < c->config.max_runs;
}

/* Runs that are over do not count: they are dropped for new ones. */
static bool may_have_run(const struct core *c, uid_t uid)
{
	size_t all = 0, mine = 0;
	for (const struct core_run *r = c->runs; r; r = r->next) {
		all += !r->over;
		mine += !r->over && r->uid == uid;
	}
	return all >= c->config.max_runs || core_may_hold(c, uid, c->config.max_runs, all, mine);
}

int core_admits(const struct core *c, const char *run, uid_t uid)
{
	if (run_find(c, run))
		return core_owns(c, run, uid);
	if (!may_have_run(c, uid))
		return -EDQUOT;
	for (const struct core_run *r = c->runs; r; r = r->next)
		if (r->over && !run_has_logs(c, r))
			return 0;
	return c->n_runs < c->config.max_runs ? 0 : -ENOSPC;
}

int core_announced(struct core *c, const char *run, uid_t uid, const void *connection,
		   int64_t now_ns)
{
	struct core_run *r = run_find(c, run);
	if (r && core_owns(c, run, uid))
		return -EPERM;
	if (r) { /* its runner is back, or says more */
		r->connection = connection;
		r->todo = r->failed = false;
		return 0;
	}
	if (!may_have_run(c, uid))
		return -EDQUOT;
	if (!make_room(c))
		return -ENOSPC;
	size_t n = strlen(run) + 1;
	r = calloc(1, sizeof *r + n);
	if (!r)
		return -ENOMEM;
	memcpy(r->name, run, n);
	r->hash = core_hash(run);
	r->uid = uid;
	r->connection = connection;
	r->end_ns = CORE_NEVER;
	r->next = c->runs;
	c->runs = r;
	c->n_runs++;
	for (struct core_log *log = c->logs; log; log = log->next)
		if (log->run && !strcmp(log->run, run))
			log_owner(c, log); /* somebody may have taken the name beforehand */
	due(c, now_ns);
	return 0;
}

void core_brought(struct core *c, const char *run, const char *stream)
{
	uint64_t name = core_hash(stream);
	for (struct core_log *log = c->logs; log; log = log->next) {
		if (log->name != name || strcmp(log->stream, stream) != 0 || !log->run ||
		    strcmp(log->run, run) != 0 || !log->mine)
			continue;
		log->brought = true;
		if (log->phase == PHASE_HELD || log->phase == PHASE_ENDED)
			log_settle(c, log, 0);
	}
}

/* Finals that were left to its runner are ours now. */
static void release(struct core *c, const struct core_run *run, int64_t now_ns)
{
	for (struct core_log *log = c->logs; log; log = log->next)
		if (log->phase == PHASE_HELD && log_of(log, run))
			log_settle(c, log, now_ns);
	due(c, now_ns);
}

void core_run_over(struct core *c, const char *run, int64_t now_ns)
{
	struct core_run *r = run_find(c, run);
	if (!r)
		return;
	r->over = true;
	core_execution(c, run, NULL);
	release(c, r, now_ns);
}

void core_hangup(struct core *c, const void *connection, int64_t now_ns)
{
	struct core_run *next;
	for (struct core_run *r = c->runs; r; r = next) {
		next = r->next;
		if (r->connection != connection)
			continue;
		r->connection = NULL;
		core_execution(c, r->name, NULL);
		release(c, r, now_ns);
		if (r->over)
			run_drop(c, r);
		else
			r->end_ns = later(now_ns, c->config.orphan_ns);
	}
}

void core_execution(struct core *c, const char *run, const char *exec)
{
	struct core_run *r = run_find(c, run);
	if (!r)
		return;
	free(r->exec);
	r->exec = exec ? strdup(exec) : NULL; /* without memory the samples have no name */
}

void runs_tick(struct core *c, int64_t now_ns)
{
	for (struct core_run *r = c->runs; r; r = r->next) {
		if (r->connection || r->ending || r->todo)
			continue;
		if (r->end_ns <= now_ns || (!r->failed && !run_has_logs(c, r)))
			r->todo = true;
		else
			due(c, r->end_ns);
	}
}

bool runs_todo(struct core *c, struct core_action *ret)
{
	for (struct core_run *r = c->runs; r; r = r->next) {
		if (!r->todo)
			continue;
		r->todo = false;
		r->ending = true;
		*ret = (struct core_action){ .what = CORE_RUN_END, .run = r->name, .uid = r->uid };
		return true;
	}
	return false;
}

void core_run_ended(struct core *c, const char *run, int rc, int64_t now_ns)
{
	struct core_run *r = run_find(c, run);
	if (!r || !r->ending)
		return;
	r->ending = false;
	if (r->connection)
		return; /* its runner came back just now: then it will say more */
	if (rc) {
		r->failed = true;
		r->end_ns = later(now_ns, RETRY_NS);
		due(c, r->end_ns);
	} else {
		run_drop(c, r);
	}
}

bool core_busy(const struct core *c, const char **ret_run, const char **ret_exec)
{
	size_t n = 0;
	*ret_run = *ret_exec = NULL;
	for (const struct core_run *r = c->runs; r; r = r->next) {
		if (!r->exec)
			continue;
		n++;
		*ret_run = r->name;
		*ret_exec = r->exec;
	}
	if (n > 1)
		*ret_run = *ret_exec = NULL;
	return n || c->n_logs;
}
