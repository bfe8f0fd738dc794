/* What goes wrong: damage, a full disk, no memory, SIGKILL at any moment. Nothing that was
 * acknowledged is lost, nothing that was refused has changed anything. */
/* wrap: malloc calloc realloc */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "tests/unit/fail_alloc.h"
#include "tests/unit/gather_fixture.h"
#include "tests/unit/small_disk.h"

/* A sanitizer makes each process and each start of a store slow, and finds what it finds in few. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KILL_ROUNDS 3
#else
#define KILL_ROUNDS 12
#endif

/* ---- all that is stored ---------------------------------------------------------------------- */

static uint64_t hash_rows(sqlite3 *db, const char *table, uint64_t h)
{
	char sql[200];
	sqlite3_stmt *stmt;
	(void)snprintf(sql, sizeof sql, "SELECT * FROM %s", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const void *p = sqlite3_column_blob(stmt, i);
			h = XXH3_64bits_withSeed(p, (size_t)sqlite3_column_bytes(stmt, i),
						 h + (uint64_t)i);
		}
	(void)sqlite3_finalize(stmt);
	return h;
}

static uint64_t everything(void)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	uint64_t h = 1;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT name FROM sqlite_schema WHERE type = 'table'",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		h = hash_rows(db, (const char *)sqlite3_column_text(stmt, 0), h);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(db);
	return h;
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void a_damaged_body_changes_nothing(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	for (int i = 0; i < 10; i++)
		(void)say(&w, f.agent[i], &f.items[i], 1);
	struct buf a = batch_of(&f.items[10], 5, 0, w.seq[0] + 1),
		   b = batch_of(&f.items[15], 5, 1, w.seq[1] + 1), body = { 0 };
	buf_put(&body, a.data, a.len);
	buf_put(&body, b.data, b.len);
	uint64_t before = everything();
	struct dice d = { 6 };
	for (int i = 0; i < 400; i++) {
		struct buf bad = { 0 };
		struct gather_result r;
		struct err err;
		buf_put(&bad, body.data, body.len);
		if (i % 3)
			bad.data[below(&d, bad.len)] ^= (char)(1u << below(&d, 8));
		else
			bad.len = below(&d, bad.len);
		if (bad.len == a.len) /* cut between the two: that is a good body */
			bad.len--;
		assert_int_equal(store_begin(w.s, NULL), 0);
		int rc = gather_take(w.g, w.s, bad.data, bad.len, &w.now, &r, &err);
		/* It is committed, with whatever other bodies did: it has changed nothing. */
		assert_int_equal(store_commit(w.s, NULL), 0);
		assert_true(gather_is_refusal(rc));
		assert_string_not_equal(err.text, "");
		assert_true(r.batches == 0 && r.frames == 0);
		buf_done(&bad);
		if (i % 40 == 0)
			assert_true(everything() == before);
	}
	assert_true(everything() == before);
	assert_int_equal(post(&w, &body).batches, 2);
	assert_false(everything() == before);
	buf_done(&a);
	buf_done(&b);
	buf_done(&body);
	arena_free(&f.a);
	stop(&w);
}

static void too_much_at_once_is_refused(void **state)
{
	(void)state;
	struct world w = start();
	struct gather_result r;
	struct err err;
	struct frame f;
	struct buf body = { 0 };
	frame_clear(&f, FRAME_CONTEXT);
	for (uint64_t i = 1; i <= GATHER_MAX_BATCHES + 1; i++) {
		struct buf b = batch_of(&f, 1, 0, i);
		buf_put(&body, b.data, b.len);
		buf_done(&b);
	}
	assert_int_equal(try_post(&w, &body, &r, &err), -E2BIG);
	buf_done(&body);
	w.config.max_plain = 1000;
	gather_reconfigure(w.g, &w.config);
	char large[2000] = "";
	f.as.context.scope = (struct str){ .p = large, .n = sizeof large };
	body = batch_of(&f, 1, 0, 1);
	assert_int_equal(try_post(&w, &body, &r, &err), -E2BIG);
	buf_done(&body);
	assert_int_equal(ask("SELECT count(*) FROM inbox_spool"), 0);
	stop(&w);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory_does_not_grow_with_what_came(void **state)
{
	(void)state;
	struct world w = start();
	struct frame f;
	size_t before = 0;
	frame_clear(&f, FRAME_CONTEXT);
	f.as.context.scope = str_of("node");
	for (int i = 0; i < 6000; i++) {
		struct buf body = { 0 };
		for (int agent = 0; agent < AGENTS; agent++) {
			struct buf b = batch_of(&f, 1, agent, ++w.seq[agent]);
			buf_put(&body, b.data, b.len);
			buf_done(&b);
		}
		(void)post(&w, &body);
		buf_done(&body);
		if (i % 100 == 0)
			pass(&w, 31 * SECOND);
		if (i == 4500) /* by now SQLite has its 2 MB of pages */
			before = mallinfo2().uordblks;
	}
	size_t after = mallinfo2().uordblks;
	if (after > before + (256 << 10))
		fail_msg("%zu bytes, later %zu", before, after);
	stop(&w);
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	struct world w = start();
	static struct frames f;
	f = (struct frames){ .n = 0 };
	put_run(&f);
	struct buf body = { 0 };
	for (size_t i = 0; i < f.n;) {
		size_t n = f.n - i < 7 ? f.n - i : 7;
		/* Whose agent it is does not matter here. */
		struct buf b = batch_of(&f.items[i], n, 0, ++w.seq[0]);
		buf_put(&body, b.data, b.len);
		buf_done(&b);
		i += n;
	}
	uint64_t before = everything();
	struct gather_result r;
	struct err err;
	int rc = -1, tried = 0;
	for (int n = 1; rc; n += n < 200 ? 1 : 11, tried++) {
		assert_int_equal(store_begin(w.s, NULL), 0);
		(void)fail_alloc(n);
		rc = gather_take(w.g, w.s, body.data, body.len, &w.now, &r, &err);
		alloc_left = 0;
		assert_int_equal(rc, alloc_failed ? -ENOMEM : 0);
		if (rc)
			store_rollback(w.s);
		else
			assert_int_equal(store_commit(w.s, NULL), 0);
		if (tried % 50 == 0)
			assert_true(everything() == before);
	}
	assert_true(tried > 20);
	/* A record that can't be made now is made later. */
	bool failed = true;
	for (int n = 1; failed; n += 7) {
		int64_t next;
		(void)fail_alloc(n);
		rc = gather_tick(w.g, w.s, &w.now, NULL, NULL, &next, &err);
		failed = alloc_failed;
		alloc_left = 0;
		assert_true(rc == 0 || rc == -ENOMEM);
		w.now.mono_ns += 61 * SECOND;
		if (ask("SELECT count(*) FROM run") == 1)
			break;
	}
	tick(&w);
	struct buf is = stored(w.s, RUN), should = directly();
	assert_same(&is, &should);
	buf_done(&is);
	buf_done(&should);
	buf_done(&body);
	arena_free(&f.a);
	stop(&w);
}

/* ---- SIGKILL --------------------------------------------------------------------------------- */

#define BODIES 200
#define LIFE_NS 8000000u
#define MAX_LIFE 256000000u

struct plan {
	struct frames f;
	struct buf bodies[BODIES];
	size_t n;
};

/* A run in batches of one frame each, shuffled. */
static void make_plan(struct plan *p, struct dice *d)
{
	uint64_t seq[AGENTS] = { 0 };
	*p = (struct plan){ .n = 0 };
	put_run(&p->f);
	assert_true(p->f.n <= BODIES);
	for (size_t i = 0; i < p->f.n; i++)
		p->bodies[p->n++] =
			batch_of(&p->f.items[i], 1, p->f.agent[i], ++seq[p->f.agent[i]]);
	for (size_t i = p->n; i > 1; i--) {
		size_t k = below(d, i);
		struct buf x = p->bodies[i - 1];
		p->bodies[i - 1] = p->bodies[k];
		p->bodies[k] = x;
	}
}

static void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		buf_done(&p->bodies[i]);
	arena_free(&p->f.a);
}

/* A daemon that acknowledges what is committed, and looks for what is due in between. */
static void serve(const struct plan *p, size_t from, int out, uint64_t seed)
{
	struct dice d = { seed };
	struct world w = start();
	for (size_t i = from; i < p->n; i++) {
		struct gather_result r;
		struct err err;
		if (try_post(&w, &p->bodies[i], &r, &err) ||
		    write(out, &i, sizeof i) != (ssize_t)sizeof i)
			_exit(1);
		int64_t next;
		w.now.mono_ns += (int64_t)below(&d, 50) * SECOND;
		if (below(&d, 3) == 0 && gather_tick(w.g, w.s, &w.now, NULL, NULL, &next, &err))
			_exit(2);
	}
	_exit(0);
}

/* One life: until it is killed, or has nothing more to do. The number of bodies acknowledged. */
static size_t live(const struct plan *p, size_t from, struct dice *d, uint64_t longest_ns)
{
	int ends[2], status;
	size_t acked = from, i;
	uint64_t seed = roll(d);
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		serve(p, from, ends[1], seed);
	(void)close(ends[1]);
	const struct timespec pause = { .tv_nsec = (long)below(d, longest_ns) };
	(void)nanosleep(&pause, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	while (read(ends[0], &i, sizeof i) == (ssize_t)sizeof i)
		acked = i + 1;
	(void)close(ends[0]);
	return acked;
}

static int all_numbers(void *arg, const struct inbox_ledger *l)
{
	*(uint64_t *)arg += l->batches;
	return 0;
}

static void a_daemon_killed_at_any_moment_loses_nothing_it_acknowledged(void **state)
{
	struct dice d = { (uint64_t)time(NULL) };
	struct buf should = directly();
	int lives = 0;
	for (int round = 0; round < KILL_ROUNDS; round++) {
		static struct plan p;
		make_plan(&p, &d);
		make_quick_folder(state);
		size_t acked = 0;
		uint64_t longest_ns = LIFE_NS;
		while (acked < p.n) {
			/* What was not acknowledged is sent again, and some that was. */
			size_t again = below(&d, 4);
			size_t now =
				live(&p, acked > again ? acked - again : 0, &d, longest_ns);
			/* Where others have the machine a short life may come to nothing. */
			longest_ns = now > acked             ? LIFE_NS
				     : longest_ns < MAX_LIFE ? 2 * longest_ns
							     : longest_ns;
			acked = now > acked ? now : acked;
			lives++;
			struct world w = start();
			uint64_t batches = 0;
			assert_int_equal(inbox_each_ledger(w.s, NULL, INT64_MIN + 1, INT64_MAX,
							   all_numbers, &batches, NULL),
					 0);
			assert_true(batches >= acked && batches <= acked + 1);
			stop(&w);
		}
		struct world w = start();
		tick(&w);
		struct buf is = stored(w.s, RUN);
		assert_same(&is, &should);
		buf_done(&is);
		stop(&w);
		plan_done(&p);
		remove_folder(state);
	}
	print_message("# %d lives\n", lives);
	buf_done(&should);
}

/* ---- a full disk ----------------------------------------------------------------------------- */

static bool put_filler(const char *filler, size_t n)
{
	struct buf b = { 0 };
	while (b.len < n)
		buf_put(&b, "filler", 6);
	int rc = file_write(filler, b.data, b.len, NULL);
	buf_done(&b);
	return !rc;
}

/* 0 good, 77 not permitted here, else the step that went wrong. */
static int fill_disk(void)
{
	char filler[96];
	static struct plan p;
	struct dice d = { 3 };
	struct gather_result r;
	struct err err = { .text = "" };
	struct frame f;
	uint64_t seq = 0;
	int rc = 0;
	if (!small_disk_mount(folder, "size=4m"))
		return 77;
	make_plan(&p, &d);
	(void)snprintf(filler, sizeof filler, "%s/filler", folder);
	if (!put_filler(filler, 2 << 20))
		return 1;
	struct world w = start();
	for (size_t i = 0; i < p.n / 2; i++)
		if (try_post(&w, &p.bodies[i], &r, &err))
			return 2;
	char bulk[3000];
	for (size_t i = 0; i < sizeof bulk; i++)
		bulk[i] = (char)roll(&d);
	frame_clear(&f, FRAME_PROCESS);
	f.as.process.stream = str_of("s");
	f.as.process.size = 1 << 20;
	f.as.process.data = (struct str){ .p = bulk, .n = sizeof bulk };
	while (!rc && seq < 5000) {
		struct buf b = { 0 };
		struct batch_out out = { .frames = 0 };
		struct batch_sender from = sender(0, ++seq);
		from.spool = str_of("bulk");
		f.as.process.offset = seq * sizeof bulk % (1 << 19);
		f.as.process.snapshot = 1 + seq / 100;
		if (batch_put(&out, &f) || batch_end(&out, &from, &b, NULL))
			return 3;
		rc = try_post(&w, &b, &r, &err);
		batch_out_done(&out);
		buf_done(&b);
	}
	if (rc != -ENOSPC || !strstr(err.text, "no space left"))
		return 4;
	/* The ledger has what was acknowledged, and nothing of the last one. */
	uint64_t batches = 0;
	if (inbox_each_ledger(w.s, "agent-a", INT64_MIN + 1, INT64_MAX, all_numbers, &batches,
			      NULL) ||
	    batches < seq - 1)
		return 5;
	int64_t next;
	w.now.mono_ns += 40 * SECOND;
	(void)gather_tick(w.g, w.s, &w.now, NULL, NULL, &next, &err);
	/* With room again all goes on, in this life and the next. */
	if (unlink(filler))
		return 6;
	for (size_t i = p.n / 2 - 2; i < p.n; i++)
		if (try_post(&w, &p.bodies[i], &r, &err))
			return 7;
	restart(&w, 0);
	tick(&w);
	struct buf is = stored(w.s, RUN), should = directly();
	assert_same(&is, &should);
	stop(&w);
	return 0;
}

static void a_full_disk_is_said_and_what_was_acknowledged_stays(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fill_disk());
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("# a tmpfs can't be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	(void)alarm(300);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(a_damaged_body_changes_nothing),
		TEST(too_much_at_once_is_refused),
		TEST(memory_does_not_grow_with_what_came),
		TEST(every_failed_allocation_is_survived),
		cmocka_unit_test(a_daemon_killed_at_any_moment_loses_nothing_it_acknowledged),
		cmocka_unit_test_setup_teardown(a_full_disk_is_said_and_what_was_acknowledged_stays,
						make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
