/* What is said over the agent's socket, and by whom it may be: an agent in this process, and
 * clients. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
/* cmocka wants those before */
#include <cmocka.h>

#include "lib/num.h"
#include "schema/conformance.h"
#include "tests/unit/agent_world.h"
#include "tests/unit/marklog_build.h"

#define RUN "20260101T000000Z-00000001"

static struct batch_sender a_runner(void)
{
	struct batch_sender s;
	batch_sender_clear(&s);
	s.agent = s.spool = str_of("runner");
	s.seq = 1;
	return s;
}

static void put_announce(struct batch_out *o, const char *run)
{
	struct frame f;
	frame_clear(&f, FRAME_RUN_ANNOUNCE);
	f.as.run_announce.run = str_of(run);
	f.as.run_announce.suite = str_of("s");
	f.as.run_announce.app = str_of("a");
	assert_int_equal(batch_put(o, &f), 0);
}

static void put_end(struct batch_out *o, const char *run)
{
	struct frame f;
	frame_clear(&f, FRAME_RUN_END);
	f.as.run_end.run = str_of(run);
	f.as.run_end.complete = YES;
	assert_int_equal(batch_put(o, &f), 0);
}

static void put_process(struct batch_out *o, const char *run, const char *stream)
{
	struct frame f;
	frame_clear(&f, FRAME_PROCESS);
	f.as.process.run = str_of(run);
	f.as.process.exec = str_of("clean.0");
	f.as.process.stream = str_of(stream);
	f.as.process.size = 4;
	f.as.process.data = str_of("data");
	f.as.process.final = YES;
	assert_int_equal(batch_put(o, &f), 0);
}

static void send_bytes(int fd, const void *bytes, size_t n)
{
	int pass = world_memfd(bytes, n);
	assert_int_equal(unixsock_send(fd, LOCAL_BATCH, strlen(LOCAL_BATCH), pass), 0);
	(void)close(pass);
}

static void send_batch(int fd, struct batch_out *o)
{
	struct buf bytes = { .max = 0 };
	struct batch_sender s = a_runner();
	assert_int_equal(batch_end(o, &s, &bytes, NULL), 0);
	send_bytes(fd, bytes.data, bytes.len);
	buf_done(&bytes);
	batch_out_done(o);
}

static void expect_answer(struct world *w, int fd, const char *start)
{
	char text[LOCAL_MAX_BYTES];
	assert_true(world_answer(w, fd, text, sizeof text, NULL) > 0);
	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("answered: %s", text);
}

static void expect_silence(struct world *w, int fd)
{
	char text[LOCAL_MAX_BYTES];
	assert_int_equal(world_answer(w, fd, text, sizeof text, NULL), -EAGAIN);
}

static struct world *open_world(void)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	world_folder(w);
	world_start(w);
	return w;
}

static void close_world(struct world *w)
{
	world_done(w);
	free(w);
}

/* ---- runners ----------------------------------------------------------------------------------
 */

static void a_batch_is_kept_when_it_is_durable_and_says_who_sent_it(void **state)
{
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	struct world_reader r = { .open = false };
	struct frame f;
	char text[64];
	(void)state;
	int fd = world_connect(w);
	put_announce(&o, RUN);
	put_process(&o, RUN, "b-1-1.0");
	put_end(&o, RUN);
	send_batch(fd, &o);
	assert_true(world_answer(w, fd, text, sizeof text, NULL) > 0);
	uint64_t seq = strtoull(text + strlen(LOCAL_KEPT), NULL, 10);
	assert_memory_equal(text, LOCAL_KEPT, strlen(LOCAL_KEPT));
	assert_true(seq > 0);
	assert_int_equal(outbox_durable(w->outbox), seq);
	assert_true(world_frame(w, &r, FRAME_RUN_ANNOUNCE, &f));
	assert_int_equal(f.as.run_announce.uid, getuid());
	assert_memory_equal(f.as.run_announce.app.p, "a", 1);
	assert_true(world_frame(w, &r, FRAME_PROCESS, &f));
	assert_int_equal(f.as.process.uid, getuid());
	assert_memory_equal(f.as.process.data.p, "data", 4);
	assert_true(world_frame(w, &r, FRAME_RUN_END, &f));
	assert_int_equal(f.as.run_end.uid, getuid());
	batch_in_done(&r.in);
	(void)close(fd);
	world_turn(w);
	assert_int_equal(world_count(w, FRAME_RUN_END), 1); /* it was over: not ended again */
	close_world(w);
}

static void each_batch_has_its_answer(void **state)
{
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	(void)state;
	int fd = world_connect(w);
	for (int i = 0; i < 10; i++) {
		put_announce(&o, RUN);
		send_batch(fd, &o);
	}
	for (int i = 0; i < 10; i++)
		expect_answer(w, fd, LOCAL_KEPT);
	expect_silence(w, fd);
	(void)close(fd);
	close_world(w);
}

static void a_runner_that_vanishes_has_its_run_ended_as_interrupted(void **state)
{
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	struct world_reader r = { .open = false };
	struct frame f;
	(void)state;
	int fd = world_connect(w);
	put_announce(&o, RUN);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT);
	(void)close(fd);
	world_turn(w);
	assert_int_equal(world_count(w, FRAME_RUN_END), 1);
	outbox_rewind(w->outbox);
	assert_true(world_frame(w, &r, FRAME_RUN_END, &f));
	assert_int_equal(f.as.run_end.complete, NO);
	assert_int_equal(f.as.run_end.uid, getuid());
	batch_in_done(&r.in);
	world_stop(w);
	world_start(w); /* and not by the agent's own end */
	fd = world_connect(w);
	put_announce(&o, "other");
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT);
	world_stop(w);
	(void)close(fd);
	world_start(w);
	assert_int_equal(world_count(w, FRAME_RUN_END), 1);
	close_world(w);
}

static void delivery_is_told_when_the_daemon_has_it(void **state)
{
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	char text[64], ask[64];
	(void)state;
	int fd = world_connect(w);
	put_announce(&o, RUN);
	send_batch(fd, &o);
	assert_true(world_answer(w, fd, text, sizeof text, NULL) > 0);
	uint64_t seq = strtoull(text + strlen(LOCAL_KEPT), NULL, 10);
	(void)snprintf(ask, sizeof ask, LOCAL_DELIVERED "%llu\n", (unsigned long long)seq);
	assert_int_equal(unixsock_send(fd, ask, strlen(ask), -1), 0);
	expect_silence(w, fd);
	put_announce(&o, RUN);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT); /* others are answered meanwhile */
	struct spool_item item;
	while (outbox_read(w->outbox, &item, NULL) == 1 && item.seq < seq) {
	}
	assert_int_equal(outbox_ack(w->outbox, seq, NULL), 0);
	agent_delivered(w->agent, seq);
	assert_true(world_answer(w, fd, text, sizeof text, NULL) > 0);
	assert_string_equal(text, ask);
	assert_int_equal(unixsock_send(fd, ask, strlen(ask), -1), 0);
	expect_answer(w, fd, ask); /* at once now */
	static const char *const bad[] = { LOCAL_DELIVERED, LOCAL_DELIVERED "x\n",
					   LOCAL_DELIVERED "99999999\n", LOCAL_DELIVERED "-1\n",
					   LOCAL_DELIVERED "1\nmore" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(unixsock_send(fd, bad[i], strlen(bad[i]), -1), 0);
		expect_answer(w, fd, LOCAL_ERROR "EINVAL\n");
	}
	(void)close(fd);
	close_world(w);
}

static void what_is_no_batch_of_a_runner_is_refused_and_nothing_of_it_done(void **state)
{
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	struct buf bytes = { .max = 0 };
	struct batch_sender s = a_runner();
	(void)state;
	int fd = world_connect(w);

	assert_int_equal(unixsock_send(fd, LOCAL_BATCH, strlen(LOCAL_BATCH), -1), 0);
	expect_answer(w, fd, LOCAL_ERROR "EINVAL\n");
	send_bytes(fd, "", 0);
	expect_answer(w, fd, LOCAL_ERROR "E2BIG\n");
	send_bytes(fd, "rubbish, and some more of it, longer than a head would be", 57);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");
	int pass = memfd_create("large", MFD_CLOEXEC);
	assert_int_equal(ftruncate(pass, 64 << 20), 0);
	assert_int_equal(unixsock_send(fd, LOCAL_BATCH, strlen(LOCAL_BATCH), pass), 0);
	expect_answer(w, fd, LOCAL_ERROR "E2BIG\n");
	(void)close(pass);
	pass = open("/dev/null", O_RDONLY);
	assert_int_equal(unixsock_send(fd, LOCAL_BATCH, strlen(LOCAL_BATCH), pass), 0);
	expect_answer(w, fd, LOCAL_ERROR "EINVAL\n");
	(void)close(pass);

	/* A good one, and another behind it; one that is cut; one with a byte changed. */
	put_announce(&o, RUN);
	assert_int_equal(batch_end(&o, &s, &bytes, NULL), 0);
	size_t one = bytes.len;
	put_announce(&o, RUN);
	assert_int_equal(batch_end(&o, &s, &bytes, NULL), 0);
	send_bytes(fd, bytes.data, bytes.len);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");
	send_bytes(fd, bytes.data, one - 1);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");
	bytes.data[one - 1] ^= 1;
	send_bytes(fd, bytes.data, one);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");

	(void)close(fd);
	world_turn(w);
	assert_int_equal(world_count(w, FRAME_RUN_ANNOUNCE), 0);
	buf_done(&bytes);
	batch_out_done(&o);
	close_world(w);
}

static void what_only_an_agent_says_is_refused_and_nothing_of_it_done(void **state)
{
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	struct frame f;
	(void)state;
	int fd = world_connect(w);

	/* Behind what a runner may say. */
	static const enum frame_type others[] = { FRAME_CONTEXT, FRAME_LOSS, FRAME_GAP, FRAME_AGENT,
						  FRAME_NODE };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		put_announce(&o, RUN);
		frame_clear(&f, others[i]);
		assert_int_equal(batch_put(&o, &f), 0);
		send_batch(fd, &o);
		expect_answer(w, fd, LOCAL_ERROR "EPERM\n");
	}
	put_process(&o, NULL, "b-1-1.0");
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_ERROR "EPERM\n");
	put_process(&o, "a b", "b-1-1.0");
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_ERROR "EPERM\n");
	put_process(&o, RUN, NULL);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");

	(void)close(fd);
	world_turn(w);
	assert_int_equal(world_count(w, FRAME_RUN_ANNOUNCE), 0);
	assert_int_equal(world_count(w, FRAME_PROCESS), 0);
	assert_int_equal(world_count(w, FRAME_RUN_END), 0);
	batch_out_done(&o);
	close_world(w);
}

static void put_declare(struct batch_out *o, const char *suite, int64_t real_ns)
{
	struct frame f;
	struct buf list = { 0 };
	for (size_t i = 0; i < 3; i++)
		batch_text_put(&list, str_of(i < 2 ? "a" : NULL));
	frame_clear(&f, FRAME_DECLARE);
	f.as.declare.suite = str_of(suite);
	f.as.declare.real_ns = real_ns;
	f.as.declare.uid = 4711;
	f.as.declare.cases = batch_list(&list);
	assert_int_equal(batch_put(o, &f), 0);
	buf_done(&list);
}

/* It belongs to no run. Who says so is the peer, and it is not from the future. */
static void what_a_suite_declares_is_passed_on(void **state)
{
	(void)state;
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	struct world_reader r = { .open = false };
	struct frame f;
	int fd = world_connect(w);
	put_declare(&o, "demo", INT64_MAX);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT);
	put_declare(&o, "demo", 5);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT);
	put_declare(&o, "de/mo", 5);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");
	put_declare(&o, NULL, 5);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");
	assert_int_equal(world_count(w, FRAME_DECLARE), 2);
	outbox_rewind(w->outbox);
	assert_true(world_frame(w, &r, FRAME_DECLARE, &f));
	assert_int_equal(f.as.declare.uid, geteuid());
	assert_in_range(f.as.declare.real_ns, 1, (time(NULL) + 1) * INT64_C(1000000000));
	assert_int_equal(f.as.declare.cases.n, 5);
	assert_true(world_frame(w, &r, FRAME_DECLARE, &f));
	assert_int_equal(f.as.declare.real_ns, 5);
	batch_in_done(&r.in);
	(void)close(fd);
	close_world(w);
}

static void put_result(struct batch_out *o, const char *verdict, int64_t real_ns)
{
	struct frame f;
	struct buf result = { 0 };
	struct conformance c;
	struct check k;
	block_clear(&check_block, &k);
	k.name = "status";
	k.verdict = "pass";
	conformance_clear(&c);
	c.platform = "p";
	c.collector = "opencl";
	c.utc = "2026-11-30T04:22:38Z";
	c.verdict = verdict;
	c.passed = 1;
	c.failed = c.skipped = 0;
	c.checks.items = &k;
	c.checks.n = 1;
	conformance_put(&result, &c);
	frame_clear(&f, FRAME_CONFORMANCE);
	f.as.conformance.uid = 4711;
	f.as.conformance.real_ns = real_ns;
	f.as.conformance.result = batch_list(&result);
	assert_int_equal(batch_put(o, &f), 0);
	buf_done(&result);
}

static void a_conformance_result_is_passed_on(void **state)
{
	(void)state;
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	struct world_reader r = { .open = false };
	struct frame f;
	int fd = world_connect(w);
	put_result(&o, "pass", INT64_MAX);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT);
	put_result(&o, "pass", 5);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT);
	put_result(&o, "fail", 5); /* and none of its checks did */
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");
	frame_clear(&f, FRAME_CONFORMANCE);
	f.as.conformance.result = str_of("no result");
	assert_int_equal(batch_put(&o, &f), 0);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_ERROR "EBADMSG\n");
	assert_int_equal(world_count(w, FRAME_CONFORMANCE), 2);
	outbox_rewind(w->outbox);
	assert_true(world_frame(w, &r, FRAME_CONFORMANCE, &f));
	assert_int_equal(f.as.conformance.uid, geteuid());
	assert_in_range(f.as.conformance.real_ns, 1, (time(NULL) + 1) * INT64_C(1000000000));
	assert_true(world_frame(w, &r, FRAME_CONFORMANCE, &f));
	assert_int_equal(f.as.conformance.real_ns, 5);
	batch_in_done(&r.in);
	(void)close(fd);
	close_world(w);
}

/* Sent, and not yet looked at when the agent is told to end. */
static void what_waits_at_the_end_is_heard(void **state)
{
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 }, more = { .frames = 0 };
	struct world_reader r = { .open = false };
	struct frame f;
	char text[64] = "";
	(void)state;
	int known = world_connect(w), fd = world_connect(w), pass = -1;
	world_turn(w);
	put_announce(&o, RUN);
	put_process(&o, RUN, "b-1-1.0");
	send_batch(known, &o);
	(void)close(fd);
	fd = world_connect(w);
	put_process(&more, RUN, "b-2-2.0");
	send_batch(fd, &more);
	world_stop(w);
	assert_true(unixsock_recv(known, text, sizeof text - 1, &pass) > 0);
	assert_memory_equal(text, LOCAL_KEPT, strlen(LOCAL_KEPT));
	assert_true(unixsock_recv(fd, text, sizeof text - 1, &pass) > 0);
	assert_memory_equal(text, LOCAL_KEPT, strlen(LOCAL_KEPT));
	(void)close(known);
	(void)close(fd);
	world_start(w);
	assert_true(world_frame(w, &r, FRAME_PROCESS, &f));
	assert_memory_equal(f.as.process.stream.p, "b-1-1.0", 7);
	assert_true(world_frame(w, &r, FRAME_PROCESS, &f));
	assert_memory_equal(f.as.process.stream.p, "b-2-2.0", 7);
	batch_in_done(&r.in);
	close_world(w);
}

/* In a child with another user, whose exit code is that of the answer. */
#define NOT_HERE 9 /* no other user, or a folder on the way that lets none through */
static int as_another(struct world *w, struct batch_out *o)
{
	char text[256];
	assert_int_equal(chmod(w->folder, 0755), 0);
	pid_t pid = fork();
	if (!pid) {
		if (setuid(65534) || access(w->socket, W_OK))
			_exit(NOT_HERE);
		int fd = world_connect(w);
		send_batch(fd, o);
		for (int i = 0; i < 1000; i++) {
			int pass;
			ssize_t n = unixsock_recv(fd, text, sizeof text - 1, &pass);
			if (n > 0)
				_exit(strncmp(text, LOCAL_KEPT, strlen(LOCAL_KEPT)) ? 1 : 0);
			(void)usleep(10000);
		}
		_exit(8);
	}
	int status = 0;
	while (!waitpid(pid, &status, WNOHANG)) {
		world_turn(w);
		(void)usleep(1000);
	}
	batch_out_done(o);
	return WEXITSTATUS(status);
}

static void a_user_speaks_for_its_own_runs_only(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can be another user */
	struct world *w = open_world();
	struct batch_out o = { .frames = 0 };
	int fd = world_connect(w);
	put_announce(&o, RUN);
	send_batch(fd, &o);
	expect_answer(w, fd, LOCAL_KEPT);
	put_process(&o, RUN, "b-1-1.0");
	int answer = as_another(w, &o);
	if (answer == NOT_HERE) {
		(void)close(fd);
		close_world(w);
		skip();
	}
	assert_int_equal(answer, 1);
	put_announce(&o, RUN);
	assert_int_equal(as_another(w, &o), 1);
	put_end(&o, RUN);
	assert_int_equal(as_another(w, &o), 1);
	put_announce(&o, "theirs");
	put_end(&o, "theirs");
	assert_int_equal(as_another(w, &o), 0);
	assert_int_equal(world_count(w, FRAME_PROCESS), 0);
	assert_int_equal(world_count(w, FRAME_RUN_ANNOUNCE), 2);
	(void)close(fd);
	close_world(w);
}

/* ---- processes --------------------------------------------------------------------------------
 */

static void hello(struct world *w, int pass)
{
	int fd = world_connect(w);
	assert_int_equal(unixsock_send(fd, LOCAL_HELLO, strlen(LOCAL_HELLO), pass), 0);
	(void)close(fd);
	world_turn(w);
}

static void a_log_is_taken_by_its_descriptor_and_rubbish_is_not(void **state)
{
	struct world *w = open_world();
	struct built b;
	int ends[2];
	(void)state;
	hello(w, -1);
	int pass = world_memfd("no log at all", 13);
	hello(w, pass);
	(void)close(pass);
	pass = open("/", O_RDONLY | O_DIRECTORY);
	hello(w, pass);
	(void)close(pass);
	pass = open(w->folder, O_PATH);
	hello(w, pass);
	(void)close(pass);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	hello(w, ends[0]);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(world_count(w, FRAME_PROCESS), 0);

	built_init(&b); /* of a process that is not of this boot: it is not here */
	pass = world_memfd(b.bytes, sizeof b.bytes);
	hello(w, pass);
	(void)close(pass);
	assert_int_equal(world_count(w, FRAME_PROCESS), 0);
	char path[256];
	(void)snprintf(path, sizeof path, "%s/x.roilog", w->logs);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b.bytes, 1, sizeof b.bytes, f), sizeof b.bytes);
	assert_int_equal(fclose(f), 0);
	world_turn(w); /* left in the agent's own folder it is of before this boot */
	assert_int_equal(world_count(w, FRAME_PROCESS), 1);
	assert_int_equal(access(path, F_OK), -1);
	close_world(w);
}

/* ---- clients that mean harm -------------------------------------------------------------------
 */

static void whoever_does_not_read_is_hung_up_and_others_are_served(void **state)
{
	struct world *w = open_world();
	(void)state;
	int bad = world_connect(w), good = world_connect(w);
	int sent = 0;
	for (int i = 0; i < 20000; i++) {
		int rc = unixsock_send(bad, "what?", 5, -1);
		if (rc == -EPIPE)
			break;
		sent += rc == 0;
		world_turn(w);
	}
	assert_in_range(sent, 64, 19999);
	assert_int_equal(unixsock_send(good, "what?", 5, -1), 0);
	expect_answer(w, good, LOCAL_ERROR "EPROTO\n");
	(void)close(bad);
	(void)close(good);
	close_world(w);
}

static void many_connections_are_served_one_after_the_other(void **state)
{
	struct world *w = open_world();
	int fds[200];
	char text[64];
	(void)state;
	for (int i = 0; i < 200; i++)
		fds[i] = world_connect(w);
	world_turn(w);
	for (int i = 0; i < 200; i++)
		assert_int_equal(unixsock_send(fds[i], LOCAL_STATUS, strlen(LOCAL_STATUS), -1), 0);
	for (int i = 0; i < 200; i++) {
		int pass;
		assert_true(world_answer(w, fds[i], text, sizeof text, &pass) > 0);
		assert_string_equal(text, LOCAL_STATUS);
		char json[32] = "";
		assert_true(pread(pass, json, sizeof json - 1, 0) > 2);
		assert_int_equal(json[0], '{');
		(void)close(pass);
		(void)close(fds[i]);
	}
	close_world(w);
}

static void a_status_is_not_made_for_whoever_has_not_read_the_last_one(void **state)
{
	struct world *w = open_world();
	char text[LOCAL_MAX_BYTES];
	(void)state;
	int fd = world_connect(w), pass;
	for (int i = 0; i < 3; i++)
		assert_int_equal(unixsock_send(fd, LOCAL_STATUS, strlen(LOCAL_STATUS), -1), 0);
	assert_true(world_answer(w, fd, text, sizeof text, &pass) > 0 && pass >= 0);
	(void)close(pass);
	expect_answer(w, fd, LOCAL_ERROR "EBUSY\n");
	expect_answer(w, fd, LOCAL_ERROR "EBUSY\n");
	assert_int_equal(unixsock_send(fd, LOCAL_STATUS, strlen(LOCAL_STATUS), -1), 0);
	expect_answer(w, fd, LOCAL_STATUS);
	(void)close(fd);
	close_world(w);
}

/* A read of it may take as long as a program of its user likes. */
static void a_batch_is_read_from_memory_and_from_no_other_file(void **state)
{
	struct world *w = open_world();
	(void)state;
	int fd = world_connect(w), pass = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_true(pass >= 0);
	assert_int_equal(unixsock_send(fd, LOCAL_BATCH, strlen(LOCAL_BATCH), pass), 0);
	expect_answer(w, fd, LOCAL_ERROR "EINVAL\n");
	(void)close(pass);
	(void)close(fd);
	close_world(w);
}

static void messages_that_are_too_long_or_carry_too_much_are_refused(void **state)
{
	struct world *w = open_world();
	static char large[LOCAL_MAX_BYTES + 1];
	(void)state;
	memset(large, 'x', sizeof large);
	int fd = world_connect(w);
	assert_int_equal(unixsock_send(fd, large, sizeof large, -1), 0);
	expect_answer(w, fd, LOCAL_ERROR "EMSGSIZE\n");
	assert_int_equal(unixsock_send(fd, "roimeter-status 2\n", 18, -1), 0);
	expect_answer(w, fd, LOCAL_ERROR "EPROTO\n");
	(void)close(fd);
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_kept_when_it_is_durable_and_says_who_sent_it),
		cmocka_unit_test(what_waits_at_the_end_is_heard),
		cmocka_unit_test(each_batch_has_its_answer),
		cmocka_unit_test(a_runner_that_vanishes_has_its_run_ended_as_interrupted),
		cmocka_unit_test(delivery_is_told_when_the_daemon_has_it),
		cmocka_unit_test(what_is_no_batch_of_a_runner_is_refused_and_nothing_of_it_done),
		cmocka_unit_test(what_only_an_agent_says_is_refused_and_nothing_of_it_done),
		cmocka_unit_test(a_user_speaks_for_its_own_runs_only),
		cmocka_unit_test(what_a_suite_declares_is_passed_on),
		cmocka_unit_test(a_conformance_result_is_passed_on),
		cmocka_unit_test(a_log_is_taken_by_its_descriptor_and_rubbish_is_not),
		cmocka_unit_test(whoever_does_not_read_is_hung_up_and_others_are_served),
		cmocka_unit_test(many_connections_are_served_one_after_the_other),
		cmocka_unit_test(a_status_is_not_made_for_whoever_has_not_read_the_last_one),
		cmocka_unit_test(a_batch_is_read_from_memory_and_from_no_other_file),
		cmocka_unit_test(messages_that_are_too_long_or_carry_too_much_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
