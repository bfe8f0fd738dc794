/* A list under a lock. The sweep shuts sockets down and never closes them, so that a number that
 * was given to another file meanwhile can't be hit: connection_end comes before the close. */
#include "daemon/connections.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

struct connection {
	struct connection *next, **link;
	int fd;
	uint64_t since_ns; /* 0: busy */
};

struct connections {
	pthread_mutex_t lock;
	struct connection *first;
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

struct connection *connection_begin(struct connections *c, int fd, uint64_t now_ns)
{
	struct connection *one = calloc(1, sizeof *one);
	if (!one)
		return NULL;
	one->fd = fd;
	one->since_ns = now_ns;
	(void)pthread_mutex_lock(&c->lock);
	one->next = c->first;
	one->link = &c->first;
	if (one->next)
		one->next->link = &one->next;
	c->first = one;
	(void)pthread_mutex_unlock(&c->lock);
	return one;
}

void connection_end(struct connections *c, struct connection *one)
{
	if (!one)
		return;
	(void)pthread_mutex_lock(&c->lock);
	*one->link = one->next;
	if (one->next)
		one->next->link = one->link;
	(void)pthread_mutex_unlock(&c->lock);
	free(one);
}

static void set(struct connections *c, struct connection *one, uint64_t since_ns)
{
	if (!one)
		return;
	(void)pthread_mutex_lock(&c->lock);
	one->since_ns = since_ns;
	(void)pthread_mutex_unlock(&c->lock);
}

void connection_busy(struct connections *c, struct connection *one)
{
	set(c, one, 0);
}

void connection_idle(struct connections *c, struct connection *one, uint64_t now_ns)
{
	set(c, one, now_ns);
}

void connections_sweep(struct connections *c, uint64_t before_ns)
{
	(void)pthread_mutex_lock(&c->lock);
	for (struct connection *one = c->first; one; one = one->next)
		if (one->since_ns && one->since_ns < before_ns)
			(void)shutdown(one->fd, SHUT_RDWR);
	(void)pthread_mutex_unlock(&c->lock);
}
