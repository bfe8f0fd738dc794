/* Pauses after failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/pace.h"

#define S 1000000000ull

static void a_success_keeps_the_period(void **state)
{
	(void)state;
	struct pace p = { .period_ns = S, .max_ns = 60 * S };
	assert_int_equal(pace_next(&p, 5 * S, true), 6 * S);
	assert_int_equal(pace_next(&p, 6 * S, true), 7 * S);
}

static void failures_double_the_pause_up_to_the_longest(void **state)
{
	(void)state;
	struct pace p = { .period_ns = S, .max_ns = 7 * S };
	const uint64_t want[] = { 1, 2, 4, 7, 7, 7 };
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		assert_int_equal(pace_next(&p, 100 * S, false), (100 + want[i]) * S);
}

static void a_success_forgets_them(void **state)
{
	(void)state;
	struct pace p = { .period_ns = S, .max_ns = 60 * S };
	for (int i = 0; i < 5; i++)
		(void)pace_next(&p, 0, false);
	(void)pace_next(&p, 0, true);
	assert_int_equal(pace_next(&p, 0, false), S);
}

static void the_first_pause_may_be_another(void **state)
{
	(void)state;
	struct pace p = { .max_ns = 60 * S, .first_ns = S / 2 };
	assert_int_equal(pace_next(&p, 0, true), 0);
	assert_int_equal(pace_next(&p, 0, false), S / 2);
	assert_int_equal(pace_next(&p, 0, false), S);
	struct pace none = { .max_ns = 60 * S };
	assert_int_equal(pace_next(&none, 0, false), S);
}

static void nothing_overflows(void **state)
{
	(void)state;
	struct pace p = { .first_ns = UINT64_MAX / 3, .max_ns = UINT64_MAX / 2 };
	for (int i = 0; i < 80; i++)
		assert_true(pace_next(&p, 0, false) <= UINT64_MAX / 2);
}

static void jitter_stays_within_a_quarter_and_is_spread(void **state)
{
	(void)state;
	struct pace p = { .first_ns = S, .max_ns = S, .random = 42 };
	uint64_t low = UINT64_MAX, high = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t pause = pace_next(&p, 0, false);
		assert_in_range(pause, S * 3 / 4, S * 5 / 4);
		low = pause < low ? pause : low;
		high = pause > high ? pause : high;
	}
	assert_true(low < S * 77 / 100 && high > S * 123 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_success_keeps_the_period),
		cmocka_unit_test(failures_double_the_pause_up_to_the_longest),
		cmocka_unit_test(a_success_forgets_them),
		cmocka_unit_test(the_first_pause_may_be_another),
		cmocka_unit_test(nothing_overflows),
		cmocka_unit_test(jitter_stays_within_a_quarter_and_is_spread),
	};
	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
