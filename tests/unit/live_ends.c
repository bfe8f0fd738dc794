/* What live collectors share, in real processes that end in odd ways, or fork: the picture is
 * complete where the process could still write it, and a child leaves its parent's alone. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/time.h>

#include "tests/unit/live_fixture.h"

/* ThreadSanitizer holds signals back, has a thread of its own, makes vfork a fork, and refuses
 * threads in a child of a process with threads. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define NOT_UNDER_TSAN(why)                                                                        \
	do {                                                                                       \
		print_message("left out with ThreadSanitizer: %s\n", why);                         \
		skip();                                                                            \
	} while (0)
#else
#define NOT_UNDER_TSAN(why) (void)0
#endif

/* ---- ends ---------------------------------------------------------------------------------------
 */

static void *tells_and_ends(void *unused)
{
	(void)unused;
	entry_of_ten();
	return NULL;
}

static void main_leaves_first(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, tells_and_ends, NULL))
		_exit(96);
	pthread_exit(NULL);
}

static void the_process_ends_with_the_last_thread_of_the_program(void **state)
{
	(void)state;
	NOT_UNDER_TSAN("its own thread stays");
	assert_int_equal(await(launch(main_leaves_first)), 0);
	assert_ended(YES, true);
}

static void waits_for_terminate(void)
{
	entry_of_ten();
	PUT_RELEASE(told->flag, 1);
	for (;;)
		(void)pause();
}

static void terminated_is_complete(void **state)
{
	(void)state;
	pid_t pid = launch(waits_for_terminate);
	await_value(&told->flag, 1);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(WTERMSIG(await(pid)), SIGTERM);
	assert_ended(YES, true);
}

static void ends_here(int number)
{
	exit(number == SIGUSR1 ? 7 : 1);
}

/* Whatever it is in the middle of. It marks only before, so that nothing is in malloc's hands then.
 */
static void tells_until_it_is_told(void)
{
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	(void)signal(SIGUSR1, ends_here);
	PUT_RELEASE(told->flag, 1);
	while (told->begun < OPS) {
		int64_t now = live_now();
		tell(now, now + 1);
	}
	(void)pause();
}

static void a_signal_handler_that_exits_does_not_wait_for_itself(void **state)
{
	unsigned seed = 7, finals = 0;
	(void)state;
	NOT_UNDER_TSAN("signals come later");
	for (int i = 0; i < 40; i++) {
		pid_t pid = launch(tells_until_it_is_told);
		await_value(&told->flag, 1);
		struct timespec t = { .tv_nsec = rand_r(&seed) % 2000000 };
		(void)nanosleep(&t, NULL);
		assert_int_equal(kill(pid, SIGUSR1), 0);
		assert_int_equal(WEXITSTATUS(await(pid)), 7);
		struct seen s;
		look(&s);
		assert_int_equal(s.files, 1);
		finals += s.p.final == YES;
		assert_true(s.p.whole.ops.items[MOVES] >= 10);
		assert_true(s.p.whole.ops.items[MOVES] <= (double)told->begun);
		arena_free(&s.arena);
		empty_folder();
	}
	print_message("%u of 40 could still write their last picture\n", finals);
}

/* Deterministic: the handler comes while the lock is held. */
static void exits_with_the_lock(void)
{
	entry_of_ten();
	(void)live_write(LIVE_MORE);
	(void)signal(SIGUSR1, ends_here);
	(void)live_take();
	(void)raise(SIGUSR1);
}

static void exit_with_the_lock_leaves_the_picture_before(void **state)
{
	(void)state;
	NOT_UNDER_TSAN("signals come later");
	assert_int_equal(WEXITSTATUS(await(launch(exits_with_the_lock))), 7);
	assert_ended(NO, true);
}

static void marks_here(int number)
{
	(void)number;
	if (told->pairs >= 400)
		return;
	ROIMETER_BEGIN();
	spin(2000);
	ROIMETER_END();
	told->pairs++;
}

static void marks_in_a_handler(void)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } };
	entry_of_ten();
	told->pairs = 1;
	(void)signal(SIGALRM, marks_here);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	for (int64_t until = live_now() + INT64_C(30000000000);
	     told->pairs < 400 && live_now() < until;) {
		int64_t now = live_now();
		tell(now, now + 20);
		for (int i = 0; i < 20; i++) { /* so that the lock is held most of the time */
			struct flow *f = live_take();
			spin(500);
			live_give(f);
		}
	}
	(void)signal(SIGALRM, SIG_IGN);
	if (live.marks_lost)
		_exit(95);
}

static void marks_of_a_handler_that_comes_upon_the_lock_are_told_later(void **state)
{
	struct seen s;
	(void)state;
	NOT_UNDER_TSAN("signals come later");
	assert_int_equal(await(launch(marks_in_a_handler)), 0);
	look(&s);
	assert_int_equal(s.files, 1);
	assert_int_equal(s.p.entries, told->pairs);
	assert_int_equal(s.p.late_marks, 0);
	arena_free(&s.arena);
	assert_ended(YES, true);
}

/* ---- children -----------------------------------------------------------------------------------
 */

static void forks(void)
{
	entry_of_ten();
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0) { /* nobody measures here, whatever it calls */
			if (live_take())
				_exit(1);
			live_note("not heard");
			live_refuse("failed", "not heard");
			ROIMETER_BEGIN();
			ROIMETER_END();
			exit(i == 0 ? 0 : 3);
		}
		int status = 0;
		if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != (i == 0 ? 0 : 3))
			_exit(94);
	}
	entry_of_ten();
}

static void a_forked_child_leaves_the_picture_alone(void **state)
{
	struct seen s;
	(void)state;
	assert_int_equal(await(launch(forks)), 0);
	look(&s);
	assert_int_equal(s.files, 1);
	assert_int_equal(s.p.notes.n, 0);
	arena_free(&s.arena);
	assert_ended(YES, true);
}

static void child_starts_anew(void)
{
	entry_of_ten();
	if (fork() == 0) {
		start();
		ROIMETER_BEGIN();
		ROIMETER_END();
		exit(0);
	}
	(void)wait(NULL);
}

static void a_forked_child_that_starts_has_its_own_picture(void **state)
{
	struct seen s;
	(void)state;
	NOT_UNDER_TSAN("no threads in a forked child");
#ifdef __SANITIZE_ADDRESS__
	(void)puts("# gcc's ASan leaves its allocator locked in a child that is forked while a "
		   "thread allocates");
	skip();
#endif
	assert_int_equal(await(launch(child_starts_anew)), 0);
	look(&s);
	assert_int_equal(s.files, 2);
	arena_free(&s.arena);
	empty_folder();
}

/* Its memory is the parent's until it calls exec. */
static void vforks(void)
{
	entry_of_ten();
	pid_t pid = vfork();
	if (pid == 0) {
		(void)raise(SIGTERM);
		_exit(1);
	}
	int status = 0;
	if (waitpid(pid, &status, 0) != pid || WTERMSIG(status) != SIGTERM)
		_exit(94);
	entry_of_ten();
}

static void a_child_of_vfork_that_is_terminated_does_not_end_its_parent(void **state)
{
	(void)state;
	NOT_UNDER_TSAN("vfork is fork");
	assert_int_equal(await(launch(vforks)), 0);
	assert_ended(YES, true);
}

int main(void)
{
	first = getpid();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_process_ends_with_the_last_thread_of_the_program,
				       begin_empty),
		cmocka_unit_test_setup(terminated_is_complete, begin_empty),
		cmocka_unit_test_setup(a_signal_handler_that_exits_does_not_wait_for_itself,
				       begin_empty),
		cmocka_unit_test_setup(exit_with_the_lock_leaves_the_picture_before, begin_empty),
		cmocka_unit_test_setup(marks_of_a_handler_that_comes_upon_the_lock_are_told_later,
				       begin_empty),
		cmocka_unit_test_setup(a_forked_child_leaves_the_picture_alone, begin_empty),
		cmocka_unit_test_setup(a_forked_child_that_starts_has_its_own_picture, begin_empty),
		cmocka_unit_test_setup(a_child_of_vfork_that_is_terminated_does_not_end_its_parent,
				       begin_empty),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
