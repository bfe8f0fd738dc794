/* Preloaded into profiled executions: _exit and _Exit end a program at once, so that no library in
 * it is told. These tell collectors first, and wait a moment for them. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define COLLECTORS 4

static void (*finishes[COLLECTORS])(void);
static unsigned n_finishes;

PUBLIC void roimeter_at_exit_1(void (*finish)(void));
PUBLIC void _Exit(int status) __attribute__((noreturn));

void roimeter_at_exit_1(void (*finish)(void))
{
	unsigned i = __atomic_fetch_add(&n_finishes, 1, __ATOMIC_RELAXED);
	if (i < COLLECTORS)
		__atomic_store_n(&finishes[i], finish, __ATOMIC_RELEASE);
}

PUBLIC void _exit(int status)
{
	for (unsigned i = 0; i < COLLECTORS; i++) {
		void (*finish)(void) = __atomic_load_n(&finishes[i], __ATOMIC_ACQUIRE);
		if (finish)
			finish();
	}
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
	_exit(status);
}
