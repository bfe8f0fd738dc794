/* From what was observed to a record: the order of the steps, and the status. */
#include "core/assemble.h"

#include <errno.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "lib/num.h"
#include "schema/codec.h"

double over_samples(const struct assembly *a, double (*f)(const struct worked *w))
{
	size_t n = 0;
	for (size_t i = 0; i < a->n; i++) {
		double x = a->all[i].used ? f(&a->all[i]) : NAN;
		if (known(x))
			a->scratch[n++] = x;
	}
	return num15(stats_median(a->scratch, n));
}

static int set_status(struct assembly *a, const char *status, const char *name, const char *why)
{
	struct record_body *body = &a->rec->body;
	body->status = status;
	if (!why)
		return 0;
	body->status_text =
		arena_printf(&a->rec->arena, "%s%s%s", name ? name : "", name ? " " : "", why);
	return body->status_text ? 0 : -ENOMEM;
}

static int status_of_failure(struct assembly *a, const struct worked *w)
{
	const char *status = "clean_failed";
	if (w->seen->end == END_INTERRUPTED)
		status = "interrupted";
	else if (w->stage == PROFILED)
		status = "profiled_failed";
	else if (w->seen->end == END_TIMEOUT)
		status = "clean_timeout";
	return set_status(a, status, w->seen->row.name, w->why);
}

static bool missing(const struct worked *w)
{
	return strcmp(w->status, "roi_missing") == 0 || strcmp(w->status, "timer_missing") == 0;
}

bool is_picture(const struct assembly *a, const struct worked *w)
{
	return w->stage == PROFILED && (a->rec->body.measurement.profile_auto != YES ||
					strcmp(w->status, "ok") == 0);
}

/* The first clean execution that failed decides. One that ended well without a region only leaves
 * the samples, as long as there are others; a timer that is not there is a failure always. */
static int put_status(struct assembly *a)
{
	const struct worked *warmup = NULL, *no_region = NULL;
	bool clean = false;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		if (w->stage == WARMUP && !w->ended_well && !warmup)
			warmup = w;
		if (w->stage != CLEAN)
			continue;
		clean = true;
		if (!w->ended_well)
			return status_of_failure(a, w);
		if (missing(w) && !no_region)
			no_region = w;
	}
	if (!clean && warmup)
		return status_of_failure(a, warmup);
	if (!clean)
		return set_status(a, "clean_failed", NULL, "no clean execution was made");
	if (no_region && (a->by_timer || !a->first))
		return set_status(a, no_region->status, no_region->seen->row.name, no_region->why);
	/* Nobody asked for what auto chose: then only an interrupt is of the run as a whole. */
	bool asked = a->rec->body.measurement.profile_auto != YES;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		if (w->stage != PROFILED)
			continue;
		if (!w->ended_well && (asked || w->seen->end == END_INTERRUPTED))
			return status_of_failure(a, w);
		if (asked && missing(w))
			return set_status(a, "roi_missing_in_profile", w->seen->row.name, w->why);
	}
	return set_status(a, "ok", NULL, NULL);
}

static void count_executions(struct assembly *a)
{
	struct measurement *m = &a->rec->body.measurement;
	double warmups = 0, made = 0, used = 0, profiled = 0;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		warmups += w->stage == WARMUP;
		profiled += w->stage == PROFILED;
		made += w->stage == CLEAN && w->seen->end != END_NOT_STARTED;
		used += w->used;
	}
	m->warmups = warmups;
	m->profiled = profiled;
	m->cleans_made = made;
	m->cleans_used = used;
}

/* One word for the clocks of all processes. */
static void name_clock(struct assembly *a)
{
	const char *clock = NULL;
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < a->all[i].seen->n_logs; k++) {
			const char *its = a->all[i].seen->logs[k]->clock;
			if (its && clock && strcmp(its, clock) != 0)
				clock = "mixed";
			else if (its && !clock)
				clock = its;
		}
	/* Logs are borrowed, so the text comes from here. */
	if (clock)
		a->rec->body.measurement.clock = strcmp(clock, "tsc") == 0         ? "tsc"
						 : strcmp(clock, "monotonic") == 0 ? "monotonic"
						 : strcmp(clock, "mixed") == 0
							 ? "mixed"
							 : arena_strdup(&a->rec->arena, clock);
}

static int put_measurement(struct assembly *a)
{
	count_executions(a);
	name_clock(a);
	if (!a->rec->body.utc && a->n && a->all[0].seen->row.utc) {
		a->rec->body.utc = arena_strdup(&a->rec->arena, a->all[0].seen->row.utc);
		if (!a->rec->body.utc)
			return -ENOMEM;
	}
	return 0;
}

static int work_out_all(struct assembly *a, const struct observed *seen)
{
	for (size_t i = 0; i < a->n; i++) {
		struct worked *w = &a->all[i];
		w->seen = &seen[i];
		int rc = work_out(a, w);
		if (rc)
			return rc;
		if (!a->lead && w->stage == CLEAN && w->ended_well && w->entered)
			a->lead = w;
		if (!a->first && w->used)
			a->first = w;
	}
	return 0;
}

int assemble(struct record *rec, const struct observed *seen, size_t n, struct err *err)
{
	const char *region = rec->body.measurement.region;
	struct assembly a = {
		.rec = rec,
		.n = n,
		.by_timer = region && strncmp(region, "timer:", 6) == 0,
		.all = arena_array(&rec->arena, n + 1, sizeof *a.all),
		.scratch = arena_array(&rec->arena, n + 1, sizeof *a.scratch),
	};
	int rc = a.all && a.scratch ? work_out_all(&a, seen) : -ENOMEM;
	int (*const steps[])(struct assembly *) = {
		put_status,  put_measurement, put_executions,   put_region,   put_context,
		put_metrics, put_caveats,     put_device_parts, put_io_parts,
	};
	for (size_t i = 0; !rc && i < sizeof steps / sizeof *steps; i++)
		rc = steps[i](&a);
	if (!rc) /* the status has words of the program's and its caller's */
		rc = block_clean(&rec->arena, &record_block, &rec->body);
	if (!rc)
		rc = record_explain_nulls(rec);
	return rc ? err_set(err, rc, "out of memory while the record is put together") : 0;
}
