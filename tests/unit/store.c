/* The store: what was added is there, in order, and for several at once. The grid is in
 * store_grid.c. */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "tests/unit/store_fixture.h"

/* ---- runs ---------------------------------------------------------------------------------- */

static void what_is_added_is_read_back(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 1 };
	struct record recs[40];
	for (unsigned i = 0; i < 40; i++) {
		any_record(&recs[i], &d, i);
		add(s, &recs[i]);
		assert_stored(s, &recs[i]);
	}
	store_close(s);
	s = open_store(STORE_READ);
	for (unsigned i = 0; i < 40; i++) {
		assert_stored(s, &recs[i]);
		record_done(&recs[i]);
	}
	assert_int_equal(store_add_run(s, &recs[0], NULL), -EINVAL); /* nothing in it any more */
	store_close(s);
}

static void the_same_run_again_is_nothing_and_another_under_its_id_is_refused(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 2 };
	struct record rec;
	struct err err;
	any_record(&rec, &d, 1);
	add(s, &rec);
	add(s, &rec);
	assert_int_equal(ask("SELECT runs FROM cell"), 1);
	rec.body.roi.wall_s += 0.001;
	assert_int_equal(store_add_run(s, &rec, &err), -EEXIST);
	assert_non_null(strstr(err.text, rec.body.run_id));

	/* In a batch too, and the batch goes on. */
	assert_int_equal(store_begin(s, &err), 0);
	assert_int_equal(store_add_run(s, &rec, &err), -EEXIST);
	struct record other;
	any_record(&other, &d, 2);
	add(s, &other);
	assert_int_equal(store_commit(s, &err), 0);
	assert_stored(s, &other);
	record_done(&rec);
	record_done(&other);
	store_close(s);
}

static void a_batch_that_is_taken_back_leaves_nothing(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 3 };
	struct record rec, got;
	any_record(&rec, &d, 1);
	assert_int_equal(store_begin(s, NULL), 0);
	assert_int_equal(store_begin(s, NULL), -EALREADY);
	add(s, &rec);
	assert_stored(s, &rec);
	store_rollback(s);
	assert_int_equal(store_get_run(s, rec.body.run_id, &got, NULL), -ENOENT);
	assert_int_equal(store_commit(s, NULL), -EINVAL);
	assert_int_equal(store_begin(s, NULL), 0);
	add(s, &rec);
	store_close(s); /* without a commit */
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	assert_int_equal(ask("SELECT count(*) FROM cell"), 0);
	record_done(&rec);
}

static void what_is_not_there_is_said(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct record got;
	struct err err;
	assert_int_equal(store_get_run(s, "20260929T045201Z-0123abcd", &got, &err), -ENOENT);
	assert_int_equal(store_get_run(s, "nonsense", &got, &err), -ENOENT);
	assert_int_equal(store_delete_run(s, "20260929T045201Z-0123abcd", &err), -ENOENT);
	assert_int_equal(store_delete_run(s, "nonsense", &err), -ENOENT);
	struct dice d = { 9 };
	struct record rec;
	any_record(&rec, &d, 1);
	assert_int_equal(store_replace_run(s, &rec, &err), -ENOENT);
	assert_non_null(strstr(err.text, rec.body.run_id));
	store_close(s);
	s = open_store(STORE_READ);
	assert_int_equal(store_replace_run(s, &rec, &err), -EROFS);
	record_done(&rec);
	assert_int_equal(store_delete_run(s, "20260929T045201Z-0123abcd", &err), -EROFS);
	assert_int_equal(store_declare(s, "s", NULL, 0, &err), -EROFS);
	store_close(s);
}

static void a_damaged_record_is_found_out(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 4 };
	struct record rec, got;
	struct err err;
	any_record(&rec, &d, 1);
	add(s, &rec);
	tell("UPDATE run_body SET body = CAST(substr(body, 1, 20) || x'7f' || substr(body, 22) AS "
	     "BLOB)");
	assert_int_equal(store_get_run(s, rec.body.run_id, &got, &err), -EUCLEAN);
	assert_non_null(strstr(err.text, "damaged"));
	record_done(&rec);
	store_close(s);
}

/* ---- lists --------------------------------------------------------------------------------- */

struct listed {
	char ids[500][32];
	size_t n, stop_at;
	struct store *late; /* where runs arrive meanwhile */
	struct dice *dice;
};

static int list_run(void *arg, const struct run_row *row)
{
	struct listed *l = arg;
	(void)snprintf(l->ids[l->n++], 32, "%s", row->run_id);
	return l->n == l->stop_at ? 77 : 0;
}

static void lists_are_newest_first_and_filtered(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 6 };
	struct record recs[100];
	for (unsigned i = 0; i < 100; i++) {
		any_record(&recs[i], &d, i * 7919 % 86400);
		recs[i].body.utc = i % 2 ? "2026-09-29T04:52:01Z" : "2026-09-30T00:00:00Z";
		add(s, &recs[i]);
	}
	struct run_query queries[] = {
		{ 0 },
		{ .suite = "demo" },
		{ .app = "heat" },
		{ .suite = "demo", .app = "heat", .case_ = "n1", .platform = "cpu-x.linux6.1" },
		{ .platform = "cpu-x.linux6.1", .status = "ok" },
		{ .since = "2026-09-30T00:00:00Z", .kind = "measured" },
		{ .suite = "nobody" },
	};
	for (size_t k = 0; k < sizeof queries / sizeof queries[0]; k++) {
		struct run_query *q = &queries[k];
		struct listed l = { .n = 0 };
		size_t wanted = 0;
		for (unsigned i = 0; i < 100; i++) {
			struct record_body *b = &recs[i].body;
			wanted += (!q->suite || !strcmp(q->suite, b->suite)) &&
				  (!q->app || !strcmp(q->app, b->app)) &&
				  (!q->case_ || !strcmp(q->case_, b->case_)) &&
				  (!q->platform || !strcmp(q->platform, b->platform)) &&
				  (!q->status || !strcmp(q->status, b->status)) &&
				  (!q->since || strcmp(b->utc, q->since) >= 0);
		}
		assert_int_equal(store_each_run(s, q, list_run, &l, NULL), 0);
		assert_int_equal(l.n, wanted);
		for (size_t i = 1; i < l.n; i++)
			assert_true(strcmp(l.ids[i - 1], l.ids[i]) > 0);
	}
	struct listed l = { .stop_at = 3 };
	assert_int_equal(store_each_run(s, &queries[0], list_run, &l, NULL), 77);
	assert_int_equal(
		store_each_run(s, &(struct run_query){ .before = "x" }, list_run, &l, NULL),
		-EINVAL);
	for (unsigned i = 0; i < 100; i++)
		record_done(&recs[i]);
	store_close(s);
}

/* Pages of ten, while newer runs arrive between them: each old run once, none twice. */
static void pages_stay_in_place_while_runs_arrive(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 8 };
	for (unsigned i = 0; i < 95; i++) {
		struct record rec;
		any_record(&rec, &d, i);
		add(s, &rec);
		record_done(&rec);
	}
	struct listed l = { .n = 0 };
	struct run_query q = { .limit = 10 };
	size_t before;
	unsigned second = 1000;
	do {
		before = l.n;
		assert_int_equal(store_each_run(s, &q, list_run, &l, NULL), 0);
		q.before = l.n ? l.ids[l.n - 1] : NULL;
		struct record rec;
		any_record(&rec, &d, second++);
		add(s, &rec);
		record_done(&rec);
	} while (l.n > before);
	assert_int_equal(l.n, 95);
	for (size_t i = 1; i < l.n; i++)
		assert_true(strcmp(l.ids[i - 1], l.ids[i]) > 0);
	store_close(s);
}

static int get_it_too(void *arg, const struct run_row *row)
{
	struct listed *l = arg;
	struct record rec;
	struct listed inner = { .n = 0 };
	assert_int_equal(store_get_run(l->late, row->run_id, &rec, NULL), 0);
	assert_string_equal(rec.body.run_id, row->run_id);
	record_done(&rec);
	assert_int_equal(
		store_each_run(l->late, &(struct run_query){ .limit = 2 }, list_run, &inner, NULL),
		0);
	assert_int_equal(inner.n, 2);
	l->n++;
	return 0;
}

static void a_walk_may_ask_again(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 9 };
	for (unsigned i = 0; i < 10; i++) {
		struct record rec;
		any_record(&rec, &d, i);
		add(s, &rec);
		record_done(&rec);
	}
	struct listed l = { .late = s };
	assert_int_equal(store_each_run(s, &(struct run_query){ 0 }, get_it_too, &l, NULL), 0);
	assert_int_equal(l.n, 10);
	store_close(s);
}

static int join_declared(void *arg, const char *suite, const struct declared_case *c)
{
	buf_printf(arg, "%s/%s/%s=%s;", suite, c->app, c->case_, c->title ? c->title : "-");
	return 0;
}

static void what_is_declared_is_replaced_suite_by_suite(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE);
	struct buf b = { 0 };
	struct err err;
	const struct declared_case first[] = { { .app = "z", .case_ = "1", .title = "Last letter" },
					       { .app = "a", .case_ = "2" } };
	const struct declared_case twice[] = { { .app = "z", .case_ = "1" },
					       { .app = "z", .case_ = "1" } };
	assert_int_equal(store_declare(s, "one", first, 2, &err), 0);
	assert_int_equal(store_declare(s, "two", first, 1, &err), 0);
	assert_int_equal(store_declare(s, "one", twice, 2, &err), -EEXIST);
	assert_non_null(strstr(err.text, "z/1 is declared twice"));
	assert_int_equal(store_each_declared(s, NULL, NULL, join_declared, &b, &err), 0);
	assert_string_equal(b.data, "one/z/1=Last letter;one/a/2=-;two/z/1=Last letter;");
	b.len = 0;
	assert_int_equal(store_declare(s, "one", first + 1, 1, &err), 0);
	assert_int_equal(store_each_declared(s, "one", NULL, join_declared, &b, &err), 0);
	assert_string_equal(b.data, "one/a/2=-;");
	buf_done(&b);
	store_close(s);
}

/* ---- others at the same time --------------------------------------------------------------- */

static int count_run(void *arg, const struct run_row *row)
{
	(void)row;
	++*(size_t *)arg;
	return 0;
}

/* Each of three processes opens the store (and perhaps makes it) and adds fifty runs; we read. */
static void several_writers_and_a_reader_get_along(void **state)
{
	(void)state;
	pid_t pids[3];
	for (unsigned p = 0; p < 3; p++) {
		pids[p] = fork();
		assert_true(pids[p] >= 0);
		if (pids[p] == 0) {
			struct store *s = NULL;
			struct dice d = { 100 + p };
			int rc = store_open(&s, path, STORE_WRITE, NULL);
			for (unsigned i = 0; i < 50 && !rc; i++) {
				struct record rec;
				any_record(&rec, &d, p * 1000 + i);
				rc = store_add_run(s, &rec, NULL);
				record_done(&rec);
			}
			store_close(s);
			_exit(rc ? 1 : 0);
		}
	}
	struct store *s = open_store(STORE_WRITE);
	size_t n = 0, before = 0;
	for (int waiting = 3; waiting > 0;) {
		int status;
		pid_t ended = waitpid(-1, &status, WNOHANG);
		if (ended > 0) {
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
			waiting--;
		}
		n = 0;
		assert_int_equal(store_each_run(s, &(struct run_query){ 0 }, count_run, &n, NULL),
				 0);
		assert_true(n >= before);
		before = n;
	}
	n = 0;
	assert_int_equal(store_each_run(s, &(struct run_query){ 0 }, count_run, &n, NULL), 0);
	assert_int_equal(n, 150);
	store_close(s);
}

static void the_version_grows_with_every_write_of_anybody(void **state)
{
	(void)state;
	struct store *a = open_store(STORE_WRITE), *b = open_store(STORE_READ);
	struct record rec;
	uint64_t before[2], after[2];
	assert_int_equal(store_version(a, &before[0], NULL), 0);
	assert_int_equal(store_version(b, &before[1], NULL), 0);
	assert_int_equal(before[0], before[1]);
	struct dice d = { 77 };
	any_record(&rec, &d, 1);
	add(a, &rec);
	assert_int_equal(store_version(a, &after[0], NULL), 0);
	assert_int_equal(store_version(b, &after[1], NULL), 0);
	assert_true(after[0] > before[0]);
	assert_int_equal(after[0], after[1]);
	/* What is no run and not declared does not count; nor does what is there already. */
	tell("CREATE TABLE other (x); INSERT INTO other VALUES (1)");
	add(a, &rec);
	assert_int_equal(store_version(b, &before[1], NULL), 0);
	assert_int_equal(store_version(a, &before[0], NULL), 0);
	assert_true(before[1] == after[1] && before[0] == after[1]);
	assert_int_equal(store_delete_run(a, rec.body.run_id, NULL), 0);
	record_done(&rec);
	assert_int_equal(store_version(b, &after[1], NULL), 0);
	assert_true(after[1] > before[1]);
	store_close(a);
	store_close(b);
}

static int join_changed(void *arg, const char *suite, const char *app)
{
	buf_printf(arg, "%s/%s;", suite, app);
	return 0;
}

static const char *changed_since(struct store *s, uint64_t since, struct buf *b)
{
	b->len = 0;
	buf_puts(b, "");
	assert_int_equal(store_each_changed(s, since, join_changed, b, NULL), 0);
	return b->data;
}

static void what_has_changed_since_is_told_by_application(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE), *other = open_store(STORE_READ);
	struct buf b = { 0 };
	uint64_t v;
	const struct declared_case two[] = { { .app = "a", .case_ = "1" },
					     { .app = "b", .case_ = "1" } };
	assert_int_equal(store_declare(s, "one", two, 2, NULL), 0);
	assert_string_equal(changed_since(other, 0, &b), "one/a;one/b;");
	assert_int_equal(store_version(other, &v, NULL), 0);
	/* The same again is no change. */
	assert_int_equal(store_declare(s, "one", two, 2, NULL), 0);
	assert_string_equal(changed_since(other, v, &b), "");
	struct dice d = { 78 };
	struct record rec;
	any_record(&rec, &d, 1);
	rec.body.suite = "one";
	rec.body.app = "b";
	add(s, &rec);
	assert_string_equal(changed_since(other, v, &b), "one/b;");
	assert_int_equal(store_version(other, &v, NULL), 0);
	/* What was taken back never was. */
	assert_int_equal(store_begin(s, NULL), 0);
	assert_int_equal(store_declare(s, "one", two, 1, NULL), 0);
	store_rollback(s);
	assert_string_equal(changed_since(other, v, &b), "");
	/* What is gone has changed. */
	assert_int_equal(store_delete_run(s, rec.body.run_id, NULL), 0);
	record_done(&rec);
	assert_string_equal(changed_since(other, v, &b), "one/b;");
	buf_done(&b);
	store_close(s);
	store_close(other);
}

static void a_snapshot_stays_what_it_was(void **state)
{
	(void)state;
	struct store *s = open_store(STORE_WRITE), *reader = open_store(STORE_READ);
	struct record rec;
	struct dice d = { 79 };
	uint64_t before, after;
	size_t n = 0;
	unsigned char hash[16];
	assert_int_equal(store_snapshot(reader, NULL), 0);
	assert_int_equal(store_version(reader, &before, NULL), 0);
	any_record(&rec, &d, 1);
	add(s, &rec);
	assert_int_equal(store_version(reader, &after, NULL), 0);
	assert_int_equal(before, after);
	assert_int_equal(store_each_run(reader, &(struct run_query){ 0 }, count_run, &n, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(store_run_hash(reader, rec.body.run_id, hash, NULL), -ENOENT);
	store_snapshot_end(reader);
	assert_int_equal(store_version(reader, &after, NULL), 0);
	assert_true(after > before);
	assert_int_equal(store_run_hash(reader, rec.body.run_id, hash, NULL), 0);
	record_done(&rec);
	store_close(reader);
	store_close(s);
}

static int join_inputs(void *arg, const struct run_row *row)
{
	buf_printf(arg, "%s;", row->input_hash ? row->input_hash : "-");
	return 0;
}

static void a_list_tells_what_was_measured_where_it_is_a_hash(void **state)
{
	(void)state;
	static const char *const inputs[] = { "41c07ad9b2e8f6d35c0a9be17f2448d1", NULL, "a,b",
					      "0123456789abcdef\r\n" };
	struct store *s = open_store(STORE_WRITE);
	struct dice d = { 80 };
	struct buf b = { 0 };
	for (unsigned i = 0; i < 4; i++) {
		struct record rec;
		any_record(&rec, &d, i);
		rec.body.inputs.input_hash = inputs[i];
		add(s, &rec);
		record_done(&rec);
	}
	assert_int_equal(store_each_run(s, &(struct run_query){ 0 }, join_inputs, &b, NULL), 0);
	assert_string_equal(b.data, "-;-;-;41c07ad9b2e8f6d35c0a9be17f2448d1;");
	buf_done(&b);
	store_close(s);
}

int main(void)
{
	(void)alarm(110);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(what_is_added_is_read_back),
		TEST(the_same_run_again_is_nothing_and_another_under_its_id_is_refused),
		TEST(a_batch_that_is_taken_back_leaves_nothing),
		TEST(what_is_not_there_is_said),
		TEST(a_damaged_record_is_found_out),
		TEST(lists_are_newest_first_and_filtered),
		TEST(pages_stay_in_place_while_runs_arrive),
		TEST(a_walk_may_ask_again),
		TEST(the_version_grows_with_every_write_of_anybody),
		TEST(a_list_tells_what_was_measured_where_it_is_a_hash),
		TEST(what_has_changed_since_is_told_by_application),
		TEST(a_snapshot_stays_what_it_was),
		TEST(what_is_declared_is_replaced_suite_by_suite),
		TEST(several_writers_and_a_reader_get_along),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
