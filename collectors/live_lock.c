/* A lock that knows its owner at every instruction. A signal handler may mark, or end the process,
 * while its thread has it, takes it or gives it back; pthread's, which writes the owner down before
 * or after, then waits for itself. */
#define _GNU_SOURCE
#include "collectors/live_impl.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AWAITED UINT64_C(1)         /* beside pthread_self, which is an address */
#define LOCK_NS INT64_C(5000000000) /* who works with it has it for milliseconds */

/* ---- futexes: only system calls -----------------------------------------------------------------
 */

void futex_wait(uint32_t *word, uint32_t value, int64_t until)
{
	struct timespec t = { .tv_sec = (time_t)(until / 1000000000),
			      .tv_nsec = (long)(until % 1000000000) };
	(void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &t, NULL,
		      FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- the lock -----------------------------------------------------------------------------------
 */

static bool change(uint64_t *word, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* The half that changes with the owner and with AWAITED. */
static uint32_t *half(uint64_t *word)
{
	return (uint32_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

int lock_take(uint64_t *word)
{
	uint64_t self = (uint64_t)(uintptr_t)pthread_self();
	int64_t until = 0;
	if (change(word, 0, self))
		return 0;
	for (;;) {
		uint64_t is = GET(*word);
		if ((is & ~AWAITED) == self)
			return -EDEADLK;
		if (!is && change(word, 0, self | AWAITED)) /* others may wait, too */
			return 0;
		if (!is || (!(is & AWAITED) && !change(word, is, is | AWAITED)))
			continue;
		int64_t now = live_now();
		until = until ? until : now + LOCK_NS;
		if (now >= until)
			return -ETIMEDOUT;
		futex_wait(half(word), (uint32_t)(is | AWAITED), until);
	}
}

bool lock_is_mine(const uint64_t *word)
{
	return (GET(*word) & ~AWAITED) == (uint64_t)(uintptr_t)pthread_self();
}

bool lock_try(uint64_t *word)
{
	return change(word, 0, (uint64_t)(uintptr_t)pthread_self());
}

void lock_give(uint64_t *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & AWAITED)
		futex_wake(half(word));
}
