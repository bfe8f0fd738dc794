/* The double of libcupti: the buffers for records. A buffer is asked for on the thread that
 * launches, records have their places in the order of launches, and a worker thread gives back what
 * is full and whose records are all complete. A forced flush gives away what is not complete, too,
 * and never again. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_cupti.h"

struct buffer {
	uint8_t *at;
	size_t size, used, most;
	size_t records, incomplete;
	bool full, taken; /* taken: on its way to `completed` */
	struct slot *slots;
	struct buffer *next;
};

struct slot {
	struct buffer *buffer; /* NULL: given away */
	size_t offset;
	struct slot *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc completed;
static struct buffer *buffers,
	**last = &buffers; /* all that `completed` has not seen, oldest first */
static struct buffer *global;
static __thread struct buffer *mine;
static bool per_thread = true, worker_runs;
static size_t dropped;
static uint64_t requests, reserved;

static void begin(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&own, &attr);
	pthread_mutexattr_destroy(&attr);
}

void cupti_own_lock(void)
{
	pthread_once(&once, begin);
	pthread_mutex_lock(&own);
}

void cupti_own_unlock(void)
{
	pthread_mutex_unlock(&own);
}

bool buffers_ready(void)
{
	return __atomic_load_n(&request, __ATOMIC_ACQUIRE) != NULL;
}

void buffers_per_thread(bool on)
{
	per_thread = on;
}

/* Takes the first buffer that may go; NULL: none. Under the lock. */
static struct buffer *take(bool need_full, bool forced, int skip)
{
	for (struct buffer *b = buffers; b; b = b->next)
		if (!b->taken && b->used && (!need_full || b->full) && (forced || !b->incomplete) &&
		    skip-- <= 0) {
			b->taken = b->full = true;
			for (struct slot *s = b->slots; s; s = s->next)
				s->buffer = NULL;
			return b;
		}
	return NULL;
}

/* Gives a buffer that was taken to the program. Without the lock. */
static void deliver(struct buffer *b)
{
	pthread_mutex_lock(&lock);
	struct buffer **at = &buffers;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	if (last == &b->next)
		last = at;
	if (global == b)
		global = NULL;
	pthread_mutex_unlock(&lock);
	cupti_own_lock();
	if (completed)
		completed(NULL, 0, b->at, b->size, b->used);
	cupti_own_unlock();
	/* The struct stays: a thread may still have it as its own, and sees that it is taken. */
}

/* Under the lock. */
static bool some_ready(void)
{
	for (struct buffer *b = buffers; b; b = b->next)
		if (!b->taken && b->full && !b->incomplete && b->used)
			return true;
	return false;
}

/* With CUPTI's own lock from before it takes a buffer until that is given back: a flush then never
 * comes back while one is on its way. */
static void *worker(void *arg)
{
	int64_t delay_ms = script_number("delay-ms", 0);
	bool reorder = script_number("reorder", 0) != 0;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!some_ready())
			pthread_cond_wait(&ready, &lock);
		pthread_mutex_unlock(&lock);
		if (delay_ms)
			usleep((useconds_t)delay_ms * 1000);
		cupti_own_lock();
		pthread_mutex_lock(&lock);
		/* With "reorder" the second of those that are ready goes first. */
		struct buffer *b = reorder ? take(true, false, 1) : NULL;
		if (!b)
			b = take(true, false, 0);
		pthread_mutex_unlock(&lock);
		if (b)
			deliver(b);
		cupti_own_unlock();
	}
	return NULL;
}

void buffers_callbacks(CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c)
{
	pthread_t t;

	completed = c;
	__atomic_store_n(&request, r, __ATOMIC_RELEASE);
	if (!worker_runs && !pthread_create(&t, NULL, worker, NULL)) {
		worker_runs = true;
		pthread_detach(t);
	}
}

/* Asks the program for a buffer. Without the lock. NULL: it has none, or the script says no. */
static struct buffer *buffer_new(void)
{
	uint64_t n = __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
	uint8_t *at = NULL;
	size_t size = 0, most = 0;

	if (script_has("deny-buffer", (int64_t)n) || script_every("deny-every", n))
		return NULL;
	cupti_own_lock();
	request(&at, &size, &most);
	cupti_own_unlock();
	if (!at || (uintptr_t)at % 8)
		return NULL;
	for (size_t i = 0; script_number("check-zeroed", 0) && i < size; i++)
		if (at[i]) {
			fprintf(stderr, "double: a buffer is not zeroed\n");
			abort();
		}
	struct buffer *b = calloc(1, sizeof *b);
	if (!b)
		abort();
	b->at = at;
	b->size = size;
	b->most = most;
	return b;
}

static bool has_room(const struct buffer *b, uint32_t size)
{
	return b && !b->taken && !b->full && b->size - b->used >= size &&
	       (!b->most || b->records < b->most);
}

/* The buffer of this thread with room for a record. Under the lock, which it may let go meanwhile.
 */
static struct buffer *buffer_for(uint32_t size)
{
	struct buffer **current = per_thread ? &mine : &global;

	if (has_room(*current, size))
		return *current;
	if (*current && !(*current)->taken) {
		(*current)->full = true;
		pthread_cond_signal(&ready);
	}
	*current = NULL;
	pthread_mutex_unlock(&lock);
	struct buffer *b = buffer_new();
	pthread_mutex_lock(&lock);
	if (!b)
		return NULL;
	*last = b;
	last = &b->next;
	*current = b;
	return has_room(b, size) ? b : NULL;
}

struct slot *slot_reserve(uint32_t size)
{
	struct slot *s;
	uint64_t n = __atomic_add_fetch(&reserved, 1, __ATOMIC_RELAXED);

	if (!size || !buffers_ready())
		return NULL;
	pthread_mutex_lock(&lock);
	struct buffer *b = script_has("drop", (int64_t)n) || script_every("drop-every", n)
				   ? NULL
				   : buffer_for(size);
	if (!b) {
		dropped++;
		pthread_mutex_unlock(&lock);
		return NULL;
	}
	s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->buffer = b;
	s->offset = b->used;
	s->next = b->slots;
	b->slots = s;
	b->used += size;
	b->records++;
	b->incomplete++;
	if (script_number("zeroed-by-program", 0) == 0)
		memset(b->at + s->offset, 0, size);
	return s; /* with the lock: nobody may take the buffer before the record is written */
}

uint8_t *slot_bytes(struct slot *s)
{
	return s->buffer->at + s->offset;
}

static void slot_end(struct slot *s)
{
	struct buffer *b = s->buffer;

	if (b) {
		struct slot **at = &b->slots;
		while (*at != s)
			at = &(*at)->next;
		*at = s->next;
		if (--b->incomplete == 0 && b->full)
			pthread_cond_signal(&ready);
	}
	free(s);
}

void slot_publish(struct slot *s, bool complete)
{
	if (complete)
		slot_end(s);
	pthread_mutex_unlock(&lock);
}

void slot_complete(struct slot *s, uint32_t start_at, uint32_t end_at, uint64_t start, uint64_t end)
{
	pthread_mutex_lock(&lock);
	if (s->buffer) {
		memcpy(slot_bytes(s) + start_at, &start, sizeof start);
		memcpy(slot_bytes(s) + end_at, &end, sizeof end);
	}
	slot_end(s);
	pthread_mutex_unlock(&lock);
}

void buffers_flush(bool forced)
{
	if (!forced && script_number("withhold", 0))
		return;
	for (;;) {
		pthread_mutex_lock(&lock);
		struct buffer *b = take(false, forced, 0);
		pthread_mutex_unlock(&lock);
		if (!b)
			break;
		deliver(b);
	}
}

size_t buffers_dropped(void)
{
	pthread_mutex_lock(&lock);
	size_t n = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return n;
}
