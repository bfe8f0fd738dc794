/* The JSON files: the page's records, single run records, conformance, counts. Both kinds of
 * record have one shape with a few names that differ; each is looked for under all its names. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/hpcperf_impl.h"
#include "import/object.h"

#define PAGE_SCHEMA "hpcperf-published-records-1"
#define RUN_SCHEMA "hpcperf-timing-2"

static bool is_page(const json_t *json)
{
	return json_is_array(json_object_get(json, "records"));
}

static bool is_run(const json_t *json)
{
	const json_t *roi = json_object_get(json, "roi");
	return (json_is_object(roi) || json_is_null(roi)) && json_object_get(json, "app") &&
	       json_object_get(json, "case");
}

bool is_json_kind(const json_t *json)
{
	return is_page(json) || is_run(json) || is_conformance(json) || json_as_of(json);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

#define CATEGORIES(X) \
	X(compute) X(copy_h2d) X(copy_d2h) X(copy_d2d) X(copy_other) X(fill) X(collective) X(other)

static void take_device(struct object *o, struct device *d)
{
	d->busy_s = object_amount(o, "busy_s");
	d->busy_frac_of_roi = object_amount(o, "busy_frac_of_roi");
	d->busy_frac_of_profiled_roi = object_amount(o, "busy_frac_of_profiled_roi");
	d->host_gap_s = object_number(o, "host_gap_s");
	d->host_gap_frac_of_roi = object_number(o, "host_gap_frac_of_roi");
	d->op_time_sum_s = object_amount(o, "op_time_sum_s");
	d->overlap_s = object_amount(o, "overlap_s");
	d->processes = object_amount(o, "processes");
#define TAKE(c)                                 \
	d->c##_s = object_amount(o, #c "_s");          \
	d->c##_ops = object_amount(o, #c "_ops");      \
	d->c##_bytes = object_amount(o, #c "_bytes");
	CATEGORIES(TAKE)
#undef TAKE
}

static void take_whole(struct object *o, struct whole_process *w)
{
	w->busy_s = object_amount(o, "busy_s");
	w->op_time_sum_s = object_amount(o, "op_time_sum_s");
#define TAKE(c)                                 \
	w->c##_s = object_amount(o, #c "_s");          \
	w->c##_ops = object_amount(o, #c "_ops");      \
	w->c##_bytes = object_amount(o, #c "_bytes");
	CATEGORIES(TAKE)
#undef TAKE
}

/* One figure that the page and the run records name differently. */
static double first_of(struct object *o, const char *a, const char *b, const char *c)
{
	const char *key = object_value(o, a) ? a : object_value(o, b) ? b : c;
	return object_amount(o, key);
}

static void take_roi(struct object *o, struct record_body *b)
{
	struct roi *r = &b->roi;
	r->wall_s = object_amount(o, "wall_s");
	r->runs_s = object_numbers(o, "runs_s");
	r->warmup_runs_s = object_numbers(o, "warmup_runs_s");
	r->min_s = first_of(o, "wall_s_min", "min_s", "min");
	r->max_s = first_of(o, "wall_s_max", "max_s", "max");
	r->stddev_s = first_of(o, "wall_s_stddev", "stddev_s", "stddev");
	r->entries = object_amount(o, "entries");
	r->excluded_s = object_amount(o, "excluded_s");
	r->processes = object_amount(o, "processes");
	r->imbalance_s = object_amount(o, "imbalance_s");
	r->profiled_wall_s = object_amount(o, "profiled_wall_s");
	r->profiler_inflation = object_amount(o, "profiler_inflation");
	r->steps = object_amount(o, "steps");
	r->setup_s = object_amount(o, "setup_s");
	b->measurement.device_sync = object_yes_no(o, "device_sync");
	b->measurement.launcher_region = object_remark(o, "reduction");
	const char *source = object_text(o, "source");
	bool timer = source && strcmp(source, "app_timer") == 0;
	if (source && !timer && strcmp(source, "markers") != 0)
		object_fault(o, "source", "expected markers or app_timer");
	r->source = timer ? "timer" : "markers";
	r->timer = timer ? b->app : NULL;
	b->measurement.region = "markers";
	if (timer && b->app)
		b->measurement.region = arena_printf(&o->r->rec->arena, "timer:%s", b->app);
	if (!b->measurement.region)
		object_nomem(o);
	if (timer && known(r->steps) && r->steps > 0 && known(r->wall_s))
		r->step_s = num15(r->wall_s / r->steps);
}

/* Parts of the application's own timer. */
static void take_parts(struct object *o, struct record *rec)
{
	struct object parts = object_in(o, "parts");
	if (!parts.json)
		return;
	struct phase *items = arena_array(&rec->arena, json_object_size(parts.json) + 1, sizeof *items);
	const char *name;
	json_t *v;
	if (!items) {
		object_nomem(o);
		return;
	}
	json_object_foreach((json_t *)parts.json, name, v) {
		struct phase *p = &items[rec->body.phases.n];
		*p = (struct phase){ .name = arena_strdup(&rec->arena, name), .count = NAN,
				     .min_s = NAN, .max_s = NAN, .share = NAN,
				     .total_s = object_amount(&parts, name) };
		if (!p->name)
			object_nomem(o);
		if (known(p->total_s))
			rec->body.phases.n++;
	}
	rec->body.phases.items = rec->body.phases.n ? items : NULL;
}

static void take_ops(struct object *o, struct record *rec)
{
	const json_t *list = object_value(o, "ops");
	if (!list)
		return;
	if (!json_is_array(list)) {
		object_fault(o, "ops", "expected a list");
		return;
	}
	size_t n = json_array_size(list);
	rec->body.ops.items = arena_array(&rec->arena, n + 1, sizeof(struct op));
	if (!rec->body.ops.items) {
		object_nomem(o);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct object in = { .r = o->r, .json = json_array_get(list, i) };
		(void)snprintf(in.path, sizeof in.path, "%.60s.ops[%zu]", o->path, i);
		rec->body.ops.items[rec->body.ops.n++] =
			(struct op){ .name = object_text(&in, "name"), .category = object_text(&in, "category"),
				     .count = object_amount(&in, "count"), .total_s = object_amount(&in, "total_s"),
				     .avg_s = object_amount(&in, "avg_s"), .min_s = object_amount(&in, "min_s"),
				     .max_s = object_amount(&in, "max_s"), .share = object_amount(&in, "share") };
		if (!json_is_object(in.json))
			object_fault(o, "ops", "expected a list of objects");
	}
	double total = object_amount(o, "ops_total");
	if (known(total) && total > (double)n &&
	    record_caveat(rec, "operations_cut",
			  "The source has %.0f kinds of device operations; %zu of them came along.", total, n))
		object_nomem(o);
}

static void take_runtime(struct object *o, struct runtime_api *a)
{
	struct object roi = object_in(o, "roi"), whole = object_in(o, "whole");
	a->name = object_text(o, "name");
	a->calls = object_amount(&roi, "calls");
	a->time_s = object_amount(&roi, "time_s");
	a->sync_calls = object_amount(&roi, "sync_calls");
	a->sync_s = object_amount(&roi, "sync_s");
	a->whole_calls = object_amount(&whole, "calls");
	a->whole_time_s = object_amount(&whole, "time_s");
}

static void take_context(struct object *o, struct context *x)
{
	x->process_wall_s = object_amount(o, "process_wall_s");
	x->pre_roi_s = object_amount(o, "pre_roi_s");
	x->post_roi_s = object_amount(o, "post_roi_s");
	x->outside_region_s = object_amount(o, "outside_region_s");
	struct object whole = object_in(o, object_value(o, "whole") ? "whole" : "whole_process");
	take_whole(&whole, &x->whole_process);
}

static void take_metrics(struct object *o, struct record_body *b)
{
	struct object fom = object_in(o, "fom"), own = object_in(o, "app_timer");
	b->fom.name = object_text(&fom, "name");
	b->fom.value = object_number(&fom, "value");
	b->fom.unit = object_text(&fom, "unit");
	b->fom.better = object_text(&fom, "better");
	b->fom.pattern = object_text(&fom, "regex");
	b->fom.status = object_text(&fom, "status");
	b->own_timer.value_s = object_amount(&own, "value_s");
	b->own_timer.roi_diff_frac = object_number(&own, "roi_diff_frac");
	b->own_timer.pattern = object_text(&own, "regex");
	b->own_timer.status = own.json ? object_text(&own, "status") : "none";
}

static void take_measurement(struct object *o, struct draft *d)
{
	struct measurement *m = &d->rec.body.measurement;
	struct object protocol = object_in(o, "protocol"), collector = object_in(o, "collector");
	m->warmups = object_amount(&protocol, "warmup_runs");
	m->cleans_asked = object_amount(&protocol, "clean_runs");
	m->profiled = object_amount(&protocol, "profiled_runs");
	m->timeout_s = object_amount(o, "timeout_s");
	m->excludes = object_remark(o, "roi_excludes");
	m->verify = object_text(o, "verify_vs_roi");
	if (object_yes_no(o, "skip_verify") == YES)
		m->verify = "skipped";
	m->collector = object_text(&collector, "name");
	m->profile_reason = object_remark(o, "profile_skipped");
	d->rec.body.inputs.devices = object_amount(o, "gpus");

	const json_t *list = object_value(&collector, "capabilities");
	struct buf b = { .max = 4096 };
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_printf(&b, " %s ", json_string_value(json_array_get(list, i)));
	if (b.len)
		d->capabilities = draft_text(d, b.data);
	if (b.failed || (b.len && !d->capabilities))
		object_nomem(o);
	buf_done(&b);
}

static void take_inputs(struct object *o, struct inputs *in)
{
	const json_t *processes = object_value(o, "processes");
	in->argv = object_texts(o, object_value(o, "argv") ? "argv" : "declared_argv");
	in->env = object_pairs(o, "declared_env");
	in->params = object_pairs(o, "params");
	in->exe_hash = object_remark(o, "exe_sha256");
	in->ranks = json_is_array(processes) ? (double)json_array_size(processes) : object_amount(o, "processes");
}

static void take_platform(struct object *o, struct platform_info *p)
{
	struct object device = object_maybe(o, "device"), host = object_maybe(o, "host");
	struct object conformance = object_maybe(o, "conformance");
	p->product = object_text(&device, "product");
	p->driver = object_text(&device, "driver_version");
	p->device_count = object_amount(&device, "count_visible");
	double mib = object_amount(&device, "memory_total_mib");
	p->device_memory_bytes = num15(mib * 1048576);
	p->cpu_model = object_text(&host, "cpu_model");
	p->conformance = conformance.json ? object_text(&conformance, "status") : object_remark(o, "conformance");
}

static void take_provenance(struct object *o, struct record_body *b)
{
	struct object from = object_maybe(o, "provenance");
	b->provenance.source_commit = object_text(o, "source_commit");
	if (!b->provenance.source_commit)
		b->provenance.source_commit = object_text(&from, "git_commit");
	b->provenance.git_dirty = object_yes_no(&from, "git_dirty");
}

/* ---- caveats, status, identity ------------------------------------------------------------------ */

static void take_caveats(struct object *o, struct draft *d)
{
	const json_t *list = object_value(o, "caveats");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *sentence = json_is_string(item) ? json_string_value(item)
							    : json_string_value(json_object_get(item, "text"));
		if (!sentence)
			object_fault(o, "caveats", "expected a list of texts");
		else if (record_caveat(&d->rec, "source_caveat", "The source says: %s", sentence))
			object_nomem(o);
	}
	double n = object_amount(o, "caveat_count");
	if (known(n) && n > 0 &&
	    record_caveat(&d->rec, "source_caveats_lost",
			  "The source has %.0f caveats for this run, whose text did not come along.", n))
		object_nomem(o);
	d->lost = object_text(o, "incomplete");
	if (d->lost && record_caveat(&d->rec, "imported_incomplete",
				     "Not all of the source's record came along: %s.", d->lost))
		object_nomem(o);
}

bool status_of_theirs(const char *theirs, const char **ret)
{
	static const char *const names[][2] = {
		{ "ok", "ok" }, { "clean_failed", "clean_failed" }, { "clean_timeout", "clean_timeout" },
		{ "roi_missing", "roi_missing" }, { "app_timer_missing", "timer_missing" },
		{ "prof_failed", "profiled_failed" }, { "export_failed", "profiled_failed" },
		{ "roi_missing_in_trace", "roi_missing_in_profile" }, { "incomplete", "interrupted" },
		{ "identity_incomplete", NULL }, { "identity_failed", NULL },
		{ "build_not_materialized", NULL },
	};
	*ret = NULL;
	for (size_t i = 0; theirs && i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i][0], theirs) != 0)
			continue;
		*ret = names[i][1];
		return true;
	}
	return false;
}

/* Answers NULL where the case was not run at all. */
static const char *status_of(struct object *o)
{
	const char *ours;
	if (status_of_theirs(json_string_value(object_value(o, "status")), &ours))
		return ours;
	object_fault(o, "status", "expected one of the statuses of " RUN_SCHEMA " (ok, clean_failed, ...)");
	return NULL;
}

static void take_identity(struct object *o, struct ctx *c, const struct import_file *file,
			  struct draft *d)
{
	struct record_body *b = &d->rec.body;
	b->app = object_text(o, "app");
	b->case_ = object_text(o, "case");
	b->platform = object_text(o, "platform");
	if (!b->platform && c->options->platform)
		b->platform = draft_text(d, c->options->platform);
	const char *utc = object_text(o, "utc");
	b->utc = utc ? import_utc(&d->rec.arena, utc) : NULL;
	if (!b->app || !b->case_)
		object_fault(o, b->app ? "case" : "app", "is missing");
	if (!b->platform)
		object_fault(o, "platform", "is missing; say which with --platform ID");
	if (!b->utc)
		object_fault(o, "utc", "expected UTC, as 2026-09-26T19:11:40Z");
	const char *run = object_text(o, "run_id");
	if (run)
		b->provenance.imported_from = arena_printf(&d->rec.arena, "hpcperf %s, run %s", file->name, run);
	if (!b->provenance.imported_from)
		object_nomem(o);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* A case that was not run at all. */
static int declare_only(struct ctx *c, struct object *top, int level)
{
	const char *app = json_string_value(object_value(top, "app"));
	const char *case_ = json_string_value(object_value(top, "case")), *suite = import_suite(c, level);
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
	const char *schema = json_string_value(json_object_get(json, "schema"));
	if (schema && strcmp(schema, RECORD_SCHEMA) == 0)
		return err_set(c->err, -EINVAL, "%s: records of this tool: use \"roimeter import roimeter\"",
			       file->path);
	double level = object_number(&top, "level");
	if (!(level == 1 || level == 2 || level == 3))
		object_fault(&top, "level", "expected 1, 2 or 3");
	const char *status = status_of(&top);
	if (r.rc)
		return r.rc;
	if (!status)
		return declare_only(c, &top, (int)level);
	struct draft *d = draft_new(c, ORIGIN_RECORD, (int)level, file);
	if (!d)
		return -ENOMEM;
	r.rec = &d->rec;
	struct record_body *b = &d->rec.body;
	take_identity(&top, c, file, d);
	b->status = status;
	if (strcmp(status, "ok") != 0)
		b->status_text = arena_printf(&d->rec.arena, "the source has the status %s",
					      json_string_value(object_value(&top, "status")));
	if (strcmp(status, "ok") != 0 && !b->status_text)
		object_nomem(&top);
	struct object roi = object_in(&top, "roi"), device = object_in(&top, "device");
	struct object runtime = object_in(&top, "runtime_api"), context = object_in(&top, "context");
	struct object measurement = object_in(&top, "measurement"), inputs = object_in(&top, "inputs");
	struct object platform = object_maybe(&top, "platform_info"), launcher = object_maybe(&top, "launcher");
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
	b->ops_scope = b->ops.items ? object_text(&top, "ops_scope") : NULL;
	if (b->ops.items && !b->ops_scope)
		b->ops_scope = "roi";
	b->launcher.audit_ok = object_yes_no(object_value(&top, "audit_ok") ? &top : &launcher, "audit_ok");
	b->launcher.audit = object_remark(&launcher, "audit");
	take_caveats(&top, d);
	if (!r.rc && strcmp(status, "ok") == 0 && !known(b->roi.wall_s))
		object_fault(&roi, "wall_s", "is missing, although the status is ok");
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
