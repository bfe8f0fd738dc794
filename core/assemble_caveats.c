/* Every limit of a record's numbers as a sentence. The thresholds are in docs/statistics.md. The
 * order is fixed: the same observations give the same bytes. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "lib/num.h"

#define OWN_TIMER_LIMIT 0.02
#define INFLATION_LIMIT 1.2
#define NOTES_MAX 3
#define LIST_BYTES 512

const char *plural(double n)
{
	return n == 1 ? "" : "s";
}

static int none(struct assembly *a)
{
	struct record_body *b = &a->rec->body;
	if (b->caveats.items)
		return 0;
	/* "Looked, and there is nothing to say"; record_caveat() takes the room it finds. */
	b->caveats.items = arena_array(&a->rec->arena, 8, sizeof *b->caveats.items);
	return b->caveats.items ? 0 : -ENOMEM;
}

/* ---- what the marks tell ------------------------------------------------------------------------
 */

/* Clean executions that came to their end: what killed ones lack, their status says. */
static bool counts(const struct worked *w)
{
	return w->stage == CLEAN && w->ended_well;
}

static int unterminated(struct assembly *a)
{
	size_t executions = 0, processes = 0;
	for (size_t i = 0; i < a->n; i++) {
		size_t open = 0;
		for (size_t k = 0; counts(&a->all[i]) && k < a->all[i].seen->n_logs; k++)
			open += a->all[i].processes[k].unterminated;
		processes += open;
		executions += open > 0;
	}
	if (!processes)
		return 0;
	return record_caveat(
		a->rec, "roi_unterminated",
		"%zu process%s in %zu clean execution%s ended inside the region: what was finished "
		"before is known, how long the open entry lasted is not.",
		processes, processes == 1 ? "" : "es", executions, plural((double)executions));
}

static int lost_marks(struct assembly *a)
{
	uint64_t overflow = 0, unmatched = 0, lost = 0, folded = 0;
	const char *cause = NULL;
	bool approximate = false;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		for (size_t k = 0; counts(w) && k < w->seen->n_logs; k++) {
			const struct roi_process *p = &w->processes[k];
			overflow += p->overflow;
			unmatched += p->unmatched_end;
			lost += p->lost_ends;
			folded += p->folded;
			approximate |= p->approximate;
			cause = cause ? cause : w->seen->logs[k]->overflow_cause;
		}
	}
	int rc = 0;
	if (overflow)
		rc = record_caveat(
			a->rec, "roi_overflow",
			"%" PRIu64
			" region entr%s could not be kept%s%s: the region's time is too small "
			"by theirs.",
			overflow, overflow == 1 ? "y" : "ies", cause ? ", " : "",
			cause ? cause : "");
	if (!rc && unmatched)
		rc = record_caveat(a->rec, "roi_unmatched_end",
				   "END was called %" PRIu64
				   " time%s without a BEGIN; these calls were ignored.",
				   unmatched, plural((double)unmatched));
	if (!rc && lost)
		rc = record_caveat(a->rec, "roi_lost_end",
				   "The END of %" PRIu64
				   " region entr%s was lost: they are neither counted nor timed.",
				   lost, lost == 1 ? "y" : "ies");
	if (!rc && folded)
		rc = record_caveat(
			a->rec, "roi_folded",
			"%" PRIu64
			" region entries were kept as sums and a histogram only, the others one by "
			"one.",
			folded);
	if (!rc && approximate)
		rc = record_caveat(a->rec, "roi_threads_folded",
				   "Several threads marked more entries than are kept one by one: "
				   "how far these overlap "
				   "is not known, and the region's time is a lower bound.");
	return rc;
}

/* Marks that should have waited for the device and could not: the region's ends may stand where the
 * device was still at work. No device at all (syncs_missing) is as it should be. */
static int failed_waits(struct assembly *a)
{
	uint64_t failed = 0, all = 0;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		for (size_t k = 0; counts(w) && k < w->seen->n_logs; k++) {
			failed += w->seen->logs[k]->syncs_failed;
			all += w->seen->logs[k]->syncs;
		}
	}
	if (!failed)
		return 0;
	return record_caveat(a->rec, "sync_failed",
			     "%" PRIu64 " of %" PRIu64
			     " waits for the device at marks failed: the region may begin or end "
			     "while the device was at work.",
			     failed, all);
}

static int differences(struct assembly *a)
{
	bool entries = false, processes = false;
	double low = NAN, high = NAN;
	for (size_t i = 0; a->lead && i < a->n; i++) {
		const struct worked *w = &a->all[i];
		if (!counts(w) || !w->entered)
			continue;
		double n = (double)w->job.entries;
		entries |= w->job.entries != a->lead->job.entries;
		processes |= w->job.processes != a->lead->job.processes;
		low = low <= n ? low : n;
		high = high >= n ? high : n;
	}
	int rc = 0;
	if (entries)
		rc = record_caveat(a->rec, "roi_entries_differ_between_runs",
				   "The clean executions entered the region between %.0f and %.0f "
				   "times: they may not "
				   "have done the same.",
				   low, high);
	if (!rc && processes)
		rc = record_caveat(a->rec, "processes_differ_between_runs",
				   "The number of processes that entered the region differs "
				   "between the clean executions.");
	return rc;
}

static int many_processes(struct assembly *a)
{
	if (!a->lead || a->lead->job.processes < 2 || a->by_timer)
		return 0;
	return record_caveat(
		a->rec, "multi_process_roi",
		"%" PRIu64
		" processes entered the region: its time is that of the slowest one in each "
		"execution. Each has a row of its own.",
		a->lead->job.processes);
}

/* The time of the region is that of the processes in it: that others stayed outside is said. */
static int ranks_outside(struct assembly *a)
{
	double asked = a->rec->body.inputs.ranks;
	if (!a->lead || a->by_timer || !((double)a->lead->job.processes < asked))
		return 0;
	return record_caveat(a->rec, "ranks_outside_region",
			     "%.0f processes were asked for, and %" PRIu64 " entered the region.",
			     asked, a->lead->job.processes);
}

static int damaged_logs(struct assembly *a)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < a->all[i].seen->n_logs; k++) {
			const struct roi_log *log = a->all[i].seen->logs[k];
			if (log->damage && counts(&a->all[i]))
				return record_caveat(a->rec, "roi_log_damaged",
						     "A region log of %s is damaged: %s.",
						     a->all[i].seen->row.name, log->damage);
		}
	return 0;
}

/* ---- executions and samples
 * ---------------------------------------------------------------------- */

static int not_used(struct assembly *a)
{
	const struct measurement *m = &a->rec->body.measurement;
	char list[LIST_BYTES] = "";
	size_t at = 0;
	if (m->cleans_made == m->cleans_used)
		return 0;
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		if (w->stage != CLEAN || w->used || !w->why || at >= sizeof list)
			continue;
		int n = snprintf(list + at, sizeof list - at, "%s%s %s", at ? "; " : "",
				 w->seen->row.name, w->why);
		at += n > 0 ? (size_t)n : 0;
	}
	return record_caveat(a->rec, "executions_not_used", "%.0f made, %.0f used: %s.",
			     m->cleans_made, m->cleans_used, list);
}

static int notes(struct assembly *a)
{
	size_t said = 0, more = 0;
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < a->all[i].seen->notes.n; k++) {
			const char *note = a->all[i].seen->notes.items[k];
			if (strncmp(note, NOTE_RANGES, strlen(NOTE_RANGES)) == 0 ||
			    strncmp(note, NOTE_PROGRAM, strlen(NOTE_PROGRAM)) == 0)
				continue; /* the status tells it, or a caveat about files */
			if (said++ >= NOTES_MAX) {
				more++;
				continue;
			}
			/* The two ways in which marks get lost before any log exists. */
			bool library =
				strstr(note, "marks are missing") || strstr(note, "marker library");
			bool picture = strncmp(note, NOTE_PICTURE, strlen(NOTE_PICTURE)) == 0;
			int rc = record_caveat(a->rec,
					       picture   ? "picture_unreadable"
					       : library ? "marker_library_missing"
							 : "marks_lost",
					       "%s: %s", a->all[i].seen->row.name, note);
			if (rc)
				return rc;
		}
	return more ? record_caveat(a->rec, "marks_lost",
				    "%zu more sentences like these were left out.", more)
		    : 0;
}

static int few_samples(struct assembly *a)
{
	const struct stats *s = &a->stats;
	if (s->n == 1)
		return record_caveat(a->rec, "single_execution",
				     "One clean execution counts: its spread is not known, and no "
				     "interval can be given.");
	if (s->n >= 2 && s->ci_coverage < 0.95)
		return record_caveat(a->rec, "ci_not_95",
				     "With %zu clean executions the interval from the smallest to "
				     "the largest covers the "
				     "median with %.4g %%; 95 %% needs 6.",
				     s->n, 100 * s->ci_coverage);
	return 0;
}

static int bad_samples(struct assembly *a)
{
	const struct stats *s = &a->stats;
	int rc = 0;
	if (s->stable == NO)
		rc = record_caveat(a->rec, "unstable",
				   s->n >= 10 ? "The middle half of the clean executions spreads "
						"over %.3g %% of the median; "
						"5 %% is taken for stable."
					      : "The clean executions spread over %.3g %% of the "
						"median; 10 %% is taken for stable.",
				   100 * (s->n >= 10 ? s->iqr : s->spread));
	if (!rc && s->two_levels == YES)
		rc = record_caveat(a->rec, "two_levels",
				   "The clean executions fall into two groups more than 5 %% of "
				   "the median apart: the median "
				   "stands for neither.");
	if (!rc && s->drift == YES)
		rc = record_caveat(a->rec, "drift",
				   "The clean executions get %s one after the other: the machine "
				   "or the data changed meanwhile.",
				   a->rec->body.roi.runs_s.items[s->n - 1] >
						   a->rec->body.roi.runs_s.items[0]
					   ? "slower"
					   : "faster");
	return rc;
}

static int steps_differ(struct assembly *a)
{
	double first = NAN;
	for (size_t i = 0; i < a->n; i++) {
		double steps = a->all[i].used ? a->rec->body.executions.items[i].steps : NAN;
		if (!known(steps))
			continue;
		if (!known(first))
			first = steps;
		if (steps != first)
			return record_caveat(a->rec, "steps_differ_between_runs",
					     "The number of steps differs between the clean "
					     "executions (%.0f and %.0f).",
					     first, steps);
	}
	return 0;
}

/* ---- the application's own numbers, and what was declared
 * ------------------------------------------------ */

static int metric(struct assembly *a, const char *what, const char *prefix, const char *status,
		  size_t matched, const struct metric *(*of)(const struct worked *w))
{
	static const struct {
		enum metric_status status;
		const char *suffix, *text;
	} kinds[] = {
		{ METRIC_NOT_MATCHED, "not_matched", "its pattern is nowhere in the output" },
		{ METRIC_NOT_A_NUMBER, "not_a_number", "what its pattern found is not a number" },
		{ METRIC_OVERFLOWED, "overflowed",
		  "the output has stars in its place: the field was too narrow" },
		{ METRIC_LOG_MISSING, "log_missing", "there was no output to look in" },
		{ METRIC_TOO_COSTLY, "too_costly",
		  "the search came to its limit; make the pattern simpler" },
	};
	if (!status || strcmp(status, "none") == 0)
		return 0;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		size_t missing = 0;
		for (size_t i = 0; i < a->n; i++)
			missing += counts(&a->all[i]) && of(&a->all[i])->status == kinds[k].status;
		if (!missing)
			continue;
		char code[64];
		(void)snprintf(code, sizeof code, "%s_%s", prefix, kinds[k].suffix);
		return record_caveat(a->rec, code, "%s: %s in %zu of %zu clean executions.", what,
				     kinds[k].text, missing, missing + matched);
	}
	return 0;
}

static const struct metric *fom_of(const struct worked *w)
{
	return &w->seen->fom;
}

static const struct metric *own_timer_of(const struct worked *w)
{
	return &w->seen->own_timer;
}

static int own_numbers(struct assembly *a)
{
	const struct record_body *b = &a->rec->body;
	double differs = b->own_timer.roi_diff_frac;
	int rc = metric(a, "Figure of merit", "fom", b->fom.status, b->fom.runs.n, fom_of);
	if (!rc)
		rc = metric(a, "The application's own timer", "own_timer", b->own_timer.status,
			    b->own_timer.runs_s.n, own_timer_of);
	if (!rc && fabs(differs) > OWN_TIMER_LIMIT)
		rc = record_caveat(a->rec, "own_timer_differs",
				   "The region is %.3g %% %s than the application's own timer: "
				   "look where the marks are.",
				   100 * fabs(differs), differs > 0 ? "longer" : "shorter");
	return rc;
}

static int declared(struct assembly *a)
{
	const struct record_body *b = &a->rec->body;
	const char *verify = b->measurement.verify ? b->measurement.verify : "";
	int rc = 0;
	if (b->launcher.audit_ok == NO)
		rc = record_caveat(
			a->rec, "launcher_audit", "The launcher reports a wrong placement: %s",
			b->launcher.audit ? b->launcher.audit : "its summary is not clean");
	if (!rc && strcmp(verify, "none") == 0)
		rc = record_caveat(a->rec, "verify_none",
				   "Nothing checks the results of this input.");
	if (!rc && strcmp(verify, "skipped") == 0)
		rc = record_caveat(a->rec, "verify_skipped",
				   "The check of the results was switched off.");
	if (!rc && strcmp(verify, "inside") == 0)
		rc = record_caveat(
			a->rec, "verify_inside",
			"The check of the results runs inside the region and can't be taken out.");
	return rc;
}

/* What auto chose and nobody asked for: the result stands, and nothing of that execution is used. */
static int profile_failed(struct assembly *a)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < a->n; i++) {
		const struct worked *w = &a->all[i];
		if (w->stage != PROFILED || is_picture(a, w))
			continue;
		rc = record_caveat(
			a->rec, "profile_failed",
			"%s %s: nothing of it is used, so what the program did to device and "
			"files is not known. The clean executions were good.",
			w->seen->row.name, w->why ? w->why : w->status);
		if (!rc)
			rc = record_null(a->rec, "io", "lost");
	}
	return rc;
}

static int profile(struct assembly *a)
{
	const struct record_body *b = &a->rec->body;
	double ratio = b->roi.profiler_inflation;
	int rc = profile_failed(a);
	if (rc)
		return rc;
	if (!(b->measurement.profiled > 0))
		return record_caveat(
			a->rec, "not_profiled",
			"No execution was profiled%s%s: device and runtime are not known.",
			b->measurement.profile_reason ? ", " : "",
			b->measurement.profile_reason ? b->measurement.profile_reason : "");
	if (ratio > INFLATION_LIMIT * (1 + 1e-12))
		return record_caveat(
			a->rec, "profiler_inflation",
			"The region took %.3g times as long under the collector as clean.", ratio);
	if (ratio * INFLATION_LIMIT < 1 - 1e-12)
		return record_caveat(a->rec, "profiler_deflation",
				     "The region took only %.3g of its clean time under the "
				     "collector: shares of the two mix "
				     "different executions.",
				     ratio);
	return 0;
}

static int session(struct assembly *a)
{
	const struct record_body *b = &a->rec->body;
	int rc = 0;
	if (strcmp(b->status, "interrupted") == 0)
		rc = record_caveat(
			a->rec, "interrupted",
			"The run was interrupted; what stands here was measured before.");
	if (!rc && b->measurement.resumed == YES)
		rc = record_caveat(a->rec, "resumed",
				   "Some executions come from an earlier, interrupted session: the "
				   "machine may have changed.");
	return rc;
}

int put_caveats(struct assembly *a)
{
	/* The first five stand in the order of the published records. */
	int (*const each[])(struct assembly *) = {
		none,           unterminated,  lost_marks,   failed_waits, differences,
		many_processes, ranks_outside, damaged_logs, not_used,     notes,
		session,        few_samples,   bad_samples,  steps_differ, put_machine_caveats,
		own_numbers,    declared,      profile,
	};
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		int rc = each[i](a);
		if (rc)
			return rc;
	}
	return 0;
}
