/* What live collectors share, in real processes that are killed, find no room, or have many
 * threads: the picture on the disk is always whole, and is what had been told by some moment. How
 * they end by themselves is in live_ends.c. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/resource.h>

#include "tests/unit/live_fixture.h"
#include "tests/unit/small_disk.h"

#define ROUNDS 100

static void *teller(void *unused)
{
	(void)unused;
	while (!GET(told->stop) && told->begun < OPS)
		tell_one();
	return NULL;
}

static void *marks(void *unused)
{
	(void)unused;
	while (!GET(told->stop)) {
		ROIMETER_BEGIN();
		spin(20000);
		ROIMETER_EXCLUDE_BEGIN();
		spin(3000);
		ROIMETER_EXCLUDE_END();
		spin(5000);
		ROIMETER_END();
		(void)poll(NULL, 0, 1);
	}
	return NULL;
}

/* ---- killed -------------------------------------------------------------------------------------
 */

static void busy_with_all(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, i ? marks : teller, NULL))
			_exit(96);
	for (;;) {
		(void)live_write(LIVE_MORE);
		PUT_RELEASE(told->flag, told->flag + 1);
	}
}

static void a_kill_leaves_a_whole_picture_of_some_moment(void **state)
{
	unsigned seed = 20260930, rounds = ROUNDS;
	(void)state;
	for (unsigned i = 0; i < rounds; i++) {
		pid_t pid = launch(busy_with_all);
		await_value(&told->flag, 1); /* this one is on the disk from now on */
		struct seen before, after;
		(void)poll(NULL, 0, rand_r(&seed) % 20);
		look(&before);
		struct timespec t = { .tv_nsec = rand_r(&seed) % 1000000 };
		(void)nanosleep(&t, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_true(WIFSIGNALED(await(pid)));
		look(&after);
		assert_int_equal(before.files, 1);
		assert_int_equal(after.files, 1);
		assert_int_equal(after.p.final, NO);
		assert_consistent(&before.p, 0, told->begun);
		assert_consistent(&after.p, (uint64_t)before.p.whole.ops.items[MOVES], told->begun);
		arena_free(&before.arena);
		arena_free(&after.arena);
		empty_folder();
	}
}

static void aborts(void)
{
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	(void)signal(SIGABRT, SIG_DFL);
	abort();
}

static void abort_leaves_what_was_written(void **state)
{
	(void)state;
	assert_int_equal(WTERMSIG(await(launch(aborts))), SIGABRT);
	assert_ended(NO, true);
}

/* ---- no room ------------------------------------------------------------------------------------
 */

static size_t links(const char *in, char *text, size_t room)
{
	struct dirent **names;
	size_t found = 0;
	int n = scandir(in, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char path[512];
		(void)snprintf(path, sizeof path, "%s/%s", in, names[i]->d_name);
		ssize_t got = readlink(path, text, room - 1);
		if (got > 0) {
			text[got] = 0;
			found++;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return found;
}

static void comes_upon_the_limit(void)
{
	struct rlimit limit = { 64, RLIM_INFINITY };
	char text[256];
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	if (links(folder, text, sizeof text) != 1 || !strstr(text, "could not be written: "))
		_exit(93);
	limit.rlim_cur = RLIM_INFINITY;
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	(void)live_write(LIVE_MORE);
	if (links(folder, text, sizeof text))
		_exit(92);
}

static void past_the_limit_for_files_it_is_said_until_it_works_again(void **state)
{
	(void)state;
	assert_int_equal(await(launch(comes_upon_the_limit)), 0);
	assert_ended(YES, true);
}

static void fill(const char *in)
{
	char path[256];
	static char block[4096];
	(void)snprintf(path, sizeof path, "%s/full", in);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	memset(block, 1, sizeof block);
	while (fd >= 0 && write(fd, block, sizeof block) > 0)
		continue;
	(void)close(fd);
}

/* Reads the picture itself: outside nobody sees this disk. */
static uint64_t ops_on_disk(void)
{
	struct seen s;
	look(&s);
	uint64_t n = s.files == 1 ? (uint64_t)s.p.whole.ops.items[MOVES] : UINT64_MAX;
	arena_free(&s.arena);
	return n;
}

static void fills_its_disk(void)
{
	char text[256], path[256];
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	fill(folder);
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	if (ops_on_disk() != 10 || links(folder, text, sizeof text) > 1)
		_exit(91);
	(void)snprintf(path, sizeof path, "%s/full", folder);
	(void)unlink(path);
	(void)live_write(LIVE_MORE);
	if (ops_on_disk() != 20 || links(folder, text, sizeof text))
		_exit(90);
}

static void a_full_disk_keeps_the_picture_before(void **state)
{
	(void)state;
	memset(told, 0, offsetof(struct told, begin));
	pid_t pid = fork();
	if (pid == 0) {
		if (!small_disk_mount(folder, "size=2m"))
			_exit(77);
		start();
		fills_its_disk();
		exit(0);
	}
	int status = await(pid);
	empty_folder();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no file system can be mounted here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void loses_its_folder(void)
{
	char away[128];
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	(void)snprintf(away, sizeof away, "%s.away", folder);
	if (rename(folder, away))
		_exit(89);
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	int fd = open(folder, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	(void)close(fd);
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	if (unlink(folder) || rename(away, folder))
		_exit(88);
}

static void a_folder_that_is_gone_for_a_while_is_no_harm(void **state)
{
	(void)state;
	assert_int_equal(await(launch(loses_its_folder)), 0);
	assert_ended(YES, true);
}

/* ---- many threads -------------------------------------------------------------------------------
 */

static pthread_mutex_t one_tells = PTHREAD_MUTEX_INITIALIZER;

static void *short_thread(void *unused)
{
	(void)unused;
	ROIMETER_BEGIN();
	(void)pthread_mutex_lock(&one_tells);
	tell_one();
	(void)pthread_mutex_unlock(&one_tells);
	ROIMETER_END();
	return NULL;
}

static void thousands_of_threads(void)
{
	for (int round = 0; round < 40; round++) {
		pthread_t t[50];
		int n = 0;
		while (n < 50 && pthread_create(&t[n], NULL, short_thread, NULL) == 0)
			n++;
		while (n)
			(void)pthread_join(t[--n], NULL);
	}
}

static void threads_come_and_go(void **state)
{
	(void)state;
	assert_int_equal(await(launch(thousands_of_threads)), 0);
	assert_ended(YES, true);
}

/* END on another thread than BEGIN: from then on all mark together. */
static void *begins(void *unused)
{
	(void)unused;
	ROIMETER_BEGIN();
	PUT_RELEASE(told->flag, 1);
	return NULL;
}

static void marks_together(void)
{
	pthread_t t[4];
	(void)pthread_create(&t[0], NULL, begins, NULL);
	(void)pthread_join(t[0], NULL);
	ROIMETER_END();
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, i ? marks : teller, NULL))
			_exit(96);
	for (int i = 0; i < 10; i++) {
		(void)live_write(LIVE_MORE);
		(void)poll(NULL, 0, 5);
	}
	PUT(told->stop, 1);
	for (int i = 0; i < 4; i++)
		(void)pthread_join(t[i], NULL);
}

static void threads_that_mark_together_are_told_while_operations_come(void **state)
{
	(void)state;
	assert_int_equal(await(launch(marks_together)), 0);
	assert_ended(YES, true);
}

static uint32_t heard; /* BEGINs of the other collector */

static void other_collector(const struct roimeter_watched *m)
{
	heard += m->what_ == ROIMETER_WATCH_BEGIN_;
}

static void stretch(int what, int64_t begin, int64_t end)
{
	struct roimeter_watched m = { .what_ = what, .at_ns_ = begin, .until_ns_ = end };
	roimeter_api_1.tell_(other_collector, &m);
}

/* 3000 stretches of I/O, each 2 us and a gap of as much; one of MPI over all of them. */
static void another_tells(void)
{
	struct roimeter_watched will = { .what_ = ROIMETER_WATCH_TELLS_,
					 .count_ = 3u << ROIMETER_WATCH_HOST_IO_ };
	if (roimeter_api_1.watch_(other_collector) || *roimeter_api_1.watchers_() != 2)
		_exit(96);
	roimeter_api_1.tell_(other_collector, &will);
	ROIMETER_BEGIN();
	int64_t begin = live_now();
	spin(13000000);
	for (int64_t i = 0; i < 3000; i++)
		stretch(ROIMETER_WATCH_HOST_IO_, begin + 4000 * i, begin + 4000 * i + 2000);
	stretch(ROIMETER_WATCH_HOST_MPI_, begin, begin + 12000000);
	ROIMETER_END();
	if (heard != 1 || roimeter_api_1.unwatch_(other_collector) ||
	    *roimeter_api_1.watchers_() != 1)
		_exit(95);
	entry_of_ten();
	if (heard != 1)
		_exit(94);
}

static void what_another_collector_tells_of_the_host_is_in_the_gap(void **state)
{
	(void)state;
	struct seen s;
	assert_int_equal(await(launch(another_tells)), 0);
	look(&s);
	assert_true(s.p.gap.io_ns == 3000 * 2000);
	assert_true(s.p.gap.mpi_ns == 3000 * 2000);
	assert_true(s.p.late_calls == 0);
	arena_free(&s.arena);
}

int main(void)
{
	first = getpid();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_kill_leaves_a_whole_picture_of_some_moment, begin_empty),
		cmocka_unit_test_setup(abort_leaves_what_was_written, begin_empty),
		cmocka_unit_test_setup(past_the_limit_for_files_it_is_said_until_it_works_again,
				       begin_empty),
		cmocka_unit_test_setup(a_full_disk_keeps_the_picture_before, begin_empty),
		cmocka_unit_test_setup(a_folder_that_is_gone_for_a_while_is_no_harm, begin_empty),
		cmocka_unit_test_setup(threads_come_and_go, begin_empty),
		cmocka_unit_test_setup(what_another_collector_tells_of_the_host_is_in_the_gap,
				       begin_empty),
		cmocka_unit_test_setup(threads_that_mark_together_are_told_while_operations_come,
				       begin_empty),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
