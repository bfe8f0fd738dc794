/* Runs that were open when the agent was killed. Their runners are not children of ours and do not
 * come back before they have something to say, which may take an hour: so the process itself is
 * watched, and counts as a connection, until its runner makes one. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/impl.h"
#include "agent/notebook.h"
#include "lib/log.h"

#define SECOND INT64_C(1000000000)
#define GONE_NS SECOND           /* first the folders are looked through for its logs */
#define UNSEEN_NS (900 * SECOND) /* as long as the daemon waits for news of a run */

struct orphan {
	struct orphan *next;
	struct agent *agent;
	uv_poll_t end; /* on pidfd */
	bool watching;
	int pidfd;        /* -1: it can't be watched */
	int64_t until_ns; /* then it counts as gone */
	char run[128];
};

/* ---- the process of a runner ---------------------------------------------------------------- */

/* Numbers of processes mean nothing in another pid namespace. 0: not known. */
static uint64_t own_space(void)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

/* When it counts as gone: soon, some day, or never while it lives. ret_pidfd: to watch it, or -1.
 */
static int64_t look(const struct agent *a, const struct noted *run, int *ret_pidfd)
{
	uint64_t start;
	*ret_pidfd = -1;
	if (!strcmp(a->boot, "unknown") || !strcmp(run->boot, "unknown"))
		return UNSEEN_NS;
	if (strcmp(run->boot, a->boot) != 0)
		return GONE_NS;
	if (run->pid <= 0 || !run->space || run->space != own_space())
		return UNSEEN_NS;
	*ret_pidfd = (int)syscall(SYS_pidfd_open, run->pid, 0); /* close-on-exec, always */
	if (*ret_pidfd < 0)
		return errno == ESRCH ? GONE_NS : UNSEEN_NS;
	/* The pidfd was opened before: with this start time it is of that process. */
	if (!run->start)
		return UNSEEN_NS;
	int rc = process_start(&a->view, run->pid, &start);
	if (rc == -EACCES || (rc && a->view.hidden))
		return UNSEEN_NS;
	return rc || start != run->start ? GONE_NS : CORE_NEVER;
}

/* ---- one run -------------------------------------------------------------------------------- */

static void freed(uv_handle_t *handle)
{
	struct orphan *o = handle->data;
	struct agent *a = o->agent;
	free(o);
	agent_handle_closed(a);
}

static void let_go(struct orphan *o)
{
	struct orphan **at = &o->agent->orphans;
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (o->watching)
		uv_close((uv_handle_t *)&o->end, freed);
	if (o->pidfd >= 0)
		(void)close(o->pidfd);
	if (!o->watching)
		free(o);
}

static void runner_ended(uv_poll_t *handle, int status, int events)
{
	struct orphan *o = handle->data;
	(void)status;
	(void)events;
	o->agent->wakeups++;
	(void)uv_poll_stop(handle);
	o->until_ns = 0; /* the turn hangs up */
	agent_turn_soon(o->agent);
}

static void watch(struct orphan *o)
{
	if (o->pidfd < 0 || uv_poll_init(o->agent->loop, &o->end, o->pidfd))
		return;
	o->end.data = o;
	o->watching = true;
	agent_handles_add(o->agent);
	(void)uv_poll_start(&o->end, UV_READABLE, runner_ended);
}

static void recall(struct agent *a, const struct noted *run)
{
	struct orphan *o = calloc(1, sizeof *o);
	if (!o || core_announced(a->core, run->run, run->uid, o, agent_now())) {
		free(o);
		return; /* it stays noted, for the next life */
	}
	o->agent = a;
	memcpy(o->run, run->run, sizeof o->run);
	int64_t left = look(a, run, &o->pidfd);
	if (left == GONE_NS && o->pidfd >= 0) { /* another one has its number */
		(void)close(o->pidfd);
		o->pidfd = -1;
	}
	watch(o);
	if (left == CORE_NEVER && !o->watching)
		left = UNSEEN_NS;
	o->until_ns = left == CORE_NEVER ? CORE_NEVER : agent_now() + left;
	o->next = a->orphans;
	a->orphans = o;
	runs_recall(&a->runs, run->run, run->uid, run->announced_real_ns);
	log_info("run %s was open when the agent ended; its runner %s", run->run,
		 left == CORE_NEVER  ? "lives and is waited for"
		 : left == UNSEEN_NS ? "can't be seen from here: it has 15 min to come back"
				     : "is gone");
}

/* ---- all of them ---------------------------------------------------------------------------- */

void orphans_open(struct agent *a)
{
	struct err err = { .text = "" };
	size_t damaged = 0, at = 0;
	const struct noted *run;
	if (notebook_open(&a->notebook, a->config->spool, &damaged, &err)) {
		log_warn("%s; runs whose runner and agent are killed will stay open until the "
			 "daemon's [assembly] silence",
			 err.text);
		return;
	}
	if (damaged)
		log_warn("%s/runs: %zu runs can't be read any more; what was open of them is "
			 "ended by the daemon's [assembly] silence",
			 a->config->spool, damaged);
	while ((run = notebook_next(a->notebook, &at)))
		recall(a, run);
}

void orphans_close(struct agent *a)
{
	while (a->orphans)
		let_go(a->orphans);
	notebook_close(a->notebook);
	a->notebook = NULL;
}

/* Measuring goes on without: it takes two kills for this to be missed. */
static void say_trouble(struct agent *a, const struct err *err)
{
	if (!a->forgetting)
		log_warn("%s; should the agent and a runner be killed, its run stays open until "
			 "the daemon's [assembly] silence",
			 err->text);
	a->forgetting = true;
}

void orphans_announced(struct agent *a, const char *run, int64_t real_ns,
		       const struct unixsock_peer *runner)
{
	struct noted n = { .uid = runner->uid,
			   .pid = runner->pid,
			   .space = own_space(),
			   .announced_real_ns = real_ns };
	struct err err = { .text = "" };
	for (struct orphan *o = a->orphans, *next; o; o = next) {
		next = o->next;
		if (!strcmp(o->run, run))
			let_go(o); /* its runner is back: the connection tells its end */
	}
	if (!a->notebook)
		return;
	(void)snprintf(n.run, sizeof n.run, "%s", run);
	(void)snprintf(n.boot, sizeof n.boot, "%s", a->boot);
	if (n.pid <= 0 || process_start(&a->view, n.pid, &n.start))
		n.start = 0;
	if (notebook_put(a->notebook, &n, &err))
		say_trouble(a, &err);
}

void orphans_over(struct agent *a, const char *run)
{
	if (a->notebook)
		notebook_remove(a->notebook, run);
}

void orphans_durable(struct agent *a)
{
	struct err err = { .text = "" };
	if (!a->notebook)
		return;
	if (notebook_sync(a->notebook, &err)) {
		say_trouble(a, &err);
		return;
	}
	if (a->forgetting)
		log_info("which runs are open is written down again");
	a->forgetting = false;
}

void orphans_go_on(struct agent *a)
{
	int64_t now = a->orphans ? agent_now() : 0;
	for (struct orphan *o = a->orphans, *next; o; o = next) {
		next = o->next;
		if (o->until_ns > now)
			continue;
		core_hangup(a->core, o, now);
		let_go(o);
	}
}

int64_t orphans_next(const struct agent *a)
{
	int64_t next = CORE_NEVER;
	for (const struct orphan *o = a->orphans; o; o = o->next)
		if (o->until_ns < next)
			next = o->until_ns;
	return next;
}
