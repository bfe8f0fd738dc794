/* How even the gaps between bursts are: the evidence where bursts are few, or off the clock by so much
 * that their harmonics are gone. */
#include "core/period_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/spectrum.h"

#define PARTS 32   /* of a period of the candidate */
#define SMOOTH 8   /* parts that are taken together: calls of a burst, and pauses between them */
#define GAPS_MIN 3 /* fewer even ones are found by chance too often */
#define SUMMED 3
#define BINS_LIMIT 262144

struct bursts {
	size_t n;
	double first, last, sum, squares; /* centres of the outer ones; gaps, in parts */
};

static void add_burst(struct bursts *b, double centre)
{
	if (b->n++) {
		double gap = centre - b->last;
		b->sum += gap;
		b->squares += gap * gap;
	} else {
		b->first = centre;
	}
	b->last = centre;
}

/* Stretches where the flow, SMOOTH parts together, is above its mean. smooth: as long as bins. */
static void find_bursts(struct bursts *b, const double *bins, double *smooth, size_t n)
{
	double mean = 0, window = 0;
	for (size_t i = 0; i < n; i++)
		mean += bins[i] / (double)n * SMOOTH;
	for (size_t i = 0; i < n + SMOOTH; i++) { /* at its centre: the ends have less than all */
		window += i < n ? bins[i] : 0;
		window -= i >= SMOOTH ? bins[i - SMOOTH] : 0;
		if (i >= SMOOTH / 2 && i - SMOOTH / 2 < n)
			smooth[i - SMOOTH / 2] = window;
	}
	for (size_t i = 0; i < n; i++) {
		double bytes = 0, moment = 0;
		for (; i < n && smooth[i] > mean; i++) {
			bytes += smooth[i];
			moment += smooth[i] * ((double)i + 0.5);
		}
		if (bytes > 0)
			add_burst(b, moment / bytes);
	}
}

/* That k gaps between bursts at random vary by no more than a part c of their mean: the ball of that
 * radius around equal gaps, of the simplex of all that have the same sum. Bursts last, and those that are
 * close count as one, so gaps are more even than those of moments at random: as if each were a sum of
 * SUMMED such. Their density is highest in the middle, so this is an upper bound. */
static double chance_of(double c, double k)
{
	double d = k - 1, a = SUMMED;
	double ball = d / 2 * log(3.14159265358979324) - lgamma(d / 2 + 1) + d * log(c / sqrt(k));
	double simplex = lgamma(k) - log(k) / 2;
	double middle = lgamma(a * k) - k * lgamma(a) - k * (a - 1) * log(k) - lgamma(k);
	return fmin(1, exp(ball + simplex + middle));
}

int period_gaps(const struct period_piece *pieces, size_t n, struct period *p)
{
	double part = 1 / p->best_hz / PARTS, span = p->end_s - p->begin_s;
	struct bursts b = { 0 };
	p->gap_chance = p->gap_s = NAN;
	if (!(span / part < BINS_LIMIT))
		return 0;
	size_t n_bins = (size_t)ceil(span / part) + 1;
	double *bins = malloc(2 * n_bins * sizeof *bins);
	if (!bins)
		return -ENOMEM;
	int rc = spectrum_bin(pieces, n, p->begin_s, part, bins, n_bins);
	if (!rc)
		find_bursts(&b, bins, bins + n_bins, n_bins);
	free(bins);
	if (rc || b.n < GAPS_MIN + 1)
		return rc;
	double k = (double)b.n - 1, mean = b.sum / k;
	double variance = fmax(0, b.squares / k - mean * mean);
	p->gap_s = mean * part;
	/* Centres are known to a part. */
	p->gap_chance = chance_of(fmax(sqrt(variance) / mean, 1 / mean / 4), k);
	return 0;
}
