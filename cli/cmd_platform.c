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
#include "node/opencl.h"
#include "node/platform.h"
#include "schema/codec.h"
#include "schema/walk.h"

struct devices {
	const struct opencl_info *of;
	size_t n;
	bool asked;
};

/* Devices of OpenCL do not name a machine: the same one may be there by another way, too. But where
 * no other accelerator was found they say what there is besides the processor. */
static void describe(struct platform_info *info, const struct devices *d)
{
	double count = 0;
	if (!info->vendor || strcmp(info->vendor, "cpu") != 0)
		return;
	for (size_t i = 0; i < d->n; i++) {
		const struct opencl_info *one = &d->of[i];
		if (!one->type || strcmp(one->type, "cpu") == 0)
			continue;
		if (count++ > 0)
			continue;
		info->device_memory_bytes = one->memory_bytes;
		info->driver = one->driver;
	}
	if (count > 0)
		info->device_count = count;
}

static json_t *number_or_null(double x)
{
	return known(x) ? json_real(x) : json_null();
}

static json_t *devices_json(const struct devices *d)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < d->n; i++) {
		const struct opencl_info *o = &d->of[i];
		json_t *one = json_pack("{s:s?,s:s?,s:s?,s:s?,s:s?,s:s?,s:o,s:o,s:o}", "platform",
					o->platform, "name", o->name, "vendor", o->vendor,
					"version", o->version, "driver", o->driver, "type", o->type,
					"compute_units", number_or_null(o->compute_units),
					"memory_bytes", number_or_null(o->memory_bytes), "clock_hz",
					number_or_null(o->clock_hz));
		if (!one || json_array_append_new(list, one)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static int print_json(const struct platform *p, const struct devices *d, struct err *err)
{
	struct record rec;
	struct buf b = { 0 };
	record_init(&rec);
	rec.body.platform_info = p->info;
	json_t *whole = record_to_json(&rec), *info = json_object_get(whole, "platform_info");
	json_t *out = info ? json_pack("{s:s,s:s,s:O}", "platform", p->id, "why", p->why,
				       "platform_info", info)
			   : NULL;
	json_t *list = out && d->asked ? devices_json(d) : NULL;
	int rc = out && (!d->asked || (list && !json_object_set(out, "opencl", list)))
			 ? json_text(&b, out)
			 : -ENOMEM;
	if (!rc)
		(void)printf("%s\n", b.data);
	json_decref(list);
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

static const char *text(const char *or_null)
{
	return or_null ? or_null : "unknown";
}

static void print_devices(const struct devices *d)
{
	char number[32];
	if (d->asked && d->n == 0)
		(void)printf("OpenCL: no device (or no %s, or no driver)\n", OPENCL_LOADER);
	for (size_t i = 0; i < d->n; i++) {
		const struct opencl_info *o = &d->of[i];
		(void)printf("OpenCL: %s, %s, by %s of %s, driver %s", text(o->name), text(o->type),
			     text(o->platform), text(o->vendor), text(o->driver));
		if (known(o->compute_units))
			(void)printf(", %.0f compute units", o->compute_units);
		if (known(o->memory_bytes))
			(void)printf(", %sB", num_si(number, o->memory_bytes));
		if (known(o->clock_hz))
			(void)printf(", %sHz", num_si(number, o->clock_hz));
		(void)printf(", %s\n", text(o->version));
	}
}

static void print_text(const struct platform *p, const struct devices *d)
{
	(void)printf("%s\n  because %s\n", p->id, p->why);
	for (size_t i = 0; i < platform_info_block.count; i++)
		print_field(&platform_info_block.fields[i], &p->info);
	print_devices(d);
}

static int tell(const char *format, const char *config_file, bool opencl, struct err *err)
{
	struct devices devices = { .asked = opencl };
	struct arena arena = { 0 };
	struct config config;
	struct platform p;
	const struct platform_options o = { .root = "", .nvml = PLATFORM_NVML };
	int rc = config_load(&config, config_file, err);
	if (!rc)
		rc = platform_probe(&p, &arena, &o, err);
	if (!rc && opencl && opencl_ask(OPENCL_LOADER, &arena, &devices.of, &devices.n) == -ENOMEM)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		describe(&p.info, &devices);
	if (!rc && config.platform) {
		rc = platform_check_id(config.platform, err);
		p.id = config.platform;
		p.why = "the configuration says so ([platform] id)";
	}
	if (!rc && strcmp(format, "json") == 0)
		rc = print_json(&p, &devices, err);
	else if (!rc && strcmp(format, "text") == 0)
		print_text(&p, &devices);
	else if (!rc)
		rc = err_set(err, -EINVAL, "--format %s: expected text or json", format);
	config_done(&config);
	arena_free(&arena);
	return rc;
}

int cmd_platform(int argc, char **argv)
{
	const char *format = "text", *config_file = NULL;
	bool opencl = false;
	const struct opt opts[] = {
		{ "format", OPT_TEXT, &format, "FORMAT", "text or json" },
		{ "config", OPT_TEXT, &config_file, "FILE",
		  "configuration in place of the usual files" },
		{ "opencl", OPT_FLAG, &opencl, NULL,
		  "OpenCL devices, too: starts their drivers. They do not change the name" },
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
		rc = tell(format, config_file, opencl, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
