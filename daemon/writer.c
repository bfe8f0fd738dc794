/* Group commit. A sender that is alone never waits for others: what is there is taken at once, and
 * what comes while the disk works is the next group. Where many agents are connected and the last
 * group was not of one alone, the next one is given a millisecond to grow: a commit costs as much
 * CPU as taking in fifteen posts. */
#define _GNU_SOURCE /* strdup, pthread_cond_clockwait, pthread_setname_np */
#include "daemon/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/alone.h"
#include "lib/log.h"

#define POSTS_MAX 65536 /* waiting; their bytes are bounded where they come in */
#define JOBS_MAX 4096
#define GROUP_POSTS 1024
#define GROUP_BYTES                                                                                \
	((size_t)16 << 20) /* a log before a checkpoint does not grow past a few of these */
#define TICK_NS 1000000000ull
#define GATHER_NS 1000000ull /* after a commit */
#define GATHER_POSTS 16      /* so many are worth one at once */
#define SOON_NS 20000000ull  /* between two ticks at least, whatever the posts say */

const double writer_bounds_s[WRITER_BUCKETS] = { 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1 };

struct queue {
	struct post *first, **last;
	size_t n;
};

struct writer {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct queue posts; /* these, jobs and stop are under the lock */
	struct work *job, **last_job;
	size_t n_jobs, wanted; /* wanted: posts for which the thread is to be woken */
	bool stop;
	atomic_long senders;
	pthread_t thread;
	bool runs;
	struct writer_core core;
	int alone;           /* the lock */
	struct store *store; /* from here on the thread's alone */
	uint64_t last_tick_ns, next_tick_ns, last_group_ns;
	size_t last_group;           /* posts */
	unsigned long failed_before; /* posts, when the store began to fail */
	bool is_failing, tick_failed;
	struct writer_numbers numbers;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count(atomic_ulong *number, unsigned long more)
{
	(void)atomic_fetch_add_explicit(number, more, memory_order_relaxed);
}

/* ---- the queue ----------------------------------------------------------------------------- */

static void push(struct queue *q, struct post *p)
{
	p->next = NULL;
	*q->last = p;
	q->last = &p->next;
	q->n++;
}

bool writer_post(struct writer *w, struct post *p)
{
	(void)pthread_mutex_lock(&w->lock);
	bool room = w->posts.n < POSTS_MAX && !w->stop;
	if (room)
		push(&w->posts, p);
	bool wakes = room && w->posts.n >= w->wanted;
	(void)pthread_mutex_unlock(&w->lock);
	/* Behind the unlock: else the thread would wake only to wait for the lock. */
	if (wakes)
		(void)pthread_cond_signal(&w->wake);
	return room;
}

bool writer_put(struct writer *w, struct work *job)
{
	(void)pthread_mutex_lock(&w->lock);
	bool room = w->n_jobs < JOBS_MAX && !w->stop;
	if (room) {
		job->next = NULL;
		*w->last_job = job;
		w->last_job = &job->next;
		w->n_jobs++;
	}
	(void)pthread_mutex_unlock(&w->lock);
	if (room)
		(void)pthread_cond_signal(&w->wake);
	return room;
}

bool writer_is_full(struct writer *w)
{
	(void)pthread_mutex_lock(&w->lock);
	bool full = w->posts.n >= POSTS_MAX || w->stop;
	(void)pthread_mutex_unlock(&w->lock);
	return full;
}

/* With the lock held: the oldest that go together. */
static struct post *take_group(struct queue *q, size_t *ret_n)
{
	struct post *group = q->first, **end = &group;
	size_t posts = 0, bytes = 0;
	while (*end && posts < GROUP_POSTS && (posts == 0 || bytes + (*end)->n <= GROUP_BYTES)) {
		bytes += (*end)->n;
		posts++;
		end = &(*end)->next;
	}
	*ret_n = posts;
	q->first = *end;
	*end = NULL;
	q->n -= posts;
	if (!q->first)
		q->last = &q->first;
	return group;
}

static struct work *take_jobs(struct writer *w)
{
	struct work *jobs = w->job;
	w->job = NULL;
	w->last_job = &w->job;
	w->n_jobs = 0;
	return jobs;
}

/* ---- one transaction ----------------------------------------------------------------------- */

static bool is_refusal(int rc)
{
	return rc == -EBADMSG || rc == -EEXIST || rc == -EPROTONOSUPPORT || rc == -E2BIG;
}

static void say(struct post *p, int rc, const struct err *err)
{
	p->rc = rc;
	free(p->why);
	p->why = err->text[0] ? strdup(err->text) : NULL;
}

static int commit(struct writer *w, struct err *err)
{
	uint64_t begin = now_ns();
	int rc = store_commit(w->store, err);
	uint64_t took = now_ns() - begin;
	size_t b = 0;
	while (b < WRITER_BUCKETS && (double)took > writer_bounds_s[b] * 1e9)
		b++;
	count(&w->numbers.commit_buckets[b], 1);
	count(&w->numbers.commit_ns, took);
	count(&w->numbers.commits, 1);
	return rc;
}

/* *ret_took: it was one of the bodies that the store failed at, not its begin or its end. */
static int store_group(struct writer *w, struct post *group, bool *ret_took, struct err *err)
{
	*ret_took = false;
	int rc = store_begin(w->store, err);
	if (rc)
		return rc;
	for (struct post *p = group; p && !rc; p = p->next) {
		struct err own = { { 0 } };
		int one = w->core.take(w->core.self, w->store, p, &own);
		say(p, one, &own);
		if (one && !is_refusal(one)) {
			*ret_took = true;
			*err = own;
			rc = one;
		}
	}
	if (!rc)
		rc = commit(w, err);
	else
		store_rollback(w->store);
	return rc;
}

/* What was refused stays refused, but for a body that contradicts what is not stored now. */
static void fail_group(struct post *group, int rc, const struct err *err)
{
	for (struct post *p = group; p; p = p->next)
		if (!is_refusal(p->rc) || p->rc == -EEXIST)
			say(p, rc, err);
}

/* A lasting trouble is told when it begins and when it ends. */
static void tell(struct writer *w, int rc, const struct err *err)
{
	unsigned long failed = atomic_load(&w->numbers.failed);
	if (rc && !w->is_failing) {
		log_error("ingest: %s; agents are told to come again", err->text);
		w->failed_before = failed;
	} else if (!rc && w->is_failing) {
		log_info("ingest: the store takes batches again; %lu posts were sent back",
			 failed - w->failed_before);
	}
	w->is_failing = rc;
}

static void tick_soon(struct writer *w)
{
	uint64_t at = w->last_tick_ns + SOON_NS;
	if (!w->tick_failed && at < w->next_tick_ns)
		w->next_tick_ns = at;
}

static void answer(struct writer *w, struct post *group)
{
	for (struct post *next; group; group = next) {
		struct writer_numbers *n = &w->numbers;
		next = group->next;
		count(&n->posts, 1);
		if (is_refusal(group->rc)) {
			count(&n->refused, 1);
		} else if (group->rc) {
			count(&n->failed, 1);
		} else {
			count(&n->bytes, group->n);
			count(&n->batches, group->batches);
			count(&n->duplicates, group->duplicates);
			if (group->due)
				tick_soon(w);
		}
		group->done(group);
	}
}

/* A body that the store can't take must not hold up all others for ever: then each goes alone. */
static void do_group(struct writer *w, struct post *group)
{
	bool took;
	struct err err = { { 0 } };
	int rc = store_group(w, group, &took, &err);
	if (rc && took && rc != -ENOSPC && group->next) {
		for (struct post *p = group, *next; p; p = next) {
			next = p->next;
			p->next = NULL;
			do_group(w, p);
		}
		return;
	}
	if (rc)
		fail_group(group, rc, &err);
	tell(w, rc, &err);
	answer(w, group);
}

static void tick(struct writer *w)
{
	struct err err = { { 0 } };
	uint64_t pause_ns = TICK_NS, now = now_ns();
	int rc = w->core.tick(w->core.self, w->store, &pause_ns, &err);
	if (rc && !w->tick_failed)
		log_error("runs are not closed: %s; tried again each second", err.text);
	else if (!rc && w->tick_failed)
		log_info("runs are closed again");
	w->tick_failed = rc;
	w->last_tick_ns = now;
	w->next_tick_ns = now + (rc || pause_ns > TICK_NS ? TICK_NS : pause_ns);
}

/* ---- the thread ---------------------------------------------------------------------------- */

/* With the lock held: until so many posts wait, or there is something else to do. */
static void await_posts(struct writer *w, size_t wanted, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000u),
					.tv_nsec = (long)(until_ns % 1000000000u) };
	int rc = 0;
	w->wanted = wanted;
	while (w->posts.n < wanted && !w->job && !w->stop && rc != ETIMEDOUT)
		rc = pthread_cond_clockwait(&w->wake, &w->lock, CLOCK_MONOTONIC, &until);
	w->wanted = 1;
}

/* With the lock held. Returns when there is something to do. */
static void await(struct writer *w)
{
	await_posts(w, 1, w->next_tick_ns);
	/* Those that each wait for their answer before they post again can't be more than the
	 * senders there are. */
	long share = atomic_load(&w->senders) / 4;
	size_t worth = share < GATHER_POSTS ? (size_t)(share > 0 ? share : 0) : GATHER_POSTS;
	if (w->posts.n && w->posts.n < worth && w->last_group > 1)
		await_posts(w, worth, w->last_group_ns + GATHER_NS);
}

static void *write_loop(void *arg)
{
	struct writer *w = arg;
	(void)pthread_setname_np(pthread_self(), "roi-writer");
	(void)pthread_mutex_lock(&w->lock);
	for (;;) {
		await(w);
		size_t n = 0;
		struct post *group = take_group(&w->posts, &n);
		struct work *jobs = take_jobs(w);
		if (!group && !jobs && w->stop)
			break;
		(void)pthread_mutex_unlock(&w->lock);
		if (group) {
			do_group(w, group);
			w->last_group = n;
			w->last_group_ns = now_ns();
		}
		for (struct work *next; jobs; jobs = next) {
			next = jobs->next;
			jobs->run(jobs, w->store);
		}
		if (now_ns() >= w->next_tick_ns)
			tick(w);
		(void)pthread_mutex_lock(&w->lock);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

int writer_start(struct writer **ret, const char *db, const struct writer_core *core,
		 struct err *err)
{
	struct writer *w = calloc(1, sizeof *w);
	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->wake, NULL);
	w->posts.last = &w->posts.first;
	w->wanted = 1;
	w->last_job = &w->job;
	w->core = *core;
	w->alone = -1;
	int rc = store_open(&w->store, db, STORE_WRITE, err);
	if (!rc)
		rc = alone_take(&w->alone, db, err);
	if (!rc)
		rc = w->core.open(w->core.self, w->store, err);
	if (!rc && pthread_create(&w->thread, NULL, write_loop, w))
		rc = err_set(err, -EAGAIN, "no thread can be started");
	w->runs = !rc;
	if (rc)
		writer_free(w);
	else
		*ret = w;
	return rc;
}

void writer_senders(struct writer *w, long change)
{
	(void)atomic_fetch_add(&w->senders, change);
}

const struct writer_numbers *writer_numbers(const struct writer *w)
{
	return &w->numbers;
}

void writer_stop(struct writer *w)
{
	if (!w || w->stop)
		return;
	(void)pthread_mutex_lock(&w->lock);
	w->stop = true;
	(void)pthread_cond_signal(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
	if (w->runs)
		(void)pthread_join(w->thread, NULL);
	store_close(w->store);
	w->store = NULL;
	if (w->alone >= 0)
		(void)close(w->alone);
	w->alone = -1;
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	writer_stop(w);
	(void)pthread_cond_destroy(&w->wake);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}
