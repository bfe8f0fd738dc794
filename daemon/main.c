/* roimeterd: options, signals, and what systemd is told. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/log.h"
#include "lib/notify.h"
#include "daemon/probe.h"
#include "daemon/server.h"
#include "lib/opt.h"

#define COMMAND "roimeterd"

struct options {
	const char *config, *listen, *db;
	bool check_config, print_config;
};

static int load(struct daemon_config *c, const struct options *o, struct err *err)
{
	int rc = daemon_config_load(c, o->config, err);
	if (!rc && o->listen)
		c->listen = o->listen;
	if (!rc && o->db)
		c->db = o->db;
	return rc;
}

/* Signals are waited for by this thread alone; all others are started with them blocked. */
static sigset_t block_signals(void)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	return set;
}

static void reload(struct server *s, const struct options *o)
{
	struct daemon_config c;
	struct err err = { { 0 } };
	char state[64];
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	(void)snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld",
		       (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
	notify_send(state);
	int rc = load(&c, o, &err);
	if (!rc)
		rc = server_reload(s, &c, &err);
	if (rc)
		log_error("reload: %s; what was in force stays", err.text);
	else
		log_info("reload: tokens, reading, hosts and the access log are as configured now; "
			 "the "
			 "rest needs a restart");
	daemon_config_done(&c);
	notify_send("READY=1");
}

/* Returns when a signal asks to end. */
static void serve(struct server *s, const struct options *o, const sigset_t *signals,
		  const char *where)
{
	uint64_t every_ns = notify_watchdog_ns();
	const struct timespec pause = { .tv_sec = (time_t)(every_ns / 1000000000u),
					.tv_nsec = (long)(every_ns % 1000000000u) };
	bool was_bad = false;
	for (;;) {
		int signo =
			every_ns ? sigtimedwait(signals, NULL, &pause) : sigwaitinfo(signals, NULL);
		if (signo == SIGTERM || signo == SIGINT)
			return;
		if (signo == SIGHUP)
			reload(s, o);
		if (!every_ns)
			continue;
		/* Only an answer proves that the loop is alive. */
		bool good = probe_health(where);
		if (good)
			notify_send("WATCHDOG=1");
		if (!good && !was_bad)
			log_error("watchdog: no answer from %s; systemd will start anew", where);
		was_bad = !good;
	}
}

static int run(const struct daemon_config *c, const struct options *o, struct err *err)
{
	struct server *s = NULL;
	char where[LISTEN_TEXT];
	sigset_t signals = block_signals();
	int rc = server_start(&s, c, where, err);
	if (rc)
		return rc;
	/* On standard output for scripts: with port 0 it can't be known before. */
	(void)printf("http://%s\n", where);
	(void)fflush(stdout);
	log_info("listens on %s, database %s", where, c->db);
	if (strcmp(c->read, "all") == 0)
		log_warn("everybody who reaches %s may read ([auth] read = all)", where);
	notify_send("READY=1");
	serve(s, o, &signals, where);
	notify_send("STOPPING=1");
	log_info("ends");
	server_stop(s);
	return 0;
}

static void print_config(const struct daemon_config *c)
{
	struct buf b = { 0 };
	conf_print(&daemon_config_table, c, &b);
	if (!b.failed)
		(void)fwrite(b.data, 1, b.len, stdout);
	buf_done(&b);
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ "config", OPT_TEXT, &o.config, "FILE", "configuration; without it the defaults" },
		{ "listen", OPT_TEXT, &o.listen, "ADDR:PORT", "instead of the configured address" },
		{ "db", OPT_TEXT, &o.db, "FILE", "instead of the configured database" },
		{ "check-config", OPT_FLAG, &o.check_config, NULL,
		  "only look for faults in configuration and tokens" },
		{ "print-config", OPT_FLAG, &o.print_config, NULL,
		  "print what is in force, as a file that can be read back" },
	};
	const struct opt_table table = {
		.command = COMMAND,
		.synopsis = "--config FILE\n--listen ADDR:PORT --db FILE",
		.about = "Serves stored runs over HTTP: the report as a live page, and the API "
			 "under /api/v1.\n"
			 "Runs in the foreground; the first line of its output is its address.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "SIGHUP reads tokens and who may read again; SIGTERM ends it cleanly.",
	};
	struct err err = { { 0 } };
	struct daemon_config c = { .db = NULL };
	/* Large bodies and answers go back to the system at once; by itself malloc would come to
	 * keep tens of MB of them. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
	int first = 0, rc = opt_parse(&table, argc, argv, &first, &err);
	if (rc == 1)
		return EXIT_GOOD;
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL, "unexpected \"%s\"; see " COMMAND " --help",
			     argv[first]);
	if (!rc && argc == 1)
		rc = err_set(&err, -EINVAL, "say what to serve: --db FILE, or --config FILE");
	if (!rc)
		rc = load(&c, &o, &err);
	if (!rc && o.print_config) {
		print_config(&c);
	} else if (!rc && o.check_config) {
		rc = server_check(&c, &err);
		if (!rc)
			(void)fprintf(stderr, "the configuration is good\n");
	} else if (!rc) {
		rc = run(&c, &o, &err);
	}
	daemon_config_done(&c);
	opt_done(&table);
	return rc ? opt_fail(COMMAND, rc, &err) : EXIT_GOOD;
}
