/* Periods of flows that are known, and none where there is none. */
/* wrap: malloc calloc realloc */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/period.h"
#include "lib/num.h"
#include "tests/unit/fail_alloc.h"

#define ROUNDS 200

/* ---- flows --------------------------------------------------------------------------------------
 */

static struct period_piece pieces[20000];
static size_t n_pieces;
static uint64_t dice;

static void shake(unsigned seed)
{
	dice = 88172645463325252u + seed * 7919ull;
	n_pieces = 0;
}

static double even(void)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (double)(dice >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - even())) * cos(6.28318530717958648 * even());
}

static double waiting(void)
{
	return -log(1 - even());
}

static void put(double begin, double end, double bytes)
{
	assert_true(n_pieces < sizeof pieces / sizeof *pieces);
	pieces[n_pieces++] = (struct period_piece){ begin, end, bytes };
}

/* In up to ten calls of unlike speed, as a program's writes are. */
static void burst(double at, double length, double bytes)
{
	int calls = 1 + (int)(even() * 10);
	for (int i = 0; i < calls; i++)
		put(at + length * i / calls, at + length * (i + 1) / calls,
		    bytes / calls * (0.2 + 1.6 * even()));
}

/* Jitter is of each burst against the clock, as a part of the period. */
static double cycles(int n, double jitter, bool volumes_differ)
{
	double period = 0.5 + 5 * even(), duty = 0.05 + 0.85 * even();
	for (int i = 0; i < n; i++)
		burst(period * (i + jitter * normal()), period * duty,
		      volumes_differ ? 0.1 + waiting() : 1 + even());
	return period;
}

/* 5 to 34 cycles. */
static double clockwork(double jitter, bool volumes_differ)
{
	return cycles(5 + (int)(even() * 30), jitter, volumes_differ);
}

static double exact(void)
{
	return clockwork(0, false);
}
static double jitter_of_2_percent(void)
{
	return clockwork(0.02, false);
}
static double jitter_of_5_percent(void)
{
	return clockwork(0.05, false);
}
static double jitter_of_10_percent(void)
{
	return clockwork(0.1, false);
}
static double five_cycles(void)
{
	return cycles(5, 0, false);
}
static double six_cycles_off_by_5_percent(void)
{
	return cycles(6, 0.05, false);
}
static double eight_cycles_off_by_10_percent(void)
{
	return cycles(8, 0.1, false);
}
static double volumes_that_differ(void)
{
	return clockwork(0.02, true);
}

static double over_a_background(void)
{
	int n = 6 + (int)(even() * 30);
	double period = 0.5 + 5 * even();
	for (int i = 0; i < n; i++)
		burst(period * (i + 0.02 * normal()), period * (0.05 + 0.5 * even()), 1);
	for (int i = 0; i < 200; i++)
		put(period * n * i / 200, period * n * (i + 1) / 200, n / 400.0 * (0.5 + even()));
	return period;
}

static double a_clock_that_drifts(void)
{
	int n = 6 + (int)(even() * 20);
	double period = 0.5 + 5 * even(), at = 0;
	for (int i = 0; i < n; i++, at += period * (1 + 0.03 * normal()))
		burst(at, 0.2 * period, 1);
	return period;
}

static double waves(void)
{
	int n = 5 + (int)(even() * 20);
	for (int i = 0; i < n * 50; i++)
		put(i / 50.0, (i + 1) / 50.0,
		    1 + 0.5 * sin(6.28318530717958648 * i / 50) + 0.2 * even());
	return 1;
}

static double some_bursts_missing(void)
{
	int n = 10 + (int)(even() * 30);
	for (int i = 0; i < n; i++)
		if (even() > 0.2)
			burst(3.0 * i, 0.6, 1);
	return 3;
}

/* Bursts at random. */
static double poisson(void)
{
	int n = 3 + (int)(even() * 40);
	for (int i = 0; i < n; i++)
		burst(100 * even(), (0.02 + 0.5 * even()) * 100 / n * even(), 1);
	return NAN;
}
static double poisson_of_unlike_volumes(void)
{
	int n = 3 + (int)(even() * 40);
	for (int i = 0; i < n; i++)
		burst(100 * even(), (0.02 + 0.5 * even()) * 100 / n * even(),
		      waiting() * waiting());
	return NAN;
}
static double few_at_random(void)
{
	int n = 3 + (int)(even() * 4);
	for (int i = 0; i < n; i++)
		burst(100 * even(), 2 * even(), 1);
	return NAN;
}
static double on_and_off(void)
{
	for (double at = 0; at < 100;) {
		double on = 3 * waiting();
		burst(at, on, on);
		at += on + 3 * waiting();
	}
	return NAN;
}
static double noise(void)
{
	for (int i = 0; i < 500; i++)
		put(i, i + 1, even());
	return NAN;
}
static double noise_with_a_memory(void)
{
	double x = 0;
	for (int i = 0; i < 500; i++) {
		x = 0.9 * x + normal();
		put(i, i + 1, exp(0.5 * x));
	}
	return NAN;
}
static double one_burst(void)
{
	burst(3, 2 * even(), 1);
	return NAN;
}
static double two_bursts(void)
{
	burst(3, 2 * even(), 1);
	burst(10 + 10 * even(), 2 * even(), 1 + even());
	return NAN;
}
static double trend(void)
{
	for (int i = 0; i < 300; i++)
		put(i, i + 1, i + 10 * even());
	return NAN;
}
static double constant(void)
{
	put(0, 10 + 90 * even(), 1e6);
	return NAN;
}

/* ---- what is found ------------------------------------------------------------------------------
 */

struct tally {
	unsigned found, right;
};

/* Of all that was asked, by confidence. */
static struct {
	double from, sum;
	unsigned answers, right;
} sure[] = { { 0.98, 0, 0, 0 }, { 0.9, 0, 0, 0 }, { 0, 0, 0, 0 } };

static void count_sure(double confidence, bool right)
{
	size_t i = 0;
	while (confidence < sure[i].from)
		i++;
	sure[i].sum += confidence;
	sure[i].answers++;
	sure[i].right += right;
}

static struct tally ask(double (*flow)(void))
{
	struct tally t = { 0 };
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct period p;
		shake(i);
		double truth = flow();
		assert_int_equal(period_of(pieces, n_pieces, NULL, &p), 0);
		assert_true(p.why_not ? !known(p.period_s) && !known(p.confidence)
				      : p.confidence > 0 && p.confidence <= 1);
		t.found += !p.why_not;
		bool right = !p.why_not && fabs(p.period_s / truth - 1) < 0.05;
		t.right += right;
		if (!p.why_not)
			count_sure(p.confidence, right);
		period_done(&p);
	}
	return t;
}

/* What docs/period.md says of these, in percent: found at least, wrong at most. */
static void what_has_a_period_has_that_one(void **state)
{
	static const struct {
		const char *name;
		double (*flow)(void);
		unsigned right;
	} flows[] = {
		{ "exact", exact, 90 },
		{ "jitter 2 %", jitter_of_2_percent, 88 },
		{ "jitter 5 %", jitter_of_5_percent, 85 },
		{ "jitter 10 %", jitter_of_10_percent, 80 },
		{ "five", five_cycles, 38 },
		{ "six, 5 %", six_cycles_off_by_5_percent, 35 },
		{ "eight, 10 %", eight_cycles_off_by_10_percent, 30 },
		{ "volumes", volumes_that_differ, 60 },
		{ "background", over_a_background, 97 },
		{ "drift", a_clock_that_drifts, 97 },
		{ "waves", waves, 97 },
		{ "missing", some_bursts_missing, 97 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
		struct tally t = ask(flows[i].flow);
		print_message("%-12s right %u, wrong %u of %u\n", flows[i].name, t.right,
			      t.found - t.right, ROUNDS);
		assert_true(t.right * 100 >= flows[i].right * ROUNDS);
		assert_true((t.found - t.right) * 100 <= 3 * ROUNDS);
	}
}

static void what_has_none_has_none(void **state)
{
	static const struct {
		const char *name;
		double (*flow)(void);
		unsigned wrong; /* of ROUNDS, at most */
	} flows[] = {
		{ "poisson", poisson, 4 },   { "poisson, volumes", poisson_of_unlike_volumes, 4 },
		{ "few", few_at_random, 4 }, { "on and off", on_and_off, 4 },
		{ "noise", noise, 4 },       { "noise, memory", noise_with_a_memory, 4 },
		{ "one", one_burst, 0 },     { "two", two_bursts, 0 },
		{ "trend", trend, 0 },       { "constant", constant, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
		struct tally t = ask(flows[i].flow);
		print_message("%-18s found %u of %u\n", flows[i].name, t.found, ROUNDS);
		assert_true(t.found <= flows[i].wrong);
	}
}

/* Behind the two above: about half of what they asked about has a period. */
static void a_confidence_is_how_often_such_an_answer_is_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof sure / sizeof *sure; i++) {
		double n = sure[i].answers, mean = sure[i].sum / n, right = sure[i].right / n;
		print_message("confidence from %.2f on: %.0f answers, mean %.3f, right %.3f\n",
			      sure[i].from, n, mean, right);
		assert_true(n >= 20);
		assert_true(fabs(right - mean) < 0.01 + 2 / sqrt(n) * sqrt(mean * (1 - mean)) + 0.05 * (1 - mean));
	}
}

/* An answer is the same whatever the width, from two and a half bins a period on. */
static void the_answer_does_not_hang_on_a_rate(void **state)
{
	static const double rates[] = { 5, 7, 10, 20, 50, 100, 1000 };
	(void)state;
	shake(7);
	for (int i = 0; i < 20; i++)
		for (int k = 0; k < 64; k++)
			put(0.5 * i + 0.0003 * k, 0.5 * i + 0.0003 * k + 0.00004, 1 << 20);
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct period_options o = { .rates_hz = &rates[i], .n_rates = 1 };
		struct period p;
		assert_int_equal(period_of(pieces, n_pieces, &o, &p), 0);
		if (p.why_not || fabs(p.frequency_hz - 2) > 0.05)
			fail_msg("at %g Hz: %g, %s", rates[i], p.frequency_hz, p.why_not);
		period_done(&p);
	}
}

/* As many as fit, each over all the time: no more work than short ones. */
static void long_pieces_cost_no_more(void **state)
{
	(void)state;
	shake(5);
	for (int i = 0; i < 19000; i++)
		put(0.001 * even(), 100 + 0.001 * even(), 1e6);
	for (int i = 0; i < 20; i++)
		put(5 * i, 5 * i + 1, 1e10);
	struct period p;
	assert_int_equal(period_of(pieces, n_pieces, NULL, &p), 0);
	assert_true(fabs(p.period_s - 5) < 0.05);
	double bytes = 0;
	for (size_t i = 0; i < p.n_phases; i++)
		bytes += p.phases[i].bytes;
	assert_true(fabs(bytes / p.bytes - 1) < 0.01);
	period_done(&p);
}

/* Ten thousand bursts: bins that are too wide would show another period, by aliasing. */
static void a_long_run_of_short_periods_has_the_short_one(void **state)
{
	(void)state;
	shake(9);
	for (int i = 0; i < 10000; i++)
		put(1.37 * i, 1.37 * i + 0.1, 1);
	struct period p;
	assert_int_equal(period_of(pieces, n_pieces, NULL, &p), 0);
	assert_null(p.why_not);
	assert_true(fabs(p.period_s - 1.37) < 0.001);
	assert_int_equal(p.n_phases, 10000);
	period_done(&p);
}

static void bursts_are_listed_with_their_bytes(void **state)
{
	(void)state;
	shake(1);
	for (int i = 0; i < 8; i++)
		put(100 + 10 * i, 102 + 10 * i, 1000 + i);
	struct period p;
	assert_int_equal(period_of(pieces, n_pieces, NULL, &p), 0);
	assert_null(p.why_not);
	assert_int_equal(p.n_phases, 8);
	for (int i = 0; i < 8; i++) {
		assert_true(fabs(p.phases[i].begin_s - (100 + 10 * i)) < 1e-9);
		assert_true(fabs(p.phases[i].end_s - (102 + 10 * i)) < 1e-9);
		assert_true(fabs(p.phases[i].bytes - (1000 + i)) < 1e-6);
	}
	period_done(&p);
	n_pieces = 2; /* without a period they are told from each other by the level */
	assert_int_equal(period_of(pieces, n_pieces, NULL, &p), 0);
	assert_non_null(p.why_not);
	assert_int_equal(p.n_phases, 2);
	assert_true(fabs(p.phases[1].bytes - 1001) < 1e-6);
	period_done(&p);
}

/* Series that were binned before, coarser and coarser: right, or said to be too coarse. */
static void bins_that_came_are_not_cut_finer(void **state)
{
	(void)state;
	for (double bin = 0.25; bin < 100; bin *= 2) {
		shake(3);
		for (double at = 0; at < 200; at += bin)
			put(at, at + bin, bin <= 4 ? fmod(at, 10) < 3 : 1 + even());
		struct period p;
		struct period_options o = { .resolution_s = bin };
		assert_int_equal(period_of(pieces, n_pieces, &o, &p), 0);
		for (size_t i = 0; i < p.n_rates; i++)
			assert_true(p.rates[i].rate_hz <= 1.01 / bin);
		if (bin <= 1)
			assert_true(fabs(p.period_s - 10) < 0.2);
		if (bin > 25 && bin < 80)
			assert_string_equal(p.why_not, PERIOD_TOO_FEW);
		period_done(&p);
	}
}

static void what_is_no_flow_is_told(void **state)
{
	static const struct period_piece wrong[] = {
		{ NAN, 1, 1 }, { 0, INFINITY, 1 }, { 0, 1, -1 }, { 2, 1, 1 }, { 0, 1, NAN },
	};
	(void)state;
	struct period p;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(period_of(&wrong[i], 1, NULL, &p), -EINVAL);
		period_done(&p);
	}
	assert_int_equal(period_of(NULL, 0, NULL, &p), 0);
	assert_string_equal(p.why_not, PERIOD_NOTHING);
	period_done(&p);
	struct period_piece moment = { 5, 5, 100 };
	assert_int_equal(period_of(&moment, 1, NULL, &p), 0);
	assert_non_null(p.why_not);
	assert_int_equal(p.n_phases, 1);
	period_done(&p);
}

static void no_memory_is_an_error(void **state)
{
	(void)state;
	shake(2);
	(void)exact();
	for (int n = 1; fail_alloc(n); n++) {
		struct period p;
		int rc = period_of(pieces, n_pieces, NULL, &p);
		assert_true(rc == 0 || rc == -ENOMEM);
		period_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_a_period_has_that_one),
		cmocka_unit_test(what_has_none_has_none),
		cmocka_unit_test(a_confidence_is_how_often_such_an_answer_is_right),
		cmocka_unit_test(the_answer_does_not_hang_on_a_rate),
		cmocka_unit_test(long_pieces_cost_no_more),
		cmocka_unit_test(a_long_run_of_short_periods_has_the_short_one),
		cmocka_unit_test(bursts_are_listed_with_their_bytes),
		cmocka_unit_test(bins_that_came_are_not_cut_finer),
		cmocka_unit_test(what_is_no_flow_is_told),
		cmocka_unit_test(no_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
