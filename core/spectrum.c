/* Bins, their transform (zeros behind it, so that lines lie four to a bin of frequency), and combs.
 */
#include "core/spectrum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TAU 6.28318530717958648

/* bins[k] += rate of what lies between from and to, in bins, for the few bins from first on. */
static void spread(double *bins, size_t first, size_t last, double from, double to, double rate)
{
	for (size_t k = first; k <= last; k++)
		bins[k] += rate * fmax(0, fmin(to, (double)k + 1) - fmax(from, (double)k));
}

/* Long pieces are kept as where their rate begins and ends, so that many of them cost no more than
 * short ones: bins holds that until the sum at the end. Short ones, and the ends of long ones, are
 * in edges. */
static void add_piece(double *edges, double *steps, size_t n, double from, double to, double bytes)
{
	size_t first = from > 0 ? (size_t)from : 0, last = to < (double)n ? (size_t)to : n - 1;
	if (first >= n)
		first = n - 1;
	if (to - from < 1e-9) {
		edges[first] += bytes;
		return;
	}
	double rate = bytes / (to - from);
	if (last - first < 4) {
		spread(edges, first, last, from, to, rate);
		return;
	}
	spread(edges, first, first, from, to, rate);
	spread(edges, last, last, from, to, rate);
	steps[first + 1] += rate;
	steps[last] -= rate;
}

int spectrum_bin(const struct period_piece *pieces, size_t n_pieces, double begin_s, double bin_s,
		 double *bins, size_t n)
{
	double *steps = calloc(n + 1, sizeof *steps), rate = 0;
	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		bins[i] = 0;
	for (size_t i = 0; i < n_pieces; i++) {
		double from = (pieces[i].begin_s - begin_s) / bin_s;
		double to = (pieces[i].end_s - begin_s) / bin_s;
		if (to >= 0 && from <= (double)n)
			add_piece(bins, steps, n, from, to, pieces[i].bytes);
	}
	for (size_t i = 0; i < n; i++) {
		rate += steps[i];
		bins[i] += fmax(0, rate); /* what is left of many sums of nothing is not below it */
	}
	free(steps);
	return 0;
}

/* In place, n a power of two, n / 2 pairs of cos and sin. */
static void transform(double *re, double *im, size_t n, const double *turn)
{
	for (size_t i = 1, j = 0; i < n; i++) {
		size_t bit = n >> 1;
		for (; j & bit; bit >>= 1)
			j ^= bit;
		j |= bit;
		if (i < j) {
			double a = re[i], b = im[i];
			re[i] = re[j], im[i] = im[j];
			re[j] = a, im[j] = b;
		}
	}
	for (size_t half = 1; half < n; half *= 2)
		for (size_t i = 0; i < n; i += 2 * half)
			for (size_t k = 0; k < half; k++) {
				size_t t = 2 * k * (n / half / 2);
				double c = turn[t], s = turn[t + 1];
				double *ar = &re[i + k], *ai = &im[i + k];
				double *br = ar + half, *bi = ai + half;
				double r = *br * c + *bi * s, m = *bi * c - *br * s;
				*br = *ar - r, *bi = *ai - m;
				*ar += r, *ai += m;
			}
}

static void add_up(struct spectrum *s, const double *re, const double *im, double sum)
{
	/* Twice: what lies at negative frequencies, too. */
	double scale = 2 / (sum * sum) * s->step_hz * s->span_s, upto = 0;
	for (size_t k = 0; k < s->n; k++) {
		upto += scale * (re[k] * re[k] + im[k] * im[k]);
		s->power_upto[k] = upto;
	}
}

int spectrum_of(struct spectrum *s, const struct period_piece *pieces, size_t n_pieces,
		double begin_s, double span_s, size_t n_bins)
{
	size_t n = 4;
	while (n < 4 * n_bins)
		n *= 2;
	*s = (struct spectrum){ .begin_s = begin_s,
				.span_s = span_s,
				.rate_hz = (double)n_bins / span_s,
				.n_bins = n_bins,
				.step_hz = (double)n_bins / span_s / (double)n,
				.n = n / 2 };
	double *work = calloc(3 * n, sizeof *work), sum = 0;
	s->bins = malloc(n_bins * sizeof *s->bins);
	s->power_upto = malloc(s->n * sizeof *s->power_upto);
	if (!work || !s->bins || !s->power_upto) {
		free(work);
		spectrum_done(s);
		return -ENOMEM;
	}
	double *re = work, *im = work + n, *turn = work + 2 * n;
	if (spectrum_bin(pieces, n_pieces, begin_s, span_s / (double)n_bins, s->bins, n_bins)) {
		free(work);
		spectrum_done(s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_bins; i++)
		sum += s->bins[i];
	for (size_t i = 0; i < n_bins; i++)
		re[i] = s->bins[i] - sum / (double)n_bins;
	for (size_t i = 0; i < n / 2; i++) {
		turn[2 * i] = cos(TAU * (double)i / (double)n);
		turn[2 * i + 1] = sin(TAU * (double)i / (double)n);
	}
	transform(re, im, n, turn);
	add_up(s, re, im, sum);
	free(work);
	return 0;
}

void spectrum_done(struct spectrum *s)
{
	free(s->bins);
	free(s->power_upto);
	s->bins = s->power_upto = NULL;
}

/* Power below a frequency; a line stands for half a step on both of its sides. */
static double below(const struct spectrum *s, double hz)
{
	double at = hz / s->step_hz - 0.5;
	if (at <= 0)
		return 0;
	size_t k = (size_t)at;
	if (k + 1 >= s->n)
		return s->power_upto[s->n - 1];
	return s->power_upto[k] + (at - (double)k) * (s->power_upto[k + 1] - s->power_upto[k]);
}

/* Likelihood of the share against the expected one, for each line of the band, in nats. */
static double gain(double share, double expected)
{
	if (!(share > expected) || expected >= 1)
		return 0;
	double rest = share < 1 ? (1 - share) * log((1 - share) / (1 - expected)) : 0;
	return share * log(share / expected) + rest;
}

struct family spectrum_family(const struct spectrum *s, double hz)
{
	static const unsigned tried[] = { 1, 2, 3, 5, 8 };
	struct family best = { .lines = 1 };
	double nyquist = s->rate_hz / 2, half_line = 0.5 / s->span_s;
	double low = 0.4 * hz, in_lines = 0, squares = 0;
	unsigned h = 0;
	if (hz > 0.92 * nyquist)
		return best;
	for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
		for (; h < tried[i] && (h + 1) * hz + half_line <= nyquist; h++) {
			double line = below(s, (h + 1) * hz + half_line) -
				      below(s, (h + 1) * hz - half_line);
			in_lines += line;
			squares += line * line;
		}
		if (h < tried[i] || !(in_lines > 0))
			break;
		double high = fmin((h + 0.5) * hz, nyquist);
		double band = below(s, high) - below(s, low);
		struct family f = { .lines = h,
				    .share = fmin(1, in_lines / band),
				    .expected = h * 2 * half_line / (high - low),
				    .weight = in_lines * in_lines / squares };
		/* How much there is to explain: a flow that hardly varies has no period in it. */
		f.score = gain(f.share, f.expected) * band / (1 + band);
		if (f.score > best.score)
			best = f;
	}
	return best;
}

double spectrum_at(const struct spectrum *s, double hz, unsigned lines)
{
	double sum = 0, mean = 0;
	for (size_t i = 0; i < s->n_bins; i++)
		mean += s->bins[i] / (double)s->n_bins;
	for (unsigned h = 1; h <= lines; h++) {
		double turn = TAU * h * hz / s->rate_hz, re = 0, im = 0;
		double c = 1, d = 0, by_c = cos(turn), by_d = sin(turn);
		for (size_t i = 0; i < s->n_bins; i++) {
			re += (s->bins[i] - mean) * c;
			im += (s->bins[i] - mean) * d;
			double next = c * by_c - d * by_d;
			d = c * by_d + d * by_c;
			c = next;
		}
		sum += re * re + im * im;
	}
	return sum;
}
