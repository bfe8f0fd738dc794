/* The collector `io`: preloaded, it sees the calls of its program that have to do with files, and
 * hands them to the takers (io_take.h). Start, ends, forks. */
#include "collectors/io_wrap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/live_impl.h"
#include "lib/version.h"
#include "schema/picture_name.h"

#define TAKERS 2

IO_HOT_DATA struct io io = { 0 };
__thread struct io_self io_self __attribute__((tls_model("initial-exec")));

int io_counter_picture(struct flow *f, const struct live_who *who, struct arena *a, struct buf *b)
	__attribute__((weak));
extern const struct io_taker io_counter __attribute__((weak)), io_capture __attribute__((weak));
static const struct io_taker *const known[TAKERS] = { &io_counter, &io_capture };
static const struct io_taker *takers[TAKERS];
static size_t n_takers;

/* ---- takers; with the lock ---------------------------------------------------------------------
 */

static void takers_start(void)
{
	n_takers = 0;
	for (size_t i = 0; i < TAKERS; i++)
		if (known[i] && (!known[i]->start || known[i]->start() == 0))
			takers[n_takers++] = known[i];
}

void io_take_text(uint32_t number, const char *text, size_t bytes)
{
	for (size_t i = 0; i < n_takers; i++)
		if (takers[i]->text)
			takers[i]->text(number, text, bytes);
}

void io_take_handle(const struct io_handle_info *h)
{
	for (size_t i = 0; i < n_takers; i++)
		if (takers[i]->handle)
			takers[i]->handle(h);
}

void io_take_events(const struct io_event *e, size_t n)
{
	for (size_t i = 0; n && i < n_takers; i++)
		takers[i]->events(e, n);
}

void io_take_mpi(const struct io_event *e, size_t n)
{
	for (size_t i = 0; n && i < n_takers; i++)
		if (takers[i]->mpi)
			takers[i]->mpi(e, n);
}

static void take_flush(enum live_flush how)
{
	uint64_t dropped = __atomic_exchange_n(&io.dropped, 0, __ATOMIC_RELAXED);
	for (size_t i = 0; i < n_takers; i++) {
		if (dropped && takers[i]->dropped)
			takers[i]->dropped(dropped);
		if (takers[i]->flush)
			takers[i]->flush(how);
	}
}

/* ---- the lock -----------------------------------------------------------------------------------
 */

/* Who has it for five seconds was stopped together with us, or never gives it back: a thread that
 * was ended in the middle, a file system that hangs. Nobody is to wait for that again and again. */
static int lock_late(void)
{
	int rc = io_is_child() ? -ECANCELED : lock_take(&io.lock);
	if (rc == -ETIMEDOUT) {
		ADD(io.dropped, 1);
		PUT(io.stage, IO_BROKEN);
	}
	return rc;
}

IO_HOT int io_lock_look(void)
{
	io_enter();
	int rc = lock_take(&io.lock);
	if (UNLIKELY(rc == -ETIMEDOUT))
		rc = lock_late();
	if (UNLIKELY(!rc && !io_is_on())) {
		lock_give(&io.lock);
		rc = -ECANCELED;
	}
	if (UNLIKELY(rc))
		io_leave();
	return rc;
}

IO_HOT int io_lock(void)
{
	int rc = io_lock_look();
	if (!rc)
		io_changes();
	return rc;
}

IO_HOT void io_unlock(void)
{
	io.changes = false;
	lock_give(&io.lock);
	io_leave();
}

/* ---- start --------------------------------------------------------------------------------------
 */

/* Where the end came early, as far as it was taken. */
static bool flush_broken(enum live_flush how)
{
	if (lock_take(&io.lock))
		return false;
	take_flush(how);
	if (how == LIVE_FLUSH_LAST)
		PUT(io.stage, IO_OFF);
	lock_give(&io.lock);
	return true;
}

static bool flush(enum live_flush how)
{
	int saved = errno;
	bool all = GET(io.stage) == IO_RUNS && io_lock() == 0;
	if (all) {
		io_hand_over_all();
		take_flush(how);
		if (how == LIVE_FLUSH_LAST)
			PUT(io.stage, IO_OFF);
		io_unlock();
	} else if (GET(io.stage) == IO_BROKEN) {
		all = flush_broken(how);
	}
	errno = saved;
	return all;
}

uint64_t io_untold(void)
{
	return GET(io.dropped);
}

static const struct live_options options = {
	.collector = "io",
	.runtime = "io",
	.flush = flush,
	.tells = 1u << LIVE_HOST_IO | 1u << LIVE_HOST_MPI,
	.suffix = IOPICTURE_SUFFIX,
	.picture = io_counter_picture,
};

/* As live.c asks; before its time. */
static bool wanted(void)
{
	const char *exec = getenv("ROIMETER_EXEC"), *collect = getenv("ROIMETER_COLLECT");
	return !getauxval(AT_SECURE) && exec && strncmp(exec, "profiled", 8) == 0 &&
	       live_wanted(collect, options.collector);
}

void io_decide(void)
{
	uint32_t unknown = IO_UNKNOWN;
	if (wanted()) {
		io.pid = getpid();
		io.handles = 3; /* the standard ones */
		io_clock_start();
		io_text_start();
	}
	(void)__atomic_compare_exchange_n(&io.stage, &unknown, wanted() ? IO_EARLY : IO_OFF, false,
					  __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* From EARLY or CHILD. What live_start does, by way of other libraries too, are no calls of the
 * program's. */
static bool start(void)
{
	io_self.quiet++;
	bool on = live_start(&options) == 0;
	if (on && io_lock() == 0) {
		takers_start();
		io_text_begin();
		PUT(io.stage, IO_RUNS);
		io_unlock();
	} else {
		PUT(io.stage, IO_OFF);
	}
	io_self.quiet--;
	return on;
}

bool io_start_late(void)
{
	static uint64_t starting;
	int saved = errno;
	bool on = false;
	if (GET(io.stage) == IO_CHILD && lock_take(&starting) == 0) {
		on = GET(io.stage) == IO_CHILD && start();
		lock_give(&starting);
	}
	errno = saved;
	return on;
}

/* ---- forks --------------------------------------------------------------------------------------
 */

/* A page that is all zero in a child, however that was forked: 1 here. */
static uint64_t *told;

static void child_page(void)
{
	if (!told)
		told = io_map(4096, false);
	if (told)
		(void)syscall(SYS_madvise, told, 4096L, MADV_WIPEONFORK);
	if (told)
		*told = 1;
}

static void before_fork(void)
{
	io_self.locked = io_is_on() && io_lock() == 0;
	if (io_self.locked && GET(io.stage) == IO_RUNS)
		io_hand_over_all();
	io_handle_fork();
}

static void after_in_parent(void)
{
	if (io_self.locked)
		io_unlock();
	io_self.locked = false;
}

static void begin_child(void)
{
	io.lock = 0;
	io.pid = getpid();
	io.handles = 3;
	io.dropped = 0;
	io.forks++;
	io_changed();
	io.changes = false;
	io_apart_child();
	io_fd_child();
	io_thread_child();
	io_text_child();
	io_handle_child();
	for (size_t i = 0; i < n_takers; i++)
		if (takers[i]->child)
			takers[i]->child();
	n_takers = 0;
	child_page();
	PUT(io.stage, IO_CHILD);
}

static void after_in_child(void)
{
	if (io_self.locked)
		io_leave();
	io_self.locked = false;
	if (!io_is_on())
		return;
	if (io_self.ours) /* a signal handler forks, in the middle of what may go on here */
		PUT(io.stage, IO_OFF);
	else
		begin_child();
}

bool io_is_child(void)
{
	if (LIKELY(!told || *told) || io.pid == getpid())
		return false;
	PUT(io.stage, IO_OFF);
	return true;
}

/* A forked child that did too little to begin. */
static void at_exit(void)
{
	if (io_is_on())
		io_streams_catch_up();
	if (GET(io.stage) == IO_CHILD && io_self.thread &&
	    io_self.thread->head != io_self.thread->tail && io_start_late())
		live_finish();
}

__attribute__((constructor)) static void begin(void)
{
	int saved = errno;
	io_find_all();
	child_page();
	if (GET(io.stage) == IO_UNKNOWN)
		io_decide();
	if (GET(io.stage) == IO_EARLY && start()) {
		io_thread_start();
		(void)atexit(at_exit);
		(void)pthread_atfork(before_fork, after_in_parent, after_in_child);
	}
	errno = saved;
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static int check(char *why, size_t room)
{
	(void)why;
	(void)room;
	return 0;
}

static const char *const environment[] = { "LD_PRELOAD", "{library}", NULL };

IO_PUBLIC const struct collector collector = {
	.abi = COLLECTOR_ABI,
	.name = "io",
	.version = ROIMETER_VERSION_TEXT,
	.observes = 0,
	.runtime = "io",
	.environment = environment,
	.check = check,
};
