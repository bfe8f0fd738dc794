/* Roimeter markers: which part of a program is to be measured.
 *
 *     ROIMETER_BEGIN_SYNC();                       after set-up and warm-up
 *     for (...) { step(); ROIMETER_STEP(); }
 *     ROIMETER_END_SYNC();                         before verification and output
 *
 * Needs nothing but libc and no link flag. While nothing measures, a mark is a load and a branch.
 * While something does (ROIMETER_LOG or ROIMETER_AGENT is set), the library is found at the first
 * mark. Programs that are linked statically add libroimeter.a. Anything of C99 and later, C++11 and
 * later, with gcc, clang, and compilers that speak their language; with others the marks are nothing.
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

/* What a collector is told of the marks of its process; see marker/watch.c. */
struct roimeter_watched {
	int what_;               /* ROIMETER_WATCH_ and so on */
	unsigned thread_;        /* a number, for pairs to find each other */
	long long at_ns_;        /* CLOCK_MONOTONIC */
	long long until_ns_;     /* of what is past */
	const void *log_;        /* of START: the log's header, mapped; or NULL */
	unsigned long long count_; /* of FOLDED */
};
typedef void roimeter_watcher(const struct roimeter_watched *mark_);

enum {
	ROIMETER_WATCH_START_,
	ROIMETER_WATCH_PAST_REGION_,
	ROIMETER_WATCH_PAST_EXCLUDE_,
	ROIMETER_WATCH_FOLDED_,
	ROIMETER_WATCH_SOON_,
	ROIMETER_WATCH_BEGIN_,
	ROIMETER_WATCH_END_,
	ROIMETER_WATCH_EXCLUDE_BEGIN_,
	ROIMETER_WATCH_EXCLUDE_END_,
	/* Of collectors, for each other. */
	ROIMETER_WATCH_TELLS_,    /* count_: which of these are told of from now on, 1 << kind */
	ROIMETER_WATCH_HOST_IO_,  /* a thread was in I/O, at_ns_ to until_ns_ */
	ROIMETER_WATCH_HOST_MPI_  /* in another call of MPI */
};

/* What the library offers. Members are only ever added at the end. */
struct roimeter_api {
	unsigned size_; /* of this struct, as the library knows it */
	unsigned version_;
	const struct roimeter_api *(*attach_)(void); /* the one to use in this process, or NULL */
	void (*begin_)(void);
	void (*end_)(void);
	void (*exclude_begin_)(void);
	void (*exclude_end_)(void);
	void (*step_)(void);
	void (*phase_begin_)(const char *name_);
	void (*phase_end_)(void);
	void (*sync_)(void);
	int (*measuring_)(void); /* 1 while marks are recorded */
	/* Be told of all marks of this process from now on; NULL: nobody is. 0 or a negative errno. */
	int (*watch_)(roimeter_watcher *watcher_);
	int (*unwatch_)(roimeter_watcher *watcher_); /* this one no more */
	/* Tell all other watchers TELLS, HOST_IO, HOST_MPI. from_: one's own watcher. */
	void (*tell_)(roimeter_watcher *from_, const struct roimeter_watched *what_);
	/* Where the number of watchers stands, as long as the process lives: with one there is nobody
	 * else to be told. NULL: no memory. */
	const unsigned *(*watchers_)(void);
};

/* There when the program was linked with the library. */
extern const struct roimeter_api roimeter_api_1 __attribute__((__weak__, __visibility__("default")));

/* Weak, so that a program links without libdl (where that is not part of libc). dlopen itself is
 * asked for by name: a reference to it makes the linker of a static program complain. */
static void *roimeter_dlsym_(void *, const char *) __attribute__((__weakref__("dlsym")));

extern int roimeter_symlink_(const char *, const char *) __asm__("symlink"); /* not ISO C */

/* By its name, and what it fills as it is: two longs, since <sys/resource.h> is not ISO C either. */
extern int roimeter_getrlimit_(int, unsigned long *) __asm__("getrlimit");
enum { ROIMETER_RLIMIT_FSIZE_ = 1 };

/* By its name, since <sys/auxv.h> brings all names of <elf.h> into the program. */
extern unsigned long roimeter_auxval_(unsigned long) __asm__("getauxval");
enum { ROIMETER_AT_BASE_ = 7, ROIMETER_AT_SECURE_ = 23 };

/* Of the program or shared library itself; not there in a static program. Tag, value, ... 0. */
extern const long roimeter_dynamic_[] __asm__("_DYNAMIC")
	__attribute__((__weak__, __visibility__("hidden")));

/* One of each in a program or shared library, however many sources include this. */
#define ROIMETER_ONE_ __attribute__((__weak__, __visibility__("hidden"), __noinline__))

enum { ROIMETER_UNKNOWN_, ROIMETER_OFF_, ROIMETER_ON_ };

struct roimeter_gate {
	int state_;
	const struct roimeter_api *api_;
};
extern struct roimeter_gate roimeter_gate_ __attribute__((__weak__, __visibility__("hidden")));
struct roimeter_gate roimeter_gate_ = { 0, ROIMETER_NULL_ };

#define ROIMETER_MARK_(call)                                                                  \
	(__builtin_expect(__atomic_load_n(&roimeter_gate_.state_, __ATOMIC_RELAXED) !=        \
				  ROIMETER_OFF_,                                              \
			  0)                                                                  \
		 ? (call)                                                                     \
		 : (void)0)

ROIMETER_ONE_ int roimeter_static_(void);
ROIMETER_ONE_ const struct roimeter_api *roimeter_load_(const char *name_, const char **ret_why_);
ROIMETER_ONE_ const struct roimeter_api *roimeter_find_(const char *log_);
ROIMETER_ONE_ const struct roimeter_api *roimeter_attach_(void);
ROIMETER_ONE_ char *roimeter_put_(char *to_, char *end_, const char *text_);
ROIMETER_ONE_ int roimeter_within_limit_(int file_, size_t more_);
ROIMETER_ONE_ int roimeter_leave_file_(const char *folder_, char *line_);
ROIMETER_ONE_ int roimeter_leave_link_(const char *folder_, const char *pid_, const char *line_);
ROIMETER_ONE_ void roimeter_unattached_(const char *log_, const char *why_);
ROIMETER_ONE_ void roimeter_begin_(void);
ROIMETER_ONE_ void roimeter_end_(void);
ROIMETER_ONE_ void roimeter_exclude_begin_(void);
ROIMETER_ONE_ void roimeter_exclude_end_(void);
ROIMETER_ONE_ void roimeter_step_(void);
ROIMETER_ONE_ void roimeter_phase_begin_(const char *name_);
ROIMETER_ONE_ void roimeter_phase_end_(void);
ROIMETER_ONE_ void roimeter_sync_(void);

/* Text behind text, up to an end; always with a NUL. Without stdio, which would pull half of libc
 * into a small static program. */
char *roimeter_put_(char *to_, char *end_, const char *text_)
{
	while (*text_ && to_ < end_ - 1)
		*to_++ = *text_++;
	*to_ = 0;
	return to_;
}

/* Past its limit for files the kernel would end the program with SIGXFSZ. */
int roimeter_within_limit_(int file_, size_t more_)
{
	unsigned long limit_[2] = { 0, 0 }; /* what is in force, what may be */
	off_t size_ = lseek(file_, 0, SEEK_END);

	if (roimeter_getrlimit_(ROIMETER_RLIMIT_FSIZE_, limit_) || limit_[0] == ~0UL)
		return 1;
	return size_ >= 0 && ROIMETER_CAST_(unsigned long, size_) + more_ <= limit_[0];
}

/* One more line in the folder's file. line_ has room for one more byte. 0: it is there. */
int roimeter_leave_file_(const char *folder_, char *line_)
{
	char path_[4096];
	char *path_end_ = path_ + sizeof path_;
	size_t n_ = strlen(line_);
	ssize_t written_ = -1;
	int out_;

	(void)roimeter_put_(roimeter_put_(path_, path_end_, folder_), path_end_, "/unattached");
	out_ = open(path_, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (out_ < 0)
		return -1;
	line_[n_] = '\n';
	if (roimeter_within_limit_(out_, n_ + 1))
		written_ = write(out_, line_, n_ + 1);
	line_[n_] = 0;
	(void)close(out_);
	return written_ == ROIMETER_CAST_(ssize_t, n_ + 1) ? 0 : -1;
}

/* A link holds the text: that needs neither a descriptor nor space. 0: it is there. */
int roimeter_leave_link_(const char *folder_, const char *pid_, const char *line_)
{
	char path_[4096];
	char *path_end_ = path_ + sizeof path_;
	char *at_ = roimeter_put_(roimeter_put_(path_, path_end_, folder_), path_end_, "/.loss.");

	(void)roimeter_put_(at_, path_end_, pid_);
	return roimeter_symlink_(line_, path_);
}

/* Measuring was asked for and can't be: leave "pid N: why" where the runner looks for it, else, and
 * where there is none, in the agent's folder. There only as a link, since what others may write to
 * is not for us to open. */
void roimeter_unattached_(const char *log_, const char *why_)
{
	char folder_[4096], line_[512], digits_[24];
	char *line_end_ = line_ + sizeof line_ - 1, *name_;
	char *at_ = digits_ + sizeof digits_ - 1;
	const char *agent_ = getenv("ROIMETER_AGENT");
	unsigned long pid_ = ROIMETER_CAST_(unsigned long, getpid());

	*at_ = 0;
	do
		*--at_ = ROIMETER_CAST_(char, '0' + pid_ % 10);
	while (pid_ /= 10);
	(void)roimeter_put_(
		roimeter_put_(roimeter_put_(roimeter_put_(line_, line_end_, "pid "), line_end_, at_),
			      line_end_, ": "),
		line_end_, why_);
	if (log_ && *log_ &&
	    (!roimeter_leave_file_(log_, line_) || !roimeter_leave_link_(log_, at_, line_)))
		return;
	if (!agent_ || !*agent_)
		return;
	name_ = roimeter_put_(folder_, folder_ + sizeof folder_, agent_);
	while (name_ > folder_ && name_[-1] != '/')
		name_--;
	(void)roimeter_put_(name_, folder_ + sizeof folder_, "logs");
	if (roimeter_leave_link_(folder_, at_, line_))
		return; /* nothing is left that could be told */
}

/* A static program must load no library: that would bring a second libc. */
int roimeter_static_(void)
{
	const long *d_ = roimeter_dynamic_;

	if (roimeter_auxval_(ROIMETER_AT_BASE_))
		return 0; /* a dynamic linker is there */
	if (d_)
		for (; *d_; d_ += 2)
			if (*d_ == 1) /* DT_NEEDED */
				return 0;
	return 1;
}

const struct roimeter_api *roimeter_load_(const char *name_, const char **ret_why_)
{
	union {
		void *symbol_;
		void *(*open_)(const char *, int);
		char *(*error_)(void);
	} dl_, said_;
	const struct roimeter_api *api_ = ROIMETER_NULL_;
	void *library_;

	*ret_why_ = "the program can load no library: link it with libroimeter.a, or with -ldl";
	if (roimeter_static_() || !roimeter_dlsym_)
		return ROIMETER_NULL_;
	dl_.symbol_ = roimeter_dlsym_(ROIMETER_NULL_, "dlopen");
	said_.symbol_ = roimeter_dlsym_(ROIMETER_NULL_, "dlerror"); /* now: a dlsym forgets the last error */
	if (!dl_.symbol_)
		return ROIMETER_NULL_;
	*ret_why_ = "libroimeter could not be loaded";
	library_ = dl_.open_(name_, RTLD_NOW | RTLD_LOCAL);
	if (library_)
		api_ = ROIMETER_CAST_(const struct roimeter_api *,
				     roimeter_dlsym_(library_, "roimeter_api_1"));
	if (!api_) {
		if (said_.symbol_)
			*ret_why_ = said_.error_();
		return ROIMETER_NULL_;
	}
	if (api_->size_ < __builtin_offsetof(struct roimeter_api, watch_)) { /* what marks need */
		*ret_why_ = "libroimeter is older than the header that the program was made with";
		return ROIMETER_NULL_;
	}
	return api_;
}

const struct roimeter_api *roimeter_find_(const char *log_)
{
	const struct roimeter_api *api_ = &roimeter_api_1;
	const char *name_ = getenv("ROIMETER_LIBRARY");
	const char *why_ = ROIMETER_NULL_;

	if (api_)
		return api_; /* linked with it */
	if (!name_ || !*name_)
		name_ = ROIMETER_INSTALLED_;
	api_ = roimeter_load_(name_, &why_);
	if (!api_)
		roimeter_unattached_(log_, why_ ? why_ : "libroimeter could not be loaded");
	return api_;
}

/* At the first mark. Several threads may come at once: each finds the same. */
const struct roimeter_api *roimeter_attach_(void)
{
	int saved_ = errno;
	const char *log_ = getenv("ROIMETER_LOG"), *agent_ = getenv("ROIMETER_AGENT");
	const struct roimeter_api *api_ = ROIMETER_NULL_;

	/* Not in a set-user-id program: its environment is not to be trusted. */
	if (!roimeter_auxval_(ROIMETER_AT_SECURE_) &&
	    ((log_ && *log_) || (agent_ && *agent_) || getenv("NVTX_INJECTION64_PATH") ||
	     getenv("ROCP_TOOL_LIBRARIES") || getenv("ROCPROFILER_REGISTER_LIBRARY")))
		api_ = roimeter_find_(log_);
	if (api_)
		api_ = api_->attach_();
	__atomic_store_n(&roimeter_gate_.api_, api_, __ATOMIC_RELEASE);
	__atomic_store_n(&roimeter_gate_.state_, api_ ? ROIMETER_ON_ : ROIMETER_OFF_,
			 __ATOMIC_RELEASE);
	errno = saved_;
	return api_;
}

#define ROIMETER_CALL_(call)                                                                    \
	{                                                                                       \
		const struct roimeter_api *api_ =                                                \
			__atomic_load_n(&roimeter_gate_.api_, __ATOMIC_ACQUIRE);                 \
		if (!api_ && __atomic_load_n(&roimeter_gate_.state_, __ATOMIC_RELAXED) == 0)      \
			api_ = roimeter_attach_();                                               \
		if (api_)                                                                        \
			api_->call;                                                              \
	}

void roimeter_begin_(void) ROIMETER_CALL_(begin_())
void roimeter_end_(void) ROIMETER_CALL_(end_())
void roimeter_exclude_begin_(void) ROIMETER_CALL_(exclude_begin_())
void roimeter_exclude_end_(void) ROIMETER_CALL_(exclude_end_())
void roimeter_step_(void) ROIMETER_CALL_(step_())
void roimeter_phase_begin_(const char *name_) ROIMETER_CALL_(phase_begin_(name_))
void roimeter_phase_end_(void) ROIMETER_CALL_(phase_end_())
void roimeter_sync_(void) ROIMETER_CALL_(sync_())

#undef ROIMETER_CALL_
#undef ROIMETER_CAST_
#undef ROIMETER_NULL_
#undef ROIMETER_ONE_

#ifdef __cplusplus
}
#endif
#endif
#endif
