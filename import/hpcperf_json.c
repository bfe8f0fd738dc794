/* The JSON files: the page's records, single run records, conformance, counts. Both kinds of
 * record have one shape with a few names that differ; each is looked for under all its names. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/hpcperf_impl.h"

#define PAGE_SCHEMA "hpcperf-published-records-1"
#define RUN_SCHEMA "hpcperf-timing-2"

static bool is_page(const json_t *json)
{
	return json_is_array(json_object_get(json, "records"));
}

static bool is_run(const json_t *json)
{
	return json_is_object(json_object_get(json, "roi")) && json_object_get(json, "app") &&
	       json_object_get(json, "case");
}

bool is_json_kind(const json_t *json)
{
	return is_page(json) || is_run(json) || is_conformance(json) || json_as_of(json);
}

/* ---- reading one object: the first thing that is wrong stays -------------------------------- */

struct reader {
	const char *file;
	struct draft *draft;
	struct err *err;
	int rc;
};

/* An object and where it is; json NULL where there is none. */
struct object {
	struct reader *r;
	const json_t *json;
	char path[96];
};

static void fault(struct object *o, const char *key, const char *what)
{
	if (o->r->rc)
		return;
	o->r->rc = err_set(o->r->err, -EINVAL, "%s: %s%s%s: %s", o->r->file, o->path,
			   o->path[0] ? "." : "", key, what);
}

/* NULL where it is absent or null. */
static const json_t *value(struct object *o, const char *key)
{
	const json_t *v = json_object_get(o->json, key);
	return json_is_null(v) ? NULL : v;
}

static struct object inside(struct object *o, const char *key)
{
	struct object in = { .r = o->r, .json = value(o, key) };
	(void)snprintf(in.path, sizeof in.path, "%.60s%s%.30s", o->path, o->path[0] ? "." : "", key);
	if (in.json && !json_is_object(in.json)) {
		fault(o, key, "expected an object");
		in.json = NULL;
	}
	return in;
}

static double number(struct object *o, const char *key)
{
	const json_t *v = value(o, key);
	if (!v)
		return NAN;
	/* Their tables hand some counts on as text ("gpus": "2"). */
	const char *text = json_string_value(v);
	if (text && *text && strspn(text, "0123456789") == strlen(text))
		return num15(strtod(text, NULL));
	if (!json_is_number(v)) {
		fault(o, key, "expected a number");
		return NAN;
	}
	return num15(json_number_value(v));
}

/* A time, a count, a share: not below 0. */
static double amount(struct object *o, const char *key)
{
	double x = number(o, key);
	if (known(x) && x < 0) {
		fault(o, key, "is below 0");
		return NAN;
	}
	return x;
}

static const char *text(struct object *o, const char *key)
{
	const json_t *v = value(o, key);
	if (!v)
		return NULL;
	if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v)) {
		fault(o, key, "expected a text");
		return NULL;
	}
	char *copy = draft_text(o->r->draft, json_string_value(v));
	if (!copy && !o->r->rc)
		o->r->rc = err_set(o->r->err, -ENOMEM, "out of memory");
	return copy;
}

static signed char yes_no(struct object *o, const char *key)
{
	const json_t *v = value(o, key);
	if (!v)
		return UNKNOWN;
	if (!json_is_boolean(v)) {
		fault(o, key, "expected true or false");
		return UNKNOWN;
	}
	return json_is_true(v) ? YES : NO;
}

static struct nums numbers(struct object *o, const char *key)
{
	struct nums list = { 0 };
	const json_t *v = value(o, key);
	if (!v)
		return list;
	if (!json_is_array(v)) {
		fault(o, key, "expected a list of numbers");
		return list;
	}
	list.items = arena_array(&o->r->draft->rec.arena, json_array_size(v) + 1, sizeof *list.items);
	for (size_t i = 0; list.items && i < json_array_size(v); i++) {
		const json_t *item = json_array_get(v, i);
		if (!json_is_number(item) || json_number_value(item) < 0) {
			char at[64];
			(void)snprintf(at, sizeof at, "%.40s[%zu]", key, i);
			fault(o, at, "expected a number, 0 or more");
			return (struct nums){ 0 };
		}
		list.items[list.n++] = num15(json_number_value(item));
	}
	if (!list.items && !o->r->rc)
		o->r->rc = err_set(o->r->err, -ENOMEM, "out of memory");
	return list;
}

/* Texts of an array, or the one text that stands in its place. */
static struct txts texts(struct object *o, const char *key)
{
	struct txts list = { 0 };
	const json_t *v = value(o, key);
	if (!v)
		return list;
	size_t n = json_is_array(v) ? json_array_size(v) : 1;
	list.items = arena_array(&o->r->draft->rec.arena, n + 1, sizeof *list.items);
	for (size_t i = 0; list.items && i < n; i++) {
		const json_t *item = json_is_array(v) ? json_array_get(v, i) : v;
		if (!json_is_string(item)) {
			fault(o, key, "expected a list of texts");
			return (struct txts){ 0 };
		}
		list.items[list.n++] = draft_text(o->r->draft, json_string_value(item));
	}
	return list;
}

/* {"A": "1", "B": 2} as "A=1", "B=2". */
static struct txts pairs(struct object *o, const char *key)
{
	struct txts list = { 0 };
	struct object in = inside(o, key);
	if (!in.json)
		return list;
	struct arena *a = &o->r->draft->rec.arena;
	list.items = arena_array(a, json_object_size(in.json) + 1, sizeof *list.items);
	const char *name;
	json_t *v;
	if (!list.items)
		return list;
	/* jansson keeps the file's order. The cast takes off a const that iterating does not need. */
	json_object_foreach((json_t *)in.json, name, v) {
		char *shown = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
		const char *its = json_is_string(v) ? json_string_value(v) : shown;
		list.items[list.n++] = arena_printf(a, "%s=%s", name, its ? its : "");
		free(shown);
	}
	return list;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

#define CATEGORIES(X) \
	X(compute) X(copy_h2d) X(copy_d2h) X(copy_d2d) X(copy_other) X(fill) X(collective) X(other)

static void take_device(struct object *o, struct device *d)
{
	d->busy_s = amount(o, "busy_s");
	d->busy_frac_of_roi = amount(o, "busy_frac_of_roi");
	d->busy_frac_of_profiled_roi = amount(o, "busy_frac_of_profiled_roi");
	d->host_gap_s = number(o, "host_gap_s");
	d->host_gap_frac_of_roi = number(o, "host_gap_frac_of_roi");
	d->op_time_sum_s = amount(o, "op_time_sum_s");
	d->overlap_s = amount(o, "overlap_s");
	d->processes = amount(o, "processes");
#define TAKE(c)                                 \
	d->c##_s = amount(o, #c "_s");          \
	d->c##_ops = amount(o, #c "_ops");      \
	d->c##_bytes = amount(o, #c "_bytes");
	CATEGORIES(TAKE)
#undef TAKE
}

static void take_whole(struct object *o, struct whole_process *w)
{
	w->busy_s = amount(o, "busy_s");
	w->op_time_sum_s = amount(o, "op_time_sum_s");
#define TAKE(c)                                 \
	w->c##_s = amount(o, #c "_s");          \
	w->c##_ops = amount(o, #c "_ops");      \
	w->c##_bytes = amount(o, #c "_bytes");
	CATEGORIES(TAKE)
#undef TAKE
}

static double either(double a, double b)
{
	return known(a) ? a : b;
}

static void take_roi(struct object *o, struct record_body *b)
{
	struct roi *r = &b->roi;
	r->wall_s = amount(o, "wall_s");
	r->runs_s = numbers(o, "runs_s");
	r->warmup_runs_s = numbers(o, "warmup_runs_s");
	r->min_s = either(amount(o, "wall_s_min"), amount(o, "min_s"));
	r->max_s = either(amount(o, "wall_s_max"), amount(o, "max_s"));
	r->stddev_s = either(amount(o, "wall_s_stddev"), amount(o, "stddev_s"));
	r->entries = amount(o, "entries");
	r->excluded_s = amount(o, "excluded_s");
	r->processes = amount(o, "processes");
	r->imbalance_s = amount(o, "imbalance_s");
	r->profiled_wall_s = amount(o, "profiled_wall_s");
	r->profiler_inflation = amount(o, "profiler_inflation");
	r->steps = amount(o, "steps");
	r->setup_s = amount(o, "setup_s");
	b->measurement.device_sync = yes_no(o, "device_sync");
	b->measurement.launcher_region = text(o, "reduction");
	const char *source = text(o, "source");
	bool timer = source && strcmp(source, "app_timer") == 0;
	if (source && !timer && strcmp(source, "markers") != 0)
		fault(o, "source", "expected markers or app_timer");
	r->source = timer ? "timer" : "markers";
	r->timer = timer ? b->app : NULL;
	b->measurement.region = timer ? arena_printf(&o->r->draft->rec.arena, "timer:%s", b->app) : "markers";
	if (timer && known(r->steps) && r->steps > 0 && known(r->wall_s))
		r->step_s = num15(r->wall_s / r->steps);
}

/* Parts of the application's own timer. */
static void take_parts(struct object *o, struct record *rec)
{
	struct object parts = inside(o, "parts");
	if (!parts.json)
		return;
	struct phase *items = arena_array(&rec->arena, json_object_size(parts.json) + 1, sizeof *items);
	const char *name;
	json_t *v;
	if (!items)
		return;
	json_object_foreach((json_t *)parts.json, name, v) {
		struct phase *p = &items[rec->body.phases.n];
		*p = (struct phase){ .name = arena_strdup(&rec->arena, name), .count = NAN,
				     .min_s = NAN, .max_s = NAN, .share = NAN,
				     .total_s = amount(&parts, name) };
		if (known(p->total_s))
			rec->body.phases.n++;
	}
	rec->body.phases.items = rec->body.phases.n ? items : NULL;
}

static void take_ops(struct object *o, struct record *rec)
{
	const json_t *list = value(o, "ops");
	if (!list)
		return;
	if (!json_is_array(list)) {
		fault(o, "ops", "expected a list");
		return;
	}
	size_t n = json_array_size(list);
	rec->body.ops.items = arena_array(&rec->arena, n + 1, sizeof(struct op));
	for (size_t i = 0; rec->body.ops.items && i < n; i++) {
		struct object in = { .r = o->r, .json = json_array_get(list, i) };
		(void)snprintf(in.path, sizeof in.path, "%.60s.ops[%zu]", o->path, i);
		rec->body.ops.items[rec->body.ops.n++] =
			(struct op){ .name = text(&in, "name"), .category = text(&in, "category"),
				     .count = amount(&in, "count"), .total_s = amount(&in, "total_s"),
				     .avg_s = amount(&in, "avg_s"), .min_s = amount(&in, "min_s"),
				     .max_s = amount(&in, "max_s"), .share = amount(&in, "share") };
		if (!json_is_object(in.json))
			fault(o, "ops", "expected a list of objects");
	}
	double total = amount(o, "ops_total");
	if (known(total) && total > (double)n)
		(void)record_caveat(rec, "operations_cut",
				    "The source has %.0f kinds of device operations; %zu of them came along.",
				    total, n);
}

static void take_runtime(struct object *o, struct runtime_api *a)
{
	struct object roi = inside(o, "roi"), whole = inside(o, "whole");
	a->name = text(o, "name");
	a->calls = amount(&roi, "calls");
	a->time_s = amount(&roi, "time_s");
	a->sync_calls = amount(&roi, "sync_calls");
	a->sync_s = amount(&roi, "sync_s");
	a->whole_calls = amount(&whole, "calls");
	a->whole_time_s = amount(&whole, "time_s");
}

static void take_context(struct object *o, struct context *x)
{
	x->process_wall_s = amount(o, "process_wall_s");
	x->pre_roi_s = amount(o, "pre_roi_s");
	x->post_roi_s = amount(o, "post_roi_s");
	x->outside_region_s = amount(o, "outside_region_s");
	struct object whole = inside(o, value(o, "whole") ? "whole" : "whole_process");
	take_whole(&whole, &x->whole_process);
}

static void take_metrics(struct object *o, struct record_body *b)
{
	struct object fom = inside(o, "fom"), own = inside(o, "app_timer");
	b->fom.name = text(&fom, "name");
	b->fom.value = number(&fom, "value");
	b->fom.unit = text(&fom, "unit");
	b->fom.better = text(&fom, "better");
	b->fom.pattern = text(&fom, "regex");
	b->fom.status = text(&fom, "status");
	b->own_timer.value_s = amount(&own, "value_s");
	b->own_timer.roi_diff_frac = number(&own, "roi_diff_frac");
	b->own_timer.pattern = text(&own, "regex");
	b->own_timer.status = own.json ? text(&own, "status") : "none";
}

static void take_measurement(struct object *o, struct draft *d)
{
	struct measurement *m = &d->rec.body.measurement;
	struct object protocol = inside(o, "protocol"), collector = inside(o, "collector");
	m->warmups = amount(&protocol, "warmup_runs");
	m->cleans_asked = amount(&protocol, "clean_runs");
	m->profiled = amount(&protocol, "profiled_runs");
	m->timeout_s = amount(o, "timeout_s");
	m->excludes = text(o, "roi_excludes");
	m->verify = text(o, "verify_vs_roi");
	if (yes_no(o, "skip_verify") == YES)
		m->verify = "skipped";
	m->collector = text(&collector, "name");
	m->profile_reason = text(o, "profile_skipped");
	d->rec.body.inputs.devices = amount(o, "gpus");

	const json_t *list = value(&collector, "capabilities");
	struct buf b = { .max = 4096 };
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_printf(&b, " %s ", json_string_value(json_array_get(list, i)));
	if (b.len && !b.failed)
		d->capabilities = draft_text(d, b.data);
	buf_done(&b);
}

static void take_inputs(struct object *o, struct inputs *in)
{
	const json_t *processes = value(o, "processes");
	in->argv = texts(o, value(o, "argv") ? "argv" : "declared_argv");
	in->env = pairs(o, "declared_env");
	in->params = pairs(o, "params");
	in->exe_hash = text(o, "exe_sha256");
	in->ranks = json_is_array(processes) ? (double)json_array_size(processes) : amount(o, "processes");
}

static void take_platform(struct object *o, struct platform_info *p)
{
	struct object device = inside(o, "device"), host = inside(o, "host");
	struct object conformance = inside(o, "conformance");
	p->product = text(&device, "product");
	p->driver = text(&device, "driver_version");
	p->device_count = amount(&device, "count_visible");
	double mib = amount(&device, "memory_total_mib");
	p->device_memory_bytes = num15(mib * 1048576);
	p->cpu_model = text(&host, "cpu_model");
	p->conformance = text(&conformance, "status");
}

static void take_provenance(struct object *o, struct record_body *b)
{
	struct object from = inside(o, "provenance");
	b->provenance.source_commit = text(o, "source_commit");
	if (!b->provenance.source_commit)
		b->provenance.source_commit = text(&from, "git_commit");
	b->provenance.git_dirty = yes_no(&from, "git_dirty");
}

/* ---- caveats, status, identity ------------------------------------------------------------------ */

static void take_caveats(struct object *o, struct draft *d)
{
	const json_t *list = value(o, "caveats");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *sentence = json_is_string(item) ? json_string_value(item)
							    : json_string_value(json_object_get(item, "text"));
		if (sentence)
			(void)record_caveat(&d->rec, "source_caveat", "The source says: %s", sentence);
		else
			fault(o, "caveats", "expected a list of texts");
	}
	double n = amount(o, "caveat_count");
	if (known(n) && n > 0)
		(void)record_caveat(&d->rec, "source_caveats_lost",
				    "The source has %.0f caveats for this run, whose text did not come along.", n);
	d->lost = text(o, "incomplete");
	if (d->lost)
		(void)record_caveat(&d->rec, "imported_incomplete",
				    "Not all of the source's record came along: %s.", d->lost);
}

/* Answers NULL where the case was not run at all. */
static const char *status_of(struct object *o)
{
	static const char *const names[][2] = {
		{ "ok", "ok" }, { "clean_failed", "clean_failed" }, { "clean_timeout", "clean_timeout" },
		{ "roi_missing", "roi_missing" }, { "app_timer_missing", "timer_missing" },
		{ "prof_failed", "profiled_failed" }, { "export_failed", "profiled_failed" },
		{ "roi_missing_in_trace", "roi_missing_in_profile" }, { "incomplete", "interrupted" },
		{ "identity_incomplete", NULL }, { "identity_failed", NULL },
		{ "build_not_materialized", NULL },
	};
	const char *theirs = json_string_value(value(o, "status"));
	for (size_t i = 0; theirs && i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i][0], theirs) == 0)
			return names[i][1];
	fault(o, "status", "expected one of the statuses of " RUN_SCHEMA " (ok, clean_failed, ...)");
	return NULL;
}

static void take_identity(struct object *o, struct ctx *c, const struct import_file *file,
			  struct draft *d)
{
	struct record_body *b = &d->rec.body;
	b->app = text(o, "app");
	b->case_ = text(o, "case");
	b->platform = text(o, "platform");
	if (!b->platform && c->options->platform)
		b->platform = draft_text(d, c->options->platform);
	const char *utc = text(o, "utc");
	b->utc = utc ? import_utc(&d->rec.arena, utc) : NULL;
	if (!b->app || !b->case_)
		fault(o, b->app ? "case" : "app", "is missing");
	if (!b->platform)
		fault(o, "platform", "is missing; say which with --platform ID");
	if (!b->utc)
		fault(o, "utc", "expected UTC, as 2026-09-26T19:11:40Z");
	const char *run = text(o, "run_id");
	if (run)
		b->provenance.imported_from = arena_printf(&d->rec.arena, "hpcperf %s, run %s", file->name, run);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* A case that was not run at all. */
static int declare_only(struct ctx *c, struct object *top, int level)
{
	const char *app = json_string_value(value(top, "app"));
	const char *case_ = json_string_value(value(top, "case")), *suite = import_suite(c, level);
	if (!suite)
		return import_nomem(c);
	int rc = app && case_ ? import_declare(c, suite, app, case_) : 0;
	return rc ? err_wrap(c->err, rc, "%s: %s", top->r->file, top->path) : 0;
}

static int read_run(struct ctx *c, const struct import_file *file, const json_t *json,
		    const char *path)
{
	struct reader r = { .file = file->path, .err = c->err };
	struct object top = { .r = &r, .json = json };
	(void)snprintf(top.path, sizeof top.path, "%s", path);
	if (!json_is_object(json))
		return err_set(c->err, -EINVAL, "%s: %s: expected an object", file->path, path);
	double level = number(&top, "level");
	if (!(level == 1 || level == 2 || level == 3))
		fault(&top, "level", "expected 1, 2 or 3");
	const char *status = status_of(&top);
	if (r.rc)
		return r.rc;
	if (!status)
		return declare_only(c, &top, (int)level);
	struct draft *d = draft_new(c, ORIGIN_RECORD, (int)level, file);
	if (!d)
		return -ENOMEM;
	r.draft = d;
	struct record_body *b = &d->rec.body;
	take_identity(&top, c, file, d);
	b->status = status;
	if (strcmp(status, "ok") != 0)
		b->status_text = arena_printf(&d->rec.arena, "the source has the status %s",
					      json_string_value(value(&top, "status")));
	struct object roi = inside(&top, "roi"), device = inside(&top, "device");
	struct object runtime = inside(&top, "runtime_api"), context = inside(&top, "context");
	struct object measurement = inside(&top, "measurement"), inputs = inside(&top, "inputs");
	struct object platform = inside(&top, "platform_info"), launcher = inside(&top, "launcher");
	take_roi(&roi, b);
	take_parts(&roi, &d->rec);
	take_device(&device, &b->device);
	take_runtime(&runtime, &b->runtime_api);
	take_context(&context, &b->context);
	take_measurement(&measurement, d);
	take_inputs(&inputs, &b->inputs);
	take_platform(&platform, &b->platform_info);
	take_provenance(&top, b);
	take_metrics(&top, b);
	take_ops(&top, &d->rec);
	b->ops_scope = b->ops.items ? text(&top, "ops_scope") : NULL;
	if (b->ops.items && !b->ops_scope)
		b->ops_scope = "roi";
	b->launcher.audit_ok = yes_no(value(&top, "audit_ok") ? &top : &launcher, "audit_ok");
	b->launcher.audit = text(&launcher, "audit");
	take_caveats(&top, d);
	if (!r.rc && strcmp(status, "ok") == 0 && !known(b->roi.wall_s))
		fault(&roi, "wall_s", "is missing, although the status is ok");
	if (r.rc)
		return r.rc;
	int rc = import_declare(c, b->suite, b->app, b->case_);
	return rc ? err_wrap(c->err, rc, "%s: %s", file->path, path) : 0;
}

int read_json(struct ctx *c, const struct import_file *file)
{
	const json_t *json = file->json;
	if (is_page(json)) {
		const json_t *list = json_object_get(json, "records");
		const char *schema = json_string_value(json_object_get(json, "schema"));
		if (schema && strcmp(schema, PAGE_SCHEMA) != 0)
			return err_set(c->err, -EINVAL, "%s: schema: expected " PAGE_SCHEMA ", not %.60s",
				       file->path, schema);
		for (size_t i = 0; i < json_array_size(list); i++) {
			char path[40];
			(void)snprintf(path, sizeof path, "records[%zu]", i);
			int rc = read_run(c, file, json_array_get(list, i), path);
			if (rc)
				return rc;
		}
		return 0;
	}
	if (is_run(json)) {
		const char *schema = json_string_value(json_object_get(json, "schema"));
		if (schema && strcmp(schema, RUN_SCHEMA) != 0)
			return err_set(c->err, -EINVAL, "%s: schema: expected " RUN_SCHEMA ", not %.60s",
				       file->path, schema);
		return read_run(c, file, json, "");
	}
	return read_platforms(c, file);
}
