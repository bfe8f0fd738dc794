/* Why a field is null. The general answer is "not_measured"; the table has the others. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/assemble.h"
#include "lib/num.h"
#include "schema/walk.h"

#define PATH_BYTES 128

static bool foreign_log(const struct record_body *b)
{
	return b->roi.source && strcmp(b->roi.source, "markers") == 0 && !known(b->roi.steps) &&
	       known(b->measurement.cleans_used) && b->measurement.cleans_used > 0;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool one_of(const char *path, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return false;
}

#define ONE_OF(path, ...)                                                                          \
	one_of(path, (const char *const[]){ __VA_ARGS__ },                                         \
	       sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static const char *reason(const struct record_body *b, const char *path)
{
	bool sampled = b->roi.runs_s.n > 0;
	bool timer = b->roi.source && strcmp(b->roi.source, "timer") == 0;
	if (ONE_OF(path, "roi.stddev_s", "roi.cv", "roi.ci95_s", "roi.ci95_coverage", "roi.spread",
		   "roi.stable", "roi.iqr", "roi.two_levels", "roi.drift"))
		return sampled ? "too_few" : "not_measured";
	if (timer &&
	    (ONE_OF(path, "roi.entries", "roi.excludes", "roi.processes", "roi.unfinished",
		    "roi.imbalance_s", "roi.entry_min_s", "roi.entry_max_s", "roi.folded",
		    "roi.step_min_s", "roi.step_max_s", "roi.step_p95_s", "roi.steps", "roi.step_s",
		    "roi.excluded_s", "phases", "observer.marks", "observer.mark_cost_s") ||
	     ONE_OF(path, "context.pre_roi_s", "context.post_roi_s", "context.between_s")))
		return "not_supported";
	if (!timer && ONE_OF(path, "roi.setup_s", "context.outside_region_s"))
		return "not_supported";
	if (foreign_log(b) && (starts(path, "roi.step") || strcmp(path, "phases") == 0))
		return "not_supported";
	if (known(b->context.whole_process.busy_s))
		if (starts(path, "context.whole_process.") || starts(path, "runtime_api") ||
		    ((timer || known(b->device.busy_s)) &&
		     (starts(path, "device.") || starts(path, "gap"))))
			return strcmp(path, "device.job_busy_s") == 0 ? "not_comparable"
								      : "not_supported";
	if (strcmp(path, "context.devices") == 0 && b->platform_info.devices.items &&
	    b->platform_info.devices.n == 0)
		return "not_supported";
	if (b->own_timer.status && strcmp(b->own_timer.status, "none") != 0 &&
	    starts(path, "own_timer"))
		return "lost";
	if (b->fom.status && strcmp(b->fom.status, "none") != 0 && starts(path, "fom"))
		return "lost";
	return "not_measured";
}

static bool told(const struct record_body *b, const char *path)
{
	for (size_t i = 0; i < b->nulls.n; i++) {
		const char *field = b->nulls.items[i].field;
		size_t n = strlen(field);
		if (strncmp(path, field, n) == 0 && (path[n] == 0 || path[n] == '.'))
			return true;
	}
	return false;
}

static int explain(struct record *rec, const struct block *block, const void *at, const char *above)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		char label[FIELD_LABEL_BYTES], path[PATH_BYTES];
		(void)snprintf(path, sizeof path, "%s%s%s", above, *above ? "." : "",
			       field_label(f, label));
		bool null = field_is_null(f, at);
		int rc = 0;
		/* A text says by itself that there is nothing to say; "nulls" explains. */
		if (f->type == FIELD_TXT || strcmp(path, "nulls") == 0)
			continue;
		if (f->type == FIELD_BLOCK && !null)
			rc = explain(rec, f->block, (const char *)at + f->offset, path);
		else if (null && !told(&rec->body, path))
			rc = record_null(rec, path, reason(&rec->body, path));
		if (rc)
			return rc;
	}
	return 0;
}

static bool still_null(const struct block *block, const void *at, const char *path);

/* In any of its items. */
static bool null_in_list(const struct block *block, struct list l, const char *path)
{
	for (size_t i = 0; i < l.n; i++)
		if (still_null(block, list_item(l, block, i), path))
			return true;
	return false;
}

/* Is the field that this path names null? A path that names none stays. */
static bool still_null(const struct block *block, const void *at, const char *path)
{
	size_t n = strcspn(path, ".");
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		char label[FIELD_LABEL_BYTES];
		(void)field_label(f, label);
		if (strlen(label) != n || strncmp(label, path, n) != 0)
			continue;
		if (path[n] == '.' && f->type == FIELD_BLOCK)
			return still_null(f->block, (const char *)at + f->offset, path + n + 1);
		if (path[n] == '.' && f->type == FIELD_LIST)
			return null_in_list(f->block, list_get((const char *)at + f->offset),
					    path + n + 1);
		return field_is_null(f, at);
	}
	return true;
}

int record_explain_nulls(struct record *rec)
{
	struct record_body *b = &rec->body;
	size_t kept = 0;
	for (size_t i = 0; i < b->nulls.n; i++)
		if (still_null(&record_block, b, b->nulls.items[i].field))
			b->nulls.items[kept++] = b->nulls.items[i];
	b->nulls.n = kept;
	return explain(rec, &record_block, b, "");
}
