/* One record, in a few lines. */
#include "cli/run_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/device_text.h"
#include "cli/words.h"
#include "lib/num.h"

#define INDENT "              "

static void put_sentence(struct buf *b, const char *head, const char *text)
{
	char first[32];
	(void)snprintf(first, sizeof first, "  %-11s ", head);
	words_wrapped(b, first, INDENT, text);
}

/* What most often lies behind a region that is not there at all, where nothing tells more. */
static void put_hint(struct buf *b, const struct record_body *r)
{
	const char *why = r->status_text ? strstr(r->status_text, "wrote no region log") : NULL;
	if (strcmp(r->status, "roi_missing") == 0 && why && !strchr(why, ':'))
		put_sentence(
			b, "hint",
			"Is the program marked with roimeter.h, does it come to its BEGIN with "
			"this "
			"input, and do scripts and launchers pass the variables ROIMETER_* on?");
	if (strcmp(r->status, "roi_missing") == 0 && r->status_text &&
	    strstr(r->status_text, "it made no NVTX or ROCTX range"))
		put_sentence(b, "hint",
			     "Many programs make ranges only if they were built or are called for "
			     "that; a static program's can't be seen. Else mark the region with "
			     "roimeter.h, or name a timer that it prints.");
}

static void put_region(struct buf *b, const struct record_body *r)
{
	char median[32], low[32], high[32], share[32];
	const struct roi *roi = &r->roi;
	if (!known(roi->wall_s))
		return;
	buf_printf(b, "  %-11s %s, median of %zu execution%s", "region",
		   num_duration(median, roi->wall_s), roi->runs_s.n, roi->runs_s.n == 1 ? "" : "s");
	if (roi->runs_s.n > 1)
		buf_printf(b, ": %s to %s, spread %s %%%s", num_duration(low, roi->min_s),
			   num_duration(high, roi->max_s), words_percent(share, roi->spread),
			   roi->stable == YES  ? ", stable"
			   : roi->stable == NO ? ", not stable"
					       : "");
	buf_puts(b, "\n");
	if (roi->ci95_s.n == 2)
		buf_printf(b, "  %-11s %s to %s holds the median with a probability of %.3g %%\n",
			   "interval", num_duration(low, roi->ci95_s.items[0]),
			   num_duration(high, roi->ci95_s.items[1]), 100 * roi->ci95_coverage);
}

static void put_process(struct buf *b, const struct record_body *r)
{
	char wall[32], pre[32], post[32];
	const struct context *c = &r->context;
	if (!known(c->process_wall_s))
		return;
	buf_printf(b, "  %-11s %s", "process", num_duration(wall, c->process_wall_s));
	if (known(r->roi.wall_s) && c->process_wall_s > 0)
		buf_printf(b, ", of it %.3g %% in the region",
			   100 * r->roi.wall_s / c->process_wall_s);
	if (known(c->pre_roi_s) && known(c->post_roi_s))
		buf_printf(b, "; %s before, %s after", num_duration(pre, c->pre_roi_s),
			   num_duration(post, c->post_roi_s));
	buf_puts(b, "\n");
}

static void put_marks(struct buf *b, const struct record_body *r)
{
	char text[32];
	const struct roi *roi = &r->roi;
	bool many = roi->processes > 1;
	if (known(roi->entries) &&
	    (roi->entries > 1 || many || roi->excluded_s > 0 || roi->steps > 0)) {
		buf_printf(b, "  %-11s %.0f entr%s", "marks", roi->entries,
			   roi->entries == 1 ? "y" : "ies");
		if (many)
			buf_printf(b, ", %.0f processes", roi->processes);
		if (many && known(roi->imbalance_s))
			buf_printf(b, " (slowest - fastest: %s)",
				   num_duration(text, roi->imbalance_s));
		if (roi->excluded_s > 0)
			buf_printf(b, ", %s excluded", num_duration(text, roi->excluded_s));
		if (roi->steps > 0)
			buf_printf(b, ", %.0f steps of %s", roi->steps,
				   num_duration(text, roi->step_s));
		buf_puts(b, "\n");
	}
}

static void put_numbers(struct buf *b, const struct record_body *r)
{
	char text[32];
	const struct fom *f = &r->fom;
	const struct own_timer *o = &r->own_timer;
	if (known(f->value))
		buf_printf(b, "  %-11s %.6g %s%s%s%s\n", "FOM", f->value, f->unit ? f->unit : "",
			   f->name ? " (" : "", f->name ? f->name : "", f->name ? ")" : "");
	if (known(o->value_s)) {
		buf_printf(b, "  %-11s %s", "own timer", num_duration(text, o->value_s));
		if (known(o->roi_diff_frac))
			buf_printf(b, "; the region differs by %s%s %%",
				   o->roi_diff_frac < 0 ? "" : "+",
				   words_percent(text, o->roi_diff_frac));
		buf_puts(b, "\n");
	}
}

void run_text(struct buf *b, const struct record *rec)
{
	const struct record_body *r = &rec->body;
	buf_printf(b, "%s/%s on %s: %s\n", r->app, r->case_, r->platform, r->status);
	if (r->status_text)
		put_sentence(b, "why", r->status_text);
	put_hint(b, r);
	put_region(b, r);
	put_marks(b, r);
	put_process(b, r);
	put_numbers(b, r);
	device_text(b, r);
	for (size_t i = 0; i < r->executions.n; i++)
		if (r->executions.items[i].output_tail && strcmp(r->status, "ok") != 0) {
			buf_printf(b, "  %-11s last lines of %s:\n", "output",
				   r->executions.items[i].name);
			words_quoted_lines(b, r->executions.items[i].output_tail);
			break;
		}
	for (size_t i = 0; i < r->caveats.n; i++)
		put_sentence(b, "note", r->caveats.items[i].text);
	buf_printf(b, "  %-11s %s\n", "run", r->run_id);
}
