/* Pictures into a record: the sums, and a sentence for each limit of them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/assemble.h"
#include "core/picture_impl.h"
#include "lib/num.h"

#define NOTES_MAX 8
#define CLOCK_LIMIT 0.01 /* of the region */

struct saying {
	struct record *rec;
	const struct picture *const *pictures;
	size_t n;
	const struct clip *clip;
};

static const char *name_of(const struct picture *p, char text[160])
{
	bool ranked = p->rank && strcmp(p->rank, "-") != 0;
	(void)snprintf(text, 160, "process %.20s%s%.20s%s%s%.64s", p->pid ? p->pid : "?",
		       ranked ? " (rank " : "", ranked ? p->rank : "", ranked ? ")" : "",
		       p->host ? " on " : "", p->host ? p->host : "");
	return text;
}

static const char *status_text(const char *status)
{
	static const char *const texts[][2] = {
		{ "no_driver", "there is no driver of the device" },
		{ "no_device", "there is no device" },
		{ "busy", "another profiler is attached" },
		{ "refused", "the driver or the system refused it" },
		{ "failed", "the collector failed" },
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(status, texts[i][0]) == 0)
			return texts[i][1];
	return "the collector saw nothing";
}

static bool same_reason(const struct picture *a, const struct picture *b)
{
	const char *x = a->why ? a->why : "", *y = b->why ? b->why : "";
	return strcmp(a->status, b->status) == 0 && strcmp(x, y) == 0;
}

/* One sentence for each reason, with how many processes have it. */
static int not_observed(struct saying *s, size_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct picture *p = s->pictures[i];
		size_t same = 0, before = 0;
		char name[160];
		if (picture_observes(p))
			continue;
		++*ret;
		for (size_t k = 0; k < s->n; k++) {
			bool is =
				!picture_observes(s->pictures[k]) && same_reason(p, s->pictures[k]);
			same += is;
			before += is && k < i;
		}
		if (before)
			continue;
		int rc = record_caveat(
			s->rec, "device_not_observed",
			"%s could not observe the device in %zu process%s (%s): %s%s%s.",
			p->collector, same, same == 1 ? "" : "es", name_of(p, name),
			status_text(p->status), p->why ? ": " : "", p->why ? p->why : "");
		if (rc)
			return rc;
	}
	return 0;
}

static int not_final(struct saying *s, size_t *ret)
{
	const struct picture *first = NULL;
	char name[160];
	*ret = 0;
	for (size_t i = 0; i < s->n; i++)
		if (picture_observes(s->pictures[i]) && s->pictures[i]->final == NO) {
			first = first ? first : s->pictures[i];
			++*ret;
		}
	if (!first)
		return 0;
	return record_caveat(
		s->rec, "picture_not_final",
		"The last that came of the device of %zu process%s (%s) is from before "
		"its end: what it did after that is not in these numbers.",
		*ret, *ret == 1 ? "" : "es", name_of(first, name));
}

static double sum_over(const struct saying *s, double (*f)(const struct picture *p))
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++) {
		double x = picture_observes(s->pictures[i]) ? f(s->pictures[i]) : NAN;
		sum += known(x) ? x : 0;
	}
	return sum;
}

static double late_marks(const struct picture *p)
{
	return p->late_marks;
}

static double late_calls(const struct picture *p)
{
	return p->late_calls;
}

static int lost(struct saying *s)
{
	const struct clip *c = s->clip;
	double marks = sum_over(s, late_marks), calls = sum_over(s, late_calls);
	int rc = 0;
	if (c->late > 0)
		rc = record_caveat(s->rec, "late_operations",
				   "%.0f device operations came too late for the unions (busy "
				   "times); they are in all sums.",
				   c->late);
	if (!rc && marks > 0)
		rc = record_caveat(
			s->rec, "late_marks",
			"%.0f marks came after device operations of their time had been "
			"counted: the region of the device's numbers is not exactly that "
			"of the marks.",
			marks);
	if (!rc && calls > 0)
		rc = record_caveat(s->rec, "late_calls",
				   "%.0f runtime calls or stretches of threads came too late for "
				   "the parts of the gap.",
				   calls);
	if (!rc && c->pending > 0)
		rc = record_caveat(s->rec, "pending_operations",
				   "%.0f device operations were under way when the last picture "
				   "was made; they are in no count.",
				   c->pending);
	if (!rc && c->graphs > 0)
		rc = record_caveat(s->rec, "graphs_as_a_whole",
				   "%.0f launches of graphs were recorded as a whole: the "
				   "operations in them are not told apart.",
				   c->graphs);
	if (!rc && c->names_folded > 0)
		rc = record_caveat(s->rec, "operation_names_folded",
				   "The names of %.0f operations had no room; they are "
				   "\"(others)\" in the table.",
				   c->names_folded);
	return rc;
}

static int bounds(struct saying *s)
{
	const struct clip *c = s->clip;
	int rc = 0;
	if (c->found && c->closed_ns)
		rc = record_caveat(s->rec, "union_is_bound",
				   "Busy times over several processes are upper bounds, each too "
				   "large by at most %.6g s: not all ranges could be kept.",
				   (double)c->closed_ns / 1e9);
	if (!rc && c->found && c->nodes > 1)
		rc = record_caveat(s->rec, "several_nodes",
				   "The processes are on %zu nodes, whose clocks are not compared: "
				   "how long any device of the job was busy is not known.",
				   c->nodes);
	return rc;
}

/* The largest doubt about where on the marks' clock the device's times are. */
static int clocks(struct saying *s)
{
	double error = 0, drift = 0, region = (double)s->clip->wall_ns;
	for (size_t i = 0; i < s->n; i++) {
		const struct picture *p = s->pictures[i];
		if (!picture_observes(p))
			continue;
		error = fmax(error, known(p->clock_error_ns) ? p->clock_error_ns : 0);
		drift = fmax(drift, known(p->clock_drift_ns) ? fabs(p->clock_drift_ns) : 0);
	}
	if (!s->clip->found || (error <= CLOCK_LIMIT * region && drift <= CLOCK_LIMIT * region))
		return 0;
	return record_caveat(
		s->rec, "device_clock",
		"The device's clock could be compared with that of the marks within "
		"%.3g s, and moved by %.3g s against it: that is more than 1 %% of the "
		"region.",
		error / 1e9, drift / 1e9);
}

static bool said(const struct record *rec, const char *code, const char *text)
{
	const struct record_body *b = &rec->body;
	for (size_t i = 0; i < b->caveats.n; i++)
		if (strcmp(b->caveats.items[i].code, code) == 0 &&
		    strcmp(b->caveats.items[i].text, text) == 0)
			return true;
	return false;
}

/* The collector's own sentences, each once. */
static int notes(struct saying *s)
{
	size_t told = 0, more = 0;
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->pictures[i]->notes.n; k++) {
			char text[1024];
			(void)snprintf(text, sizeof text, "%s: %s", s->pictures[i]->collector,
				       s->pictures[i]->notes.items[k]);
			if (said(s->rec, "collector_note", text))
				continue;
			if (told++ >= NOTES_MAX) {
				more++;
				continue;
			}
			int rc = record_caveat(s->rec, "collector_note", "%s", text);
			if (rc)
				return rc;
		}
	return more ? record_caveat(s->rec, "collector_note",
				    "%zu more sentences of the collector were left out.", more)
		    : 0;
}

static int say(struct saying *s)
{
	size_t blind = 0, open = 0;
	int rc = not_observed(s, &blind);
	if (!rc)
		rc = not_final(s, &open);
	if (!rc)
		rc = lost(s);
	if (!rc)
		rc = bounds(s);
	if (!rc)
		rc = clocks(s);
	if (!rc)
		rc = notes(s);
	if (s->clip->found && (blind || open || sum_over(s, late_marks) > 0))
		s->rec->body.device.incomplete = YES;
	return rc;
}

int picture_put_record(struct record *rec, const struct picture *const *pictures, size_t n,
		       struct err *err)
{
	struct clip clip;
	struct arena a = { 0 };
	int rc = picture_merge(pictures, n, &a, &clip, err);
	if (!rc) {
		struct saying s = { .rec = rec, .pictures = pictures, .n = n, .clip = &clip };
		rec->body.observer.collector_cpu_s = num15(clip.collector_cpu_s);
		rec->body.observer.collector_roi_cpu_s = num15(clip.collector_roi_cpu_s);
		rc = clip_put_sums(rec, &clip);
		if (!rc)
			rc = say(&s);
		if (rc)
			rc = err_set(err, rc, "out of memory");
	}
	arena_free(&a);
	return rc;
}
