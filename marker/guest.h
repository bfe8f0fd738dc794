/* Inside of the marker library. It is a guest: it never prints, waits without an end, or allocates
 * on the heap, keeps errno, and exports nothing but roimeter_api_1.
 *
 * One struct guest per process, in anonymous memory that the kernel wipes in a forked child: a
 * child finds zeros, goes the slow way, and starts a log of its own. */
#ifndef MARKER_GUEST_H
#define MARKER_GUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "include/roimeter.h"
#include "schema/marklog.h"

/* What threads share goes through these. On the machines we run on they are plain moves; they
 * tell the compiler, and ThreadSanitizer, that another thread may look. */
#define GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define PUT(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#define GET_ACQUIRE(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define PUT_RELEASE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELEASE)
#define COUNT(x) ((void)__atomic_fetch_add(&(x), 1, __ATOMIC_RELAXED))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define PHASE_DEPTH 16
#define MAX_WATCHERS 4
#define MAX_THREADS 2048 /* that mark at the same time; more are counted as lost */

enum mark {
	MARK_BEGIN,
	MARK_END,
	MARK_EXCLUDE_BEGIN,
	MARK_EXCLUDE_END,
	MARK_STEP,
	MARK_PHASE_BEGIN,
	MARK_PHASE_END,
};

enum live {
	LIVE_NOT,       /* every mark goes the slow way, under the lock */
	LIVE_TICK,      /* nothing unusual, the machine's tick counter is read */
	LIVE_MONOTONIC, /* the same with the kernel's clock */
	LIVE_RANGES,    /* a profiler wants ranges, or a collector watches */
};

struct open_phase {
	uint64_t begin, excluded;
	uint32_t index;
};

/* A marking thread's own state. Written by its owner only (by another thread only after `live`
 * was taken away and `busy` was seen to be 0), read by others when they look for an open entry. */
struct mark_thread {
	uint32_t live; /* enum live: may marks of this thread go the fast way? */
	uint32_t busy; /* 1: inside a mark */
	uint32_t used; /* the slot belongs to a thread */
	uint32_t depth, exclude_depth, phase_depth;
	struct marklog_stream *stream; /* NULL: none could be had; entries are counted as lost */
	struct marklog_record *next, *ring, *limit;
	struct marklog_exclude *excludes;
	uint64_t head;    /* finished entries */
	uint64_t turn_at; /* entries at which next comes to the end of the ring or to a full one */
	uint64_t fold_at; /* entries at which the ring is full */
	uint64_t pair_at; /* tick after which an END looks whether the clock is to be checked */
	uint64_t begin;   /* of the open entry, ticks */
	uint64_t excluded, exclude_begin;
	uint32_t excludes_n;
	uint64_t step_last, step_excluded;
	uint64_t step_entry; /* head + 1 of the entry that these two belong to */
	uint64_t exclude_head;
	const void *owner; /* address of the owner's thread-local pointer */
	uint32_t tries;    /* to get a stream */
	uint32_t index;    /* of the stream */
	struct open_phase phases[PHASE_DEPTH];
} __attribute__((aligned(128)));

enum guest_state {
	GUEST_FRESH,     /* nothing tried yet; also what a forked child finds */
	GUEST_LOGGING,   /* the log is there */
	GUEST_RANGES,    /* no log asked for, but a profiler wants ranges */
	GUEST_FAILED,    /* a log was asked for and can't be: losses are counted */
	GUEST_ELSEWHERE, /* another copy of this library is at work in the process */
};

struct guest {
	pthread_mutex_t lock;       /* all zero is PTHREAD_MUTEX_INITIALIZER with glibc and musl */
	pthread_mutex_t names_lock; /* of new phase names */
	uint32_t state;
	uint32_t together; /* 1: all threads mark in one stream, under the lock */
	const struct roimeter_api *other;
	struct marklog_header *header;
	struct marklog_loss *loss; /* slot in the runner's file, or NULL */

	double ns_per_tick; /* from the first two clock pairs; for histograms and short times */
	uint64_t pair_every, pair_last, pair_first, pair_kept; /* ticks */
	uint32_t pair_busy;

	roimeter_watcher *watchers[MAX_WATCHERS]; /* collectors of this process; NULL: a free place */
	uint32_t n_watchers;
	uint64_t tells; /* what they said that they tell each other */
	uint32_t slots;            /* of threads, in use or free */
	uint64_t dev, ino;
	uint32_t in_memory;   /* the log has no name, but memory_fd */
	uint32_t handed_over; /* the agent was told of it */
	int memory_fd;
	char agent[108]; /* its socket; "": none, or a path that no socket has */
	char path[4096];
	struct mark_thread everyone; /* state of the process when together */
	struct mark_thread threads[MAX_THREADS];
};

extern struct guest *guest; /* NULL before the first mark of this copy; stays after fork */
extern __thread struct mark_thread *mark_self __attribute__((tls_model("initial-exec")));

/* What a thread has whose own state is not there yet: always busy. */
extern struct mark_thread mark_nobody;

/* guest.c */
enum live live_kind(void);
const struct roimeter_api *guest_attach(void);
int guest_measuring(void);
int guest_watch(roimeter_watcher *watcher);
int guest_unwatch(roimeter_watcher *watcher);
void guest_tell(roimeter_watcher *from, const struct roimeter_watched *what);
const unsigned *guest_watchers(void);
void mark_slow(enum mark what, const char *name);

/* log.c: the file */
bool log_wanted(void);
int log_open(struct guest *g);
int log_stream(struct guest *g, uint32_t index, struct marklog_stream **ret);
void log_leave(struct guest *g);
bool place_of_agent(char *folder, size_t room); /* its folder for logs; false: no agent is named */
void thread_bind(struct mark_thread *t, struct marklog_stream *s);

/* copy.c: another copy of this library at work in this process, or NULL */
const struct roimeter_api *copy_mapped(const char *name); /* part of the name of its log */
/* This very file; it may be half way through making it, so wait a little. One that was left behind
 * by a death there costs that once. */
const struct roimeter_api *copy_of_file(const char *path);

/* hello.c: to the agent. 0, or a negative errno. log: a descriptor, which stays the caller's. */
int hello_say(const char *socket_path, int log);

/* loss.c: the log can't be. Said in the file that the runner made for that while there was room, or
 * else in words. entries: lost so far. */
void loss_say(struct guest *g, int error, const char *what, uint64_t entries);

int file_slurp(const char *path, char *text, size_t room, size_t *ret_n);

/* launch.c: the batch job and the launch that this process belongs to; "" where there is none */
#define LAUNCH_ID_BYTES 128
#define LAUNCH_NUMBER_BYTES 11
struct launch {
	char job[LAUNCH_ID_BYTES], group[LAUNCH_ID_BYTES];
	char rank[LAUNCH_NUMBER_BYTES], world[LAUNCH_NUMBER_BYTES];
};
void launch_find(struct launch *l); /* l: all zero */

/* identity.c: who we are */
struct identity {
	char boot[48], stream[96], start[24];
	size_t argv_bytes;
};
void identity_find(struct identity *id);
size_t identity_room(const struct identity *id);
void identity_write(const struct identity *id, struct marklog_header *h, const char *parent);

/* clock.c */
extern uint32_t clock_is_tsc; /* marks read the machine's tick counter, else CLOCK_MONOTONIC */
uint32_t clock_choose(void);
void clock_start(struct guest *g);
void clock_settle(struct guest *g); /* the second pair, at the end of attaching */
void clock_check(struct guest *g);  /* one more pair */

/* fold.c */
uint32_t phase_index(struct marklog_header *h, const char *name);
void phase_add(struct mark_thread *t, uint32_t index, uint64_t ticks);
void step_add(struct mark_thread *t, uint64_t ticks, double ns_per_tick);

/* together.c: END came on another thread than BEGIN */
bool together_start(struct guest *g);

/* With the lock: until threads_release no thread is inside a mark, or comes into one but by the
 * lock. False: one could not be stopped, and all are as they were. */
bool threads_hold(struct guest *g);
void threads_release(struct guest *g);

/* watch.c: marks told to a collector, and to a profiler. Those that open answer the tick of the
 * mark, taken when all were told that it comes. Called when ranges_wanted is not 0. */
uint64_t told_begin(struct mark_thread *t);
void told_end(struct mark_thread *t, uint64_t now, bool excluding);
void told_exclude_begin(struct mark_thread *t, uint64_t now);
uint64_t told_exclude_end(struct mark_thread *t);
void told_merged(struct mark_thread *t, uint64_t now, bool excluding); /* its open entry is part of another now */
int watch_start(struct guest *g, roimeter_watcher *w);   /* with the lock; 0 or a negative errno */
int watch_stop(struct guest *g, roimeter_watcher *w);    /* NULL: all; with the lock */
void watch_tell(struct guest *g, roimeter_watcher *from, const struct roimeter_watched *what);

/* device.c */
void *symbol_of(const char *const *libraries, int mode, const char *name); /* NULL at their end */
void *symbol_in_program(const char *name); /* NULL: none, or a static program */
void device_sync(void);
enum { RANGES_PROFILER = 1, RANGES_WATCHER = 2 };
extern uint32_t ranges_wanted; /* who is to be told of marks */
void ranges_find(void);
bool range_is_region(void); /* a range of the program is the region: ROIMETER_RANGE is set */
void range_push(const char *name);
void range_pop(void);

/* nvtx.c */
bool nvtx_push(const char *name);
bool nvtx_pop(void);

/* The marks themselves are in mark.h. */

/* clock_gettime, or what it calls itself: the kernel's function in the vDSO. */
typedef int clock_reader(clockid_t clock, struct timespec *ret);
extern clock_reader *clock_read;

static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec t;
	(void)clock_read(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t tick;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
	return tick;
#else
	return clock_monotonic_ns();
#endif
}

/* The processor may read its counter before what stands before that is done, even before a lock is
 * had: a BEGIN was stamped 5 to 20 ns before the END on another thread that it had waited for.
 * After this it can't. */
static inline void clock_order(void)
{
#if defined(__SSE2__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

static inline uint64_t clock_tick(void)
{
	return clock_is_tsc ? clock_counter() : clock_monotonic_ns();
}

#endif
