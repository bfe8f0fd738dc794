/* How a wrapper is written: its name in C is ours_NAME, its symbol NAME, so that no header's macro,
 * inline version or redirection comes between. NEXT(NAME) is what is behind it. Included first. */
#ifndef COLLECTORS_IO_WRAP_H
#define COLLECTORS_IO_WRAP_H

#ifdef _FORTIFY_SOURCE
#undef _FORTIFY_SOURCE
#endif
#define _GNU_SOURCE

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

#include "collectors/io_impl.h"
#include "collectors/io_state.h"

/* What is behind each wrapper is looked up before main: dlsym is not for signal handlers. */
struct io_next {
	const char *name;
	void **place;
};

#define WRAP(type, name, ...)                                                                      \
	WRAP_LATE(type, name, __VA_ARGS__);                                                        \
	static struct io_next entry_##name                                                         \
		__attribute__((section("io_nexts"), used)) = { #name, &next_##name };              \
	type ours_##name(__VA_ARGS__)

/* Of a library that the program may not have: looked up at its first call. */
#define WRAP_LATE(type, name, ...)                                                                 \
	static void *next_##name;                                                                  \
	IO_PUBLIC type ours_##name(__VA_ARGS__) __asm__(#name)

/* Another name of a wrapper of the same file, with the same arguments. */
#define ALSO(other, name)                                                                          \
	extern __typeof__(ours_##name) ours_##other __asm__(#other)                                \
		__attribute__((alias(#name), visibility("default")))

#define NEXT(name) ((__typeof__(&ours_##name))io_next(&next_##name, #name))

/* Keeps the function at place. Never NULL: what libc is without fails with ENOSYS. */
void *io_find(void **place, const char *name);

static inline void *io_next(void **place, const char *name)
{
	void *f = __atomic_load_n(place, __ATOMIC_RELAXED);
	return __builtin_expect(f != NULL, 1) ? f : io_find(place, name);
}

/* The last parameters of io_end and io_put. */
#define ARGS(...)                                                                                  \
	(unsigned)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[])              \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* For an event: what a call gave back, or why not. */
static inline int64_t io_result(int64_t rc)
{
	return rc < 0 ? -errno : rc;
}

#endif
