/* What live collectors share inside a measured process: the region from the marker library, one flow
 * behind a lock, and the picture in the folder of the marks. Guest rules: no printing, no waiting
 * without an end, errno is kept, nothing exported. All calls are thread-safe unless said.
 *
 * The picture is written whole into a hidden file and renamed over the old one: at the end of a region
 * entry (not more often than every 200 ms), every second by a thread of its own, and at the end of the
 * process or, before exec, of its program. So a process that is killed leaves what it had by then, with final = no. */
#ifndef COLLECTORS_LIVE_H
#define COLLECTORS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/flow.h"
#include "lib/buf.h"

enum live_flush {
	LIVE_FLUSH,      /* what is complete; it may be put off when that was done a moment ago */
	LIVE_FLUSH_NOW,  /* what is complete; the process may be about to lose its program, or go on */
	LIVE_FLUSH_LAST, /* also what is under way; nothing comes after this */
};

/* Who and how, for a picture of another kind than a device's. Texts are good until the lock is given. */
struct live_who {
	const char *collector, *tool, *status, *why; /* status NULL: all is well */
	const char *run, *exec, *stream, *host, *boot, *pid, *rank, *exe;
	bool final;
	struct txts notes;
	double cpu_s, roi_cpu_s, marks_lost;
};

struct live_options {
	const char *collector, *runtime; /* static texts; runtime may be told later */
	unsigned observes;
	bool calls;
	unsigned tells; /* bit 1u << enum live_host: all of that comes by live_host */
	/* NULL: a device's picture. Else the file ends in this, and picture makes what is in it: with the
	 * lock; the flow tells of the region only. 0 or a negative errno; -ECANCELED: not now. */
	const char *suffix;
	int (*picture)(struct flow *f, const struct live_who *who, struct arena *a, struct buf *b);
	/* Called at the end of an entry, of the process, and before a picture is written when asked for.
	 * False: something is missing of which no count in the picture tells. Without the lock held. May be
	 * NULL. */
	bool (*flush)(enum live_flush how);
	/* In a forked child, before anything else happens there: forget all that was. May be NULL. */
	void (*child)(void);
};

/* After the end: until the collector's own thread is gone, but not longer than this. */
void live_await_gone(int64_t for_ns);

/* Once per process; later calls answer the same. 0: measuring. -ENOENT: nobody measures (ROIMETER_EXEC
 * is not a profiled execution, no folder): do nothing then. Finds the marker library (ROIMETER_LIBRARY),
 * attaches it, and is told of marks from then on; entries that were made before come from its log. */
int live_start(const struct live_options *o);

/* Does ROIMETER_COLLECT (NULL: not set) name this collector? */
bool live_wanted(const char *collect, const char *name);

/* Nothing was or will be seen, and why: status as in the picture. The picture is written at once. */
void live_refuse(const char *status, const char *why_format, ...) __attribute__((format(printf, 2, 3)));

/* One more with each mark of the program, by the thread that marks. */
extern uint32_t live_marked;

/* Sentences for the caveats; each once. */
void live_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void live_runtime(const char *runtime);
void live_clock(double offset_ns, double drift_ns, double error_ns);

/* The flow, locked, for a batch of records; NULL in a forked child that did not start anew. Time lines
 * are CLOCK_MONOTONIC of the host. Between take and give no call may wait for another thread. */
struct flow *live_take(void);
void live_give(struct flow *f);

/* A thread of the collector's own calls this as it begins, and asks now and then whether it is to end:
 * all threads of the program have (main by pthread_exit), and the process ends with the last of ours. */
void live_thread(void);
bool live_alone(void);

/* Operations under way: the picture says how many never came. */
void live_pending(int64_t change);

/* A thread of the program was in I/O or another call of MPI: outermost calls only. For the collector
 * of the device in this process, which needs it for its gap. While there is none this is a load and
 * a branch. Not with the lock; from signal handlers, too. */
enum live_host { LIVE_HOST_IO, LIVE_HOST_MPI };
void live_host(enum live_host what, int64_t begin_ns, int64_t end_ns);
bool live_host_wanted(void); /* is there one? */

/* CPU time that collecting took on this thread: between the two. */
int64_t live_cpu_begin(void);
void live_cpu_end(int64_t begun);

/* The same for what comes with each operation: that clock is a system call, so it is asked for one in
 * 61, which stands for all. */
int64_t live_cpu_sometimes(void);
void live_cpu_sometimes_end(int64_t begun);

/* At the end of the process (exit handlers, _exit, SIGTERM): flush(LIVE_FLUSH_LAST), last picture, final = yes.
 * Once; later calls do nothing. */
void live_finish(void);

#endif
