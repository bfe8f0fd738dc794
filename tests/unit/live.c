/* What live collectors share, in real processes that are killed, end in odd ways, fork, or find no
 * room: the picture on the disk is always whole, and is what had been told by some moment. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "collectors/live_impl.h"
#include "lib/file.h"
#include "lib/num.h"
#include "schema/picture.h"
#include "tests/unit/small_disk.h"

#define OPS 2000000
#define MOVES COPY_H2D
#define ROUNDS 100
#define PATIENCE_S                                                                                 \
	120 /* a slow machine with a sanitizer; a process that waits for ever is found             \
	     */

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

/* Outlives whoever writes it. */
struct told {
	uint64_t begun, done; /* operations: about to be told; told */
	uint64_t pairs;       /* of marks */
	uint64_t stop, flag;
	int64_t begin[OPS], end[OPS];
};

static struct told *told;
static char folder[64];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-live.XXXXXX");
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	(void)setenv("ROIMETER_EXEC", "profiled.test", 1);
	(void)unsetenv("ROIMETER_COLLECT");
	return told != MAP_FAILED && mkdtemp(folder) && !setenv("ROIMETER_LOG", folder, 1) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)munmap(told, sizeof *told);
	return file_remove_tree(folder, NULL);
}

/* ---- inside of the measured process ------------------------------------------------------------
 */

static void start(void)
{
	static const struct live_options o = {
		.collector = "test", .runtime = "t", .observes = 1u << MOVES, .calls = true
	};
	if (live_start(&o))
		_exit(99);
}

/* An operation that has just been; only one thread at a time tells. */
static void tell(int64_t begin, int64_t end)
{
	uint64_t i = told->begun;
	struct flow_op op = { .begin_ns = begin, .end_ns = end, .bytes = 8, .category = MOVES };
	if (i == OPS)
		_exit(98);
	told->begin[i] = begin;
	told->end[i] = end;
	PUT_RELEASE(told->begun, i + 1);
	struct flow *f = live_take();
	if (!f)
		_exit(97);
	op.device = (uint32_t)flow_device(f, "d", "d");
	op.name = (uint32_t)flow_name(f, "k", 1);
	flow_op(f, &op);
	live_give(f);
	PUT_RELEASE(told->done, i + 1);
}

static void spin(int64_t ns)
{
	for (int64_t until = live_now() + ns; live_now() < until;)
		continue;
}

static void tell_one(void)
{
	int64_t begin = live_now();
	spin(1000);
	tell(begin, live_now());
}

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

static void entry_of_ten(void)
{
	ROIMETER_BEGIN();
	for (int i = 0; i < 10; i++)
		tell_one();
	ROIMETER_END();
}

/* ---- outside ------------------------------------------------------------------------------------
 */

static pid_t first; /* the process that runs the tests */

/* LeakSanitizer asks. Processes under test leave by exit with all that the tests before them hold,
 * and a forked child with its parent's flow, which it never touches. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return getpid() != first;
}

typedef void body(void);

static pid_t launch(body *of)
{
	memset(told, 0, offsetof(struct told, begin));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		start();
		of();
		exit(0);
	}
	return pid;
}

/* How it ended; a process that does not end by itself is a failure. */
static int await(pid_t pid)
{
	int status = 0;
	for (int ms = 0; waitpid(pid, &status, WNOHANG) == 0; ms += 2) {
		if (ms > PATIENCE_S * 1000) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			fail_msg("the process did not end");
		}
		(void)poll(NULL, 0, 2);
	}
	return status;
}

static void await_value(const uint64_t *of, uint64_t at_least)
{
	for (int ms = 0; GET_ACQUIRE(*of) < at_least; ms++) {
		assert_true(ms < PATIENCE_S * 1000);
		(void)poll(NULL, 0, 1);
	}
}

static int by_suffix(const struct dirent *d)
{
	size_t n = strlen(d->d_name), m = strlen(PICTURE_SUFFIX);
	return d->d_name[0] != '.' && n > m && strcmp(d->d_name + n - m, PICTURE_SUFFIX) == 0;
}

struct seen {
	struct arena arena;
	struct picture p;
	size_t files;
};

/* The first picture there is; all of them must be whole. */
static void look(struct seen *s)
{
	struct dirent **names;
	*s = (struct seen){ .files = 0 };
	int n = scandir(folder, &names, by_suffix, alphasort);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		char path[512];
		struct buf b = { .max = PICTURE_MAX_BYTES };
		struct err err = { "" };
		struct picture p;
		(void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
		assert_int_equal(file_read(&b, path, &err), 0);
		if (picture_get(&p, &s->arena, path, b.data, b.len, &err))
			fail_msg("%s", err.text);
		if (!s->files++)
			s->p = p;
		buf_done(&b);
		free(names[i]);
	}
	free(names);
}

static void empty_folder(void)
{
	(void)file_remove_tree(folder, NULL);
	assert_int_equal(mkdir(folder, 0700), 0);
}

static int begin_empty(void **state)
{
	(void)state;
	empty_folder();
	return 0;
}

/* Sums of the first operations, computed from the windows that the picture itself shows. */
static void assert_consistent(const struct picture *p, uint64_t least, uint64_t most)
{
	double whole = 0, inside = 0, touching = 0, wall = 0;
	const struct nums *w = &p->windows;
	int64_t base = (int64_t)p->base_s * 1000000000 + (int64_t)p->base_ns;
	uint64_t n = (uint64_t)p->whole.ops.items[MOVES];
	size_t at = 0;
	assert_in_range(n, least, most);
	assert_true(p->late == 0);
	assert_true(!(p->windows_closed_ns > 0));
	for (size_t i = 0; i < w->n; i += 2)
		wall += w->items[i + 1] - w->items[i];
	for (uint64_t i = 0; i < n; i++) {
		double begin = (double)(told->begin[i] - base), end = (double)(told->end[i] - base),
		       x = 0;
		while (at + 1 < w->n && w->items[at + 1] <= begin)
			at += 2;
		for (size_t k = at; k + 1 < w->n && w->items[k] < end; k += 2)
			x += fmax(0, fmin(end, w->items[k + 1]) - fmax(begin, w->items[k]));
		whole += end - begin;
		inside += x;
		touching += x > 0;
	}
	assert_true(p->whole.time_ns.items[MOVES] == whole && p->whole.op_sum_ns == whole);
	assert_true(p->whole.busy_ns == whole); /* one after the other */
	assert_true(p->whole.bytes.items[MOVES] == 8 * (double)n);
	if (p->found != YES)
		return;
	assert_true(p->roi.ops.items[MOVES] == touching);
	assert_true(p->roi.time_ns.items[MOVES] == inside && p->roi.busy_ns == inside);
	assert_true(p->wall_ns == wall);
}

static void assert_ended(int end, bool final)
{
	struct seen s;
	look(&s);
	assert_true(s.files > 0);
	assert_int_equal(s.p.final, end);
	assert_consistent(&s.p, final ? told->done : 0, told->begun);
	arena_free(&s.arena);
	empty_folder();
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
	(void)puts("# gcc's ASan leaves its allocator locked in a child that is forked while a thread allocates");
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
