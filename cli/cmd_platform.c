/* roimeter platform: what this machine is called, and why. */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/config.h"
#include "lib/opt.h"
#include "lib/num.h"
#include "node/platform.h"
#include "schema/codec.h"
#include "schema/walk.h"

static int print_json(const struct platform *p, struct err *err)
{
	struct record rec;
	struct buf b = { 0 };
	record_init(&rec);
	rec.body.platform_info = p->info;
	json_t *whole = record_to_json(&rec), *info = json_object_get(whole, "platform_info");
	json_t *out = info ? json_pack("{s:s,s:s,s:O}", "platform", p->id, "why", p->why,
				       "platform_info", info)
			   : NULL;
	int rc = out ? json_text(&b, out) : -ENOMEM;
	if (!rc)
		(void)printf("%s\n", b.data);
	json_decref(out);
	json_decref(whole);
	buf_done(&b);
	record_done(&rec);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

static void print_field(const struct field *f, const struct platform_info *info)
{
	static const char *const words[] = { "no", "yes" };
	char text[32], label[FIELD_LABEL_BYTES];
	if (field_is_null(f, info))
		return;
	(void)printf("  %-20s ", field_label(f, label));
	if (f->type == FIELD_TXT)
		(void)printf("%s\n", txt_at(f, info));
	else if (f->type == FIELD_TER)
		(void)printf("%s\n", words[ter_at(f, info) > 0]);
	else
		(void)printf("%s%s\n", num_si(text, num_at(f, info)),
			     strcmp(f->unit, "B") == 0 ? "B" : "");
}

static void print_text(const struct platform *p)
{
	(void)printf("%s\n  because %s\n", p->id, p->why);
	for (size_t i = 0; i < platform_info_block.count; i++)
		print_field(&platform_info_block.fields[i], &p->info);
}

static int tell(const char *format, const char *config_file, struct err *err)
{
	struct arena arena = { 0 };
	struct config config;
	struct platform p;
	const struct platform_options o = { .root = "", .nvml = PLATFORM_NVML };
	int rc = config_load(&config, config_file, err);
	if (!rc)
		rc = platform_probe(&p, &arena, &o, err);
	if (!rc && config.platform) {
		rc = platform_check_id(config.platform, err);
		p.id = config.platform;
		p.why = "the configuration says so ([platform] id)";
	}
	if (!rc && strcmp(format, "json") == 0)
		rc = print_json(&p, err);
	else if (!rc && strcmp(format, "text") == 0)
		print_text(&p);
	else if (!rc)
		rc = err_set(err, -EINVAL, "--format %s: expected text or json", format);
	config_done(&config);
	arena_free(&arena);
	return rc;
}

int cmd_platform(int argc, char **argv)
{
	const char *format = "text", *config_file = NULL;
	const struct opt opts[] = {
		{ "format", OPT_TEXT, &format, "FORMAT", "text or json" },
		{ "config", OPT_TEXT, &config_file, "FILE",
		  "configuration in place of the usual files" },
	};
	const struct opt_table t = {
		.command = "roimeter platform",
		.synopsis = "[OPTIONS]",
		.about = "Tells what this machine is called in records, "
			 "<vendor>-<product>.<runtime><version>, and why.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
	};
	struct err err = { 0 };
	int first = 0, rc = opt_parse(&t, argc, argv, &first, &err);
	if (rc > 0)
		return EXIT_GOOD;
	if (!rc && first < argc)
		rc = err_set(&err, -EINVAL, "\"%s\" is not asked for; see roimeter platform --help",
			     argv[first]);
	if (!rc)
		rc = tell(format, config_file, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
