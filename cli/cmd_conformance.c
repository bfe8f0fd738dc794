/* roimeter conformance: measures a probe, and says whether the collector is to be believed. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/conformance_keep.h"
#include "cli/conformance_run.h"
#include "core/conform.h"
#include "lib/file.h"
#include "lib/num.h"
#include "lib/opt.h"
#include "run/hash.h"
#include "schema/codec.h"

struct session {
	struct conformance_run run;
	struct config config;
	struct conformance_keep keep;
	const char *db, *server, *output, *format;
	long wait_s;
	struct check checks[CONFORM_CHECKS];
	struct conformance result;
};

static int judge(struct session *s, struct err *err)
{
	const struct record_body *r = &s->run.rec.body;
	const char *collector = s->run.collector, *found = s->run.found;
	char hash[HASH_TEXT_BYTES];
	const struct conform_seen seen = { r, collector, true, found[0] ? found : NULL };
	conform_check(s->checks, &seen, &s->run.want);
	struct conformance *c = &s->result;
	conformance_clear(c);
	conform_judge(c, collector, s->checks, CONFORM_CHECKS);
	c->platform = r->platform;
	c->collector = collector;
	c->utc = r->utc;
	c->tool = r->measurement.tool;
	c->runtime = r->platform_info.runtime;
	const char *slash = strrchr(s->run.probe, '/');
	c->probe = slash ? slash + 1 : s->run.probe;
	if (hash_file(s->run.probe, hash, NULL) == 0)
		c->probe_hash = arena_printf(&s->run.arena, "%s", hash);
	c->platform_info = r->platform_info;
	return conformance_check(c, err);
}

/* ---- afterwards ---- */

static void print_text(const struct conformance *c)
{
	(void)printf("%s, collector %s: %s\n", c->platform, c->collector, c->verdict);
	for (size_t i = 0; i < c->checks.n; i++) {
		const struct check *k = &c->checks.items[i];
		(void)printf("  %-7s  %-18s", k->verdict, k->name);
		if (known(k->value))
			(void)printf("  %.9g", k->value);
		if (known(k->expected))
			(void)printf(" (must be %.9g, +- %.9g)", k->expected, k->tolerance);
		(void)printf("  %s\n", k->detail);
	}
	(void)printf("%.0f passed, %.0f failed, %.0f skipped%s%s\n", c->passed, c->failed,
		     c->skipped, c->why ? ": " : "", c->why ? c->why : "");
}

static int print(struct session *s, struct err *err)
{
	struct buf b = { 0 };
	json_t *json = conformance_to_json(&s->result);
	int rc = json ? json_text(&b, json) : -ENOMEM;
	if (!rc)
		buf_puts(&b, "\n");
	if (rc || b.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	else if (s->output)
		rc = file_write(s->output, b.data, b.len, err);
	if (!rc && strcmp(s->format, "json") == 0)
		(void)fwrite(b.data, 1, b.len, stdout);
	else if (!rc)
		print_text(&s->result);
	json_decref(json);
	buf_done(&b);
	return rc;
}

static int work(struct session *s, struct err *err)
{
	int rc = config_load(&s->config, s->run.config, err);
	if (!rc)
		rc = conformance_keep_open(&s->keep, s->db, s->server, s->wait_s, &s->config,
					   &s->run.arena, err);
	if (!rc)
		rc = conformance_run(&s->run, err);
	if (!rc)
		rc = judge(s, err);
	if (!rc)
		rc = conformance_keep(&s->keep, &s->result, err);
	if (!rc)
		rc = print(s, err);
	if (!rc)
		conformance_keep_tell(&s->keep,
				      strcmp(s->format, "json") == 0 ? stderr : stdout);
	conformance_keep_close(&s->keep);
	config_done(&s->config);
	return rc;
}

int cmd_conformance(int argc, char **argv)
{
	struct session s = { .run = { .collector = "none" }, .format = "text", .wait_s = -1 };
	const struct opt opts[] = {
		{ "collector", OPT_TEXT, &s.run.collector, "NAME",
		  "cupti, opencl, or none (default): the marks alone" },
		{ "db", OPT_TEXT, &s.db, "FILE", "database in place of the usual one" },
		{ "server", OPT_TEXT, &s.server, "URL",
		  "to this daemon, by the agent of this node, which must send to it" },
		{ "wait", OPT_COUNT, &s.wait_s, "S",
		  "seconds to wait for its delivery (default: 5)" },
		{ "config", OPT_TEXT, &s.run.config, "FILE",
		  "configuration in place of the usual files" },
		{ "probe", OPT_TEXT, &s.run.probe, "FILE",
		  "program in place of the collector's probe" },
		{ "probe-arg", OPT_EACH, &s.run.words, "WORD", "argument for the probe" },
		{ "output", OPT_TEXT, &s.output, "FILE", "write the result as JSON, too" },
		{ "format", OPT_TEXT, &s.format, "FORMAT", "text or json" },
	};
	const struct opt_table t = {
		.command = "roimeter conformance",
		.synopsis = "[OPTIONS]",
		.about = "Measures a program that does exactly known work: is what comes back "
			 "exact?\n"
			 "The result is stored. Exit code 0: pass, 1: fail, 4: pass-clean-only, as "
			 "without a collector.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
	};
	struct err err = { 0 };
	int first = 0, rc = opt_parse(&t, argc, argv, &first, &err), code = EXIT_GOOD;
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL, "\"%s\" is not asked for; see %s --help", argv[first],
			     t.command);
	if (!rc && strcmp(s.format, "text") != 0 && strcmp(s.format, "json") != 0)
		rc = err_set(&err, -EINVAL, "--format %s: expected text or json", s.format);
	if (!rc && s.run.words.n > 12)
		rc = err_set(&err, -EINVAL, "--probe-arg: at most 12 of them");
	if (!rc)
		rc = work(&s, &err);
	if (rc < 0)
		code = opt_fail(t.command, rc, &err);
	else if (rc == 0)
		code = s.result.failed > 0                     ? EXIT_BAD
		       : strcmp(s.result.verdict, "pass") == 0 ? EXIT_GOOD
							       : EXIT_NOTHING;
	conformance_run_done(&s.run);
	opt_done(&t);
	return code;
}
