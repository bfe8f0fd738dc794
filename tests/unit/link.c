/* The runner's side of the agent's socket, against an agent of our own that does as a test asks:
 * answers, keeps silent, refuses, dies, comes back, talks nonsense. It runs in a thread and leaves
 * when its listening socket is shut. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/num.h"
#include "lib/unixsock.h"
#include "run/case.h"
#include "run/link.h"
#include "schema/batch.h"
#include "schema/conformance.h"
#include "schema/local.h"

#define SERVER "http://collector:8640"

/* ---- the agent ------------------------------------------------------------------------------- */

struct told { /* what came in batches, in the order of frames: types and executions */
	char text[1024];
};

struct agent {
	char folder[64], path[96];
	int listening, stop;
	pthread_t thread;
	const char *server;
	/* Batches from this one on are met with: */
	int after; /* counts batches of the agent's life; -1: never */
	enum { SILENT, DEAF, REFUSE, REFUSE_IT, NONSENSE, HANG_UP } then;
	pthread_mutex_t lock;
	struct told told;
	int batches, connections;
	uint64_t seq;
};

static void note(struct agent *a, const struct frame *f)
{
	size_t at = strlen(a->told.text);
	struct str exec = { .p = "", .n = 0 };
	if (f->type == FRAME_EXECUTION_START)
		exec = f->as.execution_start.exec;
	else if (f->type == FRAME_EXECUTION_END)
		exec = f->as.execution_end.exec;
	static const char *const names[] = {
		[FRAME_RUN_ANNOUNCE] = "run",  [FRAME_EXECUTION_START] = "start",
		[FRAME_EXECUTION_END] = "end", [FRAME_PROCESS] = "log",
		[FRAME_RUN_END] = "over",      [FRAME_DECLARE] = "declare",
		[FRAME_CONFORMANCE] = "result"
	};
	const char *complete = f->type == FRAME_RUN_END && f->as.run_end.complete != YES ? "!" : "";
	(void)snprintf(a->told.text + at, sizeof a->told.text - at, "%s%s%s%.*s", at ? " " : "",
		       names[f->type], complete, (int)exec.n, exec.p);
}

static void read_batch(struct agent *a, int pass)
{
	struct batch_in in = { .left = 0 };
	struct stat st;
	struct frame f;
	assert_int_equal(fstat(pass, &st), 0);
	char *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, pass, 0);
	assert_true(bytes != MAP_FAILED);
	assert_true(ftruncate(pass, 0) != 0); /* nobody changes it behind an agent's back */
	assert_int_equal(batch_open(&in, bytes, (size_t)st.st_size, NULL), 0);
	while (batch_next(&in, &f, NULL) == 1)
		note(a, &f);
	batch_in_done(&in);
	(void)munmap(bytes, (size_t)st.st_size);
}

static void answer(int fd, const char *text, int pass)
{
	(void)unixsock_send(fd, text, strlen(text), pass);
}

/* false: this connection is over. */
static bool on_batch(struct agent *a, int fd, int pass)
{
	char text[128];
	bool odd = a->after >= 0 && a->batches++ >= a->after;
	if (odd && a->then == HANG_UP)
		return false;
	if (odd && a->then == DEAF)
		return true;
	read_batch(a, pass);
	if (odd && a->then == SILENT)
		return true;
	(void)snprintf(text, sizeof text, LOCAL_KEPT "%llu\n", (unsigned long long)++a->seq);
	if (odd && a->then == REFUSE)
		(void)snprintf(text, sizeof text, LOCAL_ERROR "ENOSPC\nthe spool is full\n");
	if (odd && a->then == REFUSE_IT)
		(void)snprintf(text, sizeof text, LOCAL_ERROR "EBADMSG\nit can't be\n");
	if (odd && a->then == NONSENSE)
		(void)snprintf(text, sizeof text, "roimeter-kept 1\n-3\n");
	answer(fd, text, -1);
	return true;
}

static bool on_packet(struct agent *a, int fd)
{
	char text[LOCAL_MAX_BYTES];
	int pass = -1;
	ssize_t n = unixsock_recv(fd, text, sizeof text - 1, &pass);
	bool more = n > 0;
	text[n > 0 ? n : 0] = 0;
	pthread_mutex_lock(&a->lock);
	if (more && strcmp(text, LOCAL_STATUS) == 0) {
		int n_json = snprintf(text, sizeof text, "{\"status\":1,\"server\":%s%s%s}",
				      a->server ? "\"" : "", a->server ? a->server : "null",
				      a->server ? "\"" : "");
		int json = link_memory(text, (size_t)n_json, NULL);
		answer(fd, LOCAL_STATUS, json);
		(void)close(json);
	} else if (more && strncmp(text, LOCAL_DELIVERED, strlen(LOCAL_DELIVERED)) == 0) {
		if (a->server && strcmp(a->server, SERVER) == 0)
			answer(fd, text, -1);
	} else if (more && strcmp(text, LOCAL_BATCH) == 0) {
		more = on_batch(a, fd, pass);
	}
	pthread_mutex_unlock(&a->lock);
	if (pass >= 0)
		(void)close(pass);
	return more;
}

static void *live(void *arg)
{
	struct agent *a = arg;
	struct pollfd fds[10] = { { a->listening, POLLIN, 0 }, { a->stop, POLLIN, 0 } };
	nfds_t n = 2;
	for (;;) {
		if (poll(fds, n, -1) < 0)
			continue;
		if (fds[1].revents)
			break;
		int fd = fds[0].revents && n < 10 ? unixsock_accept(a->listening) : -1;
		for (nfds_t i = 2; i < n; i++)
			if (fds[i].revents && !on_packet(a, fds[i].fd)) {
				(void)close(fds[i].fd);
				fds[i--] = fds[--n];
			}
		if (fd >= 0) {
			pthread_mutex_lock(&a->lock);
			a->connections++;
			pthread_mutex_unlock(&a->lock);
			fds[n++] = (struct pollfd){ fd, POLLIN, 0 };
		}
	}
	for (nfds_t i = 2; i < n; i++)
		(void)close(fds[i].fd);
	return NULL;
}

static void agent_begin(struct agent *a)
{
	a->listening = unixsock_listen(a->path, 0600, NULL);
	a->stop = eventfd(0, EFD_CLOEXEC);
	assert_true(a->listening >= 0 && a->stop >= 0);
	assert_int_equal(pthread_create(&a->thread, NULL, live, a), 0);
}

static void agent_end(struct agent *a)
{
	assert_int_equal(eventfd_write(a->stop, 1), 0);
	assert_int_equal(pthread_join(a->thread, NULL), 0);
	(void)close(a->listening);
	(void)close(a->stop);
}

static int begin(void **state)
{
	struct agent *a = calloc(1, sizeof *a);
	if (!a)
		return -1;
	(void)snprintf(a->folder, sizeof a->folder, "/tmp/roimeter-link-XXXXXX");
	if (!mkdtemp(a->folder))
		return -1;
	(void)snprintf(a->path, sizeof a->path, "%s/s", a->folder);
	pthread_mutex_init(&a->lock, NULL);
	a->server = SERVER "/";
	a->after = -1;
	agent_begin(a);
	*state = a;
	return 0;
}

static int end(void **state)
{
	struct agent *a = *state;
	agent_end(a);
	(void)unlink(a->path);
	(void)rmdir(a->folder);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return 0;
}

/* ---- the runner ------------------------------------------------------------------------------ */

struct runner_side {
	struct announce *announce;
	struct suite suite;
	struct suite_case suite_case;
	struct sweep_options o;
	struct platform platform;
	struct fill fill;
	struct case_run c;
	struct made made[4], *list[4];
};

/* What succeeds is not waited for: long, so that a busy machine is no silent agent. Those that look
 * at how such a wait ends set it to a few seconds. */
static double at_the_end_s = 30;

static void meet(struct runner_side *r, struct agent *a, double patience_s)
{
	static const char *argv[] = { "true" };
	const struct announce_options o = { .socket = a->path,
					    .server = SERVER,
					    .patience_s = patience_s,
					    .at_the_end_s = at_the_end_s };
	*r = (struct runner_side){ .suite = { .name = "local" } };
	r->suite_case = (struct suite_case){
		.app = "a", .name = "b", .command = { argv, 1 }, .region = "markers"
	};
	r->platform.id = "cpu-x.linux6.1";
	block_clear(&platform_info_block, &r->platform.info);
	r->o = (struct sweep_options){ .suite = &r->suite, .platform = &r->platform };
	r->fill.o = &r->o;
	r->c.c = &r->suite_case;
	r->c.made = r->list;
	r->c.cleans = 3;
	memcpy(r->c.run_id, "20260929T045201Z-0123abcd", 26);
	assert_int_equal(announce_open(&r->announce, &o, NULL), 0);
}

static void leave(struct runner_side *r)
{
	for (size_t i = 0; i < r->c.n_made; i++) {
		worked_done(&r->made[i].worked);
		capture_done(&r->made[i].capture);
	}
	announce_close(r->announce);
}

static int begins(struct runner_side *r, const char *name, struct err *err)
{
	const struct announce_news news = { .running = name, .order = 1 };
	return announce_case(r->announce, &r->c, &r->fill, &news, err);
}

static int ended(struct runner_side *r, const char *name, struct err *err)
{
	static const char log[] = "# hpcperf-roi-log 2\nB 1 1\nE 2 2\n";
	static struct blob blob = { BLOB_LOG, "hpcperf.1", (char *)(uintptr_t)log, sizeof log - 1 };
	const struct announce_news news = { .running = NULL };
	struct made *m = &r->made[r->c.n_made];
	capture_init(&m->capture);
	m->capture.row.name = name;
	m->capture.row.exit_code = 0;
	m->capture.blobs = &blob;
	m->capture.n_blobs = 1;
	assert_int_equal(capture_work_out(&m->worked, &m->capture, &r->suite_case, NULL, NULL), 0);
	r->list[r->c.n_made++] = m;
	return announce_case(r->announce, &r->c, &r->fill, &news, err);
}

static int over(struct runner_side *r, struct err *err)
{
	const struct announce_news news = { .end = true, .last = true };
	return announce_case(r->announce, &r->c, &r->fill, &news, err);
}

static void sends_to(struct agent *a, const char *server)
{
	pthread_mutex_lock(&a->lock);
	a->server = server;
	pthread_mutex_unlock(&a->lock);
}

static const char *told(struct agent *a)
{
	static struct told copy;
	pthread_mutex_lock(&a->lock);
	copy = a->told;
	pthread_mutex_unlock(&a->lock);
	return copy.text;
}

static void from_now_on(struct agent *a, int after, int then)
{
	pthread_mutex_lock(&a->lock);
	a->batches = 0;
	a->after = after;
	a->then = then;
	pthread_mutex_unlock(&a->lock);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void a_run_is_told_as_it_goes(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	meet(&r, a, 30);
	assert_int_equal(begins(&r, "clean.0", NULL), 0);
	assert_string_equal(told(a), "run startclean.0");
	assert_int_equal(ended(&r, "clean.0", NULL), 0);
	assert_int_equal(over(&r, NULL), 0);
	assert_string_equal(told(a), "run startclean.0 startclean.0 log endclean.0 over");
	assert_int_equal(announce_kept(r.announce), 3);
	/* What is told needs no other word. */
	assert_int_equal(over(&r, NULL), 0);
	assert_int_equal(announce_kept(r.announce), 3);
	leave(&r);
}

static void an_agent_must_be_there_and_send_to_the_daemon_that_is_meant(void **state)
{
	struct agent *a = *state;
	struct announce *announce = NULL;
	struct err err = { .text = "" };
	struct announce_options o = { .socket = a->path, .server = SERVER, .at_the_end_s = 2 };
	static const char *const same[] = { SERVER, "HTTP://Collector:8640//" };
	for (size_t i = 0; i < 2; i++) {
		sends_to(a, same[i]);
		assert_int_equal(announce_open(&announce, &o, &err), 0);
		announce_close(announce);
	}
	o.server = "https://x:443/Y";
	sends_to(a, "https://X/Y/");
	assert_int_equal(announce_open(&announce, &o, &err), 0);
	announce_close(announce);
	sends_to(a, "https://X/y");
	assert_int_equal(announce_open(&announce, &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "sends to https://X/y"));
	sends_to(a, NULL);
	assert_int_equal(announce_open(&announce, &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "sends to no daemon"));
	o.socket = "/tmp/there/is/no/such/socket";
	assert_int_equal(announce_open(&announce, &o, &err), -ECONNREFUSED);
	assert_non_null(strstr(err.text, "start roimeter-agent"));
}

/* Whatever becomes of it, the run is told all the same. */
static void what_a_suite_declares_is_told_first(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	struct err err = { .text = "" };
	static struct suite_case one = { .app = "a", .name = "b" };
	const struct suite suite = { .name = "local", .cases = &one, .n_cases = 1 };
	meet(&r, a, 30);
	assert_int_equal(announce_declare(r.announce, &suite, &err), 0);
	assert_string_equal(told(a), "declare");
	from_now_on(a, 0, REFUSE); /* no room: it goes with the first case, once */
	assert_int_equal(announce_declare(r.announce, &suite, &err), -ENOSPC);
	from_now_on(a, -1, 0);
	assert_int_equal(begins(&r, "clean.0", NULL), 0);
	assert_int_equal(ended(&r, "clean.0", NULL), 0);
	assert_string_equal(told(a),
			    "declare declare declare run startclean.0 startclean.0 log endclean.0");
	from_now_on(a, 0, REFUSE_IT); /* that is the end of it */
	assert_int_equal(announce_declare(r.announce, &suite, &err), -EBADMSG);
	from_now_on(a, -1, 0);
	assert_int_equal(over(&r, NULL), 0);
	assert_string_equal(told(a), "declare declare declare run startclean.0 startclean.0 log "
				     "endclean.0 declare over");
	leave(&r);
}

/* An agent that went while the probe was measured is met again. */
static void a_conformance_result_is_told(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	struct err err = { .text = "" };
	struct conformance c;
	conformance_clear(&c);
	at_the_end_s = 5;
	meet(&r, a, 30);
	at_the_end_s = 30;
	assert_int_equal(announce_conformance(r.announce, &c, &err), 0);
	assert_string_equal(told(a), "result");
	assert_int_equal(announce_kept(r.announce), 1);
	from_now_on(a, 0, REFUSE_IT);
	assert_int_equal(announce_conformance(r.announce, &c, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "it can't be"));
	from_now_on(a, -1, 0);
	agent_end(a);
	agent_begin(a);
	assert_int_equal(announce_conformance(r.announce, &c, &err), 0);
	assert_int_equal(announce_kept(r.announce), 3);
	from_now_on(a, 0, HANG_UP); /* the wait has an end */
	assert_int_equal(announce_conformance(r.announce, &c, &err), -EPIPE);
	leave(&r);
}

/* After a failure nobody tries again for two seconds; unless the machine has taken these for
 * itself. */
static void not_yet(int rc, int64_t since_ns)
{
	if (link_now_ns() - since_ns < INT64_C(2000000000))
		assert_int_equal(rc, -EAGAIN);
}

/* Each wait has an end, the next are rarer, and nothing is forgotten meanwhile. */
static void an_agent_that_keeps_silent_costs_one_wait(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	struct err err = { .text = "" };
	meet(&r, a, 0.2);
	from_now_on(a, 0, SILENT);
	int64_t start = link_now_ns();
	assert_int_equal(begins(&r, "clean.0", &err), -ETIMEDOUT);
	assert_string_not_equal(err.text, "");
	not_yet(ended(&r, "clean.0", NULL), start);
	not_yet(begins(&r, "clean.1", NULL), start);
	not_yet(ended(&r, "clean.1", NULL), start);
	leave(&r);
}

static void what_an_agent_was_deaf_to_goes_over_a_new_connection(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	meet(&r, a, 30);
	assert_int_equal(begins(&r, "clean.0", NULL), 0);
	agent_end(a);
	int64_t since = link_now_ns();
	assert_int_equal(ended(&r, "clean.0", NULL), -ECONNREFUSED);
	a->told.text[0] = 0; /* nobody else is there */
	agent_begin(a);
	not_yet(ended(&r, "clean.1", NULL), since);
	assert_int_equal(over(&r, NULL), 0);
	assert_string_equal(told(a),
			    "run startclean.0 log endclean.0 startclean.1 log endclean.1 over");
	leave(&r);
}

static void an_agent_that_is_started_anew_between_is_told_at_once(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	meet(&r, a, 30);
	assert_int_equal(begins(&r, "clean.0", NULL), 0);
	agent_end(a);
	a->told.text[0] = 0; /* nobody else is there */
	agent_begin(a);
	assert_int_equal(ended(&r, "clean.0", NULL), 0);
	assert_string_equal(told(a), "run startclean.0 log endclean.0");
	assert_int_equal(over(&r, NULL), 0);
	leave(&r);
}

static void *come_back(void *arg)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	(void)nanosleep(&pause, NULL);
	agent_begin(arg);
	return NULL;
}

static void at_the_end_one_waits_for_an_agent_that_comes_back(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	pthread_t thread;
	meet(&r, a, 30);
	agent_end(a);
	assert_int_equal(pthread_create(&thread, NULL, come_back, a), 0);
	assert_int_equal(over(&r, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(told(a), "run over");
	leave(&r);
}

static void one_that_dies_at_each_word_is_given_up(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	struct err err = { .text = "" };
	meet(&r, a, 0.3);
	from_now_on(a, 0, HANG_UP);
	assert_int_equal(begins(&r, "clean.0", &err), -EPIPE);
	pthread_mutex_lock(&a->lock);
	assert_true(a->connections < 4);
	pthread_mutex_unlock(&a->lock);
	leave(&r);
}

static void a_refusal_is_said_in_the_agents_words(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	struct err err = { .text = "" };
	meet(&r, a, 30);
	from_now_on(a, 0, REFUSE);
	assert_int_equal(over(&r, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "the spool is full"));
	from_now_on(a, 0, NONSENSE);
	assert_int_equal(over(&r, &err), -EPROTO);
	from_now_on(a, -1, SILENT);
	assert_int_equal(over(&r, NULL), 0); /* all is well again */
	leave(&r);
}

/* The answer that comes late belongs to what was asked before. */
static void a_late_answer_is_not_taken_for_another(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	meet(&r, a, 1);
	pthread_mutex_lock(&a->lock); /* the agent stands still */
	assert_int_equal(begins(&r, "clean.0", NULL), -ETIMEDOUT);
	a->seq = 40;
	pthread_mutex_unlock(&a->lock);
	assert_int_equal(over(&r, NULL), 0);
	assert_int_equal(announce_kept(r.announce), 42);
	assert_string_equal(told(a), "run startclean.0 run over");
	leave(&r);
}

static void a_signal_ends_every_wait(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	int signal = eventfd(1, EFD_CLOEXEC);
	meet(&r, a, 30);
	from_now_on(a, 0, DEAF);
	announce_cancel(r.announce, signal);
	int64_t start = link_now_ns();
	assert_int_equal(begins(&r, "clean.0", NULL), -EINTR);
	assert_true(link_now_ns() - start < INT64_C(25000000000));
	(void)close(signal);
	leave(&r);
}

static void delivery_is_waited_for(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	meet(&r, a, 30);
	assert_int_equal(over(&r, NULL), 0);
	/* This agent answers only where its daemon's address has no slash at its end. */
	assert_int_equal(announce_delivered(r.announce, 0.2, NULL), -ETIMEDOUT);
	sends_to(a, SERVER);
	assert_int_equal(announce_delivered(r.announce, 60, NULL), 0);
	leave(&r);
}

static void an_interrupted_case_is_told_as_such(void **state)
{
	struct agent *a = *state;
	struct runner_side r;
	meet(&r, a, 30);
	r.c.cut = true;
	assert_int_equal(over(&r, NULL), 0);
	assert_string_equal(told(a), "run over!");
	leave(&r);
}

static void the_socket_is_where_the_nearest_word_says(void **state)
{
	(void)state;
	unsetenv(LOCAL_VARIABLE);
	assert_string_equal(link_path(NULL, NULL), LOCAL_SOCKET);
	assert_string_equal(link_path("", "/c"), "/c");
	setenv(LOCAL_VARIABLE, "/v", 1);
	assert_string_equal(link_path(NULL, "/c"), "/v");
	assert_string_equal(link_path("/t", "/c"), "/t");
	unsetenv(LOCAL_VARIABLE);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		EACH(a_run_is_told_as_it_goes),
		EACH(an_agent_must_be_there_and_send_to_the_daemon_that_is_meant),
		EACH(what_a_suite_declares_is_told_first),
		EACH(a_conformance_result_is_told),
		EACH(an_agent_that_keeps_silent_costs_one_wait),
		EACH(what_an_agent_was_deaf_to_goes_over_a_new_connection),
		EACH(an_agent_that_is_started_anew_between_is_told_at_once),
		EACH(at_the_end_one_waits_for_an_agent_that_comes_back),
		EACH(one_that_dies_at_each_word_is_given_up),
		EACH(a_refusal_is_said_in_the_agents_words),
		EACH(a_late_answer_is_not_taken_for_another),
		EACH(a_signal_ends_every_wait),
		EACH(delivery_is_waited_for),
		EACH(an_interrupted_case_is_told_as_such),
		cmocka_unit_test(the_socket_is_where_the_nearest_word_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
