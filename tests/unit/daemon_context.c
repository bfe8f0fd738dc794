/* GET runs/{id}/context: which samples are of a run, as JSON and as a table. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/route.h"
#include "store/inbox.h"
#include "tests/unit/store_fixture.h"

#define RUN "20260929T040000Z-0123abcd"
#define BEGIN_NS 1790654400000000000ll /* 2026-09-29T04:00:00Z */
#define SECOND 1000000000ll

static struct store *s;

/* From 04:00:00 on for 10 s, on node1 and node2. */
static void add_run(void)
{
	struct record rec;
	struct execution clean;
	struct rank ranks[2];
	record_init(&rec);
	block_clear(&execution_block, &clean);
	clean.name = "clean.0";
	clean.utc = "2026-09-29T04:00:00Z";
	clean.process_wall_s = 10;
	for (int i = 0; i < 2; i++) {
		block_clear(&rank_block, &ranks[i]);
		ranks[i].execution = "clean.0";
		ranks[i].host = i ? "node2" : "node1";
	}
	rec.body.run_id = RUN;
	rec.body.suite = "demo";
	rec.body.app = "heat";
	rec.body.case_ = "n128";
	rec.body.platform = "cpu-test.linux6.1";
	rec.body.kind = "measured";
	rec.body.utc = "2026-09-29T04:00:00Z";
	rec.body.status = "clean_failed";
	rec.body.executions.items = &clean;
	rec.body.executions.n = 1;
	rec.body.ranks.items = ranks;
	rec.body.ranks.n = 2;
	add(s, &rec);
	record_done(&rec);
}

static void add_sample(const char *host, int64_t at_ns, const char *scope, const char *run,
		       double value)
{
	static uint64_t seq;
	struct batch_out out = { .frames = 0 };
	struct batch_sender sender;
	struct batch_head head;
	struct frame f;
	struct buf pairs = { 0 }, b = { 0 };
	int64_t spool;
	batch_pair_put(&pairs, str_of("load1"), value);
	frame_clear(&f, FRAME_CONTEXT);
	f.as.context.real_ns = at_ns;
	f.as.context.scope = str_of(scope);
	f.as.context.run = str_of(run);
	f.as.context.values = batch_list(&pairs);
	assert_int_equal(batch_put(&out, &f), 0);
	batch_sender_clear(&sender);
	sender.agent = sender.spool = str_of("a");
	sender.seq = ++seq;
	sender.host = str_of(host);
	sender.from_real_ns = sender.to_real_ns = at_ns;
	assert_int_equal(batch_end(&out, &sender, &b, NULL), 0);
	assert_int_equal(batch_look(&head, b.data, b.len, NULL), 0);
	assert_int_equal(inbox_arrive(s, &head.sender, head.sum, at_ns,
				      (struct str){ .p = b.data, .n = b.len }, &spool, NULL),
			 0);
	batch_out_done(&out);
	buf_done(&pairs);
	buf_done(&b);
}

static int get(const char *raw, enum media media, struct answer *a, struct err *err)
{
	struct target t;
	const struct route *r;
	char id[ROUTE_ID_BYTES], allow[64];
	assert_int_equal(target_parse(&t, raw, NULL), 0);
	assert_int_equal(route_find("GET", t.path, &r, id, allow), 0);
	assert_int_equal(route_check(r, &t, NULL), 0);
	const struct call c = { .route = r, .target = &t, .id = id, .media = media, .store = s };
	*a = (struct answer){ .status = 200, .media = media };
	return r->handle(&c, a, err);
}

#define PATH "/api/v1/runs/" RUN "/context"

static void samples_of_its_nodes_and_its_time_are_of_a_run(void **state)
{
	(void)state;
	struct answer a;
	s = open_store(STORE_WRITE);
	add_run();
	for (int i = 0; i < 50; i++) /* long before */
		add_sample("node1", BEGIN_NS - (10000 - i) * SECOND, "node", NULL, 1);
	add_sample("node1", BEGIN_NS - 60 * SECOND, "node", NULL, 1);
	add_sample("node1", BEGIN_NS, "node", NULL, 2);
	add_sample("node2.example.org", BEGIN_NS + 5 * SECOND, "node", NULL, (double)NAN);
	add_sample("node3", BEGIN_NS + 5 * SECOND, "node", NULL, 4); /* elsewhere */
	add_sample("node1", BEGIN_NS + 6 * SECOND, "cgroup:/job", RUN, 5.5);
	add_sample("node1", BEGIN_NS + 6 * SECOND, "cgroup:/other", NULL, 6); /* somebody's */
	add_sample("node1", BEGIN_NS + 60 * SECOND, "node", NULL, 7);         /* after */
	assert_int_equal(get(PATH, MEDIA_CSV, &a, NULL), 0);
	assert_string_equal(a.body.data, "time,node,scope,execution,name,value\r\n"
					 "2026-09-29T04:00:00Z,node1,node,,load1,2\r\n"
					 "2026-09-29T04:00:05Z,node2.example.org,node,,load1,\r\n"
					 "2026-09-29T04:00:06Z,node1,cgroup:/job,,load1,5.5\r\n");
	answer_done(&a);
	assert_int_equal(get(PATH "?since=2026-09-29T04:00:01Z&until=2026-09-29T04:00:05Z",
			     MEDIA_JSON, &a, NULL),
			 0);
	assert_string_equal(a.body.data,
			    "{\"run_id\":\"" RUN "\",\"from\":\"2026-09-29T04:00:01Z\",\"to\":"
			    "\"2026-09-29T04:00:05Z\",\"samples\":[{\"time\":\"2026-09-29T04:00:05Z"
			    "\",\"node\":\"node2.example.org\",\"scope\":\"node\",\"execution\":"
			    "null,\"values\":{\"load1\":null}}]}\n");
	answer_done(&a);
	store_close(s);
}

static void what_is_not_there_is_said(void **state)
{
	(void)state;
	struct answer a;
	struct err err = { { 0 } };
	s = open_store(STORE_WRITE);
	assert_int_equal(
		get("/api/v1/runs/20200101T000000Z-00000000/context", MEDIA_JSON, &a, &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "there is no run"));
	answer_done(&a);
	assert_int_equal(get(PATH "?since=2026-02-30", MEDIA_JSON, &a, &err), -EINVAL);
	answer_done(&a);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_its_nodes_and_its_time_are_of_a_run),
		cmocka_unit_test(what_is_not_there_is_said),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
