/* Why a field of an imported record is null: each such number gets a reason. */
#include <stdio.h>
#include <string.h>

#include "import/hpcperf_impl.h"
#include "schema/walk.h"

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

struct explain {
	struct draft *d;
	size_t given; /* reasons that were there before */
	int rc;
};

/* "device.copy_h2d_s" begins with "device": a block stands for all in it. */
static bool begins(const char *path, const char *with)
{
	size_t n = strlen(with);
	return strncmp(path, with, n) == 0 && (path[n] == 0 || path[n] == '.');
}

static bool one_of(const char *path, const char *const *list)
{
	for (; *list; list++)
		if (begins(path, *list))
			return true;
	return false;
}

/* device.copy_h2d_ops of a collector that sees no such copies */
static bool beyond_collector(const struct draft *d, const char *path)
{
	static const char *const categories[] = { "compute", "copy_h2d", "copy_d2h", "copy_d2d",
						  "copy_other", "fill", "collective", "other" };
	const char *name = strrchr(path, '.');
	if (!d->capabilities || !name ||
	    (!begins(path, "device") && !begins(path, "context.whole_process")))
		return false;
	for (size_t i = 0; i < 8; i++) {
		size_t n = strlen(categories[i]);
		char wanted[24];
		(void)snprintf(wanted, sizeof wanted, " %s ", categories[i]);
		if (strncmp(name + 1, categories[i], n) == 0 && name[1 + n] == '_' &&
		    !strstr(name + 1 + n + 1, "_"))
			return !strstr(d->capabilities, wanted);
	}
	return false;
}

static const char *reason(const struct draft *d, const char *path)
{
	/* In a published table: was measured there, stands not in it. */
	static const char *const table_lost[] = {
		"roi.runs_s", "roi.warmup_runs_s", "roi.min_s", "roi.max_s", "roi.stddev_s", "roi.cv",
		"roi.ci95_s", "roi.ci95_coverage", "roi.spread", "roi.iqr", "roi.stable", "roi.two_levels",
		"roi.drift", "roi.entries", "roi.excluded_s", "roi.excludes", "roi.processes",
		"roi.profiled_wall_s", "measurement.warmups", "measurement.cleans_asked",
		"measurement.cleans_made", "measurement.cleans_used", "measurement.profiled",
		"executions", "device", "runtime_api", "ops", "context.process_wall_s",
		"context.pre_roi_s", "context.post_roi_s", "context.outside_region_s",
		"context.whole_process", "inputs", "own_timer.value_s", NULL,
	};
	static const char *const spread[] = {
		"roi.stddev_s", "roi.cv", "roi.ci95_s", "roi.ci95_coverage", "roi.spread", "roi.iqr",
		"roi.stable", "roi.two_levels", "roi.drift", NULL,
	};
	static const char *const gap[] = { "device", "runtime_api", "ops", "roi.profiled_wall_s",
					   "roi.profiler_inflation", "context.process_wall_s",
					   "context.pre_roi_s", "context.post_roi_s",
					   "context.outside_region_s", "context.whole_process", NULL };
	const struct record_body *b = &d->rec.body;
	/* "context" is the path when nothing in the block is known. */
	if (d->origin == ORIGIN_TABLE)
		return same(b->status, "ok") && (one_of(path, table_lost) || same(path, "context"))
			       ? "lost" : "not_measured";
	if (one_of(path, spread))
		return b->roi.runs_s.n ? "too_few" : "not_measured";
	if (beyond_collector(d, path))
		return "not_supported";
	if (d->lost && one_of(path, gap))
		return "lost";
	return "not_measured";
}

static void explain_block(struct explain *x, const struct block *block, const void *at,
			  const char *prefix)
{
	for (size_t i = 0; i < block->count && !x->rc; i++) {
		const struct field *f = &block->fields[i];
		char label[FIELD_LABEL_BYTES], path[160];
		(void)snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "",
			       field_label(f, label));
		/* A text that is null is just not there. */
		if (f->type == FIELD_TXT || strcmp(path, "nulls") == 0 ||
		    strcmp(path, "caveats") == 0)
			continue;
		bool covered = false;
		for (size_t k = 0; k < x->given && !covered; k++)
			covered = begins(path, x->d->rec.body.nulls.items[k].field);
		if (covered)
			continue;
		if (field_is_null(f, at))
			x->rc = record_null(&x->d->rec, path, reason(x->d, path));
		else if (f->type == FIELD_BLOCK)
			explain_block(x, f->block, (const char *)at + f->offset, path);
	}
}

int explain_nulls(struct draft *d)
{
	struct explain x = { .d = d, .given = d->rec.body.nulls.n };
	explain_block(&x, &record_block, &d->rec.body, "");
	return x.rc;
}
