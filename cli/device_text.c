/* Device lines of one record. */
#define _GNU_SOURCE
#include "cli/device_text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cli/words.h"
#include "lib/num.h"

#define OPS_MAX 5

static void put_busy(struct buf *b, const struct record_body *r)
{
	char busy[32], clean[32], profiled[32];
	const struct device *d = &r->device;
	buf_printf(b, "  %-11s busy %s", "device", num_duration(busy, d->busy_s));
	if (d->processes > 1)
		buf_printf(b, " in %.0f processes", d->processes);
	if (known(d->busy_frac_of_roi))
		buf_printf(b, ", %s %% of the clean region",
			   words_percent(clean, d->busy_frac_of_roi));
	if (known(d->busy_frac_of_profiled_roi))
		buf_printf(b, ", %s %% of the profiled one",
			   words_percent(profiled, d->busy_frac_of_profiled_roi));
	buf_printf(b, " (%s)\n", d->execution ? d->execution : r->measurement.collector);
}

static void put_category(struct buf *b, const char *name, double s, double ops, double bytes,
			 bool *ret_some)
{
	char text[32];
	if (!(ops > 0))
		return;
	buf_printf(b, "%s%s %s in %.0f", *ret_some ? ", " : "  work        ", name,
		   num_duration(text, s), ops);
	if (bytes > 0)
		buf_printf(b, " (%.4g MB)", bytes / 1e6);
	*ret_some = true;
}

static void put_categories(struct buf *b, const struct device *d)
{
	bool some = false;
	put_category(b, "compute", d->compute_s, d->compute_ops, NAN, &some);
	put_category(b, "copy_h2d", d->copy_h2d_s, d->copy_h2d_ops, d->copy_h2d_bytes, &some);
	put_category(b, "copy_d2h", d->copy_d2h_s, d->copy_d2h_ops, d->copy_d2h_bytes, &some);
	put_category(b, "copy_d2d", d->copy_d2d_s, d->copy_d2d_ops, d->copy_d2d_bytes, &some);
	put_category(b, "copy_other", d->copy_other_s, d->copy_other_ops, d->copy_other_bytes,
		     &some);
	put_category(b, "fill", d->fill_s, d->fill_ops, d->fill_bytes, &some);
	put_category(b, "collective", d->collective_s, d->collective_ops, NAN, &some);
	put_category(b, "other", d->other_s, d->other_ops, NAN, &some);
	if (some)
		buf_puts(b, "\n");
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
	if (!known(g->device_idle_s))
		return;
	buf_printf(b, "  %-11s %s under the collector: waiting for it", "idle",
		   num_duration(text, g->device_idle_s));
	buf_printf(b, " %s", known(g->sync_s) ? num_duration(text, g->sync_s) : "null");
	put_part(b, "in its runtime", g->api_s);
	put_part(b, "on the CPU", g->cpu_s);
	put_part(b, "off it", g->off_cpu_s);
	buf_puts(b, "\n");
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

void device_text(struct buf *b, const struct record_body *r)
{
	if (!(r->measurement.profiled > 0))
		return;
	if (known(r->device.busy_s))
		put_busy(b, r);
	else
		buf_printf(b, "  %-11s null (%s); the notes say why\n", "device",
			   r->measurement.collector ? r->measurement.collector : "?");
	put_categories(b, &r->device);
	put_gap(b, &r->gap);
	put_ops(b, r);
}
