/* Configuration from anybody: no crash, and what is accepted prints as something that parses back
 * to the same. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/conf.h"

struct item {
	const char *name;
	struct conf_words words;
	bool flag;
};

struct settings {
	const char *text, *choice;
	double number, count;
	bool flag;
	struct conf_words words;
	struct conf_list items;
};

static const struct conf_key keys[] = {
	{ "run", "scratch", CONF_TEXT, offsetof(struct settings, text), NULL, 0, 0, NULL,
	  "a text" },
	{ "run", "order", CONF_CHOICE, offsetof(struct settings, choice), "red", 0, 0,
	  "red|sequential", "a choice" },
	{ "run", "timeout", CONF_NUMBER, offsetof(struct settings, number), "0.5", -1e6, 1e6, NULL,
	  "a number" },
	{ "run", "clean", CONF_COUNT, offsetof(struct settings, count), NULL, 0, 1000, NULL,
	  "a count" },
	{ "run", "journal", CONF_FLAG, offsetof(struct settings, flag), "yes", 0, 0, NULL,
	  "a flag" },
	{ "env", "allow", CONF_WORDS, offsetof(struct settings, words), "a b", 0, 0, NULL,
	  "words" },
	{ "launcher", "command", CONF_WORDS, offsetof(struct item, words), "x", 0, 0, NULL,
	  "its words" },
	{ "launcher", "default", CONF_FLAG, offsetof(struct item, flag), "no", 0, 0, NULL,
	  "its flag" },
};
static const struct conf_group groups[] = { { "launcher", offsetof(struct settings, items),
					      sizeof(struct item) } };
static const struct conf_table table = { keys, sizeof keys / sizeof *keys, groups, 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int parse(const char *text, size_t n, struct buf *ret)
{
	struct arena a = { .max_bytes = 1 << 24 };
	struct settings s = { .text = NULL };
	struct err err = { 0 };
	int rc = conf_defaults(&table, &s, &a);
	if (!rc)
		rc = conf_parse(&table, &s, &a, "fuzz.ini", text, n, &err);
	if (rc && !err.text[0])
		abort(); /* a refusal without a sentence */
	if (!rc)
		conf_print(&table, &s, ret);
	arena_free(&a);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf first = { 0 }, second = { 0 };
	if (parse((const char *)data, n, &first) == 0 && first.data)
		if (parse(first.data, first.len, &second) || strcmp(first.data, second.data) != 0)
			abort();
	buf_done(&first);
	buf_done(&second);
	return 0;
}
