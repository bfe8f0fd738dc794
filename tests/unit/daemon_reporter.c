/* Reports over HTTP: whoever asks gets what was stored before the question, whatever is made ahead,
 * dropped, or asked for at the same time. The daemon's part around it is played by threads. */
#define _GNU_SOURCE /* and from here on the tests' headers */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/store_fixture.h"

#include "daemon/reporter.h"
#include "report/grid.h"

/* ---- asking as the loop does --------------------------------------------------------------- */

struct question {
	struct work work; /* first */
	struct reporter *r;
	const char *suite;
	bool gzip;
	struct entity *got;
	int rc;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_done;
};

static void answer(struct work *w, struct store *s)
{
	struct question *q = (struct question *)w;
	struct err err;
	int rc = reporter_make(q->r, s, q->suite, q->gzip, &q->got, &err);
	(void)pthread_mutex_lock(&q->lock);
	q->rc = rc;
	q->is_done = true;
	(void)pthread_cond_signal(&q->wake);
	(void)pthread_mutex_unlock(&q->lock);
}

/* etag: empty where there is none. */
static int ask_report(struct reporter *r, struct store *s, const char *suite, bool gzip, char etag[40])
{
	struct question q = {
		.work = { .run = answer }, .r = r, .suite = suite, .gzip = gzip, .is_done = false
	};
	uint64_t version;
	etag[0] = 0;
	assert_int_equal(store_version(s, &version, NULL), 0);
	q.got = reporter_get(r, suite, gzip, version);
	if (!q.got) {
		(void)pthread_mutex_init(&q.lock, NULL);
		(void)pthread_cond_init(&q.wake, NULL);
		assert_true(reporter_put(r, &q.work));
		(void)pthread_mutex_lock(&q.lock);
		while (!q.is_done)
			(void)pthread_cond_wait(&q.wake, &q.lock);
		(void)pthread_mutex_unlock(&q.lock);
		(void)pthread_cond_destroy(&q.wake);
		(void)pthread_mutex_destroy(&q.lock);
	}
	if (q.got)
		(void)snprintf(etag, 40, "%s", q.got->etag);
	entity_drop(q.got);
	return q.rc;
}

static void expected(struct store *s, const char *suite, char hash[33])
{
	struct grid *g = grid_new(
		&(struct report_options){ .suites = &suite, .n_suites = suite ? 1 : 0 });
	assert_int_equal(grid_update(g, s, NULL), 0);
	grid_hash(g, hash);
	grid_free(g);
}

static void add_one(struct store *s, struct dice *d, unsigned second, const char *suite,
		    char ret_id[40])
{
	struct record rec;
	any_record(&rec, d, second);
	if (suite)
		rec.body.suite = suite;
	add(s, &rec);
	(void)snprintf(ret_id, 40, "%s", rec.body.run_id);
	record_done(&rec);
}

static struct reporter *start(void)
{
	struct reporter *r = NULL;
	struct err err = { { 0 } };
	if (reporter_start(&r, path, &err))
		fail_msg("%s", err.text);
	return r;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void what_was_stored_before_the_question_is_in_the_answer(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct reporter *r = start();
	struct dice d = { 31 };
	char id[40], etag[40], hash[33];
	uint64_t version;
	for (unsigned i = 0; i < 120; i++) {
		const char *suite = i % 3 == 0 ? "demo" : NULL;
		add_one(s, &d, i, "demo", id);
		if (i % 4 == 1)
			assert_int_equal(store_delete_run(s, id, NULL), 0);
		/* Made ahead, or not. */
		assert_int_equal(store_version(s, &version, NULL), 0);
		if (i % 2)
			reporter_tick(r, version);
		assert_int_equal(ask_report(r, s, suite, i % 5 != 0, etag), 0);
		expected(s, suite, hash);
		assert_string_equal(etag, hash);
	}
	reporter_free(r);
	store_close(s);
}

static void an_answer_that_is_there_is_not_made_again(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct reporter *r = start();
	struct dice d = { 32 };
	char id[40], etag[40];
	uint64_t version;
	for (unsigned k = 100; k < 120; k++)
		add_one(s, &d, k, "demo", id);
	add_one(s, &d, 1, "demo", id);
	assert_int_equal(store_version(s, &version, NULL), 0);
	assert_int_equal(ask_report(r, s, NULL, true, etag), 0);
	struct entity *one = reporter_get(r, NULL, true, version);
	struct entity *two = reporter_get(r, NULL, true, version);
	assert_non_null(one);
	assert_ptr_equal(one, two);
	assert_null(reporter_get(r, NULL, true, version + 1));
	assert_null(reporter_get(r, NULL, false, version));
	assert_null(reporter_get(r, "demo", true, version));
	/* What another suite got does not concern this one: its answer stays the same. */
	assert_int_equal(ask_report(r, s, "demo", true, etag), 0);
	struct entity *demo = reporter_get(r, "demo", true, version);
	add_one(s, &d, 2, "Suite-2", id);
	assert_int_equal(store_version(s, &version, NULL), 0);
	assert_null(reporter_get(r, "demo", true, version));
	assert_int_equal(ask_report(r, s, "demo", true, etag), 0);
	struct entity *same = reporter_get(r, "demo", true, version);
	assert_ptr_equal(demo, same);
	assert_string_equal(one->coding, "gzip");
	entity_drop(one);
	entity_drop(two);
	entity_drop(demo);
	entity_drop(same);
	reporter_free(r);
	store_close(s);
}

static void it_is_made_ahead_where_somebody_asked(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct reporter *r = start();
	struct dice d = { 33 };
	char id[40], etag[40];
	uint64_t version;
	struct entity *e = NULL;
	add_one(s, &d, 1, "demo", id);
	assert_int_equal(ask_report(r, s, "demo", false, etag), 0);
	add_one(s, &d, 2, "demo", id);
	assert_int_equal(store_version(s, &version, NULL), 0);
	for (int i = 0; i < 2000 && !e; i++) {
		reporter_tick(r, version);
		(void)nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		e = reporter_get(r, "demo", false, version);
	}
	assert_non_null(e);
	entity_drop(e);
	reporter_free(r);
	store_close(s);
}

static void many_suites_and_wrong_names_take_each_others_place(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct reporter *r = start();
	struct dice d = { 34 };
	char id[40], etag[40], hash[33], name[24];
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof name, "suite%u", i);
		add_one(s, &d, i, name, id);
	}
	for (unsigned i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof name, "suite%zu", below(&d, 24));
		bool good = atoi(name + 5) < 20; /* the others are not there */
		assert_int_equal(ask_report(r, s, name, i % 2, etag), good ? 0 : -ENOENT);
		if (good)
			expected(s, name, hash);
		assert_string_equal(etag, good ? hash : "");
	}
	reporter_free(r);
	store_close(s);
}

struct crowd {
	struct reporter *r;
	atomic_bool stop;
	atomic_ulong answers;
};

static void *keep_asking(void *arg)
{
	struct crowd *c = arg;
	struct store *s = open_store(STORE_READ);
	char etag[40];
	for (unsigned i = 0; !c->stop; i++) {
		assert_int_equal(ask_report(c->r, s, i % 4 ? NULL : "demo", i % 3 != 0, etag), 0);
		assert_int_equal(strlen(etag), 32);
		c->answers++;
	}
	store_close(s);
	return NULL;
}

static void many_may_ask_while_runs_arrive(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 35 };
	char id[40], etag[40], hash[33];
	add_one(s, &d, 0, "demo", id);
	struct crowd c = { .r = start() };
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, keep_asking, &c), 0);
	for (unsigned i = 1; i < 60; i++) {
		uint64_t version;
		add_one(s, &d, i, "demo", id);
		assert_int_equal(store_version(s, &version, NULL), 0);
		reporter_tick(c.r, version);
		assert_int_equal(ask_report(c.r, s, NULL, true, etag), 0);
		expected(s, NULL, hash);
		assert_string_equal(etag, hash);
	}
	c.stop = true;
	for (int i = 0; i < 3; i++)
		(void)pthread_join(threads[i], NULL);
	assert_true(c.answers > 3);
	reporter_stop(c.r);
	assert_false(reporter_put(c.r, &(struct work){ .run = answer }));
	reporter_free(c.r);
	store_close(s);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(what_was_stored_before_the_question_is_in_the_answer),
		TEST(an_answer_that_is_there_is_not_made_again),
		TEST(it_is_made_ahead_where_somebody_asked),
		TEST(many_suites_and_wrong_names_take_each_others_place),
		TEST(many_may_ask_while_runs_arrive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
