/* Numbers in output: which match counts, how numbers are written, prefixes, and what is no number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "suite/pattern.h"
#include "timer/number.h"
#include "timer/timer.h"
#include "timer/unit.h"

struct row {
	const char *pattern, *unit, *text;
	enum metric_status status;
	double value;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct metric m;
		struct err err = { 0 };
		int rc = metric_find(rows[i].pattern, rows[i].unit, rows[i].text,
				     strlen(rows[i].text), &m, &err);
		if (rc || m.status != rows[i].status ||
		    (rows[i].status == METRIC_OK ? m.value != rows[i].value : known(m.value)))
			fail_msg("'%s' [%s] on \"%s\": rc %d, status %d, %.17g, and should be %d, "
				 "%.17g (%s)",
				 rows[i].pattern, rows[i].unit ? rows[i].unit : "", rows[i].text,
				 rc, m.status, m.value, rows[i].status, rows[i].value, err.text);
	}
}
#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

static void the_last_match_counts(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "^FOM: (\\S+)", NULL, "FOM: 1\nFOM RHS: 7\nFOM: 2\nFOMX: 3\n", METRIC_OK, 2 },
		{ "^FOM:\\s+([0-9.eE+-]+)", NULL, "FOM:\n  3.5\n", METRIC_OK, 3.5 },
		{ "^a (\\d+)$", NULL, "a 1\r\na 2\r\n", METRIC_OK, 2 },
		{ "t=(\\d+)", NULL, "t=1 t=2 t=3", METRIC_OK, 3 },
		{ "(\\d+) end\\z", NULL, "1 end\n2 end", METRIC_OK, 2 },
		{ "x (\\d+)", NULL, "", METRIC_NOT_MATCHED, 0 },
		{ "x (\\d+)", NULL, "y 1\n", METRIC_NOT_MATCHED, 0 },
		{ "x (\\d+)?", NULL, "x \n", METRIC_NOT_MATCHED, 0 },
		{ "(?:a|b)=(?<v>\\d+)", NULL, "a=1 b=2", METRIC_OK, 2 },
	};
	CHECK(rows);
}

static void numbers_are_read_as_programs_write_them(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "v (\\S+)", NULL, "v -1.5", METRIC_OK, -1.5 },
		{ "v (\\S+)", NULL, "v +.5", METRIC_OK, 0.5 },
		{ "v (\\S+)", NULL, "v 5.", METRIC_OK, 5 },
		{ "v (\\S+)", NULL, "v 1.0D+03", METRIC_OK, 1000 },
		{ "v (\\S+)", NULL, "v 2.5d-1", METRIC_OK, 0.25 },
		{ "v (\\S+)", NULL, "v 0.25+101", METRIC_OK, 0.25e101 },
		{ "v (\\S+)", NULL, "v 0.25-102", METRIC_OK, 0.25e-102 },
		{ "v (\\S+)", NULL, "v 1,234,567", METRIC_OK, 1234567 },
		{ "v (\\S+)", NULL, "v 1,234.5", METRIC_OK, 1234.5 },
		{ "v (\\S+)", NULL, "v 12.5, and", METRIC_OK, 12.5 },
		{ "v (\\S+)", NULL, "v 1,5", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v 1234,567", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v 1,23,456", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v 0x10", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v 1e999", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v nan", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v -Infinity", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v 1.2.3", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v -", METRIC_NOT_A_NUMBER, 0 },
		{ "v (\\S+)", NULL, "v ******", METRIC_OVERFLOWED, 0 },
	};
	CHECK(rows);
}

static void no_number_is_told_apart_from_no_match(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "^t = +([0-9.]+) s", "s", "t =  ******* s\n", METRIC_OVERFLOWED, 0 },
		{ "^t = +([0-9.]+) s", "s", "t =  NaN s\n", METRIC_NOT_A_NUMBER, 0 },
		{ "^t = +([0-9.]+) s", "s", "t =  -inf s\n", METRIC_NOT_A_NUMBER, 0 },
		/* the last line is what counts, also when it has no number */
		{ "^t = +([0-9.]+) s", "s", "t = 1.5 s\nt =  ******* s\n", METRIC_OVERFLOWED, 0 },
		{ "^t = +([0-9.]+) s", "s", "t =  ******* s\nt = 1.5 s\n", METRIC_OK, 1.5 },
		{ "^t = +([0-9.]+) s", "s", "t =  none s\n", METRIC_NOT_MATCHED, 0 },
		{ "rate.*?([0-9.]+)", NULL, "rate (information) 5\n", METRIC_OK, 5 },
		{ "([(]?[0-9]+\\)?) x", NULL, "*** x\n", METRIC_OVERFLOWED, 0 },
	};
	CHECK(rows);
}

static void prefixes_of_the_declared_unit_are_folded(void **state)
{
	(void)state;
	static const char lammps[] = "^Performance: .*?([0-9.eE+-]+) Matom-step/s";
	static const struct row rows[] = {
		{ lammps, "Matom-step/s",
		  "Performance: 1 tau/day, 2.0 timesteps/s, 1.312 Gatom-step/s", METRIC_OK, 1312 },
		{ lammps, "Matom-step/s",
		  "Performance: 1 tau/day, 2.0 timesteps/s, 114.312 katom-step/s", METRIC_OK,
		  0.114312 },
		{ lammps, "Matom-step/s",
		  "Performance: 1 tau/day, 2.0 timesteps/s, 500.5 atom-step/s", METRIC_OK,
		  0.0005005 },
		{ lammps, "Matom-step/s",
		  "Performance: 1 tau/day, 2.0 timesteps/s, 7.5 Matom-step/s", METRIC_OK, 7.5 },
		/* the last line counts, whatever its prefix */
		{ lammps, "Matom-step/s",
		  "Performance: 2 x, 9 Matom-step/s\nPerformance: 2 x, 2 Gatom-step/s\n", METRIC_OK,
		  2000 },
		{ "bw: ([0-9.]+) \\[GB/s\\]", "GB/s", "bw: 1.5 [TB/s]", METRIC_OK, 1500 },
		{ "bw: ([0-9.]+) \\[GB\\/s\\]", "GB/s", "bw: 512 [MB/s]", METRIC_OK, 0.512 },
		{ "bw: ([0-9.]+)\\s*GiB/s", "GiB/s", "bw: 512 MiB/s", METRIC_OK, 0.5 },
		{ "bw: ([0-9.]+)\\s*GiB/s", "GiB/s", "bw: 1073741824 B/s", METRIC_OK, 1 },
		{ "bw: ([0-9.]+) GB/s", "GB/s", "bw: 5 GiB/s", METRIC_NOT_MATCHED, 0 },
		{ "= ([0-9.]+) GFLOPs", "GFLOPs", "= 3.5 TFLOPs", METRIC_OK, 3500 },
		{ "= ([0-9.]+) GFLOPs", "GFLOP", "= 3.5 TFLOPs", METRIC_OK, 3500 },
		{ "took ([0-9.]+) ms", "ms", "took 2 s", METRIC_OK, 2000 },
		{ "took ([0-9.]+) ms", "ms", "took 250 us", METRIC_OK, 0.25 },
		{ "took ([0-9.]+) ms", "ms", "took 250 \xc2\xb5s", METRIC_OK, 0.25 },
		{ "took ([0-9.]+) s", "s", "took 250 ms", METRIC_OK, 0.25 },
		{ "rate ([0-9.]+) atom/s", "atom/s", "rate 2 katom/s", METRIC_OK, 2000 },
		{ "rate ([0-9.]+) Photons/s", "Photons/s", "rate 2 MPhotons/s", METRIC_OK, 2e6 },
		{ "rate ([0-9.]+) Photons/s", "Photons/s", "rate 2 Photons/s", METRIC_OK, 2 },
		{ "speed ([0-9.]+) ns/day", "ns/day", "speed 1.5 us/day", METRIC_OK, 1500 },
	};
	CHECK(rows);
}

static void words_that_begin_like_a_prefix_are_no_prefix(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "took ([0-9.]+) min", "min", "took 5 in total, 7 Min", METRIC_NOT_MATCHED, 0 },
		{ "has ([0-9.]+) mol", "mol", "has 5 ol", METRIC_NOT_MATCHED, 0 },
		{ "([0-9.]+) nodes", "nodes", "12 Modes, 3 odes", METRIC_NOT_MATCHED, 0 },
		{ "took ([0-9.]+) ms", "ms", "took 2 steps", METRIC_NOT_MATCHED, 0 },
		{ "took ([0-9.]+)", "ms", "took 2 s", METRIC_OK,
		  2 }, /* the unit does not stand there */
		{ "([0-9.]+) Matom-step/s", "Matom-step/s", "5 matom-step/s", METRIC_NOT_MATCHED,
		  0 },
	};
	CHECK(rows);
}

static void seconds_come_in_four_units(void **state)
{
	(void)state;
	static const char *const units[] = { "s", "ms", "us", "ns" };
	static const double want[] = { 7481000, 7481, 7.481, 0.007481 };
	for (int i = 0; i < 4; i++) {
		struct metric m;
		assert_int_equal(metric_find_seconds("^main 1 (\\S+)", units[i],
						     "main 1 7.481e+06\n", 17, &m, NULL),
				 0);
		assert_int_equal(m.status, METRIC_OK);
		assert_true(m.value == want[i]);
	}
	struct metric m;
	struct err err = { 0 };
	assert_int_equal(metric_find_seconds("(\\d+)", "min", "5", 1, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "s, ms, us or ns"));
}

static void a_pattern_needs_exactly_one_group(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *in_sentence;
	} rows[] = { { "FOM", "0 groups" },
		     { "(a)(b)", "2 groups" },
		     { "(a", "missing closing parenthesis" },
		     { "[", "character 2" },
		     { "a(?=(b))(c)", "2 groups" },
		     { "(*UTF)(a)", "pattern" },
		     { "(\\C)", "pattern" } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct metric m;
		struct err err = { 0 };
		assert_int_equal(metric_find(rows[i].pattern, NULL, "FOM", 3, &m, &err), -EINVAL);
		if (!strstr(err.text, rows[i].in_sentence))
			fail_msg("%s: \"%s\"", rows[i].pattern, err.text);
	}
}

static void costly_patterns_end(void **state)
{
	(void)state;
	size_t n = 1 << 16;
	char *text = malloc(n + 1);
	assert_non_null(text);
	memset(text, 'a', n);
	text[n] = 0;
	struct metric m;
	assert_int_equal(metric_find("^(?:a+)+(b)", NULL, text, n, &m, NULL), 0);
	assert_int_equal(m.status, METRIC_TOO_COSTLY);
	assert_false(known(m.value));
	free(text);
}

/* Bytes that are no UTF-8, NUL, and numbers across the borders of the window. */
static void any_bytes_may_be_in_a_log(void **state)
{
	(void)state;
	static const char text[] = "\xff\xfe\0 x = 5 \x80\nx = 6 \xc3\n";
	struct metric m;
	assert_int_equal(metric_find("x = (\\d+) ", NULL, text, sizeof text - 1, &m, NULL), 0);
	assert_int_equal(m.status, METRIC_OK);
	assert_true(m.value == 6);
}

static void a_number_is_whole_wherever_it_stands(void **state)
{
	(void)state;
	/* One line without an end, the number just where the view of one call would end. */
	for (size_t before = 40000; before < 42100; before += 7) {
		size_t n = before + 30;
		char *text = malloc(n);
		assert_non_null(text);
		memset(text, '.', n);
		memcpy(text + before, "v=123456789012", 14);
		struct metric m;
		assert_int_equal(metric_find("v=(\\d+)", NULL, text, n, &m, NULL), 0);
		if (m.status != METRIC_OK || m.value != 123456789012.0)
			fail_msg("%zu before: %d, %.15g", before, m.status, m.value);
		free(text);
	}
}

static void a_long_log_is_read_to_its_end(void **state)
{
	(void)state;
	size_t n = 24 << 20, at = 0;
	char *text = malloc(n);
	assert_non_null(text);
	static const char line[] = "step 12345 temperature 0.7123 energy -4.5123e+03\n";
	while (at + sizeof line < n - 64) {
		memcpy(text + at, line, sizeof line - 1);
		at += sizeof line - 1;
	}
	memcpy(text + at, "Performance: 42.5 x/s\n", 22);
	at += 22;
	struct metric m;
	assert_int_equal(metric_find("^Performance:\\s+([0-9.]+) x/s", "x/s", text, at, &m, NULL),
			 0);
	assert_int_equal(m.status, METRIC_OK);
	assert_true(m.value == 42.5);
	free(text);
}

static void clocks_are_added_up(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double seconds;
	} rows[] = { { "4.5s", 4.5 },          { "3m 4.50s", 184.5 }, { " 1h12m", 4320 },
		     { "1h 2m 3.4s", 3723.4 }, { "1d 2h 3m", 93780 }, { "12.5", 12.5 },
		     { "1:02:03", 3723 },      { "0:15", 15 } };
	double value;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(number_parse_clock(rows[i].text, strlen(rows[i].text), &value),
				 METRIC_OK);
		assert_true(value == rows[i].seconds);
	}
	static const char *const bad[] = { "",   "3s 4m",     "1m 2m", "abc",
					   "5x", "1:2:3:4:5", "m",     "1h **s" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (number_parse_clock(bad[i], strlen(bad[i]), &value) == METRIC_OK)
			fail_msg("\"%s\" is %.15g", bad[i], value);
}

static void nothing_asked_and_nothing_there(void **state)
{
	(void)state;
	struct metric m;
	assert_int_equal(metric_find(NULL, NULL, "x", 1, &m, NULL), 0);
	assert_int_equal(m.status, METRIC_NONE);
	assert_int_equal(metric_find("(x)", NULL, NULL, 0, &m, NULL), 0);
	assert_int_equal(m.status, METRIC_LOG_MISSING);
}

static void an_audit_is_clean_or_not_or_not_there(void **state)
{
	(void)state;
	static const struct {
		const char *text, *line;
		int ok;
	} rows[] = {
		{ "audit summary: 0 mismatch, 0 unverified\n",
		  "audit summary: 0 mismatch, 0 unverified", YES },
		{ "audit summary: 10 mismatch, 0 unverified",
		  "audit summary: 10 mismatch, 0 unverified", NO },
		{ "audit summary: 0 mismatch, 0 unverified2",
		  "audit summary: 0 mismatch, 0 unverified2", NO },
		{ "audit summary: 0 mismatch, 10 unverified",
		  "audit summary: 0 mismatch, 10 unverified", NO },
		{ "audit summary:\naudit summary: 0 mismatch, 0 unverified", "audit summary:", NO },
		{ "audit", NULL, UNKNOWN },
		{ "", NULL, UNKNOWN },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena a = { 0 };
		const char *line;
		signed char ok;
		launcher_audit(&a, rows[i].text, strlen(rows[i].text), &line, &ok);
		assert_int_equal(ok, rows[i].ok);
		if (rows[i].line)
			assert_string_equal(line, rows[i].line);
		else
			assert_null(line);
		arena_free(&a);
	}
}

static void the_group_is_found_in_any_pattern(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "a(b)c", "c" },
		{ "\\((b)\\)x", "\\)x" },
		{ "[(](b)c", "c" },
		{ "(?:a)(b(c)?)d", "d" },
		{ "(?#(x))(b)c", "c" },
		{ "[]()](b)c", "c" },
		{ "[[:alpha:])(](b)c", "c" },
		{ "\\Q(x)\\E(b)c", "c" },
		{ "(?<n>b[)]\\))c", "c" },
		{ "(?=x)(?<!y)(?P<n>b)c", "c" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *begin, *end = unit_group_end(rows[i][0], &begin);
		assert_non_null(end);
		assert_string_equal(end, rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_match_counts),
		cmocka_unit_test(numbers_are_read_as_programs_write_them),
		cmocka_unit_test(no_number_is_told_apart_from_no_match),
		cmocka_unit_test(prefixes_of_the_declared_unit_are_folded),
		cmocka_unit_test(words_that_begin_like_a_prefix_are_no_prefix),
		cmocka_unit_test(seconds_come_in_four_units),
		cmocka_unit_test(a_pattern_needs_exactly_one_group),
		cmocka_unit_test(costly_patterns_end),
		cmocka_unit_test(any_bytes_may_be_in_a_log),
		cmocka_unit_test(a_number_is_whole_wherever_it_stands),
		cmocka_unit_test(a_long_log_is_read_to_its_end),
		cmocka_unit_test(clocks_are_added_up),
		cmocka_unit_test(nothing_asked_and_nothing_there),
		cmocka_unit_test(an_audit_is_clean_or_not_or_not_there),
		cmocka_unit_test(the_group_is_found_in_any_pattern),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
