/* Device lines of one record. */
#define _GNU_SOURCE
#include "cli/device_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/words.h"
#include "lib/num.h"

#define OPS_MAX 5

/* A line that is too long goes on below its own beginning. */
static void put_line(struct buf *b, const char *head, struct buf *text)
{
	char first[32];
	(void)snprintf(first, sizeof first, "  %-11s ", head);
	if (text->len)
		words_wrapped(b, first, "              ", text->data);
	b->failed |= text->failed;
	buf_done(text);
}

static void put_busy(struct buf *b, const struct record_body *r)
{
	char busy[32], clean[32], profiled[32];
	const struct device *d = &r->device;
	struct buf t = { 0 };
	buf_printf(&t, "busy %s", num_duration(busy, d->busy_s));
	if (d->processes > 1)
		buf_printf(&t, " in %.0f processes", d->processes);
	if (known(d->busy_frac_of_roi))
		buf_printf(&t, ", %s %% of the clean region",
			   words_percent(clean, d->busy_frac_of_roi));
	if (known(d->busy_frac_of_profiled_roi))
		buf_printf(&t, ", %s %% of the profiled one",
			   words_percent(profiled, d->busy_frac_of_profiled_roi));
	buf_printf(&t, " (%s)", d->execution ? d->execution : r->measurement.collector);
	put_line(b, "device", &t);
}

static void put_category(struct buf *b, const char *name, double s, double ops, double bytes)
{
	char text[32];
	if (!(ops > 0))
		return;
	buf_printf(b, "%s%s %s in %.0f", b->len ? ", " : "", name, num_duration(text, s), ops);
	if (bytes > 0)
		buf_printf(b, " (%s%s)", num_si(text, bytes), bytes >= 999.5 ? "B" : " B");
}

static void put_categories(struct buf *b, const struct device *d)
{
	struct buf t = { 0 };
	put_category(&t, "compute", d->compute_s, d->compute_ops, NAN);
	put_category(&t, "copy_h2d", d->copy_h2d_s, d->copy_h2d_ops, d->copy_h2d_bytes);
	put_category(&t, "copy_d2h", d->copy_d2h_s, d->copy_d2h_ops, d->copy_d2h_bytes);
	put_category(&t, "copy_d2d", d->copy_d2d_s, d->copy_d2d_ops, d->copy_d2d_bytes);
	put_category(&t, "copy_other", d->copy_other_s, d->copy_other_ops, d->copy_other_bytes);
	put_category(&t, "fill", d->fill_s, d->fill_ops, d->fill_bytes);
	put_category(&t, "collective", d->collective_s, d->collective_ops, NAN);
	put_category(&t, "other", d->other_s, d->other_ops, NAN);
	put_line(b, "work", &t);
}

static void put_part(struct buf *b, const char *name, double s)
{
	char text[32];
	if (known(s))
		buf_printf(b, ", %s %s", name, num_duration(text, s));
	else
		buf_printf(b, ", %s null", name);
}

static void put_gap(struct buf *b, const struct gap *g)
{
	char text[32];
	struct buf t = { 0 };
	if (!known(g->device_idle_s))
		return;
	buf_printf(&t, "%s under the collector: waiting for it",
		   num_duration(text, g->device_idle_s));
	buf_printf(&t, " %s", known(g->sync_s) ? num_duration(text, g->sync_s) : "null");
	put_part(&t, "in its runtime", g->api_s);
	put_part(&t, "on the CPU", g->cpu_s);
	put_part(&t, "off it", g->off_cpu_s);
	put_line(b, "idle", &t);
}

static void put_ops(struct buf *b, const struct record_body *r)
{
	char text[32], share[32];
	for (size_t i = 0; i < r->ops.n && i < OPS_MAX; i++) {
		const struct op *o = &r->ops.items[i];
		buf_printf(b, "  %-11s %s, %.0f times, %s %%: ", i ? "" : "operations",
			   num_duration(text, o->total_s), o->count,
			   words_percent(share, o->share));
		words_plain(b, o->name ? o->name : "?", o->name ? strnlen(o->name, 60) : 1);
		buf_puts(b, "\n");
	}
}

static void put_bytes(struct buf *b, const char *did, double bytes, double calls)
{
	char text[32];
	if (known(bytes) && known(calls))
		buf_printf(b, "%s%s %s%s in %.0f call%s", b->len ? ", " : "", did,
			   num_si(text, bytes), bytes >= 999.5 ? "B" : " B", calls,
			   calls == 1 ? "" : "s");
}

static void put_files(struct buf *b, const struct record_body *r)
{
	char text[32];
	const struct io *io = &r->io;
	struct buf t = { 0 };
	put_bytes(&t, "read", io->read_bytes, io->read_ops);
	put_bytes(&t, "written", io->write_bytes, io->write_ops);
	if (t.len && known(io->time_s))
		buf_printf(&t, ", %s in them", num_duration(text, io->time_s));
	put_line(b, "files", &t);
	if (io->capture && known(io->capture_bytes))
		buf_printf(b, "  %-11s %.0f calls in %s%s, %s%s\n", "capture", io->capture_calls,
			   num_si(text, io->capture_bytes),
			   io->capture_bytes >= 999.5 ? "B" : " B", io->capture,
			   io->capture_complete == NO ? " (incomplete)" : "");
}

void device_text(struct buf *b, const struct record_body *r)
{
	bool io_alone = r->measurement.collector && strcmp(r->measurement.collector, "io") == 0;
	if (!(r->measurement.profiled > 0))
		return;
	if (known(r->device.busy_s))
		put_busy(b, r);
	else if (!io_alone && r->measurement.profile_auto != YES)
		buf_printf(b, "  %-11s null (%s); the notes say why\n", "device",
			   r->measurement.collector ? r->measurement.collector : "?");
	put_categories(b, &r->device);
	put_gap(b, &r->gap);
	put_ops(b, r);
	put_files(b, r);
}
