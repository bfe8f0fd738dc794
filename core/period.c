/* The candidate that explains most of the flow over all widths of bins, and whether to believe it.
 */
#include "core/period.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/period_impl.h"
#include "core/spectrum.h"
#include "lib/num.h"

#define CHANCE_MAX 0.01
#define GAP_CHANCE_MAX 0.001
#define DOUBT 20    /* fitted: docs/period.md */
#define BINS_MIN 32 /* of the widest; doubled up to BINS_FINE, then fourfold: for long runs */
#define BINS_FINE 2048
#define BINS_MAX 32768
#define NOTHING 1e-9 /* of a score: rounding of a steady flow */
#define ONE_BURST "it is one burst, or a steady flow"
#define SEEN 0.45      /* of a rate, the highest frequency that it tells from others */
#define CYCLES_MIN 1.9 /* three bursts are two cycles and the length of a burst */

struct search {
	const struct period_piece *pieces;
	size_t n_pieces;
	const struct period_options *options;
	struct spectrum rates[PERIOD_RATES];
	size_t n_rates;
	struct period *found;
	double span_s;
};

/* ---- widths of bins -----------------------------------------------------------------------------
 */

static int span(struct search *s)
{
	struct period *p = s->found;
	double begin = INFINITY, end = -INFINITY;
	for (size_t i = 0; i < s->n_pieces; i++) {
		const struct period_piece *at = &s->pieces[i];
		if (!isfinite(at->begin_s) || !isfinite(at->end_s) || !isfinite(at->bytes) ||
		    at->bytes < 0 || at->end_s < at->begin_s)
			return -EINVAL;
		if (at->bytes > 0) {
			begin = fmin(begin, at->begin_s);
			end = fmax(end, at->end_s);
			p->bytes += at->bytes;
		}
	}
	if (p->bytes > 0) {
		p->begin_s = begin;
		p->end_s = end;
		s->span_s = end - begin;
	}
	return isfinite(p->bytes) ? 0 : -EINVAL;
}

static int add_rate(struct search *s, double bins)
{
	struct period *p = s->found;
	if (s->options->resolution_s > 0) /* nothing is known within the bins that came */
		bins = fmin(bins, floor(s->span_s / s->options->resolution_s + 0.5));
	bins = fmin(bins, SPECTRUM_BINS);
	if (bins < 8 ||
	    (p->n_rates && bins <= (double)p->rates[p->n_rates - 1].bins && !s->options->rates_hz))
		return 0;
	struct spectrum *sp = &s->rates[p->n_rates];
	int rc = spectrum_of(sp, s->pieces, s->n_pieces, p->begin_s, s->span_s, (size_t)bins);
	if (rc)
		return rc;
	p->rates[p->n_rates++] = (struct period_rate){ .rate_hz = sp->rate_hz,
						       .bins = sp->n_bins,
						       .frequency_hz = NAN,
						       .share = NAN,
						       .agrees = UNKNOWN };
	return 0;
}

static int add_rates(struct search *s)
{
	int rc = 0;
	/* Few pieces have nothing that finer bins would show. */
	double most = fmin(BINS_MAX, fmax(BINS_FINE, 16 * (double)s->n_pieces));
	if (s->options->rates_hz)
		for (size_t i = 0; i < s->options->n_rates && !rc; i++)
			rc = add_rate(s, ceil(s->span_s * s->options->rates_hz[i]));
	else
		for (double bins = BINS_MIN; bins <= most && !rc; bins *= bins < BINS_FINE ? 2 : 4)
			rc = add_rate(s, bins);
	return rc;
}

/* ---- candidates ---------------------------------------------------------------------------------
 */

/* The widths that can see it, together. */
static double together(const struct search *s, double hz)
{
	double sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < s->found->n_rates; i++)
		if (hz <= SEEN * s->rates[i].rate_hz) {
			sum += spectrum_family(&s->rates[i], hz).score;
			n++;
		}
	return n ? sum / (double)n : 0;
}

static double best_of_all(const struct search *s)
{
	double most = 0, best = NAN, highest = 0;
	for (size_t i = 0; i < s->found->n_rates; i++)
		highest = fmax(highest, SEEN * s->rates[i].rate_hz);
	for (double hz = CYCLES_MIN / s->span_s; hz <= highest; hz += 0.25 / s->span_s) {
		double score = together(s, hz);
		if (score > most) {
			most = score;
			best = hz;
		}
	}
	return most > NOTHING ? best : NAN;
}

/* Bins an eighth of a period wide or less, but no finer than they need be: burst's insides are
 * another matter. The finest where none is. */
static const struct spectrum *matched(const struct search *s, double hz)
{
	const struct spectrum *best = NULL;
	for (size_t i = 0; i < s->found->n_rates; i++) {
		const struct spectrum *at = &s->rates[i];
		bool fits = at->rate_hz >= 16 * hz, best_fits = best && best->rate_hz >= 16 * hz;
		if (!best || (fits && (!best_fits || at->rate_hz < best->rate_hz)) ||
		    (!fits && !best_fits && at->rate_hz > best->rate_hz))
			best = at;
	}
	return best;
}

/* The top of the peak, finer than the lines lie. */
static double sharpened(const struct spectrum *sp, double hz)
{
	unsigned lines = spectrum_family(sp, hz).lines;
	double step = 0.25 / sp->span_s / 8, best = hz;
	for (int round = 0; round < 3; round++) {
		double from = best - 8 * step, most = 0;
		for (int k = 0; k <= 16; k++) {
			double at = from + k * step, power = spectrum_at(sp, at, lines);
			if (power > most) {
				most = power;
				best = at;
			}
		}
		step /= 8;
	}
	return best;
}

static void best_of_rate(const struct search *s, size_t i)
{
	const struct spectrum *sp = &s->rates[i];
	double most = NOTHING, best = NAN;
	for (double hz = CYCLES_MIN / s->span_s; hz <= SEEN * sp->rate_hz; hz += 0.25 / s->span_s) {
		struct family f = spectrum_family(sp, hz);
		if (f.score > most) {
			most = f.score;
			best = hz;
		}
	}
	s->found->rates[i].frequency_hz = known(best) ? sharpened(sp, best) : NAN;
}

/* ---- belief -------------------------------------------------------------------------------------
 */

/* A rate's own answer is in the family of the answer: the same, or one of its first harmonics or
 * the other way round. */
static bool same_family(double span_s, double a, double b)
{
	double low = fmin(a, b), high = fmax(a, b), times = round(high / low);
	return times <= 3 && fabs(high - times * low) <= 0.75 * times / span_s;
}

static void ask_rates(struct search *s)
{
	struct period *p = s->found;
	size_t asked = 0, agree = 0;
	for (size_t i = 0; i < p->n_rates; i++) {
		struct period_rate *r = &p->rates[i];
		best_of_rate(s, i);
		if (p->best_hz > SEEN * r->rate_hz)
			continue;
		r->share = spectrum_family(&s->rates[i], p->best_hz).share;
		r->agrees = known(r->frequency_hz) &&
			    same_family(s->span_s, r->frequency_hz, p->best_hz);
		asked++;
		agree += r->agrees == YES;
	}
	p->agreement = asked ? (double)agree / (double)asked : NAN;
}

/* That at least this share falls on the lines of a flow without a period: there each independent
 * line of the band has an exponential share. Once for each candidate that was as good before
 * looking. */
static double chance(const struct family *f, double cycles)
{
	double lines = f->weight, others = lines / f->expected - lines;
	double one = period_beta(1 - f->share, others, lines);
	return -expm1(fmax(1, cycles) * log1p(-fmin(one, 1 - 1e-16)));
}

static void judge(struct search *s)
{
	struct period *p = s->found;
	const struct spectrum *sp = matched(s, p->best_hz);
	struct family f = spectrum_family(sp, p->best_hz);
	p->cycles = s->span_s * p->best_hz;
	p->chance = chance(&f, p->cycles);
	p->share = fmax(0, (f.share - f.expected) / (1 - f.expected));
}

/* Bursts follow each other as evenly as the candidate says, whatever its lines are. */
static bool even(const struct period *p)
{
	return p->gap_chance <= GAP_CHANCE_MAX && fabs(p->gap_s * p->best_hz - 1) < 0.1;
}

/* Where gaps tell it, widths need not: they see lines only. */
static double confidence(const struct period *p)
{
	double chance = p->chance, agreement = p->agreement;
	if (even(p)) {
		chance = fmin(chance, p->gap_chance);
		agreement = (1 + agreement) / 2;
	}
	return agreement / (1 + DOUBT * chance);
}

static const char *verdict(const struct period *p)
{
	if (p->filled < 3)
		return "fewer than three bursts lie on it";
	if ((double)p->filled < 0.4 * p->cycles)
		return "most of its cycles moved nothing";
	if (even(p))
		return NULL;
	if (p->chance > CHANCE_MAX)
		return "a flow without a period would look like this too often";
	if (!(p->correlation >= 0.1))
		return "the flow is not like itself one period later";
	if (p->agreement < 0.5)
		return "other widths of bins tell something else";
	return NULL;
}

int period_of(const struct period_piece *pieces, size_t n, const struct period_options *options,
	      struct period *ret)
{
	static const struct period_options as_they_are = { 0 };
	struct search s = { .pieces = pieces, .n_pieces = n, .found = ret };
	s.options = options ? options : &as_they_are;
	*ret = (struct period){ .begin_s = NAN,
				.end_s = NAN,
				.period_s = NAN,
				.frequency_hz = NAN,
				.error_s = NAN,
				.confidence = NAN,
				.best_hz = NAN,
				.chance = NAN,
				.share = NAN,
				.agreement = NAN,
				.gap_s = NAN,
				.gap_chance = NAN,
				.correlation = NAN,
				.cycles = NAN,
				.first_cycle_s = NAN };
	int rc = s.options->n_rates > PERIOD_RATES ? -EINVAL : span(&s);
	if (!rc && !(ret->bytes > 0))
		ret->why_not = PERIOD_NOTHING;
	else if (!rc && !(s.span_s > 0))
		ret->why_not = "all was moved at one moment";
	if (!rc && !ret->why_not)
		rc = add_rates(&s);
	if (!rc && !ret->why_not && !ret->n_rates)
		ret->why_not =
			s.span_s < 2.5 * s.options->resolution_s ? ONE_BURST : PERIOD_TOO_FEW;
	if (!rc && !ret->why_not) {
		ret->best_hz = best_of_all(&s);
		if (!known(ret->best_hz))
			ret->why_not = ONE_BURST;
	}
	if (!rc && !ret->why_not) {
		ret->best_hz = sharpened(matched(&s, ret->best_hz), ret->best_hz);
		ask_rates(&s);
		judge(&s);
		rc = period_fold(pieces, n, ret);
		if (!rc)
			rc = period_gaps(pieces, n, ret);
		ret->why_not = verdict(ret);
	}
	if (!rc && !ret->why_not) {
		ret->frequency_hz = ret->best_hz;
		ret->period_s = 1 / ret->best_hz;
		ret->confidence = confidence(ret);
	}
	if (!rc)
		rc = period_phases(pieces, n, s.options->resolution_s, ret);
	for (size_t i = 0; i < ret->n_rates; i++)
		spectrum_done(&s.rates[i]);
	if (rc)
		period_done(ret);
	return rc;
}

void period_done(struct period *p)
{
	free(p->phases);
	p->phases = NULL;
	p->n_phases = 0;
}
