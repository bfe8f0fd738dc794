/* Events on their way to the takers. A thread puts them into a ring of its own, without a lock; who
 * has the lock hands them over: the thread itself when its ring is full, the collector's thread for
 * all, whoever ends or forks.
 *
 * Calls that only touch a stream's buffer take less time than to write an event down, so that alike
 * ones are a run: the event stands at head, not yet put, and the thread counts on in run_count. Who
 * hands over all takes what it has counted so far, and remembers what was taken. */
#include "collectors/io_wrap.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/live.h"

#define THREADS 4096  /* that do such calls at the same time */
#define TIMED_EACH 64 /* calls of a thread that is not timed, to one look at the clock */
#define CHILD_EVENTS 16
#define LONG_TICKS 50000 /* some 20 us */
#define SPARE_MPI 1      /* in spare, until it is handed over: no event, a call of MPI */
#define EARLY_KEYS 32    /* pthread_setspecific allocates for those behind them */

static_assert(sizeof(struct io_thread) <= 4096, "a page");

static struct io_thread *threads; /* with the lock; never shorter */
static uint32_t n_threads;
static pthread_key_t key;
static bool has_key;

/* Before the takers begin other libraries may be at work: hwloc's and UCX's read files as they are
 * loaded. Their events wait here, with the lock. */
#define EARLY_EVENTS 4096
static struct io_event *early;
static size_t n_early;

void *io_map(size_t bytes, bool shared)
{
	int flags = MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE);
	long at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0L);
	return at == -1 ? NULL : (void *)at;
}

/* ---- threads ------------------------------------------------------------------------------------
 */

static void thread_ends(void *of)
{
	struct io_thread *t = of;
	int saved = errno;
	io_abandoned(); /* it may have been ended anywhere */
	if (io_lock_look() == 0) {
		io_hand_over(t, true);
		io_self.thread =
			NULL; /* if it does more, it takes another one, with the same number */
		t->used = false;
		io_unlock();
	}
	errno = saved;
}

void io_thread_start(void)
{
	has_key = pthread_key_create(&key, thread_ends) == 0;
	if (has_key && key >= EARLY_KEYS) {
		(void)pthread_key_delete(key);
		has_key = false;
	}
	if (has_key && io_self.thread)
		(void)pthread_setspecific(key, io_self.thread);
}

/* With the lock. */
static struct io_thread *thread_new(void)
{
	struct io_thread *t = threads;
	while (t && t->used)
		t = t->next;
	if (!t && n_threads < THREADS && (t = io_map(sizeof *t, false))) {
		t->next = threads;
		threads = t;
		n_threads++;
	}
	if (!t)
		return NULL;
	t->used = true;
	t->last_fd = -1;
	t->run = t->depth = t->when_left = 0;
	t->room = t->head + IO_RING;
	if (!io_self.number)
		io_self.number = ++io.n_threads;
	t->number = io_self.number - 1;
	return t;
}

static bool thread_begin(void)
{
	int saved = errno;
	if (io_lock() == 0) {
		io_self.thread = thread_new();
		if (io_self.thread && has_key)
			(void)pthread_setspecific(key, io_self.thread);
		io_unlock();
	}
	errno = saved;
	return io_self.thread != NULL;
}

/* Only the one that forked is left. */
void io_thread_child(void)
{
	io.n_threads = 0;
	n_early = 0;
	for (struct io_thread *t = threads; t; t = t->next) {
		t->tail = t->head;
		t->run = t->run_taken = 0;
		t->room = t->head + IO_RING;
		t->used = t == io_self.thread;
	}
	io_self.number = io_self.thread ? ++io.n_threads : 0;
	if (io_self.thread)
		io_self.thread->number = 0;
}

/* ---- calls --------------------------------------------------------------------------------------
 */

bool io_begin_slow(struct io_span *c)
{
	if (io_self.vforked || io_self.quiet)
		return false;
	if (GET(io.stage) == IO_UNKNOWN) {
		io_self.quiet++;
		int saved = errno;
		io_decide();
		errno = saved;
		io_self.quiet--;
	}
	if (!io_is_on())
		return false;
	if (io_self.ours || (!io_self.thread && !thread_begin())) {
		ADD(io.dropped, 1);
		return false;
	}
	c->thread = io_self.thread;
	return true;
}

IO_HOT bool io_begin(struct io_span *c)
{
	if (!io_may_begin(c))
		return false;
	c->tick = io_now();
	return true;
}

IO_HOT void io_end(const struct io_span *c, enum io_call call, int64_t result, int64_t at,
		   unsigned n, const int64_t *arg)
{
	io_put(c, c->tick, io_now(), call, result, at, n, arg);
}

void io_deeper(const struct io_span *c)
{
	c->thread->depth++;
}

void io_higher(const struct io_span *c)
{
	c->thread->depth--;
}

/* ---- putting ------------------------------------------------------------------------------------
 */

static struct io_event *slot(struct io_thread *t, uint64_t at)
{
	return &t->ring[at % IO_RING];
}

/* Is this more than what a child of a shell does before it execs? */
static bool is_work(enum io_call call)
{
	switch (call) {
	case IO_open:
	case IO_openat:
	case IO_close:
	case IO_dup:
	case IO_dup2:
	case IO_fcntl:
		return false;
	default:
		return true;
	}
}

static void early_keep(struct io_thread *t)
{
	uint64_t tail = t->tail;
	io_changes();
	if (!early)
		early = io_map(EARLY_EVENTS * sizeof *early, false);
	while (early && tail < t->head && n_early < EARLY_EVENTS)
		early[n_early++] = *slot(t, tail++);
	PUT_RELEASE(t->tail, tail);
}

/* The ring is full, or this is a child that has not begun. */
static void put_slow(struct io_thread *t, enum io_call call)
{
	int saved = errno;
	if (io_is_child()) {
		t->room = t->head + IO_RING;
		errno = saved;
		return;
	}
	if (GET(io.stage) == IO_CHILD && (is_work(call) || t->head - GET(t->tail) >= CHILD_EVENTS))
		(void)io_start_late();
	if (t->head == t->room && io_lock_look() == 0) {
		if (GET(io.stage) == IO_RUNS)
			io_hand_over(t, false);
		else if (GET(io.stage) == IO_EARLY)
			early_keep(t);
		io_unlock();
	}
	t->room = GET_ACQUIRE(t->tail) + IO_RING;
	errno = saved;
}

IO_HOT static void put_done(struct io_thread *t, enum io_call call)
{
	PUT_RELEASE(t->head, t->head + 1);
	if (UNLIKELY(t->head == t->room || GET(io.stage) == IO_CHILD))
		put_slow(t, call);
}

/* What was counted so far is put. There is room after it, but for who can't hand over. */
static void run_close(struct io_thread *t)
{
	struct io_event *e = slot(t, t->run - 1);
	e->count = (uint32_t)t->run_count;
	PUT_RELEASE(t->run, 0);
	put_done(t, e->call);
}

/* NULL: no room, since nobody can hand over. */
IO_HOT static struct io_event *next_event(struct io_thread *t)
{
	if (UNLIKELY(t->run))
		run_close(t);
	if (UNLIKELY(t->head == t->room)) {
		put_slow(t, IO_CALL_NONE);
		if (t->head == t->room) {
			ADD(io.dropped, 1);
			return NULL;
		}
	}
	return slot(t, t->head);
}

static inline void fill(struct io_event *e, const struct io_thread *t, enum io_call call,
			int64_t result, int64_t at)
{
	e->call = (uint16_t)call;
	e->depth = (uint8_t)(t->depth < UINT8_MAX ? t->depth : UINT8_MAX);
	e->spare = 0;
	e->thread = t->number;
	e->result = result;
	e->at = at;
	e->spare2 = 0;
}

/* About when it is, for calls that are not timed: a look at the clock now and then, and after each
 * mark. False: the same as for the call before. */
IO_HOT static bool look(struct io_thread *t)
{
	uint32_t marks = GET(live_marked);
	if (LIKELY(t->when_left && t->when_marks == marks)) {
		t->when_left--;
		return false;
	}
	t->when = io_now();
	t->when_left = TIMED_EACH - 1;
	t->when_marks = marks;
	return true;
}

/* A collector of a device wants to know of this before it is late (live_host). */
static void put_long(struct io_thread *t)
{
	int saved = errno;
	if (live_host_wanted() && GET(io.stage) == IO_RUNS && io_lock_look() == 0) {
		io_hand_over(t, false);
		io_unlock();
		t->room = GET_ACQUIRE(t->tail) + IO_RING;
	}
	errno = saved;
}

IO_HOT void io_put(const struct io_span *c, uint64_t begin_tick, uint64_t end_tick,
		   enum io_call call, int64_t result, int64_t at, unsigned n, const int64_t *arg)
{
	struct io_thread *t = c->thread;
	io_enter();
	struct io_event *e = next_event(t);
	if (LIKELY(e != NULL)) {
		fill(e, t, call, result, at);
		for (unsigned i = 0; i < IO_ARGS; i++)
			e->arg[i] = i < n ? arg[i] : 0;
		e->begin_ns = begin_tick;
		e->end_ns = end_tick;
		e->count = 1;
		e->when_ns = 0;
		if (!begin_tick) {
			(void)look(t);
			e->when_ns = t->when;
		}
		put_done(t, call);
		if (UNLIKELY(end_tick - begin_tick > LONG_TICKS))
			put_long(t);
	}
	io_leave();
}

void io_end_mpi(const struct io_span *c, enum io_mpi_class what)
{
	struct io_thread *t = c->thread;
	uint64_t end = io_now();
	io_enter();
	struct io_event *e = next_event(t);
	if (LIKELY(e != NULL)) {
		*e = (struct io_event){ .begin_ns = c->tick, .end_ns = end, .count = 1 };
		fill(e, t, (enum io_call)what, 0, 0);
		e->spare = SPARE_MPI;
		put_done(t, IO_open);
		if (UNLIKELY(end - c->tick > LONG_TICKS))
			put_long(t);
	}
	io_leave();
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

static void run_begin(struct io_thread *t, enum io_call call, uint32_t handle, int64_t asked,
		      int64_t result, int64_t at)
{
	struct io_event *e = next_event(t);
	if (!e)
		return;
	fill(e, t, call, result, at);
	memset(e->arg, 0, sizeof e->arg);
	e->arg[0] = handle;
	e->arg[1] = asked;
	e->begin_ns = e->end_ns = 0;
	e->when_ns = t->when;
	t->run_count = 1;
	PUT_RELEASE(t->run, t->head + 1);
	if (UNLIKELY(GET(io.stage) == IO_CHILD))
		run_close(t);
}

IO_HOT void io_run(struct io_thread *t, enum io_call call, uint32_t handle, int64_t asked,
		   int64_t result, int64_t at)
{
	io_enter();
	bool again = !look(t) && t->run;
	const struct io_event *e = slot(t, t->run - 1);
	if (LIKELY(again && e->call == call && e->arg[0] == handle && e->arg[1] == asked &&
		   e->result == result && e->depth == t->depth &&
		   at == (e->at < 0 ? e->at : e->at + (int64_t)t->run_count * result)))
		PUT_RELEASE(t->run_count, t->run_count + 1);
	else
		run_begin(t, call, handle, asked, result, at);
	io_leave();
}

void io_run_many(struct io_thread *t, enum io_call call, uint32_t handle, int64_t result,
		 int64_t at, uint32_t n)
{
	io_enter();
	(void)look(t);
	struct io_event *e = next_event(t);
	if (e) {
		fill(e, t, call, result, at);
		memset(e->arg, 0, sizeof e->arg);
		e->arg[0] = handle;
		e->begin_ns = e->end_ns = 0;
		e->when_ns = t->when;
		e->count = n;
		put_done(t, call);
	}
	io_leave();
}

/* ---- handing over; with the lock ----------------------------------------------------------------
 */

static void to_ns(struct io_event *e)
{
	if (e->begin_ns) {
		e->begin_ns = io_clock_ns(e->begin_ns);
		e->end_ns = io_clock_ns(e->end_ns);
	}
	if (e->when_ns)
		e->when_ns = io_clock_ns(e->when_ns);
}

/* Of this run `taken` calls are handed over. */
static void skip(struct io_event *e, uint64_t taken)
{
	if (e->at >= 0)
		e->at += (int64_t)taken * e->result;
	e->count -= (uint32_t)taken;
}

/* Those of one kind together. */
static void give(struct io_event *e, size_t most)
{
	for (size_t i = 0; i < most; i++)
		to_ns(&e[i]);
	while (most) {
		size_t n = 1;
		while (n < most && e[n].spare == e->spare)
			n++;
		if (e->spare == SPARE_MPI)
			io_take_mpi(e, n);
		else
			io_take_events(e, n);
		e += n;
		most -= n;
	}
}

static void hand_over_put(struct io_thread *t, uint64_t head)
{
	uint64_t tail = t->tail;
	if (tail < head && t->run_taken == tail + 1) {
		skip(slot(t, tail), t->run_taken_count);
		tail += slot(t, tail)->count == 0;
		t->run_taken = 0;
	}
	while (tail < head) {
		uint64_t most = IO_RING - tail % IO_RING;
		most = most < head - tail ? most : head - tail;
		give(slot(t, tail), (size_t)most);
		tail += most;
	}
	PUT_RELEASE(t->tail, head);
}

/* The run that goes on at head. The thread may end it at any moment: then it is put, and found next
 * time. */
static void hand_over_run(struct io_thread *t, uint64_t head, uint64_t count)
{
	struct io_event e = *slot(t, head);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	uint64_t taken = t->run_taken == head + 1 ? t->run_taken_count : 0;
	if (GET_ACQUIRE(t->run) != head + 1 || count <= taken)
		return;
	e.count = (uint32_t)count;
	skip(&e, taken);
	to_ns(&e);
	io_take_events(&e, 1);
	t->run_taken = head + 1;
	t->run_taken_count = count;
}

/* What an event names was pushed before it was put, so this is looked at after head. */
static void hand_over(struct io_thread *t, bool all)
{
	uint64_t head = GET_ACQUIRE(t->head), run = GET_ACQUIRE(t->run);
	uint64_t count = GET_ACQUIRE(t->run_count);
	io_clock_pair();
	io_handles_tell();
	give(early, n_early);
	n_early = 0;
	hand_over_put(t, head);
	if (all && run == head + 1)
		hand_over_run(t, head, count);
}

static void hand_over_some(void *of)
{
	hand_over(of, false);
}

static void hand_over_all_of(void *of)
{
	hand_over(of, true);
}

void io_hand_over(struct io_thread *t, bool all)
{
	io_apart(all ? hand_over_all_of : hand_over_some, t);
}

static void hand_over_all(void *unused)
{
	(void)unused;
	for (struct io_thread *t = threads; t; t = t->next)
		hand_over(t, true);
}

void io_hand_over_all(void)
{
	io_apart(hand_over_all, NULL);
}
