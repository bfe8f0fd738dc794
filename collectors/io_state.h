/* Inside of the collector `io`, beside io_impl.h: its state, its threads, its descriptors. */
#ifndef COLLECTORS_IO_STATE_H
#define COLLECTORS_IO_STATE_H

#include <pthread.h>

#include "collectors/io_impl.h"

#define GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define PUT(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#define GET_ACQUIRE(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define PUT_RELEASE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELEASE)
#define ADD(x, value) ((void)__atomic_fetch_add(&(x), (value), __ATOMIC_RELAXED))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* What each call needs, together. */
#define IO_HOT __attribute__((hot))
#define IO_HOT_DATA __attribute__((section("io_hot")))

void io_find_all(void);
void io_decide(void);

/* ---- state ------------------------------------------------------------------------------------
 */

enum io_stage {
	IO_UNKNOWN, /* nobody has asked yet */
	IO_OFF,     /* nobody measures, or the process is at its end */
	IO_BROKEN,  /* no more can be taken; what was taken is to be told */
	IO_EARLY,   /* events are kept, the takers have not begun; so are those that follow */
	IO_CHILD,   /* the same in a forked child, which may be about to exec */
	IO_RUNS,
};

struct io {
	uint32_t stage; /* enum io_stage, atomic */
	uint32_t forks; /* of this process and those above it: what is of another count is stale */
	pid_t pid;
	uint64_t lock;               /* of takers, texts, handles, the list of threads; lock_take */
	bool changes;                /* with the lock */
	uint64_t dropped;            /* atomic; not told yet */
	uint32_t handles, n_threads; /* numbers given; with the lock */
	uint32_t changed;            /* atomic: how often descriptors became others */
};

extern struct io io;

/* Nobody changes what the lock is of; else what was looked up only is all there. */
static inline void io_changes(void)
{
	io.changes = true;
	__asm__ volatile("" ::: "memory"); /* a jump out of here is to see it */
}

/* With the lock: errno may change, and calls go straight through meanwhile. 0, as lock_take, or
 * -ECANCELED: nobody measures any more. */
int io_lock(void);
void io_unlock(void);
int io_lock_look(void); /* to look something up; io_changes before anything is changed */

/* Zeroed memory for good; NULL. A system call, no libc. */
void *io_map(size_t bytes, bool shared);

/* io_apart.c. With the lock: what takers do, which needs room and must not be left in the middle.
 */
void io_apart(void (*f)(void *), void *of);
void io_apart_child(void);

/* The thread leaves our code and will not come back. */
void io_abandoned(void);

/* ---- threads ----------------------------------------------------------------------------------
 */

/* A power of two; with it a thread has one page. Between two system calls memory is far away where
 * the kernel keeps its tables apart: each page more costs a call some 20 ns. */
#define IO_RING 32

struct io_thread {
	uint64_t head; /* the thread's own; events before it are there */
	uint64_t room; /* the thread's own: head may come so far */
	uint32_t number;
	uint32_t depth;

	/* A run of calls alike that take no time, at head, not yet put: io_ring.c. */
	uint64_t run, run_count; /* run: 1 + its place, 0 none */
	uint64_t when;           /* ticks, for calls that are not timed */
	uint32_t when_left, when_marks;

	uint64_t tail; /* of who has the lock: handed over before it; atomic */
	uint64_t run_taken, run_taken_count;
	struct io_thread *next; /* all that ever were */
	bool used;

	/* The thread's own: what it used last, as long as io.changed is last_changed. Here, since
	 * otherwise a call has to look at three pages more. */
	int last_fd;
	uint32_t last_changed, last_number;
	int64_t *last_place;

	struct io_event ring[IO_RING];
};

/* Of a thread. straight: calls go on by themselves, since it is in our own code, or a child of
 * vfork, which has this memory but not these descriptors. */
struct io_self {
	struct io_thread *thread;
	uint32_t number; /* 1 + the one that it had; 0 none */
	uint32_t ours, quiet, vforked, finding;
	bool locked; /* while it forks */
};
extern __thread struct io_self io_self __attribute__((tls_model("initial-exec")));

static inline bool io_is_on(void)
{
	return GET(io.stage) >= IO_EARLY;
}

/* With the lock. all: what is not put yet, too. */
void io_hand_over(struct io_thread *t, bool all);
void io_hand_over_all(void);

/* Is this a child that was forked without anybody telling us (_Fork, a system call)? What its
 * parent's other threads had locked, the allocator's locks too, is so for ever, and what is open
 * for writing is the parent's: it is not measured. */
bool io_is_child(void);
void io_thread_start(void);
void io_thread_child(void);

/* A call that takes no time, and those like it right after: one event with a count. */
void io_run(struct io_thread *t, enum io_call call, uint32_t handle, int64_t asked, int64_t result,
	    int64_t at);
/* n of them. */
void io_run_many(struct io_thread *t, enum io_call call, uint32_t handle, int64_t result,
		 int64_t at, uint32_t n);

/* What was done to streams without a call of ours: io_stream.c. */
void io_streams_catch_up(void);

/* As io_begin, but the clock. */
bool io_begin_slow(struct io_span *c);
static inline bool io_may_begin(struct io_span *c)
{
	const struct io_self *s = &io_self;
	c->thread = s->thread;
	if (UNLIKELY(!s->thread || s->ours | s->quiet | s->vforked || !io_is_on()))
		return io_begin_slow(c);
	return true;
}

static inline void io_enter(void)
{
	io_self.ours++;
	__asm__ volatile("" ::: "memory"); /* a signal handler of this thread is to see it */
}

static inline void io_leave(void)
{
	__asm__ volatile("" ::: "memory");
	io_self.ours -= io_self.ours > 0; /* a handler may have left it for us: io_abandoned */
}

/* ---- descriptors of our own: io_fds.c
 * ------------------------------------------------------------
 */

void io_fd_opening(void);
void io_fd_opened(int fd); /* negative: it could not be opened */
void io_fd_closing(int fd);
void io_fd_closed(void);
void io_fd_child(void);

/* Not open, for the program. */
bool io_fd_is_ours(int fd);

/* Around what makes this number the program's, whatever it was. */
bool io_fd_take_begin(int fd);
void io_fd_take_end(bool begun);

int io_fd_close_range(int (*next)(unsigned, unsigned, int), unsigned first, unsigned last,
		      int flags);

/* ---- the clock: io_clock.c ----------------------------------------------------------------------
 */

void io_clock_start(void);
void io_clock_pair(void);             /* before ticks are converted; with the lock */
uint64_t io_clock_ns(uint64_t ticks); /* CLOCK_MONOTONIC; with the lock */

/* ---- descriptors: io_handle.c -------------------------------------------------------------------
 */

#define IO_NO_PLACE (-1)

/* What a descriptor has, until it is closed. Read without the lock: one that another thread closes
 * meanwhile may be another by then, but never no memory. */
struct io_open {
	uint32_t number; /* of its handle */
	uint32_t forks;  /* when it was numbered: io.forks */
	uint32_t path;   /* text */
	uint8_t type, interface;
	bool known; /* type, device and inode were asked for */
	bool told, closed, hidden, was_open;
	bool placeless; /* standard streams, O_APPEND, pipes: what is written goes wherever it goes
			 */
	bool cookie;    /* a stream that calls the program's functions */
	int fd;
	int64_t flags;
	uint64_t device, inode;
	int64_t *place; /* shared with what was duplicated, also by fork */
	struct io_place *place_of;
	struct io_open *next;

	/* Of a stream (io_stream.h): where it stood after the last call that was seen, and the thread
	 * that it is of. */
	const void *stream; /* FILE */
	const char *put_at, *got_at;
	uint32_t user; /* 1 + its number; 0: none yet; IO_MANY */
};

#define IO_MANY UINT32_MAX

struct io_open *io_open_slow(int fd);

#define IO_TABLE 4096 /* descriptors in a part of the table */
#define IO_TABLES 256
extern struct io_open **io_table[IO_TABLES];

static inline struct io_open **io_slot(int fd)
{
	struct io_open **part = (unsigned)fd < IO_TABLE * IO_TABLES
					? GET_ACQUIRE(io_table[(unsigned)fd / IO_TABLE])
					: NULL;
	return part ? &part[(unsigned)fd % IO_TABLE] : NULL;
}

/* NULL: there is no such descriptor, or there is no room. Of one that is hidden nothing is told. */
static inline struct io_open *io_open_of(int fd)
{
	struct io_open **slot = io_slot(fd);
	struct io_open *o = slot ? GET_ACQUIRE(*slot) : NULL;
	return LIKELY(o && o->known && o->forks == io.forks) ? o : io_open_slow(fd);
}

/* io_begin for a call by a descriptor: also false for those of ours. What we look up is not the
 * call's time. */
static inline bool io_begin_fd(struct io_span *c, int fd, struct io_open **ret)
{
	if (!io_may_begin(c))
		return false;
	*ret = io_open_of(fd);
	if (UNLIKELY(*ret && (*ret)->hidden))
		return false;
	c->tick = io_now();
	return true;
}

/* After each change to what io_slot has, or to whether something has a place. */
static inline void io_changed(void)
{
	(void)__atomic_add_fetch(&io.changed, 1, __ATOMIC_RELEASE);
}

static inline uint32_t io_number(const struct io_open *o)
{
	return o ? o->number : 0;
}

/* It was opened: by path (text number, and the text as given for what is ours), or by nobody knows.
 */
struct io_opened {
	int fd;
	uint32_t path;
	int64_t flags;
	enum io_interface interface;
	bool hidden, placeless, cookie;
	enum io_file_type type; /* a guess */
	bool known;             /* no guess */
	struct io_open *with;   /* whose place it shares; NULL: its own, which begins at 0 */
};
struct io_open *io_opened(const struct io_opened *as); /* NULL: no room */

/* It is about to be closed: its handle, as for events. hidden: not to be told. */
struct io_closing {
	uint32_t number;
	bool hidden;
	struct io_open *open;
};
void io_close_begin(struct io_closing *c, int fd);
void io_close_end(const struct io_closing *c);
void io_close_unseen(int fd); /* from where nothing may be locked */

void io_handles_tell(void); /* those that wait; with the lock */
void io_handle_fork(void);
void io_handle_child(void);

/* Where the next n bytes of this descriptor's own place are; it moves on by n. */
static inline int64_t io_place_move(struct io_open *o, int64_t n)
{
	if (!o || o->placeless || !o->place)
		return IO_NO_PLACE;
	if (n <= 0)
		return GET(*o->place);
	return __atomic_fetch_add(o->place, n, __ATOMIC_RELAXED);
}

static inline void io_place_set(struct io_open *o, int64_t to)
{
	if (o && o->place)
		PUT(*o->place, to);
}

/* ---- texts: io_text.c ---------------------------------------------------------------------------
 */

/* The path's text, and whether it is of our own files, of which nothing is told. */
struct io_named {
	uint32_t text;
	bool hidden;
};
struct io_named io_name(int at, const char *path);

/* After a call with this result. A pointer that the kernel did not follow, since the call failed
 * before, may be none. second: of a call with two paths, the other. */
struct io_named io_name_after(int64_t result, int at, const char *path, bool second);
struct io_named io_name_locked(const char *path); /* absolute; with the lock */
void io_text_start(void);
void io_text_begin(void); /* the takers have begun; with the lock */
void io_text_child(void);
void io_cwd_keep(void);
void io_cwd_changed(void);

/* ---- takers: io.c -------------------------------------------------------------------------------
 */

void io_take_text(uint32_t number, const char *text, size_t bytes);
void io_take_handle(const struct io_handle_info *h);
void io_take_events(const struct io_event *e, size_t n);
void io_take_mpi(const struct io_event *e, size_t n);

/* In a forked child, before its events are handed over for the first time. */
bool io_start_late(void);

#endif
