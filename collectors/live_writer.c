/* The collector's own thread: writes the picture every second and at ends of the region, looks at
 * the program's threads, and does what a signal handler may not. It takes no signal itself. */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WRITE_NS INT64_C(1000000000)
#define LEAST_NS INT64_C(200000000) /* between two pictures at ends of the region */
#define SHARE 50                    /* of the time at most a 50th is spent working on pictures, */
#define SHARE_WAITING 4             /* and a fifth with waiting for the disk or a processor, too */
#define STACK_BYTES ((size_t)256 << 10)
#define MOMENT_NS 20000000
#define LAST_NS INT64_C(3000000000)

/* ---- a bell -----------------------------------------------------------------------------------
 */

void writer_ring(void)
{
	__atomic_fetch_add(&live.bell, 1, __ATOMIC_RELEASE);
	futex_wake(&live.bell);
}

bool writer_await_done(int64_t for_ns)
{
	int64_t until = live_now() + for_ns;
	while (!GET_ACQUIRE(live.done) && live_now() < until)
		futex_wait(&live.done, 0, until);
	return GET_ACQUIRE(live.done);
}

void writer_await_exec(uint32_t number, int64_t for_ns)
{
	int64_t until = live_now() + for_ns;
	uint32_t written;
	while ((int32_t)((written = GET_ACQUIRE(live.execs_written)) - number) < 0 &&
	       live_now() < until)
		futex_wait(&live.execs_written, written, until);
}

/* ---- the last ones ----------------------------------------------------------------------------
 */

#define NAME "roimeter"

void live_thread(void)
{
	(void)pthread_setname_np(pthread_self(), NAME);
}

/* "1234 (name) S ...". Has it ended, or is it one of ours? */
static bool not_the_programs(const char *task)
{
	char path[64], stat[128], ours[32];
	(void)snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, stat, sizeof stat - 1);
	if (fd >= 0)
		(void)close(fd);
	stat[n > 0 ? n : 0] = 0;
	const char *end = strrchr(stat, ')');
	(void)snprintf(ours, sizeof ours, "%.12s (" NAME ") ", task);
	return (end && (end[2] == 'Z' || end[2] == 'X')) || strncmp(stat, ours, strlen(ours)) == 0;
}

/* Whoever can't look stays. */
bool live_alone(void)
{
	char first[32];
	(void)snprintf(first, sizeof first, "%ld", (long)getpid());
	if (!not_the_programs(first)) /* most often, so nothing else is looked at */
		return false;
	DIR *tasks = opendir("/proc/self/task");
	bool alone = tasks != NULL;
	for (struct dirent *d; alone && (d = readdir(tasks));)
		alone = d->d_name[0] == '.' || not_the_programs(d->d_name);
	if (tasks)
		(void)closedir(tasks);
	return alone;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

struct round {
	int64_t last_ns, pause_ns; /* of the last picture, and what its cost asks for after it */
	int64_t cpu_ns;           /* of this thread, as far as it is told */
};

/* What this thread took since the last time. */
static void tell_cost(struct round *r)
{
	int64_t now = live_cpu_begin(), ns = now - r->cpu_ns;
	r->cpu_ns = now;
	ADD(live.cpu_ns, ns);
	if (GET(live.inside))
		ADD(live.roi_cpu_ns, ns);
}

static void write_now(struct round *r)
{
	PUT(live.ended, 0);
	if (live.o.flush)
		(void)live.o.flush(LIVE_FLUSH);
	r->last_ns = live_now();
	tell_cost(r);
	int64_t cpu = live_cpu_begin();
	(void)live_write(LIVE_MORE);
	cpu = (live_cpu_begin() - cpu) * SHARE;
	int64_t wall = (live_now() - r->last_ns) * SHARE_WAITING;
	r->pause_ns = cpu > wall ? cpu : wall;
}

/* A thread waits for this with its exec. Where that fails a picture follows at once, since the one
 * before says that it is the last; where not, the next would be too far away to come between. */
static void write_for_exec(struct round *r)
{
	uint32_t number = GET_ACQUIRE(live.execs);
	if (number != GET(live.execs_written)) {
		bool all = !live.o.flush || live.o.flush(LIVE_FLUSH_NOW);
		r->last_ns = live_now();
		tell_cost(r);
		(void)live_write(all ? LIVE_EXEC : LIVE_MORE);
		PUT_RELEASE(live.execs_written, number);
		futex_wake(&live.execs_written);
	}
	if (__atomic_exchange_n(&live.stays, 0, __ATOMIC_ACQ_REL))
		write_now(r);
}

static int64_t next_write(const struct round *r)
{
	int64_t pause = GET(live.ended) ? LEAST_NS : WRITE_NS;
	return r->last_ns + (r->pause_ns > pause ? r->pause_ns : pause);
}

static int64_t sample(void)
{
	int64_t now = live_now(), next = INT64_MAX;
	if (live_lock())
		return now + WRITE_NS;
	if (GET(live.state) == LIVE_ON) {
		sample_all(now);
		next = sample_next(now);
	}
	live_unlock();
	return next;
}

/* Another thread may be at it: its picture is the last one then. */
static void finish(void)
{
	live_finish_here();
	(void)writer_await_done(LAST_NS);
	PUT_RELEASE(live.done, 1);
	futex_wake(&live.done);
	if (GET(live.terminated))
		term_again();
}

void live_await_gone(int64_t for_ns)
{
	const struct timespec moment = { 0, 1000000 };
	int64_t until = live_now() + for_ns;
	long id = GET(live.writer);
	while (id && live_now() < until && syscall(SYS_tgkill, (long)live.pid, id, 0L) == 0)
		(void)nanosleep(&moment, NULL);
}

static void *writer(void *unused)
{
	struct round r = { .last_ns = live_now() };
	(void)unused;
	PUT(live.writer, syscall(SYS_gettid));
	live_thread();
	while (GET_ACQUIRE(live.state) == LIVE_ON) {
		uint32_t bell = GET_ACQUIRE(live.bell);
		if (GET(live.terminated) || GET(live.leaving)) {
			finish();
			break;
		}
		write_for_exec(&r);
		int64_t next = sample();
		if (live_now() >= next_write(&r)) {
			if (live_alone())
				break;
			write_now(&r);
		}
		tell_cost(&r);
		next = next < next_write(&r) ? next : next_write(&r);
		PUT(live.asleep, next - live_now() > MOMENT_NS);
		futex_wait(&live.bell, bell, next);
		PUT(live.asleep, 0);
	}
	return NULL;
}

/* Without it pictures are written at the end only, and the threads are not looked at. */
void writer_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, were;
	if (pthread_attr_init(&attr))
		return;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &were);
	int rc = pthread_create(&thread, &attr, writer, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &were, NULL);
	(void)pthread_attr_destroy(&attr);
	live.has_writer = rc == 0;
	if (rc)
		live_note("the collector has no thread of its own (%s): a process that is killed "
			  "leaves nothing",
			  strerror(rc));
}
