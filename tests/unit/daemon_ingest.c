/* Bodies that come in pieces and in bounds, and the writer: what goes into one transaction, and
 * what each post is told when something in it fails. */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/answer.h"
#include "daemon/body.h"
#include "daemon/connections.h"
#include "daemon/receipt.h"
#include "daemon/values.h"
#include "daemon/writer.h"
#include "lib/file.h"

/* ---- bodies ---------------------------------------------------------------------------------- */

static void a_body_takes_memory_for_what_came(void **state)
{
	(void)state;
	struct body_budget budget = { .max = 1 << 20 };
	struct body b;
	char piece[1000];
	memset(piece, 'x', sizeof piece);
	body_begin(&b, &budget, 1 << 19, 1 << 19);
	assert_null(b.data);
	assert_int_equal(budget.used, 0);
	body_add(&b, piece, sizeof piece);
	assert_true(budget.used < 65536);
	for (int i = 1; i < 100; i++)
		body_add(&b, piece, sizeof piece);
	assert_int_equal(b.failed, 0);
	assert_int_equal(b.len, 100 * sizeof piece);
	assert_int_equal(b.data[99999], 'x');
	assert_true(b.cap <= 1 << 19 && budget.used == b.cap);
	body_done(&b);
	assert_int_equal(budget.used, 0);
}

static void a_small_body_of_known_length_is_one_allocation(void **state)
{
	(void)state;
	struct body_budget budget = { .max = 1 << 20 };
	struct body b;
	body_begin(&b, &budget, 1 << 20, 600);
	body_add(&b, "abc", 3);
	assert_int_equal(b.cap, 600);
	body_done(&b);
}

static void a_body_past_its_limit_is_counted_off(void **state)
{
	(void)state;
	struct body_budget budget = { .max = 1 << 20 };
	struct body b;
	body_begin(&b, &budget, 10, 0);
	body_add(&b, "0123456789", 10);
	assert_int_equal(b.failed, 0);
	body_add(&b, "x", 1);
	assert_int_equal(b.failed, -E2BIG);
	assert_null(b.data);
	assert_int_equal(budget.used, 0);
	body_add(&b, "more", 4);
	assert_int_equal(b.len, 0);
	body_done(&b);
}

static void all_bodies_together_are_bounded(void **state)
{
	(void)state;
	struct body_budget budget = { .max = 100 };
	struct body one, two;
	char bytes[60] = { 0 };
	body_begin(&one, &budget, 1000, 60);
	body_begin(&two, &budget, 1000, 60);
	body_add(&one, bytes, sizeof bytes);
	body_add(&two, bytes, sizeof bytes);
	assert_int_equal(one.failed, 0);
	assert_int_equal(two.failed, -ENOBUFS);
	body_done(&one);
	body_begin(&two, &budget, 1000, 60);
	body_add(&two, bytes, sizeof bytes);
	assert_int_equal(two.failed, 0);
	body_done(&two);
	assert_int_equal(budget.used, 0);
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* A body is a suite that is declared. "bad" is refused, "other" too, "poison" makes the store fail,
 * and all do while the disk is full. */
struct fake {
	char folder[40], db[64];
	sem_t begun, go; /* the first body of the name "wait" */
	atomic_int full, takes, ticks, tick_rc;
	sem_t done;
};

static int fake_open(void *self, struct store *s, struct err *err)
{
	(void)self;
	(void)err;
	return s ? 0 : -EINVAL;
}

static int fake_take(void *self, struct store *s, struct post *p, struct err *err)
{
	struct fake *f = self;
	char name[40];
	const struct declared_case one = { .app = "app", .case_ = "case" };
	(void)snprintf(name, sizeof name, "%.*s", (int)p->n, (const char *)p->body);
	(void)atomic_fetch_add(&f->takes, 1);
	if (strcmp(name, "wait") == 0) {
		(void)sem_post(&f->begun);
		(void)sem_wait(&f->go);
	}
	if (strcmp(name, "bad") == 0)
		return err_set(err, -EBADMSG, "no batch");
	if (strcmp(name, "other") == 0)
		return err_set(err, -EEXIST, "another one was here");
	if (f->full)
		return err_set(err, -ENOSPC, "the disk is full");
	int rc = store_declare(s, name, &one, 1, err);
	p->batches = 1;
	p->due = strcmp(name, "due") == 0;
	/* After it has written: all of its transaction must go. */
	return strcmp(name, "poison") == 0 ? err_set(err, -EUCLEAN, "a fault") : rc;
}

static int fake_tick(void *self, struct store *s, uint64_t *ret_pause_ns, struct err *err)
{
	struct fake *f = self;
	(void)s;
	*ret_pause_ns = 3600000000000ull;
	(void)atomic_fetch_add(&f->ticks, 1);
	return f->tick_rc ? err_set(err, f->tick_rc, "no") : 0;
}

struct test_post {
	struct post post;
	struct fake *fake;
};

static void fake_done(struct post *p)
{
	struct test_post *t = (struct test_post *)(void *)p;
	(void)sem_post(&t->fake->done);
}

static struct writer *start(struct fake *f)
{
	struct writer *w = NULL;
	struct err err = { { 0 } };
	*f = (struct fake){ .folder = "/tmp/roimeter-test.XXXXXX" };
	assert_non_null(mkdtemp(f->folder));
	(void)snprintf(f->db, sizeof f->db, "%s/d.db", f->folder);
	(void)sem_init(&f->begun, 0, 0);
	(void)sem_init(&f->go, 0, 0);
	(void)sem_init(&f->done, 0, 0);
	const struct writer_core core = {
		.self = f, .open = fake_open, .take = fake_take, .tick = fake_tick
	};
	if (writer_start(&w, f->db, &core, &err))
		fail_msg("%s", err.text);
	return w;
}

static int name_it(void *arg, const char *suite, const struct declared_case *c)
{
	struct buf *b = arg;
	(void)c;
	buf_printf(b, "%s ", suite);
	return 0;
}

/* What is stored, in the order of names; then everything is removed. */
static void stop(struct writer *w, struct fake *f, const char *stored)
{
	struct store *s;
	struct buf b = { 0 };
	writer_free(w);
	assert_int_equal(store_open(&s, f->db, STORE_READ, NULL), 0);
	assert_int_equal(store_each_declared(s, NULL, NULL, name_it, &b, NULL), 0);
	assert_string_equal(b.len ? b.data : "", stored);
	store_close(s);
	buf_done(&b);
	(void)file_remove_tree(f->folder, NULL);
}

static void put(struct writer *w, struct fake *f, struct test_post *t, const char *name)
{
	*t = (struct test_post){ .post = { .body = name, .n = strlen(name), .done = fake_done },
				 .fake = f };
	assert_true(writer_post(w, &t->post));
}

/* These come while the first is being taken, so that they are one group. */
static void post_together(struct writer *w, struct fake *f, struct test_post *list,
			  const char *const *names, size_t n)
{
	struct test_post first;
	put(w, f, &first, "wait");
	(void)sem_wait(&f->begun);
	for (size_t i = 0; i < n; i++)
		put(w, f, &list[i], names[i]);
	(void)sem_post(&f->go);
	for (size_t i = 0; i <= n; i++)
		(void)sem_wait(&f->done);
	free(first.post.why);
}

static void what_waits_is_one_transaction(void **state)
{
	(void)state;
	struct fake f;
	struct writer *w = start(&f);
	struct test_post posts[3];
	const char *const names[] = { "a", "b", "c" };
	post_together(w, &f, posts, names, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(posts[i].post.rc, 0);
		assert_int_equal(posts[i].post.batches, 1);
		assert_null(posts[i].post.why);
	}
	assert_int_equal(writer_numbers(w)->commits, 2);
	assert_int_equal(writer_numbers(w)->posts, 4);
	assert_int_equal(writer_numbers(w)->batches, 4);
	stop(w, &f, "a b c wait ");
}

static void a_refused_body_does_not_keep_others_out(void **state)
{
	(void)state;
	struct fake f;
	struct writer *w = start(&f);
	struct test_post posts[4];
	const char *const names[] = { "a", "bad", "other", "b" };
	post_together(w, &f, posts, names, 4);
	assert_int_equal(posts[0].post.rc, 0);
	assert_int_equal(posts[1].post.rc, -EBADMSG);
	assert_string_equal(posts[1].post.why, "no batch");
	assert_int_equal(posts[2].post.rc, -EEXIST);
	assert_int_equal(posts[3].post.rc, 0);
	assert_int_equal(writer_numbers(w)->refused, 2);
	for (int i = 0; i < 4; i++)
		free(posts[i].post.why);
	stop(w, &f, "a b wait ");
}

static void when_the_disk_is_full_all_are_sent_back(void **state)
{
	(void)state;
	struct fake f;
	struct writer *w = start(&f);
	struct test_post posts[4];
	const char *const names[] = { "bad", "other", "a", "b" };
	f.full = 1;
	post_together(w, &f, posts, names, 4);
	assert_int_equal(posts[0].post.rc, -EBADMSG); /* whatever the disk does */
	assert_int_equal(posts[1].post.rc, -ENOSPC);  /* what it contradicts may be gone */
	assert_int_equal(posts[2].post.rc, -ENOSPC);
	assert_int_equal(posts[3].post.rc, -ENOSPC);
	for (int i = 0; i < 4; i++)
		free(posts[i].post.why);
	f.full = 0;
	post_together(w, &f, posts, &names[2], 2);
	assert_int_equal(posts[0].post.rc, 0);
	assert_int_equal(posts[1].post.rc, 0);
	stop(w, &f, "a b wait ");
}

static void a_body_that_breaks_the_store_fails_alone(void **state)
{
	(void)state;
	struct fake f;
	struct writer *w = start(&f);
	struct test_post posts[4];
	const char *const names[] = { "a", "poison", "bad", "b" };
	post_together(w, &f, posts, names, 4);
	assert_int_equal(posts[0].post.rc, 0);
	assert_int_equal(posts[1].post.rc, -EUCLEAN);
	assert_int_equal(posts[2].post.rc, -EBADMSG);
	assert_int_equal(posts[3].post.rc, 0);
	for (int i = 0; i < 4; i++)
		free(posts[i].post.why);
	stop(w, &f, "a b wait ");
}

static void what_is_queued_is_done_before_the_end(void **state)
{
	(void)state;
	struct fake f;
	struct writer *w = start(&f);
	struct test_post first, one;
	put(w, &f, &first, "wait");
	(void)sem_wait(&f.begun);
	put(w, &f, &one, "a");
	(void)sem_post(&f.go);
	writer_stop(w);
	assert_int_equal(one.post.rc, 0);
	assert_false(writer_post(w, &first.post));
	assert_true(writer_is_full(w));
	stop(w, &f, "a wait ");
}

static void a_post_may_ask_for_a_tick(void **state)
{
	(void)state;
	struct fake f;
	struct writer *w = start(&f);
	struct test_post one;
	put(w, &f, &one, "due");
	(void)sem_wait(&f.done);
	int before = f.ticks;
	f.tick_rc = -EIO; /* said once, and tried again */
	for (int i = 0; i < 20000 && f.ticks == before; i++)
		(void)usleep(2000);
	assert_true(f.ticks > before || before > 1);
	stop(w, &f, "due ");
}

/* ---- answers --------------------------------------------------------------------------------- */

static void posts_are_answered_by_what_became_of_them(void **state)
{
	(void)state;
	static const struct {
		int rc, status;
	} table[] = {
		{ -EBADMSG, 400 }, { -EEXIST, 409 }, { -E2BIG, 413 }, { -EPROTONOSUPPORT, 415 },
		{ -ENOSPC, 503 },  { -EBUSY, 503 },  { -EIO, 503 },   { -ENOMEM, 503 },
	};
	struct receipts *r = receipts_new();
	char why[] = "a sentence";
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct post p = { .rc = table[i].rc, .why = why };
		struct entity *e = receipt(r, &p, "/api/v1/ingest");
		assert_int_equal(e->status, table[i].status);
		bool again = MHD_get_response_header(e->response, "Retry-After");
		assert_int_equal(again, table[i].status == 503);
		entity_drop(e);
	}
	const struct post good = { .batches = 2 }, same = { .batches = 2 },
			  other = { .batches = 1 };
	struct entity *a = receipt(r, &good, ""), *b = receipt(r, &same, ""),
		      *c = receipt(r, &other, "");
	assert_int_equal(a->status, 200);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	entity_drop(a);
	entity_drop(b);
	entity_drop(c);
	receipts_free(r);
}

/* ---- connections ----------------------------------------------------------------------------- */

static bool is_shut(int fd)
{
	char c;
	return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

static void those_that_wait_too_long_are_shut(void **state)
{
	(void)state;
	struct connections *c = connections_new();
	struct connection *list[4];
	int fds[4][2];
	for (int i = 0; i < 4; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
		list[i] = connection_begin(c, fds[i][0], (uint64_t)(10 + i));
	}
	connection_busy(c, list[0]);
	connection_idle(c, list[1], 20);
	connections_sweep(c, 13);
	assert_false(is_shut(fds[0][1])); /* we take the time */
	assert_false(is_shut(fds[1][1])); /* began again */
	assert_true(is_shut(fds[2][1]));
	assert_false(is_shut(fds[3][1]));
	connection_idle(c, list[0], 21);
	connection_end(c, list[3]);
	connections_sweep(c, 100);
	assert_true(is_shut(fds[0][1]));
	assert_true(is_shut(fds[1][1]));
	assert_false(is_shut(fds[3][1]));
	for (int i = 0; i < 3; i++)
		connection_end(c, list[i]);
	connection_end(c, NULL);
	for (int i = 0; i < 4; i++) {
		(void)close(fds[i][0]);
		(void)close(fds[i][1]);
	}
	connections_free(c);
}

/* ---- times ----------------------------------------------------------------------------------- */

static void times_are_written_and_read(void **state)
{
	(void)state;
	char text[UTC_BYTES];
	int64_t ns;
	assert_true(utc_text(text, 0));
	assert_string_equal(text, "1970-01-01T00:00:00Z");
	assert_true(utc_text(text, 1790654400250000000));
	assert_string_equal(text, "2026-09-29T04:00:00.250Z");
	assert_false(utc_text(text, INT64_MIN));
	assert_true(utc_parse("2026-09-29T04:00:00Z", &ns));
	assert_int_equal(ns, 1790654400000000000);
	assert_true(utc_parse("2026-09-29", &ns));
	assert_int_equal(ns, 1790640000000000000);
	static const char *const bad[] = { "2026-09-31",    "2026-13-01", "2026-02-29",
					   "1969-12-31",    "2300-01-01", "2026-09-29T24:00:00Z",
					   "2026-09-29T04", "x",          "" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (utc_parse(bad[i], &ns))
			fail_msg("%s was taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_takes_memory_for_what_came),
		cmocka_unit_test(a_small_body_of_known_length_is_one_allocation),
		cmocka_unit_test(a_body_past_its_limit_is_counted_off),
		cmocka_unit_test(all_bodies_together_are_bounded),
		cmocka_unit_test(what_waits_is_one_transaction),
		cmocka_unit_test(a_refused_body_does_not_keep_others_out),
		cmocka_unit_test(when_the_disk_is_full_all_are_sent_back),
		cmocka_unit_test(a_body_that_breaks_the_store_fails_alone),
		cmocka_unit_test(what_is_queued_is_done_before_the_end),
		cmocka_unit_test(a_post_may_ask_for_a_tick),
		cmocka_unit_test(posts_are_answered_by_what_became_of_them),
		cmocka_unit_test(those_that_wait_too_long_are_shut),
		cmocka_unit_test(times_are_written_and_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
