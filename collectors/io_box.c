/* Programs that put themselves into a sandbox (seccomp): from then on a system call that is none of
 * theirs may end them, and there are such calls of ours. So what there is is written before, and no
 * more is counted. docs/io.md says which calls. */
#include "collectors/io_wrap.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/live.h"

#define GONE_NS 200000000

static void boxed(void)
{
	int saved = errno;
	if (!io_is_on())
		return;
	if (GET(io.stage) == IO_CHILD)
		(void)io_start_late();
	if (GET(io.stage) == IO_RUNS) {
		ADD(io.dropped, 1); /* how many come nobody knows */
		live_note("process %ld put itself into a sandbox (seccomp): what it did to files "
			  "afterwards is not counted",
			  (long)getpid());
		live_finish();
		live_await_gone(GONE_NS);
	}
	PUT(io.stage, IO_OFF);
	errno = saved;
}

WRAP(int, prctl, int what, ...)
{
	va_list args;
	unsigned long a[4];
	va_start(args, what);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(args, unsigned long);
	va_end(args);
	if (UNLIKELY(what == PR_SET_SECCOMP) &&
	    (a[0] == SECCOMP_MODE_STRICT || (a[0] == SECCOMP_MODE_FILTER && a[1])))
		boxed();
	return NEXT(prctl)(what, a[0], a[1], a[2], a[3]);
}

WRAP(long, syscall, long n, ...)
{
	va_list args;
	long a[6];
	va_start(args, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (UNLIKELY(n == SYS_seccomp) && ((a[0] == SECCOMP_SET_MODE_STRICT && !a[1] && !a[2]) ||
					   (a[0] == SECCOMP_SET_MODE_FILTER && a[2])))
		boxed();
	if (UNLIKELY(n == SYS_close && io_fd_is_ours((int)a[0]))) {
		errno = EBADF; /* as for close */
		return -1;
	}
	long rc = NEXT(syscall)(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (n == SYS_close && rc == 0 && io_is_on())
		io_close_unseen((int)a[0]);
	return rc;
}
