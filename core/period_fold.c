/* A flow cut into the cycles of a candidate, and its bursts. */
#include "core/period_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/spectrum.h"

#define TAU 6.28318530717958648
#define PARTS 8           /* of a cycle */
#define FOLDS 32          /* the same, where bursts are told from each other */
#define BINS_LIMIT 262144 /* for bursts */
#define SPEAK 0.1         /* of a mean cycle's bytes: worth speaking of */

/* Lentz's method: the continued fraction converges quickly below
 * (a + 1) / (a + b + 2), the other side follows by symmetry. */
static double fraction(double x, double a, double b)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;
	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	h = d;
	for (int m = 1; m < 500; m++) {
		double up = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double down = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor = 1;
		for (int k = 0; k < 2; k++) {
			double t = k ? down : up;
			d = 1 + t * d;
			c = 1 + t / c;
			d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
			c = fabs(c) < 1e-300 ? 1e-300 : c;
			h *= d * c;
			factor = d * c;
		}
		if (fabs(factor - 1) < 1e-13)
			break;
	}
	return h;
}

double period_beta(double x, double a, double b)
{
	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * fraction(x, a, b) / a;
	return 1 - front * fraction(1 - x, b, a) / b;
}

/* ---- cycles -------------------------------------------------------------------------------------
 */

static double correlation(const double *bins, size_t n, size_t lag)
{
	double mean = 0, all = 0, lagged = 0;
	if (n <= lag)
		return NAN;
	for (size_t i = 0; i < n; i++)
		mean += bins[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		all += (bins[i] - mean) * (bins[i] - mean) / (double)n;
	for (size_t i = 0; i + lag < n; i++)
		lagged += (bins[i] - mean) * (bins[i + lag] - mean) / (double)(n - lag);
	return all > 0 ? fmin(1, lagged / all) : NAN; /* the ends may be thinner than the rest */
}

/* Where a cycle begins, as a part of the period after begin_s: where the flow is thinnest, and of
 * such places the one farthest from where it is thickest, so that bursts are whole. bins: FOLDS a
 * cycle. */
static double thinnest(const double *bins, size_t n)
{
	double folded[FOLDS] = { 0 }, all = 0, re = 0, im = 0, least = INFINITY, best = 0;
	for (size_t i = 0; i < n; i++) {
		double turn = TAU * ((double)i + 0.5) / FOLDS;
		folded[i % FOLDS] += bins[i];
		all += bins[i];
		re += bins[i] * cos(turn);
		im += bins[i] * sin(turn);
	}
	double opposite = atan2(im, re) / TAU + 0.5;
	for (int i = 0; i < FOLDS; i++) {
		double around = 0, at = (i + 0.5) / FOLDS, off = at - opposite;
		for (int k = -2; k <= 2; k++)
			around += folded[(i + k + FOLDS) % FOLDS] / all;
		off = fabs(off - round(off));
		if (around + 0.01 * off < least) {
			least = around + 0.01 * off;
			best = at;
		}
	}
	return best;
}

/* The straight line through the cycles' centres: how far its slope, the period, may be off. */
static double slope_error(const double *centre, const double *k, size_t n)
{
	double mk = 0, mc = 0, kk = 0, kc = 0, rest = 0;
	if (n < 3)
		return NAN;
	for (size_t i = 0; i < n; i++) {
		mk += k[i] / (double)n;
		mc += centre[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		kk += (k[i] - mk) * (k[i] - mk);
		kc += (k[i] - mk) * (centre[i] - mc);
	}
	for (size_t i = 0; i < n; i++) {
		double off = centre[i] - mc - kc / kk * (k[i] - mk);
		rest += off * off;
	}
	return sqrt(rest / (double)(n - 2) / kk);
}

/* bins: those of whole cycles. work: room for two numbers a cycle. */
static void look_at_cycles(struct period *p, const double *bins, size_t cycles, double *work)
{
	double *centre = work, *number = work + cycles, period = 1 / p->best_hz;
	p->filled = 0;
	for (size_t c = 0; c < cycles; c++) {
		double bytes = 0, moment = 0;
		for (size_t i = 0; i < PARTS; i++) {
			bytes += bins[c * PARTS + i];
			moment += bins[c * PARTS + i] * ((double)i + 0.5);
		}
		if (bytes < SPEAK * p->bytes / (double)cycles)
			continue;
		centre[p->filled] = ((double)c + moment / bytes / PARTS) * period;
		number[p->filled++] = (double)c;
	}
	p->error_s = slope_error(centre, number, p->filled);
}

int period_fold(const struct period_piece *pieces, size_t n, struct period *p)
{
	double period = 1 / p->best_hz, span = p->end_s - p->begin_s;
	size_t cycles = (size_t)ceil(span / period) + 1,
	       n_bins = (size_t)ceil(span / period * PARTS);
	double *bins = malloc(cycles * FOLDS * sizeof *bins);
	if (!bins)
		return -ENOMEM;
	int rc = spectrum_bin(pieces, n, p->begin_s, period / PARTS, bins, n_bins);
	if (!rc) {
		p->correlation = correlation(bins, n_bins, PARTS);
		rc = spectrum_bin(pieces, n, p->begin_s, period / FOLDS, bins,
				  (cycles - 1) * FOLDS);
	}
	if (!rc) {
		p->first_cycle_s = p->begin_s + (thinnest(bins, (cycles - 1) * FOLDS) - 1) * period;
		rc = spectrum_bin(pieces, n, p->first_cycle_s, period / PARTS, bins,
				  cycles * PARTS);
	}
	if (!rc) /* there is room behind them: FOLDS */
		look_at_cycles(p, bins, cycles, bins + cycles * PARTS);
	free(bins);
	return rc;
}

/* ---- bursts -------------------------------------------------------------------------------------
 */

static int add_phase(struct period *p, size_t *room, struct period_phase phase)
{
	if (p->n_phases == *room) {
		*room = *room ? *room * 2 : 64;
		void *more = realloc(p->phases, *room * sizeof *p->phases);
		if (!more)
			return -ENOMEM;
		p->phases = more;
	}
	p->phases[p->n_phases++] = phase;
	return 0;
}

static int phase_of_bins(struct period *p, size_t *room, const double *bins, size_t from, size_t to,
			 double begin_s, double bin_s)
{
	struct period_phase phase = { .begin_s = fmax(p->begin_s, begin_s + (double)from * bin_s),
				      .end_s = fmin(p->end_s, begin_s + (double)to * bin_s) };
	for (size_t i = from; i < to; i++)
		phase.bytes += bins[i];
	return add_phase(p, room, phase);
}

/* In each cycle from the first bin above the threshold to the last; its bytes are the whole
 * cycle's. */
static int by_cycles(struct period *p, const double *bins, size_t n, size_t parts, double begin_s,
		     double bin_s, double threshold)
{
	size_t room = 0, cycles = n / parts;
	double least = SPEAK * p->bytes / (double)cycles;
	for (size_t c = 0; c < cycles; c++) {
		size_t first = n, last = 0;
		double bytes = 0;
		for (size_t i = c * parts; i < (c + 1) * parts; i++) {
			bytes += bins[i];
			if (bins[i] > threshold) {
				first = first < i ? first : i;
				last = i;
			}
		}
		if (bytes < least || first > last)
			continue;
		int rc = phase_of_bins(p, &room, bins, first, last + 1, begin_s, bin_s);
		if (rc)
			return rc;
		p->phases[p->n_phases - 1].bytes = bytes;
	}
	return 0;
}

static int by_level(struct period *p, const double *bins, size_t n, double bin_s, double threshold)
{
	size_t room = 0;
	for (size_t i = 0, first; i < n; i++) {
		if (!(bins[i] > threshold))
			continue;
		for (first = i; i < n && bins[i] > threshold; i++)
			;
		int rc = phase_of_bins(p, &room, bins, first, i, p->begin_s, bin_s);
		if (rc)
			return rc;
	}
	return 0;
}

/* Bins are too coarse to say when a burst began and ended; pieces are not. Its first and last bytes
 * may lie in a bin that holds too little of it. */
static int snap(const struct period_piece *pieces, size_t n, double bin_s, struct period *p)
{
	double *seen = malloc(2 * p->n_phases * sizeof *seen);
	if (!seen && p->n_phases)
		return -ENOMEM;
	for (size_t k = 0; k < p->n_phases; k++) {
		seen[2 * k] = p->phases[k].end_s;
		seen[2 * k + 1] = p->phases[k].begin_s;
	}
	for (size_t i = 0; i < n; i++) {
		size_t low = 0, high = p->n_phases;
		while (low < high) { /* the first that ends behind the piece's begin */
			size_t middle = (low + high) / 2;
			if (p->phases[middle].end_s > pieces[i].begin_s)
				high = middle;
			else
				low = middle + 1;
		}
		const struct period_piece *at = &pieces[i];
		for (; at->bytes > 0 && low < p->n_phases && p->phases[low].begin_s < at->end_s;
		     low++) {
			const struct period_phase *f = &p->phases[low];
			seen[2 * low] = fmin(seen[2 * low], fmax(f->begin_s - bin_s, at->begin_s));
			seen[2 * low + 1] =
				fmax(seen[2 * low + 1], fmin(f->end_s + bin_s, at->end_s));
		}
	}
	for (size_t k = 0; k < p->n_phases; k++)
		if (seen[2 * k] <= seen[2 * k + 1]) {
			p->phases[k].begin_s = seen[2 * k];
			p->phases[k].end_s = seen[2 * k + 1];
		}
	free(seen);
	return 0;
}

int period_phases(const struct period_piece *pieces, size_t n, double resolution_s,
		  struct period *p)
{
	double span = p->end_s - p->begin_s, bin, begin = p->begin_s;
	size_t parts = 0, n_bins;
	if (!(p->bytes > 0))
		return 0;
	if (!(span > 0)) {
		size_t room = 0;
		return add_phase(p, &room, (struct period_phase){ p->begin_s, p->end_s, p->bytes });
	}
	if (!p->why_not) {
		parts = 64;
		while (parts > 8 && (p->cycles + 2) * (double)parts > BINS_LIMIT)
			parts /= 2;
		bin = p->period_s / (double)parts;
		begin = p->first_cycle_s;
		n_bins = ((size_t)p->cycles + 2) * parts;
	} else {
		bin = fmax(span / 512, resolution_s);
		n_bins = (size_t)fmax(1, ceil(span / bin - 1e-6));
	}
	double *bins = malloc(n_bins * sizeof *bins);
	if (!bins)
		return -ENOMEM;
	int rc = spectrum_bin(pieces, n, begin, bin, bins, n_bins);
	double threshold = p->bytes / span * bin / 2;
	if (!rc)
		rc = parts ? by_cycles(p, bins, n_bins, parts, begin, bin, threshold)
			   : by_level(p, bins, n_bins, bin, threshold);
	free(bins);
	return rc ? rc : snap(pieces, n, bin, p);
}
