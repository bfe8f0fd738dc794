/* roimeter agent-status: what the agent of this node holds. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/agent_text.h"
#include "cli/cmd.h"
#include "cli/config.h"
#include "lib/opt.h"
#include "run/link.h"
#include "schema/codec.h"

#define PATIENCE_NS INT64_C(5000000000)

static int ask(const char *socket, json_t **ret, struct err *err)
{
	const struct link_wait wait = { link_now_ns() + PATIENCE_NS, -1 };
	int fd = link_open(socket, err);
	if (fd < 0)
		return fd == -EAGAIN ? -ECONNREFUSED : fd;
	int rc = link_status(fd, ret, &wait, err);
	(void)close(fd);
	if (rc == -ETIMEDOUT || rc == -EPIPE)
		return err_wrap(err, -ETIMEDOUT, "the agent at %s is there and gives no status",
				socket);
	return rc;
}

static int tell(const char *told, const char *format, const char *config_file, struct err *err)
{
	struct config config;
	struct buf b = { 0 };
	json_t *status = NULL;
	bool json = strcmp(format, "json") == 0;
	int rc = config_load(&config, config_file, err);
	if (!rc && !json && strcmp(format, "text") != 0)
		rc = err_set(err, -EINVAL, "--format %s: expected text or json", format);
	if (!rc)
		rc = ask(link_path(told, config.agent_socket), &status, err);
	if (!rc && json)
		rc = json_text(&b, status);
	else if (!rc)
		agent_text(&b, status);
	if (!rc && b.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		(void)printf("%s%s", b.data ? b.data : "", json ? "\n" : "");
	json_decref(status);
	buf_done(&b);
	config_done(&config);
	return rc;
}

int cmd_agent_status(int argc, char **argv)
{
	const char *format = "text", *socket = NULL, *config_file = NULL;
	const struct opt opts[] = {
		{ "socket", OPT_TEXT, &socket, "PATH",
		  "of the agent (default: ROIMETER_AGENT, [agent] socket, or the usual place)" },
		{ "format", OPT_TEXT, &format, "FORMAT", "text or json" },
		{ "config", OPT_TEXT, &config_file, "FILE",
		  "configuration in place of the usual files" },
	};
	const struct opt_table t = {
		.command = "roimeter agent-status",
		.synopsis = "[OPTIONS]",
		.about = "Tells what the agent of this node follows, what it has not yet delivered "
			 "and why, what was\nlost, and what it costs.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
	};
	struct err err = { 0 };
	int first = 0, rc = opt_parse(&t, argc, argv, &first, &err);
	if (rc > 0)
		return EXIT_GOOD;
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL,
			     "\"%s\" is not asked for; see roimeter agent-status --help",
			     argv[first]);
	if (!rc)
		rc = tell(socket, format, config_file, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
