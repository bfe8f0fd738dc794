/* Roimeter markers: which part of a program is to be measured.
 *
 *     ROIMETER_BEGIN_SYNC();                       after set-up and warm-up
 *     for (...) { step(); ROIMETER_STEP(); }
 *     ROIMETER_END_SYNC();                         before verification and output
 *
 * Needs nothing but libc and no link flag. While nothing measures, a mark is a load and a branch.
 * While something does (ROIMETER_LOG is set), the library is found at the first mark. Programs
 * that are linked statically add libroimeter.a. Anything of C99 and later, C++11 and later, with
 * gcc, clang, and compilers that speak their language; with others the marks are nothing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ROIMETER_H
#define ROIMETER_H

/* ROIMETER_BEGIN()/ROIMETER_END(): the region of interest. Nested pairs are one; entries add up.
 * ROIMETER_EXCLUDE_BEGIN()/ROIMETER_EXCLUDE_END(): time inside it that does not count.
 * ..._SYNC(): wait for the device first (CUDA, HIP), only while measuring.
 * ROIMETER_STEP(): one step of the work is done. ROIMETER_PHASE_BEGIN("name")/ROIMETER_PHASE_END():
 * a named part of the region. All are void expressions and keep errno. */
#define ROIMETER_BEGIN() ROIMETER_MARK_(roimeter_begin_())
#define ROIMETER_END() ROIMETER_MARK_(roimeter_end_())
#define ROIMETER_BEGIN_SYNC() ROIMETER_MARK_((roimeter_sync_(), roimeter_begin_()))
#define ROIMETER_END_SYNC() ROIMETER_MARK_((roimeter_sync_(), roimeter_end_()))
#define ROIMETER_EXCLUDE_BEGIN() ROIMETER_MARK_(roimeter_exclude_begin_())
#define ROIMETER_EXCLUDE_END() ROIMETER_MARK_(roimeter_exclude_end_())
#define ROIMETER_EXCLUDE_BEGIN_SYNC() ROIMETER_MARK_((roimeter_sync_(), roimeter_exclude_begin_()))
#define ROIMETER_EXCLUDE_END_SYNC() ROIMETER_MARK_((roimeter_sync_(), roimeter_exclude_end_()))
#define ROIMETER_STEP() ROIMETER_MARK_(roimeter_step_())
#define ROIMETER_PHASE_BEGIN(name) ROIMETER_MARK_(roimeter_phase_begin_(name))
#define ROIMETER_PHASE_END() ROIMETER_MARK_(roimeter_phase_end_())

#if !defined(__GNUC__) || !defined(__ELF__)

#define ROIMETER_MARK_(call) ((void)0)

#else

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Where the library is if ROIMETER_LIBRARY does not say so; `make install` writes the full path. */
#ifndef ROIMETER_INSTALLED_
#define ROIMETER_INSTALLED_ "libroimeter.so.1"
#endif

#ifdef __cplusplus
#define ROIMETER_CAST_(type, value) static_cast<type>(value)
#define ROIMETER_NULL_ nullptr
extern "C" {
#else
#define ROIMETER_CAST_(type, value) ((type)(value))
#define ROIMETER_NULL_ NULL
#endif

/* What the library offers. Members are only ever added at the end. */
struct roimeter_api {
	unsigned size; /* of this struct, as the library knows it */
	unsigned version;
	const struct roimeter_api *(*attach)(void); /* the one to use in this process, or NULL */
	void (*begin)(void);
	void (*end)(void);
	void (*exclude_begin)(void);
	void (*exclude_end)(void);
	void (*step)(void);
	void (*phase_begin)(const char *name);
	void (*phase_end)(void);
	void (*sync)(void);
	int (*measuring)(void); /* 1 while marks are recorded */
};

/* There when the program was linked with the library. */
extern const struct roimeter_api roimeter_api_1 __attribute__((weak, visibility("default")));

/* Weak, so that a program links without libdl (where that is not part of libc). dlopen itself is
 * asked for by name: a reference to it makes the linker of a static program complain. */
static void *roimeter_dlsym_(void *, const char *) __attribute__((weakref("dlsym")));

extern int roimeter_symlink_(const char *, const char *) __asm__("symlink"); /* not ISO C */

/* Of the program or shared library itself; not there in a static program. Tag, value, ... 0. */
extern const long roimeter_dynamic_[] __asm__("_DYNAMIC")
	__attribute__((weak, visibility("hidden")));

/* One of each in a program or shared library, however many sources include this. */
#define ROIMETER_ONE_ __attribute__((weak, visibility("hidden"), noinline))

enum { ROIMETER_UNKNOWN_, ROIMETER_OFF_, ROIMETER_ON_ };

struct roimeter_gate {
	int state;
	const struct roimeter_api *api;
};
extern struct roimeter_gate roimeter_gate_ __attribute__((weak, visibility("hidden")));
struct roimeter_gate roimeter_gate_ = { 0, ROIMETER_NULL_ };

#define ROIMETER_MARK_(call)                                                                  \
	(__builtin_expect(__atomic_load_n(&roimeter_gate_.state, __ATOMIC_RELAXED) !=         \
				  ROIMETER_OFF_,                                              \
			  0)                                                                  \
		 ? (call)                                                                     \
		 : (void)0)

ROIMETER_ONE_ int roimeter_static_(void);
ROIMETER_ONE_ const struct roimeter_api *roimeter_load_(const char *name, const char **ret_why);
ROIMETER_ONE_ const struct roimeter_api *roimeter_find_(const char *log);
ROIMETER_ONE_ const struct roimeter_api *roimeter_attach_(void);
ROIMETER_ONE_ char *roimeter_put_(char *to, char *end, const char *text);
ROIMETER_ONE_ void roimeter_unattached_(const char *log, const char *why);
ROIMETER_ONE_ void roimeter_begin_(void);
ROIMETER_ONE_ void roimeter_end_(void);
ROIMETER_ONE_ void roimeter_exclude_begin_(void);
ROIMETER_ONE_ void roimeter_exclude_end_(void);
ROIMETER_ONE_ void roimeter_step_(void);
ROIMETER_ONE_ void roimeter_phase_begin_(const char *name);
ROIMETER_ONE_ void roimeter_phase_end_(void);
ROIMETER_ONE_ void roimeter_sync_(void);

/* Text behind text, up to an end; always with a NUL. Without stdio, which would pull half of libc
 * into a small static program. */
char *roimeter_put_(char *to, char *end, const char *text)
{
	while (*text && to < end - 1)
		*to++ = *text++;
	*to = 0;
	return to;
}

/* Measuring was asked for and can't be: leave "pid N: why" where the runner looks for it. Where no
 * file can be opened, a link holds the text: that needs neither a descriptor nor space. */
void roimeter_unattached_(const char *log, const char *why)
{
	char path[4096], line[512], digits[24];
	char *path_end = path + sizeof path, *line_end = line + sizeof line - 1;
	char *at = digits + sizeof digits - 1;
	char *name = roimeter_put_(path, path_end, log);
	unsigned long pid = ROIMETER_CAST_(unsigned long, getpid());
	int out;

	*at = 0;
	do
		*--at = ROIMETER_CAST_(char, '0' + pid % 10);
	while (pid /= 10);
	(void)roimeter_put_(
		roimeter_put_(roimeter_put_(roimeter_put_(line, line_end, "pid "), line_end, at),
			      line_end, ": "),
		line_end, why);
	(void)roimeter_put_(name, path_end, "/unattached");
	out = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (out >= 0) {
		size_t n = strlen(line);
		ssize_t written;
		line[n] = '\n';
		written = write(out, line, n + 1);
		line[n] = 0;
		(void)close(out);
		if (written == ROIMETER_CAST_(ssize_t, n + 1))
			return;
	}
	(void)roimeter_put_(roimeter_put_(name, path_end, "/.loss."), path_end, at);
	if (roimeter_symlink_(line, path))
		return; /* nothing is left that could be told */
}

/* A static program must load no library: that would bring a second libc. */
int roimeter_static_(void)
{
	const long *d = roimeter_dynamic_;

	if (getauxval(AT_BASE))
		return 0; /* a dynamic linker is there */
	if (d)
		for (; *d; d += 2)
			if (*d == 1) /* DT_NEEDED */
				return 0;
	return 1;
}

const struct roimeter_api *roimeter_load_(const char *name, const char **ret_why)
{
	union {
		void *symbol;
		void *(*open)(const char *, int);
		char *(*error)(void);
	} dl, said;
	const struct roimeter_api *api = ROIMETER_NULL_;
	void *library;

	*ret_why = "the program can load no library: link it with libroimeter.a, or with -ldl";
	if (roimeter_static_() || !roimeter_dlsym_)
		return ROIMETER_NULL_;
	dl.symbol = roimeter_dlsym_(ROIMETER_NULL_, "dlopen");
	said.symbol = roimeter_dlsym_(ROIMETER_NULL_, "dlerror"); /* now: a dlsym forgets the last error */
	if (!dl.symbol)
		return ROIMETER_NULL_;
	*ret_why = "libroimeter could not be loaded";
	library = dl.open(name, RTLD_NOW | RTLD_LOCAL);
	if (library)
		api = ROIMETER_CAST_(const struct roimeter_api *,
				     roimeter_dlsym_(library, "roimeter_api_1"));
	if (!api) {
		if (said.symbol)
			*ret_why = said.error();
		return ROIMETER_NULL_;
	}
	if (api->size < sizeof *api) {
		*ret_why = "libroimeter is older than the header that the program was made with";
		return ROIMETER_NULL_;
	}
	return api;
}

const struct roimeter_api *roimeter_find_(const char *log)
{
	const struct roimeter_api *api = &roimeter_api_1;
	const char *name = getenv("ROIMETER_LIBRARY");
	const char *why = ROIMETER_NULL_;

	if (api)
		return api; /* linked with it */
	if (!name || !*name)
		name = ROIMETER_INSTALLED_;
	api = roimeter_load_(name, &why);
	if (!api && log && *log)
		roimeter_unattached_(log, why ? why : "libroimeter could not be loaded");
	return api;
}

/* At the first mark. Several threads may come at once: each finds the same. */
const struct roimeter_api *roimeter_attach_(void)
{
	int saved = errno;
	const char *log = getenv("ROIMETER_LOG");
	const struct roimeter_api *api = ROIMETER_NULL_;

	/* Not in a set-user-id program: its environment is not to be trusted. */
	if (!getauxval(AT_SECURE) &&
	    ((log && *log) || getenv("NVTX_INJECTION64_PATH") || getenv("ROCP_TOOL_LIBRARIES") ||
	     getenv("ROCPROFILER_REGISTER_LIBRARY")))
		api = roimeter_find_(log);
	if (api)
		api = api->attach();
	__atomic_store_n(&roimeter_gate_.api, api, __ATOMIC_RELEASE);
	__atomic_store_n(&roimeter_gate_.state, api ? ROIMETER_ON_ : ROIMETER_OFF_,
			 __ATOMIC_RELEASE);
	errno = saved;
	return api;
}

#define ROIMETER_CALL_(call)                                                                    \
	{                                                                                       \
		const struct roimeter_api *api =                                                \
			__atomic_load_n(&roimeter_gate_.api, __ATOMIC_ACQUIRE);                 \
		if (!api && __atomic_load_n(&roimeter_gate_.state, __ATOMIC_RELAXED) == 0)      \
			api = roimeter_attach_();                                               \
		if (api)                                                                        \
			api->call;                                                              \
	}

void roimeter_begin_(void) ROIMETER_CALL_(begin())
void roimeter_end_(void) ROIMETER_CALL_(end())
void roimeter_exclude_begin_(void) ROIMETER_CALL_(exclude_begin())
void roimeter_exclude_end_(void) ROIMETER_CALL_(exclude_end())
void roimeter_step_(void) ROIMETER_CALL_(step())
void roimeter_phase_begin_(const char *name) ROIMETER_CALL_(phase_begin(name))
void roimeter_phase_end_(void) ROIMETER_CALL_(phase_end())
void roimeter_sync_(void) ROIMETER_CALL_(sync())

#undef ROIMETER_CALL_
#undef ROIMETER_CAST_
#undef ROIMETER_NULL_
#undef ROIMETER_ONE_

#ifdef __cplusplus
}
#endif
#endif
#endif
