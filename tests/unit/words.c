/* cli/words: texts for a terminal. The command line's objects are not in parts.a, so the source is
 * taken in here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/words.c"

static void a_share_never_has_an_exponent(void **state)
{
	(void)state;
	char text[32];
	assert_string_equal(words_percent(text, 0), "0");
	assert_string_equal(words_percent(text, 0.00023), "0.023");
	assert_string_equal(words_percent(text, 0.17), "17");
	assert_string_equal(words_percent(text, 1.314), "131");
	assert_string_equal(words_percent(text, 9.996), "1000");
	assert_string_equal(words_percent(text, -42.0), "-4200");
}

static void lines_break_between_words_only(void **state)
{
	(void)state;
	char word[151];
	memset(word, 'w', sizeof word - 1);
	word[sizeof word - 1] = 0;
	struct buf text = { 0 }, b = { 0 };
	buf_printf(&text, "short %s  short\nagain\x1b", word);
	words_wrapped(&b, "- ", "  ", text.data);
	char want[256];
	(void)snprintf(want, sizeof want, "- short\n  %s\n  short again \n", word);
	assert_string_equal(b.data, want);
	buf_done(&text);
	buf_done(&b);
}

static void an_empty_text_is_an_empty_line(void **state)
{
	(void)state;
	struct buf b = { 0 };
	words_wrapped(&b, "- ", "  ", "");
	words_quoted_lines(&b, "");
	assert_string_equal(b.data, "- \n");
	buf_done(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_never_has_an_exponent),
		cmocka_unit_test(lines_break_between_words_only),
		cmocka_unit_test(an_empty_text_is_an_empty_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
