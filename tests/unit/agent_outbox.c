/* The outbox: what was promised is read back, what could not be kept is counted and told. */
/* wrap: fdatasync */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/agent_outbox.h"
#include "tests/unit/small_disk.h"

#define SPOOL (1u << 20)
#define S UINT64_C(1000000000)

static int fail_syncs; /* the next ones; the disk is spared all the others */
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	(void)fd;
	if (fail_syncs <= 0)
		return 0;
	fail_syncs--;
	errno = EIO;
	return -1;
}

static void what_is_put_is_read_after_a_sync(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 0);
	struct seen seen = { .marks = 0 };
	uint64_t seq = 0;
	for (uint64_t n = 1; n <= 9; n++)
		assert_int_equal(put_number(o, n, 100), 0);
	read_all(o, &seen, false);
	assert_int_equal(seen.batches, 0);
	assert_int_equal(outbox_sync(o, &seq, NULL), 0);
	assert_int_equal(seq, 2); /* a batch of marks, and one of context */
	assert_int_equal(outbox_durable(o), 2);
	read_all(o, &seen, true);
	assert_int_equal(seen.batches, 2);
	assert_int_equal(seen.marks, 6);
	assert_int_equal(seen.context, 3);
	assert_int_equal(outbox_delivered(o), 2);
	assert_int_equal(outbox_sync(o, &seq, NULL), 0);
	assert_int_equal(seq, 2); /* nothing new makes no batch */
	outbox_close(o);
}

static void a_batch_ends_by_its_size(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 1000);
	struct seen seen = { .marks = 0 };
	for (uint64_t n = 1; n <= 100; n++)
		assert_int_equal(put_number(o, 3 * n + 1, 250), 0);
	assert_int_equal(outbox_sync(o, NULL, NULL), 0);
	read_all(o, &seen, false);
	assert_in_range(seen.batches, 20, 40);
	assert_int_equal(seen.marks, 100);
	outbox_close(o);
}

static void a_batch_ends_by_its_age(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 0);
	assert_int_equal(outbox_tick(o), UINT64_MAX);
	assert_int_equal(put_number(o, 1, 10), 0);
	assert_int_equal(outbox_tick(o), the_time + S);
	the_time += S - 1;
	assert_int_equal(put_number(o, 2, 10), 0);
	assert_int_equal(outbox_tick(o), the_time + 1);
	assert_int_equal(outbox_durable(o), 0);
	the_time += 1;
	assert_int_equal(outbox_tick(o), UINT64_MAX);
	assert_int_equal(outbox_durable(o), 1);
	outbox_close(o);
}

static void context_may_wait_longer_and_goes_with_the_rest(void **state)
{
	(void)state;
	struct outbox *o = NULL;
	const struct outbox_options options = { .folder = at_folder,
						.max_bytes = SPOOL,
						.clock_ns = test_clock,
						.age_ns = S,
						.context_age_ns = 5 * S };
	assert_int_equal(outbox_open(&o, &options, NULL), 0);
	assert_int_equal(put_number(o, 3, 10), 0);
	assert_int_equal(outbox_tick(o), the_time + 5 * S);
	the_time += 5 * S;
	assert_int_equal(outbox_tick(o), UINT64_MAX);
	assert_int_equal(outbox_durable(o), 1);
	assert_int_equal(put_number(o, 6, 10), 0);
	assert_int_equal(put_number(o, 1, 10), 0);
	assert_int_equal(outbox_tick(o), the_time + S);
	the_time += S;
	assert_int_equal(outbox_tick(o), UINT64_MAX);
	assert_int_equal(outbox_durable(o), 3);
	outbox_close(o);
}

static int changes;
static void count_change(void *arg)
{
	(void)arg;
	changes++;
}

static void it_says_when_a_timer_has_to_be_set_anew(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 0);
	changes = 0;
	outbox_on_change(o, count_change, NULL);
	(void)put_number(o, 1, 10);
	(void)put_number(o, 2, 10);
	assert_int_equal(changes, 1);
	(void)put_number(o, 3, 10); /* of the other class */
	assert_int_equal(changes, 2);
	(void)outbox_sync(o, NULL, NULL);
	assert_int_equal(changes, 3);
	(void)outbox_sync(o, NULL, NULL);
	assert_int_equal(changes, 3);
	outbox_close(o);
}

static void the_id_of_the_agent_is_made_once(void **state)
{
	(void)state;
	char id[OUTBOX_AGENT_ID], path[80];
	struct outbox *o = open_outbox(SPOOL, 0);
	(void)snprintf(id, sizeof id, "%s", outbox_agent(o));
	assert_int_equal(strlen(id), 32);
	outbox_close(o);
	o = open_outbox(SPOOL, 0);
	assert_string_equal(outbox_agent(o), id);
	outbox_close(o);
	const struct outbox_options named = { .folder = at_folder,
					      .max_bytes = SPOOL,
					      .agent = "n7" };
	assert_int_equal(outbox_open(&o, &named, NULL), 0);
	assert_string_equal(outbox_agent(o), "n7");
	outbox_close(o);
	(void)snprintf(path, sizeof path, "%s/agent", at_folder);
	assert_int_equal(file_write(path, "0123", 4, NULL), 0);
	struct err err = { { 0 } };
	const struct outbox_options unnamed = { .folder = at_folder, .max_bytes = SPOOL };
	assert_int_equal(outbox_open(&o, &unnamed, &err), -EINVAL);
	assert_non_null(strstr(err.text, "holds no id"));
}

static void a_full_spool_keeps_marks_waiting_until_there_is_room(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(8 * SPOOL_MIN_BYTES, 2000);
	struct seen seen = { .marks = 0 };
	struct outbox_stats st;
	uint64_t n = 1;
	while (outbox_sync(o, NULL, NULL) == 0) {
		assert_int_equal(put_number(o, n, 1000), 0);
		n += 3;
	}
	for (int i = 0; i < 200; i++, n += 3)
		assert_int_equal(put_number(o, n, 1000), 0);
	assert_int_equal(outbox_sync(o, NULL, NULL), -ENOSPC);
	outbox_stats(o, &st);
	assert_true(st.full && st.waiting_bytes > 100000);
	for (int i = 0; i < 100 && st.full; i++) {
		read_all(o, &seen, true);
		the_time += 1;
		(void)outbox_tick(o);
		outbox_stats(o, &st);
	}
	assert_false(st.full);
	assert_int_equal(st.lost, 0);
	read_all(o, &seen, true);
	for (uint64_t i = 1; i < n; i += 3)
		assert_int_equal(seen.times[i], 1);
	outbox_close(o);
}

static void a_full_spool_is_not_asked_all_the_time(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL_MIN_BYTES, 2000);
	struct outbox_stats a, b;
	for (uint64_t n = 1; outbox_sync(o, NULL, NULL) == 0; n += 3)
		(void)put_number(o, n, 1000);
	outbox_stats(o, &a);
	for (uint64_t n = 1; n < 1000; n += 3) {
		(void)put_number(o, n, 100);
		(void)outbox_tick(o);
	}
	outbox_stats(o, &b);
	assert_int_equal(a.spool.refused[SPOOL_MARK].records, b.spool.refused[SPOOL_MARK].records);
	the_time = outbox_tick(o);
	(void)outbox_tick(o);
	outbox_stats(o, &b);
	assert_true(a.spool.refused[SPOOL_MARK].records < b.spool.refused[SPOOL_MARK].records);
	outbox_close(o);
}

/* Runs over, with room coming and going: put = read + told as lost, exactly. */
static void what_is_lost_is_counted_exactly_and_told(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL_MIN_BYTES, 20000);
	struct seen seen = { .marks = 0 };
	struct dice d = { 7 };
	uint64_t n = 1, marks = 0, context = 0;
	for (int round = 0; round < 6; round++) {
		uint64_t until = n + 2000;
		for (; n < until; n++) {
			(void)put_number(o, n, is_context(n) ? 0 : 2000 + below(&d, 4000));
			marks += !is_context(n);
			context += is_context(n);
			if (n % 50 == 0)
				(void)outbox_sync(o, NULL, NULL);
		}
		for (int i = 0; i < 400; i++) {
			read_all(o, &seen, true);
			the_time += S;
			(void)outbox_tick(o);
		}
		if (round % 2) { /* counts survive */
			outbox_close(o);
			o = open_outbox(SPOOL_MIN_BYTES, 20000);
			(void)outbox_tick(o);
		}
	}
	read_all(o, &seen, true);
	assert_true(seen.lost_process > 1000);
	assert_int_equal(seen.marks + seen.lost_process, marks);
	/* Context that had a number is in a gap, and counted by the spool. */
	struct outbox_stats st;
	outbox_stats(o, &st);
	assert_true(seen.context + seen.lost_context <= context);
	assert_int_equal(seen.gaps, st.spool.dropped.records);
	if (!seen.gaps)
		assert_int_equal(seen.context + seen.lost_context, context);
	assert_int_equal(st.lost, seen.lost_process + seen.lost_context);
	for (uint64_t i = 1; i < n; i++)
		assert_true(seen.times[i] <= 1);
	uint64_t told = seen.loss_frames;
	the_time += 100 * S;
	(void)outbox_tick(o);
	(void)outbox_sync(o, NULL, NULL);
	read_all(o, &seen, true);
	assert_int_equal(seen.loss_frames, told); /* told once */
	outbox_close(o);
}

static void a_failed_sync_loses_nothing_and_no_number_means_two_things(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 300);
	struct seen *seen = calloc(1, sizeof *seen);
	struct dice d = { 99 };
	uint64_t n = 1;
	for (int round = 0; round < 400; round++) {
		for (size_t i = below(&d, 8); i; i--)
			(void)put_number(o, n++, below(&d, 200));
		fail_syncs = below(&d, 3) ? 0 : (int)(1 + below(&d, 6));
		(void)outbox_sync(o, NULL, NULL);
		fail_syncs = 0;
		read_all(o, seen, below(&d, 2));
	}
	assert_int_equal(outbox_sync(o, NULL, NULL), 0);
	read_all(o, seen, true);
	for (uint64_t i = 1; i < n; i++)
		assert_int_equal(seen->times[i], 1);
	assert_int_equal(seen->gaps, 0);
	outbox_close(o);
	free(seen);
}

static void what_the_daemon_refuses_is_a_gap_and_a_loss(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 0);
	struct seen seen = { .marks = 0 };
	struct spool_item item, gap;
	(void)put_number(o, 1, 10);
	(void)put_number(o, 2, 10);
	assert_int_equal(outbox_sync(o, NULL, NULL), 0);
	assert_int_equal(outbox_read(o, &item, NULL), 1);
	assert_int_equal(outbox_refused(o, &item, "bad day", &gap, NULL), 0);
	see_batch(o, &seen, gap.bytes, gap.n, 1);
	assert_int_equal(seen.gaps, 1);
	assert_int_equal(outbox_refused(o, &gap, "bad day", &item, NULL), -EINVAL);
	assert_int_equal(outbox_ack(o, 1, NULL), 0);
	the_time = outbox_tick(o);
	(void)outbox_tick(o);
	(void)outbox_sync(o, NULL, NULL);
	read_all(o, &seen, true);
	assert_int_equal(seen.lost_process, 2);
	assert_string_equal(seen.text, "bad day");
	outbox_close(o);
}

static void a_batch_may_get_another_number(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 0);
	struct seen seen = { .marks = 0 };
	struct spool_item item;
	(void)put_number(o, 1, 10);
	(void)put_number(o, 2, 10);
	assert_int_equal(outbox_sync(o, NULL, NULL), 0);
	assert_int_equal(outbox_read(o, &item, NULL), 1);
	assert_int_equal(outbox_renumber(o, &item, NULL), 0);
	assert_int_equal(outbox_ack(o, 1, NULL), 0);
	assert_int_equal(outbox_durable(o), 2);
	read_all(o, &seen, true);
	assert_int_equal(seen.batches, 1);
	assert_int_equal(seen.marks, 2);
	outbox_close(o);
}

/* What a file of losses holds after a kill is told by the next life. */
static void a_count_outlives_a_kill(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (!pid) {
		struct outbox *o = open_outbox(SPOOL, 0);
		outbox_lose(o, &(struct outbox_loss){ .what = "process",
						      .why = "unreadable",
						      .count = 5,
						      .from_real_ns = 7,
						      .to_real_ns = 9 });
		(void)kill(getpid(), SIGKILL);
	}
	(void)waitpid(pid, NULL, 0);
	struct outbox *o = open_outbox(SPOOL, 0);
	struct seen seen = { .marks = 0 };
	(void)outbox_tick(o);
	read_all(o, &seen, true);
	assert_int_equal(seen.lost_process, 5);
	outbox_close(o);
	o = open_outbox(SPOOL, 0);
	(void)outbox_tick(o);
	read_all(o, &seen, true);
	assert_int_equal(seen.loss_frames, 1);
	outbox_close(o);
}

static void more_runs_than_lines_share_one(void **state)
{
	(void)state;
	struct outbox *o = open_outbox(SPOOL, 0);
	struct seen seen = { .marks = 0 };
	struct outbox_stats st;
	char run[32];
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(run, sizeof run, "run-%d", i);
		outbox_lose(o, &(struct outbox_loss){ .what = "process",
						      .why = "unreadable",
						      .count = 1,
						      .from_real_ns = i,
						      .to_real_ns = i,
						      .run = str_of(run) });
	}
	outbox_stats(o, &st);
	assert_int_equal(st.lost, 1000);
	(void)outbox_tick(o);
	read_all(o, &seen, true);
	assert_in_range(seen.loss_frames, 50, 128);
	outbox_close(o);
}

/* ---- kills ------------------------------------------------------------------------------------
 */

struct said {
	uint64_t put, synced;
};

static void put_until_killed(struct said *said, uint64_t seed, uint64_t from)
{
	struct dice d = { seed };
	struct outbox *o = open_outbox(SPOOL * 64, 600);
	if (!o)
		_exit(1);
	for (uint64_t n = from; n < MOST - 1; n++) {
		(void)put_number(o, n, below(&d, 120));
		__atomic_store_n(&said->put, n, __ATOMIC_RELEASE);
		if (!below(&d, 20) && !outbox_sync(o, NULL, NULL))
			said->synced = n;
	}
	(void)pause(); /* who kills it is late */
}

/* Until so many more are put, a minute at most, and some time: in the middle of one. */
static void let_put(const struct said *said, uint64_t until, struct dice *d)
{
	for (int i = 0; i < 60000 && __atomic_load_n(&said->put, __ATOMIC_ACQUIRE) < until; i++)
		(void)usleep(1000);
	(void)usleep((useconds_t)below(d, 10000));
}

static void nothing_durable_is_lost_by_a_kill(void **state)
{
	(void)state;
	struct said *said =
		mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct seen *seen = calloc(1, sizeof *seen);
	unsigned char *promised = calloc(MOST, 1);
	uint64_t from = 1, all = 0;
	for (unsigned round = 0; round < 40 && from < MOST * 3 / 4; round++) {
		struct dice d = { round + 5 };
		*said = (struct said){ .put = from - 1, .synced = from - 1 };
		pid_t pid = fork();
		if (!pid)
			put_until_killed(said, round, from);
		let_put(said, from + below(&d, 20) - 1, &d);
		(void)kill(pid, SIGKILL);
		int status;
		(void)waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
		for (uint64_t n = from; n <= said->synced; n++)
			promised[n] = 1;
		all = said->put;
		from = said->put + 2;
		struct outbox *o = open_outbox(SPOOL * 64, 600);
		assert_non_null(o);
		read_all(o, seen, true);
		outbox_close(o);
	}
	assert_true(all > 100);
	for (uint64_t n = 1; n <= all; n++) {
		assert_true(seen->times[n] <= 1);
		if (promised[n])
			assert_int_equal(seen->times[n], 1);
	}
	assert_int_equal(seen->gaps, 0);
	free(seen);
	free(promised);
	(void)munmap(said, sizeof *said);
}

/* ---- a disk that is really full ----------------------------------------------------------------
 */

static int on_small_disk(void)
{
	struct seen *seen = calloc(1, sizeof *seen);
	struct outbox *o = open_outbox(64u << 20, 8000);
	uint64_t marks = 0, n = 1;
	if (!o)
		return 2;
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 700; i++, n += 3, marks++)
			(void)put_number(o, n, 1500);
		(void)outbox_sync(o, NULL, NULL);
		read_all(o, seen, false);
		the_time += 40 * S;
		(void)outbox_tick(o);
		outbox_rewind(o);
	}
	for (int i = 0; i < 50; i++) {
		the_time += 40 * S;
		(void)outbox_tick(o);
		(void)outbox_sync(o, NULL, NULL);
		read_all(o, seen, true);
	}
	uint64_t got = 0;
	for (uint64_t i = 1; i < n; i++)
		got += seen->times[i] != 0;
	struct outbox_stats st;
	outbox_stats(o, &st);
	bool good = seen->lost_process > 0 && got + seen->lost_process == marks &&
		    st.lost == seen->lost_process;
	if (!good)
		(void)fprintf(stderr, "put %llu, read %llu, told as lost %llu\n",
			      (unsigned long long)marks, (unsigned long long)got,
			      (unsigned long long)seen->lost_process);
	outbox_close(o);
	free(seen);
	return good ? 0 : 1;
}

static void a_full_disk_is_counted_to_the_frame(void **state)
{
	(void)state;
	int status;
	pid_t pid = fork();
	if (!pid)
		_exit(small_disk_mount(at_folder, "size=3m") ? on_small_disk() : 77);
	(void)waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_put_is_read_after_a_sync),
		TEST(a_batch_ends_by_its_size),
		TEST(a_batch_ends_by_its_age),
		TEST(context_may_wait_longer_and_goes_with_the_rest),
		TEST(it_says_when_a_timer_has_to_be_set_anew),
		TEST(the_id_of_the_agent_is_made_once),
		TEST(a_full_spool_keeps_marks_waiting_until_there_is_room),
		TEST(a_full_spool_is_not_asked_all_the_time),
		TEST(what_is_lost_is_counted_exactly_and_told),
		TEST(a_failed_sync_loses_nothing_and_no_number_means_two_things),
		TEST(what_the_daemon_refuses_is_a_gap_and_a_loss),
		TEST(a_batch_may_get_another_number),
		TEST(a_count_outlives_a_kill),
		TEST(more_runs_than_lines_share_one),
		TEST(nothing_durable_is_lost_by_a_kill),
		TEST(a_full_disk_is_counted_to_the_frame),
	};
	return cmocka_run_group_tests_name("agent_outbox", tests, NULL, NULL);
}
