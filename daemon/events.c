/* A ring of the last texts; each stream knows which it sends next. A stream without anything to
 * send is suspended and costs nothing until the next push or beat. */
#include "daemon/events.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"

#define RING 256

struct stream {
	struct events *events;
	struct MHD_Connection *connection;
	struct stream *next, **link;
	uint64_t at, beat; /* next event to send, last beat seen */
	bool suspended;
	struct buf pending;
	size_t sent; /* of pending */
};

struct events {
	pthread_mutex_t lock;
	char *ring[RING];
	uint64_t n, beat; /* events so far: n - 1 is the newest */
	struct stream *streams;
	int n_streams, max_streams;
	unsigned boot;
	bool stop;
};

struct events *events_new(int max_streams, unsigned boot)
{
	struct events *e = calloc(1, sizeof *e);
	if (!e)
		return NULL;
	(void)pthread_mutex_init(&e->lock, NULL);
	e->max_streams = max_streams;
	e->boot = boot;
	return e;
}

void events_free(struct events *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < RING; i++)
		free(e->ring[i]);
	(void)pthread_mutex_destroy(&e->lock);
	free(e);
}

/* With the lock held: a stream that is suspended is in here once, and is resumed once. */
static void wake_all(struct events *e)
{
	for (struct stream *s = e->streams; s; s = s->next)
		if (s->suspended) {
			s->suspended = false;
			MHD_resume_connection(s->connection);
		}
}

void events_push(struct events *e, const char *name, const char *data)
{
	struct buf b = { 0 };
	(void)pthread_mutex_lock(&e->lock);
	buf_printf(&b, "id: %08x-%llu\nevent: %s\ndata: %s\n\n", e->boot, (unsigned long long)e->n,
		   name, data);
	if (!b.failed) {
		free(e->ring[e->n % RING]);
		e->ring[e->n++ % RING] = b.data;
		wake_all(e);
	} else {
		buf_done(&b);
	}
	(void)pthread_mutex_unlock(&e->lock);
}

void events_beat(struct events *e)
{
	(void)pthread_mutex_lock(&e->lock);
	e->beat++;
	wake_all(e);
	(void)pthread_mutex_unlock(&e->lock);
}

void events_stop(struct events *e)
{
	(void)pthread_mutex_lock(&e->lock);
	e->stop = true;
	wake_all(e);
	(void)pthread_mutex_unlock(&e->lock);
}

/* Where a stream that has seen last_id goes on. True: it has missed nothing. */
static bool resume_at(const struct events *e, const char *last_id, uint64_t *ret_at)
{
	unsigned boot;
	unsigned long long id;
	*ret_at = e->n;
	if (!last_id || strlen(last_id) > 40 || sscanf(last_id, "%8x-%llu", &boot, &id) != 2)
		return false;
	if (boot != e->boot || id >= e->n || e->n - id > RING)
		return false;
	*ret_at = id + 1;
	return true;
}

/* With the lock held. "hello": what was before is unknown to this client; it should look. */
static void fill(struct stream *s)
{
	struct events *e = s->events;
	s->pending.len = s->sent = 0;
	if (e->n - s->at > RING) {
		buf_puts(&s->pending, "event: hello\ndata: {}\n\n");
		s->at = e->n;
	} else if (s->at < e->n) {
		buf_puts(&s->pending, e->ring[s->at++ % RING]);
	} else if (s->beat != e->beat) {
		s->beat = e->beat;
		buf_puts(&s->pending, ":\n\n");
	}
}

static ssize_t read_stream(void *cls, uint64_t pos, char *to, size_t max)
{
	(void)pos;
	struct stream *s = cls;
	ssize_t n = 0;
	(void)pthread_mutex_lock(&s->events->lock);
	if (s->sent == s->pending.len)
		fill(s);
	if (s->events->stop || s->pending.failed) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else if (s->sent == s->pending.len) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
	} else {
		size_t left = s->pending.len - s->sent;
		n = (ssize_t)(left < max ? left : max);
		memcpy(to, s->pending.data + s->sent, (size_t)n);
		s->sent += (size_t)n;
	}
	(void)pthread_mutex_unlock(&s->events->lock);
	return n;
}

static void end_stream(void *cls)
{
	struct stream *s = cls;
	struct events *e = s->events;
	(void)pthread_mutex_lock(&e->lock);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	e->n_streams--;
	(void)pthread_mutex_unlock(&e->lock);
	buf_done(&s->pending);
	free(s);
}

struct MHD_Response *events_stream(struct events *e, struct MHD_Connection *c, const char *last_id)
{
	struct MHD_Response *r = NULL;
	struct stream *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	(void)pthread_mutex_lock(&e->lock);
	if (!e->stop && e->n_streams < e->max_streams) {
		*s = (struct stream){ .events = e, .connection = c, .beat = e->beat };
		buf_puts(&s->pending, "retry: 3000\n\n");
		if (!resume_at(e, last_id, &s->at))
			buf_puts(&s->pending, "event: hello\ndata: {}\n\n");
		r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read_stream, s,
						      end_stream);
	}
	if (r) {
		s->next = e->streams;
		s->link = &e->streams;
		if (s->next)
			s->next->link = &s->next;
		e->streams = s;
		e->n_streams++;
	}
	(void)pthread_mutex_unlock(&e->lock);
	if (!r) {
		buf_done(&s->pending);
		free(s);
	}
	return r;
}
