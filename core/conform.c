#include <math.h>
#include <string.h>

#include "core/conform.h"
#include "lib/num.h"

const char *const conform_categories[CONFORM_CATEGORIES] = { "compute", "copy_d2d", "copy_h2d",
							     "copy_d2h", "fill" };

static const char *const inside_names[CONFORM_CATEGORIES] = {
	"compute_ops", "copy_d2d_ops", "copy_h2d_ops", "copy_d2h_ops", "fill_ops",
};
static const char *const whole_names[CONFORM_CATEGORIES] = {
	"whole_compute_ops",  "whole_copy_d2d_ops", "whole_copy_h2d_ops",
	"whole_copy_d2h_ops", "whole_fill_ops",
};

/* How far the region under a collector may be from the clean one, and from the collector's own
 * account of it. */
static const double near_s = 0.02, near_frac = 0.5, log_s = 0.002;

struct list {
	struct check *at;
	size_t n;
};

static struct check *add(struct list *l, const char *name, const char *detail)
{
	struct check *c = &l->at[l->n++];
	block_clear(&check_block, c);
	c->name = name;
	c->part = "split";
	c->detail = detail;
	return c;
}

static void judge(struct check *c, bool good)
{
	c->verdict = good ? "pass" : "fail";
}

static void near(struct list *l, const char *name, const char *unit, double value, double expected,
		 double tolerance, const char *detail)
{
	struct check *c = add(l, name, detail);
	c->unit = unit;
	c->value = value;
	c->expected = expected;
	c->tolerance = tolerance;
	judge(c, known(value) && known(expected) && fabs(value - expected) <= tolerance);
	if (!known(value) || !known(expected))
		c->detail = "there is no number where one must be";
}

static void skip(struct list *l, const char *name)
{
	add(l, name, "no collector was used, and only one can see this")->verdict = "skipped";
}

static void counts(struct list *l, const double *seen, const double *want, const char *const *names,
		   bool none, const char *detail)
{
	for (size_t i = 0; i < CONFORM_CATEGORIES; i++)
		if (none)
			skip(l, names[i]);
		else
			near(l, names[i], "1", seen[i], want[i], 0, detail);
}

static const struct execution *profiled_of(const struct record_body *r, const char *collector)
{
	static const char prefix[] = "profiled.";
	for (size_t i = 0; i < r->executions.n; i++) {
		const char *name = r->executions.items[i].name;
		if (name && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
		    strcmp(name + sizeof prefix - 1, collector) == 0)
			return &r->executions.items[i];
	}
	return NULL;
}

static void times(struct list *l, const struct record_body *r, const char *collector, bool none)
{
	if (none) {
		skip(l, "profiled_region");
		skip(l, "picture_region");
		return;
	}
	const struct execution *e = profiled_of(r, collector);
	double clean_s = r->roi.wall_s, log_region_s = e ? e->roi_s : NAN;
	near(l, "profiled_region", "s", log_region_s, clean_s, fmax(near_s, near_frac * clean_s),
	     "region under the collector, and the median of the clean executions");
	/* one process: its idle and its busy time are its region, as the collector clipped it */
	near(l, "picture_region", "s", r->gap.device_idle_s + r->device.busy_s, log_region_s, log_s,
	     "region that the collector clipped to, and that of the marks' own log");
}

void conform_check(struct check ret[CONFORM_CHECKS], const struct conform_seen *seen,
		   const struct conform_want *want)
{
	const struct record_body *r = seen->record;
	const struct device *d = &r->device;
	const struct whole_process *w = &r->context.whole_process;
	const double inside[] = { d->compute_ops, d->copy_d2d_ops, d->copy_h2d_ops, d->copy_d2h_ops,
				  d->fill_ops };
	const double whole[] = { w->compute_ops, w->copy_d2d_ops, w->copy_h2d_ops, w->copy_d2h_ops,
				 w->fill_ops };
	bool none = strcmp(seen->collector, "none") == 0;
	struct list l = { ret, 0 };
	struct check *c = add(&l, "status", "the run's status must be ok");
	judge(c, r->status && strcmp(r->status, "ok") == 0);
	if (strcmp(c->verdict, "fail") == 0 && r->status_text)
		c->detail = r->status_text;
	near(&l, "entries", "1", r->roi.entries, want->entries, 0, "entries into the region");
	c = add(&l, "excluded", "time that the marks leave out must be above 0");
	c->unit = "s";
	c->value = r->roi.excluded_s;
	judge(c, r->roi.excluded_s > 0);
	counts(&l, inside, want->inside, inside_names, none, "operations inside the region");
	counts(&l, whole, want->whole, whole_names, none, "operations of the whole process");
	times(&l, r, seen->collector, none);
	c = add(&l, "sentinel",
		seen->sentinel_in ? seen->sentinel_in
		: seen->searched  ? "the value of a variable of the caller is in nothing that was "
				    "written"
				  : "what was written could not be searched");
	judge(c, seen->searched && !seen->sentinel_in);
}

void conform_judge(struct conformance *c, const char *collector, struct check *checks, size_t n)
{
	const char *why = NULL;
	c->passed = c->failed = c->skipped = 0;
	for (size_t i = 0; i < n; i++) {
		bool failed = strcmp(checks[i].verdict, "fail") == 0;
		if (failed && !why)
			why = checks[i].detail;
		*(failed                                   ? &c->failed
		  : strcmp(checks[i].verdict, "pass") == 0 ? &c->passed
							   : &c->skipped) += 1;
	}
	bool none = strcmp(collector, "none") == 0;
	c->checks.items = checks;
	c->checks.n = n;
	c->verdict = c->failed > 0 ? "fail" : none ? "pass-clean-only" : "pass";
	c->why = c->failed > 0 ? why
		 : none        ? "no collector was used: only the time of the region is tested"
			       : NULL;
}
