/* roimeter conformance: measures a probe, and says whether the collector is to be believed. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/conformance_keep.h"
#include "cli/conformance_parts.h"
#include "core/conform.h"
#include "lib/file.h"
#include "lib/num.h"
#include "lib/opt.h"
#include "run/hash.h"
#include "schema/codec.h"

struct session {
	struct conformance_lab lab;
	struct config config;
	struct conformance_keep keep;
	const char *db, *server, *output, *format;
	long wait_s;
	struct opt_list parts;
	bool chosen[CONFORMANCE_PARTS];
	struct conform checks;
	struct conformance_measured first; /* says where this was measured */
	struct conformance result;
};

/* ---- the result ---- */

/* What a check tells can hold words of the program: those that hold the sentinel are not kept. */
static void keep_out(struct session *s)
{
	for (size_t i = 0; i < s->checks.n; i++)
		if (strstr(s->checks.items[i].detail, s->lab.sentinel))
			s->checks.items[i].detail =
				"(left out: the value of a variable of the caller is in it)";
}

static int describe(struct session *s, struct err *err)
{
	const struct record_body *r = &s->first.rec.body;
	struct conformance_lab *lab = &s->lab;
	char hash[HASH_TEXT_BYTES];
	struct conformance *c = &s->result;
	c->platform = r->platform;
	c->collector = lab->collector;
	c->utc = r->utc;
	c->tool = r->measurement.tool;
	c->runtime = r->platform_info.runtime;
	const char *slash = strrchr(lab->probe, '/');
	c->probe = slash ? slash + 1 : lab->probe;
	if (hash_file(lab->probe, hash, NULL) == 0)
		c->probe_hash = arena_printf(&lab->arena, "%s", hash);
	c->runs.items = lab->runs;
	c->runs.n = lab->n_runs;
	c->platform_info = r->platform_info;
	return conformance_check(c, err);
}

static int judge(struct session *s, struct err *err)
{
	int rc = conformance_search(&s->lab, err);
	if (rc)
		return rc;
	keep_out(s);
	conform_sentinel(&s->checks, true, s->lab.found[0] ? s->lab.found : NULL);
	conformance_clear(&s->result);
	conform_judge(&s->result, &s->checks, s->lab.collector);
	return s->checks.failed ? err_set(err, -ENOMEM, "out of memory") : describe(s, err);
}

/* ---- afterwards ---- */

static void print_check(const struct check *k)
{
	(void)printf("  %-7s  %-18s", k->verdict, k->name);
	if (known(k->value))
		(void)printf("  %.9g", k->value);
	if (known(k->expected) && known(k->tolerance))
		(void)printf(" (must be %.9g, +- %.9g)", k->expected, k->tolerance);
	else if (known(k->expected))
		(void)printf(" (at most %.9g)", k->expected);
	(void)printf("  %s\n", k->detail);
}

/* The checks of a part. All of the base; of a harder one what is not good. */
static void print_part(const struct conformance *c, const char *part)
{
	size_t n = 0, passed = 0, failed = 0, skipped = 0;
	const struct check *last = NULL, *left_out = NULL;
	bool base = strcmp(part, "split") == 0;
	for (size_t i = 0; i < c->checks.n; i++) {
		const struct check *k = &c->checks.items[i];
		if (strcmp(k->part, part) != 0)
			continue;
		n++;
		passed += strcmp(k->verdict, "pass") == 0;
		failed += strcmp(k->verdict, "fail") == 0;
		last = k;
		if (strcmp(k->verdict, "skipped") != 0)
			continue;
		skipped++;
		left_out = k;
	}
	if (n == 1 && strcmp(last->name, part) == 0) {
		(void)printf("%s: %s, %s\n", part, last->verdict, last->detail);
		return;
	}
	(void)printf("%s: %s, %zu of %zu checks passed\n", part,
		     failed   ? "fail"
		     : passed ? "pass"
			      : "skipped",
		     passed, n);
	for (size_t i = 0; i < c->checks.n; i++) {
		const struct check *k = &c->checks.items[i];
		bool failed_one = strcmp(k->verdict, "fail") == 0,
		     passed_one = strcmp(k->verdict, "pass") == 0;
		if (strcmp(k->part, part) == 0 && (failed_one || (base && passed_one)))
			print_check(k);
	}
	if (skipped)
		(void)printf("  skipped  %zu checks: %s\n", skipped, left_out->detail);
}

static void print_text(const struct conformance *c)
{
	(void)printf("%s, collector %s: %s\n", c->platform, c->collector, c->verdict);
	for (size_t i = 0; i < c->checks.n; i++) {
		bool before = false;
		for (size_t k = 0; k < i && !before; k++)
			before = strcmp(c->checks.items[k].part, c->checks.items[i].part) == 0;
		if (!before)
			print_part(c, c->checks.items[i].part);
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

static int measure_and_keep(struct session *s, struct err *err)
{
	int rc = conformance_open(&s->lab, err);
	if (!rc)
		rc = conformance_make_parts(&s->lab, s->chosen, &s->checks, &s->first, err);
	if (!rc)
		rc = judge(s, err);
	if (!rc)
		rc = conformance_interrupted(&s->lab, err);
	conformance_leave(&s->lab);
	if (!rc && s->chosen[CONFORMANCE_BASE])
		return conformance_keep(&s->keep, &s->result, err);
	if (!rc)
		(void)fprintf(stderr, "info  this is not stored: without the base part it admits "
				      "nothing\n");
	return rc;
}

static int work(struct session *s, struct err *err)
{
	s->checks.arena = &s->lab.arena;
	int rc = conformance_choose(s->chosen, &s->parts, err);
	if (!rc)
		rc = config_load(&s->config, s->lab.config, err);
	if (!rc && s->chosen[CONFORMANCE_BASE]) /* else there is nothing to keep */
		rc = conformance_keep_open(&s->keep, s->db, s->server, s->wait_s, &s->config,
					   &s->lab.arena, err);
	if (!rc)
		rc = measure_and_keep(s, err);
	if (!rc)
		rc = print(s, err);
	if (!rc)
		conformance_keep_tell(&s->keep, strcmp(s->format, "json") == 0 ? stderr : stdout);
	conformance_keep_close(&s->keep);
	config_done(&s->config);
	return rc;
}

static int check_call(struct session *s, int argc, char **argv, int first, struct err *err)
{
	if (first < argc)
		return err_set(err, -EINVAL,
			       "\"%s\" is not asked for; see roimeter conformance --help",
			       argv[first]);
	if (strcmp(s->format, "text") != 0 && strcmp(s->format, "json") != 0)
		return err_set(err, -EINVAL, "--format %s: expected text or json", s->format);
	if (s->lab.words.n > CONFORMANCE_WORDS)
		return err_set(err, -EINVAL, "--probe-arg: at most %d of them", CONFORMANCE_WORDS);
	return 0;
}

static int answer(const struct session *s, int rc, const struct err *err)
{
	if (rc == -EINTR || rc == -ENODATA) {
		(void)fprintf(stderr, "roimeter conformance: %s\n", err->text);
		return rc == -EINTR ? EXIT_BAD : EXIT_NOTHING;
	}
	if (rc)
		return opt_fail("roimeter conformance", rc, err);
	return s->result.failed > 0                     ? EXIT_BAD
	       : strcmp(s->result.verdict, "pass") == 0 ? EXIT_GOOD
							: EXIT_NOTHING;
}

int cmd_conformance(int argc, char **argv)
{
	struct session s = { .lab = { .collector = "none", .timeout_s = 300 },
			     .format = "text",
			     .wait_s = -1 };
	const struct opt opts[] = {
		{ "collector", OPT_TEXT, &s.lab.collector, "NAME",
		  "cupti, opencl, io, or none (default): the marks alone" },
		{ "part", OPT_LIST, &s.parts, "PART,...",
		  "base, hard, all (default), or some of split, processes, ..." },
		{ "db", OPT_TEXT, &s.db, "FILE", "database (default: the one in your data folder)" },
		{ "server", OPT_TEXT, &s.server, "URL",
		  "to this daemon, by the agent of this node, which must send to it" },
		{ "wait", OPT_COUNT, &s.wait_s, "S",
		  "seconds to wait for its delivery (default: 5)" },
		{ "config", OPT_TEXT, &s.lab.config, "FILE",
		  "configuration in place of the usual files" },
		{ "probe", OPT_TEXT, &s.lab.probe, "FILE",
		  "program in place of the collector's probe" },
		{ "probe-arg", OPT_EACH, &s.lab.words, "WORD", "argument for the probe" },
		{ "timeout", OPT_NUMBER, &s.lab.timeout_s, "S",
		  "seconds for one execution (default 300)" },
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
	record_init(&s.first.rec);
	if (!rc)
		rc = check_call(&s, argc, argv, first, &err);
	if (!rc)
		rc = work(&s, &err);
	if (rc <= 0)
		code = answer(&s, rc, &err);
	conformance_measured_done(&s.first);
	conformance_close(&s.lab);
	opt_done(&t);
	return code;
}
