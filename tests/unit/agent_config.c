/* The agent's table of keys, and the example that is shipped. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/config.h"
#include "lib/file.h"
#include "schema/local.h"

#define EXAMPLE "etc/roimeter-agent.ini"

static void the_example_has_every_key_and_the_defaults(void **state)
{
	(void)state;
	struct agent_config c, plain;
	struct buf text = { 0 }, line = { 0 };
	struct err err = { { 0 } };
	assert_int_equal(agent_config_load(&c, EXAMPLE, &err), 0);
	assert_int_equal(agent_config_check(&c, &err), 0);
	assert_int_equal(file_read(&text, EXAMPLE, NULL), 0);
	for (size_t i = 0; i < agent_config_table.n_keys; i++) {
		const struct conf_key *k = &agent_config_table.keys[i];
		line.len = 0;
		buf_printf(&line, "%s =", k->key);
		if (!strstr(text.data, line.data))
			fail_msg("%s has no %s of [%s]", EXAMPLE, k->key, k->section);
	}
	/* What it says beside the defaults is what a unit needs. */
	assert_int_equal(agent_config_load(&plain, NULL, NULL), 0);
	c.url = plain.url;
	c.token_file = plain.token_file;
	struct buf a = { 0 }, b = { 0 };
	conf_print(&agent_config_table, &c, &a);
	conf_print(&agent_config_table, &plain, &b);
	assert_string_equal(a.data, b.data);
	buf_done(&a);
	buf_done(&b);
	buf_done(&text);
	buf_done(&line);
	agent_config_done(&c);
	agent_config_done(&plain);
}

static void what_is_printed_parses_back(void **state)
{
	(void)state;
	static const char text[] =
		"[agent]\nsocket = /tmp/a b.sock\nfolders = /x /y\nid = n7\n"
		"[server]\nurl = https://d.example.org\n[sample]\nperiod = 0.5\n";
	struct agent_config c = { .socket = NULL }, again = { .socket = NULL };
	struct buf a = { 0 }, b = { 0 };
	const struct conf_table *t = &agent_config_table;
	assert_int_equal(conf_defaults(t, &c, &c.arena), 0);
	assert_int_equal(conf_parse(t, &c, &c.arena, "x", text, sizeof text - 1, NULL), 0);
	conf_print(t, &c, &a);
	assert_int_equal(conf_defaults(t, &again, &again.arena), 0);
	assert_int_equal(conf_parse(t, &again, &again.arena, "x", a.data, a.len, NULL), 0);
	assert_string_equal(again.socket, "/tmp/a b.sock");
	assert_int_equal(again.folders.n, 2);
	assert_true(again.period_s > 0.49 && again.period_s < 0.51);
	conf_print(t, &again, &b);
	assert_string_equal(a.data, b.data);
	buf_done(&a);
	buf_done(&b);
	agent_config_done(&c);
	agent_config_done(&again);
}

static int check(const char *text, struct err *err)
{
	struct agent_config c = { .socket = NULL };
	*err = (struct err){ { 0 } };
	int rc = conf_defaults(&agent_config_table, &c, &c.arena);
	if (!rc)
		rc = conf_parse(&agent_config_table, &c, &c.arena, "x", text, strlen(text), err);
	if (!rc)
		rc = agent_config_check(&c, err);
	agent_config_done(&c);
	return rc;
}

static void what_can_not_be_is_refused_with_its_key(void **state)
{
	(void)state;
	static const struct {
		const char *text, *key;
	} bad[] = {
		{ "[agent]\nsocket = here\n", "socket" },
		{ "[agent]\nsocket =\n", "socket" },
		{ "[server]\nurl = daemon:8640\n", "url" },
		{ "[server]\nurl = ftp://daemon\n", "url" },
		{ "[server]\ncertificate = /c.pem\n", "key" },
		{ "[server]\nkey = /k.pem\n", "certificate" },
		{ "[spool]\nfolder =\n", "folder" },
		{ "[spool]\nmax_bytes = 1000\n", "max_bytes" },
		{ "[agent]\nsnapshot = 70\n", "snapshot_max" },
		{ "[sample]\nperiod = 0.01\n", "period" },
		{ "[sample]\nwhich = nonsense\n", "which" },
	};
	struct err err;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(check(bad[i].text, &err), -EINVAL);
		if (!strstr(err.text, bad[i].key))
			fail_msg("\"%s\" does not name %s", err.text, bad[i].key);
	}
	assert_int_equal(check("", &err), 0);
	assert_int_equal(check("[server]\nurl = https://d\n", &err), 0);
}

static void the_environment_file_names_the_socket_of_the_defaults(void **state)
{
	(void)state;
	static const char *const files[] = { "etc/roimeter.env", "etc/roimeter-agent.sh",
					     "etc/roimeter-agent.socket" };
	static const char *const lines[] = { "\n" LOCAL_VARIABLE "=" LOCAL_SOCKET "\n",
					     "export " LOCAL_VARIABLE "=" LOCAL_SOCKET "\n",
					     "\nListenSequentialPacket=" LOCAL_SOCKET "\n" };
	for (size_t i = 0; i < 3; i++) {
		struct buf b = { 0 };
		assert_int_equal(file_read(&b, files[i], NULL), 0);
		assert_non_null(strstr(b.data, lines[i]));
		buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_has_every_key_and_the_defaults),
		cmocka_unit_test(what_is_printed_parses_back),
		cmocka_unit_test(what_can_not_be_is_refused_with_its_key),
		cmocka_unit_test(the_environment_file_names_the_socket_of_the_defaults),
	};
	return cmocka_run_group_tests_name("agent_config", tests, NULL, NULL);
}
