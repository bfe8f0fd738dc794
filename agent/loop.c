#define _GNU_SOURCE
#include "agent/loop.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/impl.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/num.h"
#include "schema/local.h"

#define SECOND INT64_C(1000000000)
#define SILENCE_NS (900 * SECOND) /* as long as the daemon waits for news of a run */
#define ORPHAN_NS (10 * SECOND)   /* a runner's keeper ends what is left within a second */
#define SELF_NS (60 * SECOND)
#define SAID_A_SECOND 20 /* losses, in the log */
#define LAST_TURNS 64    /* at the end: it has an end, whatever there is to do */
#define ROUNDS 64        /* of things to do, before others get their turn */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

int64_t agent_now(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int64_t agent_real(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t agent_cpu(void)
{
	return (uint64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Whoever makes losses may make a thousand a second. */
bool agent_may_say(struct agent *a)
{
	int64_t second = agent_now() / SECOND;
	if (second != a->said_second) {
		if (a->unsaid)
			log_warn("%llu more losses were not told here one by one",
				 (unsigned long long)a->unsaid);
		a->said_second = second;
		a->said = 0;
		a->unsaid = 0;
	}
	bool may = a->said < SAID_A_SECOND;
	a->said += may;
	a->unsaid += !may;
	return may;
}

void agent_lose(struct agent *a, const char *what, const char *why, const char *run,
		const char *format, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	const struct outbox_loss loss = {
		.what = what,
		.why = why,
		.count = 1,
		.from_real_ns = agent_real(),
		.to_real_ns = agent_real(),
		.run = str_of(run),
		.text = text,
	};
	outbox_lose(a->outbox, &loss);
	a->losses++;
	if (agent_may_say(a))
		log_warn("%s lost: %s", what, text);
}

/* ---- a turn --------------------------------------------------------------------------------- */

static void end_run(struct agent *a, const struct core_action *do_)
{
	struct frame f;
	frame_clear(&f, FRAME_RUN_END);
	f.as.run_end.run = str_of(do_->run);
	f.as.run_end.complete = NO;
	f.as.run_end.real_ns = agent_real();
	f.as.run_end.uid = do_->uid;
	struct outbox_stats st;
	outbox_stats(a->outbox, &st);
	int rc = st.full ? -ENOSPC : outbox_put(a->outbox, &f, NULL);
	if (!rc) {
		log_warn("run %s: its runner is gone; it ends as interrupted", do_->run);
		runs_remove(&a->runs, do_->run);
		orphans_over(a, do_->run);
		a->dirty = true;
	}
	core_run_ended(a->core, do_->run, rc, agent_now());
}

/* Logs that an earlier life knew by their descriptors only. While its process lives one may come
 * back: those without a name are passed again at the end. */
static void settle_held(struct agent *a)
{
	struct process_name name;
	const char *stream;
	for (size_t at = 0; (stream = held_before(&a->held, &at));) {
		pid_t pid;
		int pidfd = -1;
		enum process_state state = PROCESS_BEFORE;
		if (!process_name_read(&name, stream))
			state = process_find(&a->view, &name, 0, 0, -1, false, &pid, &pidfd);
		if (pidfd >= 0)
			(void)close(pidfd);
		if (state == PROCESS_HERE || state == PROCESS_UNCERTAIN)
			continue;
		agent_lose(
			a, "marks", "unreadable", NULL,
			"process %d (%s): an earlier life of this agent had only the descriptor of "
			"its log; what it marked after the last snapshot is not known",
			(int)name.pid, stream);
		held_remove(&a->held, stream);
		(void)held_settle(&a->held, stream);
	}
}

static void do_one(struct agent *a, const struct core_action *do_)
{
	struct follow *f = (struct follow *)(void *)do_->log; /* core is its first member */
	switch (do_->what) {
	case CORE_LOOK:
		follow_look(f);
		break;
	case CORE_PROGRESS:
		follow_progress(f);
		break;
	case CORE_SNAPSHOT:
		follow_send(f, false);
		break;
	case CORE_FINAL:
		follow_send(f, true);
		break;
	case CORE_FORGET:
		follow_forget(f, do_->durable);
		break;
	case CORE_RUN_END:
		end_run(a, do_);
		break;
	case CORE_SELF:
		self_put(a);
		folders_check(a);
		settle_held(a);
		break;
	}
}

/* true: there is more to do, and others had no turn for long. */
static bool do_all(struct agent *a)
{
	struct core_action do_;
	int rounds = 0;
	if (core_next(a->core) <= agent_now())
		core_tick(a->core, agent_now());
	while (rounds < ROUNDS && core_todo(a->core, &do_)) {
		do_one(a, &do_);
		rounds++;
	}
	return rounds == ROUNDS;
}

static void make_durable(struct agent *a)
{
	struct err err = { .text = "" };
	uint64_t seq = 0;
	if (!a->dirty || agent_now() < a->retry_ns)
		return;
	int rc = outbox_sync(a->outbox, &seq, &err);
	if (rc) { /* the outbox keeps it, and tries again; who waits goes on waiting */
		a->retry_ns = agent_now() + SECOND;
		if (!a->losing)
			log_warn("spool: %s; tried again each second", err.text);
	} else {
		a->dirty = false;
		orphans_durable(a);
		intake_kept(a, seq);
		if (a->losing)
			log_info("spool: works again");
	}
	a->losing = rc != 0;
	/* What waits in the outbox gets there. Only when some of it was lost, logs are sent again:
	 * whose it was is not known. */
	struct outbox_stats st;
	outbox_stats(a->outbox, &st);
	if (!rc || st.lost != a->lost)
		core_synced(a->core, !rc, agent_now());
	a->lost = st.lost;
}

static void set_clock(struct agent *a)
{
	int64_t now = agent_now(), next = core_next(a->core), folders = folders_next(a);
	int64_t orphans = orphans_next(a);
	if (folders < next)
		next = folders;
	if (orphans < next)
		next = orphans;
	if (a->dirty && a->retry_ns < next)
		next = a->retry_ns;
	if (a->again)
		next = now;
	if (next == CORE_NEVER) {
		(void)uv_timer_stop(&a->clock);
		return;
	}
	/* A millisecond late rather than early, and not behind what the loop thinks is now. */
	uint64_t ms = next > now ? (uint64_t)(next - now) / 1000000 + 1 : 0;
	uv_update_time(a->loop);
	(void)uv_timer_start(&a->clock, agent_clock, ms, 0);
}

static void turn(uv_prepare_t *handle)
{
	struct agent *a = handle->data;
	orphans_go_on(a);
	a->again = do_all(a);
	folders_go_on(a);
	make_durable(a);
	a->again |= do_all(a); /* what was made durable is let go */
	if (a->dirty)
		make_durable(a); /* and maybe it was the last of a run */
	sampling_set(a);
	set_clock(a);
}

/* Prepare handles run in each round of the loop, before it sleeps: nothing is to be done here. */
void agent_turn_soon(struct agent *a)
{
	(void)a;
}

void agent_clock(uv_timer_t *handle)
{
	struct agent *a = handle->data;
	a->wakeups++;
}

/* ---- start ---------------------------------------------------------------------------------- */

static void read_boot(char boot[40])
{
	struct buf b = { .max = 128 };
	if (file_read(&b, "/proc/sys/kernel/random/boot_id", NULL) || !b.len)
		buf_puts(&b, "unknown");
	(void)snprintf(boot, 40, "%.*s", (int)strcspn(b.data, "\n"), b.data);
	buf_done(&b);
}

/* Two descriptors for each process that is followed, and some; samples keep as many open of what is
 * left, which saves them the opening. */
static void raise_limit(const struct agent *a)
{
	struct rlimit r;
	rlim_t need = 2 * (rlim_t)a->config->processes + 2048, want = 3 * need;
	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= want)
		return;
	r.rlim_cur = r.rlim_max == RLIM_INFINITY || r.rlim_max >= want ? want : r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_cur < need)
		log_warn("%llu descriptors may be open: fewer than [agent] processes = %.0f needs; "
			 "raise LimitNOFILE",
			 (unsigned long long)r.rlim_cur, a->config->processes);
}

static struct core_config core_numbers(const struct agent_config *c)
{
	return (struct core_config){
		.progress_ns = (int64_t)(c->progress_s * 1e9),
		.first_ns = (int64_t)(c->snapshot_s * 1e9),
		.slowest_ns = (int64_t)(fmax(c->snapshot_s, c->snapshot_max_s) * 1e9),
		.silence_ns = SILENCE_NS,
		.orphan_ns = ORPHAN_NS,
		.self_ns = SELF_NS,
		.max_logs = (size_t)c->processes,
		.max_runs = AGENT_MAX_RUNS,
		.share = c->share,
		.unshared = { 0, geteuid() },
	};
}

/* What is printed parses back to itself. */
static int copy_config(struct agent *a, const struct agent_config *from, struct err *err)
{
	struct buf text = { .max = 1u << 20 };
	struct agent_config *to = calloc(1, sizeof *to);
	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	conf_print(&agent_config_table, from, &text);
	int rc = text.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
	if (!rc)
		rc = agent_config_load(to, NULL, err);
	if (!rc)
		rc = conf_parse(&agent_config_table, to, &to->arena, "configuration", text.data,
				text.len, err);
	buf_done(&text);
	if (rc) {
		agent_config_done(to);
		free(to);
		return rc;
	}
	if (a->config) {
		agent_config_done(a->config);
		free(a->config);
	}
	a->config = to;
	return 0;
}

static int own_folder(const struct agent *a, char path[4096], struct err *err)
{
	const char *socket = a->config->socket, *end = strrchr(socket, '/');
	int n = a->config->logs
			? snprintf(path, 4096, "%s", a->config->logs)
			: snprintf(path, 4096, "%.*s/" LOCAL_LOGS, (int)(end - socket), socket);
	return n > 0 && n < 4096
		       ? 0
		       : err_set(err, -ENAMETOOLONG, "[agent] logs: %s", strerror(ENAMETOOLONG));
}

static void start_handles(struct agent *a)
{
	(void)uv_prepare_init(a->loop, &a->turn);
	(void)uv_timer_init(a->loop, &a->clock);
	a->turn.data = a->clock.data = a;
	agent_handles_add(a);
	agent_handles_add(a);
	(void)uv_prepare_start(&a->turn, turn);
}

/* Logs that an earlier life left with systemd. */
static void take_back(struct agent *a, const struct agent_parts *parts)
{
	const struct follow_from from = { .connection = -1 };
	for (size_t i = 0; i < parts->n_logs; i++)
		(void)follow_take(a, parts->logs[i], &from, NULL);
}

static int start(struct agent *a, const struct agent_config *config,
		 const struct agent_parts *parts, struct err *err)
{
	char own[4096];
	read_boot(a->boot);
	process_view_open(&a->view, a->boot);
	if (gethostname(a->host, sizeof a->host - 1))
		a->host[0] = 0;
	a->start_real_ns = agent_real();
	start_handles(a);
	int rc = copy_config(a, config, err);
	if (rc)
		return rc;
	raise_limit(a);
	const struct core_config numbers = core_numbers(a->config);
	a->scratch = malloc(BATCH_CHUNK);
	a->core = core_new(&numbers, agent_now());
	if (!a->core || !a->scratch)
		return err_set(err, -ENOMEM, "out of memory");
	orphans_open(a);
	rc = sampling_open(a, err);
	if (!rc)
		rc = intake_open(a, parts->listening, err);
	if (!rc)
		rc = own_folder(a, own, err);
	if (!rc)
		rc = folders_open(a, own, err);
	if (!rc)
		rc = folders_set(a, a->config->folders.items, a->config->folders.n, err);
	if (!rc)
		rc = held_open(&a->held, a->config->spool, err);
	if (rc)
		return rc;
	a->started = true;
	node_put(a);
	take_back(a, parts);
	return 0;
}

int agent_start(struct agent **ret, struct uv_loop_s *loop, const struct agent_config *config,
		const struct agent_parts *parts, struct err *err)
{
	struct agent *a = calloc(1, sizeof *a);
	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->loop = loop;
	a->outbox = parts->outbox;
	a->post = parts->post;
	a->sampling_fd = a->held.fd = -1;
	int rc = start(a, config, parts, err);
	if (rc) {
		agent_stop(a);
		return rc;
	}
	*ret = a;
	return 0;
}

int agent_reload(struct agent *a, const struct agent_config *config, struct err *err)
{
	if (strcmp(config->socket, a->config->socket) != 0)
		return err_set(
			err, -EINVAL,
			"[agent] socket: %s instead of %s needs a restart; nothing is changed",
			config->socket, a->config->socket);
	int rc = copy_config(a, config, err);
	if (rc)
		return rc;
	raise_limit(a);
	const struct core_config numbers = core_numbers(a->config);
	core_reconfigure(a->core, &numbers, agent_now());
	rc = sampling_again(a, err);
	if (!rc)
		rc = folders_set(a, a->config->folders.items, a->config->folders.n, err);
	return rc;
}

void agent_delivered(struct agent *a, uint64_t seq)
{
	if (a->intake)
		intake_delivered(a, seq);
}

bool agent_quiet(const struct agent *a)
{
	return core_quiet(a->core);
}

/* ---- stop ----------------------------------------------------------------------------------- */

void agent_handles_add(struct agent *a)
{
	a->handles++;
}

void agent_handle_closed(struct agent *a)
{
	if (--a->handles)
		return;
	core_free(a->core);
	runs_done(&a->runs);
	held_close(&a->held);
	if (a->config) {
		agent_config_done(a->config);
		free(a->config);
	}
	free(a->scratch);
	free(a);
}

static void own_closed(uv_handle_t *handle)
{
	agent_handle_closed(handle->data);
}

/* What lives is sent once more as it is, so that a restart that takes long costs no news; finals
 * that wait for room stay in their logs, where the next life finds them. */
static void last_words(struct agent *a)
{
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		for (struct follow *f = a->buckets[i]; f; f = f->next)
			if (!f->folder && core_live(&f->core))
				follow_send(f, false);
	self_put(a);
	a->retry_ns = 0;
	a->dirty = true;
	make_durable(a);
}

void agent_stop(struct agent *a)
{
	if (a->started) {
		intake_last(a);
		/* A log in memory of a process that has ended is nowhere else. */
		for (int i = 0; i < LAST_TURNS && do_all(a); i++)
			continue;
	}
	a->stopping = true;
	if (a->started)
		last_words(a);
	intake_close(a);
	follow_close_all(a);
	folders_close(a);
	orphans_close(a);
	sampling_close(a);
	uv_close((uv_handle_t *)&a->turn, own_closed);
	uv_close((uv_handle_t *)&a->clock, own_closed);
}
