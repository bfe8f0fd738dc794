/* Suites: what they mean, and the exact sentence for each way to get one wrong. The files are in
 * tests/golden/suite, NAME.yaml beside what is expected of it; GOLDEN=write rewrites these. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/num.h"
#include "suite/doc.h"
#include "suite/keys.h"
#include "suite/near.h"
#include "suite/suite.h"
#include "suite/table.h"

#define GOLDEN "tests/golden/suite"

/* ---- golden files
 * -------------------------------------------------------------------------------- */

/* The folder of the suite is where the repository is: told as DIR. */
static void put(struct buf *out, const struct suite *s, const char *text)
{
	size_t n = strlen(s->dir);
	const char *p = text, *at;
	while (text && (at = strstr(p, s->dir))) {
		buf_put(out, p, (size_t)(at - p));
		buf_puts(out, "DIR");
		p = at + n;
	}
	buf_puts(out, text ? p : "-");
}

static void put_list(struct buf *out, const struct suite *s, const char *key,
		     const struct txts *list)
{
	if (!list->n)
		return;
	buf_printf(out, "  %s:", key);
	for (size_t i = 0; i < list->n; i++) {
		buf_puts(out, " <");
		put(out, s, list->items[i]);
		buf_puts(out, ">");
	}
	buf_puts(out, "\n");
}

static void put_text(struct buf *out, const struct suite *s, const char *key, const char *text)
{
	if (!text)
		return;
	buf_printf(out, "  %s: ", key);
	put(out, s, text);
	buf_puts(out, "\n");
}

static void put_number(struct buf *out, const char *key, double value)
{
	if (known(value))
		buf_printf(out, "  %s: %.15g\n", key, value);
}

static void put_pattern(struct buf *out, const char *key, const struct pattern_spec *p)
{
	if (p->pattern)
		buf_printf(out, "  %s: %s | %s | %s | %s\n", key, p->name ? p->name : "-",
			   p->pattern, p->unit, p->better ? p->better : "-");
}

static void put_case(struct buf *out, const struct suite *s, const struct suite_case *c)
{
	buf_printf(out, "%s/%s at %u:%u\n", c->app, c->name, c->line, c->column);
	put_text(out, s, "title", c->title);
	put_list(out, s, c->shell ? "shell" : "command", &c->command);
	put_text(out, s, "cwd", c->cwd);
	for (size_t i = 0; i < c->n_env; i++) {
		buf_printf(out, "  env: %s=", c->env[i].name);
		put(out, s, c->env[i].value);
		buf_puts(out, "\n");
	}
	put_list(out, s, "inputs", &c->inputs);
	put_list(out, s, "files", &c->files);
	put_list(out, s, "build", &c->build);
	put_number(out, "ranks", c->ranks ? c->ranks : NAN);
	put_text(out, s, "launcher", c->launcher);
	put_number(out, "threads", c->threads ? c->threads : NAN);
	put_text(out, s, "region", c->region);
	put_pattern(out, "fom", &c->fom);
	put_pattern(out, "own_timer", &c->own_timer);
	put_text(out, s, "profile_no", c->profile_no);
	put_text(out, s, "excludes", c->excludes);
	put_text(out, s, "verify", c->verify);
	put_number(out, "timeout_s", c->timeout_s);
	put_number(out, "warmup", c->warmup);
	put_number(out, "clean", c->clean);
}

static void outcome(struct buf *out, const char *path)
{
	struct suite s;
	struct err err = { 0 };
	int rc = suite_load(&s, path, &err);
	if (rc) {
		buf_printf(out, "refused: %s\n", err.text);
		assert_int_equal(rc, -EINVAL);
		assert_int_equal(s.n_cases, 0);
		assert_null(s.arena.blocks);
		return;
	}
	buf_printf(out, "suite %s: %s\n", s.name, s.title ? s.title : "-");
	assert_int_equal(strlen(s.hash), 32);
	for (size_t i = 0; i < s.n_cases; i++)
		put_case(out, &s, &s.cases[i]);
	suite_done(&s);
}

static void golden(const char *name)
{
	char path[256], expected_path[264];
	(void)snprintf(path, sizeof path, "%s/%s", GOLDEN, name);
	(void)snprintf(expected_path, sizeof expected_path, "%.*s.out", (int)(strlen(path) - 5),
		       path);
	struct buf got = { 0 }, want = { 0 };
	outcome(&got, path);
	if (getenv("GOLDEN") && strcmp(getenv("GOLDEN"), "write") == 0)
		assert_int_equal(file_write(expected_path, got.data, got.len, NULL), 0);
	if (file_read(&want, expected_path, NULL))
		fail_msg("%s is missing; make golden writes it", expected_path);
	if (got.len != want.len || memcmp(got.data, want.data, got.len) != 0)
		fail_msg("%s:\n%s\nand should be\n%s", path, got.data, want.data);
	buf_done(&got);
	buf_done(&want);
}

static int is_suite(const struct dirent *e)
{
	size_t n = strlen(e->d_name);
	return n > 5 && strcmp(e->d_name + n - 5, ".yaml") == 0;
}

static void every_golden_suite_says_what_it_said(void **state)
{
	(void)state;
	struct dirent **names;
	int n = scandir(GOLDEN, &names, is_suite, alphasort);
	assert_true(n > 80);
	for (int i = 0; i < n; i++) {
		golden(names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* ---- the rest
 * ------------------------------------------------------------------------------------ */

static void load_text(struct suite *s, const char *text, const struct env_pair *vars, size_t n_vars)
{
	struct err err = { 0 };
	if (suite_parse_with(s, "/nowhere/s.yaml", text, strlen(text), vars, n_vars, &err))
		fail_msg("%s", err.text);
}

static const char small[] = "suite: s\nvars: {build: out}\napps:\n"
			    "  - name: heat\n    command: ['{build}/heat']\n    cases: [{name: "
			    "n1}, {name: n2}, {name: big}]\n"
			    "  - name: spmv\n    command: [spmv]\n    cases: [{name: n1}]\n";

static void vars_can_be_given_from_outside(void **state)
{
	(void)state;
	struct suite s;
	load_text(&s, small, NULL, 0);
	assert_string_equal(s.cases[0].command.items[0], "/nowhere/out/heat");
	assert_null(s.cases[0].cwd);
	suite_done(&s);
	const struct env_pair build = { "build", "/tmp/b" }, other = { "bild", "x" };
	load_text(&s, small, &build, 1);
	assert_string_equal(s.cases[0].command.items[0], "/tmp/b/heat");
	suite_done(&s);
	struct err err = { 0 };
	assert_int_equal(suite_parse_with(&s, "s.yaml", small, strlen(small), &other, 1, &err),
			 -EINVAL);
	assert_string_equal(err.text, "s.yaml: the suite has no variable \"bild\" in its vars");
}

static void selectors_choose(void **state)
{
	(void)state;
	static const struct {
		const char *selectors[3], *chosen;
	} rows[] = {
		{ { "all" }, "1111" },        { { "heat" }, "1110" },
		{ { "spmv/n1" }, "0001" },    { { "*/n1" }, "1001" },
		{ { "h*/n?" }, "1100" },      { { "heat/n1", "spmv" }, "1001" },
		{ { "heat/[!n]*" }, "0010" },
	};
	struct suite s;
	load_text(&s, small, NULL, 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool chosen[4];
		size_t n = 0;
		while (n < 3 && rows[i].selectors[n])
			n++;
		assert_int_equal(suite_select(&s, rows[i].selectors, n, chosen, NULL), 0);
		for (int k = 0; k < 4; k++)
			assert_int_equal(chosen[k], rows[i].chosen[k] == '1');
	}
	suite_done(&s);
}

static void a_selector_without_a_hit_is_named(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "haet", "/nowhere/s.yaml: no case is meant by \"haet\"; did you mean \"heat\"?" },
		{ "heat/n3",
		  "/nowhere/s.yaml: no case is meant by \"heat/n3\"; did you mean \"heat/n1\"?" },
		{ "xyzzy", "/nowhere/s.yaml: no case is meant by \"xyzzy\"; write all, APP, "
			   "APP/CASE or a pattern in "
			   "quotes, for example heat/n1" },
	};
	struct suite s;
	load_text(&s, small, NULL, 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *both[] = { "all", rows[i][0] };
		bool chosen[4];
		struct err err = { 0 };
		assert_int_equal(suite_select(&s, both, 2, chosen, &err), -ENOENT);
		assert_string_equal(err.text, rows[i][1]);
	}
	suite_done(&s);
}

static void a_file_that_is_too_large_is_refused(void **state)
{
	(void)state;
	size_t n = DOC_MAX_BYTES + 1;
	char *text = malloc(n);
	assert_non_null(text);
	memset(text, '#', n);
	struct suite s;
	struct err err = { 0 };
	assert_int_equal(suite_parse(&s, "big.yaml", text, n, &err), -EINVAL);
	assert_non_null(strstr(err.text, "larger than 1048576 bytes"));
	free(text);
	assert_int_equal(suite_load(&s, "/nowhere/s.yaml", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/s.yaml"));
	suite_done(&s);
	suite_done(NULL);
}

static void a_thousand_cases_are_no_burden(void **state)
{
	(void)state;
	struct buf text = { 0 };
	buf_puts(&text, "suite: s\napps:\n  - name: a\n    command: [p]\n    cases:\n");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "      - name: c%d\n        env: {N: %d}\n", i, i);
	struct suite s;
	load_text(&s, text.data, NULL, 0);
	assert_int_equal(s.n_cases, 1000);
	assert_string_equal(s.cases[999].env[0].value, "999");
	suite_done(&s);
	buf_done(&text);
}

static void the_schema_is_in_step(void **state)
{
	(void)state;
	struct buf schema = { 0 }, file = { 0 };
	suite_schema(&schema);
	if (getenv("GOLDEN") && strcmp(getenv("GOLDEN"), "write") == 0)
		assert_int_equal(
			file_write("schema/suite-1.schema.json", schema.data, schema.len, NULL), 0);
	assert_int_equal(file_read(&file, "schema/suite-1.schema.json", NULL), 0);
	assert_string_equal(file.data, schema.data);
	buf_done(&schema);
	buf_done(&file);
}

static void every_key_is_in_the_document(void **state)
{
	(void)state;
	struct buf text = { 0 };
	assert_int_equal(file_read(&text, "docs/suites.md", NULL), 0);
	for (size_t i = 0; i < n_suite_keys; i++) {
		char name[80];
		(void)snprintf(name, sizeof name, "`%s`", suite_keys[i].name);
		if (!strstr(text.data, name))
			fail_msg("docs/suites.md does not tell about %s", name);
	}
	buf_done(&text);
}

/* The first block of YAML in the document is a suite as a user would copy it. */
static void the_example_of_the_document_loads(void **state)
{
	(void)state;
	struct buf text = { 0 };
	assert_int_equal(file_read(&text, "docs/suites.md", NULL), 0);
	char *begin = strstr(text.data, "```yaml\n"),
	     *end = begin ? strstr(begin + 8, "```") : NULL;
	assert_non_null(end);
	*end = 0;
	struct suite s;
	load_text(&s, begin + 8, NULL, 0);
	assert_true(s.n_cases >= 3);
	suite_done(&s);
	buf_done(&text);
}

/* What we ship loads. */
static void every_suite_of_ours_loads(void **state)
{
	(void)state;
	struct dirent **names;
	int n = scandir("suites", &names, is_suite, alphasort);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		char path[300];
		struct suite s;
		struct err err = { 0 };
		(void)snprintf(path, sizeof path, "suites/%s", names[i]->d_name);
		if (suite_load(&s, path, &err))
			fail_msg("%s", err.text);
		assert_true(s.n_cases > 0);
		suite_done(&s);
		free(names[i]);
	}
	free(names);
}

static void cells_of_tables_are_refused_by_name(void **state)
{
	(void)state;
	static const char *const rows[][3] = {
		{ "n{}", "N=1|2", NULL },
		{ "c", "-", NULL },
		{ "c", "", NULL },
		{ "c", "A=", NULL },
		{ "c", "A", "no value: \"A\"" },
		{ "c", "A=1;", "no value: \"\"" },
		{ "c", "=1", "bad name: \"\"" },
		{ "c", "1A=1", "bad name: \"1A\"" },
		{ "c", "A=1;ROIMETER_X=2", "reserved: \"ROIMETER_X\"" },
		{ "c", "A=1|2", "sweep without {}: A, in case \"c\"" },
		{ "n{}", "A=1|/", "bad value: \"/\" of A is not usable in a case name" },
		{ "n{}", "A=1|", "bad value" },
		{ "n{}", "A=1|2;B=3|4", "two sweeps: A and B" },
		{ "c", "A=1\tB=2", "bad value: a tab" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena a = { 0 };
		struct swept_case *cases;
		size_t n;
		struct err err = { 0 };
		int rc = sweep_expand(&a, rows[i][0], rows[i][1], &cases, &n, &err);
		if (rows[i][2] ? rc != -EINVAL ||
					 strncmp(err.text, rows[i][2], strlen(rows[i][2])) != 0
			       : rc != 0)
			fail_msg("%s %s: %d \"%s\"", rows[i][0], rows[i][1], rc, err.text);
		arena_free(&a);
	}
}

static void near_words_are_found(void **state)
{
	(void)state;
	static const char *const words[] = { "timeout", "threads", "title" };
	assert_int_equal(near_distance("kitten", "sitting"), 3);
	assert_string_equal(near_word("timout", words, 3), "timeout");
	assert_null(near_word("frobnicate", words, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_golden_suite_says_what_it_said),
		cmocka_unit_test(vars_can_be_given_from_outside),
		cmocka_unit_test(selectors_choose),
		cmocka_unit_test(a_selector_without_a_hit_is_named),
		cmocka_unit_test(a_file_that_is_too_large_is_refused),
		cmocka_unit_test(a_thousand_cases_are_no_burden),
		cmocka_unit_test(the_schema_is_in_step),
		cmocka_unit_test(every_key_is_in_the_document),
		cmocka_unit_test(the_example_of_the_document_loads),
		cmocka_unit_test(every_suite_of_ours_loads),
		cmocka_unit_test(cells_of_tables_are_refused_by_name),
		cmocka_unit_test(near_words_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
