/* Conformance results: as JSON and back, what may be stored, the newest of each in the store. */
#define _GNU_SOURCE
#include "tests/unit/store_fixture.h"

#include <math.h>
#include <string.h>

#include "schema/codec.h"
#include "schema/conformance.h"

static struct check checks[2];

static struct conformance result_of(const char *platform, const char *collector, const char *utc,
				    bool good)
{
	struct conformance c;
	conformance_clear(&c);
	for (size_t i = 0; i < 2; i++)
		block_clear(&check_block, &checks[i]);
	checks[0].name = "compute_ops";
	checks[0].part = "split";
	checks[0].verdict = good ? "pass" : "fail";
	checks[0].value = good ? 20 : 21;
	checks[0].expected = 20;
	checks[0].tolerance = 0;
	checks[0].detail = "kernels inside the region";
	checks[1].name = "graph";
	checks[1].verdict = "skipped";
	checks[1].detail = "the runtime has no graphs";
	c.platform = platform;
	c.collector = collector;
	c.utc = utc;
	c.verdict = good ? "pass" : "fail";
	c.passed = good;
	c.failed = !good;
	c.skipped = 1;
	c.checks.items = checks;
	c.checks.n = 2;
	return c;
}

static void what_is_written_as_json_is_read_back(void **state)
{
	(void)state;
	struct conformance c = result_of("p", "opencl", "2026-11-30T04:22:38Z", true), got;
	struct arena arena = { 0 };
	struct err err = { 0 };
	json_t *json = conformance_to_json(&c);
	assert_non_null(json);
	if (conformance_from_json(&got, &arena, json, &err))
		fail_msg("%s", err.text);
	assert_string_equal(got.checks.items[0].name, "compute_ops");
	assert_true(got.checks.items[0].value == 20);
	assert_true(isnan(got.checks.items[1].value));
	assert_null(got.why);
	json_t *again = conformance_to_json(&got);
	assert_true(json_equal(json, again));
	json_decref(again);

	json_object_set_new(json, "verdikt", json_string("pass"));
	assert_int_equal(conformance_from_json(&got, &arena, json, &err), -EINVAL);
	assert_non_null(strstr(err.text, "verdikt"));
	assert_non_null(strstr(err.text, CONFORMANCE_SCHEMA));
	json_decref(json);
	arena_free(&arena);
}

static void a_result_that_contradicts_itself_is_refused(void **state)
{
	(void)state;
	struct err err;
	struct conformance c = result_of("p", "opencl", "2026-11-30T04:22:38Z", true);
	assert_int_equal(conformance_check(&c, &err), 0);
	c.verdict = "fail";
	assert_int_equal(conformance_check(&c, &err), -EINVAL);
	c.verdict = "perhaps";
	assert_int_equal(conformance_check(&c, &err), -EINVAL);
	c = result_of("p", "opencl", "2026-11-30T04:22:38Z", false);
	assert_int_equal(conformance_check(&c, &err), 0);
	c.verdict = "pass"; /* one of its checks failed */
	assert_int_equal(conformance_check(&c, &err), -EINVAL);
	c = result_of("p", "opencl", "2026-11-30T04:22:38Z", true);
	c.passed = 2;
	assert_int_equal(conformance_check(&c, &err), -EINVAL);
	c = result_of("p", "opencl", "30 Nov 2026", true);
	assert_int_equal(conformance_check(&c, &err), -EINVAL);
	c = result_of("p/q", "opencl", "2026-11-30T04:22:38Z", true);
	assert_int_equal(conformance_check(&c, &err), -EINVAL);
	c = result_of("p", "opencl", "2026-11-30T04:22:38Z", true);
	c.checks.n = 0; /* nothing was looked at */
	c.passed = c.skipped = 0;
	assert_int_equal(conformance_check(&c, &err), -EINVAL);
}

struct seen {
	char text[512];
};

static int see(void *arg, const struct conformance *c)
{
	struct seen *seen = arg;
	size_t at = strlen(seen->text);
	(void)snprintf(seen->text + at, sizeof seen->text - at, "%s/%s %s %s;", c->platform,
		       c->collector, c->verdict, c->utc);
	return 0;
}

static void store_add(struct store *s, const char *platform, const char *collector, const char *utc,
		      bool good)
{
	struct conformance c = result_of(platform, collector, utc, good);
	struct err err = { 0 };
	if (store_add_conformance(s, &c, NULL, &err))
		fail_msg("%s", err.text);
}

static void the_newest_of_each_counts(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	store_add(s, "p", "opencl", "2026-11-30T04:22:38Z", true);
	store_add(s, "p", "opencl", "2026-11-30T05:22:38Z", false);
	store_add(s, "p", "opencl", "2026-11-30T05:22:38Z", false); /* the same again */
	store_add(s, "p", "cupti", "2026-11-29T05:22:38Z", true);
	store_add(s, "o", "cupti", "2026-11-28T05:22:38Z", true);
	struct seen seen = { "" };
	assert_int_equal(store_each_conformance(s, NULL, NULL, false, see, &seen, NULL), 0);
	assert_string_equal(seen.text, "o/cupti pass 2026-11-28T05:22:38Z;"
				       "p/cupti pass 2026-11-29T05:22:38Z;"
				       "p/opencl fail 2026-11-30T05:22:38Z;");
	seen = (struct seen){ "" };
	assert_int_equal(store_each_conformance(s, "p", "opencl", true, see, &seen, NULL), 0);
	assert_string_equal(seen.text, "p/opencl fail 2026-11-30T05:22:38Z;"
				       "p/opencl pass 2026-11-30T04:22:38Z;");
	seen = (struct seen){ "" };
	assert_int_equal(store_each_conformance(s, NULL, "cupti", false, see, &seen, NULL), 0);
	assert_string_equal(seen.text, "o/cupti pass 2026-11-28T05:22:38Z;"
				       "p/cupti pass 2026-11-29T05:22:38Z;");
	seen = (struct seen){ "" };
	assert_int_equal(store_each_conformance(s, "p", NULL, false, see, &seen, NULL), 0);
	assert_string_equal(seen.text, "p/cupti pass 2026-11-29T05:22:38Z;"
				       "p/opencl fail 2026-11-30T05:22:38Z;");
	seen = (struct seen){ "" };
	assert_int_equal(store_each_conformance(s, NULL, "cupti", true, see, &seen, NULL), 0);
	assert_string_equal(seen.text, "o/cupti pass 2026-11-28T05:22:38Z;"
				       "p/cupti pass 2026-11-29T05:22:38Z;");
	seen = (struct seen){ "" };
	assert_int_equal(store_each_conformance(s, "q", NULL, false, see, &seen, NULL), 0);
	assert_int_equal(store_each_conformance(s, "p", "none", false, see, &seen, NULL), 0);
	assert_string_equal(seen.text, "");
	struct conformance other = result_of("p", "opencl", "2026-11-30T05:22:38Z", true);
	assert_int_equal(store_add_conformance(s, &other, NULL, NULL), -EEXIST);
	store_close(s);
}

/* A value with more than the 15 digits of JSON, as a clock has it. */
static void what_came_back_from_an_export_is_there_already(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct conformance c = result_of("p", "opencl", "2026-11-30T04:22:38Z", true), got;
	struct arena arena = { 0 };
	struct err err = { 0 };
	bool is_new = false;
	checks[0].value = 0.1 + 0.2;
	assert_int_equal(store_add_conformance(s, &c, &is_new, &err), 0);
	assert_true(is_new);
	json_t *json = conformance_to_json(&c);
	struct buf text = { 0 };
	assert_int_equal(json_text(&text, json), 0);
	json_decref(json);
	assert_int_equal(json_parse(&json, text.data, text.len, "text", &err), 0);
	assert_int_equal(conformance_from_json(&got, &arena, json, &err), 0);
	assert_true(got.checks.items[0].value != checks[0].value);
	assert_int_equal(store_add_conformance(s, &got, &is_new, &err), 0);
	assert_false(is_new);
	got.checks.items[0].value = 0.31;
	assert_int_equal(store_add_conformance(s, &got, &is_new, &err), -EEXIST);
	json_decref(json);
	buf_done(&text);
	arena_free(&arena);
	store_close(s);
}

static int name_changed(void *arg, const char *suite, const char *app)
{
	struct seen *seen = arg;
	size_t at = strlen(seen->text);
	(void)snprintf(seen->text + at, sizeof seen->text - at, "%s/%s;", suite, app);
	return 0;
}

/* Caveats and badges of what was measured there are others now. */
static void a_new_result_changes_the_applications_of_its_platform(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 1 };
	struct record a, b;
	uint64_t before, after;
	any_record(&a, &d, 1);
	any_record(&b, &d, 2);
	a.body.app = "there";
	a.body.platform = "p";
	b.body.app = "elsewhere";
	b.body.platform = "o";
	add(s, &a);
	add(s, &b);
	assert_int_equal(store_version(s, &before, NULL), 0);
	store_add(s, "p", "opencl", "2026-11-30T04:22:38Z", true);
	assert_int_equal(store_version(s, &after, NULL), 0);
	assert_true(after > before);
	struct seen seen = { "" };
	assert_int_equal(store_each_changed(s, before, name_changed, &seen, NULL), 0);
	assert_non_null(strstr(seen.text, "/there;"));
	assert_null(strstr(seen.text, "/elsewhere;"));
	record_done(&a);
	record_done(&b);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_as_json_is_read_back),
		cmocka_unit_test(a_result_that_contradicts_itself_is_refused),
		cmocka_unit_test_setup_teardown(the_newest_of_each_counts, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(
			what_came_back_from_an_export_is_there_already, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_new_result_changes_the_applications_of_its_platform, make_folder,
			remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
