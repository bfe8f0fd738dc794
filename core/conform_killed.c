/* Processes that are ended by SIGKILL: what was finished is there, what nobody can know is not
 * said, nothing is invented, and the record says that it is not whole. */
#include <math.h>
#include <string.h>

#include "core/conform.h"
#include "lib/num.h"

/* The killed execution fails the run: a clean one where there is no collector. */
static void status(struct conform *c, const struct conform_seen *seen, bool none)
{
	const char *wanted = none ? "clean_failed" : "profiled_failed";
	const char *is = seen->record->status ? seen->record->status : "null";
	char *detail = arena_printf(c->arena, "the run's status must be %s, and is %s", wanted, is);
	conform_verdict(conform_add(c, seen->part, "status", detail), strcmp(is, wanted) == 0);
}

/* Where an entry never ended there is no time of the region. */
static void region(struct conform *c, const struct conform_seen *seen, const struct execution *e,
		   bool ended)
{
	struct check *k =
		conform_add(c, seen->part, "region",
			    ended ? "the region had ended, so its time is known"
				  : "the region never ended, so no time of it may be said");
	double roi_s = e ? e->roi_s : (double)NAN;
	k->unit = "s";
	k->value = roi_s;
	conform_verdict(k, e && (ended ? roi_s > 0 : !known(roi_s)));
}

static bool explained(const struct record_body *r, const char *field)
{
	for (size_t i = 0; i < r->nulls.n; i++)
		if (r->nulls.items[i].field && strcmp(r->nulls.items[i].field, field) == 0)
			return true;
	return false;
}

/* Where there was no time to write a picture there is no number, and the reason for it. */
static void incomplete(struct conform *c, const struct conform_seen *seen)
{
	const struct record_body *r = seen->record;
	bool io = conform_is(seen, "io");
	bool said = conform_said(r, io ? "io_not_final" : "picture_not_final");
	bool good = said && (io ? r->io.incomplete : r->device.incomplete) == YES;
	double seen_ops = io ? r->io.whole.write_ops : r->device.compute_ops;
	if (seen->end == CONFORM_KILLED_AT_ONCE && !known(seen_ops))
		good = said || explained(r, io ? "io" : "device");
	conform_verdict(conform_add(c, seen->part, "incomplete",
				    "the record must say that its last picture is from before the "
				    "end, and that it is incomplete; or why there is none"),
			good);
}

void conform_killed(struct conform *c, const struct conform_seen *seen,
		    const struct conform_want *want)
{
	const struct execution *e = conform_execution(seen);
	bool none = conform_is(seen, "none"), ended = seen->end == CONFORM_KILLED_AFTER;
	status(c, seen, none);
	conform_near(c, seen, "signal", "1", e ? e->signal : (double)NAN, 9, 0,
		     "signal that ended the process: SIGKILL");
	conform_near(c, seen, "entries", "1", e ? e->entries : (double)NAN, want->entries, 0,
		     "entries into the region, up to then");
	conform_near(c, seen, "steps", "1", e ? e->steps : (double)NAN, want->steps, 0,
		     "steps that were marked, up to then");
	conform_near(c, seen, "unfinished", "1", e ? e->unfinished : (double)NAN,
		     ended ? 0 : want->processes, 0, "processes whose region never ended");
	region(c, seen, e, ended);
	if (none) {
		conform_add(c, seen->part, "operations",
			    "no collector was used, and only one can see these")
			->verdict = "skipped";
		return;
	}
	if (conform_is(seen, "io"))
		conform_files(c, seen, want);
	else
		conform_operations(c, seen, want);
	incomplete(c, seen);
}
