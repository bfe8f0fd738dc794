/* What the device did: from the pictures of one profiled execution into the record, and what is to
 * be said where they and the marks of the same processes do not go together. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/assemble_impl.h"
#include "core/picture.h"
#include "lib/num.h"

#define REGION_LIMIT 0.01 /* of the marks' region */
#define REGION_LEAST_NS 20000

/* ---- which execution ----------------------------------------------------------------------------
 */

static bool observes(const struct picture *p)
{
	return p->whole.ops.items != NULL &&
	       (strcmp(p->status, "ok") == 0 || strcmp(p->status, "idle") == 0);
}

static double work_of(const struct observed *seen)
{
	double ops = 0;
	for (size_t i = 0; i < seen->n_pictures; i++) {
		const struct picture *p = seen->pictures[i];
		for (size_t c = 0; observes(p) && c < p->whole.ops.n; c++)
			ops += known(p->whole.ops.items[c]) ? p->whole.ops.items[c] : 0;
	}
	return ops;
}

static bool any_observes(const struct observed *seen)
{
	for (size_t i = 0; i < seen->n_pictures; i++)
		if (observes(seen->pictures[i]))
			return true;
	return false;
}

/* One that went well before one that did not, one that saw work before one that saw none. */
static int rank_of(const struct assembly *a, const struct worked *w)
{
	bool good = strcmp(w->status, "ok") == 0;
	if (!is_picture(a, w))
		return 0;
	if (!any_observes(w->seen))
		return good ? 2 : 1;
	return (good ? 5 : 3) + (work_of(w->seen) > 0);
}

const struct worked *device_execution(const struct assembly *a)
{
	const struct worked *best = NULL;
	for (size_t i = 0; i < a->n; i++)
		if (rank_of(a, &a->all[i]) > (best ? rank_of(a, best) : 0))
			best = &a->all[i];
	return best;
}

/* ---- what is to be said -------------------------------------------------------------------------
 */

static bool is_of(const struct picture *p, const struct roi_log *log)
{
	if (p->stream && log->stream)
		return strcmp(p->stream, log->stream) == 0;
	return p->pid && log->pid && strcmp(p->pid, log->pid) == 0;
}

/* The first picture of a process comes at the end of an entry of its region, or after a second. */
static const char *why_unseen(const struct worked *w)
{
	return strcmp(w->status, "ok") == 0
		       ? "or it was not loaded"
		       : "it was not loaded, or a process was killed before it wrote for the first "
			 "time (at the end of an entry, or after a second)";
}

static int unseen(struct assembly *a, const struct worked *w)
{
	size_t entered = 0, without = 0;
	for (size_t i = 0; i < w->seen->n_logs; i++) {
		bool seen = false;
		for (size_t k = 0; k < w->seen->n_pictures && !seen; k++)
			seen = is_of(w->seen->pictures[k], w->seen->logs[i]);
		entered += w->processes[i].entries > 0;
		without += w->processes[i].entries > 0 && w->seen->logs[i]->stream && !seen;
	}
	if (!without || !w->seen->n_pictures)
		return 0;
	if (known(a->rec->body.device.busy_s))
		a->rec->body.device.incomplete = YES;
	return record_caveat(
		a->rec, "device_unseen_ranks",
		"%s: of %zu of the %zu processes that entered the region the collector "
		"told nothing: they did not use the device, %s. They are in no share of the "
		"device.",
		w->seen->row.name, without, entered, why_unseen(w));
}

static int regions_differ(struct assembly *a, const struct worked *w)
{
	for (size_t i = 0; i < w->seen->n_logs; i++)
		for (size_t k = 0; k < w->seen->n_pictures; k++) {
			const struct picture *p = w->seen->pictures[k];
			double marks = (double)w->processes[i].wall_ns;
			double apart = fabs(p->wall_ns - marks);
			if (!is_of(p, w->seen->logs[i]) || p->found != YES ||
			    w->processes[i].unterminated ||
			    !(apart > fmax(REGION_LIMIT * marks, REGION_LEAST_NS)))
				continue;
			return record_caveat(
				a->rec, "device_region_differs",
				"%s: the collector clipped to a region of %.6g s in process %s, "
				"whose marks have %.6g s.",
				w->seen->row.name, p->wall_ns / 1e9, p->pid ? p->pid : "?",
				marks / 1e9);
		}
	return 0;
}

static int other_collectors(struct assembly *a, const struct worked *chosen)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct worked *w = &a->all[i];
		double ops = is_picture(a, w) && w != chosen ? work_of(w->seen) : 0;
		int rc = ops > 0 ? record_caveat(a->rec, "device_other_collectors",
						 "%s saw %.0f device operations, too: what stands "
						 "here is what %s saw.",
						 w->seen->row.name, ops, chosen->seen->row.name)
				 : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* In which way the device is not known. */
static const char *why_null(const struct observed *seen)
{
	const char *status = seen->n_pictures ? seen->pictures[0]->status : "";
	if (strcmp(status, "no_driver") == 0 || strcmp(status, "no_device") == 0)
		return "not_supported";
	if (strcmp(status, "refused") == 0)
		return "no_permission";
	return seen->n_pictures ? "lost" : "not_measured";
}

static int not_seen(struct assembly *a, const struct worked *w)
{
	static const char *const fields[] = { "device", "ops", "gap", "runtime_api",
					      "context.whole_process" };
	int rc = 0;
	for (size_t i = 0; !rc && i < sizeof fields / sizeof *fields; i++)
		rc = record_null(a->rec, fields[i], why_null(w->seen));
	/* io alone watches no device; and where auto looked on a machine without an accelerator, nobody
	 * expects that the processor was used as one. */
	const struct record_body *b = &a->rec->body;
	bool asked = strcmp(w->seen->row.name, "profiled.io") != 0 &&
		     !(b->measurement.profile_auto == YES && b->platform &&
		       strncmp(b->platform, "cpu-", 4) == 0);
	if (rc || w->seen->n_pictures || !asked)
		return rc;
	return record_caveat(a->rec, "device_not_observed",
			     "No process of %s told of a device: none used one that the collector "
			     "watches, %s.",
			     w->seen->row.name, why_unseen(w));
}

/* What put_caveats said already. */
static void drop_doubles(struct record_body *b, size_t from)
{
	size_t kept = from;
	for (size_t i = from; i < b->caveats.n; i++) {
		const struct caveat *c = &b->caveats.items[i];
		bool before = false;
		for (size_t k = 0; k < from && !before; k++)
			before = strcmp(b->caveats.items[k].code, c->code) == 0 &&
				 strcmp(b->caveats.items[k].text, c->text) == 0;
		if (!before)
			b->caveats.items[kept++] = *c;
	}
	b->caveats.n = kept;
}

int put_device_parts(struct assembly *a)
{
	struct record_body *b = &a->rec->body;
	const struct worked *w = device_execution(a);
	size_t before = b->caveats.n;
	if (!w)
		return 0;
	int rc = picture_put_record(a->rec, w->seen->pictures, w->seen->n_pictures, NULL);
	if (!rc && !any_observes(w->seen))
		return not_seen(a, w);
	if (!rc) {
		b->device.execution =
			record_text(a->rec, w->seen->row.name, strlen(w->seen->row.name));
		rc = b->device.execution ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = unseen(a, w);
	if (!rc)
		rc = regions_differ(a, w);
	if (!rc)
		rc = other_collectors(a, w);
	drop_doubles(b, before);
	return rc;
}
