/* Statistics of a few samples: order statistics first, nothing that takes the noise for normal.
 * The rules and their sources are in docs/statistics.md. */
#include "core/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"

#define CI_WANTED 0.95
#define RANGE_LIMIT 0.10
#define IQR_LIMIT 0.05
#define IQR_FROM 10 /* samples */
#define LEVEL_GAP 0.05
#define DRIFT_P 0.02 /* five samples reach 0.0167 when each is larger than the one before */
#define DRIFT_EFFECT 0.01
#define DRIFT_EXACT 64 /* samples; more take the normal approximation */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double *sorted_copy(const double *samples, size_t n)
{
	double *copy = malloc(n * sizeof *copy);
	if (!copy)
		return NULL;
	memcpy(copy, samples, n * sizeof *copy);
	qsort(copy, n, sizeof *copy, by_value);
	return copy;
}

static double middle(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double stats_median(const double *samples, size_t n)
{
	double sorted[4096];
	if (!n || n > sizeof sorted / sizeof *sorted)
		return NAN;
	memcpy(sorted, samples, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_value);
	return middle(sorted, n);
}

/* Two passes: the samples differ in their last digits only, and squares would lose them. */
static double sample_stddev(const double *samples, size_t n)
{
	double mean = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		mean += samples[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (samples[i] - mean) * (samples[i] - mean);
	return sqrt(squares / (double)(n - 1));
}

/* P(exactly i of n samples lie below the median) */
static double binomial_half(size_t n, size_t i)
{
	double a = (double)n, b = (double)i;
	if (n < 1000) { /* exact as far as doubles go */
		double p = ldexp(1, -(int)n);
		for (size_t k = 0; k < i; k++)
			p = p * (double)(n - k) / (double)(k + 1);
		return p;
	}
	return exp(lgamma(a + 1) - lgamma(b + 1) - lgamma(a - b + 1) - a * log(2));
}

/* The narrowest pair (k-th smallest, k-th largest) that covers the median with 95 %; the widest
 * there is where none does. */
static void interval(const double *sorted, size_t n, struct stats *ret)
{
	double outside = 2 * binomial_half(n, 0);
	size_t k = 1;
	while (k + 1 <= n / 2) {
		double next = outside + 2 * binomial_half(n, k);
		if (1 - next < CI_WANTED)
			break;
		outside = next;
		k++;
	}
	ret->ci_low = sorted[k - 1];
	ret->ci_high = sorted[n - k];
	ret->ci_coverage = 1 - outside;
}

/* Inclusive quartiles: the smallest sample is the 0 % point, the largest the 100 % point. */
static double quartile(const double *sorted, size_t n, size_t which)
{
	size_t at = which * (n - 1), j = at / 4, rest = at % 4;
	if (!rest)
		return sorted[j];
	return (sorted[j] * (double)(4 - rest) + sorted[j + 1] * (double)rest) / 4;
}

/* The largest gap between neighbours parts the samples in two groups worth the name. */
static int two_levels(const double *sorted, size_t n, double median)
{
	size_t at = 1;
	for (size_t i = 2; i < n; i++)
		if (sorted[i] - sorted[i - 1] > sorted[at] - sorted[at - 1])
			at = i;
	size_t least = (n + 4) / 5 > 2 ? (n + 4) / 5 : 2;
	return sorted[at] - sorted[at - 1] > LEVEL_GAP * median && at >= least && n - at >= least;
}

/* P(|S| >= s) of Mann and Kendall's S when the order means nothing: the number of pairs in order,
 * counted by putting in one sample after the other. */
static double kendall_exact(size_t n, long s)
{
	enum { PAIRS = DRIFT_EXACT * (DRIFT_EXACT - 1) / 2 };
	static const double none[PAIRS + 1]; /* zeros */
	double p[PAIRS + 1], next[PAIRS + 1];
	memcpy(p, none, sizeof p);
	p[0] = 1;
	size_t pairs = 0;
	for (size_t i = 2; i <= n; i++) {
		memcpy(next, none, sizeof next);
		for (size_t inverted = 0; inverted <= pairs; inverted++)
			for (size_t k = 0; k < i; k++)
				next[inverted + k] += p[inverted] / (double)i;
		pairs += i - 1;
		memcpy(p, next, sizeof p);
	}
	double sum = 0;
	for (size_t inverted = 0; inverted <= pairs; inverted++)
		if (labs((long)pairs - 2 * (long)inverted) >= s)
			sum += p[inverted];
	return sum;
}

static double kendall_p(const double *samples, size_t n)
{
	long s = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			s += (samples[j] > samples[i]) - (samples[j] < samples[i]);
	s = labs(s);
	if (n <= DRIFT_EXACT)
		return kendall_exact(n, s);
	double m = (double)n;
	return erfc((double)(s ? s - 1 : 0) / sqrt(m * (m - 1) * (2 * m + 5) / 18) / sqrt(2));
}

static signed char drift(const double *samples, size_t n, double median)
{
	size_t third = n / 3;
	double moved = stats_median(samples + n - third, third) - stats_median(samples, third);
	if (!(fabs(moved) > DRIFT_EFFECT * fabs(median)))
		return NO;
	return kendall_p(samples, n) < DRIFT_P ? YES : NO;
}

int stats_of(const double *samples, size_t n, struct stats *ret)
{
	struct stats s = {
		.n = n,
		.median = NAN,
		.min = NAN,
		.max = NAN,
		.stddev = NAN,
		.cv = NAN,
		.ci_low = NAN,
		.ci_high = NAN,
		.ci_coverage = NAN,
		.spread = NAN,
		.iqr = NAN,
		.stable = UNKNOWN,
		.two_levels = UNKNOWN,
		.drift = UNKNOWN,
	};
	*ret = s;
	if (!n)
		return 0;
	double *sorted = sorted_copy(samples, n);
	if (!sorted)
		return -ENOMEM;
	s.median = middle(sorted, n);
	s.min = sorted[0];
	s.max = sorted[n - 1];
	if (n >= 2) {
		s.stddev = sample_stddev(samples, n);
		interval(sorted, n, &s);
		s.two_levels = two_levels(sorted, n, s.median) ? YES : NO;
	}
	if (n >= 2 && s.median != 0) {
		s.cv = s.stddev / s.median;
		s.spread = (s.max - s.min) / s.median;
		if (n >= 4)
			s.iqr = (quartile(sorted, n, 3) - quartile(sorted, n, 1)) / s.median;
		s.rule = n >= IQR_FROM ? "iqr" : "range";
		s.stable =
			(n >= IQR_FROM ? s.iqr <= IQR_LIMIT : s.spread <= RANGE_LIMIT) ? YES : NO;
	}
	if (n >= 5)
		s.drift = drift(samples, n, s.median);
	free(sorted);
	*ret = s;
	return 0;
}
