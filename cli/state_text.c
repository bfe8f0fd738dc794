/* Numbers with the unit of the largest, so that least, mean and most can be compared at a glance.
 */
#include "cli/state_text.h"

#include <string.h>

#include "lib/num.h"

static void put_separator(struct buf *b)
{
	if (b->len)
		buf_puts(b, ", ");
}

/* "clock 1.20 to 1.98 GHz (mean 1.60)"; one number where they are all the same. */
static void put_range(struct buf *b, const char *label, double min, double mean, double max,
		      double scale, const char *unit)
{
	if (!known(mean))
		return;
	put_separator(b);
	buf_puts(b, label);
	if (min == max)
		buf_printf(b, "%.4g %s", mean / scale, unit);
	else
		buf_printf(b, "%.4g to %.4g %s (mean %.4g)", min / scale, max / scale, unit,
			   mean / scale);
}

static void put_throttled(struct buf *b, const struct device_state *s)
{
	if (!known(s->throttled_frac))
		return;
	if (s->throttled_frac == 0) {
		buf_puts(b, "; nothing held it down");
		return;
	}
	buf_printf(b, "; held down in %.3g %% of the looks by ", 100 * s->throttled_frac);
	for (size_t i = 0; i < s->throttle_reasons.n; i++) {
		buf_puts(b, i ? ", " : "");
		for (const char *p = s->throttle_reasons.items[i]; *p; p++)
			buf_put(b, *p == '_' ? " " : p, 1);
	}
}

static const char *status_words(const char *status)
{
	static const char *const words[][2] = {
		{ "too_short", "the region was over before a look at it" },
		{ "not_ready", "its driver had not answered yet" },
		{ "no_answer", "its driver gave no answer" },
		{ "gone", "it was gone from its driver" },
	};
	for (size_t i = 0; status && i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], status) == 0)
			return words[i][1];
	return NULL;
}

void state_text_device(struct buf *b, const struct device_state *s)
{
	const char *words = status_words(s->status);
	struct buf text = { 0 };
	put_range(&text, "clock ", s->clock_min_hz, s->clock_mean_hz, s->clock_max_hz, 1e9, "GHz");
	put_range(&text, "", s->power_min_w, s->power_mean_w, s->power_max_w, 1, "W");
	put_range(&text, "", s->temperature_min_c, s->temperature_mean_c, s->temperature_max_c, 1,
		  "C");
	put_throttled(&text, s);
	if (s->others > 0)
		buf_printf(&text, "; up to %.0f other process%s on it", s->others,
			   s->others == 1 ? "" : "es");
	if (s->samples > 0)
		buf_printf(&text, " (%.0f looks, %s)", s->samples,
			   s->within && strcmp(s->within, "region") == 0 ? "in the region"
									 : "whole execution");
	if (words)
		buf_printf(&text, "%s%s", text.len ? "; " : "", words);
	if (text.failed)
		b->failed = true;
	buf_puts(b, text.data ? text.data : "");
	buf_done(&text);
}

void state_text_cpu(struct buf *b, const struct context *c)
{
	char number[32];
	struct buf text = { 0 };
	put_range(&text, "", c->cpu_khz_min, c->cpu_khz_mean, c->cpu_khz_max, 1e6, "GHz");
	if (known(c->temperature_c)) {
		put_separator(&text);
		buf_printf(&text, "up to %.4g C", c->temperature_c);
	}
	if (known(c->cpu_energy_j)) {
		put_separator(&text);
		buf_printf(&text, "%s%sJ an execution", num_si(number, c->cpu_energy_j),
			   c->cpu_energy_j < 999.5 ? " " : "");
	}
	if (known(c->cpu_throttles)) {
		put_separator(&text);
		if (c->cpu_throttles > 0)
			buf_printf(&text, "slowed down by heat %.0f times", c->cpu_throttles);
		else
			buf_puts(&text, "not slowed down by heat");
	}
	if (text.failed)
		b->failed = true;
	buf_puts(b, text.data ? text.data : "");
	buf_done(&text);
}
