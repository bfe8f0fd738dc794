/* What limits the numbers of an imported record: the same sentences that a record of ours has,
 * from what the source tells, and those that importing adds. */
#include <errno.h>
#include <string.h>

#include "import/hpcperf_impl.h"

#define INFLATION_LIMIT 1.2
#define OWN_TIMER_LIMIT 0.02
#define BUSY_LIMIT 1.01

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* "Looked, and there is nothing to say" is an empty list, not null. */
static int empty_list(struct record *rec)
{
	struct record_body *b = &rec->body;
	if (b->caveats.items)
		return 0;
	b->caveats.items = arena_array(&rec->arena, 8, sizeof *b->caveats.items);
	return b->caveats.items ? 0 : -ENOMEM;
}

static int samples(struct record *rec)
{
	const struct roi *r = &rec->body.roi;
	double n = rec->body.measurement.cleans_used;
	int rc = 0;
	if (n == 1)
		rc = record_caveat(rec, "single_execution",
				   "One clean execution counts: its spread is not known, and no interval can be given.");
	if (!rc && n >= 2 && n < 6 && r->runs_s.n >= 2)
		rc = record_caveat(rec, "ci_not_95",
				   "With %.0f clean executions the interval from the smallest to the largest covers "
				   "the median with %.4g %%; 95 %% needs 6.", n, 100 * r->ci95_coverage);
	if (!rc && r->stable == NO)
		rc = record_caveat(rec, "unstable",
				   "The clean executions spread over %.3g %% of the median: more than is taken for "
				   "stable (10 %%; from 10 executions on, 5 %% of their middle half).", 100 * r->spread);
	if (!rc && r->two_levels == YES)
		rc = record_caveat(rec, "two_levels",
				   "The clean executions fall into two groups more than 5 %% of the median apart: the "
				   "median stands for neither.");
	if (!rc && r->drift == YES)
		rc = record_caveat(rec, "drift",
				   "The clean executions rise or fall one after the other: the machine or the data "
				   "changed meanwhile.");
	if (!rc && r->processes > 1)
		rc = record_caveat(rec, "multi_process_roi",
				   "%.0f processes entered the region; its time is that of the slowest.", r->processes);
	return rc;
}

static int profile(struct record *rec)
{
	const struct record_body *b = &rec->body;
	double ratio = b->roi.profiler_inflation;
	int rc = 0;
	if (!known(ratio) && !known(b->device.busy_s) && !known(b->device.busy_frac_of_roi) &&
	    !known(b->context.whole_process.busy_s))
		rc = record_caveat(rec, "not_profiled",
				   "No execution was profiled%s%s: device and runtime are not known.",
				   b->measurement.profile_reason ? ", " : "",
				   b->measurement.profile_reason ? b->measurement.profile_reason : "");
	if (!rc && ratio > INFLATION_LIMIT * (1 + 1e-12))
		rc = record_caveat(rec, "profiler_inflation",
				   "The region took %.3g times as long under the collector as clean.", ratio);
	if (!rc && ratio * INFLATION_LIMIT < 1 - 1e-12)
		rc = record_caveat(rec, "profiler_deflation",
				   "The region took only %.3g of its clean time under the collector: shares of the two "
				   "mix different executions.", ratio);
	if (!rc && b->device.busy_frac_of_roi > BUSY_LIMIT)
		rc = record_caveat(rec, "busy_exceeds_clean_roi",
				   "The device was busy %.3g times as long as the clean region lasts.",
				   b->device.busy_frac_of_roi);
	if (!rc && known(b->device.busy_frac_of_roi) && !same(b->platform_info.conformance, "pass"))
		rc = record_caveat(rec, "conformance_missing",
				   "No passed conformance test of platform %s came with this import.", b->platform);
	return rc;
}

static int declared(struct record *rec)
{
	const struct record_body *b = &rec->body;
	const char *verify = b->measurement.verify;
	int rc = 0;
	if (b->launcher.audit_ok == NO)
		rc = record_caveat(rec, "launcher_audit", "The launcher reports a wrong placement: %s",
				   b->launcher.audit ? b->launcher.audit : "its summary is not clean");
	if (!rc && same(verify, "none"))
		rc = record_caveat(rec, "verify_none", "Nothing checks the results of this input.");
	if (!rc && same(verify, "skipped"))
		rc = record_caveat(rec, "verify_skipped", "The check of the results was switched off.");
	if (!rc && same(verify, "inside"))
		rc = record_caveat(rec, "verify_inside",
				   "The check of the results runs inside the region and can't be taken out.");
	if (!rc && same(b->fom.status, "not_matched"))
		rc = record_caveat(rec, "fom_not_matched", "Figure of merit: its pattern is nowhere in the output.");
	if (!rc && fabs(b->own_timer.roi_diff_frac) > OWN_TIMER_LIMIT)
		rc = record_caveat(rec, "own_timer_differs",
				   "The region is %.3g %% %s than the application's own timer: look where the marks are.",
				   100 * fabs(b->own_timer.roi_diff_frac),
				   b->own_timer.roi_diff_frac > 0 ? "longer" : "shorter");
	return rc;
}

static int rounded(struct draft *d)
{
	const char *name = strrchr(d->file, '/');
	return record_caveat(&d->rec, "imported_rounded",
			     "Read from a published table (%s line %u) with three significant digits; the samples "
			     "behind the median are not in it, and its time is that of the publication.",
			     name ? name + 1 : d->file, d->line);
}

int say_caveats(struct draft *d)
{
	struct record *rec = &d->rec;
	bool ok = same(rec->body.status, "ok");
	int rc = empty_list(rec);
	if (!rc && d->origin == ORIGIN_LOG && d->exits_known)
		return 0; /* assemble() said the rest */
	if (!rc && d->origin == ORIGIN_LOG)
		return record_caveat(rec, "exit_unknown",
				     "Made of region logs alone: nobody knows whether the program ended well, nor how "
				     "long it ran outside its region.");
	if (!rc && d->origin == ORIGIN_TABLE && ok)
		rc = rounded(d);
	if (!rc && ok)
		rc = samples(rec);
	if (!rc && ok)
		rc = profile(rec);
	return rc ? rc : declared(rec);
}
