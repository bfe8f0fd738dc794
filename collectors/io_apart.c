/* Where takers work: on a stack of their own, with all signals blocked. They come upon the program
 * wherever it does I/O, which may be a thread with a stack of 16 KiB, or a signal handler on one of
 * 8; and they allocate, so that a handler of the program's that came upon them and jumped away
 * would leave the allocator locked for ever. Blocking takes two system calls, so it is done only
 * once the program has a handler for a signal that comes from outside, or threads that may be ended
 * anywhere. Of what is locked when nothing is taken care of here (tables that are looked up) a jump
 * costs the collector only: io_abandoned. */
#include "collectors/io_wrap.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/live_impl.h"

#define STACK_BYTES ((size_t)256 << 10) /* of which some 20 KiB are used */

/* With the lock, so there is one. */
static char *stack;
static bool in_use;

static uint32_t handlers; /* atomic: may anything come upon us and not come back? */

#if defined(__x86_64__) && !defined(__ILP32__)
__attribute__((visibility("hidden"))) void io_on_stack(void (*f)(void *), void *of, void *top);
__asm__(".text\n"
	".type io_on_stack, @function\n"
	".hidden io_on_stack\n"
	".globl io_on_stack\n"
	".p2align 4\n"
	"io_on_stack:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq %rdx, %rsp\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	call *%rax\n"
	"	movq %rbp, %rsp\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size io_on_stack, . - io_on_stack\n");
#elif defined(__aarch64__)
__attribute__((visibility("hidden"))) void io_on_stack(void (*f)(void *), void *of, void *top);
__asm__(".text\n"
	".type io_on_stack, %function\n"
	".hidden io_on_stack\n"
	".globl io_on_stack\n"
	".p2align 4\n"
	"io_on_stack:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c */
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register 29\n"
	"	mov x9, x0\n"
	"	mov x0, x1\n"
	"	mov sp, x2\n"
	"	blr x9\n"
	"	mov sp, x29\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_def_cfa 31, 0\n"
	"	.cfi_restore 29\n"
	"	.cfi_restore 30\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size io_on_stack, . - io_on_stack\n");
#else
static void io_on_stack(void (*f)(void *), void *of, void *top)
{
	(void)top;
	f(of);
}
#endif

/* libc's leaves out the signals by which it ends threads. */
static void signals(const uint64_t *to, uint64_t *were)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, to, were, sizeof *to);
}

void io_apart(void (*f)(void *), void *of)
{
	uint64_t all = ~UINT64_C(0), were = 0;
	bool blocks = GET(handlers);
	if (blocks)
		signals(&all, &were);
	if (!stack)
		stack = io_map(STACK_BYTES, false);
	if (stack && !in_use) {
		in_use = true;
		io_on_stack(f, of, stack + STACK_BYTES);
		in_use = false;
	} else {
		f(of);
	}
	if (blocks)
		signals(&were, NULL);
}

void io_apart_child(void)
{
	in_use = false;
}

/* ---- who may come upon us -----------------------------------------------------------------------
 */

/* Those that a thread brings upon itself don't come while it is in our code. */
static void handled(int number)
{
	switch (number) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGSYS:
	case SIGABRT:
		break;
	default:
		PUT(handlers, 1);
	}
}

static bool is_handler(void *f)
{
	return f != (void *)SIG_DFL && f != (void *)SIG_IGN;
}

WRAP(int, sigaction, int number, const struct sigaction *to, struct sigaction *was)
{
	if (to && is_handler((void *)to->sa_handler))
		handled(number);
	return NEXT(sigaction)(number, to, was);
}

#define WRAP_SIGNAL(name)                                                                          \
	WRAP(void *, name, int number, void *to)                                                   \
	{                                                                                          \
		if (is_handler(to))                                                                \
			handled(number);                                                           \
		/* cppcheck-suppress CastIntegerToAddressAtReturn */                               \
		return NEXT(name)(number, to);                                                     \
	}

WRAP_SIGNAL(signal)
WRAP_SIGNAL(ssignal)
WRAP_SIGNAL(sysv_signal)
WRAP_SIGNAL(__sysv_signal)
WRAP_SIGNAL(sigset)

WRAP(int, pthread_setcanceltype, int type, int *was)
{
	if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
		PUT(handlers, 1);
	return NEXT(pthread_setcanceltype)(type, was);
}

/* ---- jumps --------------------------------------------------------------------------------------
 * The thread will not come back to where it was in our code. What it put is in order at any
 * instruction. Where it has the lock and was about to change something, no more can be counted,
 * which is said. */

void io_abandoned(void)
{
	if (!io_self.ours)
		return;
	io_self.ours = 0;
	ADD(io.dropped, 1);
	if (!lock_is_mine(&io.lock))
		return;
	if (io.changes)
		PUT(io.stage, IO_BROKEN);
	lock_give(&io.lock);
}

#define WRAP_JUMP(name)                                                                            \
	WRAP(__attribute__((noreturn)) void, name, struct __jmp_buf_tag to[1], int value)          \
	{                                                                                          \
		io_abandoned();                                                                    \
		NEXT(name)(to, value);                                                             \
		__builtin_unreachable();                                                           \
	}

WRAP_JUMP(longjmp)
WRAP_JUMP(_longjmp)
WRAP_JUMP(siglongjmp)
WRAP_JUMP(__longjmp_chk)
