/* Inside of live.c and its parts: live_lock.c (locks), live_marks.c (the marks of the program),
 * live_sample.c (its threads), live_write.c (the picture's file), live_writer.c (the thread that
 * writes), live_exit.c (ends, exec, forks). */
#ifndef COLLECTORS_LIVE_IMPL_H
#define COLLECTORS_LIVE_IMPL_H

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

#include "collectors/live.h"
#include "include/roimeter.h"
#include "lib/arena.h"

#define GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define PUT(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#define GET_ACQUIRE(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define PUT_RELEASE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELEASE)
#define ADD(x, value) ((void)__atomic_fetch_add(&(x), (value), __ATOMIC_RELAXED))

#define LIVE_NOTES 32
#define LIVE_THREADS 64 /* that are looked at, of those that mark */
#define LIVE_MARKS 1024 /* that wait for the next one with work for the flow */
#define LIVE_HOSTS 1024 /* stretches of the host, the same */

enum live_state {
	LIVE_NONE,     /* not started; also in a forked child */
	LIVE_ON,       /* measuring */
	LIVE_FINISHED, /* the last picture is written */
};

/* A thread that has marked. */
struct live_thread {
	pthread_t self;
	clockid_t clock; /* its CPU time */
	int64_t cpu_ns;  /* what that said last */
};

struct live {
	uint64_t lock;  /* of all that is not atomic: live_lock */
	uint64_t write; /* of the file; nobody waits for the first with this one */
	uint32_t state; /* enum live_state; atomic */
	pid_t pid;
	int rc; /* of live_start */
	struct live_options o;
	struct flow *flow;
	struct arena texts; /* who this is, notes */

	char folder[PATH_MAX], name[256]; /* of the file, without its suffix */
	bool agents;                      /* the folder is the one of the node's agent */
	const char *host, *boot, *pid_text, *rank, *exe, *run, *exec, *stream;

	char status[24], why[512]; /* "" while all is well */
	char runtime[64];
	const char *notes[LIVE_NOTES];
	size_t n_notes, notes_left_out;
	double clock_offset_ns, clock_drift_ns, clock_error_ns;
	int64_t pending;            /* atomic */
	int64_t cpu_ns, roi_cpu_ns; /* atomic */
	uint32_t inside;            /* the region is open; atomic, a hint */
	uint64_t regions_folded;    /* entries from before that are known as a sum only */

	struct roimeter_watched marks[LIVE_MARKS];
	uint32_t n_marks;    /* atomic: a signal handler may add one */
	bool announced;      /* who has the lock has it from SOON on */
	uint64_t marks_lost; /* atomic */

	/* What other collectors tell. */
	struct roimeter_watched hosts[LIVE_HOSTS];
	uint32_t n_hosts;    /* with hosts_lock, as what is in the list */
	uint64_t hosts_lock; /* nothing else is taken with it */
	uint64_t hosts_lost; /* atomic */
	const unsigned *watchers; /* how many listen to live_host, us included; NULL: nobody */

	/* The threads of the program. */
	struct live_thread threads[LIVE_THREADS];
	size_t n_threads;
	int64_t sampled_ns; /* all before is told; 0: nobody looks */
	int64_t first_ns;   /* when the first entry began */
	int64_t closed_ns;  /* when the region was closed last */

	/* The writer. */
	bool has_writer;
	long writer;                                /* its number; atomic, 0: not known */
	uint32_t bell;                              /* atomic, a futex */
	uint32_t asked, ended, leaving, terminated; /* atomic: why it rang */
	uint32_t done;          /* atomic, a futex: 1 when the last is written */
	uint32_t stays;         /* atomic: exec failed */
	uint32_t execs;         /* atomic: how often exec was tried */
	uint32_t execs_written; /* atomic, a futex: the one that the last picture before exec is of */
	uint32_t asleep;        /* atomic: it waits for more than a moment */
	uint64_t made, written; /* numbers of pictures; of lock, of write */
	bool last;              /* the last one was made; of lock */
	bool said;              /* that one could not be written */
};

extern struct live live;

int64_t live_now(void);

/* Is this the process that started, and has it not finished? */
bool live_is_on(void);

/* live_lock.c. A lock is 0 while it is free. 0; -EDEADLK: this is a signal handler, and the thread
 * that it interrupted has the lock; -ETIMEDOUT: nobody gives it back, for the same reason. */
int lock_take(uint64_t *word);
bool lock_try(uint64_t *word);
bool lock_is_mine(const uint64_t *word);
void lock_give(uint64_t *word);
void futex_wait(uint32_t *word, uint32_t value, int64_t until); /* until: CLOCK_MONOTONIC, in ns */
void futex_wake(uint32_t *word);

/* live.lock, and marks that wait are told. */
int live_lock(void);
void live_unlock(void);

/* live_marks.c: 0, or why nobody tells of marks, in a note. Without the lock. */
void live_marks_start(void);
void live_marks_stop(void);
void live_marks_tell(void); /* those that wait; with the lock */

/* live_host.c: what collectors tell each other */
void host_take(const struct roimeter_watched *m); /* from another one */
void host_tell(void);                             /* those that wait, to the flow; with the lock */
void host_start(const struct roimeter_api *api, roimeter_watcher *self);

/* live_sample.c; all with the lock. */
void sample_here(int64_t now);    /* the calling thread marks */
void sample_all(int64_t now);     /* what threads did since the last time */
int64_t sample_next(int64_t now); /* when to come again; INT64_MAX: when something is marked */

/* live_write.c */
int who_find(void); /* folder and texts; -ENOENT: there is no folder */
void who_take(const void *log);
enum live_picture {
	LIVE_MORE, /* will come */
	LIVE_EXEC, /* the last one, unless exec fails */
	LIVE_LAST, /* one that comes after it is not written */
};
/* Without the lock. -EDEADLK, -ETIMEDOUT as live_lock; else it says itself what failed. */
int live_write(enum live_picture which);

/* live_writer.c */
void writer_start(void);
void writer_ring(void);                 /* for signal handlers too */
bool writer_await_done(int64_t for_ns); /* the last picture was written */
void writer_await_exec(uint32_t number, int64_t for_ns);

/* live_exit.c */
void exits_watch(void); /* once per process image */
void live_finish_here(void);
void term_again(void); /* the process ends by the signal that it got */

#endif
