/* The sender against a server with a script: whatever it does, each frame is stored once, or is
 * counted. */
/* wrap: fdatasync */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/post.h"
#include "agent/secret.h"
#include "tests/unit/agent_outbox.h"
#include "tests/unit/agent_server.h"

#define SPOOL (16u << 20)

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	(void)fd;
	return 0;
}

static uv_loop_t loop;
static struct server server;
static struct outbox *outbox;
static struct post *post;
static uv_timer_t deadline;
static uint64_t delivered_seq;
static bool late;

static void on_deadline(uv_timer_t *t)
{
	(void)t;
	late = true;
}

static void on_delivered(void *arg, uint64_t seq)
{
	(void)arg;
	assert_true(seq >= delivered_seq);
	delivered_seq = seq;
}

static void begin(double retry_max_s, size_t batch_bytes)
{
	late = false;
	delivered_seq = 0;
	(void)uv_loop_init(&loop);
	(void)uv_timer_init(&loop, &deadline);
	server_begin(&server, &loop);
	char url[64];
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%d/", server.port);
	const struct outbox_options box = { .folder = at_folder,
					    .max_bytes = SPOOL,
					    .host = "node7",
					    .batch_bytes = batch_bytes,
					    .age_ns = 10000000 };
	assert_int_equal(outbox_open(&outbox, &box, NULL), 0);
	const struct post_options options = { .loop = &loop,
					      .outbox = outbox,
					      .url = url,
					      .connect_s = 2,
					      .stall_s = 1,
					      .retry_max_s = retry_max_s,
					      .delivered = on_delivered };
	assert_int_equal(post_open(&post, &options, NULL), 0);
}

static void script(const enum act *steps, size_t n)
{
	server.script = steps;
	server.steps = n;
	server.at = 0;
}
#define SCRIPT(...)                                                                                \
	static const enum act steps_[] = { __VA_ARGS__ };                                          \
	script(steps_, sizeof steps_ / sizeof *steps_)

/* However slow the machine: it is what is stored that is looked at afterwards. */
static void run_until_delivered(void)
{
	uint64_t last = 0;
	assert_int_equal(outbox_sync(outbox, &last, NULL), 0);
	(void)uv_timer_start(&deadline, on_deadline, 60000, 0);
	while (outbox_delivered(outbox) < last && !late)
		(void)uv_run(&loop, UV_RUN_ONCE);
	(void)uv_timer_stop(&deadline);
}

static void run_for(uint64_t ms)
{
	late = false;
	(void)uv_timer_start(&deadline, on_deadline, ms, 0);
	while (!late)
		(void)uv_run(&loop, UV_RUN_ONCE);
	late = false;
}

static void run_until(const uint64_t *of, uint64_t at_least)
{
	(void)uv_timer_start(&deadline, on_deadline, 60000, 0);
	while (*of < at_least && !late)
		(void)uv_run(&loop, UV_RUN_ONCE);
	(void)uv_timer_stop(&deadline);
}

static void close_all(uv_handle_t *h, void *arg)
{
	struct client *c = h->data;
	(void)arg;
	if (uv_is_closing(h))
		return;
	if (h->type == UV_TCP && h != (uv_handle_t *)&server.listener)
		client_close(c);
	else
		uv_close(h, NULL);
}

static bool was_closed;
static void on_closed(void *arg)
{
	(void)arg;
	was_closed = true;
}

static void end(void)
{
	was_closed = false;
	post_close(post, on_closed, NULL);
	while (!was_closed)
		(void)uv_run(&loop, UV_RUN_ONCE);
	uv_walk(&loop, close_all, NULL);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	outbox_close(outbox);
}

/* Numbers of process frames: those of the other class are of no interest here. */
static uint64_t put_frames(uint64_t from, uint64_t n, size_t bytes)
{
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(put_number(outbox, 3 * (from + i) + 1, bytes), 0);
	return from + n;
}

static void assert_stored(uint64_t from, uint64_t to, unsigned times)
{
	for (uint64_t i = from; i < to; i++)
		assert_int_equal(server.frames[3 * i + 1], times);
}

static void what_is_put_arrives(void **state)
{
	(void)state;
	begin(0.2, 0);
	put_frames(0, 10, 100);
	run_until_delivered();
	assert_stored(0, 10, 1);
	assert_string_equal(server.type, BATCH_TYPE);
	assert_string_equal(server.authorization, "");
	assert_int_equal(delivered_seq, 1);
	put_frames(10, 10, 100); /* by its age, without a sync */
	(void)uv_timer_start(&deadline, on_deadline, 60000, 0);
	while (!server.frames[3 * 19 + 1] && !late)
		(void)uv_run(&loop, UV_RUN_ONCE);
	(void)uv_timer_stop(&deadline);
	assert_stored(10, 20, 1);
	assert_int_equal(server.connections, 1); /* kept alive */
	end();
}

static void many_batches_share_a_body(void **state)
{
	(void)state;
	begin(0.2, 2000);
	SCRIPT(ACT_429);
	put_frames(0, 1000, 3000);
	run_until_delivered();
	assert_stored(0, 1000, 1);
	assert_int_equal(server.stored, 1000);
	assert_in_range(server.posts, 4, 8);
	assert_in_range(server.largest, POST_BODY_BYTES * 3 / 4, POST_BODY_BYTES);
	end();
}

static void whatever_fails_is_sent_again(void **state)
{
	(void)state;
	begin(0.04, 0);
	SCRIPT(ACT_429, ACT_500, ACT_401, ACT_404, ACT_415, ACT_302, ACT_400_FOREIGN, ACT_CUT,
	       ACT_TAKE_CUT, ACT_DROP, ACT_DROP);
	put_frames(0, 10, 100);
	run_until_delivered();
	assert_stored(0, 10, 1);
	assert_int_equal(server.posts, 12);
	assert_int_equal(server.duplicates, 1);
	struct post_stats st;
	post_stats(post, &st);
	assert_int_equal(st.failures, 11);
	assert_false(st.trouble);
	struct outbox_stats os;
	outbox_stats(outbox, &os);
	assert_int_equal(os.lost, 0);
	end();
}

static void a_silent_server_is_given_up_and_a_slow_one_is_not(void **state)
{
	(void)state;
	begin(0.04, 0);
	SCRIPT(ACT_SILENT, ACT_SLOW);
	put_frames(0, 10, 100);
	run_until_delivered();
	assert_stored(0, 10, 1);
	assert_int_equal(server.posts, 2);
	end();
}

static void retry_after_is_obeyed(void **state)
{
	(void)state;
	begin(0.04, 0);
	SCRIPT(ACT_503_AFTER);
	put_frames(0, 1, 100);
	run_until_delivered();
	assert_int_equal(server.posts, 2);
	assert_in_range(server.posted_ms[1] - server.posted_ms[0], 990, 3000);
	end();
}

static void pauses_grow(void **state)
{
	(void)state;
	begin(0.8, 0);
	SCRIPT(ACT_500, ACT_500, ACT_500, ACT_500);
	put_frames(0, 1, 100);
	run_until_delivered();
	assert_int_equal(server.posts, 5);
	uint64_t first = server.posted_ms[1] - server.posted_ms[0];
	uint64_t last = server.posted_ms[4] - server.posted_ms[3];
	assert_in_range(first, 140, 400); /* 0.2 s */
	assert_in_range(last, 590, 1500); /* 0.8 s */
	end();
}

static void a_server_that_is_not_there_is_waited_for(void **state)
{
	(void)state;
	begin(0.1, 0);
	int port = server.port;
	uv_close((uv_handle_t *)&server.listener, NULL);
	put_frames(0, 10, 100);
	struct post_stats st;
	int turns = 0;
	do {
		run_for(100);
		post_stats(post, &st);
	} while (st.failures < 2 && ++turns < 600);
	assert_true(st.trouble && st.failures > 1 && st.status == 0);
	assert_non_null(strstr(st.why, "connect"));
	struct sockaddr_in a;
	(void)uv_ip4_addr("127.0.0.1", port, &a);
	(void)uv_tcp_init(&loop, &server.listener);
	assert_int_equal(uv_tcp_bind(&server.listener, (struct sockaddr *)&a, 0), 0);
	assert_int_equal(uv_listen((uv_stream_t *)&server.listener, 16, server_accept), 0);
	run_until_delivered();
	assert_stored(0, 10, 1);
	end();
}

static void one_bad_batch_does_not_keep_the_others(void **state)
{
	(void)state;
	begin(0.04, 1000);
	server.poison = 3 * 50 + 1;
	put_frames(0, 100, 1000);
	run_until_delivered();
	assert_stored(0, 50, 1);
	assert_stored(50, 51, 0);
	assert_stored(51, 100, 1);
	run_until(&server.losses, 1);
	run_for(1300); /* they are told once a second: there is no other */
	assert_int_equal(server.losses, 1);
	assert_string_equal(server.loss_text, "frame 1 is bad");
	assert_int_equal(server.gaps, 1);
	struct post_stats st;
	post_stats(post, &st);
	assert_int_equal(st.refused_batches, 1);
	uint64_t posts = server.posts;
	put_frames(100, 100, 1000); /* and afterwards all is as before */
	run_until_delivered();
	assert_true(server.posts - posts < 50);
	assert_stored(100, 200, 1);
	end();
}

static void even_a_refused_gap_blocks_nothing(void **state)
{
	(void)state;
	begin(0.04, 1000);
	server.poison = 3 * 1 + 1;
	server.poison_gaps = true;
	put_frames(0, 5, 1000);
	run_until_delivered();
	assert_stored(0, 1, 1);
	assert_stored(1, 2, 0);
	assert_stored(2, 5, 1);
	end();
}

static void numbers_of_somebody_else_are_stepped_over(void **state)
{
	(void)state;
	begin(0.04, 1000);
	server.conflict_to = 7;
	put_frames(0, 20, 1000);
	run_until_delivered();
	run_until_delivered(); /* those with new numbers */
	assert_stored(0, 20, 1);
	struct post_stats st;
	post_stats(post, &st);
	assert_int_equal(st.renumbered_batches, 7);
	struct outbox_stats os;
	outbox_stats(outbox, &os);
	assert_int_equal(os.lost, 0);
	end();
}

static void what_a_former_life_left_is_sent(void **state)
{
	(void)state;
	struct outbox *before;
	const struct outbox_options box = { .folder = at_folder, .max_bytes = SPOOL };
	assert_int_equal(outbox_open(&before, &box, NULL), 0);
	assert_int_equal(put_number(before, 1, 10), 0);
	assert_int_equal(outbox_sync(before, NULL, NULL), 0);
	outbox_close(before);
	begin(0.04, 0);
	run_until_delivered();
	assert_stored(0, 1, 1);
	end();
}

static void it_closes_with_a_post_under_way(void **state)
{
	(void)state;
	begin(0.04, 0);
	SCRIPT(ACT_SILENT);
	put_frames(0, 1, 10);
	assert_int_equal(outbox_sync(outbox, NULL, NULL), 0);
	while (!server.posts)
		(void)uv_run(&loop, UV_RUN_ONCE);
	end();
}

/* ---- the token ---------------------------------------------------------------------------------
 */

static void write_token(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void the_token_is_read_again_when_asked(void **state)
{
	(void)state;
	char path[80];
	(void)snprintf(path, sizeof path, "%s/token", at_folder);
	begin(0.2, 0);
	const struct post_options none = { .loop = &loop, .outbox = outbox, .token_file = path };
	struct post *other = NULL;
	struct err err = { { 0 } };
	assert_int_equal(post_open(&other, &none, &err), -ENOENT);
	post_close(post, NULL, NULL);
	write_token(path, "# of node 7\nfirst-token-0123456789\n", 0600);
	char url[64];
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
	const struct post_options with = { .loop = &loop,
					   .outbox = outbox,
					   .url = url,
					   .token_file = path,
					   .connect_s = 2,
					   .stall_s = 1,
					   .retry_max_s = 0.2 };
	assert_int_equal(post_open(&post, &with, &err), 0);
	put_frames(0, 1, 10);
	run_until_delivered();
	assert_string_equal(server.authorization, "Bearer first-token-0123456789");
	write_token(path, "second-token-0123456789", 0644);
	assert_int_equal(post_reload(post, &err), -EACCES);
	assert_non_null(strstr(err.text, "chmod 600"));
	write_token(path, "second-token-0123456789", 0600);
	assert_int_equal(post_reload(post, &err), 0);
	put_frames(1, 1, 10);
	run_until_delivered();
	assert_string_equal(server.authorization, "Bearer second-token-0123456789");
	end();
}

static void a_wrong_token_file_is_told(void **state)
{
	(void)state;
	char path[80], token[SECRET_BYTES];
	struct err err = { { 0 } };
	(void)snprintf(path, sizeof path, "%s/token", at_folder);
	assert_int_equal(secret_read(token, at_folder, &err), -EINVAL);
	write_token(path, "\n# nothing\n", 0600);
	assert_int_equal(secret_read(token, path, &err), -EINVAL);
	assert_non_null(strstr(err.text, "holds no token"));
	write_token(path, "short\n", 0600);
	assert_int_equal(secret_read(token, path, &err), -EINVAL);
	write_token(path, "with a blank in the middle\n", 0600);
	assert_int_equal(secret_read(token, path, &err), -EINVAL);
	assert_null(strstr(err.text, "blank"));
	write_token(path, "good-enough-0123456789 \r\nother\n", 0400);
	assert_int_equal(secret_read(token, path, &err), 0);
	assert_string_equal(token, "good-enough-0123456789");
	/* The longest that the daemon knows, and one more. */
	char wide[130];
	memset(wide, 'x', sizeof wide);
	wide[128] = 0;
	write_token(path, wide, 0600);
	assert_int_equal(secret_read(token, path, &err), 0);
	assert_string_equal(token, wide);
	wide[128] = 'x';
	wide[129] = 0;
	write_token(path, wide, 0600);
	assert_int_equal(secret_read(token, path, &err), -EINVAL);
	assert_non_null(strstr(err.text, "16 to 128"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_put_arrives),
		TEST(many_batches_share_a_body),
		TEST(whatever_fails_is_sent_again),
		TEST(a_silent_server_is_given_up_and_a_slow_one_is_not),
		TEST(retry_after_is_obeyed),
		TEST(pauses_grow),
		TEST(a_server_that_is_not_there_is_waited_for),
		TEST(one_bad_batch_does_not_keep_the_others),
		TEST(even_a_refused_gap_blocks_nothing),
		TEST(numbers_of_somebody_else_are_stepped_over),
		TEST(what_a_former_life_left_is_sent),
		TEST(it_closes_with_a_post_under_way),
		TEST(the_token_is_read_again_when_asked),
		TEST(a_wrong_token_file_is_told),
	};
	(void)test_clock;
	(void)open_outbox;
	(void)read_all;
	return cmocka_run_group_tests_name("agent_post", tests, NULL, NULL);
}
