/* One table parses and prints. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/opt.h"

static bool flag;
static const char *text;
static long count;
static double number;
static struct opt_list list;

static const struct opt opts[] = {
	{ "flag", OPT_FLAG, &flag, NULL, "a flag" },
	{ "text", OPT_TEXT, &text, "TEXT", "a text" },
	{ "count", OPT_COUNT, &count, "N", "a count" },
	{ "number", OPT_NUMBER, &number, "S", "a number" },
	{ "list", OPT_LIST, &list, "A,B", "a list" },
};
static const struct opt_table table = { "t", "[OPTIONS]", "About.", opts, 5, NULL };

static int parse(int *first, struct err *err, int argc, ...)
{
	static char words[16][64];
	char *argv[17] = { 0 };
	va_list args;
	va_start(args, argc);
	(void)snprintf(words[0], sizeof words[0], "t");
	argv[0] = words[0];
	for (int i = 1; i <= argc; i++) {
		(void)snprintf(words[i], sizeof words[i], "%s", va_arg(args, const char *));
		argv[i] = words[i];
	}
	va_end(args);
	err->text[0] = 0;
	return opt_parse(&table, argc + 1, argv, first, err);
}

static void options_are_taken_and_the_rest_is_left(void **state)
{
	(void)state;
	int first = 0;
	struct err err;
	assert_int_equal(parse(&first, &err, 9, "--flag", "--text=x", "--count", "3", "--number",
			       "1.5", "--list", "a,b", "rest"),
			 0);
	assert_true(flag);
	assert_string_equal(text, "x");
	assert_int_equal(count, 3);
	assert_true(number == 1.5);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.items[1], "b");
	assert_int_equal(first, 9);
	opt_done(&table);
}

static void what_stands_after_two_dashes_is_not_an_option(void **state)
{
	(void)state;
	int first = 0;
	struct err err;
	flag = false;
	assert_int_equal(parse(&first, &err, 3, "--", "cmd", "--flag"), 0);
	assert_false(flag);
	assert_int_equal(first, 2);
}

static void wrong_calls_name_the_option(void **state)
{
	(void)state;
	int first;
	struct err err;
	assert_int_equal(parse(&first, &err, 1, "--nothing"), -EINVAL);
	assert_string_equal(err.text, "there is no option --nothing; see t --help");
	assert_int_equal(parse(&first, &err, 1, "--lust=a"), -EINVAL);
	assert_string_equal(err.text, "there is no option --lust=a, but --list; see t --help");
	assert_int_equal(parse(&first, &err, 1, "--numbr"),
			 -EINVAL); /* and none for --numb, which is --number */
	assert_non_null(strstr(err.text, ", but --number; "));
	assert_int_equal(
		parse(&first, &err, 1, "--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
		-EINVAL);
	assert_int_equal(parse(&first, &err, 1, "-x"), -EINVAL);
	assert_non_null(strstr(err.text, "-x"));
	assert_int_equal(parse(&first, &err, 1, "--text"), -EINVAL);
	assert_string_equal(err.text, "--text needs a value, TEXT: a text; see t --help");
	assert_int_equal(parse(&first, &err, 2, "--count", "-1"), -EINVAL);
	assert_int_equal(parse(&first, &err, 2, "--count", "3x"), -EINVAL);
	assert_int_equal(parse(&first, &err, 2, "--number", "nan"), -EINVAL);
	assert_int_equal(parse(&first, &err, 2, "--number", "0"), -EINVAL);
	assert_int_equal(parse(&first, &err, 1, "--flag=1"), -EINVAL);
	assert_non_null(strstr(err.text, "--flag"));
}

static void no_word_of_a_list_is_empty(void **state)
{
	static const char *const wrong[] = { "", ",", "a,", ",a", "a,,b" };
	int first;
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(parse(&first, &err, 2, "--list", wrong[i]), -EINVAL);
		assert_non_null(strstr(err.text, "a word is empty; expected A,B: a list"));
		opt_done(&table);
	}
	assert_int_equal(parse(&first, &err, 4, "--list", "a", "--list", "b,c"), 0);
	assert_int_equal(list.n, 3);
	opt_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_taken_and_the_rest_is_left),
		cmocka_unit_test(what_stands_after_two_dashes_is_not_an_option),
		cmocka_unit_test(wrong_calls_name_the_option),
		cmocka_unit_test(no_word_of_a_list_is_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
