/* What a program sees of the environment around the tool, and what never. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "suite/env.h"

static void names_are_judged(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum env_verdict verdict;
	} rows[] = {
		{ "N", ENV_OK },
		{ "_X9", ENV_OK },
		{ "HPCPERF_SCALE_MODE", ENV_OK },
		{ "OMP_NUM_THREADS", ENV_OK },
		{ "AUTHOR", ENV_OK },
		{ "GIT_AUTHOR_NAME", ENV_OK },
		{ "AUTHORS", ENV_OK },
		{ "PWD", ENV_OK },
		{ "OLDPWD", ENV_OK },
		{ "KEY", ENV_OK },
		{ "KEYS_N", ENV_OK },
		{ "MONKEY", ENV_OK },
		{ "ROI_LOG", ENV_OK },
		{ "", ENV_BAD_NAME },
		{ "lower", ENV_BAD_NAME },
		{ "my_token", ENV_BAD_NAME },
		{ "9A", ENV_BAD_NAME },
		{ "A-B", ENV_BAD_NAME },
		{ "A B", ENV_BAD_NAME },
		{ "\xc3\x84", ENV_BAD_NAME },
		{ "MY_API_KEY", ENV_CREDENTIAL },
		{ "HPCPERF_GITHUB_TOKEN", ENV_CREDENTIAL },
		{ "TOKENS", ENV_CREDENTIAL },
		{ "SECRET", ENV_CREDENTIAL },
		{ "MYPASSWD", ENV_CREDENTIAL },
		{ "DB_PASSWORD_FILE", ENV_CREDENTIAL },
		{ "SSH_PASSPHRASE", ENV_CREDENTIAL },
		{ "AWS_CREDENTIALS", ENV_CREDENTIAL },
		{ "X_PRIVATE_KEY_PATH", ENV_CREDENTIAL },
		{ "AWS_ACCESS_KEY_ID", ENV_CREDENTIAL },
		{ "APIKEY", ENV_CREDENTIAL },
		{ "DBUS_SESSION_BUS_ADDRESS", ENV_CREDENTIAL },
		{ "HTTP_COOKIE", ENV_CREDENTIAL },
		{ "BEARER", ENV_CREDENTIAL },
		{ "SSH_AUTH_SOCK", ENV_CREDENTIAL },
		{ "OAUTH", ENV_CREDENTIAL },
		{ "AUTHORIZATION", ENV_CREDENTIAL },
		{ "XAUTHORITY", ENV_CREDENTIAL },
		{ "AUTHOR_AUTH", ENV_CREDENTIAL },
		{ "DB_PWD", ENV_CREDENTIAL },
		{ "MYSQL_PWD", ENV_CREDENTIAL },
		{ "SIGNING_KEY", ENV_CREDENTIAL },
		{ "ROIMETER_TOKEN", ENV_CREDENTIAL },
		{ "ROIMETER_LOG", ENV_RESERVED },
		{ "ROIMETER_ANYTHING", ENV_RESERVED },
		{ "HPCPERF_ROI_LOG", ENV_RESERVED },
		{ "HPCPERF_SKIP_VERIFY", ENV_RESERVED },
		{ "SKIP_VERIFY", ENV_RESERVED },
		{ "HPCPERF_GPUS", ENV_RESERVED },
		{ "GPUS", ENV_RESERVED },
		{ "NP", ENV_RESERVED },
		{ "HPCPERF_NP", ENV_RESERVED },
		{ "HPCPERF_DRY_RUN", ENV_RESERVED },
		{ "INPUT_ARGS", ENV_RESERVED },
		{ "HPCPERF_INPUT_ID", ENV_RESERVED },
		{ "L3_RUN_SUBDIR", ENV_RESERVED },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (env_may_declare(rows[i].name) != rows[i].verdict)
			fail_msg("%s: %s, and should be %s", rows[i].name,
				 env_verdict_text(env_may_declare(rows[i].name)),
				 env_verdict_text(rows[i].verdict));
	assert_true(env_denied("my_token")); /* the rule does not care for capitals */
	assert_true(env_denied("npm_config_//host/:_authToken"));
	assert_false(env_denied("Path"));
	char long_name[400];
	memset(long_name, 'A', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = 0;
	assert_true(env_denied(long_name));
}

static void nothing_on_the_list_looks_like_a_credential(void **state)
{
	(void)state;
	for (size_t i = 0; env_allowed[i]; i++)
		assert_int_equal(env_may_declare(env_allowed[i]), ENV_OK);
}

static const char *value_of(char **envp, const char *name)
{
	size_t n = strlen(name);
	for (; *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

static size_t count_of(char **envp)
{
	size_t n = 0;
	while (envp[n])
		n++;
	return n;
}

static const char *const around_text[] = { "PATH=/bin",
					   "HOME=/h",
					   "PLANTED=x",
					   "MY_TOKEN=secret-1",
					   "SITE_A=1",
					   "SITE_SECRET=secret-2",
					   "EMPTY=",
					   "novalue",
					   "=weird",
					   "PATH=/second",
					   "ROIMETER_LOG=/evil",
					   "HPCPERF_ROI_LOG=/evil",
					   "SLURM_JWT=secret-3",
					   "LANG=C",
					   NULL };

static void only_the_list_is_passed_on(void **state)
{
	(void)state;
	struct arena a = { 0 };
	char **envp;
	struct txts refused;
	assert_int_equal(
		env_build(&a, (char *const *)around_text, NULL, NULL, 0, NULL, 0, &envp, &refused),
		0);
	assert_int_equal(count_of(envp), 3);
	assert_string_equal(value_of(envp, "PATH"), "/bin");
	assert_string_equal(value_of(envp, "HOME"), "/h");
	assert_string_equal(value_of(envp, "LANG"), "C");
	assert_int_equal(refused.n, 0);
	assert_int_equal(env_build(&a, NULL, NULL, NULL, 0, NULL, 0, &envp, NULL), 0);
	assert_int_equal(count_of(envp), 0);
	arena_free(&a);
}

static void the_deny_rule_beats_list_and_case(void **state)
{
	(void)state;
	struct arena a = { 0 };
	char **envp;
	struct txts refused;
	const char *allow_items[] = { "SITE_*", "MY_TOKEN", "EMPTY", "ROIMETER_*" };
	const struct txts allow = { allow_items, 4 };
	const struct env_pair set[] = { { "N", "5" },
					{ "DB_PASSWORD", "secret-4" },
					{ "HOME", "/case" } };
	const struct env_pair own[] = { { "ROIMETER_LOG", "/mine" }, { "N", "6" } };
	assert_int_equal(
		env_build(&a, (char *const *)around_text, &allow, set, 3, own, 2, &envp, &refused),
		0);
	assert_int_equal(count_of(envp), 7);
	assert_string_equal(value_of(envp, "SITE_A"), "1");
	assert_string_equal(value_of(envp, "EMPTY"), "");
	assert_string_equal(value_of(envp, "HOME"), "/case");
	assert_string_equal(value_of(envp, "ROIMETER_LOG"), "/mine");
	assert_string_equal(value_of(envp, "N"), "6");
	assert_null(value_of(envp, "HPCPERF_ROI_LOG"));
	for (char **e = envp; *e; e++)
		assert_null(strstr(*e, "secret-"));
	assert_int_equal(refused.n, 3);
	assert_string_equal(refused.items[0], "MY_TOKEN");
	assert_string_equal(refused.items[1], "SITE_SECRET");
	assert_string_equal(refused.items[2], "DB_PASSWORD");
	arena_free(&a);
}

static void a_star_passes_all_but_credentials(void **state)
{
	(void)state;
	struct arena a = { 0 };
	char **envp;
	struct txts refused;
	const char *star = "*";
	const struct txts allow = { &star, 1 };
	assert_int_equal(env_build(&a, (char *const *)around_text, &allow, NULL, 0, NULL, 0, &envp,
				   &refused),
			 0);
	assert_string_equal(value_of(envp, "PLANTED"), "x");
	assert_null(value_of(envp, "MY_TOKEN"));
	assert_null(value_of(envp, "ROIMETER_LOG"));
	assert_int_equal(refused.n, 2);
	arena_free(&a);
}

static void no_memory_is_an_error(void **state)
{
	(void)state;
	for (size_t max = 1; max < 600; max += 16) {
		struct arena a = { .max_bytes = max };
		char **envp = NULL;
		int rc = env_build(&a, (char *const *)around_text, NULL, NULL, 0, NULL, 0, &envp,
				   NULL);
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_true((rc == 0) == (envp != NULL));
		arena_free(&a);
	}
}

static void an_input_that_would_be_dropped_is_named(void **state)
{
	(void)state;
	const char *inputs[] = { "PLANTED", "SITE_A" };
	struct env_pair env[] = { { "SITE_A", "1" }, { "PLANTED", "2" } };
	struct suite_case c = {
		.app = "heat", .name = "n1", .inputs = { inputs, 2 }, .env = env, .n_env = 1
	};
	struct err err = { 0 };
	assert_int_equal(env_check_inputs(&c, (char *const *)around_text, &err), -EINVAL);
	assert_string_equal(err.text, "heat/n1: PLANTED is an input of heat and is set in your "
				      "environment, but the case does not "
				      "declare it, so it would be dropped and another input "
				      "measured; unset PLANTED, or add it to the "
				      "case's env");
	c.n_env = 2;
	assert_int_equal(env_check_inputs(&c, (char *const *)around_text, &err), 0);
	c.n_env = 0;
	assert_int_equal(env_check_inputs(&c, NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_judged),
		cmocka_unit_test(nothing_on_the_list_looks_like_a_credential),
		cmocka_unit_test(only_the_list_is_passed_on),
		cmocka_unit_test(the_deny_rule_beats_list_and_case),
		cmocka_unit_test(a_star_passes_all_but_credentials),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(an_input_that_would_be_dropped_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
