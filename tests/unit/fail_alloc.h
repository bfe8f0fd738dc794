/* Makes the n-th allocation of what follows fail, by the linker's --wrap: a test that includes
 * this says "wrap: malloc calloc realloc" at its top.
 *
 *	for (int n = 1; fail_alloc(n); n++)
 *		body();
 *
 * ends when the body made fewer than n allocations. */
#ifndef TESTS_FAIL_ALLOC_H
#define TESTS_FAIL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static int alloc_left; /* 0: off */
static bool alloc_failed;

static bool alloc_may_not(void)
{
	if (alloc_left == 0 || --alloc_left > 0)
		return false;
	alloc_failed = true;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return alloc_may_not() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return alloc_may_not() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return alloc_may_not() ? NULL : __real_realloc(p, n);
}

static bool fail_alloc(int n)
{
	bool again = n == 1 || alloc_failed;
	alloc_failed = false;
	alloc_left = again ? n : 0;
	return again;
}

#endif
