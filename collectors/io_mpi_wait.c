/* Calls that wait for requests, or test them. Those of accesses to files are known here from their
 * start: when one is done, its access and what waited for it become events. A call that ends at
 * least one such is one about files; all others are timed as waiting. */
#include "collectors/io_mpi.h"

#include <stdlib.h>

#define REQUESTS 1024 /* of files, under way at the same time */
#define BUCKETS 256
#define STATUSES_BYTES 1024
#define NONE (-1)

/* ---- those under way; with the lock -------------------------------------------------------------
 */

struct slot {
	struct mpi_begun of;
	uint64_t waiter; /* who waits for it now; 0: nobody */
	size_t index;    /* in its requests */
	int next;        /* in its bucket, or of the free ones */
};
static struct slot slots[REQUESTS];
static int buckets[BUCKETS], first_free;
static bool ready;
static uint32_t under_way; /* atomic: 0 asks for no lock */
static uint64_t waiters;

static int *bucket(mpi_word request)
{
	return &buckets[(request ^ request >> 4 ^ request >> 12) % BUCKETS];
}

static void prepare(void)
{
	if (ready)
		return;
	ready = true;
	for (int i = 0; i < REQUESTS; i++)
		slots[i].next = i + 1 < REQUESTS ? i + 1 : NONE;
	for (int i = 0; i < BUCKETS; i++)
		buckets[i] = NONE;
}

void mpi_request_begun(const struct mpi_begun *b)
{
	bool kept = false;
	if (mpi_lock()) {
		prepare();
		int i = first_free;
		if (i != NONE) {
			first_free = slots[i].next;
			slots[i] = (struct slot){ .of = *b, .next = NONE };
			/* An MPI may give one handle to several that are done at once: in order. */
			int *at = bucket(b->request);
			while (*at != NONE)
				at = &slots[*at].next;
			*at = i;
			ADD(under_way, 1);
			kept = true;
		}
		mpi_unlock();
	}
	if (!kept)
		ADD(io.dropped, 1);
}

void mpi_requests_lost(void)
{
	uint32_t n = __atomic_exchange_n(&under_way, 0, __ATOMIC_RELAXED);
	if (n)
		ADD(io.dropped, n);
}

static void release(int i)
{
	int *at = bucket(slots[i].of.request);
	while (*at != i)
		at = &slots[*at].next;
	*at = slots[i].next;
	slots[i].next = first_free;
	slots[i].waiter = 0;
	first_free = i;
	__atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
}

/* ---- a call that waits --------------------------------------------------------------------------
 */

struct waits {
	struct io_span span;
	uint64_t id; /* 0: no request of a file is among them */
	mpi_word statuses;
	bool no_statuses; /* there was no room for them */
	void *heap;
	char own[STATUSES_BYTES] __attribute__((aligned(16)));
};

/* Marks those of files among them. */
static size_t mark(struct waits *w, size_t n, mpi_word requests)
{
	size_t found = 0;
	if (!GET(under_way) || !requests || !mpi_lock())
		return 0;
	uint64_t id = ++waiters;
	for (size_t k = 0; k < n; k++) {
		mpi_word r = mpi_handle_at(requests, k);
		int i = r == mpi_facts()->request_null ? NONE : *bucket(r);
		while (i != NONE && (slots[i].of.request != r || slots[i].waiter))
			i = slots[i].next;
		if (i == NONE)
			continue;
		slots[i].waiter = id;
		slots[i].index = k;
		found++;
	}
	mpi_unlock();
	w->id = found ? id : 0;
	return found;
}

/* False: straight on. room: how many statuses the call leaves. */
static bool begin(struct waits *w, size_t n, mpi_word requests, size_t room, mpi_word statuses)
{
	if (!mpi_begin(&w->span))
		return false;
	w->id = 0;
	w->heap = NULL;
	w->no_statuses = false;
	w->statuses = statuses;
	if (!mark(w, n, requests) || statuses != mpi_facts()->status_ignore)
		return true;
	size_t bytes = room * mpi_facts()->status_bytes;
	if (bytes > sizeof w->own)
		w->heap = malloc(bytes);
	w->no_statuses = bytes > sizeof w->own && !w->heap;
	if (!w->no_statuses)
		w->statuses = w->heap ? (mpi_word)w->heap : (mpi_word)w->own;
	return true;
}

/* Which of its statuses is of the request at index; NONE: that is not done. */
static int64_t status_of(size_t index, int64_t done, const int *indices)
{
	if (!indices)
		return (int64_t)index < done ? (int64_t)index : NONE;
	for (int64_t i = 0; i < done; i++)
		if ((size_t)indices[i] == index)
			return i;
	return NONE;
}

/* several: the call tells of its failures in the statuses. */
static int64_t result_of(const struct waits *w, int rc, bool several, int64_t i, bool *pending)
{
	const struct mpi_facts *m = mpi_facts();
	int class_ = 0;
	if (w->no_statuses)
		return rc ? mpi_failed(rc) : -1;
	mpi_word status = w->statuses + (mpi_word)i * m->status_bytes;
	if (rc && several && !mpi_ask.Error_class((mpi_word)rc, &class_) &&
	    class_ == m->err_in_status) {
		int error = *(const int *)(status + m->status_error_at);
		*pending = error && !mpi_ask.Error_class((mpi_word)error, &class_) &&
			   class_ == m->err_pending;
		return error ? mpi_failed(error) : mpi_moved(status);
	}
	return rc ? mpi_failed(rc) : mpi_moved(status);
}

struct finished {
	struct mpi_begun of;
	int64_t result;
};

/* The next that is done: out of the list of those under way. */
static bool take(struct waits *w, int rc, int64_t done, const int *indices, bool several, int *from,
		 struct finished *f)
{
	bool found = false;
	if (!mpi_lock())
		return false;
	for (; *from < REQUESTS && !found; ++*from) {
		struct slot *s = &slots[*from];
		if (s->waiter != w->id)
			continue;
		s->waiter = 0;
		int64_t i = status_of(s->index, done, indices);
		bool pending = i == NONE;
		if (!pending)
			f->result = result_of(w, rc, several, i, &pending);
		if (pending)
			continue;
		f->of = s->of;
		release(*from);
		found = true;
	}
	mpi_unlock();
	return found;
}

/* `done` of them are, at these indices; NULL: the first ones. */
static void end(struct waits *w, int rc, int64_t done, const int *indices, bool several)
{
	int saved, from = 0;
	bool files = false;
	struct finished f;
	if (!w->id) {
		mpi_end(&w->span, IO_MPI_WAIT);
		return;
	}
	uint64_t now = mpi_returned(&w->span, &saved);
	while (take(w, rc, done, indices, several, &from, &f)) {
		if (!files)
			mpi_higher(&w->span);
		io_put(&w->span, f.of.begin, now, f.of.call, f.result, f.of.at, f.of.n, f.of.arg);
		/* The time of the call is that of the first. */
		io_put(&w->span, files ? now : w->span.tick, now, IO_MPI_File_wait, f.result, -1,
		       ARGS(f.of.number));
		files = true;
	}
	free(w->heap);
	if (files)
		mpi_done(&w->span, saved);
	else
		mpi_end(&w->span, IO_MPI_WAIT);
}

/* ---- the functions ------------------------------------------------------------------------------
 */

static int wait_one(int (*next)(MPI_P2), mpi_word request, mpi_word status)
{
	struct waits w;
	if (!begin(&w, 1, request, 1, status))
		return next(request, status);
	int rc = next(request, w.statuses);
	end(&w, rc, 1, NULL, false);
	return rc;
}
MPI_BOTH(Wait, 2, wait_one(next, a, b))

static int wait_all(int (*next)(MPI_P3), mpi_word n, mpi_word requests, mpi_word statuses)
{
	struct waits w;
	size_t count = (int)n > 0 ? (size_t)(int)n : 0;
	if (!begin(&w, count, requests, count, statuses))
		return next(n, requests, statuses);
	int rc = next(n, requests, w.statuses);
	end(&w, rc, (int64_t)count, NULL, true);
	return rc;
}
MPI_BOTH(Waitall, 3, wait_all(next, a, b, c))

static int wait_any(int (*next)(MPI_P4), mpi_word n, mpi_word requests, mpi_word index,
		    mpi_word status)
{
	struct waits w;
	if (!begin(&w, (int)n > 0 ? (size_t)(int)n : 0, requests, 1, status))
		return next(n, requests, index, status);
	int rc = next(n, requests, index, w.statuses);
	end(&w, rc, 1, (const int *)index, false);
	return rc;
}
MPI_BOTH(Waitany, 4, wait_any(next, a, b, c, d))

/* Waitsome and Testsome. */
static int some(int (*next)(MPI_P5), mpi_word n, mpi_word requests, mpi_word count,
		mpi_word indices, mpi_word statuses)
{
	struct waits w;
	size_t most = (int)n > 0 ? (size_t)(int)n : 0;
	if (!begin(&w, most, requests, most, statuses))
		return next(n, requests, count, indices, statuses);
	int rc = next(n, requests, count, indices, w.statuses);
	int64_t done = *(const int *)count;
	end(&w, rc, done > 0 ? done : 0, (const int *)indices, true);
	return rc;
}
MPI_BOTH(Waitsome, 5, some(next, a, b, c, d, e))
MPI_BOTH(Testsome, 5, some(next, a, b, c, d, e))

static int test_one(int (*next)(MPI_P3), mpi_word request, mpi_word flag, mpi_word status)
{
	struct waits w;
	if (!begin(&w, 1, request, 1, status))
		return next(request, flag, status);
	int rc = next(request, flag, w.statuses);
	end(&w, rc, rc || *(const int *)flag ? 1 : 0, NULL, false);
	return rc;
}
MPI_BOTH(Test, 3, test_one(next, a, b, c))

static int test_all(int (*next)(MPI_P4), mpi_word n, mpi_word requests, mpi_word flag,
		    mpi_word statuses)
{
	struct waits w;
	size_t count = (int)n > 0 ? (size_t)(int)n : 0;
	if (!begin(&w, count, requests, count, statuses))
		return next(n, requests, flag, statuses);
	int rc = next(n, requests, flag, w.statuses);
	end(&w, rc, rc || *(const int *)flag ? (int64_t)count : 0, NULL, true);
	return rc;
}
MPI_BOTH(Testall, 4, test_all(next, a, b, c, d))

static int test_any(int (*next)(MPI_P5), mpi_word n, mpi_word requests, mpi_word index,
		    mpi_word flag, mpi_word status)
{
	struct waits w;
	if (!begin(&w, (int)n > 0 ? (size_t)(int)n : 0, requests, 1, status))
		return next(n, requests, index, flag, status);
	int rc = next(n, requests, index, flag, w.statuses);
	end(&w, rc, *(const int *)flag ? 1 : 0, (const int *)index, false);
	return rc;
}
MPI_BOTH(Testany, 5, test_any(next, a, b, c, d, e))

/* Nobody will ever hear how it went. */
static int request_free(int (*next)(MPI_P1), mpi_word request)
{
	struct waits w;
	struct finished f;
	int from = 0;
	if (!mpi_begin(&w.span))
		return next(request);
	w.id = 0;
	w.no_statuses = true;
	(void)mark(&w, 1, request);
	int rc = next(request);
	while (w.id && take(&w, 0, 1, NULL, false, &from, &f))
		ADD(io.dropped, 1);
	mpi_end(&w.span, IO_MPI_OTHER);
	return rc;
}
MPI_BOTH(Request_free, 1, request_free(next, a))
