/* cli/agent_text: an agent's status as text. The command line's objects are not in parts.a, so the
 * sources are taken in here. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/agent_text.c"
#include "cli/table.c"
#include "cli/words.c"

static char *page(const char *json)
{
	static char text[8192];
	struct buf b = { 0 };
	json_t *status = json_loads(json, 0, NULL);
	assert_non_null(status);
	agent_text(&b, status);
	assert_false(b.failed);
	(void)snprintf(text, sizeof text, "%s", b.data);
	json_decref(status);
	buf_done(&b);
	return text;
}

static void all_that_is_known_is_told(void **state)
{
	(void)state;
	assert_string_equal(
		page("{\"status\":1,\"agent\":\"0a1b\",\"tool\":\"roimeter-agent 1.2\","
		     "\"host\":\"n7\",\"pid\":812,\"start_real_ns\":1000000000,"
		     "\"real_ns\":101000000000,\"server\":\"http://d:7450\",\"socket\":\"/s\","
		     "\"quiet\":true,"
		     "\"cost\":{\"cpu_s\":0.05,\"wakeups\":120,\"rss_bytes\":7000000},"
		     "\"spool\":{\"folder\":\"/v\",\"bytes\":5720,\"max_bytes\":1000000000,"
		     "\"next_seq\":9,\"synced_seq\":8,\"acked_seq\":6,\"damaged\":1},"
		     "\"post\":{\"posts\":4,\"bytes\":999,\"good_real_ns\":91000000000,"
		     "\"failures\":3,\"failure\":\"it answers 503\","
		     "\"next_real_ns\":103000000000},"
		     "\"losses\":[{\"what\":\"context\",\"count\":5,\"why\":\"spool_full\"}],"
		     "\"samplers\":[{\"name\":\"lustre\",\"failure\":\"no\\u0007 way\"}],"
		     "\"runs\":[{\"run\":\"r1\",\"app\":\"cg\",\"case\":\"s\",\"uid\":1000,"
		     "\"executions\":6,\"ended\":2,\"exec\":\"clean.1\","
		     "\"announced_real_ns\":41000000000,\"connected\":true}],"
		     "\"processes\":[{\"pid\":901,\"uid\":1000,\"exe\":\"/x/cg\",\"run\":\"r1\","
		     "\"exec\":\"clean.1\",\"rank\":\"0\",\"open\":true,\"entries\":1,"
		     "\"steps\":40,\"quiet\":false,\"snapshots\":1,\"bytes\":184000,"
		     "\"from_real_ns\":100000000000}],\"followed\":3}"),
		"roimeter-agent 1.2 on n7, process 812, up 100 s\n"
		"  id         0a1b\n"
		"  socket     /s\n"
		"  quiet      a clean region is open on this node: no samples and no snapshots "
		"meanwhile\n"
		"  sends to   http://d:7450; failing, 3 times in a row: it answers 503; next try "
		"in "
		"2.00 s; it\n"
		"             took the last post 10.0 s ago, 4 posts of 999 B since the agent's "
		"start\n"
		"  spool      5.72 kB of 1.00 GB in /v; 2 batches are not yet delivered (7 to 8); "
		"1 "
		"could not be\n"
		"             read back\n"
		"  lost       context: 5, spool_full\n"
		"  sampler    lustre: no  way\n"
		"  cost       50.0 ms of CPU time (0.05 % of one CPU), 120 wake-ups, 7.00 MB of "
		"memory\n"
		"\n"
		"runs under way: 1\n"
		"  run  case  user  done  of  now         for  runner\n"
		"  r1   cg/s  1000     2   6  clean.1  60.0 s  there\n"
		"\n"
		"processes followed: 1\n"
		"  process  user  program  rank  run  execution  open  entries  steps  quiet  sent "
		" "
		"   log     for\n"
		"      901  1000  cg          0  r1   clean.1    yes         1     40  no        1 "
		" "
		"184 kB  1.00 s\n"
		"  and 2 of other users\n");
}

static void an_idle_agent_is_a_few_lines(void **state)
{
	(void)state;
	assert_string_equal(
		page("{\"status\":1,\"real_ns\":5000000000,\"server\":null,"
		     "\"spool\":{\"bytes\":0,\"max_bytes\":64000,\"next_seq\":4,\"acked_seq\":3}}"),
		"agent on this node\n"
		"  sends to   no daemon: all is kept\n"
		"  spool      0 B of 64.0 kB; all 3 batches are delivered\n"
		"\nruns under way: 0\n"
		"\nprocesses followed: 0\n");
}

static void a_full_disk_is_said(void **state)
{
	(void)state;
	assert_string_equal(
		page("{\"spool\":{\"bytes\":0,\"max_bytes\":64000,\"next_seq\":1,"
		     "\"acked_seq\":0,\"full\":true,\"waiting_bytes\":3000}}"),
		"agent on this node\n"
		"  sends to   no daemon: all is kept\n"
		"  spool      0 B of 64.0 kB; it is full, or its disk is: 3.00 kB wait in "
		"memory, what is in logs\n"
		"             waits there, and it is tried again each second\n"
		"\nruns under way: 0\n"
		"\nprocesses followed: 0\n");
}

/* Of another version, or no agent at all: nothing is taken for what it is not. */
static void what_is_of_another_type_is_not_there(void **state)
{
	(void)state;
	const char *text = page(
		"{\"agent\":[1],\"tool\":7,\"host\":{},\"pid\":\"x\",\"server\":false,"
		"\"spool\":[],\"post\":\"no\",\"losses\":{\"what\":1},\"samplers\":[null,3],"
		"\"cost\":{\"cpu_s\":\"much\"},\"runs\":[[],{}],\"processes\":[17,{\"exe\":1}]}");
	assert_non_null(strstr(text, "agent on this node\n"));
	assert_non_null(strstr(text, "runs under way: 2\n"));
	assert_null(strstr(text, "nan"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_known_is_told),
		cmocka_unit_test(an_idle_agent_is_a_few_lines),
		cmocka_unit_test(a_full_disk_is_said),
		cmocka_unit_test(what_is_of_another_type_is_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
