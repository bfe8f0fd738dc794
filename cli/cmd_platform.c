/* roimeter platform: what this machine is called, and why. */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/platform_verdicts.h"
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
static int describe(struct platform_info *info, const struct devices *d, struct arena *a)
{
	size_t n = 0;
	if (!info->vendor || strcmp(info->vendor, "cpu") != 0)
		return 0;
	struct accelerator *list = arena_array(a, d->n + 1, sizeof *list);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++) {
		const struct opencl_info *one = &d->of[i];
		struct accelerator *to = &list[n];
		if (!one->type || strcmp(one->type, "cpu") == 0)
			continue;
		block_clear(&accelerator_block, to);
		to->name = one->name;
		to->units = one->compute_units;
		to->memory_bytes = one->memory_bytes;
		to->clock_limit_hz = one->clock_hz;
		to->source = "opencl";
		if (n++ == 0) {
			info->device_memory_bytes = one->memory_bytes;
			info->driver = one->driver;
		}
	}
	if (n > 0) {
		info->device_count = (double)n;
		info->devices.items = list;
		info->devices.n = n;
	}
	return 0;
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

static int print_json(const struct platform *p, const struct devices *d, json_t *verdicts,
		      struct err *err)
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
	int rc =
		out && (!d->asked || (list && !json_object_set(out, "opencl", list))) ? 0 : -ENOMEM;
	if (!rc)
		rc = json_object_set_new(out, "conformance",
					 verdicts ? json_incref(verdicts) : json_null())
			     ? -ENOMEM
			     : json_text(&b, out);
	if (!rc)
		(void)printf("%s\n", b.data);
	json_decref(list);
	json_decref(out);
	json_decref(whole);
	buf_done(&b);
	record_done(&rec);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

/* "32 MiB" of a size, "64" of a count, "1.98 GHz" of a clock. */
static const char *quantity(char to[48], double x, const char *unit)
{
	static const char prefixes[] = " KMGTP";
	char digits[32];
	size_t power = 0;
	if (strcmp(unit, "B") == 0) {
		for (; x >= 1024 && prefixes[power + 1]; power++)
			x /= 1024;
		(void)snprintf(to, 48, power ? "%.4g %ciB" : "%.4g B", x, prefixes[power]);
	} else if (*unit && strcmp(unit, "1") != 0) {
		bool kilo = strcmp(unit, "kHz") == 0;
		x *= kilo ? 1e3 : 1;
		(void)snprintf(to, 48, "%s%s%s", num_si(digits, x), fabs(x) < 999.5 ? " " : "",
			       kilo ? "Hz" : unit);
	} else {
		(void)snprintf(to, 48, "%.15g", x);
	}
	return to;
}

static void print_field(const struct field *f, const struct platform_info *info)
{
	static const char *const words[] = { "no", "yes" };
	char number[48], label[FIELD_LABEL_BYTES];
	if (field_is_null(f, info) || f->type == FIELD_LIST)
		return;
	(void)printf("  %-20s ", field_label(f, label));
	if (f->type == FIELD_TXT) {
		(void)printf("%s", txt_at(f, info));
	} else if (f->type == FIELD_TER) {
		(void)printf("%s", words[ter_at(f, info) > 0]);
	} else if (f->type == FIELD_NUMS) {
		const struct nums *list = field_at(f, info);
		for (size_t i = 0; i < list->n; i++)
			(void)printf("%s%s", i ? ", " : "",
				     known(list->items[i])
					     ? quantity(number, list->items[i], f->unit)
					     : "-");
	} else {
		(void)printf("%s", quantity(number, num_at(f, info), f->unit));
	}
	(void)printf("\n");
}

static void say(double x, const char *before, const char *unit, const char *after)
{
	char number[48];
	if (known(x))
		(void)printf(", %s%s%s", before, quantity(number, x, unit), after);
}

static void print_accelerator(size_t i, const struct accelerator *d)
{
	(void)printf("device %zu: %s", i, d->name ? d->name : "unknown");
	if (d->place)
		(void)printf(" at %s", d->place);
	if (d->architecture)
		(void)printf(", %s", d->architecture);
	say(d->units, "", "1", " units");
	say(d->memory_bytes, "", "B", "");
	say(d->clock_limit_hz, "clock up to ", "Hz", "");
	say(d->memory_clock_limit_hz, "memory clock up to ", "Hz", "");
	say(d->power_limit_w, "power up to ", "W", "");
	say(d->numa_node, "near memory node ", "", "");
	if (d->ecc != UNKNOWN)
		(void)printf(", ECC %s", d->ecc == YES ? "on" : "off");
	if (d->persistence != UNKNOWN)
		(void)printf(", %sersistent", d->persistence == YES ? "p" : "not p");
	if (d->partition)
		(void)printf(", partition %s", d->partition);
	(void)printf(" [%s]\n", d->source ? d->source : "unknown");
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

static void print_text(const struct platform *p, const struct devices *d, const json_t *verdicts)
{
	(void)printf("%s\n  because %s\n", p->id, p->why);
	for (size_t i = 0; i < platform_info_block.count; i++)
		print_field(&platform_info_block.fields[i], &p->info);
	for (size_t i = 0; i < p->info.devices.n; i++)
		print_accelerator(i, &p->info.devices.items[i]);
	print_devices(d);
	platform_verdicts_print(verdicts);
}

struct request {
	const char *format, *config, *db;
	bool opencl;
};

static int print(const struct request *r, const struct platform *p, const struct devices *d,
		 const char *db, struct err *err)
{
	json_t *verdicts = NULL;
	bool json = strcmp(r->format, "json") == 0;
	if (!json && strcmp(r->format, "text") != 0)
		return err_set(err, -EINVAL, "--format %s: expected text or json", r->format);
	int rc = platform_verdicts(&verdicts, p->id, db, r->db != NULL, err);
	if (!rc && json)
		rc = print_json(p, d, verdicts, err);
	else if (!rc)
		print_text(p, d, verdicts);
	json_decref(verdicts);
	return rc;
}

static int tell(const struct request *r, struct err *err)
{
	struct devices devices = { .asked = r->opencl };
	struct arena arena = { 0 };
	struct config config;
	struct platform p = { .id = NULL };
	const struct platform_options o = { .root = "", .nvml = PLATFORM_NVML };
	int rc = config_load(&config, r->config, err);
	if (!rc)
		rc = platform_probe(&p, &arena, &o, err);
	if (!rc && r->opencl &&
	    opencl_ask(OPENCL_LOADER, &arena, &devices.of, &devices.n) == -ENOMEM)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc && describe(&p.info, &devices, &arena))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc && config.platform) {
		rc = platform_check_id(config.platform, err);
		p.id = config.platform;
		p.why = "the configuration says so ([platform] id)";
	}
	if (!rc)
		rc = print(r, &p, &devices, r->db ? r->db : config.db, err);
	config_done(&config);
	arena_free(&arena);
	return rc;
}

int cmd_platform(int argc, char **argv)
{
	struct request r = { .format = "text" };
	const struct opt opts[] = {
		{ "format", OPT_TEXT, &r.format, "FORMAT", "text or json" },
		{ "config", OPT_TEXT, &r.config, "FILE",
		  "configuration in place of the usual files" },
		{ "db", OPT_TEXT, &r.db, "FILE",
		  "database with conformance results (default: the one in your data folder)" },
		{ "opencl", OPT_FLAG, &r.opencl, NULL,
		  "OpenCL devices, too: starts their drivers. They do not change the name" },
	};
	const struct opt_table t = {
		.command = "roimeter platform",
		.synopsis = "[OPTIONS]",
		.about = "Tells what this machine is called in records, "
			 "<vendor>-<product>.<runtime><version>, and why;\n"
			 "and how its collectors were tested, where there is a database.",
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
		rc = tell(&r, &err);
	return rc ? opt_fail(t.command, rc, &err) : EXIT_GOOD;
}
