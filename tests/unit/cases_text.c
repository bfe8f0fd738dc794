/* The worked examples of numbers in texts, of environment cells and of sweeps. Those beside the
 * repository (../shared) are tried, too, where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/num.h"
#include "suite/table.h"
#include "timer/timer.h"

static const char *text_of(json_t *object, const char *key)
{
	json_t *v = json_object_get(object, key);
	return json_is_string(v) ? json_string_value(v) : NULL;
}

/* null is never a number. Times agree to the digits that the example gives. */
static void same_number(const char *name, const char *field, json_t *expected, double got)
{
	if (!expected)
		return;
	if (json_is_null(expected)) {
		if (known(got))
			fail_msg("%s: %s is %.15g, and should be null", name, field, got);
		return;
	}
	double want = json_number_value(expected);
	if (!known(got) || fabs(got - want) > 1e-9 * (fabs(want) > 1 ? fabs(want) : 1))
		fail_msg("%s: %s is %.15g, and should be %.15g", name, field, got, want);
}

static const char *status_name(enum metric_status s)
{
	static const char *const names[] = { "none",         "ok",         "not_matched",
					     "not_a_number", "overflowed", "log_missing",
					     "too_costly" };
	return names[s];
}

static void same_status(const char *name, json_t *expected, enum metric_status got)
{
	const char *want = text_of(expected, "status");
	if (want && strcmp(want, status_name(got)) != 0)
		fail_msg("%s: status is %s, and should be %s", name, status_name(got), want);
}

static void fom(const char *name, json_t *input, json_t *expected)
{
	const char *log = text_of(input, "log");
	struct metric m;
	struct err err = { 0 };
	assert_int_equal(metric_find(text_of(input, "regex"), text_of(input, "unit"), log,
				     log ? strlen(log) : 0, &m, &err),
			 0);
	same_number(name, "value", json_object_get(expected, "value"), m.value);
	same_status(name, expected, m.status);
}

static void own_timer(const char *name, json_t *input, json_t *expected)
{
	const char *log = text_of(input, "log");
	struct metric m;
	assert_int_equal(metric_find_seconds(text_of(input, "regex"), text_of(input, "unit"), log,
					     log ? strlen(log) : 0, &m, NULL),
			 0);
	same_number(name, "value_s", json_object_get(expected, "value_s"), m.value);
	same_status(name, expected, m.status);
	double roi = json_number_value(json_object_get(input, "roi_wall_s"));
	same_number(name, "diff_frac", json_object_get(expected, "diff_frac"),
		    num15((roi - m.value) / m.value));
}

static void level3_timer(const char *name, json_t *input, json_t *expected)
{
	struct timer_def *def = NULL;
	struct err err = { 0 };
	if (timer_def_load(&def, text_of(input, "app"), "suites/timers", &err))
		fail_msg("%s: %s", name, err.text);
	struct timer_file files[32];
	size_t n = 0;
	const char *file;
	json_t *text;
	json_object_foreach(json_object_get(input, "files"), file, text) files[n++] =
		(struct timer_file){ .name = file,
				     .text = json_string_value(text),
				     .n = json_string_length(text) };
	struct arena a = { 0 };
	struct timer_result r;
	timer_read(def, &a, files, n, &r);
	if (text_of(expected, "error")) {
		if (r.rc != -ENOENT || !r.why || !*r.why || known(r.wall_s))
			fail_msg("%s: a time of %.15g, and should be missing", name, r.wall_s);
	} else {
		if (r.rc)
			fail_msg("%s: %s", name, r.why);
		same_number(name, "wall_s", json_object_get(expected, "wall_s"), r.wall_s);
		same_number(name, "steps", json_object_get(expected, "steps"), r.steps);
		same_number(name, "excluded_s", json_object_get(expected, "excluded_s"),
			    r.excluded_s);
		same_number(name, "setup_s", json_object_get(expected, "setup_s"), r.setup_s);
	}
	arena_free(&a);
	timer_def_free(def);
}

/* A refusal begins with the reason. */
static void refused(const char *name, json_t *expected, int rc, const char *sentence)
{
	const char *why = text_of(expected, "refused");
	if (rc != -EINVAL || strncmp(sentence, why, strlen(why)) != 0)
		fail_msg("%s: %d \"%s\", and should be refused: %s", name, rc, sentence, why);
}

static void case_env(const char *name, json_t *input, json_t *expected)
{
	struct arena a = { 0 };
	struct env_pair *pairs;
	size_t n;
	struct err err = { 0 };
	int rc = case_env_parse(&a, json_string_value(input), &pairs, &n, &err);
	if (json_is_object(expected)) {
		refused(name, expected, rc, err.text);
	} else {
		assert_int_equal(rc, 0);
		assert_int_equal(n, json_array_size(expected));
		for (size_t i = 0; i < n; i++) {
			json_t *pair = json_array_get(expected, i);
			assert_string_equal(pairs[i].name,
					    json_string_value(json_array_get(pair, 0)));
			assert_string_equal(pairs[i].value,
					    json_string_value(json_array_get(pair, 1)));
		}
	}
	arena_free(&a);
}

static void case_sweep(const char *name, json_t *input, json_t *expected)
{
	struct arena a = { 0 };
	struct swept_case *cases;
	size_t n;
	struct err err = { 0 };
	int rc = sweep_expand(&a, json_string_value(json_array_get(input, 0)),
			      json_string_value(json_array_get(input, 1)), &cases, &n, &err);
	if (json_is_object(expected)) {
		refused(name, expected, rc, err.text);
	} else {
		assert_int_equal(rc, 0);
		assert_int_equal(n, json_array_size(expected));
		for (size_t i = 0; i < n; i++) {
			json_t *pair = json_array_get(expected, i);
			assert_string_equal(cases[i].name,
					    json_string_value(json_array_get(pair, 0)));
			assert_string_equal(cases[i].env,
					    json_string_value(json_array_get(pair, 1)));
		}
	}
	arena_free(&a);
}

static void audit(const char *name, json_t *input, json_t *expected)
{
	struct arena a = { 0 };
	const char *line;
	signed char ok;
	launcher_audit(&a, json_string_value(input), json_string_length(input), &line, &ok);
	json_t *want = json_object_get(expected, "ok"),
	       *want_line = json_object_get(expected, "line");
	int wanted = json_is_null(want) ? UNKNOWN : json_is_true(want);
	if (ok != wanted)
		fail_msg("%s: %d, and should be %d", name, ok, wanted);
	if (json_is_null(want_line))
		assert_null(line);
	arena_free(&a);
}

static const struct {
	const char *kind;
	void (*check)(const char *name, json_t *input, json_t *expected);
} kinds[] = {
	{ "fom", fom },           { "own_timer", own_timer },   { "level3_timer", level3_timer },
	{ "case_env", case_env }, { "case_sweep", case_sweep }, { "launcher_audit", audit }
};

static size_t all_of(const char *path)
{
	json_error_t why;
	json_t *root = json_load_file(path, 0, &why);
	if (!root)
		fail_msg("%s:%d: %s", path, why.line, why.text);
	size_t done = 0, i;
	json_t *c;
	json_array_foreach(json_object_get(root, "cases"), i,
			   c) for (size_t k = 0; k < sizeof kinds / sizeof *kinds;
				   k++) if (strcmp(kinds[k].kind, text_of(c, "kind")) == 0)
	{
		kinds[k].check(text_of(c, "name"), json_object_get(c, "input"),
			       json_object_get(c, "expected"));
		done++;
	}
	json_array_foreach(json_object_get(root, "wanted"), i,
			   c) if (strcmp(text_of(c, "name"), "level3-fom-unit-prefix") == 0)
	{
		json_t *input = json_deep_copy(json_object_get(c, "input"));
		json_t *wanted = json_object_get(c, "wanted");
		json_object_set(input, "unit", json_object_get(wanted, "unit"));
		fom("level3-fom-unit-prefix", input, wanted);
		json_decref(input);
		done++;
	}
	json_decref(root);
	return done;
}

static void every_worked_example_holds(void **state)
{
	(void)state;
	assert_int_equal(all_of("tests/fixtures/cases-text.json"), 33);
	assert_true(all_of("tests/fixtures/roi-cases-more.json") >= 1);
}

static void those_beside_the_repository_hold_too(void **state)
{
	(void)state;
	static const char path[] = "../shared/data/roi-cases/cases.json";
	if (access(path, R_OK) != 0 &&
	    access("../../shared/data/roi-cases/cases.json", R_OK) != 0) {
		print_message("no ../shared/data/roi-cases here\n");
		skip();
	}
	assert_true(all_of(access(path, R_OK) == 0 ? path
						   : "../../shared/data/roi-cases/cases.json") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_worked_example_holds),
		cmocka_unit_test(those_beside_the_repository_hold_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
