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

/* Of files whose wrappers are called most. */
#ifdef IO_ALL_HOT
#define IO_WARM IO_HOT
#else
#define IO_WARM
#endif

/* What is behind each wrapper is looked up before main: dlsym is not for signal handlers. */
struct io_next {
	const char *name;
	void **place;
};

#define WRAP(type, name, ...)                                                                      \
	IO_HOT_DATA static void *next_##name = NULL;                                               \
	static struct io_next entry_##name                                                         \
		__attribute__((section("io_nexts"), used)) = { #name, &next_##name };              \
	WRAP_BY(type, name, __VA_ARGS__)

/* Of a library that the program may not have: looked up at its first call. */
#define WRAP_LATE(type, name, ...)                                                                 \
	IO_HOT_DATA static void *next_##name = NULL;                                               \
	WRAP_BY(type, name, __VA_ARGS__)

/* One that goes on by another one of ours. */
#define WRAP_BY(type, name, ...)                                                                   \
	IO_PUBLIC IO_WARM type ours_##name(__VA_ARGS__) __asm__(#name);                            \
	type ours_##name(__VA_ARGS__)

/* Another name of a wrapper of the same file, with the same arguments. */
#define ALSO(other, name)                                                                          \
	extern __typeof__(ours_##name) ours_##other __asm__(#other)                                \
		__attribute__((alias(#name), visibility("default"))) IO_WARM

#define NEXT(name) ((__typeof__(&ours_##name))io_next(&next_##name, #name))

/* Keeps the function at place. Never NULL: what libc is without fails with ENOSYS. */
void *io_find(void **place, const char *name);

static inline void *io_next(void **place, const char *name)
{
	void *f = __atomic_load_n(place, __ATOMIC_RELAXED);
	return __builtin_expect(f != NULL, 1) ? f : io_find(place, name);
}

#define UNPACK(...) __VA_ARGS__

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

/* After a call by path: its event, unless the path is one of ours. more: arguments behind it. */
int64_t io_end_path(const struct io_span *c, enum io_call call, int64_t rc, int at,
		    const char *path, unsigned n, const int64_t *more);

/* A wrapper of a call by one path, or by a descriptor; __VA_ARGS__: what its event has behind that,
 * one at least (more than the signature has does no harm). */
#define WRAP_PATH(type, name, call, params, args, at, path, ...)                                   \
	WRAP(type, name, UNPACK params)                                                            \
	{                                                                                          \
		struct io_span c;                                                                  \
		if (!io_begin(&c))                                                                 \
			return NEXT(name) args;                                                    \
		return (type)io_end_path(&c, call, NEXT(name) args, at, path, ARGS(__VA_ARGS__));  \
	}

#define WRAP_FD(type, name, call, params, args, fd, ...)                                           \
	WRAP(type, name, UNPACK params)                                                            \
	{                                                                                          \
		struct io_span c;                                                                  \
		struct io_open *o;                                                                 \
		if (!io_begin_fd(&c, fd, &o))                                                      \
			return NEXT(name) args;                                                    \
		type rc = NEXT(name) args;                                                         \
		io_end(&c, call, io_result(rc), IO_NO_PLACE, ARGS(io_number(o), __VA_ARGS__));     \
		return rc;                                                                         \
	}

#endif
