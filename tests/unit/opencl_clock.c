/* The clock of a device: found among others, and followed, on time lines that are made up. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "collectors/opencl_clock.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

/* What each clock shows when CLOCK_MONOTONIC shows t: an offset, and a rate in parts per million.
 */
struct world {
	int64_t offset[SOURCES];
	double ppm[SOURCES];
	bool missing[SOURCES];
};

static int64_t shows(const struct world *w, int s, int64_t t)
{
	return t + w->offset[s] + llround((double)t * w->ppm[s] / 1e6);
}

static struct opencl_reading reading(const struct world *w, int64_t t)
{
	struct opencl_reading r = { .width_ns = 80 };
	for (int s = 0; s < SOURCES; s++)
		r.at_ns[s] = w->missing[s] ? NO_READING : shows(w, s, t);
	return r;
}

/* A command from start to end on the clock of source, with its runtime around it. */
static struct opencl_bracket bracket(const struct world *w, int source, int64_t start, int64_t end)
{
	return (struct opencl_bracket){ .before = reading(w, start - 30 * US),
					.after = reading(w, end + 50 * US),
					.start_ns = shows(w, source, start),
					.end_ns = shows(w, source, end) };
}

static bool find(struct opencl_clock *c, const struct world *w, int source)
{
	struct opencl_bracket b[4];
	for (int i = 0; i < 4; i++)
		b[i] = bracket(w, source, 1000 * S + i * MS, 1000 * S + i * MS + 5 * US);
	return opencl_clock_find(c, b, 4, 1);
}

static const struct world usual = {
	.offset = { 0, -188 * MS, 5000 * S, 1700000000 * S, -400 * S },
	.ppm = { 0, 12, 0, 3, -40 },
};

static void each_clock_is_found_and_followed(void **state)
{
	(void)state;
	for (int s = 0; s < SOURCES; s++) {
		static struct opencl_clock c;
		assert_true(find(&c, &usual, s));
		assert_int_equal(c.source, s);
		for (int64_t t = 1001 * S; t < 1100 * S; t += 13 * MS) {
			int64_t start = shows(&usual, s, t - 9 * MS),
				end = shows(&usual, s, t - MS);
			if (opencl_clock_stale(&c, t)) {
				const struct opencl_reading r = reading(&usual, t);
				opencl_clock_pair(&c, &r);
			}
			opencl_clock_convert(&c, t - 10 * MS, t, &start, &end);
			assert_in_range(start - (t - 9 * MS) + 2, 0, 4);
			assert_in_range(end - (t - MS) + 2, 0, 4);
		}
		double offset, drift, error;
		opencl_clock_tell(&c, &offset, &drift, &error);
		assert_true(fabs(offset - (double)(shows(&usual, s, 1000 * S) - 1000 * S)) < 5000);
		assert_true(fabs(drift - usual.ppm[s] * 100 * 1e3) < 1500);
		assert_true(error == (s == ON_MONOTONIC ? 0 : 40));
	}
}

static void a_command_longer_than_the_readings_reach_keeps_its_begin(void **state)
{
	(void)state;
	static struct opencl_clock c;
	assert_true(find(&c, &usual, ON_TIMER));
	for (int64_t t = 1001 * S; t < 1400 * S; t += 11 * MS) {
		const struct opencl_reading r = reading(&usual, t);
		opencl_clock_pair(&c, &r);
		assert_true(c.n <= CLOCK_PAIRS);
	}
	int64_t start = shows(&usual, ON_TIMER, 1002 * S), end = shows(&usual, ON_TIMER, 1399 * S);
	opencl_clock_convert(&c, 1001 * S, 1400 * S, &start, &end);
	assert_in_range(start - 1002 * S + 10, 0, 20);
	assert_in_range(end - 1399 * S + 10, 0, 20);
}

static void a_slew_between_two_readings_is_no_more_than_their_line(void **state)
{
	(void)state;
	struct world w = usual;
	static struct opencl_clock c;
	assert_true(find(&c, &w, ON_MONOTONIC_RAW));
	/* NTP starts to slew by 500 ppm at 1001 s. */
	int64_t at = shows(&w, ON_MONOTONIC_RAW, 1001 * S);
	struct opencl_reading r = reading(&w, 1001 * S);
	opencl_clock_pair(&c, &r);
	r = reading(&w, 1001 * S + 10 * MS);
	r.at_ns[ON_MONOTONIC_RAW] = at + 10 * MS + 5 * US;
	opencl_clock_pair(&c, &r);
	int64_t start = at + 5 * MS + 2500, end = at + 10 * MS + 5 * US;
	opencl_clock_convert(&c, 1001 * S, 1001 * S + 11 * MS, &start, &end);
	assert_in_range(start - (1001 * S + 5 * MS) + 2, 0, 4);
	assert_in_range(end - (1001 * S + 10 * MS) + 2, 0, 4);
}

static void no_clock_is_said_and_not_guessed(void **state)
{
	(void)state;
	static struct opencl_clock c;
	struct world w = usual;
	struct opencl_bracket b[2];
	for (int i = 0; i < 2; i++) {
		b[i] = bracket(&w, ON_TIMER, (1000 + i) * S, (1000 + i) * S + 5 * US);
		b[i].start_ns += 7 * S;
		b[i].end_ns += 7 * S;
	}
	assert_false(opencl_clock_find(&c, b, 2, 1));
	/* Right once is not enough. */
	b[0] = bracket(&w, ON_REALTIME, 1000 * S, 1000 * S + 5 * US);
	assert_false(opencl_clock_find(&c, b, 2, 1));
	assert_false(opencl_clock_find(&c, b, 0, 1));
	/* An end before its begin fits nothing. */
	b[0] = bracket(&w, ON_MONOTONIC, 1000 * S, 1000 * S + 5 * US);
	b[0].end_ns = b[0].start_ns - 1;
	assert_false(opencl_clock_find(&c, b, 1, 1));
	/* The timer can't be read: it is not one to choose. */
	w.missing[ON_TIMER] = true;
	b[0] = bracket(&w, ON_TIMER, 1000 * S, 1000 * S + 5 * US);
	assert_false(opencl_clock_find(&c, b, 1, 1));
}

/* Soon after the start of a machine two clocks show nearly the same. */
static void clocks_that_look_alike_are_told_apart_later(void **state)
{
	(void)state;
	static struct opencl_clock c;
	struct world w = usual;
	w.offset[ON_MONOTONIC_RAW] = -(1000 * S / 1000000 * 400); /* equal at 1000 s */
	w.ppm[ON_MONOTONIC_RAW] = 400;
	assert_true(find(&c, &w, ON_MONOTONIC_RAW));
	assert_int_equal(c.source, ON_MONOTONIC);
	assert_true(c.fits & 1u << ON_MONOTONIC_RAW);
	for (int64_t t = 1000 * S + 10 * MS; t < 1002 * S; t += 10 * MS) {
		const struct opencl_reading r = reading(&w, t);
		int64_t start = shows(&w, ON_MONOTONIC_RAW, t - 60 * US),
			end = shows(&w, ON_MONOTONIC_RAW, t - 5 * US);
		assert_true(opencl_clock_stale(&c, t + 11 * MS));
		opencl_clock_pair(&c, &r);
		opencl_clock_convert(&c, t - 70 * US, t, &start, &end);
		/* Never further off than what the call allows. */
		assert_in_range(start - (t - 60 * US) + 20 * US, 0, 40 * US);
	}
	assert_int_equal(c.source, ON_MONOTONIC_RAW);
	assert_false(c.fits & 1u << ON_MONOTONIC);
	int64_t start = shows(&w, ON_MONOTONIC_RAW, 1002 * S), end = start + MS;
	opencl_clock_convert(&c, 1002 * S - US, 1002 * S + 2 * MS, &start, &end);
	assert_in_range(start - 1002 * S + 100, 0, 200);
}

static void what_can_not_be_is_the_error(void **state)
{
	(void)state;
	static struct opencl_clock c;
	double offset, drift, error;
	struct opencl_bracket b = bracket(&usual, ON_TIMER, 1000 * S, 1000 * S + 5 * US);
	/* A driver whose conversion is off by 100 us. */
	b.start_ns -= 100 * US;
	assert_true(opencl_clock_find(&c, &b, 1, 0));
	opencl_clock_tell(&c, &offset, &drift, &error);
	assert_true(error >= 1e5);
	assert_true(find(&c, &usual, ON_TIMER));
	int64_t start = shows(&usual, ON_TIMER, 1001 * S), end = start + 2 * MS;
	opencl_clock_convert(&c, 1001 * S, 1001 * S + MS, &start, &end); /* over before its end */
	opencl_clock_tell(&c, &offset, &drift, &error);
	assert_true(error > 0.9e6 && error < 1.2e6);
}

static void readings_that_come_late_are_left_out(void **state)
{
	(void)state;
	static struct opencl_clock c;
	assert_true(find(&c, &usual, ON_MONOTONIC_RAW));
	struct opencl_reading r = reading(&usual, 1002 * S);
	size_t n = c.n;
	opencl_clock_pair(&c, &r);
	assert_int_equal(c.n, n + 1);
	r = reading(&usual, 1001 * S);
	opencl_clock_pair(&c, &r);
	assert_int_equal(c.n, n + 1);
	assert_false(opencl_clock_stale(&c, 1002 * S + MS));
	assert_true(opencl_clock_stale(&c, 1002 * S + 11 * MS));
}

static void the_clocks_of_this_machine_are_read(void **state)
{
	(void)state;
	struct opencl_reading r;
	opencl_read(&r, NULL, NULL);
	for (int s = 0; s < ON_TIMER; s++)
		assert_true(r.at_ns[s] > 0);
	assert_true(r.at_ns[ON_TIMER] == NO_READING);
	assert_true(r.width_ns >= 0);
	for (int s = 0; s < SOURCES; s++)
		assert_non_null(opencl_source_name((enum opencl_source)s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_clock_is_found_and_followed),
		cmocka_unit_test(a_command_longer_than_the_readings_reach_keeps_its_begin),
		cmocka_unit_test(a_slew_between_two_readings_is_no_more_than_their_line),
		cmocka_unit_test(no_clock_is_said_and_not_guessed),
		cmocka_unit_test(clocks_that_look_alike_are_told_apart_later),
		cmocka_unit_test(what_can_not_be_is_the_error),
		cmocka_unit_test(readings_that_come_late_are_left_out),
		cmocka_unit_test(the_clocks_of_this_machine_are_read),
	};
	return cmocka_run_group_tests_name("opencl_clock", tests, NULL, NULL);
}
