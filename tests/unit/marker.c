/* wrap: clock_gettime dlsym */
/* The markers, from the marks of a process to what its log says. The library is linked into this
 * program; each case marks in a child. One case plays with the clock: clock_gettime is ours. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/syscall.h>

#include "tests/unit/marker_run.h"

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

static uint64_t played_ns;   /* 0: the real clock */
static uint64_t played_seed; /* how far the next reading is */

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	if (!played_ns)
		return __real_clock_gettime(id, ret);
	played_seed = played_seed * 6364136223846793005u + 1442695040888963407u;
	played_ns += 1 + (played_seed >> 33) % (1u << (played_seed >> 60));
	ret->tv_sec = (time_t)(played_ns / 1000000000);
	ret->tv_nsec = (long)(played_ns % 1000000000);
	return 0;
}

/* And the library must not find the way around it. */
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

static bool playing;

void *__wrap_dlsym(void *library, const char *name)
{
	return playing ? NULL : __real_dlsym(library, name);
}

/* ---- counting ------------------------------------------------------------------------------- */

static void everything_once(struct shared *shared)
{
	(void)shared;
	ROIMETER_END();           /* no BEGIN: counted */
	ROIMETER_EXCLUDE_BEGIN(); /* outside: counted, means nothing */
	ROIMETER_EXCLUDE_END();
	ROIMETER_STEP();
	for (int i = 0; i < 3; i++) {
		ROIMETER_BEGIN();
		ROIMETER_BEGIN_SYNC(); /* nested: only the outermost counts */
		ROIMETER_EXCLUDE_BEGIN();
		ROIMETER_EXCLUDE_BEGIN();
		ROIMETER_EXCLUDE_END();
		ROIMETER_EXCLUDE_END();
		ROIMETER_STEP();
		ROIMETER_END();
		ROIMETER_PHASE_BEGIN("outer");
		ROIMETER_PHASE_BEGIN("inner");
		ROIMETER_PHASE_END();
		ROIMETER_PHASE_END();
		ROIMETER_EXCLUDE_BEGIN();
		ROIMETER_EXCLUDE_END();
		ROIMETER_STEP();
		ROIMETER_END();
	}
}

static void marks_are_counted(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, everything_once);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->n_entries, 3);
	assert_int_equal(log->begun, 3);
	assert_int_equal(log->open, 0);
	assert_int_equal(log->entries[0].excludes, 2);
	assert_int_equal(log->unmatched_end, 1);
	assert_int_equal(log->unmatched_exclude, 1);
	assert_int_equal(log->unmatched_phase, 0);
	assert_int_equal(log->unmatched_step, 1);
	assert_int_equal(log->syncs, 3);
	assert_int_equal(log->syncs_missing, 3); /* there is no device library in this program */
	assert_int_equal(log->syncs_failed, 0);
	assert_true(log->has_steps);
	assert_int_equal(log->steps, 6);
	assert_int_equal(log->n_phases, 2);
	assert_string_equal(log->phases[0].name, "outer");
	assert_int_equal(log->phases[1].count, 3);
	assert_true(log->phases[0].total_ns >= log->phases[1].total_ns);
	assert_int_equal(log->threads, 1);
	assert_int_equal(log->marks, 3 + 3 + 2 * 6 + 6 + 2 * 6);
	assert_true(log->mark_cost_ns > 0 && log->mark_cost_ns < 10000);
	assert_non_null(log->stream);
	assert_null(log->parent);
	assert_string_equal(log->argv.items[log->argv.n - 1], "one two");
	trial_done(&t);
}

static void phases_left_open(struct shared *shared)
{
	(void)shared;
	ROIMETER_PHASE_BEGIN("outside");
	ROIMETER_PHASE_END();
	ROIMETER_BEGIN();
	ROIMETER_PHASE_END();
	ROIMETER_PHASE_BEGIN("open at the end of its entry");
	ROIMETER_EXCLUDE_BEGIN();
	ROIMETER_END();
	ROIMETER_BEGIN();
	char name[80];
	for (int i = 0; i < 100; i++) { /* more names than there is room for, and too long */
		(void)snprintf(name, sizeof name,
			       "%d is a name of which the end is cut, \xc3\xa4\xc3\xa4\xc3\xa4", i);
		ROIMETER_PHASE_BEGIN(name);
		ROIMETER_PHASE_END();
	}
	ROIMETER_END();
}

static void what_is_open_closes_with_its_entry(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, phases_left_open);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->n_entries, 2);
	assert_int_equal(log->entries[0].excludes, 1);
	assert_true(log->entries[0].excluded_ns > 0);
	assert_int_equal(log->entries[1].excluded_ns, 0);
	assert_int_equal(log->unmatched_phase, 3);
	assert_int_equal(log->n_phases, MARKLOG_PHASES);
	uint64_t count = 0;
	for (size_t i = 0; i < log->n_phases; i++) {
		count += log->phases[i].count;
		assert_null(strstr(log->phases[i].name, "\xef\xbf\xbd")); /* no half character */
	}
	assert_int_equal(count, 101);
	assert_string_equal(log->phases[MARKLOG_PHASES - 1].name, "(other phases)");
	trial_done(&t);
}

/* ---- time ----------------------------------------------------------------------------------- */

#define TIMED 10

static void timed_beside(struct shared *shared)
{
	ROIMETER_BEGIN();
	ROIMETER_END(); /* attaching is not in the way of what follows */
	for (int i = 0; i < TIMED; i++) {
		ROIMETER_BEGIN();
		int64_t a = own_clock_ns();
		spin_us(5000);
		int64_t before_b = own_clock_ns();
		ROIMETER_EXCLUDE_BEGIN();
		int64_t b = own_clock_ns();
		spin_us(500);
		int64_t c = own_clock_ns();
		ROIMETER_EXCLUDE_END();
		int64_t after_c = own_clock_ns();
		spin_us(1000);
		int64_t before_d = own_clock_ns();
		ROIMETER_STEP();
		int64_t d = own_clock_ns();
		ROIMETER_END();
		shared->own_ns[i] = d - a - (c - b);
		shared->least_ns[i] = before_d - a - (after_c - before_b);
	}
}

/* Whoever takes the processor away between two readings spoils an entry, so a third has to fit. */
static void check_times(const char *clock)
{
	(void)setenv("ROIMETER_CLOCK", clock, 1);
	struct trial t;
	trial_run(&t, timed_beside);
	(void)unsetenv("ROIMETER_CLOCK");
	const struct roi_log *log = trial_log(&t);
	assert_string_equal(log->clock, clock);
	assert_int_equal(log->n_entries, 1 + TIMED);
	assert_int_equal(log->steps, TIMED);
	int close = 0;
	double least_sum =
		0; /* so long the steps are for certain, whenever the processor is away */
	for (int i = 0; i < TIMED; i++) {
		const struct roi_entry *e = &log->entries[1 + i];
		double net = (double)(e->end_ns - e->begin_ns) - (double)e->excluded_ns;
		double own = (double)t.shared->own_ns[i];
		close += fabs(net - own) < 0.001 * own;
		least_sum += (double)t.shared->least_ns[i];
	}
	assert_true(close >= TIMED / 3);
	assert_true((double)log->step_sum_ns <= (double)net_ns(log) + 1000);
	assert_true((double)log->step_sum_ns > least_sum * 0.999);
	assert_true(log->step_min_ns > 5990000);
	assert_true(log->clock_error_ns < 1000000);
	int64_t now = own_clock_ns();
	assert_true(log->first_begin_ns < now && log->last_end_ns < now);
	assert_true(now - log->first_begin_ns < INT64_C(20000000000));
	int64_t real = log->last_end_real - log->first_begin_real;
	int64_t mono = log->last_end_ns - log->first_begin_ns;
	assert_true(llabs(real - mono) < 1000000);
	trial_done(&t);
}

static void times_are_those_of_the_program(void **state)
{
	(void)state;
	check_times("monotonic");
#if defined(__x86_64__)
	check_times("tsc");
#endif
}

/* ---- many ----------------------------------------------------------------------------------- */

#define MANY 1000000

struct wanted {
	uint64_t net, excluded, min, max;
};

/* The clock moves only when it is read, so what each entry must be is known exactly: this
 * program reads the clock around the same readings. */
static void many_entries(struct shared *shared)
{
	(void)setenv("ROIMETER_CLOCK", "monotonic", 1);
	playing = true;
	ROIMETER_BEGIN();
	ROIMETER_END();
	played_ns = (uint64_t)own_clock_ns() + 1;
	uint64_t *v = shared->values;
	v[2] = UINT64_MAX;
	for (int i = 1; i < MANY; i++) {
		ROIMETER_BEGIN();
		uint64_t begin = played_ns, excluded = 0;
		if (i % 3 == 0) {
			ROIMETER_EXCLUDE_BEGIN();
			uint64_t from = played_ns;
			ROIMETER_EXCLUDE_END();
			excluded = played_ns - from;
		}
		/* The END's own reading comes first; a check of the clock may read on. */
		uint64_t seed = played_seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t end = played_ns + 1 + (seed >> 33) % (1u << (seed >> 60));
		ROIMETER_END();
		uint64_t net = end - begin - excluded;
		v[0] += net;
		v[1] += excluded;
		v[2] = net < v[2] ? net : v[2];
		v[3] = net > v[3] ? net : v[3];
	}
	played_ns = 0;
	exit(0);
}

static void many_entries_need_no_more_room(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, many_entries);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->begun, MANY);
	assert_int_equal(log->n_entries + log->folded, MANY);
	assert_true(log->folded > MANY - MARKLOG_RECORDS);
	struct stat st;
	assert_int_equal(stat(log->file, &st), 0);
	assert_true(st.st_size < 300000);

	uint64_t first = (uint64_t)(log->entries[0].end_ns - log->entries[0].begin_ns);
	uint64_t excluded = log->folded_excluded_ns, excludes = log->folded_excludes;
	uint64_t least = log->folded_min_ns, most = log->folded_max_ns, binned = 0;
	for (size_t i = 1; i < log->n_entries; i++) {
		const struct roi_entry *e = &log->entries[i];
		uint64_t net = (uint64_t)(e->end_ns - e->begin_ns) - e->excluded_ns;
		excluded += e->excluded_ns;
		excludes += e->excludes;
		least = net < least ? net : least;
		most = net > most ? net : most;
	}
	for (size_t i = 0; i < ROI_BINS; i++)
		binned += log->folded_bins[i];
	assert_int_equal(net_ns(log) - first, t.shared->values[0]);
	assert_int_equal(excluded, t.shared->values[1]);
	assert_int_equal(excludes, (MANY - 1) / 3);
	assert_int_equal(least, t.shared->values[2]);
	assert_int_equal(most, t.shared->values[3]);
	assert_int_equal(binned, log->folded);
	/* In order, first and last kept. */
	assert_int_equal(log->entries[0].begin_ns, log->first_begin_ns);
	assert_int_equal(log->entries[log->n_entries - 1].end_ns, log->last_end_ns);
	trial_done(&t);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void end_inside(struct shared *shared)
{
	for (int i = 0; i < 5; i++) {
		ROIMETER_BEGIN();
		ROIMETER_END();
	}
	ROIMETER_BEGIN();
	ROIMETER_EXCLUDE_BEGIN();
	ROIMETER_STEP();
	switch (shared->values[0]) {
	case 0:
		exit(3);
	case 1:
		_exit(3);
	case 2:
		(void)signal(SIGABRT, SIG_DFL);
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		abort();
	default:
		(void)raise(SIGKILL);
	}
}

static void nothing_is_lost_however_it_ends(void **state)
{
	(void)state;
	for (uint64_t how = 0; how < 4; how++) {
		struct trial t;
		trial_prepare(&t);
		t.shared->values[0] = how;
		pid_t pid = trial_start(&t, end_inside);
		assert_int_equal(waitpid(pid, &t.status, 0), pid);
		assert_int_equal(WIFSIGNALED(t.status), how >= 2);
		trial_read(&t);
		const struct roi_log *log = trial_log(&t);
		assert_int_equal(log->n_entries, 5);
		assert_int_equal(log->begun, 6);
		assert_int_equal(log->open, 1);
		assert_true(log->exclude_open);
		assert_int_equal(log->steps, 1);
		trial_done(&t);
	}
}

static void pairs_until_killed(struct shared *shared)
{
	for (;;) {
		ROIMETER_BEGIN();
		if (shared->values[0])
			spin_us((int)shared->values[0]);
		ROIMETER_EXCLUDE_BEGIN();
		ROIMETER_EXCLUDE_END();
		ROIMETER_END();
		__atomic_store_n(&shared->done, shared->done + 1, __ATOMIC_RELEASE);
	}
}

/* Killed at any moment: what was finished is there, whole, and at most one more. */
static void a_hundred_kills(void **state)
{
	(void)state;
	unsigned seed = 20261129;
	for (int round = 0; round < 100; round++) {
		struct trial t;
		trial_prepare(&t);
		t.shared->values[0] = round % 4 == 0 ? 50 : 0; /* mostly inside, or anywhere */
		pid_t pid = trial_start(&t, pairs_until_killed);
		while (!__atomic_load_n(&t.shared->done, __ATOMIC_ACQUIRE))
			(void)usleep(100);
		(void)usleep((unsigned)rand_r(&seed) % 1500);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &t.status, 0), pid);
		trial_read(&t);
		const struct roi_log *log = trial_log(&t);
		uint64_t finished = log->n_entries + log->folded;
		assert_true(finished == t.shared->done || finished == t.shared->done + 1);
		assert_int_equal(log->overflow, 0);
		assert_true(log->open <= 1);
		assert_int_equal(log->begun, finished + log->open);
		for (size_t i = 0; i < log->n_entries; i++)
			assert_int_equal(log->entries[i].excludes, 1);
		assert_int_equal(log->folded_excludes, log->folded);
		trial_done(&t);
	}
}

/* ---- more than one process ------------------------------------------------------------------ */

static const struct roi_log *log_of(const struct trial *t, pid_t pid, const char *generation)
{
	char text[16];
	(void)snprintf(text, sizeof text, "%ld", (long)pid);
	for (size_t i = 0; i < t->logs.n; i++) {
		const struct roi_log *log = t->logs.items[i];
		if (!strcmp(log->pid, text) && !strcmp(strrchr(log->stream, '.'), generation))
			return log;
	}
	fail_msg("no log of process %s, generation %s", text, generation);
	return NULL;
}

static void fork_inside(struct shared *shared)
{
	ROIMETER_BEGIN();
	ROIMETER_END();
	ROIMETER_BEGIN();
	ROIMETER_EXCLUDE_BEGIN();
	/* A bare clone, which no handler of pthread_atfork hears of, or fork(). */
	pid_t pid = shared->values[0] ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		ROIMETER_END(); /* nothing is open here */
		ROIMETER_BEGIN();
		ROIMETER_END();
		_exit(0);
	}
	shared->values[1] = (uint64_t)pid;
	shared->values[2] = (uint64_t)getpid();
	int status;
	(void)waitpid(pid, &status, 0);
	ROIMETER_EXCLUDE_END();
	ROIMETER_END();
}

static void a_forked_child_has_a_log_of_its_own(void **state)
{
	(void)state;
	for (uint64_t how = 0; how < 2; how++) {
		struct trial t;
		trial_prepare(&t);
		t.shared->values[0] = how;
		pid_t pid = trial_start(&t, fork_inside);
		assert_int_equal(waitpid(pid, &t.status, 0), pid);
		trial_read(&t);
		assert_int_equal(t.logs.n, 2);
		const struct roi_log *parent = log_of(&t, pid, ".0");
		const struct roi_log *child = log_of(&t, (pid_t)t.shared->values[1], ".0");
		assert_int_equal(parent->n_entries, 2);
		assert_int_equal(parent->entries[1].excludes, 1);
		assert_int_equal(parent->open, 0);
		assert_int_equal(child->n_entries, 1);
		assert_int_equal(child->unmatched_end, 1);
		assert_string_equal(child->parent, parent->stream);
		trial_done(&t);
	}
}

static void exec_inside(struct shared *shared)
{
	(void)shared;
	ROIMETER_BEGIN();
	ROIMETER_END();
	ROIMETER_BEGIN();
	(void)execl("/proc/self/exe", "marker", "marks-once", (char *)NULL);
}

static void a_program_after_exec_goes_on_beside(void **state)
{
	(void)state;
	struct trial t;
	trial_prepare(&t);
	pid_t pid = trial_start(&t, exec_inside);
	assert_int_equal(waitpid(pid, &t.status, 0), pid);
	assert_int_equal(t.status, 0);
	trial_read(&t);
	assert_int_equal(t.logs.n, 2);
	const struct roi_log *before = log_of(&t, pid, ".0"), *after = log_of(&t, pid, ".1");
	assert_int_equal(before->n_entries, 1);
	assert_int_equal(before->open, 1);
	assert_int_equal(after->n_entries, 1);
	assert_int_equal(after->open, 0);
	assert_string_equal(after->parent, before->stream);
	trial_done(&t);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define PAIRS 20000

static void *mark_pairs(void *unused)
{
	for (int i = 0; i < PAIRS; i++) {
		ROIMETER_BEGIN();
		if (i % 10 == 0) {
			ROIMETER_EXCLUDE_BEGIN();
			ROIMETER_EXCLUDE_END();
		}
		ROIMETER_STEP();
		ROIMETER_PHASE_BEGIN("part");
		ROIMETER_PHASE_END();
		ROIMETER_END();
	}
	return unused;
}

static void in_threads(void *(*run)(void *), int n)
{
	pthread_t thread[64];
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			_exit(9);
	for (int i = 0; i < n; i++)
		(void)pthread_join(thread[i], NULL);
}

static void four_threads(struct shared *shared)
{
	(void)shared;
	in_threads(mark_pairs, 4);
}

static void threads_mark_side_by_side(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, four_threads);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->n_entries + log->folded, 4 * PAIRS);
	assert_int_equal(log->begun, 4 * PAIRS);
	assert_int_equal(log->steps, 4 * PAIRS);
	assert_int_equal(log->phases[0].count, 4 * PAIRS);
	assert_int_equal(log->overflow, 0);
	assert_int_equal(log->unmatched_end, 0);
	assert_true(log->threads >= 1 && log->threads <= 4);
	uint64_t excludes = log->folded_excludes;
	for (size_t i = 0; i < log->n_entries; i++)
		excludes += log->entries[i].excludes;
	assert_int_equal(excludes, 4 * PAIRS / 10);
	trial_done(&t);
}

static void *mark_one(void *unused)
{
	ROIMETER_BEGIN();
	ROIMETER_END();
	return unused;
}

static void one_thread_after_another(struct shared *shared)
{
	(void)shared;
	for (int i = 0; i < 500; i++)
		in_threads(mark_one, 2);
}

static void threads_that_ended_give_their_place_back(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, one_thread_after_another);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->n_entries + log->folded, 1000);
	assert_true(log->threads <= 4); /* a thread may still be ending when the next begins */
	struct stat st;
	assert_int_equal(stat(log->file, &st), 0);
	assert_true(st.st_size < 2000000);
	trial_done(&t);
}

static void *mark_end_only(void *unused)
{
	ROIMETER_STEP();
	ROIMETER_EXCLUDE_BEGIN();
	ROIMETER_EXCLUDE_END();
	ROIMETER_END();
	return unused;
}

static void *mark_begin_only(void *unused)
{
	ROIMETER_BEGIN();
	return unused;
}

static void begin_here_end_there(struct shared *shared)
{
	(void)shared;
	ROIMETER_BEGIN();
	ROIMETER_END();
	ROIMETER_BEGIN();
	in_threads(mark_end_only, 1); /* ends it */
	in_threads(mark_begin_only, 2);
	ROIMETER_END();
	ROIMETER_END(); /* the last END closes it */
	in_threads(mark_pairs, 2);
	ROIMETER_END(); /* nothing is open */
}

static void end_may_come_on_another_thread(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, begin_here_end_there);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->unmatched_end, 1);
	assert_int_equal(log->open, 0);
	assert_int_equal(log->overflow, 0);
	/* Threads that mark together: overlapping pairs are one entry. */
	uint64_t finished = log->n_entries + log->folded;
	assert_true(finished > 3 && finished <= 3 + 2 * PAIRS);
	assert_int_equal(log->steps, 1 + 2 * PAIRS);
	assert_int_equal(log->entries[1].excludes, 1);
	for (size_t i = 1; i < log->n_entries; i++)
		assert_true(log->entries[i].begin_ns >= log->entries[i - 1].end_ns);
	trial_done(&t);
}

static int stop_threads;
static uint64_t made[3]; /* by each of the threads, so far */

static void *mark_until_told(void *count)
{
	uint64_t *mine = count;
	while (!__atomic_load_n(&stop_threads, __ATOMIC_ACQUIRE)) {
		ROIMETER_BEGIN();
		ROIMETER_END();
		(void)__atomic_add_fetch(mine, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Until each has made some more, however busy the machine is. */
static void let_them_mark(void)
{
	uint64_t from[3];
	for (int i = 0; i < 3; i++)
		from[i] = __atomic_load_n(&made[i], __ATOMIC_ACQUIRE);
	for (int i = 0; i < 3; i++)
		while (__atomic_load_n(&made[i], __ATOMIC_ACQUIRE) < from[i] + 100)
			(void)usleep(100);
}

/* The change to marking together, while other threads are in the middle of theirs. */
static void change_under_load(struct shared *shared)
{
	pthread_t thread[3];
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, mark_until_told, &made[i]))
			_exit(9);
	let_them_mark();
	in_threads(mark_begin_only, 1); /* one that stays open though its thread is gone */
	(void)usleep(1000);
	ROIMETER_END();
	let_them_mark();
	__atomic_store_n(&stop_threads, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++) {
		(void)pthread_join(thread[i], NULL);
		shared->done += made[i];
	}
}

static void the_change_loses_no_entry(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct trial t;
		trial_run(&t, change_under_load);
		const struct roi_log *log = trial_log(&t);
		assert_int_equal(log->open, 0);
		assert_int_equal(log->unmatched_end, 0);
		assert_int_equal(log->overflow, 0);
		assert_true(log->n_entries + log->folded <= t.shared->done + 1);
		assert_true(log->n_entries + log->folded > 3);
		trial_done(&t);
	}
}

/* ---- a mark in a signal handler ------------------------------------------------------------- */

static void mark_in_handler(int number)
{
	(void)number;
	int saved = errno;
	errno = 77;
	ROIMETER_STEP();
	if (errno != 77)
		_exit(8);
	errno = saved;
}

static void signals_while_marking(struct shared *shared)
{
	ROIMETER_BEGIN(); /* the first mark loads the library, which no handler may */
	ROIMETER_END();
	shared->done++;
	(void)signal(SIGALRM, mark_in_handler);
	struct itimerval every = { .it_interval = { .tv_usec = 200 },
				   .it_value = { .tv_usec = 200 } };
	(void)setitimer(ITIMER_REAL, &every, NULL);
	int64_t until = own_clock_ns() + 30000000;
	while (own_clock_ns() < until) {
		ROIMETER_BEGIN();
		ROIMETER_END();
		shared->done++;
	}
	every.it_value.tv_usec = every.it_interval.tv_usec = 0;
	(void)setitimer(ITIMER_REAL, &every, NULL);
}

static void a_handler_that_marks_does_no_harm(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, signals_while_marking);
	assert_int_equal(t.status, 0);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->n_entries + log->folded, t.shared->done);
	trial_done(&t);
}

/* ---- no log --------------------------------------------------------------------------------- */

static void ten_pairs(struct shared *shared)
{
	if (shared->values[0] == 1)
		(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 });
	if (shared->values[0] == 2) /* where only what is there already can be written */
		(void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 70000, 70000 });
	for (int i = 0; i < 10; i++) {
		errno = 42;
		ROIMETER_BEGIN();
		ROIMETER_END_SYNC();
		if (errno != 42)
			_exit(8);
	}
	_exit(0); /* a leak checker would want descriptors */
}

static void check_loss(uint64_t how, bool losses_file, const char *wanted)
{
	struct trial t;
	trial_prepare(&t);
	t.shared->values[0] = how;
	if (losses_file)
		assert_int_equal(marklog_losses_create(t.folder, NULL), 0);
	pid_t pid = trial_start(&t, ten_pairs);
	assert_int_equal(waitpid(pid, &t.status, 0), pid);
	assert_int_equal(t.status, 0);
	trial_read(&t);
	assert_int_equal(t.logs.n, 0);
	struct arena a = { .blocks = NULL };
	struct txts said;
	assert_int_equal(marklog_losses_read(t.folder, &a, &said, NULL), 0);
	assert_int_equal(said.n, 1);
	char pid_text[16];
	(void)snprintf(pid_text, sizeof pid_text, "%ld", (long)pid);
	if (!strstr(said.items[0], wanted) || !strstr(said.items[0], pid_text))
		fail_msg("\"%s\" does not say \"%s\"", said.items[0], wanted);
	arena_free(&a);
	trial_done(&t);
}

static void what_cannot_be_kept_is_said(void **state)
{
	(void)state;
	check_loss(2, true, "File too large; 10 finished entries are lost");
	check_loss(2, false, "File too large");
	check_loss(1, true, "Too many open files");
	check_loss(1, false, "Too many open files");
}

static void threads_without_room(struct shared *shared)
{
	(void)shared;
	ROIMETER_BEGIN();
	ROIMETER_END();
	(void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 70000, 70000 });
	in_threads(mark_pairs, 2);
	ROIMETER_BEGIN();
	ROIMETER_END();
}

static void a_thread_without_a_stream_is_counted(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, threads_without_room);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(log->n_entries, 2);
	assert_int_equal(log->overflow, 2 * PAIRS);
	assert_non_null(log->overflow_cause);
	assert_non_null(strstr(log->overflow_cause, "File too large"));
	trial_done(&t);
}

static void off(struct shared *shared)
{
	(void)unsetenv("ROIMETER_LOG");
	for (int i = 0; i < 3; i++) {
		ROIMETER_BEGIN_SYNC();
		ROIMETER_END_SYNC();
	}
	shared->values[0] = roimeter_gate_.state_ == ROIMETER_OFF_ && !roimeter_gate_.api_;
}

static void off_leaves_nothing(void **state)
{
	(void)state;
	struct trial t;
	trial_run(&t, off);
	assert_int_equal(t.logs.n, 0);
	assert_int_equal(t.shared->values[0], 1);
	trial_done(&t);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "marks-once")) {
		ROIMETER_BEGIN();
		ROIMETER_END();
		return 0;
	}
	if (argc < 2) { /* with arguments that a log has to tell */
		(void)execl("/proc/self/exe", argv[0], "run", "one two", (char *)NULL);
		return 2;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_are_counted),
		cmocka_unit_test(what_is_open_closes_with_its_entry),
		cmocka_unit_test(times_are_those_of_the_program),
		cmocka_unit_test(many_entries_need_no_more_room),
		cmocka_unit_test(nothing_is_lost_however_it_ends),
		cmocka_unit_test(a_hundred_kills),
		cmocka_unit_test(a_forked_child_has_a_log_of_its_own),
		cmocka_unit_test(a_program_after_exec_goes_on_beside),
		cmocka_unit_test(threads_mark_side_by_side),
		cmocka_unit_test(threads_that_ended_give_their_place_back),
		cmocka_unit_test(end_may_come_on_another_thread),
		cmocka_unit_test(the_change_loses_no_entry),
		cmocka_unit_test(a_handler_that_marks_does_no_harm),
		cmocka_unit_test(what_cannot_be_kept_is_said),
		cmocka_unit_test(a_thread_without_a_stream_is_counted),
		cmocka_unit_test(off_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
