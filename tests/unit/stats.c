/* Statistics of few samples against published values, closed forms and enumeration. */
/* wrap: malloc */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/stats.h"
#include "lib/num.h"

static bool no_memory;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	return no_memory ? NULL : __real_malloc(n);
}

static struct stats of(const double *samples, size_t n)
{
	struct stats s;
	assert_int_equal(stats_of(samples, n, &s), 0);
	return s;
}

static void near(double wanted, double got)
{
	if (!(fabs(wanted - got) <= 1e-12 * fabs(wanted)))
		fail_msg("wanted %.17g, got %.17g", wanted, got);
}

static void nothing_is_known_of_no_samples(void **state)
{
	(void)state;
	struct stats s = of(NULL, 0);
	assert_false(known(s.median) || known(s.min) || known(s.stddev) || known(s.ci_low));
	assert_int_equal(s.stable, UNKNOWN);
	assert_null(s.rule);
	assert_false(known(stats_median(NULL, 0)));
}

static void one_sample_is_its_median_and_no_more(void **state)
{
	(void)state;
	struct stats s = of((double[]){ 2.5 }, 1);
	near(2.5, s.median);
	near(2.5, s.min);
	near(2.5, s.max);
	assert_false(known(s.stddev) || known(s.cv) || known(s.spread) || known(s.iqr));
	assert_false(known(s.ci_low) || known(s.ci_high) || known(s.ci_coverage));
	assert_int_equal(s.stable, UNKNOWN);
	assert_int_equal(s.two_levels, UNKNOWN);
	assert_int_equal(s.drift, UNKNOWN);
}

static void two_samples_have_half_a_chance(void **state)
{
	(void)state;
	struct stats s = of((double[]){ 7, 4 }, 2);
	near(5.5, s.median);
	near(sqrt(4.5), s.stddev);
	near(sqrt(4.5) / 5.5, s.cv);
	near(4, s.ci_low);
	near(7, s.ci_high);
	near(0.5, s.ci_coverage);
	assert_int_equal(s.drift, UNKNOWN);
}

/* [k-th smallest, k-th largest] covers the median unless fewer than k samples lie on one side. */
static void the_interval_tells_its_true_coverage(void **state)
{
	(void)state;
	static const struct {
		size_t n, low;
		double coverage;
	} exact[] = {
		{ 3, 1, 0.75 },         { 4, 1, 0.875 },          { 5, 1, 0.9375 },
		{ 6, 1, 0.96875 },      { 8, 1, 0.9921875 },      { 9, 2, 0.9609375 },
		{ 10, 2, 0.978515625 }, { 12, 3, 0.96142578125 }, { 20, 6, 0.95861053466796875 },
	};
	for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
		double samples[32];
		for (size_t k = 0; k < exact[i].n; k++)
			samples[k] = (double)(exact[i].n - k);
		struct stats s = of(samples, exact[i].n);
		near((double)exact[i].low, s.ci_low);
		near((double)(exact[i].n + 1 - exact[i].low), s.ci_high);
		near(exact[i].coverage, s.ci_coverage);
	}
}

static void many_samples_stay_within_doubles(void **state)
{
	(void)state;
	static double samples[3000];
	for (size_t i = 0; i < 3000; i++)
		samples[i] = (double)((i * 7919) % 3000);
	struct stats s = of(samples, 3000);
	near(1499.5, s.median);
	assert_true(s.ci_coverage >= 0.95 && s.ci_coverage < 0.956);
	assert_true(s.ci_low > 1440 && s.ci_low < 1450 && s.ci_high > 1550 && s.ci_high < 1560);
	s = of(samples, 900); /* the other way to the binomial */
	assert_true(s.ci_coverage >= 0.95 && s.ci_coverage < 0.955);
}

static void the_order_of_the_input_is_kept(void **state)
{
	(void)state;
	double samples[] = { 3, 1, 2 };
	(void)of(samples, 3);
	(void)stats_median(samples, 3);
	assert_true(samples[0] == 3 && samples[1] == 1 && samples[2] == 2);
}

static void nearly_equal_samples_keep_their_spread(void **state)
{
	(void)state;
	struct stats s = of((double[]){ 1e6 + 1e-4, 1e6, 1e6 - 1e-4 }, 3);
	assert_true(fabs(s.stddev - 1e-4) < 1e-8);
	s = of((double[]){ 5, 5, 5, 5, 5 }, 5);
	assert_true(s.stddev == 0 && s.spread == 0 && s.iqr == 0);
	assert_int_equal(s.stable, YES);
	assert_int_equal(s.drift, NO);
}

static void quartiles_are_inclusive(void **state)
{
	(void)state;
	near(1.5 / 2.5, of((double[]){ 1, 2, 3, 4 }, 4).iqr);  /* 1.75 and 3.25 */
	near(2.0 / 3, of((double[]){ 5, 1, 4, 2, 3 }, 5).iqr); /* 2 and 4 */
	assert_false(known(of((double[]){ 1, 2, 3 }, 3).iqr));
}

static void zeros_have_no_relative_spread(void **state)
{
	(void)state;
	struct stats s = of((double[]){ 0, 0, 0, 0, 0 }, 5);
	assert_true(s.stddev == 0);
	assert_false(known(s.cv) || known(s.spread) || known(s.iqr));
	assert_int_equal(s.stable, UNKNOWN);
}

static void from_ten_samples_on_the_quartiles_decide(void **state)
{
	(void)state;
	double samples[20];
	for (size_t i = 0; i < 20; i++) /* a 4 % ramp: stable, as published */
		samples[i] = 1 + 0.04 * (double)i / 19;
	struct stats s = of(samples, 20);
	assert_string_equal(s.rule, "iqr");
	assert_int_equal(s.stable, YES);
	assert_int_equal(s.two_levels, NO);
	for (size_t i = 0; i < 20; i++) /* two groups of ten */
		samples[i] = i % 2 ? 1 + 0.001 * (double)i : 1.2 + 0.001 * (double)i;
	s = of(samples, 20);
	assert_int_equal(s.stable, NO);
	assert_int_equal(s.two_levels, YES);
	s = of(samples, 9);
	assert_string_equal(s.rule, "range");
}

static void two_levels_need_a_fifth_on_each_side(void **state)
{
	(void)state;
	double samples[16];
	for (size_t i = 0; i < 16; i++)
		samples[i] = i < 3 ? 1.1 : 1.0;
	assert_int_equal(of(samples, 16).two_levels, NO); /* 4 of 16 are needed */
	samples[3] = 1.1;
	assert_int_equal(of(samples, 16).two_levels, YES);
	assert_int_equal(of((double[]){ 1, 1, 1.05, 1.05 }, 4).two_levels, NO); /* 4.9 % apart */
}

static void drift_is_a_trend_that_matters(void **state)
{
	(void)state;
	assert_int_equal(of((double[]){ 1, 1.01, 1.02, 1.03, 1.04 }, 5).drift, YES);
	assert_int_equal(of((double[]){ 1.04, 1.03, 1.02, 1.01, 1 }, 5).drift, YES);
	assert_int_equal(of((double[]){ 1, 1.02, 1.01, 1.03, 1.04 }, 5).drift, NO); /* p = 0.083 */
	assert_int_equal(of((double[]){ 1, 1.001, 1.002, 1.003, 1.004 }, 5).drift, NO); /* 0.4 % */
	assert_int_equal(of((double[]){ 1, 1.01, 1.02, 1.03 }, 4).drift, UNKNOWN);
	double samples[100];
	for (size_t i = 0; i < 100; i++) /* the approximation for many */
		samples[i] = 1 + 0.001 * (double)i + 0.01 * (double)(i * 37 % 11);
	assert_int_equal(of(samples, 100).drift, YES);
	for (size_t i = 0; i < 100; i++)
		samples[i] = 1 + 0.01 * (double)(i * 37 % 11);
	assert_int_equal(of(samples, 100).drift, NO);
}

/* How often does it cry when the order means nothing? Over all orders of seven samples: at most
 * 2 %, and more than nothing. */
static unsigned cries, orders;

static void all_orders(double *samples, size_t n, size_t from)
{
	if (from == n) {
		orders++;
		cries += of(samples, n).drift == YES;
		return;
	}
	for (size_t i = from; i < n; i++) {
		double keep = samples[from];
		samples[from] = samples[i];
		samples[i] = keep;
		all_orders(samples, n, from + 1);
		samples[i] = samples[from];
		samples[from] = keep;
	}
}

static void drift_cries_seldom_when_there_is_none(void **state)
{
	(void)state;
	double samples[] = { 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6 };
	all_orders(samples, 7, 0);
	assert_int_equal(orders, 5040);
	assert_true(cries > 0 && cries <= orders / 50);
}

static void no_memory_is_an_error(void **state)
{
	(void)state;
	struct stats s;
	no_memory = true;
	int rc = stats_of((double[]){ 1, 2 }, 2, &s);
	no_memory = false;
	assert_int_equal(rc, -ENOMEM);
	assert_false(known(s.median));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_of_no_samples),
		cmocka_unit_test(one_sample_is_its_median_and_no_more),
		cmocka_unit_test(two_samples_have_half_a_chance),
		cmocka_unit_test(the_interval_tells_its_true_coverage),
		cmocka_unit_test(many_samples_stay_within_doubles),
		cmocka_unit_test(the_order_of_the_input_is_kept),
		cmocka_unit_test(nearly_equal_samples_keep_their_spread),
		cmocka_unit_test(quartiles_are_inclusive),
		cmocka_unit_test(zeros_have_no_relative_spread),
		cmocka_unit_test(from_ten_samples_on_the_quartiles_decide),
		cmocka_unit_test(two_levels_need_a_fifth_on_each_side),
		cmocka_unit_test(drift_is_a_trend_that_matters),
		cmocka_unit_test(drift_cries_seldom_when_there_is_none),
		cmocka_unit_test(no_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
