/* Descriptors of ours are open for moments, each with the lowest number that is free. A program
 * that takes a number for itself meanwhile (dup2, as shells do) would have what we write in its
 * file, and one that closes all numbers would free ours for the next. So its dup2 waits until ours
 * is closed again, and what is ours can't be closed by it: for the program it is not open. */
#include "collectors/io_wrap.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OURS 8
#define WAIT_NS 100000000 /* at most: nobody is to wait for a file system of ours that hangs */

static int ours[OURS];           /* 1 + its number; 0 free. Atomic, as all of it */
static uint32_t n_ours, opening; /* opening: about to have one, or to have one less */
static uint32_t taking;          /* threads of the program, within a dup2 */

/* ---- ours ---------------------------------------------------------------------------------------
 */

/* Either a dup2 sees this, or this sees the dup2. */
static void change_begin(void)
{
	(void)__atomic_add_fetch(&opening, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 1000 && __atomic_load_n(&taking, __ATOMIC_SEQ_CST); i++)
		(void)sched_yield();
}

static void change_end(void)
{
	(void)__atomic_sub_fetch(&opening, 1, __ATOMIC_SEQ_CST);
}

void io_fd_opening(void)
{
	change_begin();
}

void io_fd_opened(int fd)
{
	for (int i = 0; fd >= 0 && i < OURS; i++) {
		int none = 0;
		if (!__atomic_compare_exchange_n(&ours[i], &none, fd + 1, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_RELAXED))
			continue;
		ADD(n_ours, 1);
		break;
	}
	change_end();
}

void io_fd_closing(int fd)
{
	change_begin();
	for (int i = 0; i < OURS; i++) {
		int is = fd + 1;
		if (__atomic_compare_exchange_n(&ours[i], &is, 0, false, __ATOMIC_SEQ_CST,
						__ATOMIC_RELAXED))
			(void)__atomic_sub_fetch(&n_ours, 1, __ATOMIC_RELAXED);
	}
}

void io_fd_closed(void)
{
	change_end();
}

/* It has copies of them, which close when it execs. */
void io_fd_child(void)
{
	for (int i = 0; i < OURS; i++)
		PUT(ours[i], 0);
	n_ours = opening = taking = 0;
}

/* ---- the program's
 * --------------------------------------------------------------------------------
 */

bool io_fd_is_ours(int fd)
{
	bool is = false;
	for (int i = 0; fd >= 0 && GET(n_ours) && !io_self.vforked && i < OURS; i++)
		is |= GET(ours[i]) == fd + 1;
	return is;
}

bool io_fd_take_begin(int fd)
{
	const struct timespec moment = { 0, 50000 };
	if (io_self.vforked || io_self.ours || io_self.quiet)
		return false;
	for (int64_t waited = 0;; waited += moment.tv_nsec) {
		(void)__atomic_add_fetch(&taking, 1, __ATOMIC_SEQ_CST);
		bool busy = __atomic_load_n(&opening, __ATOMIC_SEQ_CST) || io_fd_is_ours(fd);
		if (!busy || waited > WAIT_NS)
			return true;
		(void)__atomic_sub_fetch(&taking, 1, __ATOMIC_SEQ_CST);
		(void)syscall(SYS_nanosleep, &moment, NULL);
	}
}

void io_fd_take_end(bool begun)
{
	if (begun)
		(void)__atomic_sub_fetch(&taking, 1, __ATOMIC_SEQ_CST);
}

/* What close_range would do, but for ours; flags as for it. */
int io_fd_close_range(int (*next)(unsigned, unsigned, int), unsigned first, unsigned last,
		      int flags)
{
	unsigned from = first;
	int rc = 0;
	for (;;) {
		unsigned to = last;
		for (int i = 0; i < OURS; i++) {
			int is = GET(ours[i]) - 1;
			if (is >= 0 && (unsigned)is >= from && (unsigned)is <= to)
				to = (unsigned)is;
		}
		bool is_ours = to <= INT32_MAX && io_fd_is_ours((int)to);
		if (!is_ours)
			return next(from, last, flags);
		if (to > from)
			rc = next(from, to - 1, flags);
		if (rc || to == last)
			return rc;
		from = to + 1;
	}
}

/* ---- system calls of our own
 * ----------------------------------------------------------------------- Without libc's function,
 * which is interposed, too (io_box.c). */

static long kernel(long n, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long rc;
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f, rc;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	rc = x0;
#else
	static void *next;
	return ((long (*)(long, ...))io_next(&next, "syscall"))(n, a, b, c, d, e, f);
#endif
#if defined(__x86_64__) || defined(__aarch64__)
	if ((unsigned long)rc < (unsigned long)-4095)
		return rc;
	errno = (int)-rc;
	return -1;
#endif
}

long __wrap_syscall(long n, long a, long b, long c, long d, long e, long f)
	__attribute__((visibility("hidden")));
long __wrap_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	if (n == SYS_openat) {
		change_begin();
		long fd = kernel(n, a, b, c, d, e, f);
		io_fd_opened((int)fd);
		return fd;
	}
	if (n == SYS_close) {
		io_fd_closing((int)a);
		long rc = kernel(n, a, b, c, d, e, f);
		io_fd_closed();
		return rc;
	}
	return kernel(n, a, b, c, d, e, f);
}
