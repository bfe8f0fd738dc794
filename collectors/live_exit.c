/* Ends of the process, of its program, and its children: exit, _exit, _Exit, quick_exit, SIGTERM,
 * exec, fork. */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long _exit waits for the last picture. Its caller may have been interrupted anywhere, so the
 * writer does it, and may be waiting for what that caller holds. */
#define LEAVE_NS INT64_C(3000000000)

/* ---- the last picture -------------------------------------------------------------------------
 */

void live_finish_here(void)
{
	static uint32_t begun;
	static pid_t of;
	if (!live_is_on())
		return;
	if (of != live.pid) { /* in a child that started anew: its own end */
		of = live.pid;
		PUT(begun, 0);
	}
	if (__atomic_exchange_n(&begun, 1, __ATOMIC_ACQ_REL))
		return;
	int64_t cpu = live_cpu_begin();
	if (live.o.flush)
		(void)live.o.flush(LIVE_FLUSH_LAST);
	live_cpu_end(cpu);
	int rc = live_write(LIVE_LAST);
	PUT_RELEASE(live.state, LIVE_FINISHED);
	PUT_RELEASE(live.done, 1);
	/* In a signal handler that has interrupted us others wait for what its thread has. */
	if (rc != -EDEADLK)
		live_marks_stop();
	writer_ring();
}

void live_finish(void)
{
	live_finish_here();
}

/* ---- _exit and _Exit --------------------------------------------------------------------------
 */

/* From anywhere, signal handlers and children of vfork included: nothing but system calls here. */
static void leave(void)
{
	if (!live_is_on() || !live.has_writer)
		return;
	PUT(live.leaving, 1);
	writer_ring();
	(void)writer_await_done(LEAVE_NS);
}

/* ---- exec -------------------------------------------------------------------------------------
 */

/* What was said of _exit holds here: nearly all that spawn programs do so in a child of vfork. The
 * picture is one of the end, though nothing is stopped: exec may fail. */
static void before_exec(void)
{
	if (!live_is_on() || !live.has_writer)
		return;
	uint32_t number = __atomic_add_fetch(&live.execs, 1, __ATOMIC_ACQ_REL);
	writer_ring();
	writer_await_exec(number, LEAVE_NS);
}

/* So it was not the end. */
static void after_exec(void)
{
	if (!live_is_on() || !live.has_writer)
		return;
	PUT(live.stays, 1);
	writer_ring();
}

/* libroimeter-exit.so, which the runner preloads, has the program's _exit, _Exit, and exec. */
static void tell_preloaded(void)
{
	void (*at_exit)(void (*)(void)) =
		(void (*)(void (*)(void)))dlsym(RTLD_DEFAULT, "roimeter_at_exit_1");
	void (*at_exec)(void (*)(void), void (*)(void)) =
		(void (*)(void (*)(void), void (*)(void)))dlsym(RTLD_DEFAULT, "roimeter_at_exec_1");
	if (at_exit)
		at_exit(leave);
	if (at_exec)
		at_exec(before_exec, after_exec);
}

/* ---- SIGTERM ----------------------------------------------------------------------------------
 */

static void on_term(int number)
{
	/* Not so in a child of vfork, which has this memory, too. */
	bool on = live_is_on() && live.has_writer;
	if (on && !__atomic_exchange_n(&live.terminated, 1, __ATOMIC_RELAXED)) {
		writer_ring();
		return;
	}
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

/* Only where nobody else takes it: whoever does knows how the program is to end. */
static void take_term(void)
{
	struct sigaction is, ours = { .sa_flags = SA_RESTART };
	ours.sa_handler = on_term;
	(void)sigemptyset(&ours.sa_mask);
	if (!sigaction(SIGTERM, NULL, &is) && !(is.sa_flags & SA_SIGINFO) &&
	    is.sa_handler == SIG_DFL)
		(void)sigaction(SIGTERM, &ours, NULL);
}

void term_again(void)
{
	struct sigaction is;
	if (!sigaction(SIGTERM, NULL, &is) && !(is.sa_flags & SA_SIGINFO) &&
	    is.sa_handler == on_term)
		(void)signal(SIGTERM, SIG_DFL);
	(void)kill(getpid(), SIGTERM);
}

/* ---- fork -------------------------------------------------------------------------------------
 */

static bool locked;

static void before_fork(void)
{
	locked = live_is_on() && lock_take(&live.write) == 0;
	if (locked && live_lock()) {
		lock_give(&live.write);
		locked = false;
	}
}

static void after_in_parent(void)
{
	if (!locked)
		return;
	live_unlock();
	lock_give(&live.write);
}

/* The flow stays where it is, unused: what the parent's other threads were about to do with its
 * memory nobody knows. */
static void after_in_child(void)
{
	void (*child)(void) = live.o.child;
	if (live.state == LIVE_NONE)
		return;
	memset(&live, 0, sizeof live);
	if (child)
		child();
}

void exits_watch(void)
{
	static bool watched;
	take_term();
	if (watched) /* all of it survives fork */
		return;
	watched = true;
	(void)pthread_atfork(before_fork, after_in_parent, after_in_child);
	(void)atexit(live_finish_here);
	(void)at_quick_exit(live_finish_here);
	tell_preloaded();
}
