/* roimeter-agent: options, signals, what systemd hands over and is told, and the order in which the
 * parts begin and end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "agent/config.h"
#include "agent/loop.h"
#include "agent/outbox.h"
#include "agent/post.h"
#include "agent/secret.h"
#include "agent/slim.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/opt.h"
#include "lib/version.h"

#define COMMAND "roimeter-agent"
#define FIRST_PASSED_FD 3 /* SD_LISTEN_FDS_START */
#define MAX_PASSED 100000
#define STATUS_MS 10000
#define SLIM_MS 3000 /* after the start, and after the first delivery */

struct options {
	const char *config, *server, *socket, *spool;
	bool check_config, print_config;
};

struct program {
	const struct options *options;
	struct agent_config config;
	uv_loop_t loop;
	uv_signal_t signals[3];
	uv_timer_t watchdog, status, slim;
	bool slimmed;
	struct outbox *outbox;
	struct post *post;
	struct agent *agent;
};

/* ---- configuration ----------------------------------------------------------------------------
 */

static int load(struct agent_config *c, const struct options *o, struct err *err)
{
	int rc = agent_config_load(c, o->config, err);
	if (rc)
		return rc;
	if (o->server)
		c->url = o->server;
	if (o->socket)
		c->socket = o->socket;
	if (o->spool)
		c->spool = o->spool;
	return agent_config_check(c, err);
}

static void print_config(const struct agent_config *c)
{
	struct buf b = { 0 };
	conf_print(&agent_config_table, c, &b);
	if (!b.failed)
		(void)fwrite(b.data, 1, b.len, stdout);
	buf_done(&b);
}

static int check(const struct agent_config *c, struct err *err)
{
	char token[SECRET_BYTES];
	const char *const files[] = { c->ca, c->certificate, c->key };
	int rc = c->token_file ? secret_read(token, c->token_file, err) : 0;
	explicit_bzero(token, sizeof token);
	for (size_t i = 0; !rc && i < sizeof files / sizeof *files; i++)
		if (files[i] && access(files[i], R_OK))
			rc = err_set(err, -errno, "[server]: %s: %s", files[i], strerror(errno));
	return rc;
}

static bool is_loopback(const char *url)
{
	return !strncmp(url, "http://127.", 11) || !strncmp(url, "http://localhost", 16) ||
	       !strncmp(url, "http://[::1]", 12);
}

/* ---- what systemd hands over ------------------------------------------------------------------
 */

/* The agent's socket, if a socket unit passed it; and the logs that an earlier life left in the
 * descriptor store. logs has room for all. */
static void take_passed(struct agent_parts *parts, int *logs, long n)
{
	for (int fd = FIRST_PASSED_FD; fd < FIRST_PASSED_FD + n; fd++) {
		int type = 0, listens = 0;
		socklen_t size = sizeof type;
		struct stat st;
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
			logs[parts->n_logs++] = fd;
			continue;
		}
		bool good = !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) &&
			    !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) &&
			    type == SOCK_SEQPACKET && listens;
		if (good && parts->listening < 0) {
			(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
			parts->listening = fd;
			continue;
		}
		log_warn("descriptor %d, which systemd passed, is no listening socket of sequenced "
			 "packets%s",
			 fd, good ? " of ours: one is enough" : "");
		(void)close(fd);
	}
	parts->logs = logs;
}

static void passed(struct agent_parts *parts, int **ret_logs)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	long n = fds ? strtol(fds, NULL, 10) : 0;
	*ret_logs = NULL;
	if (!pid || strtol(pid, NULL, 10) != getpid() || n < 1 || n > MAX_PASSED)
		return;
	*ret_logs = calloc((size_t)n, sizeof **ret_logs);
	if (*ret_logs)
		take_passed(parts, *ret_logs, n);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
}

/* ---- signals and timers ------------------------------------------------------------------------
 */

static void on_slim(uv_timer_t *timer)
{
	(void)timer;
	slim();
}

static void delivered(void *arg, uint64_t seq)
{
	struct program *p = arg;
	if (p->agent)
		agent_delivered(p->agent, seq);
	if (!p->slimmed)
		(void)uv_timer_start(&p->slim, on_slim, SLIM_MS, 0);
	p->slimmed = true;
}

/* What can't be taken over while it runs. */
static bool needs_restart(const struct agent_config *a, const struct agent_config *b)
{
	const char *const texts[][2] = {
		{ a->url, b->url }, { a->spool, b->spool },
		{ a->id, b->id },   { a->token_file, b->token_file },
		{ a->ca, b->ca },   { a->certificate, b->certificate },
		{ a->key, b->key },
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *x = texts[i][0], *y = texts[i][1];
		if (!x != !y || (x && strcmp(x, y) != 0))
			return true;
	}
	return a->spool_max_bytes != b->spool_max_bytes || a->batch_bytes != b->batch_bytes ||
	       a->age_s != b->age_s || a->context_age_s != b->context_age_s ||
	       a->connect_s != b->connect_s || a->stall_s != b->stall_s ||
	       a->retry_max_s != b->retry_max_s;
}

static void reload(struct program *p)
{
	struct agent_config c;
	struct err err = { { 0 } };
	char state[64];
	(void)snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
		       (unsigned long long)(uv_hrtime() / 1000));
	notify_send(state);
	int rc = load(&c, p->options, &err);
	if (!rc)
		rc = post_reload(p->post, &err);
	if (!rc)
		rc = agent_reload(p->agent, &c, &err);
	if (rc)
		log_error("reload: %s; what was in force stays", err.text);
	else if (needs_restart(&p->config, &c))
		log_warn("reload: the token, folders, periods and limits are as configured now; "
			 "the server, the spool or the id have changed, too: that needs a restart");
	else
		log_info("reload: the token, folders, periods and limits are as configured now");
	agent_config_done(&c);
	notify_send("READY=1");
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct program *p = signal->data;
	if (number == SIGHUP)
		reload(p);
	else
		uv_stop(&p->loop);
}

/* Said from the loop itself: a loop that hangs says nothing. */
static void on_watchdog(uv_timer_t *timer)
{
	(void)timer;
	notify_send("WATCHDOG=1");
}

static void on_status(uv_timer_t *timer)
{
	struct program *p = timer->data;
	struct outbox_stats o;
	struct post_stats s;
	char state[512];
	outbox_stats(p->outbox, &o);
	post_stats(p->post, &s);
	(void)snprintf(state, sizeof state, "STATUS=spool %.1f of %.0f MiB, %llu to send%s%s%s",
		       (double)o.spool.bytes / (1 << 20), (double)o.spool.max_bytes / (1 << 20),
		       (unsigned long long)(o.spool.synced_seq - o.spool.acked_seq),
		       o.lost ? "; frames were lost" : "", s.trouble ? "; daemon: " : "", s.why);
	notify_send(state);
}

static void begin_handles(struct program *p)
{
	const int numbers[3] = { SIGHUP, SIGTERM, SIGINT };
	for (int i = 0; i < 3; i++) {
		(void)uv_signal_init(&p->loop, &p->signals[i]);
		p->signals[i].data = p;
		(void)uv_signal_start(&p->signals[i], on_signal, numbers[i]);
	}
	(void)uv_timer_init(&p->loop, &p->watchdog);
	(void)uv_timer_init(&p->loop, &p->status);
	(void)uv_timer_init(&p->loop, &p->slim);
	(void)uv_timer_start(&p->slim, on_slim, SLIM_MS, 0);
	p->watchdog.data = p->status.data = p;
	uint64_t every_ms = notify_watchdog_ns() / 1000000;
	if (every_ms)
		(void)uv_timer_start(&p->watchdog, on_watchdog, every_ms, every_ms);
	if (getenv("NOTIFY_SOCKET"))
		(void)uv_timer_start(&p->status, on_status, STATUS_MS, STATUS_MS);
}

static void end_handles(struct program *p)
{
	for (int i = 0; i < 3; i++)
		uv_close((uv_handle_t *)&p->signals[i], NULL);
	uv_close((uv_handle_t *)&p->watchdog, NULL);
	uv_close((uv_handle_t *)&p->status, NULL);
	uv_close((uv_handle_t *)&p->slim, NULL);
}

/* ---- a life -----------------------------------------------------------------------------------
 */

static int open_outbox(struct program *p, struct err *err)
{
	const struct agent_config *c = &p->config;
	char host[256] = "";
	struct buf boot = { .max = 64 };
	if (gethostname(host, sizeof host - 1))
		*host = 0;
	if (file_read(&boot, "/proc/sys/kernel/random/boot_id", NULL))
		boot.len = 0;
	if (boot.len)
		boot.data[strcspn(boot.data, "\n")] = 0;
	const struct outbox_options o = { .folder = c->spool,
					  .max_bytes = (uint64_t)c->spool_max_bytes,
					  .agent = c->id,
					  .host = *host ? host : NULL,
					  .boot = boot.len ? boot.data : NULL,
					  .tool = COMMAND " " ROIMETER_VERSION_TEXT,
					  .batch_bytes = (size_t)c->batch_bytes,
					  .age_ns = (uint64_t)(c->age_s * 1e9),
					  .context_age_ns = (uint64_t)(c->context_age_s * 1e9) };
	int rc = outbox_open(&p->outbox, &o, err);
	buf_done(&boot);
	return rc;
}

static int begin(struct program *p, struct err *err)
{
	const struct agent_config *c = &p->config;
	int rc = open_outbox(p, err);
	if (rc)
		return rc;
	const struct post_options post = { .loop = &p->loop,
					   .outbox = p->outbox,
					   .url = c->url,
					   .token_file = c->token_file,
					   .ca = c->ca,
					   .certificate = c->certificate,
					   .key = c->key,
					   .connect_s = c->connect_s,
					   .stall_s = c->stall_s,
					   .retry_max_s = c->retry_max_s,
					   .delivered = delivered,
					   .arg = p };
	rc = post_open(&p->post, &post, err);
	if (rc)
		return rc;
	int *logs;
	struct agent_parts parts = { .outbox = p->outbox, .post = p->post, .listening = -1 };
	passed(&parts, &logs);
	rc = agent_start(&p->agent, &p->loop, c, &parts, err);
	free(logs);
	return rc;
}

static void say_where(const struct program *p)
{
	const struct agent_config *c = &p->config;
	(void)printf("%s\n", c->socket); /* for scripts: it listens now */
	(void)fflush(stdout);
	log_info("listens on %s, spool %s, agent %s, %s%s", c->socket, c->spool,
		 outbox_agent(p->outbox), c->url ? "sends to " : "sends to nobody",
		 c->url ? c->url : "");
	if (!c->url)
		log_warn("[server] url is empty: all is kept, nothing is sent");
	else if (c->token_file && !strncmp(c->url, "http://", 7) && !is_loopback(c->url))
		log_warn("the token goes to %s in the clear; https keeps it", c->url);
}

static void end(struct program *p)
{
	struct err err = { { 0 } };
	if (p->agent)
		agent_stop(p->agent);
	if (p->outbox && outbox_sync(p->outbox, NULL, &err))
		log_error("at the end: %s; what could not be kept is lost", err.text);
	post_close(p->post, NULL, NULL);
	end_handles(p);
	(void)uv_run(&p->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&p->loop);
	outbox_close(p->outbox);
}

static int run(struct program *p, struct err *err)
{
	(void)signal(SIGPIPE, SIG_IGN);
	int rc = uv_loop_init(&p->loop);
	if (rc)
		return err_set(err, rc, "the loop can't begin: %s", uv_strerror(rc));
	begin_handles(p);
	rc = begin(p, err);
	if (!rc) {
		say_where(p);
		notify_send("READY=1");
		(void)uv_run(&p->loop, UV_RUN_DEFAULT);
		notify_send("STOPPING=1");
		log_info("ends");
	}
	end(p);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ "config", OPT_TEXT, &o.config, "FILE", "configuration; without it the defaults" },
		{ "server", OPT_TEXT, &o.server, "URL",
		  "of the daemon, instead of the configured" },
		{ "socket", OPT_TEXT, &o.socket, "PATH",
		  "where processes of this node speak to the agent" },
		{ "spool", OPT_TEXT, &o.spool, "DIR", "where all is kept until the daemon has it" },
		{ "check-config", OPT_FLAG, &o.check_config, NULL,
		  "only look for faults in configuration and token" },
		{ "print-config", OPT_FLAG, &o.print_config, NULL,
		  "print what is in force, as a file that can be read back" },
	};
	const struct opt_table table = {
		.command = COMMAND,
		.synopsis = "--config FILE\n--server URL --socket PATH --spool DIR",
		.about =
			"Takes in what the marked processes and runners of this node report, keeps "
			"it on disk, and\n"
			"sends it to the daemon. Runs in the foreground; the first line of its "
			"output is its socket.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "SIGHUP reads the token, folders and periods again; SIGTERM ends it "
			  "cleanly.",
	};
	struct err err = { { 0 } };
	struct program p = { .options = &o };
	int first = 0, rc = opt_parse(&table, argc, argv, &first, &err);
	if (rc == 1)
		return EXIT_GOOD;
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL, "unexpected \"%s\"; see " COMMAND " --help",
			     argv[first]);
	if (!rc && argc == 1)
		rc = err_set(&err, -EINVAL,
			     "say with what: --config FILE, or --server URL --socket "
			     "PATH --spool DIR");
	if (!rc)
		rc = load(&p.config, &o, &err);
	if (!rc && o.print_config) {
		print_config(&p.config);
	} else if (!rc && o.check_config) {
		rc = check(&p.config, &err);
		if (!rc)
			(void)fprintf(stderr, "the configuration is good\n");
	} else if (!rc) {
		rc = run(&p, &err);
	}
	agent_config_done(&p.config);
	opt_done(&table);
	return rc ? opt_fail(COMMAND, rc, &err) : EXIT_GOOD;
}
