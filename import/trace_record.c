/* Pictures of one trace into its record. A trace knows the region under a profiler only: there is
 * no clean execution, so roi.wall_s and what follows from it stay null, and the record is no
 * result. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/assemble.h"
#include "core/picture.h"
#include "import/hpcperf_impl.h" /* import_utc */
#include "import/made.h"
#include "import/trace_impl.h"
#include "schema/codec.h"

#define YEAR_2105_S 4260000000

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- when
 * --------------------------------------------------------------------------------------------- */

static int put_utc(struct record *rec, const struct trace_sink *t, const struct trace_file *file,
		   struct err *err)
{
	struct record_body *b = &rec->body;
	if (t->options->utc) {
		b->utc = import_utc(&rec->arena, t->options->utc);
		if (!b->utc)
			return err_set(
				err, -EINVAL,
				"--utc %s: expected UTC, as 2026-09-26 or 2026-09-26T19:11:40Z",
				t->options->utc);
		return 0;
	}
	int64_t ns;
	struct tm tm;
	char text[32];
	bool told = t->has_epoch && t->first_ns != INT64_MAX &&
		    !__builtin_add_overflow(t->first_ns, t->epoch_ns, &ns);
	if (!told || ns < 0 || ns / 1000000000 >= YEAR_2105_S)
		ns = file->mtime_ns > 0 ? file->mtime_ns : 0;
	time_t seconds = (time_t)(ns / 1000000000);
	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		return err_set(err, -EINVAL, "%s: a time that is none", file->path);
	b->utc = arena_strdup(&rec->arena, text);
	return b->utc ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* ---- what it is
 * -------------------------------------------------------------------------------------- */

static int put_identity(struct record *rec, const struct trace_sink *t,
			const struct trace_file *file)
{
	const struct trace_options *o = t->options;
	struct record_body *b = &rec->body;
	struct arena *a = &rec->arena;
	b->suite = arena_strdup(a, o->suite ? o->suite : "imported");
	b->app = o->app ? arena_strdup(a, o->app) : made_app(a, file->path, file->format);
	b->case_ = arena_strdup(a, o->case_ ? o->case_ : "trace");
	b->platform = arena_strdup(a, o->platform ? o->platform : "unknown");
	b->kind = "imported";
	b->measurement.tool = IMPORT_TOOL;
	b->measurement.collector = file->format;
	b->measurement.profiled = 1;
	b->measurement.cleans_made = b->measurement.cleans_used = 0;
	const char *name = file_name(file->path);
	char *from = file->more ? arena_printf(a, "%s %s and %zu more", file->format, name,
					       file->more)
				: arena_printf(a, "%s %s", file->format, name);
	b->provenance.imported_from = from ? record_text(rec, from, strlen(from)) : NULL;
	b->provenance.import_hash = arena_strdup(a, file->hash);
	if (t->runtime)
		b->platform_info.runtime = record_text(rec, t->runtime, strlen(t->runtime));
	return b->suite && b->app && b->case_ && b->platform && b->provenance.imported_from &&
			       b->provenance.import_hash &&
			       (!t->runtime || b->platform_info.runtime)
		       ? 0
		       : -ENOMEM;
}

static double larger(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

/* false: there is none. */
static bool put_region(struct record *rec, const struct trace_sink *t,
		       const struct picture *const *pictures, size_t n, int *rc)
{
	struct record_body *b = &rec->body;
	struct roi *roi = &b->roi;
	double processes = 0;
	for (size_t i = 0; i < n; i++) {
		const struct picture *p = pictures[i];
		if (p->found != YES)
			continue;
		processes++;
		roi->entries = larger(roi->entries, p->entries);
		roi->excluded_s = larger(roi->excluded_s, num15((p->gross_ns - p->wall_ns) / 1e9));
		roi->profiled_wall_s = larger(roi->profiled_wall_s, num15(p->wall_ns / 1e9));
	}
	if (!processes)
		return false;
	roi->processes = processes;
	roi->source = t->options->range ? "range" : "markers";
	b->measurement.region = "markers";
	if (t->options->range) {
		char *region = arena_printf(&rec->arena, "range:%s", t->options->range);
		b->measurement.region = region ? record_text(rec, region, strlen(region)) : NULL;
	}
	*rc = b->measurement.region ? 0 : -ENOMEM;
	return true;
}

static int put_status(struct record *rec, bool region)
{
	struct record_body *b = &rec->body;
	b->status = "roi_missing";
	b->status_text =
		region ? "the region was measured under a profiler only: a trace has no clean "
			 "execution"
		       : "the trace has no region: what it holds is in context.whole_process";
	return region ? record_caveat(rec, "region_profiled_only",
				      "The region is known from a trace only: there is no clean "
				      "execution, so "
				      "no roi.wall_s and no share of it; shares are of the region "
				      "under the "
				      "profiler.")
		      : 0;
}

/* "cuda12.4": the calls are cuda's. */
static int name_runtime(struct record *rec)
{
	struct runtime_api *api = &rec->body.runtime_api;
	if (!api->name)
		return 0;
	api->name = record_text(rec, api->name, strcspn(api->name, "0123456789"));
	return api->name ? 0 : -ENOMEM;
}

int trace_make_record(const struct trace_sink *t, const struct trace_file *file,
		      const struct picture *const *pictures, size_t n, struct record *ret,
		      struct err *err)
{
	record_init(ret);
	int rc = put_identity(ret, t, file);
	bool region = !rc && put_region(ret, t, pictures, n, &rc);
	if (!rc)
		rc = put_status(ret, region);
	if (rc)
		return err_set(err, rc, "out of memory");
	rc = put_utc(ret, t, file, err);
	if (!rc)
		rc = picture_put_record(ret, pictures, n, err);
	if (rc)
		return rc;
	rc = name_runtime(ret);
	if (!rc)
		rc = record_explain_nulls(ret);
	if (!rc)
		rc = made_id(ret);
	return rc ? err_set(err, rc, "out of memory") : record_check(ret, err);
}
