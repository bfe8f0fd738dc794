/* The spool when its writer is killed at any moment, and on a disk that is really full: what was
 * promised is there, what is missing is told, no number means two things. */
/* wrap: fdatasync fsync */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "tests/unit/spool_model.h"
#include "tests/unit/small_disk.h"

#define ROUNDS 100
#define MOST_SEQ 4000000

int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

/* What was written outlives a kill: the disk is spared, and the writer gets further. */
int __wrap_fdatasync(int fd)
{
	(void)fd;
	return 0;
}

int __wrap_fsync(int fd)
{
	(void)fd;
	return 0;
}

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-spool-kill.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return file_remove_tree(folder, NULL);
}

/* What the writer says, in memory that outlives it. */
struct said {
	uint64_t synced;       /* promised to it */
	uint64_t asked, acked; /* acknowledgements that it gave, and that came back */
	uint64_t refused_class[SPOOL_CLASSES], refusing[SPOOL_CLASSES];
};

static void die_if(bool bad)
{
	if (bad)
		_exit(1);
}

static void refused(struct said *said, enum spool_class class, int rc)
{
	die_if(rc != -ENOSPC);
	said->refused_class[class]++;
}

static void write_until_killed(struct said *said, uint64_t seed)
{
	struct dice d = { seed };
	struct spool *s;
	struct spool_item item;
	struct spool_stats st;
	die_if(spool_open(&s, folder, SPOOL_MIN_BYTES, 3000, NULL) != 0);
	for (;;) {
		for (size_t i = below(&d, 20); i; i--) {
			enum spool_class class = model_class(spool_next_seq(s));
			said->refusing[class] = said->refused_class[class] + 1;
			int rc = model_append(s);
			if (rc)
				refused(said, class, rc);
			said->refusing[class] = said->refused_class[class];
		}
		die_if(spool_sync(s, NULL) != 0);
		said->synced = spool_next_seq(s) - 1;
		for (size_t i = below(&d, 30); i; i--)
			die_if(spool_read(s, &item, NULL) < 0);
		spool_stats(s, &st);
		if (st.read_seq == st.acked_seq || below(&d, 3))
			continue;
		said->asked = st.acked_seq + 1 + below(&d, st.read_seq - st.acked_seq);
		die_if(spool_ack(s, said->asked, NULL) != 0);
		said->acked = said->asked;
		if (!below(&d, 3))
			spool_rewind(s);
	}
}

static void killed_after_a_while(struct said *said, struct dice *d)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		write_until_killed(said, roll(d));
	struct timespec t = { .tv_nsec = (long)(500000 + below(d, 12000000)) };
	(void)nanosleep(&t, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status)); /* it found no fault before */
}

/* Which numbers have ever been a gap: they may never come back as a record. */
static unsigned char *gone;

static uint64_t look(struct spool *s)
{
	struct spool_item item;
	uint64_t newly = 0;
	while (spool_read(s, &item, NULL) == 1) {
		if (!item.gap) {
			assert_true(item.seq < MOST_SEQ && !gone[item.seq]);
			model_check(&item);
			continue;
		}
		assert_false(item.damaged);
		for (uint64_t seq = item.first_seq; seq <= item.seq; seq++) {
			assert_int_equal(model_class(seq), SPOOL_CONTEXT);
			newly += !gone[seq];
			gone[seq] = 1;
		}
	}
	spool_rewind(s);
	return newly;
}

static void a_writer_killed_at_any_moment_loses_nothing_it_was_promised(void **state)
{
	(void)state;
	struct said *said =
		mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	gone = calloc(MOST_SEQ, 1);
	assert_true(said != MAP_FAILED && gone);
	struct model m = { .acked = 0 };
	struct dice d = { 2026 };
	uint64_t gaps = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct spool *s = NULL;
		struct spool_stats st;
		killed_after_a_while(said, &d);
		m.synced = said->synced;
		m.acked = said->acked;
		assert_int_equal(spool_open(&s, folder, SPOOL_MIN_BYTES, 3000, NULL), 0);
		model_opened(&m, s);
		spool_stats(s, &st);
		assert_true(st.acked_seq <= said->asked);
		for (int i = 0; i < SPOOL_CLASSES; i++) {
			assert_true(st.refused[i].records >= said->refused_class[i]);
			assert_true(st.refused[i].records <= said->refusing[i]);
			said->refused_class[i] = said->refusing[i] = st.refused[i].records;
		}
		gaps += look(s);
		assert_true(gaps <= st.dropped.records);
		spool_close(s);
	}
	print_message("# %llu synced, %llu acknowledged, %llu dropped\n",
		      (unsigned long long)m.synced, (unsigned long long)m.acked,
		      (unsigned long long)gaps);
	assert_true(m.synced > ROUNDS && m.acked > 0);
	free(gone);
	(void)munmap(said, sizeof *said);
}

/* ---- a file system of 200 KB
 * ---------------------------------------------------------------------- */

static void fill_it(void)
{
	struct model m = { .acked = 0 };
	struct dice d = { 11 };
	struct spool *s = NULL;
	assert_int_equal(spool_open(&s, folder, 1 << 20, 8192, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		model_step(&m, s, &d);
		if (below(&d, 1000))
			continue;
		spool_close(s);
		assert_int_equal(spool_open(&s, folder, 1 << 20, 8192, NULL), 0);
		model_opened(&m, s);
	}
	spool_close(s);
	assert_true(m.refused > 0 && m.dropped_seen > 0);
}

static void a_disk_that_is_full_loses_nothing_either(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (!small_disk_mount(folder, "size=200k"))
			_exit(77);
		fill_it();
		_exit(0);
	}
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
	(void)alarm(110);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_writer_killed_at_any_moment_loses_nothing_it_was_promised, make_folder,
			remove_folder),
		cmocka_unit_test_setup_teardown(a_disk_that_is_full_loses_nothing_either,
						make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
