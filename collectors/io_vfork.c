/* vfork. Its child has our memory and descriptors of its own until it execs, so nothing of what it
 * does may change what we know: it is marked in the thread, which the two share, and its calls go
 * straight through. A function in C can't stand before vfork, since it would return twice on one
 * stack; so the system call is made here, with the return address in a register meanwhile, as libc
 * does. Elsewhere than on x86-64 vfork is libc's, and what such a child closes or duplicates is
 * taken for the parent's. */
#include "collectors/io_wrap.h"

#include <assert.h>
#include <stddef.h>

#if defined(__x86_64__) && !defined(__ILP32__)

static_assert(offsetof(struct io_self, vforked) == 20, "the number below");

__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".p2align 4\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq io_self@gottpoff(%rip), %rdx\n"
	"	addl $1, %fs:20(%rdx)\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register %rip, %rdi\n"
	"	movl $58, %eax\n" /* SYS_vfork; it keeps all but rax, rcx, r11 */
	"	syscall\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rip, 0\n"
	"	testq %rax, %rax\n"
	"	je 1f\n"
	"	subl $1, %fs:20(%rdx)\n" /* the parent again, or there is no child */
	"	cmpq $-4095, %rax\n"
	"	jae 2f\n"
	"1:	ret\n"
	"2:	negl %eax\n"
	"	movl %eax, %edi\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call io_vfork_failed\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");

__attribute__((visibility("hidden"), used)) long io_vfork_failed(int error);
long io_vfork_failed(int error)
{
	errno = error;
	return -1;
}

#endif
