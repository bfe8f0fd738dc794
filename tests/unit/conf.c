/* Configuration: what is read, what is refused and where, and that what is printed parses back. */
/* wrap: malloc calloc realloc */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/conf.h"
#include "tests/unit/fail_alloc.h"

struct item {
	const char *name;
	struct conf_words words;
	bool flag;
};

struct settings {
	const char *text, *choice;
	double number, count;
	bool flag;
	struct conf_words words, command;
	struct conf_list items;
};

static const struct conf_key keys[] = {
	{ "one", "text", CONF_TEXT, offsetof(struct settings, text), NULL, 0, 0, NULL, "a text" },
	{ "one", "choice", CONF_CHOICE, offsetof(struct settings, choice), "red", 0, 0, "red|green",
	  "a choice" },
	{ "one", "number", CONF_NUMBER, offsetof(struct settings, number), "0.5", 0, 10, NULL,
	  "a number" },
	{ "one", "count", CONF_COUNT, offsetof(struct settings, count), NULL, 1, 100, NULL,
	  "a count" },
	{ "two", "flag", CONF_FLAG, offsetof(struct settings, flag), "yes", 0, 0, NULL, "a flag" },
	{ "two", "words", CONF_WORDS, offsetof(struct settings, words), "a b", 0, 0, NULL,
	  "words" },
	{ "two", "command", CONF_ARGV, offsetof(struct settings, command), NULL, 0, 0, NULL,
	  "a command" },
	{ "item", "words", CONF_WORDS, offsetof(struct item, words), "x", 0, 0, NULL, "its words" },
	{ "item", "flag", CONF_FLAG, offsetof(struct item, flag), "no", 0, 0, NULL, "its flag" },
};
static const struct conf_group groups[] = { { "item", offsetof(struct settings, items),
					      sizeof(struct item) } };
static const struct conf_table table = { keys, sizeof keys / sizeof *keys, groups, 1 };

static struct arena arena;
static struct settings s;

static int reset(void **state)
{
	(void)state;
	arena_free(&arena);
	s = (struct settings){ 0 };
	return conf_defaults(&table, &s, &arena);
}

static int done(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static void read_good(const char *text)
{
	struct err err = { 0 };
	if (conf_parse(&table, &s, &arena, "t.ini", text, strlen(text), &err))
		fail_msg("%s", err.text);
}

static void refused(const char *text, const char *sentence)
{
	struct err err = { 0 };
	assert_int_equal(reset(NULL), 0);
	assert_int_equal(conf_parse(&table, &s, &arena, "t.ini", text, strlen(text), &err),
			 -EINVAL);
	if (!strstr(err.text, sentence))
		fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
}

static void defaults_are_what_the_table_says(void **state)
{
	(void)state;
	assert_null(s.text);
	assert_string_equal(s.choice, "red");
	assert_true(s.number == 0.5);
	assert_true(isnan(s.count));
	assert_true(s.flag);
	assert_int_equal(s.words.n, 2);
	assert_int_equal(s.items.n, 0);
}

static void a_file_goes_over_the_defaults(void **state)
{
	(void)state;
	read_good("# comment\n[one]\ntext = a = b\nchoice = green\ncount=7 ; said so\n"
		  "[two]\nflag = Off\nwords = c\nwords = d e\n[item p]\nwords = 1\n[item q "
		  "r]\nflag = yes\n");
	assert_string_equal(s.text, "a = b");
	assert_string_equal(s.choice, "green");
	assert_true(s.count == 7);
	assert_true(s.number == 0.5);
	assert_false(s.flag);
	assert_int_equal(s.words.n, 3);
	assert_string_equal(s.words.items[2], "e");
	assert_int_equal(s.items.n, 2);
	const struct item *q = conf_find(&groups[0], &s, "q r");
	assert_non_null(q);
	assert_true(q->flag);
	assert_string_equal(q->words.items[0], "x");
	assert_null(conf_find(&groups[0], &s, "z"));
}

static void a_second_file_may_say_it_again(void **state)
{
	(void)state;
	read_good("[two]\nwords = c\n[one]\ntext = first\n[item p]\nflag = yes\n");
	read_good("[two]\nwords = d\n[one]\ntext =\n[item p]\nwords = 2\n");
	assert_int_equal(s.words.n, 1);
	assert_string_equal(s.words.items[0], "d");
	assert_null(s.text);
	assert_int_equal(s.items.n, 1);
	assert_true(((struct item *)s.items.items)->flag);
}

static void faults_are_told_with_their_line(void **state)
{
	(void)state;
	refused("[one]\ntext = x\nfoo = 1\n", "t.ini:3: unknown key \"foo\" in section [one]; it "
					      "has text, choice, number, count");
	refused("[three]\nx = 1\n",
		"t.ini:2: unknown section [three]; there are [one], [two], [item NAME]");
	refused("x = 1\n", "t.ini:1: unknown section []");
	refused("[one]\nnumber = 11\n", "t.ini:2: number = 11: expected a number from 0 to 10");
	refused("[one]\nnumber = nan\n", "expected a number");
	refused("[one]\ncount = 1.5\n", "expected a whole number from 1 to 100");
	refused("[one]\nchoice = re\n", "expected one of red|green");
	refused("[two]\nflag = maybe\n", "expected yes or no");
	refused("[one]\ntext = a\ntext = b\n", "t.ini:3: text is given twice");
	refused("[one]\njust words\n", "t.ini:2: expected [section] or key = value");
	refused("[one x]\ntext = a\n", "[one] has no name of its own");
	refused("[item]\nflag = yes\n", "write [item NAME]");
	refused("[one]\ntext =;a\n", "can't begin with ;");
	refused("[two]\nwords = a,;b\n", "can't begin with ;");
	refused("[one\ntext = a\n", "t.ini:1: expected [section]");
}

static void lines_that_the_parser_would_cut_are_refused(void **state)
{
	(void)state;
	char text[400] = "[one]\ntext = ";
	memset(text + strlen(text), 'x', 300);
	refused(text, "t.ini:2: the line is longer");
	/* A continued line has room for a word that "words = ..." would not have. */
	memset(text, 'x', sizeof text);
	memcpy(text, "[two]\nwords = a\n ", 17);
	text[17 + 180] = 0;
	refused(text, "t.ini:3: words: a word has at most 150 bytes");
	(void)memcpy(text, "[one]\ntext = ", 13);
	memset(text + 13, 'x', 300);
	text[13 + 300] = 0;
	struct err err = { 0 };
	assert_int_equal(conf_parse(&table, &s, &arena, "t.ini", "[one]\n\0x", 8, &err), -EINVAL);
	assert_non_null(strstr(err.text, "t.ini:2"));
	memset(text, 'n', 100);
	text[0] = '[';
	memcpy(text + 70, "]\nflag = yes\n", sizeof "]\nflag = yes\n");
	refused(text, "at most 48 bytes");
}

static void what_is_printed_parses_back_to_itself(void **state)
{
	(void)state;
	struct buf first = { 0 }, second = { 0 };
	read_good("[one]\ntext = a = b\nnumber = 0.123456789012345\n[two]\nflag = no\n[item p "
		  "q]\nwords = u v\n"
		  "[item r]\nwords =\n");
	for (int i = 0; i < 60; i++)
		read_good(i % 2 ? "[two]\nwords = some_longer_word_number_one\nwords = "
				  "some_longer_word_number_two\n"
				  "words = some_longer_word_number_three "
				  "some_longer_word_number_four\n"
				: "[two]\nwords =\n");
	conf_print(&table, &s, &first);
	assert_int_equal(reset(NULL), 0);
	read_good(first.data);
	conf_print(&table, &s, &second);
	assert_string_equal(first.data, second.data);
	assert_non_null(strstr(first.data, "# a number\nnumber = 0.123456789012345\n"));
	assert_non_null(strstr(first.data, "[item p q]\n"));
	assert_int_equal(s.words.n, 4);
	buf_done(&first);
	buf_done(&second);
}

static void a_missing_file_is_named(void **state)
{
	(void)state;
	struct err err = { 0 };
	assert_int_equal(conf_load(&table, &s, &arena, "/nowhere/x.ini", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/x.ini"));
}

static void every_failed_allocation_is_survived_and_said(void **state)
{
	(void)state;
	const char *text =
		"[one]\ntext = a\n[two]\nwords = a b c\nwords = d\n[item p]\nwords = u\n[item q]\n";
	for (int n = 1; fail_alloc(n); n++) {
		struct arena a = { 0 };
		struct settings got = { 0 };
		struct err err = { 0 };
		int rc = conf_defaults(&table, &got, &a);
		if (!rc)
			rc = conf_parse(&table, &got, &a, "t.ini", text, strlen(text), &err);
		alloc_left = 0;
		assert_true(rc == 0 || rc == -ENOMEM);
		if (!rc)
			assert_int_equal(got.words.n, 4);
		arena_free(&a);
	}
}

static void a_comma_is_part_of_a_commands_word(void **state)
{
	(void)state;
	static const char text[] =
		"[two]\nwords = a,b c\ncommand = mpirun --host h1,h2 -n {ranks}\n";
	assert_int_equal(conf_parse(&table, &s, &arena, "f", text, strlen(text), NULL), 0);
	assert_int_equal(s.words.n, 3);
	assert_int_equal(s.command.n, 5);
	assert_string_equal(s.command.items[2], "h1,h2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(defaults_are_what_the_table_says, reset),
		cmocka_unit_test_setup(a_file_goes_over_the_defaults, reset),
		cmocka_unit_test_setup(a_second_file_may_say_it_again, reset),
		cmocka_unit_test_setup(a_comma_is_part_of_a_commands_word, reset),
		cmocka_unit_test_setup(faults_are_told_with_their_line, reset),
		cmocka_unit_test_setup(lines_that_the_parser_would_cut_are_refused, reset),
		cmocka_unit_test_setup(what_is_printed_parses_back_to_itself, reset),
		cmocka_unit_test_setup(a_missing_file_is_named, reset),
		cmocka_unit_test_setup(every_failed_allocation_is_survived_and_said, reset),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
