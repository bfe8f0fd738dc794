/* Those that are waited for, in the order in which it began, under a lock: a sweep looks at those
 * that are too late and one more, however many there are. It shuts sockets down and never closes
 * them, so that a number that was given to another file meanwhile can't be hit: connection_end
 * comes before the close. */
#include "daemon/connections.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

struct connection {
	struct connection *next, *before;
	struct request *held;
	int fd;
	bool waits; /* in the list */
	uint64_t since_ns;
};

struct connections {
	pthread_mutex_t lock;
	struct connection *first, *last; /* of those that wait */
};

struct connections *connections_new(void)
{
	struct connections *c = calloc(1, sizeof *c);
	if (c)
		(void)pthread_mutex_init(&c->lock, NULL);
	return c;
}

void connections_free(struct connections *c)
{
	if (!c)
		return;
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

static void take_out(struct connections *c, struct connection *one)
{
	if (!one->waits)
		return;
	*(one->before ? &one->before->next : &c->first) = one->next;
	*(one->next ? &one->next->before : &c->last) = one->before;
	one->waits = false;
}

static void put_last(struct connections *c, struct connection *one, uint64_t since_ns)
{
	one->since_ns = since_ns;
	one->waits = true;
	one->next = NULL;
	one->before = c->last;
	*(c->last ? &c->last->next : &c->first) = one;
	c->last = one;
}

struct connection *connection_begin(struct connections *c, int fd, uint64_t now_ns)
{
	struct connection *one = calloc(1, sizeof *one);
	if (!one)
		return NULL;
	one->fd = fd;
	connection_idle(c, one, now_ns);
	return one;
}

void connection_end(struct connections *c, struct connection *one)
{
	connection_busy(c, one);
	free(one);
}

void connection_hold(struct connection *one, struct request *r)
{
	if (one)
		one->held = r;
}

struct request *connection_held(const struct connection *one)
{
	return one ? one->held : NULL;
}

void connection_busy(struct connections *c, struct connection *one)
{
	if (!one)
		return;
	(void)pthread_mutex_lock(&c->lock);
	take_out(c, one);
	(void)pthread_mutex_unlock(&c->lock);
}

void connection_idle(struct connections *c, struct connection *one, uint64_t now_ns)
{
	if (!one)
		return;
	(void)pthread_mutex_lock(&c->lock);
	take_out(c, one);
	put_last(c, one, now_ns);
	(void)pthread_mutex_unlock(&c->lock);
}

void connections_sweep(struct connections *c, uint64_t before_ns)
{
	(void)pthread_mutex_lock(&c->lock);
	while (c->first && c->first->since_ns < before_ns) {
		struct connection *late = c->first;
		(void)shutdown(late->fd, SHUT_RDWR);
		take_out(c, late); /* its owner will be told */
	}
	(void)pthread_mutex_unlock(&c->lock);
}
