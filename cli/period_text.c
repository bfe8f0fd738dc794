/* The answer first, then what it is made of, the widths one by one, the phases. */
#define _GNU_SOURCE
#include "cli/period_text.h"

#include <stdio.h>
#include <string.h>

#include "cli/table.h"
#include "cli/words.h"
#include "lib/num.h"

#define PHASES_SHOWN 20

static const char *bytes_text(char text[32], double bytes)
{
	char number[32];
	(void)num_si(number, bytes); /* "1.31 G", "245" */
	(void)snprintf(text, 32, "%.20s%s", number, strchr(number, ' ') ? "B" : " B");
	return text;
}

static void headline(struct buf *b, const struct period *p)
{
	char a[32], c[32];
	if (!p->why_not) {
		buf_printf(b, "period %s", num_duration(a, p->period_s));
		if (known(p->error_s))
			buf_printf(b, " +- %s", num_duration(c, p->error_s));
		buf_printf(b, "  (%.4g Hz), confidence %.2f", p->frequency_hz, p->confidence);
	} else {
		buf_printf(b, "no period: %s", p->why_not);
	}
}

static void evidence(struct buf *b, const struct period *p)
{
	char a[32], c[32];
	buf_printf(b, "  %-20s %s to %s, %s\n", "looked at", num_duration(a, p->begin_s),
		   num_duration(c, p->end_s), bytes_text((char[32]){ 0 }, p->bytes));
	if (!known(p->best_hz))
		return;
	if (p->why_not)
		buf_printf(b, "  %-20s %s (%.4g Hz)\n", "best candidate",
			   num_duration(a, 1 / p->best_hz), p->best_hz);
	buf_printf(b, "  %-20s %.1f, of which %zu moved bytes\n", "cycles", p->cycles, p->filled);
	buf_printf(b, "  %-20s %.2g that a flow without a period shows as much\n", "chance",
		   p->chance);
	buf_printf(b, "  %-20s %.0f %% lies in it and its harmonics\n", "of the variation",
		   p->share * 100);
	if (known(p->correlation))
		buf_printf(b, "  %-20s %.2f one period later\n", "like itself", p->correlation);
}

static void rates(struct buf *b, const struct period *p)
{
	static const struct text_column columns[] = {
		{ "rate", true },   { "bins", true },    { "frequency", true },
		{ "period", true }, { "agrees", false },
	};
	struct text_table t = { .columns = columns, .n_columns = sizeof columns / sizeof *columns };
	char text[32];
	for (size_t i = 0; i < p->n_rates; i++) {
		const struct period_rate *r = &p->rates[i];
		text_cellf(&t, "%.4g Hz", r->rate_hz);
		text_cellf(&t, "%zu", r->bins);
		if (known(r->frequency_hz)) {
			text_cellf(&t, "%.4g Hz", r->frequency_hz);
			text_cell(&t, num_duration(text, 1 / r->frequency_hz));
		} else {
			text_cell(&t, NULL);
			text_cell(&t, NULL);
		}
		text_cell(&t, !known(p->best_hz) ? NULL
			      : r->agrees == YES ? "yes"
			      : r->agrees == NO  ? "no"
						 : "too wide to see it");
	}
	if (p->n_rates)
		buf_puts(b, "\nEach width of bins by itself\n");
	text_table_put(&t, "  ", b);
}

static void phases(struct buf *b, const struct period *p)
{
	static const struct text_column columns[] = {
		{ "begin", true },
		{ "end", true },
		{ "bytes", true },
		{ "bandwidth", true },
	};
	struct text_table t = { .columns = columns, .n_columns = sizeof columns / sizeof *columns };
	size_t shown = p->n_phases < PHASES_SHOWN ? p->n_phases : PHASES_SHOWN;
	char text[32];
	for (size_t i = 0; i < shown; i++) {
		const struct period_phase *f = &p->phases[i];
		text_cellf(&t, "%.4f s", f->begin_s);
		text_cellf(&t, "%.4f s", f->end_s);
		text_cell(&t, bytes_text(text, f->bytes));
		if (f->end_s > f->begin_s)
			text_cellf(&t, "%s/s",
				   bytes_text(text, f->bytes / (f->end_s - f->begin_s)));
		else
			text_cell(&t, NULL);
	}
	if (shown)
		buf_printf(b, "\nPhases of I/O: %zu\n", p->n_phases);
	text_table_put(&t, "  ", b);
	if (shown < p->n_phases)
		buf_printf(b, "  and %zu more: --format csv has all\n", p->n_phases - shown);
}

void period_text(struct buf *b, const struct period_answer *a)
{
	static const char *const names[] = { "reads", "writes" };
	buf_printf(b, "%s, %s%s%s: ", a->of,
		   strcmp(a->direction, "both") == 0   ? "all bytes"
		   : strcmp(a->direction, "read") == 0 ? "reads"
						       : "writes",
		   a->source ? " of " : "", a->source ? a->source : "");
	headline(b, a->p);
	buf_puts(b, "\n");
	for (int i = 0; i < 2; i++)
		if (a->alone[i]) {
			buf_printf(b, "  %s alone: ", names[i]);
			headline(b, a->alone[i]);
			buf_puts(b, "\n");
		}
	if (a->aside)
		words_wrapped(b, "  ", "  ", a->aside);
	if (!(a->p->bytes > 0))
		return;
	buf_puts(b, "\n");
	evidence(b, a->p);
	rates(b, a->p);
	phases(b, a->p);
}

/* ---- CSV -----------------------------------------------------------------------------------------
 */

void period_csv(struct buf *b, const struct period_answer *a)
{
	buf_puts(b, "phase,begin_s,end_s,bytes\n");
	for (size_t i = 0; i < a->p->n_phases; i++) {
		const struct period_phase *f = &a->p->phases[i];
		buf_printf(b, "%zu,%.15g,%.15g,%.15g\n", i + 1, f->begin_s, f->end_s, f->bytes);
	}
}
